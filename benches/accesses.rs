//! Accesses per second of the host, by cores of the machine: all on lines of their own, and all on
//! one line.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use manycore::atomic::{AtomicUsize, Ordering};
use manycore::{FrequencyMode, Machine, run, thread};

#[derive(Default)]
#[repr(align(128))]
struct Padded(AtomicUsize);

/// Accesses of each run.
const ACCESSES: usize = 1 << 17;

fn accesses(cores: usize, is_hot: bool) -> u64 {
    let mut machine = Machine::free(cores);
    machine.prices.hit = 1_000;
    machine.prices.transfer = [0, 23_000, 23_000, 23_000];
    let finished = run(&machine, FrequencyMode::Fixed, 1, move || {
        let words: Arc<Vec<Padded>> = Arc::new((0..cores).map(|_| Padded::default()).collect());
        let body = |i: usize| {
            let words = Arc::clone(&words);
            move || {
                let word = &words[if is_hot { 0 } else { i }].0;
                for _ in 0..ACCESSES / cores {
                    word.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let threads: Vec<_> = (0..cores).map(|i| thread::spawn(body(i))).collect();
        for thread in threads {
            thread.join().expect("it does not panic");
        }
    });
    finished.expect("it does not block").accesses
}

fn benchmark(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("accesses");
    group.throughput(Throughput::Elements(ACCESSES as u64));
    for cores in [1, 8, 64, 1024] {
        for (name, is_hot) in [("apart", false), ("hot", true)] {
            group.bench_with_input(BenchmarkId::new(name, cores), &cores, |bencher, &cores| {
                bencher.iter(|| black_box(accesses(cores, is_hot)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
