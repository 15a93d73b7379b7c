use std::sync::Barrier;
use std::thread;

use rayon_core::join_context;

use crate::child::alone;

const SIZE: &str = "RAYON_NUM_THREADS";

#[test]
fn both_halves_migrated_if_the_join_took_the_second_back() {
    alone(&[(SIZE, "1")], || {
        let halves = join_context(|a| a.migrated(), |b| b.migrated());
        assert_eq!(halves, (true, true));
    });
}

#[test]
fn both_halves_migrated_if_the_second_was_stolen() {
    alone(&[(SIZE, "2")], || {
        let meeting = Barrier::new(2);
        let half = |context: rayon_core::FnContext| {
            meeting.wait();
            (context.migrated(), thread::current().id())
        };
        let (a, b) = join_context(half, half);
        assert_ne!(a.1, b.1);
        assert_eq!((a.0, b.0), (true, true));
    });
}

#[test]
fn a_join_inside_the_first_half_counts_from_there() {
    alone(&[(SIZE, "1")], || {
        let nested = || join_context(|a| a.migrated(), |b| b.migrated());
        let (a, b) = join_context(|_| nested(), |_| nested());
        assert_eq!((a, b), ((false, false), (false, false)));
    });
}
