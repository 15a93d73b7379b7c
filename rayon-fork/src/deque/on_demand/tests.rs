use std::collections::VecDeque;
use std::iter;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use fastrand::Rng;

use super::numbered::Numbered;
use super::{
    Deque, EMPTY_UNTIL_SMALL, Fences, RESPONSES_AFTER_HELP, Steal, Stealer, UNTIL_UNWANTED,
};
use crate::deque::Response;

fn every_kind_of_fences() -> [Fences; 2] {
    [Fences::cheapest(), Fences::full()]
}

fn wanted(is_first: bool) -> Response {
    Response {
        is_first,
        is_unwanted: false,
    }
}

/// Returns a deque with room for one job, whose indices soon wrap around in the word `public`.
fn small(fences: Fences) -> Deque<Numbered> {
    Deque::starting_at((1 << 40) - 5, 1, fences)
}

fn steal(stealer: &Stealer<Numbered>) -> Option<usize> {
    let settled = iter::repeat_with(|| stealer.steal()).find(|stolen| !stolen.is_retry());
    settled?.success().map(|job| job.0)
}

fn push_and_respond(deque: &Deque<Numbered>) -> Response {
    deque.push(Numbered(0));
    deque.respond()
}

fn pop(deque: &Deque<Numbered>) -> Option<usize> {
    deque.pop().map(|job| job.0)
}

#[test]
fn an_owner_has_not_stirred_if_it_neither_pushed_nor_popped_since_others_exposed_its_jobs() {
    let deque = small(Fences::cheapest());
    let stealer = deque.stealer();
    (0..3).for_each(|job| {
        deque.push(Numbered(job));
    });
    assert!(stealer.has_stirred(), "no thief has exposed jobs yet");
    assert!(stealer.expose_for_owner() && !stealer.has_stirred());
    assert_eq!(
        ([0; 2].map(|_| steal(&stealer)), stealer.has_stirred()),
        ([Some(0), Some(1)], false)
    );
    deque.push(Numbered(3));
    assert!(stealer.has_stirred());
}

#[test]
fn a_thief_can_wait_until_another_has_exposed_jobs() {
    let deque = small(Fences::cheapest());
    deque.push(Numbered(0));
    let [first, second] = [(); 2].map(|()| deque.stealer());
    let exposing = deque.shared.thieves.exposing.lock();
    assert!(!second.expose_for_owner());
    thread::scope(|scope| {
        let waiting = scope.spawn(move || {
            second.wait_for_exposing();
            second.expose_for_owner()
        });
        thread::sleep(Duration::from_millis(5));
        assert!(!waiting.is_finished());
        drop(exposing);
        assert!(waiting.join().unwrap());
    });
    assert_eq!(steal(&first), Some(0));
}

#[test]
fn an_owner_that_was_helped_exposes_all_jobs_for_a_while() {
    let deque = small(Fences::cheapest());
    let stealer = deque.stealer();
    deque.push(Numbered(0));
    assert!(stealer.expose_for_owner());
    (1..=RESPONSES_AFTER_HELP as usize).for_each(|job| {
        deque.push(Numbered(job));
        assert_eq!(
            (deque.respond(), steal(&stealer)),
            (wanted(false), Some(job - 1))
        );
    });
    deque.push(Numbered(99));
    assert_eq!((deque.respond(), stealer.len()), (wanted(false), 2));
    assert_eq!(
        [0; 2].map(|_| steal(&stealer)),
        [Some(RESPONSES_AFTER_HELP as usize), None]
    );
}

#[test]
fn an_owner_takes_back_half_of_the_shared_jobs_or_one_if_it_was_helped() {
    for (is_helped, left) in [(false, 4), (true, 7)] {
        let deque = small(Fences::cheapest());
        let stealer = deque.stealer();
        (0..8).for_each(|job| {
            deque.push(Numbered(job));
        });
        deque.exposes_all.set(RESPONSES_AFTER_HELP);
        deque.respond();
        if !is_helped {
            deque.exposes_all.set(0);
        }
        assert_eq!(
            (stealer.shared_jobs(), pop(&deque), stealer.shared_jobs()),
            (8, Some(7), left),
            "helped: {is_helped}"
        );
    }
}

#[test]
fn a_job_is_taken_back_by_its_index_if_it_is_the_newest_and_private() {
    let deque = small(Fences::cheapest());
    let [first, second] = [0, 1].map(|job| deque.push(Numbered(job)));
    assert!(!deque.try_take_back(first), "another job is newer");
    assert!(deque.try_take_back(second));
    assert_eq!(deque.respond(), wanted(true));
    assert!(!deque.try_take_back(first), "the job is shared");
    assert_eq!(steal(&deque.stealer()), Some(0));
    assert!(!deque.try_take_back(first), "a thief took the job");
    assert_eq!(deque.push(Numbered(2)), second);
    assert!(deque.try_take_back(second) && deque.is_empty());
}

#[test]
fn after_many_pushes_without_a_thief_jobs_are_unwanted() {
    let deque = small(Fences::cheapest());
    let stealer = deque.stealer();
    let push = || push_and_respond(&deque);
    assert_eq!(push(), wanted(true));
    let responses_until_unwanted = || {
        (1..1000).find(|_| {
            let response = push();
            assert!(!response.is_first);
            response.is_unwanted
        })
    };
    assert_eq!(responses_until_unwanted(), Some(UNTIL_UNWANTED));
    assert_eq!(responses_until_unwanted(), Some(UNTIL_UNWANTED));
    assert_eq!(push(), wanted(false));
    assert!(steal(&stealer).is_some());
    assert_eq!(deque.respond(), wanted(true));
    assert_eq!(
        responses_until_unwanted(),
        Some(UNTIL_UNWANTED),
        "pushes are counted from the theft on"
    );
}

#[test]
fn a_job_that_the_owner_takes_back_each_time_is_unwanted_until_a_thief_takes_one() {
    let deque = small(Fences::cheapest());
    let stealer = deque.stealer();
    let push = || push_and_respond(&deque);
    let pushes_until_unwanted = || {
        (1..1000).find(|_| {
            let response = push();
            assert!(response.is_first);
            pop(&deque).unwrap();
            response.is_unwanted
        })
    };
    assert_eq!(pushes_until_unwanted(), Some(UNTIL_UNWANTED + 1));
    assert_eq!(pushes_until_unwanted(), Some(UNTIL_UNWANTED));
    assert_eq!(push(), wanted(true));
    assert!(steal(&stealer).is_some() && pop(&deque).is_none());
    assert_eq!(pushes_until_unwanted(), Some(UNTIL_UNWANTED + 1));
}

#[test]
fn random_steps_do_what_a_sequential_deque_does() {
    for seed in 0..if cfg!(miri) { 4 } else { 300 } {
        let mut rng = Rng::with_seed(seed);
        let deque = small(every_kind_of_fences()[rng.usize(..2)]);
        let stealer = deque.stealer();
        let (mut jobs, mut public) = (VecDeque::new(), 0);
        let push_more_often = rng.bool();
        for step in 0..if cfg!(miri) { 100 } else { 2000 } {
            let context = format!("seed {seed}, step {step}: {public} public of {jobs:?}");
            match rng.u8(..if push_more_often { 8 } else { 6 }) {
                0 | 1 => {
                    let takes_half = deque.exposes_all.get() == 0;
                    assert_eq!(pop(&deque), jobs.pop_back(), "{context}");
                    if public > jobs.len() {
                        // The owner took the last shared job as a thief would, or took one or half
                        // of the shared jobs back.
                        public -= if takes_half { (public / 2).max(1) } else { 1 };
                    }
                }
                2 => {
                    let stolen = if public > 0 { jobs.pop_front() } else { None };
                    public -= usize::from(stolen.is_some());
                    assert_eq!(steal(&stealer), stolen, "{context}");
                }
                3 => {
                    let helped_at = deque.shared.thieves.exposed_at.load(Ordering::Relaxed);
                    let exposes_all =
                        deque.exposes_all.get() > 0 || helped_at != deque.helped_at.get();
                    let exposed = if exposes_all {
                        jobs.len()
                    } else {
                        jobs.len().div_ceil(2)
                    };
                    let is_first = public == 0 && exposed > 0;
                    assert_eq!(deque.respond().is_first, is_first, "{context}");
                    public = if is_first || exposes_all {
                        exposed
                    } else {
                        public
                    };
                }
                4 => {
                    assert_eq!(stealer.expose_for_owner(), !jobs.is_empty(), "{context}");
                    public = if public == 0 {
                        jobs.len().div_ceil(2)
                    } else {
                        public
                    };
                }
                _ => {
                    jobs.push_back(step);
                    deque.push(Numbered(step));
                }
            }
            assert_eq!(
                (deque.is_empty(), stealer.len()),
                (jobs.is_empty(), jobs.len())
            );
            assert_eq!(stealer.has_shared(), public > 0, "{context}");
        }
    }
}

fn slots(deque: &Deque<Numbered>) -> usize {
    let thieves = &*deque.shared.thieves;
    let in_use = thieves.ring.load(Ordering::Relaxed);
    let mut of_all = 0;
    let mut ring = in_use;
    while !ring.is_null() {
        // SAFETY: rings live until the owner frees them, and the owner is this thread.
        let one = unsafe { &*ring };
        of_all += one.slots.len();
        ring = one.outgrown.get();
    }
    let first = thieves.first.load(Ordering::Relaxed);
    if in_use != first {
        // SAFETY: the first ring lives as long as the deque.
        of_all += unsafe { &*first }.slots.len();
    }
    of_all
}

#[test]
fn a_deque_has_no_ring_before_its_first_job() {
    let deque = small(Fences::cheapest());
    let stealer = deque.stealer();
    let assert_nothing_is_found = || {
        assert_eq!((pop(&deque), steal(&stealer)), (None, None));
        assert!(!stealer.expose_for_owner() && deque.give_back());
    };
    assert_nothing_is_found();
    assert_eq!(slots(&deque), 0);
    deque.push(Numbered(0));
    assert_eq!((pop(&deque), slots(&deque)), (Some(0), 1));
    assert_nothing_is_found();
}

#[test]
fn a_deque_that_grows_frees_all_rings_but_the_first() {
    let deque = small(Fences::cheapest());
    (0..1000).for_each(|job| {
        deque.push(Numbered(job));
    });
    assert_eq!(slots(&deque), 1024 + 1);
}

#[test]
fn an_owner_about_to_block_gives_all_rings_back_but_the_first() {
    let deque = small(Fences::cheapest());
    let stealer = deque.stealer();
    for round in 0..3 {
        (0..1000).for_each(|job| {
            deque.push(Numbered(job));
        });
        assert!(deque.respond().is_first);
        assert!((0..10).all(|job| steal(&stealer) == Some(job)));
        deque.give_back();
        assert!(slots(&deque) > 1000, "jobs are left in round {round}");
        assert!((10..1000).rev().all(|job| pop(&deque) == Some(job)));
        deque.give_back();
        assert_eq!(slots(&deque), 1, "round {round}");
        assert_eq!(pop(&deque), None);
    }
}

#[test]
fn an_owner_that_never_blocks_gives_rings_back_when_it_has_found_no_job_many_times() {
    let deque = small(Fences::cheapest());
    let until_small = || {
        (0..1000).for_each(|job| {
            deque.push(Numbered(job));
        });
        while pop(&deque).is_some() {}
        (1..10_000).find(|_| {
            assert_eq!(pop(&deque), None);
            slots(&deque) == 1
        })
    };
    let empties = usize::try_from(EMPTY_UNTIL_SMALL).unwrap();
    assert_eq!(
        until_small(),
        Some(empties - 1),
        "empty pops are counted from the last job on"
    );
    assert_eq!(until_small(), Some(empties - 1));
}

#[test]
fn a_thief_that_reads_through_many_bursts_keeps_no_more_rings_with_each() {
    let deque = small(Fences::cheapest());
    let readers = &deque.shared.thieves.readers;
    let burst = || {
        (0..8).for_each(|job| {
            deque.push(Numbered(job));
        });
        while pop(&deque).is_some() {}
        deque.give_back();
        slots(&deque)
    };
    assert_eq!(burst(), 1);
    readers.fetch_add(1, Ordering::Relaxed);
    assert_eq!(burst(), 1 + 2 + 4 + 8);
    let (again, largest) = (burst(), (0..10).map(|_| burst()).max());
    assert_eq!((again, largest), (1 + 2 + 4 + 8, Some(1 + 2 + 4 + 8)));
    readers.fetch_sub(1, Ordering::Relaxed);
    assert_eq!(burst(), 1);
}

#[test]
fn under_thieves_every_job_comes_out_once() {
    const ROUNDS: usize = if cfg!(miri) { 10 } else { 20_000 };
    for (fences, exposers) in every_kind_of_fences()
        .into_iter()
        .flat_map(|fences| [0, 1, 3].map(|exposers| (fences, exposers)))
    {
        let deque = small(fences);
        let mut rng = Rng::with_seed(11);
        let sizes: Vec<usize> = iter::repeat_with(|| rng.usize(..20)).take(ROUNDS).collect();
        let jobs = sizes.iter().sum();
        let times: Vec<AtomicUsize> = (0..jobs).map(|_| AtomicUsize::new(0)).collect();
        let run = |job: usize| {
            assert_eq!(
                times[job].fetch_add(1, Ordering::Relaxed),
                0,
                "job {job} came out twice"
            );
        };
        let is_over = AtomicBool::new(false);
        let stealers = [0; 3].map(|_| deque.stealer());
        thread::scope(|scope| {
            for (i, stealer) in stealers.iter().enumerate() {
                let (is_over, run) = (&is_over, &run);
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        if i < exposers {
                            stealer.expose_for_owner();
                        }
                        match stealer.steal() {
                            Steal::Success(job) => run(job.0),
                            Steal::Retry => {}
                            Steal::Empty => thread::yield_now(),
                        }
                    }
                });
            }
            let mut next = 0;
            for size in sizes {
                for job in next..next + size {
                    deque.push(Numbered(job));
                    if exposers < 3 && rng.bool() {
                        deque.respond();
                    }
                    if rng.u8(..4) == 0 {
                        pop(&deque).into_iter().for_each(run);
                    }
                }
                next += size;
                while let Some(job) = pop(&deque) {
                    run(job);
                }
                deque.give_back();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert!(
            times.iter().all(|times| times.load(Ordering::Relaxed) == 1),
            "a job never came out, with {exposers} thieves that expose jobs"
        );
        deque.give_back();
        assert_eq!(slots(&deque), 1);
    }
}
