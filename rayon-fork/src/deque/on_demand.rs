//! A deque whose jobs are its owner's alone until somebody asks for them.
//!
//! ```text
//!             tail                split                 head
//!              │                    │                    │
//!   ───────────┼────────────────────┼────────────────────┼───────────
//!     was here │ public: for thieves│ private: the owner's│ room
//! ```
//!
//! Owner and thieves meet in one word, `public`: the tail in its upper bits, and in the lower ones
//! how many jobs are public. While there are private jobs the owner pushes and pops without any
//! look at that word. The oldest jobs become public first: mostly they are the largest.
//!
//! | step          | by                 | `public`                      | `limit`                   |
//! |---------------|--------------------|-------------------------------|---------------------------|
//! | push          | owner              | –                             | –                         |
//! | pop           | owner              | –                             | is read                   |
//! | expose        | owner              | count up, ends a claim        | set before                |
//! | ask           | thief              | is read                       | raised to the head        |
//! | expose for it | thief              | begins a claim; later count up, if the claim still stands | raised in between |
//! | steal         | thief              | tail up, count down           | –                         |
//! | take back     | owner              | count down, as a theft, the same, or up for others; ends a claim | set before |
//!
//! The owner waits for nobody: of its steps each either succeeds or fails because a thief got on.
//! Thieves that expose do so one at a time, and the others do not wait.
//!
//! Three arguments carry it; `models.rs` has each with the mistakes that would break it.
//!
//! **Exposing for an owner who is busy.** An owner in a long job does not push, so it exposes
//! nothing. A thief that finds only private jobs raises `limit` to the new split, makes a heavy
//! fence, and reads the head. The owner lowers the head to pop, makes a light fence, and reads
//! `limit`. One of the two fences is first. So either the owner sees the limit above its job, and
//! takes it back; or the thief sees the lowered head, and leaves the job alone. `limit` is never
//! below the split while the owner pops, so that its one load also tells the owner whether the job
//! is private.
//!
//! **Claims.** The thief's fence is a system call, and a thief may lose its CPU in it. So the owner
//! does not wait for it: before the thief raises the limit it sets a bit of `public`, the claim,
//! and what it found counts only if that word has not changed since. An owner that takes a job back
//! lowers the head, sets the limit, and then exchanges `public` for a value without the bit. That
//! ends every earlier claim, whose limit it may have overwritten; and a later one begins by reading
//! what the owner wrote, so it finds the lowered head, and raises the limit that the owner set. A
//! thief that comes late raises the limit in vain: it is too high for a while, which only costs
//! time. So a thief may raise it also to *ask*: the owner's next pop then looks at `public`, and
//! exposes jobs by itself, without any heavy fence.
//!
//! **Indices that come again.** A thief copies the job at the tail, then steps the tail by a
//! compare-exchange; what it copied counts only if that succeeds. So between the two the slot at
//! the tail must not change unless the tail does. It does not: a ring counts as full from the tail
//! on; and of public jobs the owner takes back the newest by lowering the count, but never the last
//! one so: that one it takes as a thief would, by stepping the tail. The tail itself has 40 bits,
//! so it comes again after a thief slept through 10¹² thefts from one deque, hours at full speed.
//! To copy *after* the exchange would not do: the owner may reuse the slot at once.
//!
//! **Rings that are freed.** The first ring, which the first push makes, stays; a larger one is freed when a still larger one
//! takes its place, and when the deque is empty and its owner about to block, so that a burst of
//! jobs leaves nothing behind. One that is much larger is freed as soon as its owner takes the last
//! job, or finds that somebody has: it may go on with something long. A thief that finds the first
//! ring in use just reads it. Any other it reads only while it is counted, in `readers`: it counts
//! itself, then reads which ring is in use. The owner puts another ring into use, then reads the
//! count. One of the two is first. So either the owner finds the thief, and keeps what it has put
//! out of use until it comes here again; or the thief finds the ring that is in use by then. As long
//! as earlier rings are kept, the one in use is not given back, so that a thief without a CPU keeps
//! rings of one burst or two, not of all to come. The first ring is in use again only when the deque
//! is empty: no job is public that a thief could have looked for in it before.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use self::ring::{MOST_PUBLIC, Public, Ring, Slot, TAIL_SHIFT};
use super::Steal;
use super::terms::{Answer, TwoWords};
use crate::hooks::{self, Event};
use crate::sync::modelled::{
    AtomicPtr, AtomicU64, AtomicUsize, Fences, Mutex, Ordering, Unmodelled, fence_for_loom,
};

#[cfg(all(test, fork_loom))]
mod models;
#[cfg(test)]
pub(crate) mod numbered;
mod ring;
#[cfg(all(test, not(fork_loom)))]
mod tests;

/// Jobs for which a deque has room at first, and for good: 4 KiB. A guess: where joins nest and
/// iterators split, fewer jobs wait at a time, so their thieves need not be counted.
const FIRST_CAPACITY: usize = if cfg!(fork_loom) { 4 } else { 256 };

/// A ring of more slots than this, 2 MiB, is given back as soon as the owner knows that the deque is
/// empty. A guess: scopes of a hundred thousand jobs, one after the other, go on with one ring, and
/// to make room for more once again costs less than to run them.
const LARGE: usize = 1 << 17;

/// So often an owner finds its deque empty until it gives room back that it had for more jobs, if it
/// does not block before. A guess.
const EMPTY_UNTIL_SMALL: u32 = 1024;

/// Pushes in a row for which the owner was asked, had public jobs, and nobody came, until it
/// believes that nobody wants any. Those that show all are not counted. A guess.
const PUSHES_UNTIL_UNWANTED: u32 = 64;

/// For so many answers an owner shows all of its jobs, after others exposed some in its stead. A
/// guess.
const ANSWERS_AFTER_HELP: u32 = 64;

/// So often in a row an owner that is about to block searches once more instead, because a thief
/// reads what it wants to free. A guess: the searches yield, so a thief that lost its CPU gets it.
const TRIES_TO_FREE: u32 = 64;

/// What the owner writes with every push and pop.
struct OwnersLine {
    /// Where the next job goes. Lowered before the owner knows whether the job is its own, so that
    /// it may be one below the split for a moment.
    head: AtomicU64,
    /// The owner takes jobs from here on without asking. Never below the split, but while the owner
    /// sets it.
    limit: AtomicU64,
}

/// What thieves read.
struct ThievesLine {
    public: AtomicU64,
    /// The ring in use; null until the first push.
    ring: AtomicPtr<Ring>,
    /// The first, which is freed with the whole; null until the first push.
    first: AtomicPtr<Ring>,
    /// Thieves that read a ring which is not the first.
    readers: AtomicUsize,
    /// Held by the thief that exposes for the owner. Nobody waits for it.
    exposing: Mutex<()>,
    /// The head when that was last done: a hint, which carries nothing.
    exposed_at: Unmodelled,
}

struct Shared<T> {
    owners: CachePadded<OwnersLine>,
    thieves: CachePadded<ThievesLine>,
    fences: Fences,
    jobs: PhantomData<T>,
}

// SAFETY: jobs go from one thread to another, never to two. The rest is atomics and a lock, and
// rings, which are freed when nobody reads them; what of them is no atomic only the owner writes.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

/// The owner's end.
pub(crate) struct Deque<T> {
    shared: Arc<Shared<T>>,
    /// The slots of the ring in use, which only the owner replaces; null until the first push.
    slots: Cell<*const Slot>,
    /// One less than their number, which is a power of two; at first, of those to come.
    mask: Cell<usize>,
    /// So often the deque was found empty since it last grew.
    empties: Cell<u32>,
    /// So often in a row the owner wanted to give memory back that a thief was reading.
    tries: Cell<u32>,
    /// The head at which the ring may be full: the tail may have moved since this was found out.
    full_at: Cell<u64>,
    /// The tail when it was last seen to move because of a thief, or one that the owner itself has
    /// moved it to.
    seen_tail: Cell<u64>,
    /// Pushes since then for which the owner was asked.
    unanswered: Cell<u32>,
    /// Where it was when others last exposed jobs in its stead, as far as it knows.
    helped_at: Cell<u64>,
    /// Answers to come that make all jobs public.
    shows_all: Cell<u32>,
    fences: Fences,
}

// SAFETY: the pointer leads into the ring in use, which lives until the owner replaces it, or as
// long as `shared`, which moves along.
unsafe impl<T: Send> Send for Deque<T> {}

/// The thieves' end.
pub(crate) struct Stealer<T> {
    shared: Arc<Shared<T>>,
}

impl<T: TwoWords> Deque<T> {
    /// An empty deque.
    pub(crate) fn new(fences: Fences) -> Self {
        Self::starting_at(1, FIRST_CAPACITY, fences)
    }

    /// An empty deque whose first job gets the index `start`, which is not 0: there is a head below
    /// it for a moment.
    fn starting_at(start: u64, capacity: usize, fences: Fences) -> Self {
        assert!(capacity.is_power_of_two());
        let shared = Shared {
            owners: CachePadded::new(OwnersLine {
                head: AtomicU64::new(start),
                limit: AtomicU64::new(start),
            }),
            thieves: CachePadded::new(ThievesLine {
                public: AtomicU64::new(start << TAIL_SHIFT),
                ring: AtomicPtr::new(ptr::null_mut()),
                first: AtomicPtr::new(ptr::null_mut()),
                readers: AtomicUsize::new(0),
                exposing: Mutex::new(()),
                exposed_at: Unmodelled::new(0),
            }),
            fences,
            jobs: PhantomData,
        };
        Self {
            shared: Arc::new(shared),
            slots: Cell::new(ptr::null()),
            mask: Cell::new(capacity - 1),
            empties: Cell::new(0),
            tries: Cell::new(0),
            full_at: Cell::new(start),
            seen_tail: Cell::new(start),
            unanswered: Cell::new(0),
            helped_at: Cell::new(0),
            shows_all: Cell::new(0),
            fences,
        }
    }

    /// An end for thieves.
    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer {
            shared: Arc::clone(&self.shared),
        }
    }

    #[inline]
    fn head(&self) -> u64 {
        // Relaxed: nobody else writes it.
        self.shared.owners.head.load(Ordering::Relaxed)
    }

    #[inline]
    fn set_head(&self, head: u64) {
        // ORDERING: Release, pairs with the loads of the head by thieves: who sees this head may
        // expose every job below it, so it must see what their slots hold. Also where the head goes
        // down: that value hides the earlier one.
        self.shared.owners.head.store(head, Ordering::Release);
    }

    // The mask fits into a `usize`.
    #[allow(clippy::cast_possible_truncation)]
    #[inline]
    fn slot(&self, index: u64) -> &Slot {
        // SAFETY: the ring in use lives, and masked indices are those of its slots. There is one, as
        // callers ask for a job that was pushed, or push one and have made room.
        unsafe { &*self.slots.get().add(index as usize & self.mask.get()) }
    }

    /// Takes the private job below the head `head`.
    #[inline]
    fn take(&self, newest: u64) -> T {
        // SAFETY: the caller has made the job its own, and `push` has written it.
        unsafe { T::from_words(self.slot(newest).read()) }
    }

    /// Adds a job, which is private. Ends with a light fence: who asks for jobs, makes a heavy
    /// fence and then sees no job here, is seen by what the caller reads next.
    ///
    /// Returns the job's index.
    #[inline]
    pub(crate) fn push(&self, job: T) -> u64 {
        let head = self.head();
        if head == self.full_at.get() {
            self.make_room(head);
        }
        self.slot(head).write(job.into_words());
        self.set_head(head.wrapping_add(1));
        // ORDERING: light fence, pairs with the heavy one in `Sleep::before_scan`: the job is
        // visible, the demand is read next.
        self.fences.light();
        head
    }

    /// Takes the job back that `push` put at `index`, of which the caller knows that it has not
    /// come out by a pop. `true` if it is the newest and surely private: then nothing is read back.
    /// Else the deque is as it was.
    #[inline]
    pub(crate) fn try_take_back(&self, index: u64) -> bool {
        // Had it been stolen, the tail, and so the limit, would lie above the index for good.
        if self.head() != index + 1 {
            return false;
        }
        self.set_head(index);
        // ORDERING: light fence, as in `pop`.
        self.fences.light();
        // Relaxed: as in `pop`.
        let is_private = index >= self.shared.owners.limit.load(Ordering::Relaxed);
        if !is_private {
            self.set_head(index + 1);
        }
        is_private
    }

    /// Takes the newest job.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        let newest = self.head() - 1;
        self.set_head(newest);
        // ORDERING: light fence, pairs with the heavy one in `expose_for_owner`. The head is
        // lowered, the limit read next: a thief that has raised it too late for that read finds the
        // lowered head.
        self.fences.light();
        // Relaxed: the fence says what it may miss. Behind what it shows there is only a
        // comparison.
        let limit = self.shared.owners.limit.load(Ordering::Relaxed);
        if newest < limit {
            return self.take_back(newest);
        }
        let job = self.take(newest);
        // It may have been the last one.
        if newest == limit {
            self.give_back_if_large();
        }
        Some(job)
    }

    /// Takes the job at `newest`, to which the head was lowered, where that job may be public,
    /// about to become so, or gone.
    // Not inlined: seldom called, and jobs run in the caller's frame.
    #[cold]
    #[inline(never)]
    fn take_back(&self, newest: u64) -> Option<T> {
        let head = newest + 1;
        // Relaxed: a stale value fails below; but if all below the head was stolen by then, it
        // stays so.
        let mut public = Public(self.shared.thieves.public.load(Ordering::Relaxed));
        let mut is_limit_set = false;
        loop {
            let (split, count) = (public.split(head), public.count());
            if cfg!(any(debug_assertions, fork_loom)) {
                assert!(split <= head, "jobs are public that the owner has taken");
            }
            let is_gone = public.tail(head) == head;
            if is_gone && !is_limit_set {
                self.set_head(head);
                self.was_found_empty();
                return None;
            }
            let next = if count == 0 {
                // Somebody has asked, or is about to expose jobs: the older half of those that are
                // left.
                let left = newest.saturating_sub(split);
                public.unclaimed_with(left.div_ceil(2).min(MOST_PUBLIC))
            } else if split <= newest {
                public.unclaimed_with(0)
            } else if count == 1 {
                // The last one never by the count: its slot must not be written again while the
                // tail stays.
                public.without_oldest()
            } else {
                // Half of them, so that not every pop comes here.
                Public(public.0 - count / 2)
            };
            self.set_limit(next.split(head));
            is_limit_set = true;
            if let Err(now) = self.shared.exchange(public, next) {
                public = now;
                continue;
            }
            if next.tail(head) == head {
                self.set_head(head);
                self.seen_tail.set(head);
            }
            hooks::count_if(count == 0 && next.count() > 0, Event::Exposure);
            let job = (!is_gone).then(|| self.take(newest));
            self.give_back_if_large();
            return job;
        }
    }

    /// Sets the limit. The caller exchanges `public` next, and comes back here unless it succeeds.
    fn set_limit(&self, limit: u64) {
        let word = &self.shared.owners.limit;
        // Relaxed: thieves only raise it. One that begins after the exchange has acquired this.
        if cfg!(fork_loom) {
            // Loom lets a thief's step miss a store at the same time, which no step on the latest
            // value can.
            word.swap(limit, Ordering::Relaxed);
        } else {
            word.store(limit, Ordering::Relaxed);
        }
    }

    /// The ring is full from where the tail once was, or there is none yet.
    #[cold]
    #[inline(never)]
    fn make_room(&self, head: u64) {
        if self.slots.get().is_null() {
            self.make_first_ring(head);
            return;
        }
        // ORDERING: Acquire, pairs with the exchanges of `public`: the slots below this tail will
        // be written again, and thieves that have stepped it must have read them before.
        let public = Public(self.shared.thieves.public.load(Ordering::Acquire));
        let tail = public.tail(head);
        let mut capacity = self.mask.get() + 1;
        if head - tail == capacity as u64 {
            capacity *= 2;
            let new = Ring::leak(capacity);
            // SAFETY: it has just been made.
            let ring = unsafe { &*new };
            for index in tail..head {
                ring.slot(index).write(self.slot(index).read());
            }
            self.empties.set(0);
            self.use_ring(new);
            // Else with the next ring, or before the owner blocks.
            let _is_freed = self.try_free_outgrown();
        }
        self.full_at.set(tail + capacity as u64);
    }

    /// Not made with the deque: in a wide pool whose workers do not all come up, or get nothing to do,
    /// the rings would be most of what it takes.
    fn make_first_ring(&self, head: u64) {
        let (thieves, capacity) = (&*self.shared.thieves, self.mask.get() + 1);
        let first = Ring::leak(capacity);
        // Relaxed: thieves read both after they have seen a public job, so after a head that the
        // owner has stored later.
        thieves.first.store(first, Ordering::Relaxed);
        thieves.ring.store(first, Ordering::Relaxed);
        // SAFETY: it has just been made, and is not freed before `shared`.
        self.slots.set(unsafe { &*first }.slots.as_ptr());
        self.full_at.set(head + capacity as u64);
    }

    /// Puts `new`, which holds all jobs, in the place of the ring in use.
    fn use_ring(&self, new: *mut Ring) {
        let thieves = &*self.shared.thieves;
        // Relaxed: nobody else writes them.
        let old = thieves.ring.load(Ordering::Relaxed);
        let is_old_kept = ptr::eq(old, thieves.first.load(Ordering::Relaxed));
        // SAFETY: neither has been freed, and only the owner touches `outgrown`.
        let (old_ring, ring) = unsafe { (&*old, &*new) };
        ring.outgrown.set(if is_old_kept {
            old_ring.outgrown.replace(ptr::null_mut())
        } else {
            old
        });
        // ORDERING: SeqCst. Release pairs with the loads in `steal`, which must find the copies of
        // jobs. For the rest see `try_free_outgrown`.
        thieves.ring.store(new, Ordering::SeqCst);
        self.slots.set(ring.slots.as_ptr());
        self.mask.set(ring.slots.len() - 1);
    }

    /// Frees the rings that are not in use any more, unless a thief may read one. Else they stay
    /// until the next call, or the end of the deque: thieves are counted for some ten instructions.
    fn try_free_outgrown(&self) -> bool {
        let thieves = &*self.shared.thieves;
        // SAFETY: the ring in use lives.
        let outgrown = &unsafe { &*thieves.ring.load(Ordering::Relaxed) }.outgrown;
        if outgrown.get().is_null() {
            return true;
        }
        // ORDERING: SeqCst, pairs with `copy_counted`. Another ring was put into use, the count is
        // read next: a thief that this misses counts itself later, and reads then which ring is in
        // use. Acquire: what others read of the old rings comes before they are freed.
        fence_for_loom();
        let is_unread = thieves.readers.load(Ordering::SeqCst) == 0;
        if is_unread {
            // SAFETY: they came from `leak`, are not in use, and by the count nobody has them.
            unsafe { Ring::free(outgrown.replace(ptr::null_mut())) };
        }
        is_unread
    }

    /// The owner has nothing to do, and is about to block: if no job is left, gives the room back
    /// for more jobs than there was room for at first.
    ///
    /// `false` if a thief still reads what was put out of use: the caller comes again soon, or else
    /// it stays until the next such moment. It is asked to do so only a few times in a row, as the
    /// thief may have lost its CPU.
    pub(crate) fn give_back(&self) -> bool {
        // Relaxed: nobody else writes it.
        let first = self.shared.thieves.first.load(Ordering::Relaxed);
        // SAFETY: the first ring lives as long as `shared`, if there is one.
        let Some(ring) = (unsafe { first.as_ref() }) else {
            return true;
        };
        let (head, capacity) = (self.head(), ring.slots.len());
        let is_large = self.mask.get() + 1 > capacity;
        if is_large {
            // ORDERING: Acquire, as in `make_room`: slots will be written again that thieves have
            // read.
            let public = Public(self.shared.thieves.public.load(Ordering::Acquire));
            if public.tail(head) != head {
                return true;
            }
        }
        // Earlier ones first: as long as a thief keeps those, the ring in use stays in use. Else
        // each burst would leave one more behind, for as long as that thief has no CPU.
        let mut is_freed = self.try_free_outgrown();
        if is_freed && is_large {
            self.use_ring(first);
            self.full_at.set(head + capacity as u64);
            is_freed = self.try_free_outgrown();
        }
        let tries = self.tries.get() + 1;
        let is_done = is_freed || tries > TRIES_TO_FREE;
        self.tries.set(if is_done { 0 } else { tries });
        is_done
    }

    /// The deque was found empty.
    fn was_found_empty(&self) {
        let empties = self.empties.get() + 1;
        self.empties.set(empties % EMPTY_UNTIL_SMALL);
        if empties == EMPTY_UNTIL_SMALL {
            let _is_done = self.give_back();
        } else {
            self.give_back_if_large();
        }
    }

    /// The last job may be gone, and the owner may go on with something else for long: if so, gives
    /// much room back, but not a little.
    #[inline]
    pub(crate) fn give_back_if_large(&self) {
        if self.mask.get() >= LARGE {
            let _is_done = self.give_back();
        }
    }

    /// Somebody asks for jobs: makes the older half of the private ones public, at least one, if
    /// none is; all, if others had to do so lately.
    #[cold]
    pub(crate) fn answer(&self) -> Answer {
        let head = self.head();
        // Relaxed: the light fence of the push that brings us here says what a sleeper may rely on.
        let mut public = Public(self.shared.thieves.public.load(Ordering::Relaxed));
        let shows_all = self.was_helped_lately();
        if public.count() > 0 && !shows_all {
            return self.count_unanswered(public.tail(head));
        }
        loop {
            let (private, count) = (head - public.split(head), public.count());
            let more = match count {
                _ if shows_all => private.min(MOST_PUBLIC - count),
                0 => private.div_ceil(2).min(MOST_PUBLIC),
                _ => 0,
            };
            let next = public.unclaimed_with(more);
            self.set_limit(next.split(head));
            match self.shared.exchange(public, next) {
                Ok(()) => {
                    hooks::count_if(more > 0, Event::Exposure);
                    // Else a thief has exposed it, or taken it, or there was something public.
                    let is_news = more > 0 && count == 0;
                    return if is_news {
                        Answer::Exposed
                    } else {
                        Answer::HasPublic
                    };
                }
                Err(now) => public = now,
            }
        }
    }

    /// Whether others exposed jobs in the owner's stead lately: its jobs are long, compared with
    /// that help. Each call counts as an answer; after some it is forgotten.
    fn was_helped_lately(&self) -> bool {
        // Relaxed: a hint.
        let helped_at = self.shared.thieves.exposed_at.load(Ordering::Relaxed);
        if self.helped_at.replace(helped_at) != helped_at {
            self.shows_all.set(ANSWERS_AFTER_HELP);
        }
        let left = self.shows_all.get();
        self.shows_all.set(left.saturating_sub(1));
        left > 0
    }

    /// There are public jobs: whether anybody has come for one lately.
    fn count_unanswered(&self, tail: u64) -> Answer {
        if self.seen_tail.replace(tail) != tail {
            self.unanswered.set(0);
        }
        let unanswered = self.unanswered.get() + 1;
        if unanswered < PUSHES_UNTIL_UNWANTED {
            self.unanswered.set(unanswered);
            return Answer::HasPublic;
        }
        self.unanswered.set(0);
        Answer::Unwanted
    }

    /// Whether no job is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }
}

impl ThievesLine {
    /// What lies at this index in the ring in use, which may be freed as soon as it is not.
    #[inline]
    fn copy_counted(&self, index: u64) -> [*mut (); 2] {
        // ORDERING: SeqCst, pairs with `try_free_outgrown`. The thief is counted, the ring in use
        // is read next: an owner that misses the thief in its count has put another ring into use
        // before, and this reads that one, or a later one.
        self.readers.fetch_add(1, Ordering::SeqCst);
        fence_for_loom();
        let ring = self.ring.load(Ordering::SeqCst);
        // SAFETY: it was in use after this thief was counted, so the owner does not free it before
        // the thief is not counted any more.
        let words = unsafe { Ring::copy(ring, index) };
        // ORDERING: Release, pairs with the load in `try_free_outgrown`.
        self.readers.fetch_sub(1, Ordering::Release);
        words
    }
}

impl<T> Shared<T> {
    /// Whether no job is in it, be it public or private.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many jobs are in it. Exact if nobody changes it meanwhile.
    #[allow(clippy::cast_possible_wrap)]
    fn len(&self) -> usize {
        // Relaxed: who relies on the answer makes a fence before.
        let public = Public(self.thieves.public.load(Ordering::Relaxed));
        let head = self.owners.head.load(Ordering::Relaxed);
        // Of different moments, or while the owner looks at its last job, the head may be below the
        // tail.
        usize::try_from(head.wrapping_sub(public.tail(head)) as i64).unwrap_or(0)
    }

    fn exchange(&self, from: Public, to: Public) -> Result<(), Public> {
        // ORDERING: AcqRel. Release: the copy of a job that a thief has made comes before the owner
        // writes the slot again (`make_room`); who steals an exposed job sees what its slot holds,
        // and its ring; who begins a claim sees the head and the limit of an owner that has taken a
        // job back. Every change is a read-modify-write, so that who acquires any value sees what
        // came before an earlier one. Acquire keeps that chain.
        self.thieves
            .public
            .compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
            .map_err(Public)
    }
}

impl<T> Clone for Stealer<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<T: TwoWords> Stealer<T> {
    /// Takes the oldest public job.
    #[inline]
    pub(crate) fn steal(&self) -> Steal<T> {
        let thieves = &*self.shared.thieves;
        // ORDERING: Acquire, pairs with `expose`: the slots of public jobs hold them, and so does
        // the ring read next.
        let public = Public(thieves.public.load(Ordering::Acquire));
        if public.count() == 0 {
            return Steal::Empty;
        }
        let tail = public.0 >> TAIL_SHIFT;
        // In every ring that was in use since the job is public, the slot at the tail holds it for
        // as long as the tail stays.
        //
        // ORDERING: Acquire, pairs with the store in `use_ring`. Relaxed for the first one, which stays
        // as it was when the job became public.
        let first = thieves.first.load(Ordering::Relaxed);
        let words = if ptr::eq(thieves.ring.load(Ordering::Acquire), first) {
            // SAFETY: the first ring lives as long as `shared`, and is there since the first push.
            unsafe { Ring::copy(first, tail) }
        } else {
            thieves.copy_counted(tail)
        };
        match self.shared.exchange(public, public.without_oldest()) {
            // SAFETY: the step of the tail made the job ours, and says that the words are those of
            // the job.
            Ok(()) => Steal::Success(unsafe { T::from_words(words) }),
            Err(_) => Steal::Retry,
        }
    }

    /// Asks the owner for jobs, if all that it has are private: the next time that it takes one
    /// back, it exposes others.
    pub(crate) fn ask(&self) {
        let Shared { owners, .. } = &*self.shared;
        if self.has_public() || self.shared.is_empty() {
            return;
        }
        // Relaxed: the owner may see it late. Only raised, as it may have exposed jobs meanwhile; a
        // limit that is too high costs it a look at `public`.
        let head = owners.head.load(Ordering::Relaxed);
        if owners.limit.load(Ordering::Relaxed) < head {
            owners.limit.fetch_max(head, Ordering::Relaxed);
        }
    }

    /// Whether the owner has pushed or popped since jobs were last exposed in its stead, or none
    /// ever was. If not, it probably runs one long job, and answers nobody.
    pub(crate) fn has_stirred(&self) -> bool {
        let Shared {
            owners, thieves, ..
        } = &*self.shared;
        // Relaxed: hints.
        owners.head.load(Ordering::Relaxed) != thieves.exposed_at.load(Ordering::Relaxed)
    }

    /// Makes the older half of the owner's private jobs public, at least one, if none is. `true` if
    /// there are public jobs now.
    #[cold]
    pub(crate) fn expose_for_owner(&self) -> bool {
        let Shared {
            owners,
            thieves,
            fences,
            ..
        } = &*self.shared;
        if !self.has_public() && self.shared.is_empty() {
            return false;
        }
        let Some(_exposing) = thieves.exposing.try_lock() else {
            return self.has_public();
        };
        // Relaxed: the exchange acquires.
        let mut public = Public(thieves.public.load(Ordering::Relaxed));
        loop {
            if public.count() > 0 {
                return true;
            }
            match self.shared.exchange(public, public.claimed()) {
                Ok(()) => break,
                Err(now) => public = now,
            }
        }
        // ORDERING: Acquire, pairs with `set_head`, here and below.
        let head = owners.head.load(Ordering::Acquire);
        let split = public.split(head);
        let wanted = head.saturating_sub(split).div_ceil(2).min(MOST_PUBLIC);
        if wanted > 0 {
            // Relaxed: the fence orders it. Only raised: the owner may have ended the claim, and
            // exposed more.
            owners.limit.fetch_max(split + wanted, Ordering::Relaxed);
            // ORDERING: heavy fence, pairs with the light one in `pop`. The limit is raised, the
            // head read next: an owner whose read of the limit misses that has lowered the head
            // before.
            fences.heavy();
            hooks::count(Event::HeavyFence);
        }
        let head = owners.head.load(Ordering::Acquire);
        let more = wanted.min(head.saturating_sub(split));
        let is_exposed = self
            .shared
            .exchange(public.claimed(), public.unclaimed_with(more))
            .is_ok()
            && more > 0;
        if is_exposed {
            // Relaxed: a hint.
            thieves.exposed_at.store(head, Ordering::Relaxed);
            hooks::count(Event::ExposureForOwner);
        }
        is_exposed || self.has_public()
    }

    /// Whether there is a job to be stolen.
    pub(crate) fn has_public(&self) -> bool {
        // Relaxed: only a hint.
        Public(self.shared.thieves.public.load(Ordering::Relaxed)).count() > 0
    }
}

impl<T> Stealer<T> {
    /// Whether no job is in it, be it public or private.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }

    /// How many jobs are in it, public and private.
    pub(crate) fn len(&self) -> usize {
        self.shared.len()
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // A model that has failed has no locks any more.
        if cfg!(fork_loom) && std::thread::panicking() {
            return;
        }
        // Relaxed: nobody else is left. Jobs that are left are dropped by nobody; a pool ends after
        // its last job.
        let (ring, first) = (
            self.thieves.ring.load(Ordering::Relaxed),
            self.thieves.first.load(Ordering::Relaxed),
        );
        // SAFETY: if there are any, they came from `leak`, and nobody else is left to read them. The first is in no
        // list of outgrown ones.
        unsafe {
            Ring::free(ring);
            if !ptr::eq(ring, first) {
                Ring::free(first);
            }
        }
    }
}
