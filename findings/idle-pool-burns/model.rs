//! A model of the change that `edits.toml` makes. If a push leaves a job to searching workers, one
//! of these workers finds the job, or the pool wakes a worker for it. `cargo xtask models` runs the
//! model: loom tries interleavings of the steps, with each value that the memory model lets a load
//! see.
//!
//! The model covers a push to a worker's own deque only if the pusher fences before it reads the
//! counters. Without that fence, the lost wake-up of `findings/lost-wake-up` exists, which this
//! change neither causes nor cures.

use std::panic::catch_unwind;

use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence};
use loom::thread;

// The word of counters: sleeping threads, inactive threads, the bit `LEFT`, and the jobs event
// counter.
const ONE_SLEEPING: usize = 1;
const ONE_INACTIVE: usize = 1 << 3;
const LEFT: usize = 1 << 6;
const ONE_EVENT: usize = 1 << 7;

fn sleeping(word: usize) -> usize {
    word & 7
}

fn searching(word: usize) -> usize {
    (word >> 3 & 7) - sleeping(word)
}

/// The event counter is even: a thread has become sleepy since the last job.
fn is_sleepy(word: usize) -> bool {
    word & ONE_EVENT == 0
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    None,
    LastWakesNobody,
    /// A thread that leaves its job to the searchers trusts counters that it read before the push.
    TrustsOldCounters,
    /// A thread that leaves its job to the searchers reads the counters again without a fence.
    NoFence,
    /// A thread clears the bit when it becomes sleepy, not when it falls asleep.
    ClearsTooEarly,
}

struct Pool {
    word: AtomicUsize,
    jobs: [AtomicBool; 2],
    awake: AtomicUsize,
    mistake: Mistake,
    /// Whether external threads push the jobs. They fence before they first read the counters.
    is_outside: bool,
}

impl Pool {
    fn change(&self, new: impl Fn(usize) -> Option<usize>) -> usize {
        loop {
            let old = self.word.load(SeqCst);
            let Some(new) = new(old) else { return old };
            if self
                .word
                .compare_exchange(old, new, SeqCst, Relaxed)
                .is_ok()
            {
                return new;
            }
        }
    }

    fn announce_jobs(&self) -> usize {
        self.change(|word| is_sleepy(word).then_some(word + ONE_EVENT))
    }

    fn add(&self, job: usize) {
        self.jobs[job].store(true, Relaxed);
        if self.is_outside {
            fence(SeqCst);
        }
        let mut word = self.announce_jobs();
        if searching(word) > 0 && sleeping(word) > 0 && self.mistake != Mistake::TrustsOldCounters {
            word = self.leave();
        }
        if searching(word) == 0 {
            self.wake();
        }
    }

    fn leave(&self) -> usize {
        if self.mistake != Mistake::NoFence {
            fence(SeqCst);
        }
        loop {
            let word = self.announce_jobs();
            if searching(word) == 0
                || word & LEFT != 0
                || self
                    .word
                    .compare_exchange(word, word | LEFT, SeqCst, Relaxed)
                    .is_ok()
            {
                return word;
            }
        }
    }

    /// Wakes a thread, which searches and may fall asleep again. The calling thread runs the steps
    /// of the woken thread. Two wakers never wake the same thread.
    fn wake(&self) {
        let less = |word: usize| (sleeping(word) > 0).then(|| word - ONE_SLEEPING);
        if self.word.fetch_update(SeqCst, Relaxed, less).is_ok() {
            self.search();
        }
    }

    /// Takes a job, after a fence like that of a real steal.
    fn steal(&self) -> bool {
        fence(SeqCst);
        self.jobs.iter().any(|job| job.swap(false, SeqCst))
    }

    fn stop_searching(&self) {
        let word = self.word.fetch_sub(ONE_INACTIVE, SeqCst);
        let is_last = searching(word) == 1;
        if is_last && word & LEFT != 0 && self.mistake != Mistake::LastWakesNobody {
            self.wake();
        }
    }

    fn search(&self) {
        let clears = self.mistake == Mistake::ClearsTooEarly;
        let mask = if clears { !LEFT } else { usize::MAX };
        let seen = self.change(|word| {
            let new = word + if is_sleepy(word) { 0 } else { ONE_EVENT };
            (new & mask != word).then_some(new & mask)
        });
        if self.steal() {
            return self.stop_searching();
        }
        let is_unchanged = |word: usize| word / ONE_EVENT == seen / ONE_EVENT;
        let word = self.change(|word| is_unchanged(word).then_some((word + ONE_SLEEPING) & !LEFT));
        if is_unchanged(word) {
            return;
        }
        if self.steal() {
            return self.stop_searching();
        }
        self.awake.fetch_add(1, SeqCst);
    }
}

/// The actions of the other workers while the main thread adds `jobs` jobs. One more worker sleeps.
struct Scene {
    jobs: usize,
    has_sleepy: bool,
    is_left: bool,
    is_outside: bool,
}

fn holds(scene: &Scene, mistake: Mistake) -> bool {
    let &Scene {
        jobs,
        has_sleepy,
        is_left,
        is_outside,
    } = scene;
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    let run = move || {
        let inactive = 2 + usize::from(has_sleepy);
        let word = ONE_SLEEPING + inactive * ONE_INACTIVE + ONE_EVENT;
        let pool = Arc::new(Pool {
            word: AtomicUsize::new(if is_left { word | LEFT } else { word }),
            jobs: Default::default(),
            awake: AtomicUsize::new(0),
            mistake,
            is_outside,
        });
        let spawn = |does: fn(&Pool)| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || does(&pool))
        };
        let mut workers = vec![spawn(Pool::stop_searching)];
        if has_sleepy {
            workers.push(spawn(Pool::search));
        }
        for job in 0..jobs {
            pool.add(job);
        }
        for worker in workers {
            worker.join().unwrap();
        }
        let is_left = pool.jobs.iter().any(|job| job.load(SeqCst));
        assert!(
            !is_left || pool.awake.load(SeqCst) > 0,
            "a job is left, and no worker is awake"
        );
    };
    catch_unwind(move || model.check(run)).is_ok()
}

fn failures(mistake: Mistake) -> usize {
    let scenes = [
        (1, false, false, true),
        (1, false, true, true),
        (1, true, false, true),
        (1, true, true, true),
        (1, false, false, false),
        (1, true, true, false),
        (2, true, false, true),
    ];
    let scenes = scenes.map(|(jobs, has_sleepy, is_left, is_outside)| Scene {
        jobs,
        has_sleepy,
        is_left,
        is_outside,
    });
    scenes.iter().filter(|scene| !holds(scene, mistake)).count()
}

#[test]
fn no_job_is_left_behind() {
    assert_eq!(failures(Mistake::None), 0);
}

#[test]
fn each_mistake_leaves_a_job_behind() {
    for mistake in [
        Mistake::LastWakesNobody,
        Mistake::TrustsOldCounters,
        Mistake::NoFence,
        Mistake::ClearsTooEarly,
    ] {
        assert_ne!(failures(mistake), 0, "{mistake:?} passes");
    }
}
