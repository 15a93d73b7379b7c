//! The deque of lazily shared jobs beside crossbeam's: one owner that pushes and pops, alone and
//! with a thief that steals all it can.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use on_demand_deque::{Fence, Worker};

/// As large as a job of rayon.
type Value = [usize; 2];

/// Pushed, then popped, in each round.
const VALUES: usize = 64;

/// One round of an owner. What a thief takes meanwhile is less to pop.
///
/// Values stay in registers: to hide them from the compiler would take longer than a push.
fn round(push: impl Fn(Value), pop: impl Fn() -> Option<Value>) -> usize {
    for value in 0..VALUES {
        push([value, value]);
    }
    let mut popped = 0;
    while let Some([one, other]) = pop() {
        popped += one + other;
    }
    popped
}

/// Measures rounds, alone or while a thread calls `thief` again and again.
fn measure(
    criterion: &mut Criterion,
    group: &str,
    name: &str,
    owner: impl Fn() -> usize,
    thief: Option<&(dyn Fn() + Sync)>,
) {
    let mut group = criterion.benchmark_group(group);
    group.throughput(Throughput::Elements(VALUES as u64));
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        if let Some(thief) = thief {
            scope.spawn(|| {
                while !has_ended.load(Ordering::Relaxed) {
                    thief();
                }
            });
        }
        group.bench_function(name, |bencher| bencher.iter(&owner));
        has_ended.store(true, Ordering::Relaxed);
    });
    group.finish();
}

fn benchmark(criterion: &mut Criterion) {
    let theirs = crossbeam_deque::Worker::<Value>::new_lifo();
    let their_stealer = theirs.stealer();
    let steal_theirs = || {
        if black_box(their_stealer.steal()).success().is_none() {
            spin_loop();
        }
    };
    for (group, thief) in [("alone", None), ("one-thief", Some(&steal_theirs as _))] {
        let owner = || round(|value| theirs.push(value), || theirs.pop());
        measure(criterion, group, "crossbeam", owner, thief);
    }
    for (name, fence) in [("cheapest", Fence::Cheapest), ("full", Fence::Full)] {
        let ours = Worker::<Value>::new_lifo_with(fence);
        let stealer = ours.stealer();
        let steal = || {
            if black_box(stealer.steal()).success().is_none() {
                spin_loop();
            }
        };
        let private = || round(|value| ours.push(value), || ours.pop());
        let answer = |value| {
            ours.push(value);
            black_box(ours.answer());
        };
        let answering = || round(answer, || ours.pop());
        measure(
            criterion,
            "alone",
            &format!("{name}, private"),
            private,
            None,
        );
        measure(
            criterion,
            "alone",
            &format!("{name}, answering"),
            answering,
            None,
        );
        measure(
            criterion,
            "one-thief",
            &format!("{name}, answering"),
            answering,
            Some(&steal),
        );
        let expose = || {
            stealer.expose_for_owner();
            steal();
        };
        measure(
            criterion,
            "one-thief",
            &format!("{name}, exposed"),
            private,
            Some(&expose),
        );
    }
}

criterion_group!(benches, benchmark);
criterion_main!(benches);
