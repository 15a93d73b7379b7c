//! Contenders as OS threads, or as jobs on a pool.

use std::thread;

use nix::sched::{CpuSet, sched_setaffinity};
use protocol::Refusal;
use spin::mutex::SpinMutex;

use super::contender::{Lock, Shape, Tally};
use workloads::kinds::pacing::chain;
use workloads::placement::{MYSELF, usable_cpus};

enum Exclusive {
    /// Spins for a moment, then sleeps in a queue. The holder hands the lock to the first thread in
    /// the queue.
    Mutex(parking_lot::Mutex<Tally>),
    /// Spins until the lock is free, and never yields the CPU.
    Spin(SpinMutex<Tally>),
}

impl Exclusive {
    fn new(lock: Lock) -> Self {
        match lock {
            Lock::Mutex => Self::Mutex(parking_lot::Mutex::default()),
            Lock::Spin => Self::Spin(SpinMutex::default()),
        }
    }

    fn with(&self, section: &dyn Fn(&mut Tally)) {
        match self {
            Self::Mutex(mutex) => {
                let mut guard = mutex.lock();
                section(&mut guard);
                parking_lot::MutexGuard::unlock_fair(guard);
            }
            Self::Spin(mutex) => section(&mut mutex.lock()),
        }
    }

    fn into_tally(self) -> Tally {
        match self {
            Self::Mutex(mutex) => mutex.into_inner(),
            Self::Spin(mutex) => mutex.into_inner(),
        }
    }
}

pub(super) fn on_pool(shape: Shape, lock: Lock) -> Tally {
    let lock = Exclusive::new(lock);
    rayon::scope(|scope| {
        for contender in 0..shape.contenders {
            let lock = &lock;
            scope.spawn(move |_| {
                shape.contend(contender, chain, |section| lock.with(section));
            });
        }
    });
    lock.into_tally()
}

/// Each contender is a separate thread, confined to `cpus` if given. The time includes starting the
/// threads: some 20 us each.
pub(super) fn on_threads(shape: Shape, lock: Lock, cpus: Option<CpuSet>) -> Tally {
    let lock = Exclusive::new(lock);
    thread::scope(|scope| {
        for contender in 0..shape.contenders {
            let lock = &lock;
            scope.spawn(move || {
                if let Some(cpus) = cpus {
                    sched_setaffinity(MYSELF, &cpus)
                        .expect("a thread may choose among the CPUs of its process");
                }
                shape.contend(contender, chain, |section| lock.with(section));
            });
        }
    });
    lock.into_tally()
}

/// Returns the first `count` of the CPUs that this process may use; `None` for all of them.
pub(super) fn first_cpus(count: usize) -> Result<Option<CpuSet>, Refusal> {
    if count == 0 {
        return Ok(None);
    }
    let usable = usable_cpus()?;
    let found = usable.len();
    if found < count {
        return Err(Refusal::new(format!(
            "workload `locks`: parameter `cpus` = `{count}`: this process may use {found}; ask for \
             1 to {found}, or 0 for all"
        )));
    }
    let mut chosen = CpuSet::new();
    for &cpu in &usable[..count] {
        chosen.set(cpu).expect("a CPU of a set fits another one");
    }
    Ok(Some(chosen))
}
