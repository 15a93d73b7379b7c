//! Loom models of mailboxes, and the same steps with one mistake planted: a job comes out twice, or
//! never.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use loom::thread;

use super::{CLOSED, Deal, FULL, OPEN, Ordering};
use crate::deque::on_demand::numbered::Numbered;
use crate::deque::terms::TwoWords as _;
use crate::sleep::models::{Bounds, TRIO, must_fail, must_hold};

/// Two threads: every schedule.
const PAIR: Bounds = Bounds {
    fast: Some(3),
    deep: None,
};

/// How a planted mistake shows.
const SEEN: &str = "times out of the mailboxes";

/// How those of a model do their steps. Worker 0 waits.
trait Steps: 'static {
    fn close(deal: &Deal) -> Option<Numbered> {
        deal.close(0)
    }

    fn deal(deal: &Deal, job: Numbered) -> Result<(), Numbered> {
        deal.deal_from_outside(job)
    }

    fn take_from(deal: &Deal) -> Option<Numbered> {
        deal.take_from(0)
    }
}

/// As they are.
enum Right {}

impl Steps for Right {}

/// A worker that leaves looks whether something was dealt, and then stores that it does not wait.
enum ClosesByAStore {}

impl Steps for ClosesByAStore {
    fn close(deal: &Deal) -> Option<Numbered> {
        if deal.is_open(0) {
            deal.mailboxes[0].state.store(CLOSED, Ordering::Release);
            return None;
        }
        deal.close(0)
    }
}

/// A dealer looks whether the mailbox is open, and then fills it.
enum DealsByAStore {}

impl Steps for DealsByAStore {
    fn deal(deal: &Deal, job: Numbered) -> Result<(), Numbered> {
        let mailbox = &deal.mailboxes[0];
        if mailbox.state.load(Ordering::Acquire) != OPEN {
            return Err(job);
        }
        for (word, it) in mailbox.job.iter().zip(job.into_words()) {
            word.store(it, Ordering::Relaxed);
        }
        mailbox.state.store(FULL, Ordering::Release);
        Ok(())
    }
}

/// Who takes another's job reads it, and then stores that it is gone.
enum TakesByAStore {}

impl Steps for TakesByAStore {
    fn take_from(deal: &Deal) -> Option<Numbered> {
        let mailbox = &deal.mailboxes[0];
        if mailbox.state.load(Ordering::Acquire) != FULL {
            return None;
        }
        let words = mailbox
            .job
            .each_ref()
            .map(|word| word.load(Ordering::Relaxed));
        mailbox.state.store(CLOSED, Ordering::Release);
        // SAFETY: that somebody else may have it, too, is the mistake.
        Some(unsafe { Numbered::from_words(words) })
    }
}

/// A mailbox that is waited at, jobs, and how often each came out: loom's are not needed to count.
struct Model {
    deal: Deal,
    times: Vec<AtomicUsize>,
}

impl Model {
    fn new(jobs: usize) -> Arc<Self> {
        let model = Self {
            deal: Deal::new(1),
            times: (0..jobs).map(|_| AtomicUsize::new(0)).collect(),
        };
        model.deal.open(0);
        Arc::new(model)
    }

    fn add(&self, job: Option<Numbered>) {
        if let Some(job) = job {
            self.times[job.0].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Deals, and keeps what nobody waits for.
    fn deal<S: Steps>(&self, job: usize) {
        self.add(S::deal(&self.deal, Numbered(job)).err());
    }

    fn close<S: Steps>(&self) {
        self.add(S::close(&self.deal));
    }

    fn spawn(self: &Arc<Self>, body: impl FnOnce(&Self) + 'static) -> thread::JoinHandle<()> {
        let model = Arc::clone(self);
        thread::spawn(move || body(&model))
    }

    fn check(&self, threads: impl IntoIterator<Item = thread::JoinHandle<()>>) {
        for thread in threads {
            thread.join().expect("a failed thread has failed the model");
        }
        for (job, times) in self.times.iter().enumerate() {
            let times = times.load(Ordering::Relaxed);
            assert_eq!(
                times, 1,
                "job {job} came {times} times out of the mailboxes"
            );
        }
    }
}

/// A worker leaves while a job is dealt to it.
fn leaves<S: Steps>() {
    let model = Model::new(1);
    let dealer = model.spawn(|model| model.deal::<S>(0));
    model.close::<S>();
    model.check([dealer]);
}

/// It waits again, and is dealt another.
fn waits_again<S: Steps>() {
    let model = Model::new(2);
    let dealer = model.spawn(|model| {
        model.deal::<S>(0);
        model.deal::<S>(1);
    });
    model.close::<S>();
    model.deal.open(0);
    model.close::<S>();
    model.check([dealer]);
}

/// Two deal to one.
fn two_deal<S: Steps>() {
    let model = Model::new(2);
    let dealers = [0, 1].map(|job| model.spawn(move |model| model.deal::<S>(job)));
    model.close::<S>();
    model.check(dealers);
}

/// Another takes what was dealt, and the worker waits again and is dealt another.
fn another_takes<S: Steps>() {
    let model = Model::new(2);
    let dealer = model.spawn(|model| {
        model.deal::<S>(0);
        model.deal::<S>(1);
    });
    let taker = model.spawn(|model| model.add(S::take_from(&model.deal)));
    model.close::<S>();
    model.deal.open(0);
    model.close::<S>();
    model.check([dealer, taker]);
}

const NAME: &str = "deal";

#[test]
fn a_job_dealt_to_who_leaves_comes_out_once() {
    must_hold(NAME, PAIR, leaves::<Right>);
}

#[test]
fn jobs_dealt_to_who_waits_again_come_out_once() {
    must_hold(NAME, PAIR, waits_again::<Right>);
}

#[test]
fn jobs_that_two_deal_come_out_once() {
    must_hold(NAME, TRIO, two_deal::<Right>);
}

#[test]
fn a_dealt_job_that_another_takes_comes_out_once() {
    must_hold(NAME, TRIO, another_takes::<Right>);
}

#[test]
fn leaving_by_a_store_is_caught() {
    must_fail(NAME, SEEN, PAIR, leaves::<ClosesByAStore>);
}

#[test]
fn dealing_by_a_store_is_caught() {
    must_fail(NAME, SEEN, TRIO, two_deal::<DealsByAStore>);
}

#[test]
fn taking_by_a_store_is_caught() {
    must_fail(NAME, SEEN, TRIO, another_takes::<TakesByAStore>);
}
