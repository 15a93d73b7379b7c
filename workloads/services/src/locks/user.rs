//! Contenders as user-level threads on the calling OS thread.

use std::rc::Rc;
use std::time::Duration;

use super::contender::{Lock, Shape, Tally};
use crate::user_threads::{Mutex, Report, UserThreads, chain_with_safepoints};

pub(super) fn run(shape: Shape, lock: Lock, quantum: Duration) -> (Tally, Report) {
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
