//! Contenders as user-level threads on the calling OS thread.

use std::rc::Rc;
use std::time::Duration;

use super::contender::{Lock, Shape, Tally};
use crate::user_threads::{Current, Mutex, Report, SpinLock, UserThreads, chain_with_safepoints};

/// Runs all contenders.
///
/// # Panics
/// If their stacks cannot be had.
pub(super) fn run(shape: Shape, lock: Lock, quantum: Duration) -> (Tally, Report) {
    match lock {
        Lock::Mutex => {
            let mutex = Rc::new(Mutex::new(Tally::default()));
            let report = run_with(shape, quantum, &mutex, |mutex, me, section| {
                section(&mut mutex.lock(me));
            });
            (unshared(mutex).into_inner(), report)
        }
        Lock::Spin => {
            let lock = Rc::new(SpinLock::new(Tally::default()));
            let report = run_with(shape, quantum, &lock, |lock, me, section| {
                section(&mut lock.lock(me));
            });
            (unshared(lock).into_inner(), report)
        }
    }
}

/// How a section is run under a lock.
type Locked<L> = fn(&L, &Current<'_>, &dyn Fn(&mut Tally));

fn run_with<L: 'static>(
    shape: Shape,
    quantum: Duration,
    lock: &Rc<L>,
    locked: Locked<L>,
) -> Report {
    let mut threads = UserThreads::new(quantum);
    for contender in 0..shape.contenders {
        let lock = Rc::clone(lock);
        threads
            .spawn(move |me| {
                let work = |word, steps| chain_with_safepoints(me, word, steps);
                shape.contend(contender, work, |section| locked(&lock, me, section));
            })
            .unwrap_or_else(|error| panic!("stack of contender {contender}: {error}"));
    }
    threads
        .run()
        .expect("whoever holds the lock can always go on")
}

fn unshared<L>(lock: Rc<L>) -> L {
    Rc::into_inner(lock).expect("all contenders have ended")
}
