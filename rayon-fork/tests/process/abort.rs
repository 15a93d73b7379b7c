//! Deaths: a panic with nowhere to go ends the process, and so does an overflowing stack.

use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;

use rayon_core::{ThreadPoolBuilder, spawn, spawn_broadcast, spawn_fifo};

use crate::child::{self, is_child};
use crate::common::{patiently, pool};

const SIGABRT: i32 = 6;

/// The child must die of SIGABRT, after it wrote `last_words`.
fn dies(name: &str, last_words: &str) {
    let ending = child::run(&format!("abort::{name}"), &[]);
    assert_eq!(
        ending.status.signal(),
        Some(SIGABRT),
        "{}\n{}",
        ending.status,
        ending.stderr
    );
    assert!(
        ending.stderr.contains(last_words),
        "{last_words:?} is not in {}",
        ending.stderr
    );
}

/// Blocks until the process has died, with time for it to do so.
fn await_death() {
    std::thread::sleep(std::time::Duration::from_secs(20));
    panic!("still alive");
}

#[test]
fn a_panic_of_a_spawned_job_without_a_handler_aborts() {
    for (name, last_words) in [
        ("spawn_child", "nobody takes spawn"),
        ("spawn_fifo_child", "nobody takes spawn_fifo"),
        ("spawn_broadcast_child", "nobody takes spawn_broadcast"),
        ("pool_spawn_child", "nobody takes the pool's spawn"),
    ] {
        dies(name, last_words);
    }
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn spawn_child() {
    if is_child() {
        spawn(|| panic!("nobody takes spawn"));
        await_death();
    }
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn spawn_fifo_child() {
    if is_child() {
        spawn_fifo(|| panic!("nobody takes spawn_fifo"));
        await_death();
    }
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn spawn_broadcast_child() {
    if is_child() {
        spawn_broadcast(|_| panic!("nobody takes spawn_broadcast"));
        await_death();
    }
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn pool_spawn_child() {
    if is_child() {
        let pool = pool(1);
        pool.spawn(|| panic!("nobody takes the pool's spawn"));
        await_death();
    }
}

#[test]
fn a_panic_of_the_panic_handler_aborts() {
    dies("panic_handler_child", "the handler too");
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn panic_handler_child() {
    if is_child() {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let pool = builder
            .panic_handler(|_| panic!("the handler too"))
            .build()
            .unwrap();
        pool.spawn(|| panic!("the job"));
        await_death();
    }
}

/// A payload that would panic again where the pool looks at it.
struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("dropped before the process died");
    }
}

#[test]
fn a_panic_of_the_panic_handler_aborts_before_its_payload_is_dropped() {
    dies(
        "panic_handler_with_a_bomb_child",
        "nowhere to go in the panic handler",
    );
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn panic_handler_with_a_bomb_child() {
    if is_child() {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let pool = builder
            .panic_handler(|_| std::panic::panic_any(PanicsInDrop))
            .build()
            .unwrap();
        pool.spawn(|| panic!("the job"));
        await_death();
    }
}

#[test]
fn a_panic_of_a_start_or_exit_handler_without_a_panic_handler_aborts() {
    dies("start_handler_child", "nobody takes start");
    dies("exit_handler_child", "nobody takes exit");
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn start_handler_child() {
    if is_child() {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let _pool = builder
            .start_handler(|_| panic!("nobody takes start"))
            .build()
            .unwrap();
        await_death();
    }
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn exit_handler_child() {
    if is_child() {
        let builder = ThreadPoolBuilder::new().num_threads(1);
        drop(
            builder
                .exit_handler(|_| panic!("nobody takes exit"))
                .build()
                .unwrap(),
        );
        await_death();
    }
}

#[test]
fn a_panic_that_somebody_waits_for_does_not_abort() {
    child::run_well("abort::awaited_child", &[]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn awaited_child() {
    if is_child() {
        assert!(std::panic::catch_unwind(|| pool(1).install(|| panic!("awaited"))).is_err());
        let joined = std::panic::catch_unwind(|| rayon_core::join(|| (), || panic!("awaited")));
        assert!(joined.is_err());
    }
}

#[test]
fn a_thread_that_is_a_worker_cannot_be_made_one_again() {
    let ending = child::run("abort::run_twice_child", &[]);
    let has_aborted = ending.status.signal() == Some(SIGABRT);
    // A panic that comes out of `run` would do as well; silence or a crash would not.
    let has_panicked = ending.status.success() && ending.stdout.contains("answer<panicked>");
    assert!(
        has_aborted || has_panicked,
        "{}\n{}",
        ending.status,
        ending.stderr
    );
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn run_twice_child() {
    if is_child() {
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
        child::answer("panicked");
    }
}

/// How much stack the recursion uses, in bytes.
const DEPTH: usize = 32 << 20;

/// Recurses until the stack has grown by [`DEPTH`] below `top`. Returns the number of levels.
#[inline(never)]
fn recurse(top: usize) -> usize {
    let mut frame = [0_u8; 4096];
    // Other code might look at the frame here and after the call, so it cannot be optimised away.
    let here = black_box(&mut frame).as_ptr().addr();
    let levels = if top.abs_diff(here) < DEPTH {
        recurse(top)
    } else {
        0
    };
    black_box(&mut frame);
    levels + 1
}

#[test]
fn an_overflow_of_a_workers_stack_ends_the_process() {
    let ending = child::run("abort::overflow_child", &[("STACK_MIB", "8")]);
    // By a signal, unless a sanitizer reports the overflow first and exits with a code of its own.
    // That of a failed test would mean that the recursion came back.
    let is_killed = ending.status.signal().is_some();
    assert!(
        is_killed || !matches!(ending.status.code(), Some(0 | 101)),
        "{}\n{}",
        ending.status,
        ending.stdout
    );
}

#[test]
fn a_worker_has_the_stack_that_was_asked_for() {
    child::run_well("abort::overflow_child", &[("STACK_MIB", "48")]);
}

#[test]
#[ignore = "run in a process of its own by the tests above"]
fn overflow_child() {
    if is_child() {
        let mebibytes: usize = std::env::var("STACK_MIB").unwrap().parse().unwrap();
        let builder = ThreadPoolBuilder::new()
            .num_threads(1)
            .stack_size(mebibytes << 20);
        let pool = builder.build().unwrap();
        patiently("a deep recursion", || {
            let levels = pool.install(|| {
                let top = 0_u8;
                recurse(black_box(&raw const top).addr())
            });
            assert!(levels > 1, "the recursion was optimised away");
        });
    }
}
