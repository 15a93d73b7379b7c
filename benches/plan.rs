//! What the tool itself costs before the first trial: a plan of more than 10⁵ trials, every branch
//! on every workload at 66 thread counts.

use std::collections::BTreeMap;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use protocol::Placement;
use runner::options::selection;
use runner::plan::{self, Asked, Mode};

fn asked() -> Asked {
    let loads = selection::loads("all", "medium", &[], None).expect("the catalogue is in order");
    let branches: Vec<String> = (0..10)
        .map(|number| format!("split-counters-{number}"))
        .collect();
    Asked {
        machine: None,
        preset: "full".to_owned(),
        experiment: None,
        baseline: branches[0].clone(),
        branches,
        twin: true,
        workloads: loads,
        threads: (1..=64).collect(),
        modes: vec![Mode::Dynamic],
        placements: vec![Placement::Free],
        trials: 11,
        warmup_iterations: 1,
        iterations: 5,
        seed: 1,
        timeout_s: 60.0,
        layouts: 11,
        instrument: None,
    }
}

fn plan(criterion: &mut Criterion) {
    let asked = asked();
    let identities: BTreeMap<String, String> = asked
        .branches
        .iter()
        .map(|name| (name.clone(), "0123456789abcdef".repeat(4)))
        .collect();
    let whole = plan::order(&asked, &identities);
    let mut group = criterion.benchmark_group("plan");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(whole.len() as u64));
    group.bench_function("order", |bencher| {
        bencher.iter(|| plan::order(&asked, &identities));
    });
    group.bench_function("digest", |bencher| bencher.iter(|| whole.digest()));
    let shard = Some("2/4".parse().expect("a shard is written so"));
    group.bench_function("part", |bencher| {
        bencher.iter_batched(
            || whole.clone(),
            |whole| whole.part(shard),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, plan);
criterion_main!(benches);
