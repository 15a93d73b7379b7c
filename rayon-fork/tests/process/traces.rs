//! A pool starts no thread but its workers, a scoped pool joins them, and a child of `fork` may
//! build pools.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::Duration;

use rayon_core::{ThreadBuilder, ThreadPool, ThreadPoolBuilder, rayon_fork_variant};
use seccompiler::SeccompAction;

use crate::child::{alone, ending};
use crate::common::{Tally, in_time, panic_text};
use crate::sandbox::{fork_and_wait, meet, pool_of_two, settle, watch_for};

fn bystander() {
    thread::spawn(|| sleep(Duration::from_secs(600)));
}

/// A thread-local value whose drop takes a while; a thread drops its thread-locals last.
struct KeptByThread(Cell<Option<Tally>>);

impl Drop for KeptByThread {
    fn drop(&mut self) {
        sleep(Duration::from_millis(20));
        if let Some(gone) = self.0.take() {
            gone.add_one();
        }
    }
}

#[test]
fn the_threads_of_a_scoped_pool_are_gone_when_it_returns() {
    thread_local!(static KEPT: KeptByThread = const { KeptByThread(Cell::new(None)) });
    in_time(|| {
        let gone = Tally::new();
        let with_pool = |use_it: fn(&ThreadPool)| {
            let keep = |thread: ThreadBuilder| {
                KEPT.with(|kept| kept.0.set(Some(gone.clone())));
                thread.run();
            };
            let builder = ThreadPoolBuilder::new().num_threads(3);
            builder.build_scoped(keep, use_it).unwrap();
        };
        with_pool(|_| ());
        assert_eq!(gone.get(), 3);
        assert_eq!(panic_text(|| with_pool(|_| panic!("in use"))), "in use");
        assert_eq!(gone.get(), 6);
    });
}

#[test]
fn a_scoped_pool_tells_that_a_thread_has_panicked() {
    in_time(|| {
        let run = |thread: ThreadBuilder| {
            thread.run();
            panic!("after the pool");
        };
        let builder = || ThreadPoolBuilder::new().num_threads(2);
        let text = panic_text(|| builder().build_scoped(run, |_| ()));
        assert_eq!(text, "a scoped thread panicked");
        let text = panic_text(|| builder().build_scoped(run, |_| panic!("in use")));
        assert_eq!(text, "in use");
    });
}

#[test]
fn a_pool_starts_no_thread_where_that_is_deadly() {
    alone(&[], || {
        bystander();
        let start = |_| {
            let (sender, receiver) = mpsc::channel::<ThreadBuilder>();
            let run = move || receiver.recv().unwrap().run();
            (sender, thread::spawn(run))
        };
        let (senders, threads): (Vec<_>, Vec<_>) = (0..2).map(start).unzip();
        let calls = [
            libc::SYS_clone,
            libc::SYS_clone3,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_fork,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_vfork,
        ];
        watch_for(&calls, SeccompAction::KillProcess);
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .spawn_handler(|worker| {
                senders[worker.index()].send(worker).unwrap();
                Ok(())
            })
            .build()
            .unwrap();
        meet(&pool);
        settle(&pool);
        drop(pool);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

static CALLS_LEFT: AtomicI64 = AtomicI64::new(-1);
static IS_HELD: AtomicBool = AtomicBool::new(false);

/// Stops the thread whose call raised the signal, after `CALLS_LEFT` other calls.
extern "C" fn hold(_signal: libc::c_int) {
    if CALLS_LEFT.fetch_sub(1, Ordering::SeqCst) == 0 {
        IS_HELD.store(true, Ordering::SeqCst);
        loop {
            // SAFETY: always safe, also in a signal handler.
            unsafe { libc::sched_yield() };
        }
    }
}

#[test]
fn a_child_that_is_forked_in_the_middle_of_the_first_build_may_build_pools() {
    let build_and_hold = || {
        let calls = std::env::var("CALLS").unwrap().parse().unwrap();
        bystander();
        let handler: extern "C" fn(libc::c_int) = hold;
        // SAFETY: the handler makes one call that is safe in a signal handler, and accesses
        // atomics.
        unsafe { libc::signal(libc::SIGSYS, handler as libc::sighandler_t) };
        // A trapped call of `statx` fills in nothing, so files seem to have no length, and folders
        // no subfolders.
        watch_for(&[libc::SYS_statx], SeccompAction::Trap);
        CALLS_LEFT.store(calls, Ordering::SeqCst);
        let build = thread::spawn(|| {
            let pool = pool_of_two();
            pool.broadcast(|_| ());
            pool
        });
        while !IS_HELD.load(Ordering::SeqCst) && !build.is_finished() {
            sleep(Duration::from_micros(100));
        }
        if IS_HELD.load(Ordering::SeqCst) {
            fork_and_wait(|| meet(&pool_of_two()));
        } else {
            println!("{BUILT}");
        }
    };
    // Each interrupted build of a pool has made some, but not all, of its system calls about files.
    for calls_before in 0.. {
        let calls = calls_before.to_string();
        let Some(ending) = ending(&[("CALLS", &calls)], build_and_hold) else {
            return;
        };
        assert!(ending.status.success(), "{}", ending.stderr);
        if ending.stdout.contains(BUILT) {
            // Of the parts, these read the number of CPUs; `demand` also reads whether the process
            // has other threads.
            let reads_files = ["demand", "wake-where-work-is", "warm-install"]
                .iter()
                .any(|part| rayon_fork_variant().contains(part));
            assert_eq!(calls_before > 0, reads_files, "threads were stopped");
            return;
        }
    }
}

const BUILT: &str = "no thread is stopped any more";

#[test]
fn a_child_that_is_forked_while_a_worker_registers_has_the_same_fences() {
    if rayon_fork_variant().contains("demand") {
        alone(&[], || {
            bystander();
            // In pools that are a second old, a worker registers when it becomes idle. That takes
            // the kernel some milliseconds.
            let pools = [(); 3].map(|()| pool_of_two());
            sleep(Duration::from_secs(1));
            for pool in &pools {
                pool.spawn(|| ());
                sleep(Duration::from_millis(2));
                fork_and_wait(|| {
                    let pool = pool_of_two();
                    settle(&pool);
                    meet(&pool);
                });
            }
            in_time(|| {
                pools.iter().for_each(settle);
                pools.iter().for_each(meet);
            });
        });
    }
}

#[test]
fn an_idle_worker_registers_where_the_caller_is_a_worker_too() {
    alone(&[], || {
        bystander();
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .build()
            .unwrap();
        settle(&pool);
        meet(&pool);
    });
}
