//! What a pool does to the affinity of its threads: nothing that a job could see.

use std::thread::sleep;
use std::time::Duration;

use rayon_core::{ThreadPoolBuilder, join};
use rustix::thread::sched_getaffinity;

fn usable_cpus() -> u32 {
    sched_getaffinity(None).unwrap().count()
}

#[test]
fn a_worker_that_another_one_woke_may_use_every_cpu() {
    let all = usable_cpus();
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for _ in 0..50 {
        // Time to fall asleep, so that the first half is run by a worker that must wake the other one.
        sleep(Duration::from_millis(1));
        let (first, second) = pool.install(|| {
            let linger = || {
                sleep(Duration::from_micros(200));
                usable_cpus()
            };
            join(linger, linger)
        });
        assert_eq!((first, second), (all, all));
    }
}
