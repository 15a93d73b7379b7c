//! Every workload at size `small`, the sequential program and the parallel one on a pool of the
//! default size, every answer checked.
//!
//! For people who work on one workload or on the pool's hot paths. Comparing branches is the
//! runner's business: here nothing is randomised, and all runs share a process.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use protocol::Size;
use rayon::{ThreadPool, ThreadPoolBuilder};
use workloads::CATALOGUE;
use workloads::workload::{Instance, Setup, Workload};

fn every_workload(criterion: &mut Criterion) {
    let pool = ThreadPoolBuilder::new()
        .build()
        .expect("a pool of the default size can be built");
    for workload in CATALOGUE {
        let mut group = criterion.benchmark_group(workload.description().name);
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_secs(1));
        bench(&mut group, *workload, &pool);
        group.finish();
    }
}

fn bench(group: &mut BenchmarkGroup<'_, WallTime>, workload: &dyn Workload, pool: &ThreadPool) {
    let description = workload.description();
    let values = description
        .resolve(Size::Small, &BTreeMap::new(), false)
        .expect("a size is a valid request");
    let threads = pool.current_num_threads();
    // Prepared for a benchmark that is chosen, since some inputs take a while.
    let prepare = || {
        let setup = Setup {
            seed: 1,
            values: &values,
            input: None,
            threads,
        };
        workload.prepare(&setup).expect("no file is needed")
    };
    let mut instance: Option<Box<dyn Instance>> = None;
    group.bench_function("sequential", |bencher| {
        let instance = instance.get_or_insert_with(prepare);
        bencher.iter_custom(|runs| {
            time(instance.as_mut(), runs, |instance| {
                instance.run_sequential()
            })
        });
    });
    group.bench_function(format!("threads/{threads}"), |bencher| {
        let instance = instance.get_or_insert_with(prepare);
        bencher.iter_custom(|runs| time(instance.as_mut(), runs, |instance| instance.run_on(pool)));
    });
}

/// Time of so many runs, each with its own untimed reset and check.
fn time(
    instance: &mut dyn Instance,
    runs: u64,
    mut run: impl FnMut(&mut dyn Instance) -> u64,
) -> Duration {
    let mut elapsed = Duration::ZERO;
    for _ in 0..runs {
        instance.reset();
        let begin = Instant::now();
        run(instance);
        elapsed += begin.elapsed();
        if let Err(mismatch) = instance.check() {
            panic!("expected {}, got {}", mismatch.expected, mismatch.actual);
        }
    }
    elapsed
}

criterion_group!(benches, every_workload);
criterion_main!(benches);
