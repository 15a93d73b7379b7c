//! Shared ownership whose counts are words that cores share.

use std::borrow::Borrow;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::sync;

/// Like the standard library's `Arc`, but each change of the count has a cost. There are no weak
/// pointers, and this `Arc` cannot be a method's receiver or become an `Arc` of a trait.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arc<T: ?Sized>(sync::Arc<T>);

/// Adds the cost of a change of the counts, which lie before the value in memory.
#[track_caller]
fn change_counts<T: ?Sized>(value: *const T, align: usize) {
    let counts = align.max(2 * size_of::<usize>());
    manycore::read_modify_write((value.cast::<u8>() as usize).wrapping_sub(counts));
}

impl<T> Arc<T> {
    pub fn new(value: T) -> Self {
        Self(sync::Arc::new(value))
    }

    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        change_counts(this.as_value(), align_of::<T>());
        sync::Arc::try_unwrap(this.into_std()).map_err(Self)
    }

    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        Self::try_unwrap(this).ok()
    }

    pub fn into_raw(this: Self) -> *const T {
        sync::Arc::into_raw(this.into_std())
    }

    pub unsafe fn from_raw(value: *const T) -> Self {
        // SAFETY: the caller has the obligations of the standard library's function.
        Self(unsafe { sync::Arc::from_raw(value) })
    }

    #[track_caller]
    pub unsafe fn increment_strong_count(value: *const T) {
        change_counts(value, align_of::<T>());
        // SAFETY: the caller has the obligations of the standard library's function.
        unsafe { sync::Arc::increment_strong_count(value) };
    }

    #[track_caller]
    pub unsafe fn decrement_strong_count(value: *const T) {
        // SAFETY: the caller has the obligations of the standard library's function.
        drop(unsafe { Self::from_raw(value) });
    }
}

impl<T: ?Sized> Arc<T> {
    fn as_value(&self) -> *const T {
        sync::Arc::as_ptr(&self.0)
    }

    fn into_std(self) -> sync::Arc<T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is neither used again nor dropped.
        unsafe { ptr::read(&raw const this.0) }
    }

    pub fn as_ptr(this: &Self) -> *const T {
        this.as_value()
    }

    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        sync::Arc::ptr_eq(&this.0, &other.0)
    }

    pub fn strong_count(this: &Self) -> usize {
        sync::Arc::strong_count(&this.0)
    }

    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        change_counts(this.as_value(), align_of_val(&*this.0));
        sync::Arc::get_mut(&mut this.0)
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        change_counts(self.as_value(), align_of_val(&*self.0));
        Self(self.0.clone())
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        change_counts(self.as_value(), align_of_val(&*self.0));
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! made_from {
    ($([$($generic:tt)*] $of:ty => $arc:ty,)*) => {
        $(impl<$($generic)*> From<$of> for Arc<$arc> {
            fn from(value: $of) -> Self {
                Self(value.into())
            }
        })*
    };
}

made_from! {
    [T] T => T,
    [T: ?Sized] Box<T> => T,
    [T] Vec<T> => [T],
    [T: Clone] &[T] => [T],
    [] String => str,
    [] &str => str,
}

impl<T> FromIterator<T> for Arc<[T]> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}
