//! `barrier-join`: a join whose halves wait for each other.
//!
//! In a pool of several workers, another worker must take the second half, or the join never ends.
//! After a lost wake-up the join hangs, unless another event wakes a worker.
//! `rayon-fork/src/sleep/README.md` explains in section 9 which variants lose wake-ups.
//!
//! Writes to uncached memory just before the join make a lost wake-up more likely. The store of the
//! job waits in the store buffer behind these writes, while the producer's reads go ahead.
//!
//! With `messages`, the halves exchange messages by channels, like two stages of a pipeline. The
//! receiver of a message that is still to come blocks its worker in the kernel.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::channel;

use protocol::Refusal;
use rayon::ThreadPool;

use crate::kinds::pacing::meet;
use crate::kinds::series::{Request, Run};
use crate::machine::IS_SIMULATED;
use crate::random::Random;
use crate::workload::{Mismatch, Setup};

pub(super) struct Barrier {
    /// How many halves of a join wait for each other.
    parties: u64,
    /// How many messages each half sends; 0: the halves spin instead.
    messages: usize,
    arrivals: AtomicU64,
    cold: ColdMemory,
}

impl Barrier {
    /// # Errors
    /// On a simulated machine, if `cold-writes` is not 0, because the machine does not simulate the
    /// delay of such writes.
    pub(super) fn new(setup: &Setup<'_>) -> Result<Self, Refusal> {
        if IS_SIMULATED && setup.values.whole("cold-writes") > 0 {
            return Err(Refusal::new(
                "cold-writes: a simulated store buffer does not delay what other cores see; leave the parameter 0".to_owned(),
            ));
        }
        Ok(Self {
            // In a pool of one thread, that thread runs one half after the other.
            parties: if setup.threads >= 2 { 2 } else { 0 },
            messages: setup.values.count("messages"),
            arrivals: AtomicU64::new(0),
            cold: ColdMemory::new(setup.values.count("cold-writes"), setup.seed),
        })
    }

    fn meet(&mut self, number: usize, join: impl Fn(u64, &AtomicU64)) {
        let number = number as u64;
        // Each join of a run writes another value, so hardly any write is redundant.
        self.cold.write(2 + number);
        join(number, &self.arrivals);
        self.cold.look_up_pages();
    }
}

impl Request for Barrier {
    fn is_inside(&self) -> bool {
        true
    }

    fn begin_run(&mut self, _: usize) {
        self.arrivals = AtomicU64::new(0);
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        let (parties, messages) = (self.parties, self.messages);
        run.wait_for_each(|number, _| {
            self.meet(number, |number, arrivals| {
                if pool.is_some() && parties == 2 && messages > 0 {
                    exchange(arrivals, messages);
                } else if pool.is_some() {
                    let all = parties * (number + 1);
                    rayon::join(|| meet(arrivals, all), || meet(arrivals, all));
                } else {
                    meet(arrivals, 0);
                    meet(arrivals, 0);
                }
            });
        });
    }

    fn check(&mut self, joins: usize) -> Result<String, Mismatch> {
        let halves = 2 * joins as u64;
        let describe = |arrived: u64| format!("{arrived} of {halves} halves of joins ran");
        Mismatch::unless_equal(&describe(halves), &describe(*self.arrivals.get_mut()))
    }
}

/// Memory of which a random page is probably in no cache of a core.
struct ColdMemory {
    words: Vec<u64>,
    random: Random,
    writes: usize,
    /// The first word of each page to write.
    pages: [usize; 4],
}

impl ColdMemory {
    const PAGE: usize = 4096 / size_of::<u64>();
    /// 64 MiB of pages: more than the caches of a core hold.
    const PAGES: usize = (64 << 20) / 4096;

    fn new(writes: usize, seed: u64) -> Self {
        // The words are not zeros, because the kernel allocates a page of zeros only at its first
        // write.
        let words = vec![
            1;
            if writes > 0 {
                Self::PAGE * Self::PAGES
            } else {
                0
            }
        ];
        let mut cold = Self {
            words,
            random: Random::new(seed),
            writes,
            pages: [0; 4],
        };
        cold.look_up_pages();
        cold
    }

    /// Chooses the next pages, and reads a word of each, so that the processor knows their physical
    /// addresses. Otherwise the processor would look up these addresses at the writes, and delay
    /// the join.
    fn look_up_pages(&mut self) {
        if self.writes > 0 {
            self.pages = [(); 4].map(|()| Self::PAGE * self.random.index_below(Self::PAGES));
            black_box(self.pages.map(|page| self.words[page]));
        }
    }

    /// Writes each word into a cache line of its own. No two lines are neighbours, because a cache
    /// may fetch neighbours together.
    fn write(&mut self, value: u64) {
        for write in 0..self.writes {
            let line = 2 + write / self.pages.len() * 14 % 62;
            self.words[self.pages[write % self.pages.len()] + 8 * line] = value;
        }
        // The compiler must not move the writes behind the code that follows.
        black_box(&mut self.words);
    }
}

/// Joins two halves. The second half returns each message of the first, which waits for this echo
/// before its next message. A half without all its messages has not arrived.
fn exchange(arrivals: &AtomicU64, messages: usize) {
    let ((to_second, from_first), (to_first, from_second)) = (channel(), channel());
    // Relaxed, as in `meet`.
    let arrive = |passed: usize| arrivals.fetch_add(u64::from(passed == messages), Relaxed);
    let first = move || {
        let is_echoed =
            |&message: &usize| to_second.send(message).is_ok() && from_second.recv() == Ok(message);
        arrive((0..messages).filter(is_echoed).count());
    };
    let second = move || {
        let is_returned = |&message: &usize| to_first.send(message).is_ok();
        arrive(from_first.iter().take(messages).filter(is_returned).count());
    };
    rayon::join(first, second);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::series::tests::rejects;

    #[test]
    fn a_half_too_few_or_too_many_is_rejected() {
        let barrier = Barrier {
            parties: 0,
            messages: 0,
            arrivals: AtomicU64::new(0),
            cold: ColdMemory::new(0, 1),
        };
        let arrived = |halves| move |it: &mut Barrier| it.arrivals = AtomicU64::new(halves);
        rejects(barrier, &[&arrived(0), &arrived(5), &arrived(7)]);
    }

    #[test]
    fn as_many_words_are_written_before_a_join_as_asked_for_and_elsewhere_each_time() {
        let mut cold = ColdMemory::new(100, 1);
        for value in [2, 3] {
            cold.write(value);
            cold.look_up_pages();
            let written = cold.words.iter().filter(|&&word| word == value).count();
            assert_eq!(written, 100);
        }
        assert_eq!(cold.words.iter().filter(|&&word| word == 2).count(), 100);
        assert!(
            ColdMemory::new(0, 1).words.is_empty(),
            "memory that no thread writes"
        );
    }
}
