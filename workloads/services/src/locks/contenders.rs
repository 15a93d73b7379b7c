//! Runs contenders as jobs on a pool, as OS threads, or as user-level threads.

use std::rc::Rc;
use std::thread;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use protocol::Refusal;
use spin::mutex::SpinMutex;

use super::work::{Lock, Shape, Tally};
use crate::user_threads::{Mutex, Report, UserThreads, chain_with_safepoints};
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

/// Runs each contender on a separate OS thread, which may use only `cpus`, or any CPU if `cpus` is
/// `None`. The measured time includes starting the threads, some 20 µs for each thread.
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

pub(super) fn on_user_threads(shape: Shape, lock: Lock, quantum: Duration) -> (Tally, Report) {
    let mutex = Rc::new(Mutex::<Tally>::default());
    let mut threads = UserThreads::new(quantum, None);
    for contender in 0..shape.contenders {
        let mutex = Rc::clone(&mutex);
        threads
            .spawn(move |me| {
                let work = |word, steps| chain_with_safepoints(me, word, steps);
                shape.contend(contender, work, |section| match lock {
                    Lock::Mutex => mutex.lock(me, section),
                    Lock::Spin => mutex.spin(me, section),
                });
            })
            .unwrap_or_else(|error| panic!("stack of contender {contender}: {error}"));
    }
    let report = threads.run();
    let mutex = Rc::into_inner(mutex).expect("all contenders have ended");
    (mutex.into_inner(), report)
}

/// Returns the first `count` of the CPUs that this process may use; `None` if `count` is 0, which
/// means all of them.
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
        chosen
            .set(cpu)
            .expect("a set of CPUs has room for any CPU of another set");
    }
    Ok(Some(chosen))
}
