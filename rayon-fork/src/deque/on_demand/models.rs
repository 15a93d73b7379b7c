//! Loom models of the deque. Each mutant loses a job, returns a job twice, mixes the words of two
//! jobs, shares a job that the owner has taken, or reads a freed ring.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use loom::thread;

use super::numbered::Numbered;
use super::{Deque, Fences, Ordering, Public, Ring, Steal, Stealer, TAIL_SHIFT, fence_for_loom};
use crate::deque::TwoWords;
use crate::sleep::models::{Bounds, UNORDERED, holds, is_caught};

/// One thief, and every schedule.
const WHOLE_PAIR: Bounds = Bounds {
    fast: None,
    deep: None,
};
const PAIR: Bounds = Bounds {
    fast: Some(2),
    deep: Some(4),
};
/// One thief, and one more preemption than in `PAIR`.
const LONG_PAIR: Bounds = Bounds {
    fast: Some(3),
    deep: Some(4),
};
const TRIO: Bounds = Bounds {
    fast: Some(1),
    deep: Some(2),
};

const SEEN: &str = "times out of the deque";
const OVERTAKEN: &str = "jobs are public that the owner has taken";
const TORN: &str = "words of two jobs";
const FREED: &str = UNORDERED;

/// Records whether a ring has been freed, because in a model freed rings stay in memory.
pub(super) struct Life {
    has_ended: AtomicBool,
    /// Tells loom that a thief reads the ring, and that freeing the ring writes it: reads must be
    /// ordered before the write.
    reads: loom::cell::UnsafeCell<()>,
}

// SAFETY: loom itself checks the accesses to the cell.
unsafe impl Sync for Life {}

impl Life {
    pub(super) fn new() -> Self {
        Self {
            has_ended: AtomicBool::new(false),
            reads: loom::cell::UnsafeCell::new(()),
        }
    }

    pub(super) fn touch(&self) {
        assert!(
            !self.has_ended.load(Ordering::Relaxed),
            "a ring is read that was freed"
        );
        self.reads.with(|_| ());
    }

    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        self.reads.with_mut(|_| ());
    }
}

trait Steps: 'static {
    fn fences() -> Fences {
        Fences::cheapest()
    }

    fn pop(deque: &Deque<Numbered>) -> Option<Numbered> {
        deque.pop()
    }

    fn steal(stealer: &Stealer<Numbered>) -> Steal<Numbered> {
        stealer.steal()
    }

    fn request(stealer: &Stealer<Numbered>) {
        stealer.request();
    }

    fn expose_for_owner(stealer: &Stealer<Numbered>) -> bool {
        stealer.expose_for_owner()
    }

    fn respond(deque: &Deque<Numbered>) {
        deque.respond();
    }

    fn give_back(deque: &Deque<Numbered>) {
        deque.give_back();
    }
}

enum Right {}

impl Steps for Right {}

/// An owner for which a thief has exposed jobs, and which therefore exposes all of its jobs with
/// each response.
enum Helped {}

impl Steps for Helped {
    fn respond(deque: &Deque<Numbered>) {
        deque.exposes_all.set(1);
        deque.respond();
    }
}

/// Planted mistake: a helped owner exposes more jobs without raising the limit for its own pops.
enum ShowsMoreAboveTheLimit {}

impl Steps for ShowsMoreAboveTheLimit {
    fn respond(deque: &Deque<Numbered>) {
        let public = Public(deque.shared.thieves.public.load(Ordering::Relaxed));
        if public.count() == 0 {
            return Helped::respond(deque);
        }
        let private = deque.head() - public.split(deque.head());
        // If a thief has taken the shared jobs already, there is nothing more to expose.
        let _raced = deque
            .shared
            .exchange(public, public.unclaimed_with(private));
    }
}

/// Planted mistake: a thief that exposes jobs executes only a fence of its own, not the heavy side.
enum NoHeavyFence {}

impl Steps for NoHeavyFence {
    fn fences() -> Fences {
        Fences::without_heavy_ones()
    }
}

/// The state of a thief that is about to expose jobs for the owner. The thief holds the lock.
struct Exposing<'a> {
    stealer: &'a Stealer<Numbered>,
    public: Public,
    split: u64,
    wanted: u64,
}

impl Exposing<'_> {
    /// Takes the first steps of the real `expose_for_owner`, with or without a claim, then calls
    /// `steps`.
    fn expose(stealer: &Stealer<Numbered>, claims: bool, steps: fn(&Exposing<'_>) -> bool) -> bool {
        let shared = &*stealer.shared;
        let Some(_lock) = shared.thieves.exposing.try_lock() else {
            return false;
        };
        let public = Public(shared.thieves.public.load(Ordering::Acquire));
        if public.count() > 0 || claims && shared.exchange(public, public.claimed()).is_err() {
            return false;
        }
        let head = shared.owners.head.load(Ordering::Acquire);
        let split = public.split(head);
        let wanted = head.saturating_sub(split).div_ceil(2);
        steps(&Exposing {
            stealer,
            public,
            split,
            wanted,
        })
    }

    fn raise(&self) {
        let limit = &self.stealer.shared.owners.limit;
        limit.fetch_max(self.split + self.wanted, Ordering::Relaxed);
    }

    fn fence(&self) {
        self.stealer.shared.fences.heavy();
    }

    fn left(&self) -> u64 {
        let head = self.stealer.shared.owners.head.load(Ordering::Acquire);
        self.wanted.min(head.saturating_sub(self.split))
    }

    fn commit(&self, expected: Public, more: u64) -> bool {
        self.stealer
            .shared
            .exchange(expected, self.public.unclaimed_with(more))
            .is_ok()
    }
}

/// Planted mistake: a thief makes the jobs shared before it raises the limit.
enum MovesTheSplitBeforeTheLimit {}

impl Steps for MovesTheSplitBeforeTheLimit {
    fn expose_for_owner(stealer: &Stealer<Numbered>) -> bool {
        Exposing::expose(stealer, true, |it| {
            let is_exposed = it.commit(it.public.claimed(), it.left());
            it.raise();
            it.fence();
            is_exposed
        })
    }
}

/// Planted mistake: a thief without a claim assumes that the owner took no job back meanwhile.
enum ClaimsNothing {}

impl Steps for ClaimsNothing {
    fn expose_for_owner(stealer: &Stealer<Numbered>) -> bool {
        Exposing::expose(stealer, false, |it| {
            it.raise();
            it.fence();
            it.commit(it.public, it.left())
        })
    }
}

/// Planted mistake: a thief whose claim is over lowers a limit that the owner has set.
enum SetsTheLimit {}

impl Steps for SetsTheLimit {
    fn expose_for_owner(stealer: &Stealer<Numbered>) -> bool {
        Exposing::expose(stealer, true, |it| {
            it.stealer
                .shared
                .owners
                .limit
                .store(it.split + it.wanted, Ordering::Relaxed);
            it.fence();
            it.commit(it.public.claimed(), it.left())
        })
    }
}

/// Planted mistake: a thief that requests jobs lowers a limit that the owner has set meanwhile.
enum AsksByAStore {}

impl Steps for AsksByAStore {
    fn request(stealer: &Stealer<Numbered>) {
        let owners = &stealer.shared.owners;
        let head = owners.head.load(Ordering::Relaxed);
        owners.limit.store(head, Ordering::Relaxed);
    }
}

/// Planted mistake: an owner that takes back a private job ends the claim before it sets the limit.
enum SetsTheLimitLate {}

impl Steps for SetsTheLimitLate {
    fn pop(deque: &Deque<Numbered>) -> Option<Numbered> {
        let newest = deque.head() - 1;
        deque.set_head(newest);
        deque.fences.light();
        let owners = &deque.shared.owners;
        let public = Public(deque.shared.thieves.public.load(Ordering::Relaxed));
        let split = public.split(newest + 1);
        if newest >= owners.limit.load(Ordering::Relaxed) {
            return Some(deque.take(newest));
        }
        if split > newest
            || deque
                .shared
                .exchange(public, public.unclaimed_with(0))
                .is_err()
        {
            return deque.take_back(newest);
        }
        owners.limit.store(split, Ordering::Relaxed);
        Some(deque.take(newest))
    }
}

/// Returns the job at the tail, in a ring that was in use before or after `public` was read.
fn copy(ring: *const Ring, public: Public) -> [*mut (); 2] {
    // SAFETY: in models freed rings stay.
    unsafe { Ring::copy(ring, public.0 >> TAIL_SHIFT) }
}

/// Steals the oldest shared job as `steal` does, but `copied` reads the job's words, from a ring
/// that is not the first ring.
fn steal_by(
    stealer: &Stealer<Numbered>,
    copied: fn(&Stealer<Numbered>, Public) -> [*mut (); 2],
) -> Steal<Numbered> {
    let public = Public(stealer.shared.thieves.public.load(Ordering::Acquire));
    if public.count() == 0 {
        return Steal::Empty;
    }
    let words = copied(stealer, public);
    match stealer.shared.exchange(public, public.without_oldest()) {
        // SAFETY: as in the real `steal`.
        Ok(()) => Steal::Success(unsafe { Numbered::from_words(words) }),
        Err(_) => Steal::Retry,
    }
}

/// Planted mistake: a thief reads which ring is in use before it counts itself.
enum CountsItselfLate {}

impl Steps for CountsItselfLate {
    fn steal(stealer: &Stealer<Numbered>) -> Steal<Numbered> {
        steal_by(stealer, |stealer, public| {
            let thieves = &*stealer.shared.thieves;
            let ring = thieves.ring.load(Ordering::SeqCst);
            thieves.readers.fetch_add(1, Ordering::SeqCst);
            let words = copy(ring, public);
            thieves.readers.fetch_sub(1, Ordering::Release);
            words
        })
    }
}

/// Planted mistake: a thief counts itself and reads which ring is in use, in either order.
enum CountsItselfWithoutAFence {}

impl Steps for CountsItselfWithoutAFence {
    fn steal(stealer: &Stealer<Numbered>) -> Steal<Numbered> {
        steal_by(stealer, |stealer, public| {
            let thieves = &*stealer.shared.thieves;
            thieves.readers.fetch_add(1, Ordering::Relaxed);
            let ring = thieves.ring.load(Ordering::Acquire);
            let words = copy(ring, public);
            thieves.readers.fetch_sub(1, Ordering::Release);
            words
        })
    }
}

/// Planted mistake: a thief's reads of the ring may come after the thief uncounts itself.
enum LeavesRelaxed {}

impl Steps for LeavesRelaxed {
    fn steal(stealer: &Stealer<Numbered>) -> Steal<Numbered> {
        steal_by(stealer, |stealer, public| {
            let thieves = &*stealer.shared.thieves;
            thieves.readers.fetch_add(1, Ordering::Relaxed);
            fence_for_loom();
            let ring = thieves.ring.load(Ordering::SeqCst);
            let words = copy(ring, public);
            thieves.readers.fetch_sub(1, Ordering::Relaxed);
            words
        })
    }
}

/// Planted mistake: an owner that is about to block frees its rings without reading whether thieves
/// read them.
enum FreesUnasked {}

impl Steps for FreesUnasked {
    fn give_back(deque: &Deque<Numbered>) {
        let thieves = &*deque.shared.thieves;
        let public = Public(thieves.public.load(Ordering::Acquire));
        if deque.mask.get() == 0 || public.tail(deque.head()) != deque.head() {
            return;
        }
        let first = thieves.first.load(Ordering::Relaxed);
        deque.use_ring(first);
        deque.full_at.set(deque.head() + 1);
        // SAFETY: the mistake is that thieves may read the rings; in models freed rings stay in
        // memory.
        unsafe { Ring::free((*first).outgrown.replace(std::ptr::null_mut())) };
    }
}

/// Planted mistake: the owner returns to the first ring before the deque is empty. That ring has
/// stale copies of the jobs.
enum GivesBackTooEarly {}

impl Steps for GivesBackTooEarly {
    fn give_back(deque: &Deque<Numbered>) {
        deque.use_ring(deque.shared.thieves.first.load(Ordering::Relaxed));
        deque.full_at.set(deque.head() + 1);
        deque.try_free_outgrown();
    }
}

/// Planted mistake: a thief copies the job after it has stepped the tail.
enum CopiesAfterTheExchange {}

impl Steps for CopiesAfterTheExchange {
    fn steal(stealer: &Stealer<Numbered>) -> Steal<Numbered> {
        let thieves = &*stealer.shared.thieves;
        let public = Public(thieves.public.load(Ordering::Acquire));
        if public.count() == 0 {
            return Steal::Empty;
        }
        let ring = thieves.ring.load(Ordering::Acquire);
        if stealer
            .shared
            .exchange(public, public.without_oldest())
            .is_err()
        {
            return Steal::Retry;
        }
        // SAFETY: the mistake is that the slot need not hold this job any more. `Numbered` detects
        // words of two jobs.
        Steal::Success(unsafe { Numbered::from_words(copy(ring, public)) })
    }
}

/// Planted mistake: a thief reads which ring is in use before it reads `public`.
enum FindsTheRingFirst {}

impl Steps for FindsTheRingFirst {
    fn steal(stealer: &Stealer<Numbered>) -> Steal<Numbered> {
        let thieves = &*stealer.shared.thieves;
        let ring = thieves.ring.load(Ordering::Acquire);
        let public = Public(thieves.public.load(Ordering::Acquire));
        if public.count() == 0 {
            return Steal::Empty;
        }
        let words = copy(ring, public);
        match stealer.shared.exchange(public, public.without_oldest()) {
            // SAFETY: as in `CopiesAfterTheExchange`, the slot need not hold this job.
            Ok(()) => Steal::Success(unsafe { Numbered::from_words(words) }),
            Err(_) => Steal::Retry,
        }
    }
}

/// Planted mistake: the owner takes back the last shared job, too, by only lowering the count.
enum TakesTheLastBackByTheCount {}

impl Steps for TakesTheLastBackByTheCount {
    fn pop(deque: &Deque<Numbered>) -> Option<Numbered> {
        let head = deque.head();
        let public = Public(deque.shared.thieves.public.load(Ordering::Relaxed));
        if public.count() != 1 || public.split(head) != head {
            return deque.pop();
        }
        deque.set_head(head - 1);
        deque.set_limit(head - 1);
        if deque.shared.exchange(public, Public(public.0 - 1)).is_err() {
            deque.set_head(head);
            return None;
        }
        Some(deque.take(head - 1))
    }
}

/// How often each job came out of the deque. The counts are not loom's atomics, so they add no
/// schedules.
struct Tally {
    times: Vec<AtomicUsize>,
}

impl Tally {
    fn new(jobs: usize) -> Arc<Self> {
        Arc::new(Self {
            times: (0..jobs).map(|_| AtomicUsize::new(0)).collect(),
        })
    }

    fn add(&self, job: Option<Numbered>) -> bool {
        if let Some(job) = job {
            self.times[job.0].fetch_add(1, Ordering::Relaxed);
        }
        job.is_some()
    }

    fn check(&self) {
        for (job, times) in self.times.iter().enumerate() {
            let times = times.load(Ordering::Relaxed);
            assert_eq!(times, 1, "job {job} came {times} times out of the deque");
        }
    }
}

/// Runs `owner`, with two jobs in its deque, on this thread, and each thief in a thread of its own.
fn play<S: Steps>(
    jobs: usize,
    capacity: usize,
    thieves: &[fn(&Stealer<Numbered>) -> Option<Numbered>],
    owner: impl FnOnce(&dyn Fn(usize), &dyn Fn(), &dyn Fn()),
) {
    play_with::<S>(2, jobs, capacity, thieves, |deque, tally| {
        let push = |job| {
            deque.push(Numbered(job));
        };
        let pop = || {
            tally.add(S::pop(deque));
        };
        let respond = || S::respond(deque);
        owner(&push, &pop, &respond);
    });
}

fn play_with<S: Steps>(
    at_first: usize,
    jobs: usize,
    capacity: usize,
    thieves: &[fn(&Stealer<Numbered>) -> Option<Numbered>],
    owner: impl FnOnce(&Deque<Numbered>, &Tally),
) {
    let deque = Deque::starting_at(1, capacity, S::fences());
    let tally = Tally::new(jobs);
    for job in 0..at_first {
        deque.push(Numbered(job));
    }
    let threads: Vec<_> = thieves
        .iter()
        .map(|&thief| {
            let (stealer, tally) = (deque.stealer(), Arc::clone(&tally));
            thread::spawn(move || {
                tally.add(thief(&stealer));
            })
        })
        .collect();
    owner(&deque, &tally);
    for thread in threads {
        thread.join().expect("a failed thread has failed the model");
    }
    while tally.add(S::pop(&deque)) {}
    tally.check();
}

fn steal<S: Steps>(stealer: &Stealer<Numbered>) -> Option<Numbered> {
    match S::steal(stealer) {
        Steal::Success(job) => Some(job),
        Steal::Empty | Steal::Retry => None,
    }
}

fn expose_and_steal<S: Steps>(stealer: &Stealer<Numbered>) -> Option<Numbered> {
    S::expose_for_owner(stealer);
    steal::<S>(stealer)
}

fn request_and_steal<S: Steps>(stealer: &Stealer<Numbered>) -> Option<Numbered> {
    S::request(stealer);
    steal::<S>(stealer)
}

/// The owner exposes a job, pushes a third job, exposes more beside the shared job, and pops. A
/// thief exposes and steals.
fn owner_shows_more<S: Steps>() {
    play::<S>(3, 4, &[expose_and_steal::<S>], |push, pop, respond| {
        respond();
        push(2);
        respond();
        pop();
        pop();
    });
}

fn thief_exposes<S: Steps>() {
    play::<S>(2, 4, &[expose_and_steal::<S>], |_, pop, _| {
        pop();
        pop();
    });
}

fn thief_exposes_while_indices_come_again<S: Steps>() {
    play::<S>(3, 4, &[expose_and_steal::<S>], |push, pop, _| {
        pop();
        push(2);
        pop();
        pop();
    });
}

/// A thief requests jobs while the owner pops, pushes, and exposes jobs by itself.
fn thief_asks_late<S: Steps>() {
    play::<S>(4, 4, &[request_and_steal::<S>], |push, pop, respond| {
        pop();
        pop();
        push(2);
        push(3);
        respond();
        pop();
        pop();
    });
}

fn both_expose<S: Steps>() {
    play::<S>(3, 4, &[expose_and_steal::<S>], |push, pop, respond| {
        push(2);
        respond();
        pop();
        pop();
    });
}

fn two_thieves<S: Steps>() {
    play::<S>(
        2,
        4,
        &[expose_and_steal::<S>, expose_and_steal::<S>],
        |_, pop, _| {
            pop();
            pop();
        },
    );
}

/// The owner takes its private jobs back by their indices, newest first, while a thief exposes
/// them.
fn thief_exposes_what_has_a_place<S: Steps>() {
    let deque = Deque::starting_at(1, 4, S::fences());
    let tally = Tally::new(2);
    let places = [0, 1].map(|job| deque.push(Numbered(job)));
    let thief = thread::spawn({
        let (stealer, tally) = (deque.stealer(), Arc::clone(&tally));
        move || tally.add(expose_and_steal::<S>(&stealer))
    });
    for (job, place) in places.into_iter().enumerate().rev() {
        let back = if deque.try_take_back(place) {
            Some(Numbered(job))
        } else {
            S::pop(&deque)
        };
        tally.add(back);
    }
    thief.join().expect("a failed thread has failed the model");
    tally.check();
}

/// A thief exposes jobs twice: the owner may end the thief's first claim before the second claim.
fn claims_follow_each_other<S: Steps>() {
    let thief = |stealer: &Stealer<Numbered>| {
        S::expose_for_owner(stealer);
        expose_and_steal::<S>(stealer)
    };
    play::<S>(3, 4, &[thief], |push, pop, _| {
        push(2);
        pop();
        pop();
        pop();
    });
}

/// The owner exposes one of two jobs, takes both back, and makes a new one shared while a thief
/// steals.
fn reuse<S: Steps>() {
    play::<S>(3, 2, &[steal::<S>], |push, pop, respond| {
        respond();
        pop();
        pop();
        push(2);
        respond();
    });
}

/// A thief steals a shared job while the owner goes on pushing. The thief is the model's first
/// thread. If it were a spawned thread, loom, which remembers only the latest access to a word,
/// would not explore an early theft.
fn theft_while_the_owner_pushes<S: Steps>(capacity: usize, later: Range<usize>) {
    let deque = Deque::starting_at(1, capacity, S::fences());
    let tally = Tally::new(later.end);
    let stealer = deque.stealer();
    for job in 0..later.start {
        deque.push(Numbered(job));
    }
    S::respond(&deque);
    let owner = thread::spawn(move || {
        for job in later {
            deque.push(Numbered(job));
        }
        deque
    });
    tally.add(steal::<S>(&stealer));
    let deque = owner.join().expect("a failed thread has failed the model");
    while tally.add(S::pop(&deque)) {}
    tally.check();
}

fn theft_and_reuse<S: Steps>() {
    theft_while_the_owner_pushes::<S>(2, 2..4);
}

fn growth_and_reuse<S: Steps>() {
    play::<S>(4, 2, &[steal::<S>], |push, pop, respond| {
        push(2);
        respond();
        pop();
        pop();
        pop();
        push(3);
        respond();
    });
}

/// A larger ring replaces the ring in use, which is not the first ring, while a thief steals.
fn growth_of_a_larger_ring<S: Steps>() {
    play::<S>(3, 1, &[steal::<S>], |push, _, respond| {
        respond();
        push(2);
        respond();
    });
}

fn theft_and_growth_of_a_larger_ring<S: Steps>() {
    theft_while_the_owner_pushes::<S>(1, 2..3);
}

/// The owner takes its jobs back, frees the larger ring, and goes on with the first ring.
fn owner_gives_back<S: Steps>() {
    play_with::<S>(2, 3, 1, &[steal::<S>], |deque, tally| {
        S::respond(deque);
        tally.add(S::pop(deque));
        tally.add(S::pop(deque));
        S::give_back(deque);
        deque.push(Numbered(2));
        S::respond(deque);
    });
}

/// Two thieves may steal both jobs before the owner frees the larger ring.
fn owner_gives_back_what_is_all_stolen<S: Steps>() {
    play_with::<S>(2, 3, 1, &[steal::<S>, steal::<S>], |deque, tally| {
        deque.exposes_all.set(1);
        S::respond(deque);
        S::give_back(deque);
        deque.push(Numbered(2));
        tally.add(S::pop(deque));
    });
}

/// A thief is about to expose the job that the owner takes last. Then the owner frees the ring at
/// once, as it does with a very large ring.
fn owner_gives_back_while_a_thief_exposes<S: Steps>() {
    play_with::<S>(2, 3, 1, &[expose_and_steal::<S>], |deque, tally| {
        tally.add(S::pop(deque));
        tally.add(S::pop(deque));
        S::give_back(deque);
        deque.push(Numbered(2));
    });
}

holds! {
    jobs_that_a_thief_exposes_come_out_once: PAIR, thief_exposes::<Right>;
    jobs_that_are_taken_back_by_their_indices_come_out_once: PAIR, thief_exposes_what_has_a_place::<Right>;
    jobs_at_an_index_that_comes_again_while_a_thief_exposes_come_out_once: PAIR, thief_exposes_while_indices_come_again::<Right>;
    jobs_that_owner_and_thief_expose_come_out_once: PAIR, both_expose::<Right>;
    jobs_that_a_thief_asks_for_late_come_out_once: LONG_PAIR, thief_asks_late::<Right>;
    jobs_that_two_thieves_expose_come_out_once: TRIO, two_thieves::<Right>;
    jobs_that_thieves_claim_one_after_the_other_come_out_once: LONG_PAIR, claims_follow_each_other::<Right>;
    jobs_at_an_index_that_comes_again_come_out_once: WHOLE_PAIR, reuse::<Right>;
    jobs_at_an_index_that_comes_again_behind_a_thief_come_out_once: WHOLE_PAIR, theft_and_reuse::<Right>;
    jobs_of_a_ring_that_grows_and_is_reused_come_out_once: WHOLE_PAIR, growth_and_reuse::<Right>;
    jobs_that_a_helped_owner_shows_come_out_once: PAIR, owner_shows_more::<Helped>;
    jobs_that_a_helped_owner_and_a_thief_expose_come_out_once: PAIR, both_expose::<Helped>;
    jobs_of_a_ring_that_is_freed_for_a_larger_one_come_out_once: WHOLE_PAIR, growth_of_a_larger_ring::<Right>;
    jobs_of_a_ring_that_is_freed_behind_a_thief_come_out_once: WHOLE_PAIR, theft_and_growth_of_a_larger_ring::<Right>;
    jobs_of_a_ring_that_is_given_back_come_out_once: WHOLE_PAIR, owner_gives_back::<Right>;
    jobs_of_a_ring_that_is_given_back_when_all_are_stolen_come_out_once: TRIO, owner_gives_back_what_is_all_stolen::<Right>;
    jobs_of_a_ring_that_is_given_back_while_a_thief_exposes_come_out_once: PAIR, owner_gives_back_while_a_thief_exposes::<Right>;
}

is_caught! {
    fencing_for_oneself_alone_is_caught: PAIR, OVERTAKEN, thief_exposes::<NoHeavyFence>;
    taking_back_by_the_index_without_a_heavy_fence_is_caught: PAIR, SEEN, thief_exposes_what_has_a_place::<NoHeavyFence>;
    moving_the_split_before_the_limit_is_caught: PAIR, OVERTAKEN, thief_exposes::<MovesTheSplitBeforeTheLimit>;
    claiming_nothing_is_caught: PAIR, OVERTAKEN, thief_exposes::<ClaimsNothing>;
    setting_a_limit_that_the_owner_has_raised_is_caught: PAIR, OVERTAKEN, both_expose::<SetsTheLimit>;
    asking_by_a_store_is_caught: LONG_PAIR, OVERTAKEN, thief_asks_late::<AsksByAStore>;
    setting_the_limit_after_the_claim_has_ended_is_caught: LONG_PAIR, OVERTAKEN, claims_follow_each_other::<SetsTheLimitLate>;
    copying_after_the_exchange_is_caught: WHOLE_PAIR, TORN, theft_and_reuse::<CopiesAfterTheExchange>;
    taking_the_last_job_back_by_the_count_is_caught: WHOLE_PAIR, SEEN, reuse::<TakesTheLastBackByTheCount>;
    showing_more_above_the_limit_is_caught: PAIR, OVERTAKEN, owner_shows_more::<ShowsMoreAboveTheLimit>;
    finding_the_ring_before_its_jobs_is_caught: WHOLE_PAIR, SEEN, growth_and_reuse::<FindsTheRingFirst>;
    finding_the_ring_before_one_is_counted_is_caught: WHOLE_PAIR, FREED, growth_of_a_larger_ring::<CountsItselfLate>;
    being_counted_without_a_fence_is_caught: WHOLE_PAIR, FREED, theft_and_growth_of_a_larger_ring::<CountsItselfWithoutAFence>;
    reading_on_when_one_is_not_counted_any_more_is_caught: WHOLE_PAIR, FREED, growth_of_a_larger_ring::<LeavesRelaxed>;
    freeing_rings_unasked_is_caught: WHOLE_PAIR, FREED, owner_gives_back::<FreesUnasked>;
    freeing_rings_unasked_beside_one_who_exposes_is_caught: PAIR, FREED, owner_gives_back_while_a_thief_exposes::<FreesUnasked>;
    giving_back_before_the_deque_is_empty_is_caught: PAIR, SEEN, owner_gives_back_what_is_all_stolen::<GivesBackTooEarly>;
}
