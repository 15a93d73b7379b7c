use rayon_core::spawn;

use crate::common::{Log, Tally, in_time, panic_text, pool};

#[test]
fn jobs_of_the_waiting_workers_pool_run_inside_its_install() {
    in_time(|| {
        let (pool, other) = (pool(1), pool(1));
        let log = Log::new();
        let has_run = Tally::new();
        pool.install(|| {
            let (log_job, ran) = (log.clone(), has_run.clone());
            log.add("before");
            spawn(move || {
                log_job.add("interleaved");
                ran.add_one();
            });
            // `install` does not return before the spawned job has run, which only this thread can
            // run.
            other.install(|| has_run.wait_for(1));
            log.add("after");
        });
        assert_eq!(log.take(), ["before", "interleaved", "after"]);
    });
}

#[test]
fn a_panic_comes_back_to_a_worker_of_another_pool() {
    in_time(|| {
        let (pool, other) = (pool(1), pool(1));
        let (text, caller) = other.install(|| {
            (
                panic_text(|| pool.install(|| panic!("inside"))),
                other.current_thread_index(),
            )
        });
        assert_eq!((text.as_str(), caller), ("inside", Some(0)));
        assert_eq!((pool.install(|| 22), other.install(|| 23)), (22, 23));
    });
}
