//! Recordings that no program made: ticks are nanoseconds, and events take no time.

use crate::file::{Head, Recording, Thread};
use crate::layout::{Event, TIME_BITS};

pub(crate) fn event(event: Event, time: u64, word: u64) -> [u64; 2] {
    [(event as u64) << TIME_BITS | time, word]
}

/// One of threads that did this, each event with its time and its word.
pub(crate) fn recording(threads: &[&[(Event, u64, u64)]]) -> Recording {
    let head = Head {
        began_ns: 1_000,
        ticks_per_s: 1_000_000_000,
        split: 8,
        ..Head::default()
    };
    let events = |thread: &&[(Event, u64, u64)]| {
        thread
            .iter()
            .map(|&(it, time, word)| event(it, time, word))
            .collect()
    };
    Recording {
        head,
        threads: threads
            .iter()
            .map(|thread| Thread {
                events: events(thread),
            })
            .collect(),
    }
}

impl Recording {
    /// One of a program that has nothing but a tree of joins of so many levels, on one thread. Each
    /// leaf takes `leaf_ns`, and each join 10 ns more before, between and after its halves.
    #[must_use]
    pub fn of_joins(levels: u64, leaf_ns: u64) -> Self {
        let mut events = vec![(Event::Worker, 1, 0)];
        join(levels, leaf_ns, &mut 10, &mut events);
        recording(&[&events])
    }
}

/// A recording of a thread that spawns three jobs of 1 ms and waits until `goes_on_ns`. Then it
/// works for 0.5 ms more, by its clocks. The only worker's last job ends after 3.03 ms.
#[cfg(test)]
pub(crate) fn waiting_for_jobs(goes_on_ns: u64) -> Recording {
    use Event::{Begin, Cpu, Delay, End, Into, Spawn, Wall, Worker};
    let clocks = |at: u64, cpu: u64| [(Wall, at, 1_000 + at), (Cpu, at, cpu), (Delay, at, 0)];
    let spawn = |at: u64, job: u64| [(Into, at, 0), (Spawn, at, job)];
    let mut outside = clocks(10, 0).to_vec();
    outside.extend((1..=3).flat_map(|job| spawn(10_000 * job, job)));
    let end = goes_on_ns + 500_000;
    // It has worked from the first spawn to the last, and since it goes on.
    outside.extend(clocks(end, 20_000 + 500_000));
    outside.extend(spawn(end, 4));
    let mut worker = vec![(Worker, 1, 0)];
    for job in 1..=3 {
        let begin = 30_000 + (job - 1) * 1_000_000;
        worker.extend([(Begin, begin, job), (End, begin + 1_000_000, 0)]);
    }
    recording(&[&outside, &worker])
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
