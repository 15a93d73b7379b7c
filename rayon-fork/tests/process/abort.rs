use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use rayon_core::{ThreadPool, ThreadPoolBuilder, spawn, spawn_broadcast, spawn_fifo};

use crate::child::{alone, ending};
use crate::common::pool;

const SIGABRT: i32 = 6;

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("dropped before the process died");
    }
}

fn pool_of_one(option: impl FnOnce(ThreadPoolBuilder) -> ThreadPoolBuilder) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(1);
    option(builder).build().unwrap()
}

/// The last message of a process, and the action that ends it.
const DEATHS: [(&str, fn()); 8] = [
    ("no thread takes spawn", || {
        spawn(|| panic!("no thread takes spawn"));
    }),
    ("no thread takes spawn_fifo", || {
        spawn_fifo(|| panic!("no thread takes spawn_fifo"));
    }),
    ("no thread takes spawn_broadcast", || {
        spawn_broadcast(|_| panic!("no thread takes spawn_broadcast"));
    }),
    ("no thread takes the pool's spawn", || {
        let pool = pool(1);
        pool.spawn(|| panic!("no thread takes the pool's spawn"));
    }),
    ("the handler too", || {
        let pool = pool_of_one(|it| it.panic_handler(|_| panic!("the handler too")));
        pool.spawn(|| panic!("the job"));
    }),
    // The process must die before the payload of the handler's panic is dropped.
    ("nowhere to go in the panic handler", || {
        let pool = pool_of_one(|it| it.panic_handler(|_| std::panic::panic_any(PanicsInDrop)));
        pool.spawn(|| panic!("the job"));
    }),
    ("no thread takes start", || {
        let _pool = pool_of_one(|it| it.start_handler(|_| panic!("no thread takes start")));
    }),
    ("no thread takes exit", || {
        drop(pool_of_one(|it| {
            it.exit_handler(|_| panic!("no thread takes exit"))
        }));
    }),
];

#[test]
fn a_panic_with_nowhere_to_go_aborts() {
    for (last_words, _) in DEATHS {
        let action = || {
            let last_words = std::env::var("LAST_WORDS").unwrap();
            let (_, action) = DEATHS.iter().find(|(it, _)| *it == last_words).unwrap();
            action();
            // Blocks until the process has died.
            std::thread::sleep(Duration::from_secs(20));
            panic!("still alive");
        };
        let Some(ending) = ending(&[("LAST_WORDS", last_words)], action) else {
            return;
        };
        assert_eq!(ending.status.signal(), Some(SIGABRT), "{}", ending.stderr);
        assert!(
            ending.stderr.contains(last_words),
            "{last_words:?} is not in {}",
            ending.stderr
        );
    }
}

#[test]
fn a_panic_that_a_thread_waits_for_does_not_abort() {
    alone(&[], || {
        assert!(std::panic::catch_unwind(|| pool(1).install(|| panic!("awaited"))).is_err());
        let joined = std::panic::catch_unwind(|| rayon_core::join(|| (), || panic!("awaited")));
        assert!(joined.is_err());
    });
}

#[test]
fn a_thread_that_is_a_worker_cannot_be_made_one_again() {
    let action = || {
        let mut given = None;
        let keep = |thread| {
            given = Some(thread);
            Ok(())
        };
        let _short_of_a_worker = ThreadPoolBuilder::new()
            .num_threads(1)
            .spawn_handler(keep)
            .build()
            .unwrap();
        let thread = given.unwrap();
        let pool = pool(1);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.install(move || thread.run());
        }));
        assert!(outcome.is_err(), "`run` returned on a worker");
        assert_eq!(pool.install(rayon_core::current_thread_index), Some(0));
    };
    let Some(ending) = ending(&[], action) else {
        return;
    };
    // It would also be right if `run` panicked instead of aborting the process.
    let has_aborted = ending.status.signal() == Some(SIGABRT);
    assert!(has_aborted || ending.status.success(), "{}", ending.stderr);
}
