//! `spawn` and `spawn_fifo`: detached jobs, and where their panics go.

use std::sync::mpsc;
use std::thread;

use rayon_core::ThreadPoolBuilder;

use crate::common::in_time;

#[test]
fn a_job_spawned_into_a_pool_runs_there_whoever_spawns() {
    in_time(|| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .thread_name(|_| "mine".into())
            .build()
            .unwrap();
        let (sender, names) = mpsc::channel();
        let spawn_both = || {
            let (first, second) = (sender.clone(), sender.clone());
            let name = || thread::current().name().map(str::to_owned);
            pool.spawn(move || first.send(name()).unwrap());
            pool.spawn_fifo(move || second.send(name()).unwrap());
        };
        spawn_both();
        pool.install(spawn_both);
        crate::common::pool(1).install(spawn_both);
        assert!(
            names
                .iter()
                .take(6)
                .all(|name| name.as_deref() == Some("mine"))
        );
    });
}
