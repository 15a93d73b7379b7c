//! Random work from several external threads on pools that come and go.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use rayon_core::{ThreadPool, ThreadPoolBuilder, join};

use crate::common::{Count, TIME_LIMIT, Tally, rounds, within_or};
use crate::{SHORT, grow, idle_gap, in_time, number_from, seed};

/// One period of the random test: some pools, and the counts of the detached jobs in them.
struct Epoch {
    pools: Vec<ThreadPool>,
    submitted: AtomicUsize,
    executed: AtomicUsize,
    /// The current action of each external thread, for the watchdog.
    doing: Vec<Mutex<&'static str>>,
}

impl Epoch {
    fn state(&self) -> String {
        let doing: Vec<_> = self
            .doing
            .iter()
            .map(|doing| *doing.lock().unwrap())
            .collect();
        let sizes: Vec<_> = self
            .pools
            .iter()
            .map(ThreadPool::current_num_threads)
            .collect();
        format!(
            "Pools of {sizes:?} workers; external threads in {doing:?}; {} detached jobs submitted, {} executed",
            self.submitted.load(Ordering::Relaxed),
            self.executed.load(Ordering::Relaxed),
        )
    }

    fn pool(&self, rng: &mut Rng) -> &ThreadPool {
        &self.pools[rng.usize(..self.pools.len())]
    }

    fn submit(self: &Arc<Self>, rng: &mut Rng, depth: usize) {
        let this = Arc::clone(self);
        let mut rng_of_job = rng.fork();
        let job = move || {
            if depth > 0 {
                (0..rng_of_job.usize(..3)).for_each(|_| this.submit(&mut rng_of_job, depth - 1));
            }
            this.executed.fetch_add(1, Ordering::Relaxed);
        };
        let pool = self.pool(rng);
        if rng.u8(..4) == 0 {
            self.submitted
                .fetch_add(pool.current_num_threads(), Ordering::Relaxed);
            let job = Mutex::new(job);
            pool.spawn_broadcast(move |_| (job.lock().unwrap())());
            return;
        }
        self.submitted.fetch_add(1, Ordering::Relaxed);
        if rng.bool() {
            pool.spawn(job);
        } else {
            pool.spawn_fifo(job);
        }
    }

    fn act(self: &Arc<Self>, rng: &mut Rng, doing: &Mutex<&'static str>) {
        let says = |what| *doing.lock().unwrap() = what;
        let mut inner = rng.fork();
        let pool = self.pool(rng);
        match rng.u8(..8) {
            0 => {
                says("join");
                let leaves = rng.usize(1..200);
                assert_eq!(pool.install(|| leaves_by_joins(leaves, &mut inner)), leaves);
            }
            1 => {
                says("scope");
                let (count, jobs) = (Count::new(), rng.usize(..30));
                pool.scope(|scope| grow(scope, jobs, &count));
                assert_eq!(count.get(), jobs);
            }
            2 => {
                says("scope_fifo");
                let (count, jobs) = (Count::new(), rng.usize(..30));
                pool.scope_fifo(|scope| (0..jobs).for_each(|_| scope.spawn_fifo(|_| count.add(1))));
                assert_eq!(count.get(), jobs);
            }
            3 => {
                says("in_place_scope");
                let (count, jobs) = (Count::new(), rng.usize(..30));
                pool.in_place_scope(|scope| {
                    grow(scope, jobs, &count);
                    scope.spawn_broadcast(|_, _| count.add(1));
                });
                assert_eq!(count.get(), jobs + pool.current_num_threads());
            }
            4 => {
                says("broadcast");
                assert!(
                    pool.broadcast(|c| c.index())
                        .into_iter()
                        .eq(0..pool.current_num_threads())
                );
            }
            5 => {
                says("install into another pool");
                let leaves = rng.usize(1..50);
                let other = self.pool(rng);
                let result = pool.install(|| {
                    let by_other = || other.install(|| leaves_by_joins(leaves, &mut inner));
                    join(by_other, || other.broadcast(|_| 1_usize).into_iter().sum())
                });
                assert_eq!(result, (leaves, other.current_num_threads()));
            }
            6 => {
                says("spawn");
                self.submit(rng, 3);
            }
            _ => {
                says("idle gap");
                let longest = if rng.u8(..8) == 0 { 20 * SHORT } else { SHORT };
                idle_gap(rng, longest);
            }
        }
    }
}

fn leaves_by_joins(leaves: usize, rng: &mut Rng) -> usize {
    if leaves == 1 {
        return 1;
    }
    let left = rng.usize(1..leaves);
    let mut rng_of_left = rng.fork();
    let counted = join(
        || leaves_by_joins(left, &mut rng_of_left),
        || leaves_by_joins(leaves - left, rng),
    );
    counted.0 + counted.1
}

#[test]
fn random_work_from_many_threads_is_neither_lost_nor_doubled_nor_stuck() {
    const OUTSIDE_THREADS: usize = 3;
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let seconds = number_from("FORK_STRESS_SECONDS").unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut epochs = 0;
    while epochs == 0 || (Instant::now() < end && !cfg!(miri)) {
        epochs += 1;
        let exits = Tally::new();
        let mut workers = 0;
        let pools = (0..rng.usize(1..=3)).map(|_| {
            let size = rng.usize(1..=4);
            workers += size;
            let on_exit = exits.clone();
            let builder = ThreadPoolBuilder::new().num_threads(size);
            builder
                .exit_handler(move |_| on_exit.add_one())
                .build()
                .unwrap()
        });
        let epoch = Arc::new(Epoch {
            pools: pools.collect(),
            submitted: AtomicUsize::new(0),
            executed: AtomicUsize::new(0),
            doing: (0..OUTSIDE_THREADS).map(|_| Mutex::new("start")).collect(),
        });
        let totals = Arc::clone(&epoch);
        let state = || format!("Seed {seed}, epoch {epochs}. {}", epoch.state());
        within_or(TIME_LIMIT, "an epoch of random work", state, || {
            thread::scope(|threads| {
                for doing in &totals.doing {
                    let mut rng = rng.fork();
                    let epoch = &totals;
                    threads.spawn(move || {
                        (0..rounds(100, 3)).for_each(|_| epoch.act(&mut rng, doing));
                        *doing.lock().unwrap() = "end";
                    });
                }
            });
            while totals.executed.load(Ordering::Relaxed) < totals.submitted.load(Ordering::Relaxed)
            {
                thread::yield_now();
            }
        });
        let (submitted, executed) = (&totals.submitted, &totals.executed);
        assert_eq!(
            executed.load(Ordering::Relaxed),
            submitted.load(Ordering::Relaxed)
        );
        // The last holder of the epoch drops the pools: this thread, or a worker.
        drop((epoch, totals));
        in_time(|| exits.wait_for(workers));
        assert_eq!(exits.get(), workers);
    }
    println!("{epochs} epochs");
}
