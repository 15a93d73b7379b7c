//! The machine on which workloads run: the host, or under `--cfg manycore` a simulated one.
//!
//! A workload takes its clock, its threads and the words that its jobs share from here, and charges
//! its work. On the host a charge is nothing. On a simulated machine nothing else takes time: what
//! runs between two charges is done at once.

use std::time::Duration;

#[cfg(not(manycore))]
mod host {
    pub use std::hint::spin_loop;
    pub use std::sync::{Mutex, atomic};
    pub use std::thread;
    pub use std::time::Instant;

    /// So many units of work were done here; see [`super::super::workload::Instance`].
    #[inline(always)]
    pub fn charge(_units: u64) {}

    /// The same for work that moves so many bytes from or to memory.
    #[inline(always)]
    pub fn charge_moving(_units: u64, _bytes: u64) {}

    /// Threads that can run at once.
    pub(crate) fn cores() -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }
}

#[cfg(manycore)]
mod simulated {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    pub use manycore::lock::Mutex;
    pub use manycore::time::Instant;
    pub use manycore::{atomic, spin_loop, thread};

    /// The bits of the price of a unit, in picoseconds. Written before the machine starts; one
    /// thread of the host does everything.
    static PRICE: AtomicU64 = AtomicU64::new(0);

    pub(crate) fn set_price(ps: f64) {
        PRICE.store(ps.to_bits(), Relaxed);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices are small"
    )]
    fn price_of(units: u64) -> u64 {
        (units as f64 * f64::from_bits(PRICE.load(Relaxed))).round() as u64
    }

    /// So many units of work were done here, and take what the request says.
    pub fn charge(units: u64) {
        manycore::work(price_of(units));
    }

    /// The same for work that moves so many bytes from or to memory.
    pub fn charge_moving(units: u64, bytes: u64) {
        manycore::work_moving(price_of(units), bytes);
    }

    /// Threads that can run at once.
    pub(crate) fn cores() -> usize {
        manycore::cores().unwrap_or(1)
    }
}

#[cfg(not(manycore))]
pub use host::*;
#[cfg(manycore)]
pub use simulated::*;

/// Tells threads apart.
pub(crate) fn thread_id() -> thread::ThreadId {
    thread::current().id()
}

/// Keeps the CPU until `due`: precise to well under a microsecond, which a sleep is not.
pub fn spin_until(due: Instant) {
    #[cfg(manycore)]
    manycore::work(
        1_000 * crate::usage::nanoseconds(due.saturating_duration_since(Instant::now())),
    );
    while Instant::now() < due {
        spin_loop();
    }
}

/// Sleeps until `due`, and not at all if that is past. Linux adds its timer slack, some 50 µs.
pub fn sleep_until(due: Instant) {
    let rest = due.saturating_duration_since(Instant::now());
    if rest > Duration::ZERO {
        thread::sleep(rest);
    }
}
