//! Atomics with the size and alignment of the standard library's, and a cost for each access.
//!
//! Accesses happen one after another, so all orderings are sequentially consistent. A `SeqCst`
//! store costs more: a `SeqCst` fence follows the store, as on x86-64.

#![expect(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "the standard library documents this interface"
)]

use std::panic::Location;
pub use std::sync::atomic::Ordering;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::engine::{self, Access};

/// A fence. `SeqCst` waits until the core's store buffer is empty, and has a cost. Other orderings
/// cost nothing.
#[track_caller]
pub fn fence(ordering: Ordering) {
    if ordering == SeqCst {
        engine::fence();
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty, $std:ident) => {
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $name(std::sync::atomic::$std);

        impl $name {
            pub const fn new(value: $value) -> Self {
                Self(std::sync::atomic::$std::new(value))
            }
        }

        atomic!(@accesses $name, $value);
    };
    (@accesses $name:ident, $value:ty $(, $generic:ident)?) => {
        impl$(<$generic>)? $name$(<$generic>)? {
            #[inline]
            fn access(&self, access: Access, at: &'static Location<'static>) {
                engine::access(std::ptr::from_ref(self) as usize, access, at);
            }

            #[inline]
            #[track_caller]
            pub fn load(&self, _: Ordering) -> $value {
                self.access(Access::Load, Location::caller());
                self.0.load(Relaxed)
            }

            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, ordering: Ordering) {
                self.access(Access::Store, Location::caller());
                self.0.store(value, Relaxed);
                if ordering == SeqCst {
                    engine::fence();
                }
            }

            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, _: Ordering) -> $value {
                self.access(Access::ReadModifyWrite, Location::caller());
                self.0.swap(value, Relaxed)
            }

            #[allow(dead_code, reason = "only one of the atomic types uses this method")]
            pub(crate) fn swap_at(&self, value: $value, at: &'static Location<'static>) -> $value {
                self.access(Access::ReadModifyWrite, at);
                self.0.swap(value, Relaxed)
            }

            #[inline]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                _: Ordering,
                _: Ordering,
            ) -> Result<$value, $value> {
                self.access(Access::ReadModifyWrite, Location::caller());
                self.0.compare_exchange(current, new, Relaxed, Relaxed)
            }

            /// Does the same as [`Self::compare_exchange`]: never fails spuriously.
            ///
            /// # Errors
            /// Returns the atomic's value, if that is not `current`.
            #[inline]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }

            #[inline]
            #[track_caller]
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut update: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut current = self.load(failure);
                while let Some(new) = update(current) {
                    match self.compare_exchange(current, new, success, failure) {
                        Ok(before) => return Ok(before),
                        Err(now) => current = now,
                    }
                }
                Err(current)
            }

            #[allow(dead_code, reason = "only one of the atomic types uses this method")]
            pub(crate) fn load_at(&self, at: &'static Location<'static>) -> $value {
                self.access(Access::Load, at);
                self.0.load(Relaxed)
            }

            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            pub const fn into_inner(self) -> $value {
                self.0.into_inner()
            }
        }

        impl$(<$generic>)? From<$value> for $name$(<$generic>)? {
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }
    };
}

macro_rules! fetches {
    ($name:ident, $value:ty: $($fetch:ident),*) => {
        impl $name {
            $(#[inline]
            #[track_caller]
            pub fn $fetch(&self, value: $value, _: Ordering) -> $value {
                self.access(Access::ReadModifyWrite, Location::caller());
                self.0.$fetch(value, Relaxed)
            })*
        }
    };
}

macro_rules! whole_number {
    ($name:ident, $value:ty) => {
        atomic!($name, $value, $name);
        fetches!($name, $value:
            fetch_add,
            fetch_sub,
            fetch_and,
            fetch_or,
            fetch_xor,
            fetch_nand,
            fetch_max,
            fetch_min
        );
    };
}

macro_rules! whole_numbers {
    ($($name:ident $value:ident,)*) => {
        $(whole_number!($name, $value);)*
    };
}

whole_numbers!(
    AtomicUsize usize,
    AtomicIsize isize,
    AtomicI64 i64,
    AtomicU64 u64,
    AtomicI32 i32,
    AtomicU32 u32,
    AtomicI16 i16,
    AtomicU16 u16,
    AtomicI8 i8,
    AtomicU8 u8,
);
atomic!(AtomicBool, bool, AtomicBool);
fetches!(AtomicBool, bool:
    fetch_and,
    fetch_or,
    fetch_xor,
    fetch_nand
);

#[derive(Debug)]
#[repr(transparent)]
pub struct AtomicPtr<T>(std::sync::atomic::AtomicPtr<T>);

impl<T> AtomicPtr<T> {
    pub const fn new(value: *mut T) -> Self {
        Self(std::sync::atomic::AtomicPtr::new(value))
    }
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

atomic!(@accesses AtomicPtr, *mut T, T);
