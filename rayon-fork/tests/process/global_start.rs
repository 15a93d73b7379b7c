//! Which calls start the global pool. Whether it was started shows in `build_global`, which then
//! fails.

use rayon_core::{ThreadPoolBuilder, current_num_threads};

use crate::child::{self, is_child};
use crate::common::{patiently, pool};

const TEXT: &str = "The global thread pool has already been initialized.";

const CALLS: [(&str, fn()); 11] = [
    ("join", || {
        rayon_core::join(|| (), || ());
    }),
    ("join_context", || {
        rayon_core::join_context(|_| (), |_| ());
    }),
    ("scope", || rayon_core::scope(|_| ())),
    ("scope_fifo", || rayon_core::scope_fifo(|_| ())),
    ("in_place_scope", || rayon_core::in_place_scope(|_| ())),
    ("in_place_scope_fifo", || {
        rayon_core::in_place_scope_fifo(|_| ());
    }),
    ("spawn", || rayon_core::spawn(|| ())),
    ("spawn_fifo", || rayon_core::spawn_fifo(|| ())),
    ("broadcast", || drop(rayon_core::broadcast(|_| ()))),
    ("spawn_broadcast", || rayon_core::spawn_broadcast(|_| ())),
    ("current_num_threads", || {
        current_num_threads();
    }),
];

#[test]
fn these_calls_from_outside_start_it() {
    for (name, _) in CALLS {
        child::run_well("global_start::starting_call_child", &[("CALL", name)]);
    }
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn starting_call_child() {
    if is_child() {
        let name = std::env::var("CALL").unwrap();
        let (_, call) = CALLS.into_iter().find(|(known, _)| *known == name).unwrap();
        patiently(&name, || {
            call();
            let error = ThreadPoolBuilder::new()
                .num_threads(7)
                .build_global()
                .unwrap_err();
            assert_eq!(error.to_string(), TEXT, "{name}");
            assert_ne!(current_num_threads(), 7);
        });
    }
}

#[test]
fn other_calls_do_not_start_it() {
    child::run_well("global_start::other_calls_child", &[]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn other_calls_child() {
    if is_child() {
        patiently("calls that need no global pool", || {
            rayon_core::max_num_threads();
            rayon_core::current_thread_index();
            rayon_core::current_thread_has_pending_tasks();
            rayon_core::yield_now();
            rayon_core::yield_local();
            let pool = pool(2);
            pool.install(|| rayon_core::join(|| (), || ()));
            pool.install(|| {
                rayon_core::spawn(|| ());
                rayon_core::spawn_fifo(|| ());
                rayon_core::spawn_broadcast(|_| ());
                rayon_core::in_place_scope(|_| ());
                current_num_threads()
            });
            pool.join(|| (), || ());
            pool.scope(|_| ());
            pool.scope_fifo(|_| ());
            pool.in_place_scope(|_| ());
            pool.in_place_scope_fifo(|_| ());
            pool.spawn(|| ());
            pool.spawn_fifo(|| ());
            pool.spawn_broadcast(|_| ());
            pool.broadcast(|_| ());
            pool.yield_now();
            pool.yield_local();
            pool.current_num_threads();
            pool.current_thread_index();
            pool.current_thread_has_pending_tasks();
            // So this is the first attempt.
            ThreadPoolBuilder::new()
                .num_threads(7)
                .build_global()
                .unwrap();
            assert_eq!(current_num_threads(), 7);
        });
    }
}
