//! The names of the standard library, for rewritten crates. Types that threads share belong to a
//! simulated machine. Files, sockets, other processes, the time of day and assembler are missing,
//! because the machine does not simulate them.

#![expect(
    missing_docs,
    clippy::must_use_candidate,
    clippy::missing_errors_doc,
    clippy::missing_safety_doc,
    reason = "the standard library documents these names"
)]

mod arc;

pub use std::*;

pub use manycore;

/// This module has one folder and no files, because access to the host's files would take no
/// simulated time.
pub mod fs {
    use std::io;
    use std::path::Path;

    #[derive(Debug)]
    pub struct Metadata(pub(crate) u64);

    /// `/proc/self/task`, which has a folder for each thread of the process.
    pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
        let threads = if path.as_ref() == "/proc/self/task" {
            manycore::threads()
        } else {
            None
        };
        threads
            .map(|it| Metadata(it as u64 + 2))
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// The part of the crate `rustix` that a simulated machine implements.
pub mod rustix {
    pub mod thread {
        use std::io;

        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub enum MembarrierCommand {
            /// Does nothing: a simulated process may use `PrivateExpedited` from the start.
            RegisterPrivateExpedited,
            /// A fence on all cores that run.
            PrivateExpedited,
        }

        #[track_caller]
        pub fn membarrier(command: MembarrierCommand) -> io::Result<()> {
            if let MembarrierCommand::PrivateExpedited = command {
                manycore::heavy_fence();
            }
            Ok(())
        }
    }
}

/// This module has no sockets, because access to the host's sockets would take no simulated time.
pub mod net {}

/// This module has no intrinsics of a processor: the simulation would not see their accesses to
/// memory.
pub mod arch {}

/// Functions that end or identify this process, and types; a program cannot start other processes.
pub mod process {
    pub use std::process::{Child, ExitCode, ExitStatus, Termination, abort, exit, id};
}

/// The most bytes whose lines a core takes over with a box or a cell. A core may touch only a part
/// of a large object.
const MOST: usize = 256;

/// Boxes, which pass between threads as pointers.
pub mod boxed {
    pub use std::boxed::*;

    /// Like `Box::from_raw`, but adds the cost of the value's lines.
    #[inline]
    #[track_caller]
    pub unsafe fn from_raw<T: ?Sized>(place: *mut T) -> Box<T> {
        // SAFETY: the caller has the obligations of the standard library's function.
        let value = unsafe { Box::from_raw(place) };
        let bytes = size_of_val(&*value).min(super::MOST);
        manycore::take_over(place.cast::<u8>() as usize, bytes, true);
        value
    }
}

/// Plain memory that other threads may read or write.
pub mod cell {
    pub use std::cell::*;

    /// Like the standard library's `UnsafeCell`, but a visit adds the cost of the value's lines. A
    /// thread that writes the value informs other threads by an atomic, mostly on the same line.
    /// The access to that atomic has its own cost.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        #[inline]
        #[track_caller]
        pub fn get(&self) -> *mut T {
            let place = self.0.get();
            let bytes = size_of_val(self).min(super::MOST);
            manycore::take_over(place.cast::<u8>() as usize, bytes, false);
            place
        }

        pub fn get_mut(&mut self) -> &mut T {
            self.0.get_mut()
        }

        pub const fn raw_get(cell: *const Self) -> *mut T {
            cell as *mut T
        }
    }

    impl<T> From<T> for UnsafeCell<T> {
        fn from(value: T) -> Self {
            Self::new(value)
        }
    }
}

pub mod ptr {
    pub use std::ptr::*;

    /// Like the standard library's `read_volatile`, but adds the cost of the lines that are read.
    #[inline]
    #[track_caller]
    pub unsafe fn read_volatile<T>(place: *const T) -> T {
        manycore::touch(place as usize, size_of::<T>(), false);
        // SAFETY: the caller has the obligations of the standard library's function.
        unsafe { std::ptr::read_volatile(place) }
    }

    /// Like the standard library's `write_volatile`, but adds the cost of the lines that are
    /// written.
    #[inline]
    #[track_caller]
    pub unsafe fn write_volatile<T>(place: *mut T, value: T) {
        manycore::touch(place as usize, size_of::<T>(), true);
        // SAFETY: the caller has the obligations of the standard library's function.
        unsafe { std::ptr::write_volatile(place, value) }
    }
}

/// Hashes, which differ between seeds: pools make their random numbers from hashes.
pub mod hash {
    pub use std::hash::*;

    /// Like the standard library's hasher, but starts with the run's seed.
    #[derive(Clone, Debug)]
    pub struct DefaultHasher(std::hash::DefaultHasher);

    impl DefaultHasher {
        pub fn new() -> Self {
            let mut hasher = std::hash::DefaultHasher::new();
            hasher.write_u64(manycore::seed());
            Self(hasher)
        }
    }

    impl Default for DefaultHasher {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Hasher for DefaultHasher {
        fn finish(&self) -> u64 {
            self.0.finish()
        }

        fn write(&mut self, bytes: &[u8]) {
            self.0.write(bytes);
        }
    }
}

/// Hints to the processor. Only a spin hint takes simulated time.
pub mod hint {
    pub use std::hint::*;

    pub use manycore::spin_loop;
}

pub mod sync {
    pub use std::sync::*;

    pub use manycore::channel as mpsc;
    pub use manycore::lock::{
        Barrier, Condvar, Mutex, MutexGuard, Once, OnceLock, WaitTimeoutResult,
    };

    pub use crate::arc::Arc;

    pub mod atomic {
        pub use std::sync::atomic::*;

        pub use manycore::atomic::{
            AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr,
            AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, fence,
        };
    }
}

/// Simulated threads, with the interface of `std::thread`.
pub mod thread {
    use std::io;
    use std::num::NonZeroUsize;

    pub use manycore::thread::{
        AccessError, Builder, JoinHandle, Local as LocalKey, Result, Scope, Thread, ThreadId,
        current, park, park_timeout, scope, sleep, spawn, yield_now,
    };
    pub use std::thread::panicking;

    pub fn available_parallelism() -> io::Result<NonZeroUsize> {
        let cores = manycore::cores().and_then(NonZeroUsize::new);
        cores.ok_or_else(|| io::Error::other("no simulation runs"))
    }
}

/// The standard library's extensions for Linux; simulated threads have no system handles.
pub mod os {
    pub mod unix {
        pub mod fs {
            pub trait MetadataExt {
                /// Number of links to the folder: its own, one from its parent, and one from each
                /// folder in it.
                fn nlink(&self) -> u64;
            }

            impl MetadataExt for crate::fs::Metadata {
                fn nlink(&self) -> u64 {
                    self.0
                }
            }
        }

        /// System handles of threads. There are none, because the host's system does not know
        /// simulated threads.
        pub mod thread {
            /// The type of a thread's system handle; there are no values of this type.
            pub type RawPthread = std::convert::Infallible;

            pub trait JoinHandleExt {
                fn as_pthread_t(&self) -> RawPthread {
                    panic!("a simulated thread has no handle of the system")
                }

                fn into_pthread_t(self) -> RawPthread
                where
                    Self: Sized,
                {
                    self.as_pthread_t()
                }
            }

            impl<T> JoinHandleExt for manycore::thread::JoinHandle<T> {}
        }
    }
}

pub mod time {
    pub use std::time::{Duration, TryFromFloatSecsError};

    pub use manycore::time::Instant;
}

/// Declares values of which every thread has its own, as the standard library's macro does.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$a:meta])* $v:vis static $name:ident: $type:ty = const $value:block $(; $($rest:tt)*)?) => {
        $crate::manycore::core_local!($(#[$a])* $v static $name: $type = $value);
        $($crate::thread_local!($($rest)*);)?
    };
    ($(#[$a:meta])* $v:vis static $name:ident: $type:ty = $value:expr $(; $($rest:tt)*)?) => {
        $crate::manycore::core_local!($(#[$a])* $v static $name: $type = $value);
        $($crate::thread_local!($($rest)*);)?
    };
}
