//! A split deque. Thieves take jobs from its *shared* part. The *private* part belongs to the owner
//! alone, until a worker requests jobs and the owner *exposes* some.
//!
//! ```text
//!             tail                split                 head
//!              │                    │                    │
//!   ───────────┼────────────────────┼────────────────────┼───────────
//!     was here │ shared: for thieves│ private: the owner's│ room
//! ```
//!
//! The *tail*, the *split* and the *head* are indices of jobs. The split is the tail plus the number
//! of shared jobs. Owner and thieves synchronise on one word, `public`. Its upper bits hold the tail,
//! and its lower bits the number of shared jobs. The oldest jobs become shared first.
//!
//! A second word, `limit`, is an index that is mostly the split. The owner pops each job from the
//! limit on without reading `public`. A thief that wants jobs raises the limit.
//!
//! | step          | by                 | `public`                      | `limit`                   |
//! |---------------|--------------------|-------------------------------|---------------------------|
//! | push          | owner              | –                             | –                         |
//! | pop           | owner              | –                             | is read                   |
//! | expose        | owner              | count up, ends a claim        | set before                |
//! | request       | thief              | is read                       | raised to the head        |
//! | expose for owner | thief | begins a claim; later count up, if the claim still stands | raised in between |
//! | steal         | thief              | tail up, count down           | –                         |
//! | take back     | owner              | count down; tail up (last job); count up (exposes); ends a claim | set before |
//!
//! No step of the owner waits for another thread. One thief at a time exposes jobs. Another thief
//! searches on meanwhile, and waits for the first one only before it would spin or sleep.
//! `models.rs` checks the arguments of the four sections below.
//!
//! **Exposing for a busy owner.** An owner in a long job exposes nothing. So a thief that finds
//! only private jobs raises `limit` to the split that it is about to make. Then the thief executes
//! the heavy side of the asymmetric fence (`Fences`), and reads the head. The owner lowers the head
//! to pop, executes the light side, and reads `limit`. If the heavy side is first, the owner sees
//! the limit above its job, and takes the job back by `public`. If the light side is first, the
//! thief sees the lowered head, and leaves the job alone. `limit` is never below the split while
//! the owner pops. So one load of `limit` also shows whether the job is private.
//!
//! **Claims.** The heavy side is a system call, in which the thief may lose its CPU. So before the
//! thief raises the limit, it sets a bit of `public`, the claim. The thief may expose jobs only if
//! `public` has not changed since then. An owner that takes a job back lowers the head, sets the
//! limit, and exchanges `public` for a value without the bit. This exchange ends every earlier
//! claim, whose limit the owner may have overwritten. A later claim reads the value of `public`
//! that the owner wrote. So the thief of the later claim sees the lowered head, and raises the
//! limit that the owner set. A thief whose claim has ended may leave the limit too high, which only
//! costs the owner time. So a thief may also raise the limit to *request* jobs. The owner's next
//! pop then reads `public`, and exposes jobs without the heavy side.
//!
//! **Indices that repeat.** A thief copies the job at the tail, then steps the tail by a
//! compare-exchange. The thief uses the copy only if the exchange succeeds. So while the tail
//! stays, the slot at the tail must not change. Two rules keep this slot unchanged. First, the
//! owner may reuse a slot only after the tail has passed it. Second, the owner takes back shared
//! jobs by lowering the count. To take back the last shared job, the owner also steps the tail, as
//! a thief would. The tail has 40 bits, so it repeats only if a thief sleeps through 10¹² steps of
//! the tail. A thief must not copy *after* the exchange, because the owner may reuse the slot at
//! once.
//!
//! **Rings that are freed.** The first push makes the first ring, which lives as long as the deque.
//! The owner frees a larger ring when a still larger one replaces it. The owner also frees a larger
//! ring if the deque is empty when the owner is about to block, or was found empty many times. The
//! owner frees a very large ring as soon as it sees that no job is left. A ring that a thief may be
//! reading is freed later.
//!
//! A thief may read the first ring at any time. A thief reads any other ring only while it is
//! counted in `readers`: the thief counts itself, then reads which ring is in use. The owner puts
//! another ring into use, then reads the count. If the thief counts itself first, the owner sees
//! the thief in the count, and keeps the old ring until its next attempt. If the owner changes the
//! ring first, the thief reads the new ring.
//!
//! While the owner keeps earlier rings because of a thief, the owner does not put the first ring
//! back into use. Otherwise each burst would leave further old rings. So a thief that loses its CPU
//! while it is in the count delays the freeing of the rings of one burst or two. The first ring is
//! in use again only when the deque is empty. At that moment no job is shared, so an old copy of a
//! job in the first ring does no harm.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use self::ring::{MOST_SHARED, Public, Ring, Slot, TAIL_SHIFT};
use super::Steal;
use super::terms::{Response, TwoWords};
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

/// From its first push on, a deque has room for this number of jobs, which take 4 KiB. A guess:
/// nested joins and splitting iterators have fewer waiting jobs at a time. These jobs fit into the
/// first ring, whose thieves need not count themselves.
const FIRST_CAPACITY: usize = if cfg!(fork_loom) { 4 } else { 256 };

/// The owner frees a ring of more than this many slots (2 MiB) as soon as it knows that the deque
/// is empty. A guess: for more jobs, a new ring costs less than the jobs in it.
const LARGE: usize = 1 << 17;

/// An owner that never blocks frees a larger ring after it found its deque empty this often. A
/// guess.
const EMPTY_UNTIL_SMALL: u32 = 1024;

/// The owner counts the shared jobs for which no thief came: each push that finds a steal request set
/// and a job shared, and each last shared job that the owner takes back. After this many in a row,
/// the owner assumes that no worker needs jobs. A guess.
const UNTIL_UNWANTED: u32 = 32;

/// After a thief exposed jobs for an owner, this many of the owner's next responses expose all of
/// its jobs. The number is from trials by hand on two CPUs: with a lower one, jobs of a scope that
/// wait for each other start late more often.
const RESPONSES_AFTER_HELP: u32 = 256;

/// If a thief reads memory that the owner wants to free, the owner searches again before it blocks,
/// at most this often in a row. A guess: the searches yield, so a thief that lost its CPU gets it
/// back.
const TRIES_TO_FREE: u32 = 64;

/// The words that the owner accesses with every pop. A push writes only the head.
struct OwnersLine {
    /// The index of the job that the owner pushes next. For a moment the head may be one below the
    /// split, because the owner lowers the head before it knows whether the job is its own.
    head: AtomicU64,
    /// From this index on, the owner takes jobs without reading `public`. The limit is never below
    /// the split, except while the owner sets the limit.
    limit: AtomicU64,
}

/// The words that thieves read.
struct ThievesLine {
    public: AtomicU64,
    /// The ring in use; null until the first push.
    ring: AtomicPtr<Ring>,
    /// The first ring; null until the first push.
    first: AtomicPtr<Ring>,
    /// The number of thieves that may be reading a ring other than the first.
    readers: AtomicUsize,
    exposing: Mutex<()>,
    /// The head at the moment at which a thief last exposed jobs for the owner. Only a hint.
    exposed_at: Unmodelled,
}

struct Shared<T> {
    owners: CachePadded<OwnersLine>,
    thieves: CachePadded<ThievesLine>,
    fences: Fences,
    jobs: PhantomData<T>,
}

// SAFETY: a job moves from one thread to one other thread, and `T` is `Send`. The other fields are
// atomics, a lock, and rings. Rings are freed when no thread reads them. Only the owner uses the
// parts of rings that are not atomic.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: the reasons are those for `Send`.
unsafe impl<T: Send> Sync for Shared<T> {}

pub(crate) struct Deque<T> {
    shared: Arc<Shared<T>>,
    /// The slots of the ring in use, which only the owner replaces. Null until the first push.
    slots: Cell<*const Slot>,
    /// The number of slots, a power of two, minus one. It is set before the first push.
    mask: Cell<usize>,
    empties: Cell<u32>,
    /// The number of unsuccessful attempts in a row to free memory, because a thief was reading it.
    tries: Cell<u32>,
    /// The head at which the ring may be full; the tail may have moved since.
    full_at: Cell<u64>,
    /// The tail when the owner last called `count_unwanted`, or the tail that `take_back` wrote since.
    seen_tail: Cell<u64>,
    /// The number of calls of `count_unwanted` since a thief changed the tail, or since the owner
    /// last responded that no worker needs jobs.
    unwanted: Cell<u32>,
    /// The owner's copy of `exposed_at`.
    helped_at: Cell<u64>,
    /// This many of the owner's next responses expose all jobs. Until then the owner takes back one
    /// shared job at a time.
    exposes_all: Cell<u32>,
    fences: Fences,
}

// SAFETY: `slots` is null before the first push, and later points to the slots of the ring in use.
// The ring in use lives until the owner replaces it, or as long as `shared`, which moves with the
// deque.
unsafe impl<T: Send> Send for Deque<T> {}

pub(crate) struct Stealer<T> {
    shared: Arc<Shared<T>>,
}

impl<T: TwoWords> Deque<T> {
    pub(crate) fn new(fences: Fences) -> Self {
        Self::starting_at(1, FIRST_CAPACITY, fences)
    }

    /// Creates an empty deque whose first job gets the index `start`. `start` is not 0, because a
    /// pop lowers the head to one below `start` for a moment.
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
            unwanted: Cell::new(0),
            helped_at: Cell::new(0),
            exposes_all: Cell::new(0),
            fences,
        }
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer {
            shared: Arc::clone(&self.shared),
        }
    }

    #[inline]
    fn head(&self) -> u64 {
        // Relaxed: only the owner writes the head.
        self.shared.owners.head.load(Ordering::Relaxed)
    }

    #[inline]
    fn set_head(&self, head: u64) {
        // ORDERING: Release, pairs with the loads of the head by thieves. A thief that sees this
        // head may expose every job below it, so it must see the contents of their slots. A store
        // that lowers the head is a release too, because a thief may read it instead of an earlier,
        // higher head.
        self.shared.owners.head.store(head, Ordering::Release);
    }

    // The mask fits into a `usize`, so the cast of the index loses no bit that the mask keeps.
    #[allow(clippy::cast_possible_truncation)]
    #[inline]
    fn slot(&self, index: u64) -> &Slot {
        // SAFETY: the ring in use is alive, and masked indices are those of its slots. Callers read
        // a job that was pushed, or have made room, so there is a ring.
        unsafe { &*self.slots.get().add(index as usize & self.mask.get()) }
    }

    #[inline]
    fn take(&self, newest: u64) -> T {
        // SAFETY: the caller has made the job its own, and `push` has written it.
        unsafe { T::from_words(self.slot(newest).read()) }
    }

    /// Adds a private job, and returns its index. Ends with the light side of the fence. Suppose a
    /// worker requests jobs, executes the heavy side, and misses this job. Then the caller's next
    /// load sees the request, or that another worker has cleared it.
    #[inline]
    pub(crate) fn push(&self, job: T) -> u64 {
        let head = self.head();
        if head == self.full_at.get() {
            self.make_room(head);
        }
        self.slot(head).write(job.into_words());
        self.set_head(head.wrapping_add(1));
        // ORDERING: light side, pairs with the heavy side in `StealRequest::set_and_publish`. The job
        // is stored before the light side, and the caller reads the request after it.
        self.fences.light();
        head
    }

    /// Takes back the job that `push` put at `index`, without reading its slot. Returns `false`,
    /// and changes nothing, unless the job is the newest and certainly private. The caller knows
    /// that no pop has returned it.
    #[inline]
    pub(crate) fn try_take_back(&self, index: u64) -> bool {
        // After a theft of this job, the tail, and so the limit, is above the index for good.
        if self.head() != index + 1 {
            return false;
        }
        self.set_head(index);
        // ORDERING: light side, as in `pop`.
        self.fences.light();
        // Relaxed: as in `pop`.
        let is_private = index >= self.shared.owners.limit.load(Ordering::Relaxed);
        if !is_private {
            self.set_head(index + 1);
        }
        is_private
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        let newest = self.head() - 1;
        self.set_head(newest);
        // ORDERING: light side, pairs with the heavy side in `expose_for_owner`. The head is
        // lowered before the light side, and the limit is read after it. If a thief raises the
        // limit too late for that read, the thief finds the lowered head.
        self.fences.light();
        // Relaxed: the comment on the fence says which limits this load may miss.
        let limit = self.shared.owners.limit.load(Ordering::Relaxed);
        if newest < limit {
            return self.take_back(newest);
        }
        let job = self.take(newest);
        // This job may have been the deque's last one.
        if newest == limit {
            self.give_back_if_large();
        }
        Some(job)
    }

    /// Takes the job at `newest`, to which the head was lowered. The job may be private, about to
    /// become shared, shared, or stolen.
    // Not inlined: this is seldom called, and jobs run in the caller's frame.
    #[cold]
    #[inline(never)]
    fn take_back(&self, newest: u64) -> Option<T> {
        let head = newest + 1;
        // Relaxed: with a stale value the exchange below fails. If all jobs below the head were
        // stolen, they stay stolen.
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
                // A thief has raised the limit, to request jobs or to expose some. The owner
                // exposes the older half of its other jobs.
                let left = newest.saturating_sub(split);
                public.unclaimed_with(left.div_ceil(2).min(MOST_SHARED))
            } else if split <= newest {
                public.unclaimed_with(0)
            } else if count == 1 {
                // The tail must move, because the owner may soon write the slot at this tail again
                // (see "Indices that repeat").
                public.without_oldest()
            } else {
                // The owner takes back half of the shared jobs, so that its next pops need not
                // access `public`. If its jobs are long, it leaves the others to thieves, because a
                // thief would have to expose them again.
                let are_jobs_long = self.exposes_all.get() > 0;
                let taken = if are_jobs_long { 1 } else { count / 2 };
                Public(public.0 - taken)
            };
            self.set_limit(next.split(head));
            is_limit_set = true;
            if let Err(now) = self.shared.exchange(public, next) {
                public = now;
                continue;
            }
            if next.tail(head) == head {
                if !is_gone {
                    self.count_unwanted(public.tail(head));
                }
                self.set_head(head);
                self.seen_tail.set(head);
            }
            let job = (!is_gone).then(|| self.take(newest));
            self.give_back_if_large();
            return job;
        }
    }

    /// Sets the limit. The caller exchanges `public` next; if the exchange fails, the caller sets
    /// the limit and exchanges again.
    fn set_limit(&self, limit: u64) {
        let word = &self.shared.owners.limit;
        // Relaxed: thieves only raise the limit. A thief that begins a claim after the exchange has
        // acquired this store.
        if cfg!(fork_loom) {
            // Loom lets a thief's read-modify-write miss a simultaneous store; a real machine does
            // not.
            word.swap(limit, Ordering::Relaxed);
        } else {
            word.store(limit, Ordering::Relaxed);
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&self, head: u64) {
        if self.slots.get().is_null() {
            self.make_first_ring(head);
            return;
        }
        // ORDERING: Acquire, pairs with the exchanges of `public`. The owner will write the slots
        // below this tail again. The thieves that stepped the tail must have read those slots
        // before these writes.
        let public = Public(self.shared.thieves.public.load(Ordering::Acquire));
        let tail = public.tail(head);
        let mut capacity = self.mask.get() + 1;
        if head - tail == capacity as u64 {
            capacity *= 2;
            let new = Ring::leak(capacity);
            // SAFETY: the ring has just been made.
            let ring = unsafe { &*new };
            for index in tail..head {
                ring.slot(index).write(self.slot(index).read());
            }
            self.empties.set(0);
            self.use_ring(new);
            // If a thief still reads a ring, a later call frees the rings.
            let _is_freed = self.try_free_outgrown();
        }
        self.full_at.set(tail + capacity as u64);
    }

    /// A new deque has no ring, because most workers of a wide pool may get no work.
    fn make_first_ring(&self, head: u64) {
        let (thieves, capacity) = (&*self.shared.thieves, self.mask.get() + 1);
        let first = Ring::leak(capacity);
        // Relaxed: thieves read both pointers after they read a head that the owner stores later.
        thieves.first.store(first, Ordering::Relaxed);
        thieves.ring.store(first, Ordering::Relaxed);
        // SAFETY: the ring has just been made, and is not freed before `shared`.
        self.slots.set(unsafe { &*first }.slots.as_ptr());
        self.full_at.set(head + capacity as u64);
    }

    /// Puts `new`, which has all jobs, in place of the ring in use.
    fn use_ring(&self, new: *mut Ring) {
        let thieves = &*self.shared.thieves;
        // Relaxed: only the owner writes `ring` and `first`.
        let old = thieves.ring.load(Ordering::Relaxed);
        let is_old_kept = ptr::eq(old, thieves.first.load(Ordering::Relaxed));
        // SAFETY: neither ring has been freed, and only the owner touches `outgrown`.
        let (old_ring, ring) = unsafe { (&*old, &*new) };
        ring.outgrown.set(if is_old_kept {
            old_ring.outgrown.replace(ptr::null_mut())
        } else {
            old
        });
        // ORDERING: SeqCst. Release pairs with the loads in `steal`: a thief finds the copies of
        // the jobs. `try_free_outgrown` says why SeqCst is needed.
        thieves.ring.store(new, Ordering::SeqCst);
        self.slots.set(ring.slots.as_ptr());
        self.mask.set(ring.slots.len() - 1);
    }

    /// Frees the rings that are no longer in use. If a thief may read one of these rings, keeps all
    /// of them until the next call and returns `false`. A thief remains counted while it copies one
    /// job.
    fn try_free_outgrown(&self) -> bool {
        let thieves = &*self.shared.thieves;
        // SAFETY: the ring in use is alive.
        let outgrown = &unsafe { &*thieves.ring.load(Ordering::Relaxed) }.outgrown;
        if outgrown.get().is_null() {
            return true;
        }
        // ORDERING: SeqCst, pairs with `copy_counted`. The owner put another ring into use before
        // it reads the count. A thief that this read misses counts itself later, and then reads the
        // new ring. Acquire: other threads' reads of the old rings come before the rings are freed.
        fence_for_loom();
        let is_unread = thieves.readers.load(Ordering::SeqCst) == 0;
        if is_unread {
            // SAFETY: the outgrown rings came from `leak` and are not in use, and no thief reads
            // them.
            unsafe { Ring::free(outgrown.replace(ptr::null_mut())) };
        }
        is_unread
    }

    /// Call this when the owner is about to block. Frees the rings that are out of use, unless a
    /// job is left in a ring larger than the first. If no job is left, also puts the first ring
    /// back into use, and frees the ring that was in use.
    ///
    /// Returns `false` if a thief still reads a ring that was put out of use: the caller should
    /// soon call this again. This returns `false` at most `TRIES_TO_FREE` times in a row, because
    /// the thief may have lost its CPU.
    pub(crate) fn give_back(&self) -> bool {
        // Relaxed: only the owner writes `first`.
        let first = self.shared.thieves.first.load(Ordering::Relaxed);
        // SAFETY: if there is a first ring, it lives as long as `shared`.
        let Some(ring) = (unsafe { first.as_ref() }) else {
            return true;
        };
        let (head, capacity) = (self.head(), ring.slots.len());
        let is_large = self.mask.get() + 1 > capacity;
        if is_large {
            // ORDERING: Acquire, as in `make_room`.
            let public = Public(self.shared.thieves.public.load(Ordering::Acquire));
            if public.tail(head) != head {
                return true;
            }
        }
        // If a thief may be reading an earlier ring, the ring in use stays in use. Otherwise each
        // burst would leave one more ring behind for as long as that thief has no CPU.
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

    fn was_found_empty(&self) {
        let empties = self.empties.get() + 1;
        self.empties.set(empties % EMPTY_UNTIL_SMALL);
        if empties == EMPTY_UNTIL_SMALL {
            let _is_done = self.give_back();
        } else {
            self.give_back_if_large();
        }
    }

    /// Call this when the owner may begin a long job next. If no job is left, frees a very large
    /// ring.
    #[inline]
    pub(crate) fn give_back_if_large(&self) {
        if self.mask.get() >= LARGE {
            let _is_done = self.give_back();
        }
    }

    /// If no job is shared, exposes the older half of the private ones. If thieves had to expose
    /// this owner's jobs lately, exposes all of its jobs.
    #[cold]
    pub(crate) fn respond(&self) -> Response {
        let head = self.head();
        // Relaxed: the comment on the light side in `push` says what a sleeper may rely on.
        let mut public = Public(self.shared.thieves.public.load(Ordering::Relaxed));
        let exposes_all = self.was_helped_lately();
        if public.count() > 0 && !exposes_all {
            self.count_unwanted(public.tail(head));
            return self.response(false);
        }
        loop {
            let (private, count) = (head - public.split(head), public.count());
            let more = match count {
                _ if exposes_all => private.min(MOST_SHARED - count),
                0 => private.div_ceil(2).min(MOST_SHARED),
                _ => 0,
            };
            let next = public.unclaimed_with(more);
            self.set_limit(next.split(head));
            match self.shared.exchange(public, next) {
                Ok(()) => {
                    return self.response(more > 0 && count == 0);
                }
                Err(now) => public = now,
            }
        }
    }

    /// Returns whether thieves exposed jobs for the owner lately, because its jobs are long. Each
    /// call counts as one response.
    fn was_helped_lately(&self) -> bool {
        // Relaxed: a hint.
        let helped_at = self.shared.thieves.exposed_at.load(Ordering::Relaxed);
        if self.helped_at.replace(helped_at) != helped_at {
            self.exposes_all.set(RESPONSES_AFTER_HELP);
        }
        let left = self.exposes_all.get();
        self.exposes_all.set(left.saturating_sub(1));
        left > 0
    }

    /// Counts a shared job for which no thief has come since the last call, if the tail is still the
    /// same.
    fn count_unwanted(&self, tail: u64) {
        if self.seen_tail.replace(tail) == tail {
            self.unwanted.set(self.unwanted.get() + 1);
        } else {
            self.unwanted.set(1);
        }
    }

    /// A response says that jobs are unwanted if no thief came for [`UNTIL_UNWANTED`] shared jobs in
    /// a row. Then the count begins again.
    fn response(&self, is_first: bool) -> Response {
        let is_unwanted = self.unwanted.get() >= UNTIL_UNWANTED;
        if is_unwanted {
            self.unwanted.set(0);
        }
        Response {
            is_first,
            is_unwanted,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }
}

impl ThievesLine {
    /// Copies the slot at `index` of the ring in use. The owner may free the ring as soon as this
    /// returns.
    #[inline]
    fn copy_counted(&self, index: u64) -> [*mut (); 2] {
        // ORDERING: SeqCst, pairs with `try_free_outgrown`. The thief counts itself before it reads
        // which ring is in use. An owner that misses the thief in its count put another ring into
        // use before, and the thief reads that ring or a later one.
        self.readers.fetch_add(1, Ordering::SeqCst);
        fence_for_loom();
        let ring = self.ring.load(Ordering::SeqCst);
        // SAFETY: the ring was in use after this thief was counted, so the owner frees it only
        // after this thief is no longer counted.
        let words = unsafe { Ring::copy(ring, index) };
        // ORDERING: Release, pairs with the load in `try_free_outgrown`.
        self.readers.fetch_sub(1, Ordering::Release);
        words
    }
}

impl<T> Shared<T> {
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of jobs, shared and private. The number is exact if no thread changes the
    /// deque meanwhile.
    #[allow(clippy::cast_possible_wrap)]
    fn len(&self) -> usize {
        // Relaxed: a caller that relies on the result has fenced before.
        let public = Public(self.thieves.public.load(Ordering::Relaxed));
        let head = self.owners.head.load(Ordering::Relaxed);
        // The head may be below the tail: the two values may be of different moments, or the owner
        // may have lowered the head for its last job.
        usize::try_from(head.wrapping_sub(public.tail(head)) as i64).unwrap_or(0)
    }

    fn exchange(&self, from: Public, to: Public) -> Result<(), Public> {
        // ORDERING: AcqRel. Release has three uses. A thief's copy of a job comes before the owner
        // writes the slot again (`make_room`). A thief sees the slot of an exposed job, and its
        // ring. A thief that begins a claim sees the head and the limit of an owner that has taken
        // a job back. Every change is a read-modify-write, and Acquire passes on what came before
        // each earlier value.
        self.thieves
            .public
            .compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
            .map_err(Public)
    }
}

impl<T: TwoWords> Stealer<T> {
    #[inline]
    pub(crate) fn steal(&self) -> Steal<T> {
        let thieves = &*self.shared.thieves;
        // ORDERING: Acquire, pairs with `exchange`: the slots of shared jobs, and the ring, are
        // visible.
        let public = Public(thieves.public.load(Ordering::Acquire));
        if public.count() == 0 {
            return Steal::Empty;
        }
        let tail = public.0 >> TAIL_SHIFT;
        // ORDERING: Acquire, pairs with the store in `use_ring`. Relaxed is enough for `first`,
        // which has not changed since the job became shared.
        let first = thieves.first.load(Ordering::Relaxed);
        // While the tail stays, every ring in use since the job became shared holds the job at the
        // tail.
        let words = if ptr::eq(thieves.ring.load(Ordering::Acquire), first) {
            // SAFETY: the first ring exists since the first push, and lives as long as `shared`.
            unsafe { Ring::copy(first, tail) }
        } else {
            thieves.copy_counted(tail)
        };
        match self.shared.exchange(public, public.without_oldest()) {
            // SAFETY: stepping the tail gave the job to this thread, and proves that the words are
            // the job's.
            Ok(()) => Steal::Success(unsafe { T::from_words(words) }),
            Err(_) => Steal::Retry,
        }
    }

    /// If all jobs of the owner are private, requests that the owner expose some at its next pop.
    pub(crate) fn request(&self) {
        let Shared { owners, .. } = &*self.shared;
        if self.has_shared() || self.shared.is_empty() {
            return;
        }
        // Relaxed: the owner may see the limit late. The change is a `fetch_max`, because the owner
        // may have exposed jobs meanwhile. A limit that is too high costs the owner one read of
        // `public`.
        let head = owners.head.load(Ordering::Relaxed);
        if owners.limit.load(Ordering::Relaxed) < head {
            owners.limit.fetch_max(head, Ordering::Relaxed);
        }
    }

    /// Returns whether the owner's head differs from the head at which a thief last exposed jobs
    /// for the owner. If not, the owner probably runs one long job, and does not respond.
    pub(crate) fn has_stirred(&self) -> bool {
        let Shared {
            owners, thieves, ..
        } = &*self.shared;
        // Relaxed: hints.
        owners.head.load(Ordering::Relaxed) != thieves.exposed_at.load(Ordering::Relaxed)
    }

    /// If no job is shared, exposes the older half of the private jobs that the owner does not take
    /// back meanwhile. Returns whether there are shared jobs now.
    #[cold]
    pub(crate) fn expose_for_owner(&self) -> bool {
        let Shared {
            owners,
            thieves,
            fences,
            ..
        } = &*self.shared;
        if !self.has_shared() && self.shared.is_empty() {
            return false;
        }
        let Some(_exposing) = thieves.exposing.try_lock() else {
            return self.has_shared();
        };
        // Relaxed: the exchange below acquires.
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
        // ORDERING: Acquire, pairs with `set_head`. The same holds for the load after the fence.
        let head = owners.head.load(Ordering::Acquire);
        let split = public.split(head);
        let wanted = head.saturating_sub(split).div_ceil(2).min(MOST_SHARED);
        if wanted > 0 {
            // Relaxed: the heavy side below orders this change before the read of the head. The
            // change is a `fetch_max`, because the owner may have ended the claim, and exposed more
            // jobs.
            owners.limit.fetch_max(split + wanted, Ordering::Relaxed);
            // ORDERING: heavy side, pairs with the light side in `pop`. The limit is raised before
            // the heavy side, and the head is read after it. If the owner's read of the limit
            // misses the raise, this thief's read of the head finds the lowered head.
            fences.heavy();
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
        }
        is_exposed || self.has_shared()
    }

    /// Waits until no other thief exposes jobs of this owner. The caller may have taken that
    /// thief's CPU. If the caller is in the real-time class, a yield does not give the CPU back, so
    /// the caller blocks.
    #[cold]
    pub(crate) fn wait_for_exposing(&self) {
        drop(self.shared.thieves.exposing.lock());
    }

    pub(crate) fn has_shared(&self) -> bool {
        self.shared_jobs() > 0
    }

    pub(crate) fn shared_jobs(&self) -> u64 {
        // Relaxed: only a hint.
        Public(self.shared.thieves.public.load(Ordering::Relaxed)).count()
    }
}

impl<T> Stealer<T> {
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.shared.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.shared.len()
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // When a model fails, loom has dropped its execution, and this drop must not use loom's
        // atomics. The rings leak.
        if cfg!(fork_loom) && std::thread::panicking() {
            return;
        }
        // Relaxed: no other thread has a reference to the deque. Jobs are not dropped; a pool ends
        // after its last job.
        let (ring, first) = (
            self.thieves.ring.load(Ordering::Relaxed),
            self.thieves.first.load(Ordering::Relaxed),
        );
        // SAFETY: the rings came from `leak`, and no other thread is left to read them. The first
        // ring is in no list of outgrown rings.
        unsafe {
            Ring::free(ring);
            if !ptr::eq(ring, first) {
                Ring::free(first);
            }
        }
    }
}
