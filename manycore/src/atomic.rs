//! Atomics of the size and alignment of the real ones, with a cost for each access.
//!
//! All orderings are sequentially consistent, whichever one is requested, since accesses happen one
//! after another. The ordering only decides the cost of a store: a `SeqCst` store waits until the
//! store buffer is empty, as on x86-64.

use std::panic::Location;
pub use std::sync::atomic::Ordering;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::engine::{self, Access};

/// A fence: `SeqCst` waits until the core's store buffer is empty, the others cost nothing.
#[track_caller]
pub fn fence(ordering: Ordering) {
    if ordering == SeqCst {
        engine::fence(Location::caller());
    }
}

macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident, $value:ty, $std:ident) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $name(std::sync::atomic::$std);

        impl $name {
            /// An atomic that holds `value`.
            #[must_use]
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

            /// Returns the value, by a load.
            #[inline]
            #[track_caller]
            pub fn load(&self, _: Ordering) -> $value {
                self.access(Access::Load, Location::caller());
                self.0.load(Relaxed)
            }

            /// Sets the value, by a store.
            #[inline]
            #[track_caller]
            pub fn store(&self, value: $value, ordering: Ordering) {
                let at = Location::caller();
                self.access(Access::Store, at);
                self.0.store(value, Relaxed);
                if ordering == SeqCst {
                    engine::fence(at);
                }
            }

            /// Sets the value; returns the previous one.
            #[inline]
            #[track_caller]
            pub fn swap(&self, value: $value, _: Ordering) -> $value {
                self.access(Access::ReadModifyWrite, Location::caller());
                self.0.swap(value, Relaxed)
            }

            /// [`Self::swap`], attributed to another line of the program.
            #[allow(dead_code, reason = "only one of the types uses it")]
            pub(crate) fn swap_at(&self, value: $value, at: &'static Location<'static>) -> $value {
                self.access(Access::ReadModifyWrite, at);
                self.0.swap(value, Relaxed)
            }

            /// Sets the value if it is `current`. Returns the previous value, as an error if it was
            /// different.
            ///
            /// # Errors
            /// The value, if it is not `current`.
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

            /// Like [`Self::compare_exchange`]: it never fails spuriously.
            ///
            /// # Errors
            /// The value, if it is not `current`.
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

            /// Repeats a compare-exchange until it succeeds, or `update` returns `None`.
            ///
            /// # Errors
            /// The value for which `update` returned `None`.
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

            /// [`Self::load`], attributed to another line of the program.
            #[allow(dead_code, reason = "only one of the types uses it")]
            pub(crate) fn load_at(&self, at: &'static Location<'static>) -> $value {
                self.access(Access::Load, at);
                self.0.load(Relaxed)
            }

            /// The value's address, for accesses that cost nothing.
            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            /// The value, by exclusive access, which costs nothing.
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// The value.
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
    ($name:ident, $value:ty: $($(#[$doc:meta])* $fetch:ident),*) => {
        impl $name {
            $($(#[$doc])*
            #[inline]
            #[track_caller]
            pub fn $fetch(&self, value: $value, _: Ordering) -> $value {
                self.access(Access::ReadModifyWrite, Location::caller());
                self.0.$fetch(value, Relaxed)
            })*
        }
    };
}

macro_rules! whole_number {
    ($(#[$doc:meta])* $name:ident, $value:ty) => {
        atomic!($(#[$doc])* $name, $value, $name);
        fetches!($name, $value:
            /// Adds, wrapping around; returns the previous value.
            fetch_add,
            /// Subtracts, wrapping around; returns the previous value.
            fetch_sub,
            /// Bitwise and; returns the previous value.
            fetch_and,
            /// Bitwise or; returns the previous value.
            fetch_or,
            /// Bitwise exclusive or; returns the previous value.
            fetch_xor,
            /// Bitwise and, then not; returns the previous value.
            fetch_nand,
            /// Keeps the larger; returns the previous value.
            fetch_max,
            /// Keeps the smaller; returns the previous value.
            fetch_min
        );
    };
}

macro_rules! whole_numbers {
    ($($name:ident $value:ident $doc:literal,)*) => {
        $(whole_number!(#[doc = $doc] $name, $value);)*
    };
}

whole_numbers!(
    AtomicUsize usize "A `usize` that cores share.",
    AtomicIsize isize "An `isize` that cores share.",
    AtomicI64 i64 "An `i64` that cores share.",
    AtomicU64 u64 "A `u64` that cores share.",
    AtomicI32 i32 "An `i32` that cores share.",
    AtomicU32 u32 "A `u32` that cores share.",
    AtomicI16 i16 "An `i16` that cores share.",
    AtomicU16 u16 "A `u16` that cores share.",
    AtomicI8 i8 "An `i8` that cores share.",
    AtomicU8 u8 "A `u8` that cores share.",
);
atomic!(
    /// A `bool` that cores share.
    AtomicBool,
    bool,
    AtomicBool
);
fetches!(AtomicBool, bool:
    /// Logical and; returns the previous value.
    fetch_and,
    /// Logical or; returns the previous value.
    fetch_or,
    /// Logical exclusive or; returns the previous value.
    fetch_xor,
    /// Logical and, then not; returns the previous value.
    fetch_nand
);

/// A pointer that cores share.
#[derive(Debug)]
#[repr(transparent)]
pub struct AtomicPtr<T>(std::sync::atomic::AtomicPtr<T>);

impl<T> AtomicPtr<T> {
    /// An atomic that holds `value`.
    #[must_use]
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
