//! Records which job of a program forked which, and when each ran, for the runner's command
//! `record`. What is written is told in `layout.rs`; how little that may take, in `buffer.rs`.
//!
//! The scheduler says what happens in one line each, as to `instrument`; `crate::hooks` gives the
//! lines their names.

mod buffer;
// Read by another crate, too.
#[allow(dead_code, unreachable_pub)]
mod layout;

use crate::job::JobRef;
use buffer::write;
use layout::{Event, job_word};

pub(crate) use buffer::threads_to_split_for;

/// A frame that the calling thread has open until this is dropped, also by a panic.
pub(crate) struct Frame;

impl Drop for Frame {
    #[inline]
    fn drop(&mut self) {
        write(Event::Close, 0);
    }
}

#[inline]
fn word_of(job: &JobRef) -> u64 {
    let (address, code) = job.place();
    job_word(address, code.wrapping_sub(word_of as *const () as usize))
}

#[inline]
pub(crate) fn open_join(job: &JobRef, splits: bool) -> Frame {
    write(
        if splits { Event::Split } else { Event::Join },
        word_of(job),
    );
    Frame
}

pub(crate) fn open_install(job: &JobRef) -> Frame {
    write(Event::Install, word_of(job));
    Frame
}

#[inline]
pub(crate) fn open_scope<S>(scope: *const S) -> Frame {
    write(Event::Scope, scope as u64);
    Frame
}

pub(crate) fn open_broadcast<S>(shares: *const S) -> Frame {
    write(Event::Broadcast, shares as u64);
    Frame
}

#[inline]
pub(crate) fn second_begins() {
    write(Event::Second, 0);
}

#[inline]
pub(crate) fn await_others() {
    write(Event::Await, 0);
}

#[inline]
pub(crate) fn spawned<S>(job: &JobRef, scope: *const S) {
    write(Event::Into, scope as u64);
    write(Event::Spawn, word_of(job));
}

#[inline]
pub(crate) fn job_begins<J>(job: *const J) {
    write(Event::Begin, job_word(job as usize, 0));
}

#[inline]
pub(crate) fn job_ended() {
    write(Event::End, 0);
}

pub(crate) fn is_worker(index: usize) {
    write(Event::Worker, index as u64);
}

pub(crate) fn searches() {
    write(Event::Search, 0);
}

pub(crate) fn found() {
    write(Event::Found, 0);
}

pub(crate) fn sleeps() {
    write(Event::Sleep, 0);
}

pub(crate) fn woke() {
    write(Event::Wake, 0);
}
