//! The hooks of a build that counts; what each is for is said in [`crate::hooks`].

pub(crate) use super::records::{Here, Records};

use super::counts::{CAS_FAILURES, LOADS, RMWS, kind_of_access};
use super::records::with_record;
use super::timeline::WorkerState;
use crate::hooks::{Event, Word};

#[inline]
pub(crate) fn count(event: Event) {
    with_record(|record| {
        record.add_one(event as usize);
        if event == Event::WakeTried {
            // Where the waker is matters most at this moment: the kernel is about to choose a CPU.
            record.say_where();
        }
    });
}

#[inline]
pub(crate) fn count_if(happened: bool, event: Event) {
    if happened {
        count(event);
    }
}

#[inline]
pub(crate) fn loaded(word: Word) {
    with_record(|record| record.add_one(kind_of_access(word, LOADS)));
}

#[inline]
pub(crate) fn changed(word: Word) {
    with_record(|record| record.add_one(kind_of_access(word, RMWS)));
}

#[inline]
pub(crate) fn tried_to_exchange(word: Word, succeeded: bool) {
    with_record(|record| {
        record.add_one(kind_of_access(word, RMWS));
        if !succeeded {
            record.add_one(kind_of_access(word, CAS_FAILURES));
        }
    });
}

pub(crate) fn begin_search() {
    with_record(|record| {
        record.add_one(Event::Search as usize);
        record.enter(WorkerState::Searching);
        record.say_where();
    });
}

pub(crate) fn end_search() {
    with_record(|record| {
        record.say_where();
        record.set_woken(false);
        record.enter(WorkerState::Active);
    });
}

pub(crate) fn become_sleepy() {
    with_record(|record| {
        record.add_one(Event::Doze as usize);
        if record.set_woken(false) {
            record.add_one(Event::WakeInVain as usize);
        }
        record.enter(WorkerState::Sleepy);
    });
}

pub(crate) fn begin_sleep() {
    with_record(|record| {
        record.add_one(Event::Sleep as usize);
        record.enter(WorkerState::Asleep);
        record.leave_cpu();
    });
}

pub(crate) fn end_sleep() {
    with_record(|record| {
        record.set_woken(true);
        record.say_where();
        if record.is_stacked() {
            record.add_one(Event::WakeStacked as usize);
        }
    });
}

pub(crate) fn claimed() {
    with_record(|record| {
        record.set_woken(true);
    });
}

/// The calling worker tries to sleep for as long as this lives.
pub(crate) struct SleepAttempt {
    sleeps_before: u64,
}

impl SleepAttempt {
    pub(crate) fn begin() -> Self {
        let mut sleeps_before = 0;
        with_record(|record| sleeps_before = record.count(Event::Sleep as usize));
        Self { sleeps_before }
    }
}

impl Drop for SleepAttempt {
    fn drop(&mut self) {
        with_record(|record| {
            if record.count(Event::Sleep as usize) == self.sleeps_before {
                record.add_one(Event::SleepCancelled as usize);
            }
            record.enter(WorkerState::Searching);
        });
    }
}
