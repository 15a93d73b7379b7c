//! Recordings made by hand, for tests: ticks are nanoseconds, and events take no time.

use crate::file::{Head, Recording, Thread};
use crate::layout::{Event, TIME_BITS};

pub(crate) fn event(event: Event, time: u64, word: u64) -> [u64; 2] {
    [(event as u64) << TIME_BITS | time, word]
}

/// A recording of threads that did this, each event with its time and its word.
pub(crate) fn recording(threads: &[&[(Event, u64, u64)]]) -> Recording {
    let head = Head { began_ns: 1_000, ticks_per_s: 1_000_000_000, split: 8, ..Head::default() };
    let events = |thread: &&[(Event, u64, u64)]| {
        thread.iter().map(|&(it, time, word)| event(it, time, word)).collect()
    };
    Recording {
        head,
        threads: threads.iter().map(|thread| Thread { events: events(thread) }).collect(),
    }
}

/// A worker that runs a tree of joins of so many levels; each leaf takes 100 ns, and each join 10 more before, between and
/// after its halves.
pub(crate) fn joins(levels: u64) -> Recording {
    let mut events = vec![(Event::Worker, 1, 0)];
    let mut time = 10;
    join(levels, &mut time, &mut events);
    recording(&[&events])
}

fn join(levels: u64, time: &mut u64, events: &mut Vec<(Event, u64, u64)>) {
    if levels == 0 {
        *time += 100;
        return;
    }
    let mut add = |event, word, time: &mut u64| {
        *time += 10;
        events.push((event, *time, word));
    };
    add(Event::Join, levels, time);
    join(levels - 1, time, events);
    let mut add = |event, word, time: &mut u64| {
        *time += 10;
        events.push((event, *time, word));
    };
    add(Event::Second, 0, time);
    join(levels - 1, time, events);
    *time += 10;
    events.push((Event::Close, *time, 0));
}
