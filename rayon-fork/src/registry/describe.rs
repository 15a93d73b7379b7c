//! The description of a pool that `{pool:?}` prints.

use std::fmt;

use super::Registry;
use crate::ThreadPool;
use crate::deque::{Deque, JobStealer};
use crate::sync::Ordering;

/// Shows the counts of the variant, how many jobs wait in each queue, and whether each worker is
/// awake, armed (about to block), parked (blocked) or woken (about to run). Printing never blocks,
/// so that a user can examine a pool that hangs. The printed values may be of slightly different
/// moments.
impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pool = f.debug_struct("ThreadPool");
        self.registry().describe(&mut pool);
        pool.finish()
    }
}

impl Registry {
    fn describe(&self, pool: &mut fmt::DebugStruct<'_, '_>) {
        pool.field("num_threads", &self.num_threads())
            .field("id", &self.id());
        self.sleep.describe(pool);
        let lengths = self
            .stealers
            .iter()
            .map(JobStealer::len)
            .collect::<Vec<_>>();
        pool.field("queued", &lengths);
        // Printing runs code of the user's writer, so it begins after the lock is released.
        let lengths = self
            .broadcasts
            .try_lock()
            .map(|queues| queues.iter().map(Deque::len).collect::<Vec<_>>());
        match lengths {
            Some(lengths) => pool.field("broadcasts", &lengths),
            None => pool.field("broadcasts", &format_args!("Locked")),
        };
        let reasons_to_live = self.reasons_to_live.load(Ordering::Relaxed);
        pool.field("injected", &self.injector.len())
            .field("reasons_to_live", &reasons_to_live);
    }
}

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use std::fmt;
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use crate::{ThreadPool, ThreadPoolBuilder};

    fn pool(workers: usize) -> ThreadPool {
        ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()
            .unwrap()
    }

    fn await_description(pool: &ThreadPool, parts: &[&str]) {
        let start = Instant::now();
        loop {
            let text = format!("{pool:?}");
            if parts.iter().all(|part| text.contains(part)) {
                return;
            }
            assert!(
                start.elapsed() < Duration::from_mins(1),
                "no {parts:?} in {text}"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_busy_pool_shows_what_waits_in_each_queue() {
        let pool = pool(1);
        let (release, is_released) = mpsc::channel::<()>();
        pool.spawn(move || {
            crate::spawn(|| {});
            crate::spawn(|| {});
            let _ = is_released.recv();
        });
        await_description(&pool, &["queued: [2]"]);
        pool.spawn(|| {});
        pool.spawn_broadcast(|_| {});
        let text = format!("{pool:?}");
        for part in [
            "workers: [Awake]",
            "sleeping: 0",
            "broadcasts: [1]",
            "injected: 1",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        drop(release);
        await_description(
            &pool,
            &["queued: [0], broadcasts: [0], injected: 0, reasons_to_live: 1"],
        );
    }

    /// A writer that uses the pool that it prints.
    struct Submits<'p>(&'p ThreadPool);

    impl fmt::Write for Submits<'_> {
        fn write_str(&mut self, _: &str) -> fmt::Result {
            self.0.spawn(|| {});
            self.0.spawn_broadcast(|_| {});
            Ok(())
        }
    }

    #[test]
    fn no_lock_is_held_while_the_users_writer_runs() {
        let pool = pool(2);
        fmt::write(&mut Submits(&pool), format_args!("{pool:?}")).unwrap();
        assert_eq!(pool.broadcast(|it| it.index()), [0, 1]);
    }
}
