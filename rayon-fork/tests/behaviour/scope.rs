//! `scope`: which worker runs the jobs while the scope's closure works.

use std::thread;
use std::time::Duration;

use rayon_core::current_thread_index;

use crate::common::{Count, in_time, pool};

#[test]
fn idle_workers_run_the_jobs_behind_a_long_one() {
    in_time(|| {
        let pool = pool(2);
        // The other worker is asleep, or runs another job while the jobs are spawned.
        for is_busy in [false, true] {
            let (started, count) = (&Count::new(), &Count::new());
            pool.scope(|scope| {
                let place = current_thread_index();
                scope.spawn_broadcast(move |_, context| {
                    if is_busy && Some(context.index()) != place {
                        started.add(1);
                        thread::sleep(Duration::from_millis(100));
                    }
                });
                while is_busy && started.get() == 0 {
                    thread::yield_now();
                }
                (0..100).for_each(|_| scope.spawn(|_| count.add(1)));
                // This worker runs a long job, which neither pushes nor pops, and ends after all
                // other jobs have ended.
                while count.get() < 100 {
                    thread::yield_now();
                }
            });
        }
    });
}
