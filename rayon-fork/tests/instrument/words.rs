//! Accesses to the words of the sleep counters.

use std::collections::BTreeSet;

use rayon_core::instrument::{EventCounts, snapshot};
use rayon_core::rayon_fork_variant;

use crate::common::pool;
use crate::{count, join_nothing, rest};

fn variant_has(modifier: &str) -> bool {
    rayon_fork_variant().split('+').any(|part| part == modifier)
}

/// The words that the compiled variant uses.
fn words() -> Vec<&'static str> {
    let mut words = Vec::new();
    if variant_has("packed") {
        words.push("packed_word");
    }
    if variant_has("split") {
        words.push("sleeping");
        if !variant_has("no-jec") {
            words.push("events");
        }
    }
    if !variant_has("packed") && !variant_has("sleepers-only") {
        words.push("inactive");
    }
    words
}

/// Returns the words that a push reads when no worker sleeps and the events are odd.
fn words_of_a_push() -> Vec<&'static str> {
    if variant_has("demand") {
        // In a pool of one worker, no worker requests jobs.
        return Vec::new();
    }
    words()
        .into_iter()
        .filter(|&word| word != "inactive")
        .collect()
}

#[test]
fn a_variant_reports_its_own_words_and_no_other() {
    let reported: BTreeSet<_> = EventCounts::default()
        .named()
        .map(|(name, _)| name)
        .collect();
    let words = words();
    for suffix in ["_loads", "_rmws", "_cas_failures"] {
        let of_words: BTreeSet<_> = reported
            .iter()
            .filter_map(|name| name.strip_suffix(suffix))
            .collect();
        assert_eq!(of_words, words.iter().copied().collect(), "{suffix}");
    }
    assert_eq!(EventCounts::default().get("no_such_thing"), None);
}

#[test]
fn a_push_that_nobody_waits_for_loads_and_changes_nothing() {
    let pool = pool(1);
    rest(&pool);
    let joins = |count: usize| (0..count).for_each(|_| join_nothing());
    let counts = pool.install(|| {
        // The first push after a worker was sleepy makes the events odd.
        joins(1);
        let before = snapshot(&pool);
        joins(100);
        snapshot(&pool).since(&before).total()
    });
    for word in words() {
        let loads = if words_of_a_push().contains(&word) {
            100
        } else {
            0
        };
        assert_eq!(
            count(&counts, &format!("{word}_loads")),
            loads,
            "loads of {word}"
        );
        assert_eq!(
            count(&counts, &format!("{word}_rmws")),
            0,
            "changes of {word}"
        );
    }
    let pushes_fence = variant_has("no-jec") || variant_has("push-fence");
    let fences = 100 * u64::from(pushes_fence && !variant_has("demand"));
    assert_eq!(count(&counts, "push_fences"), fences);
}

#[test]
fn searches_are_counted_in_the_word_that_the_variant_has_for_them() {
    let pool = pool(2);
    (0..10).for_each(|_| pool.install(|| ()));
    rest(&pool);
    let counts = snapshot(&pool).total();
    let word = if variant_has("packed") {
        "packed_word"
    } else {
        "inactive"
    };
    // Every worker searches now; each search but its last has ended.
    let changes = 2 * count(&counts, "searches") - 2;
    match counts.get(&format!("{word}_rmws")) {
        Some(rmws) if variant_has("packed") => assert!(rmws > changes, "{rmws} > {changes}"),
        Some(rmws) => assert_eq!(rmws, changes),
        None => assert!(variant_has("sleepers-only")),
    }
}

#[test]
fn sleepers_are_counted_up_and_down_in_the_word_that_has_them() {
    let pool = pool(2);
    (0..10).for_each(|_| pool.install(|| ()));
    rest(&pool);
    let counts = snapshot(&pool).total();
    let word = words()[0];
    let registered = count(&counts, "sleeps") + count(&counts, "wakes_sent");
    assert!(
        count(&counts, &format!("{word}_rmws")) >= registered,
        "{word} in {counts:?}"
    );
}

#[test]
fn a_worker_fences_for_all_before_it_blocks_where_pushes_rely_on_that() {
    let pool = pool(2);
    (0..10).for_each(|_| pool.install(join_nothing));
    rest(&pool);
    let counts = snapshot(&pool).total();
    let fences = count(&counts, "heavy_fences");
    if variant_has("demand") {
        // Only beside a busy worker, which a test of sleeping sees; and for each job that a thief
        // makes public.
    } else {
        assert_eq!(fences, 0);
    }
}

#[test]
fn an_exchange_that_failed_is_a_change_too() {
    let pool = pool(4);
    for _ in 0..200 {
        pool.broadcast(|_| join_nothing());
    }
    rest(&pool);
    let counts = snapshot(&pool).total();
    for word in words() {
        let (rmws, failures) = (format!("{word}_rmws"), format!("{word}_cas_failures"));
        assert!(
            count(&counts, &failures) <= count(&counts, &rmws),
            "{word} in {counts:?}"
        );
    }
}
