//! The feature `instrument`: counts of known programs.

#[path = "../common/mod.rs"]
mod common;

mod counts;
mod sleeping;
mod words;

use rayon_core::ThreadPool;
use rayon_core::instrument::{EventCounts, Snapshot, snapshot};

/// Returns the events in `pool` while `body` runs.
fn during(pool: &ThreadPool, body: impl FnOnce()) -> Snapshot {
    let before = snapshot(pool);
    body();
    snapshot(pool).since(&before)
}

/// The count of that name.
fn count(counts: &EventCounts, name: &str) -> u64 {
    counts
        .get(name)
        .unwrap_or_else(|| panic!("no `{name}` in {counts:?}"))
}

/// The sum of the counts of those names.
fn sum_of(counts: &EventCounts, names: &[&str]) -> u64 {
    names.iter().map(|name| count(counts, name)).sum()
}

/// One push, one pop.
fn join_nothing() {
    rayon_core::join(|| (), || ());
}

/// Waits until all workers of `pool` are blocked. From then on no thread does anything.
fn rest(pool: &ThreadPool) {
    let at_rest = format!(
        "workers: [{}]",
        vec!["Parked"; pool.current_num_threads()].join(", ")
    );
    common::patiently("falling asleep", || {
        while !format!("{pool:?}").contains(&at_rest) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
}
