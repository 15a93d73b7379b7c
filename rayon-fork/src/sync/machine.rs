//! The parts of the standard library and of the kernel that the crate uses, except locks.

#[cfg(not(fork_loom))]
#[allow(unused_imports)]
pub(crate) use super::asymmetric::{
    light_fence, prepare_heavy_fences, registers_at_once, try_heavy_fence, wait_for_grace_period,
};
#[cfg(not(feature = "web_spin_lock"))]
pub(crate) use std::sync::OnceLock;
#[cfg(feature = "instrument")]
pub(crate) use std::sync::atomic::AtomicBool;
#[cfg(all(target_has_atomic = "64", not(fork_loom)))]
#[allow(unused_imports)]
pub(crate) use std::sync::atomic::AtomicU64;
#[cfg(not(fork_loom))]
pub(crate) use std::sync::atomic::fence;
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
#[cfg(not(fork_loom))]
pub(crate) use std::thread::yield_now;
pub(crate) use std::time::Instant;
pub(crate) use std::{hint, thread};
#[cfg(feature = "web_spin_lock")]
pub(crate) use wasm_sync::OnceLock;
