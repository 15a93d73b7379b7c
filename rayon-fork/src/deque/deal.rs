//! Jobs that are dealt: a worker that waits opens its mailbox, and who has a job to spare puts one
//! there. The waiting worker looks at a line of its own, and nobody searches.
//!
//! | state  | meaning                                          | left by                                   |
//! |--------|--------------------------------------------------|-------------------------------------------|
//! | closed | its worker does not wait                         | the worker → open                         |
//! | open   | its worker waits                                 | the worker → closed, a dealer → busy      |
//! | busy   | somebody writes a job into it, or takes one out  | who made it so → full, closed or open     |
//! | full   | holds a job, and its worker is about to take it  | the worker or another that takes it → busy |
//!
//! The state decides; every step that two threads may take at a time is a read-modify-write. Who
//! waits is also shown by a bit in a word for some neighbours, which is only a hint: it may be set
//! beside a closed mailbox, or be missing beside an open one.
//!
//! The worker of a busy mailbox waits, as for a spin lock, until some ten instructions are done:
//! under a scheduler of strict priorities, who deals, a worker or a thread outside, must not have a
//! lower priority than workers that spin on the same CPU.
//!
//! A dealer takes the bits of all who wait in its *group*, and hands half of those that are left on
//! with each job. So a region spreads as a tree does, and its workers do not fight for bits. A
//! thread outside has one job, and hands on all; so does a worker that deals to another group.

use std::ptr;

use crossbeam_utils::CachePadded;

use super::terms::TwoWords;
use crate::sync::hint;
use crate::sync::modelled::{AtomicPtr, AtomicUsize, Ordering, wait_for_others};

#[cfg(all(test, fork_loom))]
mod models;
#[cfg(all(test, not(fork_loom)))]
mod tests;

const CLOSED: usize = 0;
const OPEN: usize = 1;
const BUSY: usize = 2;
const FULL: usize = 3;

/// Workers whose bits come along with a job: as many as a word has.
const GROUP: usize = usize::BITS as usize;

/// Workers that share a word of bits. By simulation: with fewer, dealers read more words; with
/// more, the workers that come to wait at a time write the same line.
const NEIGHBOURS: usize = 16;

/// Looks at a busy mailbox before its worker yields: whoever made it busy has lost its CPU.
const LOOKS: u32 = if cfg!(fork_loom) { 0 } else { 100 };

/// One worker's, on lines of its own.
struct Mailbox {
    state: AtomicUsize,
    job: [AtomicPtr<()>; 2],
    /// Who else waits, of the worker's group: while the mailbox is full, those that come with the
    /// job; while it is closed, those that the worker may deal to.
    helpers: AtomicUsize,
}

/// What a pool has for jobs that are dealt.
pub(crate) struct Deal {
    mailboxes: Box<[CachePadded<Mailbox>]>,
    /// Bits of those that wait, [`NEIGHBOURS`] a word.
    waiting: Box<[CachePadded<AtomicUsize>]>,
}

impl Deal {
    /// For so many workers, none of which waits.
    pub(crate) fn new(workers: usize) -> Self {
        let mailbox = |_| {
            CachePadded::new(Mailbox {
                state: AtomicUsize::new(CLOSED),
                job: [
                    AtomicPtr::new(ptr::null_mut()),
                    AtomicPtr::new(ptr::null_mut()),
                ],
                helpers: AtomicUsize::new(0),
            })
        };
        let word = |_| CachePadded::new(AtomicUsize::new(0));
        Self {
            mailboxes: (0..workers).map(mailbox).collect(),
            waiting: (0..workers.div_ceil(NEIGHBOURS)).map(word).collect(),
        }
    }

    /// `worker`, which calls this, waits from now on, and deals to nobody.
    pub(crate) fn open(&self, worker: usize) {
        let mailbox = &*self.mailboxes[worker];
        // Relaxed: while it is closed, only the worker touches them.
        let helpers = mailbox.helpers.load(Ordering::Relaxed);
        mailbox.helpers.store(0, Ordering::Relaxed);
        // ORDERING: Release, pairs with the exchange of a dealer, which writes where another worker
        // may have read a job that it took from here: `close` has acquired that.
        mailbox.state.store(OPEN, Ordering::Release);
        self.show(worker / GROUP, helpers | 1 << (worker % GROUP));
    }

    /// How many jobs were dealt that nobody has taken yet.
    pub(crate) fn len(&self) -> usize {
        // Relaxed: for people.
        self.mailboxes
            .iter()
            .filter(|mailbox| mailbox.state.load(Ordering::Relaxed) == FULL)
            .count()
    }

    /// `worker`, which calls this, has closed its mailbox to look elsewhere, in vain, and waits on.
    /// A dealer that has its bit may have found the mailbox closed, or have no more jobs.
    pub(crate) fn open_again(&self, worker: usize) {
        // ORDERING: Release, as in `open`.
        self.mailboxes[worker].state.store(OPEN, Ordering::Release);
        self.show_again(worker);
    }

    fn show_again(&self, worker: usize) {
        let (word, bit) = (worker / NEIGHBOURS, 1 << (worker % NEIGHBOURS));
        // Mostly it is there, and the line may stay shared.
        if self.waiting[word].load(Ordering::Relaxed) & bit == 0 {
            self.waiting[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Whether nobody has dealt anything to `worker` since it opened its mailbox.
    #[inline]
    pub(crate) fn is_open(&self, worker: usize) -> bool {
        // Relaxed: `close` acquires.
        self.mailboxes[worker].state.load(Ordering::Relaxed) == OPEN
    }

    /// `worker`, which calls this, does not wait any more. Returns what was dealt to it.
    pub(crate) fn close<T: TwoWords>(&self, worker: usize) -> Option<T> {
        let mailbox = &*self.mailboxes[worker];
        let mut looks = 0;
        loop {
            // ORDERING: Acquire, pairs with the release in `take` if another worker took the job.
            match mailbox.state.load(Ordering::Acquire) {
                // The bit may stay: who takes it finds the mailbox closed.
                OPEN if mailbox.step(OPEN, CLOSED) => return None,
                FULL => {
                    if let Some(job) = mailbox.take() {
                        return Some(job);
                    }
                }
                // Somebody has taken the job.
                CLOSED => return None,
                _ => {}
            }
            looks += 1;
            if looks < LOOKS {
                hint::spin_loop();
            } else {
                wait_for_others();
            }
        }
    }

    /// Takes what was dealt to `worker`, which does not run, it seems.
    #[cold]
    pub(crate) fn take_from<T: TwoWords>(&self, worker: usize) -> Option<T> {
        let mailbox = &*self.mailboxes[worker];
        // Relaxed: a hint.
        (mailbox.state.load(Ordering::Relaxed) == FULL)
            .then(|| mailbox.take())
            .flatten()
    }

    /// `worker`, which calls this, has jobs: deals the one that `take` returns, if anybody waits.
    /// `false` if nobody does, or there is no job.
    pub(crate) fn deal<T: TwoWords>(
        &self,
        worker: usize,
        mut take: impl FnMut() -> Option<T>,
    ) -> bool {
        let own = &self.mailboxes[worker].helpers;
        // Relaxed: only the worker touches them while it does not wait.
        let mut helpers = own.load(Ordering::Relaxed);
        let mut dealt = self.deal_to_one_of::<_, false>(worker, &mut helpers, &mut take);
        // Those that came with a job may have found others since.
        if helpers == 0 && !dealt {
            helpers = self.claim(worker / GROUP);
            dealt = self.deal_to_one_of::<_, false>(worker, &mut helpers, &mut take);
        }
        own.store(helpers, Ordering::Relaxed);
        let groups = self.groups();
        dealt || (1..groups).any(|on| self.deal_in((worker / GROUP + on) % groups, &mut take))
    }

    /// A thread outside has a job: deals it, if anybody waits. Gives it back if nobody does.
    pub(crate) fn deal_from_outside<T: TwoWords>(&self, job: T) -> Result<(), T> {
        let mut job = Some(job);
        (0..self.groups()).any(|group| self.deal_in(group, &mut || job.take()));
        job.map_or(Ok(()), Err)
    }

    /// Deals to one who waits in a group that the caller is not of.
    fn deal_in<T: TwoWords>(&self, group: usize, take: &mut impl FnMut() -> Option<T>) -> bool {
        let mut helpers = self.claim(group);
        let dealt = self.deal_to_one_of::<_, true>(group * GROUP, &mut helpers, take);
        // Those that are left if the caller has no job.
        self.show(group, helpers);
        dealt
    }

    fn groups(&self) -> usize {
        self.mailboxes.len().div_ceil(GROUP)
    }

    /// Deals to one of `helpers`, in the group of `near`, and sends half of the others along, or
    /// `ALL`. Leaves the rest, nearer ones, without those that were tried and do not wait.
    fn deal_to_one_of<T: TwoWords, const ALL: bool>(
        &self,
        near: usize,
        helpers: &mut usize,
        take: &mut impl FnMut() -> Option<T>,
    ) -> bool {
        // From the own place on, so that who is near comes last. Below the bits of a word.
        #[allow(clippy::cast_possible_truncation)]
        let turn = (near % GROUP) as u32;
        while *helpers != 0 {
            let in_turn = helpers.rotate_right(turn);
            let upper = (0..in_turn.count_ones() / 2).fold(in_turn, |left, _| left & (left - 1));
            let place = (upper.trailing_zeros() + turn) as usize % GROUP;
            *helpers &= !(1 << place);
            let along = if ALL {
                *helpers
            } else {
                upper.rotate_left(turn) & *helpers
            };
            let mailbox = &*self.mailboxes[near / GROUP * GROUP + place];
            // Relaxed: a hint.
            if mailbox.state.load(Ordering::Relaxed) != OPEN || !mailbox.step(OPEN, BUSY) {
                continue;
            }
            let Some(job) = take() else {
                *helpers |= 1 << place;
                // ORDERING: Release, as in `open`.
                mailbox.state.store(OPEN, Ordering::Release);
                return false;
            };
            *helpers &= !along;
            for (word, it) in mailbox.job.iter().zip(job.into_words()) {
                word.store(it, Ordering::Relaxed);
            }
            mailbox.helpers.store(along, Ordering::Relaxed);
            // ORDERING: Release, pairs with the exchange in `take`: who takes the job sees it.
            mailbox.state.store(FULL, Ordering::Release);
            return true;
        }
        false
    }

    /// Takes the bits of all who wait in a group.
    fn claim(&self, group: usize) -> usize {
        let mut bits = 0;
        for (index, word) in self.words_of(group) {
            // Relaxed, as every access to bits: they are hints, and what they lead to has a state
            // of its own.
            if word.load(Ordering::Relaxed) != 0 {
                bits |= word.swap(0, Ordering::Relaxed) << (index * NEIGHBOURS);
            }
        }
        bits
    }

    /// Shows that these of a group wait.
    fn show(&self, group: usize, bits: usize) {
        for (index, word) in self.words_of(group) {
            let bits = bits >> (index * NEIGHBOURS) & ((1 << NEIGHBOURS) - 1);
            if bits != 0 {
                word.fetch_or(bits, Ordering::Relaxed);
            }
        }
    }

    /// The words of a group, with their places in it.
    fn words_of(&self, group: usize) -> impl Iterator<Item = (usize, &AtomicUsize)> {
        let words = self.waiting.iter().skip(group * (GROUP / NEIGHBOURS));
        words
            .take(GROUP / NEIGHBOURS)
            .map(|word| &**word)
            .enumerate()
    }
}

impl Mailbox {
    fn step(&self, from: usize, to: usize) -> bool {
        // ORDERING: Acquire, pairs with the release when it became `from`: a job was read before it
        // is overwritten, and was written before it is read.
        self.state
            .compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes the job out, unless somebody else does.
    fn take<T: TwoWords>(&self) -> Option<T> {
        if !self.step(FULL, BUSY) {
            return None;
        }
        let words = self.job.each_ref().map(|word| word.load(Ordering::Relaxed));
        // ORDERING: Release, pairs with the exchange by which a dealer makes it busy, after the
        // worker has opened it.
        self.state.store(CLOSED, Ordering::Release);
        // SAFETY: they are the words of one job, and whoever made the mailbox busy has it alone.
        Some(unsafe { T::from_words(words) })
    }
}
