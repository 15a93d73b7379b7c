//! The cost of the adapter: a Fibonacci number by the rival's own `join`, and by rayon-core's
//! interface on the rival.
//!
//! Both run in turns in one pool of one process, which prints the median time of a join for each,
//! and the median of their ratios. Arguments: threads (1), which number (27), turns (31).

#![expect(clippy::print_stdout, reason = "a program")]

use std::env;
use std::hint::black_box;
use std::time::Instant;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

fn through_the_adapter(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (one_less, two_less) =
        rayon_core::join(|| through_the_adapter(n - 1), || through_the_adapter(n - 2));
    one_less + two_less
}

mod rival {
    use std::num::NonZero;

    use chili::{Config, Scope, ThreadPool};

    pub(crate) struct Direct(ThreadPool);

    impl Direct {
        pub(crate) fn new(threads: usize) -> Self {
            let config = Config {
                thread_count: NonZero::new(threads),
                ..Config::default()
            };
            Self(ThreadPool::with_config(config))
        }

        pub(crate) fn fibonacci(&self, n: u64) -> u64 {
            fibonacci(&mut self.0.scope(), n)
        }
    }

    // Its second closure runs where it is called, as the adapter's first one.
    fn fibonacci(scope: &mut Scope<'_>, n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (two_less, one_less) = scope.join(
            |scope| fibonacci(scope, n - 2),
            |scope| fibonacci(scope, n - 1),
        );
        one_less + two_less
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let numbers: Vec<u64> = env::args()
        .skip(1)
        .map(|it| it.parse().expect("arguments are whole numbers"))
        .collect();
    let argument = |index: usize, default| numbers.get(index).copied().unwrap_or(default);
    let (n, turns) = (argument(1, 27), argument(2, 31));
    let threads = usize::try_from(argument(0, 1)).expect("fewer threads");
    let pool: ThreadPool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool of few threads");
    let direct = rival::Direct::new(threads);
    let joins = through_the_adapter(n + 1) - 1;
    let time = |run: &dyn Fn() -> u64| {
        let start = Instant::now();
        black_box(run());
        start.elapsed().as_secs_f64() * 1e9 / joins as f64
    };
    let (mut of_direct, mut of_adapter) = (Vec::new(), Vec::new());
    for turn in 0..=turns {
        let by_itself = time(&|| direct.fibonacci(black_box(n)));
        let by_adapter = time(&|| pool.install(|| through_the_adapter(black_box(n))));
        // The first turn warms up.
        if turn > 0 {
            of_direct.push(by_itself);
            of_adapter.push(by_adapter);
        }
    }
    let ratios = of_adapter
        .iter()
        .zip(&of_direct)
        .map(|(adapter, direct)| adapter / direct);
    println!(
        "{threads} threads, {joins} joins: {:.2} ns a join by itself, {:.2} ns by the adapter, ratio {:.3}",
        median(of_direct.clone()),
        median(of_adapter.clone()),
        median(ratios.collect())
    );
}
