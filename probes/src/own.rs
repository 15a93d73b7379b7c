//! Costs of a core that works alone: accesses to lines that the core has, fences, spin hints,
//! allocations.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::cost::{Cost, each_ns};

const TIMES: u32 = 10_000;

const ACCESSES: f64 = 4.0;

const PLACES: u64 = 64;

type Job = [u64; 6];

#[derive(Default)]
#[repr(align(128))]
struct Word(AtomicU64);

pub(crate) fn costs() -> Vec<Cost> {
    let ring: Vec<AtomicU64> = (0..PLACES).map(AtomicU64::new).collect();
    let (begin, end, other) = (Word::default(), Word::default(), Word::default());
    // Relaxed, here and below: no other thread reaches these words.
    let (load, store) = (
        |word: &AtomicU64| word.load(Ordering::Relaxed),
        |word: &AtomicU64, value| word.store(value, Ordering::Relaxed),
    );
    let turn = each_ns(TIMES, || {
        let place = load(&end.0);
        if place - load(&begin.0) < u64::MAX {
            store(&ring[(place % PLACES) as usize], place);
        }
        store(&end.0, place + 1);
    });
    let hit = turn / ACCESSES;
    let add = each_ns(TIMES, || {
        black_box(other.0.fetch_add(1, Ordering::Relaxed));
    });
    let fenced = each_ns(TIMES, || {
        store(&other.0, 1);
        // ORDERING: SeqCst fence without a partner; only the time of the fence matters.
        fence(Ordering::SeqCst);
    });
    let pause = each_ns(TIMES / 10, spin_loop);
    let boxed = each_ns(TIMES, || {
        drop(black_box(Box::new(black_box(Job::default()))));
    });
    vec![
        Cost::new(
            "hit-ns",
            hit,
            "a load or store of a loop that pushes into a ring",
        ),
        Cost::new(
            "read-modify-write-ns",
            add - hit,
            "fetch-add of an own line, minus a hit",
        ),
        Cost::new(
            "fence-ns",
            fenced - hit,
            "a store to an own line and a fence, minus a hit",
        ),
        Cost::new("pause-ns", pause, "spin hints in a row"),
        Cost::new(
            "allocation-ns",
            boxed / 2.0,
            "half the time to make and free a box of 48 bytes",
        ),
    ]
}
