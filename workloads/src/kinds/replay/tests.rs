use std::sync::Arc;
use std::time::{Duration, Instant};

use recording::layout::Event::{
    self, Await, Begin, Broadcast, Close, Cpu, Delay, End, Install, Into, Join, Scope, Second,
    Spawn, Split, Wall, Worker,
};
use recording::layout::TIME_BITS;
use recording::{Head, Recording, Thread, Tree};

use super::{DEEPEST, Program, Splits};
use crate::workload::Instance as _;

/// The events of two external threads and of its worker, each with its time in nanoseconds and its
/// word.
const THREADS: [&[(Event, u64, u64)]; 3] = [
    &[
        (Install, 1_000, 1),
        (Close, 30_000, 0),
        (Into, 31_000, 0),
        (Spawn, 31_000, 6),
        (Broadcast, 40_000, 9),
        (Into, 40_000, 9),
        (Spawn, 40_000, 7),
        (Await, 40_000, 0),
        (Close, 50_000, 0),
    ],
    &[
        (Worker, 1, 0),
        (Begin, 2_000, 1),
        (Scope, 3_000, 5),
        (Into, 4_000, 5),
        (Spawn, 4_000, 2),
        (Scope, 5_000, 8),
        // From within a scope into the one around it.
        (Into, 6_000, 5),
        (Spawn, 6_000, 3),
        (Await, 7_000, 0),
        (Close, 7_000, 0),
        (Await, 8_000, 0),
        (Begin, 8_000, 2),
        (Join, 9_000, 4),
        (Second, 10_000, 0),
        (Close, 11_000, 0),
        (End, 11_000, 0),
        (Begin, 12_000, 3),
        // A job of the outer scope, which outlives the inner one.
        (Into, 12_500, 5),
        (Spawn, 12_500, 10),
        (End, 13_000, 0),
        (Begin, 13_500, 10),
        (End, 13_600, 0),
        (Close, 14_000, 0),
        (Split, 15_000, 7 << 35 | 1),
        (Split, 16_000, 7 << 35 | 2),
        (Second, 17_000, 0),
        (Close, 18_000, 0),
        (Second, 19_000, 0),
        (Split, 20_000, 7 << 35 | 3),
        (Second, 21_000, 0),
        (Close, 22_000, 0),
        (Close, 23_000, 0),
        (End, 29_000, 0),
        (Begin, 32_000, 6),
        (End, 33_000, 0),
        (Begin, 41_000, 7),
        (End, 45_000, 0),
        (Begin, 60_000, 11),
        (End, 61_000, 0),
    ],
    &[(Install, 55_000, 11), (Close, 62_000, 0)],
];

fn program(threads: usize) -> Arc<Program> {
    program_of(&THREADS, threads)
}

fn program_of(recorded: &[&[(Event, u64, u64)]], threads: usize) -> Arc<Program> {
    let event =
        |&(event, time, word): &(Event, u64, u64)| [(event as u64) << TIME_BITS | time, word];
    let thread = |events: &&[(Event, u64, u64)]| Thread {
        events: events.iter().map(event).collect(),
    };
    let head = Head {
        began_ns: 1,
        ticks_per_s: 1_000_000_000,
        ..Head::default()
    };
    let recording = Recording {
        head,
        threads: recorded.iter().map(thread).collect(),
    };
    Program::new(Tree::of(&recording).unwrap(), 64, threads).into()
}

#[test]
fn every_kind_of_fork_runs_each_of_its_tasks_once_on_any_pool_again_and_again() {
    for threads in [1, 2, 3, 8] {
        let mut program = program(threads);
        assert_eq!(program.tree.roots().len(), 2);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        for _ in 0..20 {
            program.reset();
            assert_eq!(program.run_on(&pool), 20);
            program.check().unwrap();
        }
        program.run_sequential();
        program.check().expect_err("each task ran twice");
    }
}

#[test]
fn an_iterator_splits_as_often_as_there_are_threads_and_anew_where_a_piece_was_stolen() {
    let pieces = |left, migrated| Splits {
        site: 1,
        left,
        migrated,
    };
    assert_eq!(pieces(8, false).halved(8), Some(4));
    assert_eq!(pieces(1, false).halved(8), Some(0));
    assert_eq!(pieces(0, false).halved(8), None);
    assert_eq!(pieces(0, true).halved(8), Some(8));
    assert_eq!(pieces(64, true).halved(8), Some(32));
}

#[test]
fn as_many_tasks_as_may_lie_one_in_the_other_fit_the_stack_of_a_worker() {
    let joins = (0..u64::from(DEEPEST) - 1).map(|level| (Join, 20 + level, level));
    let ends = (0..u64::from(DEEPEST) - 1).flat_map(|level| {
        [
            (Second, 5_000 + 2 * level, 0),
            (Close, 5_001 + 2 * level, 0),
        ]
    });
    let begin = [(Worker, 1, 0), (Begin, 10, DEEPEST.into())];
    let events: Vec<_> = begin
        .into_iter()
        .chain(joins)
        .chain(ends)
        .chain([(End, 9_000, 0)])
        .collect();
    let outside = [(Install, 1, DEEPEST.into()), (Close, 10_000, 0)];
    let mut program = program_of(&[&outside, &events], 2);
    assert_eq!(
        program.tree.tasks().iter().map(|task| task.depth).max(),
        Some(DEEPEST)
    );
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    program.run_on(&pool);
    program.check().unwrap();
}

#[test]
fn a_thread_that_waited_for_its_jobs_goes_on_when_they_have_ended_and_not_when_it_did() {
    // Two empty jobs began after 0.9 s, when the pool's worker had run another job.
    let mut outside = vec![(Wall, 10, 11), (Cpu, 10, 0), (Delay, 10, 0)];
    for job in 1..=2 {
        outside.extend([(Into, 1_000, 0), (Spawn, 1_000, job)]);
    }
    outside.extend([(Wall, 900_020_000, 900_020_001), (Cpu, 900_020_000, 0)]);
    outside.extend([
        (Delay, 900_020_000, 0),
        (Into, 900_020_000, 0),
        (Spawn, 900_020_000, 3),
    ]);
    let worker = [
        (Worker, 1, 0),
        (Begin, 900_000_000, 1),
        (End, 900_000_001, 0),
        (Begin, 900_000_002, 2),
        (End, 900_000_010, 0),
        (Begin, 900_030_000, 3),
        (End, 900_040_000, 0),
    ];
    let mut program = program_of(&[&outside, &worker], 2);
    assert_eq!(program.awaited_in.len(), 2);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let begun = Instant::now();
    for _ in 0..20 {
        program.reset();
        program.run_on(&pool);
        program.check().unwrap();
        program.reset();
        program.run_sequential();
    }
    assert!(
        begun.elapsed() < Duration::from_millis(900),
        "{:?}",
        begun.elapsed()
    );
}
