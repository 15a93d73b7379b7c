//! What each worker did when.

use std::thread::sleep;
use std::time::Duration;

use rayon_core::instrument::{Span, Timeline, WorkerState, begin_timeline, end_timeline};

use crate::common::{patiently, pool};
use crate::{join_nothing, rest};

const ROOM: usize = 100_000;

fn spans_of(timeline: &Timeline, worker: usize) -> Vec<&Span> {
    timeline
        .spans()
        .iter()
        .filter(|span| span.worker == worker)
        .collect()
}

fn states_of(timeline: &Timeline, worker: usize) -> Vec<WorkerState> {
    spans_of(timeline, worker)
        .iter()
        .map(|span| span.state)
        .collect()
}

#[test]
fn the_spans_of_a_worker_follow_each_other_without_gap_or_overlap() {
    let pool = pool(3);
    begin_timeline(&pool, ROOM);
    for _ in 0..20 {
        pool.broadcast(|_| join_nothing());
    }
    rest(&pool);
    let timeline = end_timeline(&pool);
    assert_eq!(timeline.dropped(), [0, 0, 0]);
    for worker in 0..3 {
        let spans = spans_of(&timeline, worker);
        assert_eq!(spans[0].begin_ns, 0);
        assert!(spans.iter().all(|span| span.begin_ns <= span.end_ns));
        for pair in spans.windows(2) {
            assert_eq!(pair[0].end_ns, pair[1].begin_ns);
            assert_ne!(pair[0].state, pair[1].state);
        }
    }
    assert!(
        timeline
            .spans()
            .is_sorted_by_key(|span| (span.worker, span.begin_ns))
    );
}

#[test]
fn a_worker_is_active_while_it_runs_a_job() {
    let pool = pool(1);
    begin_timeline(&pool, ROOM);
    pool.install(|| sleep(Duration::from_millis(20)));
    let timeline = end_timeline(&pool);
    let is_the_job = |span: &Span| {
        span.state == WorkerState::Active && span.end_ns - span.begin_ns >= 20_000_000
    };
    assert!(timeline.spans().iter().any(is_the_job), "{timeline:?}");
}

#[test]
fn a_worker_that_sleeps_all_the_time_has_one_span() {
    let pool = pool(2);
    rest(&pool);
    begin_timeline(&pool, ROOM);
    let timeline = end_timeline(&pool);
    for worker in 0..2 {
        assert_eq!(states_of(&timeline, worker), [WorkerState::Asleep]);
    }
}

#[test]
fn a_sleeper_that_gets_a_job_goes_through_all_states() {
    use WorkerState::{Active, Asleep, Searching, Sleepy};
    let pool = pool(1);
    rest(&pool);
    begin_timeline(&pool, ROOM);
    pool.install(|| ());
    rest(&pool);
    let states = states_of(&end_timeline(&pool), 0);
    assert_eq!(states[..3], [Asleep, Searching, Active]);
    assert_eq!(states[states.len() - 3..], [Searching, Sleepy, Asleep]);
}

#[test]
fn spans_that_find_no_room_are_counted() {
    let pool = pool(1);
    rest(&pool);
    let record = |room| {
        begin_timeline(&pool, room);
        pool.install(|| ());
        rest(&pool);
        end_timeline(&pool)
    };
    let short = record(2);
    assert_eq!(
        states_of(&short, 0),
        [WorkerState::Asleep, WorkerState::Searching]
    );
    // Active, searching, sleepy and asleep at least.
    assert!(short.dropped()[0] >= 4, "{short:?}");
    let nothing = record(0);
    assert!(
        nothing.spans().is_empty() && nothing.dropped()[0] >= 6,
        "{nothing:?}"
    );
}

#[test]
fn nothing_is_recorded_before_a_timeline_begins_and_after_it_ended() {
    let pool = pool(2);
    pool.install(|| ());
    assert_eq!(end_timeline(&pool), Timeline::default());
    begin_timeline(&pool, ROOM);
    end_timeline(&pool);
    patiently("a job", || pool.install(|| ()));
    assert_eq!(end_timeline(&pool), Timeline::default());
}

#[test]
fn a_timeline_that_begins_again_starts_from_nothing() {
    let pool = pool(1);
    begin_timeline(&pool, ROOM);
    pool.install(|| ());
    rest(&pool);
    begin_timeline(&pool, ROOM);
    let timeline = end_timeline(&pool);
    assert_eq!(states_of(&timeline, 0), [WorkerState::Asleep]);
}
