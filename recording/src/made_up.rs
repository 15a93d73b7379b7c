//! Recordings that no program made: ticks are nanoseconds, and events take no time.

use crate::file::{Head, Recording, Thread};
use crate::layout::{Event, TIME_BITS};

pub(crate) fn event(event: Event, time: u64, word: u64) -> [u64; 2] {
    [(event as u64) << TIME_BITS | time, word]
}

/// One of threads that did this, each event with its time and its word.
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

impl Recording {
    /// One of a program that has nothing but a tree of joins of so many levels, on one thread. Each leaf takes `leaf_ns`, and each
    /// join 10 ns more before, between and after its halves.
    #[must_use]
    pub fn of_joins(levels: u64, leaf_ns: u64) -> Self {
        let mut events = vec![(Event::Worker, 1, 0)];
        join(levels, leaf_ns, &mut 10, &mut events);
        recording(&[&events])
    }
}

fn join(levels: u64, leaf_ns: u64, time: &mut u64, events: &mut Vec<(Event, u64, u64)>) {
    if levels == 0 {
        *time += leaf_ns;
        return;
    }
    for (event, word) in [(Event::Join, levels), (Event::Second, 0)] {
        *time += 10;
        events.push((event, *time, word));
        join(levels - 1, leaf_ns, time, events);
    }
    *time += 10;
    events.push((Event::Close, *time, 0));
}

#[cfg(test)]
pub(crate) fn joins(levels: u64) -> Recording {
    Recording::of_joins(levels, 100)
}
