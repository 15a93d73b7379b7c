use super::*;
use crate::layout::Event::{self, *};
use crate::synthetic;

fn tree(threads: &[&[(Event, u64, u64)]]) -> Tree {
    Tree::of(&synthetic::recording(threads)).unwrap()
}

fn refusal(threads: &[&[(Event, u64, u64)]]) -> String {
    Tree::of(&synthetic::recording(threads))
        .unwrap_err()
        .to_string()
}

#[test]
fn a_stolen_half_is_the_joins_whoever_runs_it_and_what_runs_meanwhile_is_not() {
    let found = tree(&[
        &[
            (Worker, 1, 0),
            (Join, 100, 1),
            // The first half takes 50, then its thread helps with a job of somebody else.
            (Await, 150, 0),
            (Search, 160, 0),
            (Found, 170, 0),
            (Begin, 180, 2),
            (End, 480, 0),
            (Close, 500, 0),
        ],
        &[
            (Worker, 2, 1),
            (Begin, 120, 1),
            (Into, 130, 0),
            (Spawn, 130, 2),
            (End, 420, 0),
        ],
    ]);
    let steps: Vec<What> = found.steps(0).map(|(_, step)| step.what).collect();
    let [
        What::Join {
            first,
            second,
            site: None,
        },
    ] = steps[..]
    else {
        panic!("{steps:?}")
    };
    let after = |task: u32| found.work_ns()[found.tasks()[task as usize].after as usize];
    assert_eq!((after(first), after(second)), (50, 290));
    let (_, step) = found.steps(second).next().unwrap();
    let What::Spawn {
        job,
        scope: NO_SCOPE,
    } = step.what
    else {
        panic!("{step:?}")
    };
    assert_eq!(after(job), 300);
    // 99 before the join, 30 and 20 in it.
    assert_eq!(found.threads()[0].in_state_ns, [350, 149, 0]);
    assert_eq!(found.unfinished(), 0);
}

#[test]
fn what_an_event_takes_and_what_the_recorder_did_is_nobodys_work() {
    let mut recording = synthetic::recording(&[&[
        (Worker, 1, 0),
        (Join, 100, 1),
        (Pause, 190, 60),
        (Second, 250, 0),
        (Close, 300, 0),
    ]]);
    recording.head.event_milliticks = 5_000;
    let found = Tree::of(&recording).unwrap();
    // 30 and 60 of the first half, 50 of the second, each less 5.
    assert_eq!(found.work_ns().iter().sum::<u64>(), 25 + 55 + 45);
}

#[test]
fn time_without_a_cpu_is_taken_from_the_longest_stretch_and_called_waiting_if_nobody_else_ran() {
    let clocks = |at: u64, cpu: u64, delay: u64| {
        [(Wall, at, 1_000 + at), (Cpu, at, cpu), (Delay, at, delay)]
    };
    let mut events = vec![(Worker, 1, 0)];
    events.extend(clocks(10, 0, 0));
    events.extend([(Join, 1_000, 1), (Second, 2_000, 0), (Close, 3_002_000, 0)]);
    // 3 ms passed, and the thread ran for 1.5 of them; for 0.5 it could not.
    events.extend(clocks(3_002_010, 1_500_000, 500_000));
    let found = tree(&[&events]);
    let stretch = found.tasks()[2].after;
    assert_eq!(
        found.wait(stretch),
        Some(&Wait {
            ns: 1_002_000,
            ..Wait::default()
        })
    );
    assert_eq!(found.work_ns()[stretch as usize], 3_000_000 - 1_502_000);
    assert_eq!(
        (
            found.threads()[0].preempted_ns,
            found.threads()[0].blocked_ns
        ),
        (500_000, 1_002_000)
    );
}

#[test]
fn a_wait_that_can_have_ended_with_a_job_of_its_thread_is_for_the_jobs_up_to_then_and_another_is_not()
 {
    let wait = |goes_on_ns| {
        let found = Tree::of(&synthetic::waiting_for_jobs(goes_on_ns)).unwrap();
        let (_, wait) = found.waits().next().unwrap();
        wait.clone()
    };
    // The thread itself is task 0.
    let until = |goes_on_ns: u64, jobs: &[u32]| {
        let after_ns = if jobs.is_empty() { 0 } else { 500_000 };
        Wait {
            ns: goes_on_ns - 30_000,
            jobs: jobs.to_vec(),
            after_ns,
        }
    };
    assert_eq!(wait(3_030_000), until(3_030_000, &[1, 2, 3]));
    // To wake it takes a moment.
    assert_eq!(wait(2_100_000), until(2_100_000, &[1, 2]));
    // It waited on when two jobs had ended, or all; it did all before the first ended.
    for goes_on_ns in [2_500_000, 3_200_000, 500_000] {
        assert_eq!(wait(goes_on_ns), until(goes_on_ns, &[]));
    }
}

#[test]
fn a_recording_that_stops_anywhere_is_a_tree_with_what_had_not_ended() {
    let whole = synthetic::joins(3);
    for length in 0..=whole.threads[0].events.len() {
        let mut cut = whole.clone();
        cut.threads[0].events.truncate(length);
        let found = Tree::of(&cut).unwrap();
        assert!(
            found.unfinished() > 0 || length < 2 || length == whole.threads[0].events.len(),
            "{length}"
        );
    }
}

#[test]
fn what_happened_after_one_thread_was_full_is_left_out() {
    let found = tree(&[
        &[(Worker, 1, 0), (Join, 100, 1), (Full, 150, 0)],
        &[
            (Worker, 1, 1),
            (Begin, 120, 1),
            (Join, 130, 2),
            (Second, 160, 0),
            (Close, 180, 0),
            (End, 190, 0),
        ],
    ]);
    assert_eq!(found.tasks().len(), 1 + 2 + 2);
    assert_eq!(found.unfinished(), 1 + 1 + 1 + 1);
}

#[test]
fn events_that_contradict_each_other_are_told_with_their_place() {
    assert!(
        refusal(&[&[(Worker, 1, 0), (Begin, 9, 1)]])
            .starts_with("thread 0, event 1: a job begins that was never pushed")
    );
    assert!(refusal(&[&[(Close, 9, 0)]]).contains("closed that was not opened"));
    assert!(refusal(&[&[(End, 9, 0)]]).contains("ends that did not begin"));
    assert!(refusal(&[&[(Second, 9, 0)]]).contains("outside of one"));
    assert!(refusal(&[&[(Await, 9, 0)]]).contains("outside of everything"));
    assert!(
        refusal(&[&[(Join, 5, 1), (Into, 9, 4), (Spawn, 9, 2)]])
            .contains("scope that was never opened")
    );
}

#[test]
fn an_iterator_may_split_as_often_as_there_are_threads_and_farther_if_its_recording_did() {
    // Levels of one iterator below each other, the innermost with two places of code.
    let split = |site: u64| site << 35 | 1;
    let mut events = vec![(Worker, 1, 0)];
    for level in 0..3 {
        events.push((Split, 10 + level, split(7)));
    }
    events.push((Split, 20, split(8)));
    for level in 0..4 {
        events.extend([(Second, 30 + 2 * level, 0), (Close, 31 + 2 * level, 0)]);
    }
    let found = tree(&[&events]);
    let iterators = Iterators::of(&found);
    let (first, _) = found.steps(0).next().unwrap();
    // Recorded for 4 threads, 3 levels are what 4 pieces for each thread take; for 2 threads they
    // are more.
    assert_eq!(iterators.first_splits(first, 16, 4), 16);
    assert_eq!(iterators.first_splits(first, 2, 2), 4);
    assert_eq!(iterators.levels[first as usize], 3);
}

/// Small numbers without a pattern, the same for the same seed.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        // Constants of a linear congruential generator, by Knuth.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    }
}

/// Words that a recorder never writes beside those that fit.
const WORDS: [u64; 6] = [0, 1, 2, 3, u64::MAX, 1 << 63];

#[test]
fn events_of_any_kind_in_any_order_are_a_tree_or_refused() {
    let mut trees = 0;
    for seed in 0..20_000 {
        let mut next = numbers(seed);
        let threads: Vec<Vec<(Event, u64, u64)>> = (0..=next(3))
            .map(|_| {
                let mut time = next(3) as u64;
                let length = next(14);
                let event = |_| {
                    time += match next(12) {
                        0 => 1 << 50,
                        it => it as u64 * 7_000,
                    };
                    let kind = Event::ALL[next(Event::ALL.len())];
                    let word = WORDS[next(WORDS.len())];
                    (kind, time.min((1 << 56) - 1), word)
                };
                (0..length).map(event).collect()
            })
            .collect();
        let threads: Vec<&[(Event, u64, u64)]> = threads.iter().map(Vec::as_slice).collect();
        let mut recording = synthetic::recording(&threads);
        recording.head.ticks_per_s = [0, 1, 1_000_000_000, u64::MAX][next(4)];
        recording.head.event_milliticks = [0, 1, u64::MAX][next(3)];
        if let Ok(tree) = Tree::of(&recording) {
            trees += 1;
            let _ = crate::Profile::of(&tree);
            let _ = Iterators::of(&tree);
        }
        let _ = crate::write_timeline(&recording, &mut Vec::new());
    }
    assert!(trees > 500, "{trees}");
}
