//! A test of the walk through in the sleep README: its table says what the counters do.

use super::dimensions::{IdleFirst, Inline, Jec, NoFence};
use super::{COUNT_BITS, Packed, SleepCounters};

fn rows() -> Vec<[usize; 3]> {
    let (_, walk) = include_str!("../README.md")
        .split_once("### A walk through")
        .unwrap();
    let (walk, _) = walk.split_once("\n## ").unwrap();
    let rows = walk.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        [3, 4, 5].map(|column| cells[column].parse().unwrap())
    })
    .collect()
}

#[test]
fn the_walk_through_in_the_readme_counts_what_it_says() {
    const B: usize = 1;
    let counters = Packed::<(Jec, NoFence, IdleFirst, Inline)>::from_word(7 << (2 * COUNT_BITS));
    let mut seen = Vec::new();
    let mut see = || seen.push([counters.sleeping(), counters.inactive(), counters.events()]);
    see();
    counters.begin_search(B);
    see();
    assert_eq!(counters.notify_job(true), 0);
    see();
    see(); // A takes its job back.
    let ticket = counters.become_sleepy(B);
    see();
    assert_eq!(counters.notify_job(true), 0);
    see();
    assert!(!counters.try_begin_sleep(B, ticket));
    see();
    let ticket = counters.become_sleepy(B);
    see();
    assert!(counters.try_begin_sleep(B, ticket));
    see();
    assert_eq!(counters.notify_job(true), 1);
    see();
    counters.end_sleep(B);
    see();
    assert_eq!(counters.notify_job(false), 0);
    see();
    assert_eq!(counters.end_search(B), 0);
    see();
    assert_eq!(
        seen,
        rows(),
        "left: what the counters say; right: the README's table"
    );
}
