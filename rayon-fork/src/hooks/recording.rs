//! Records which job of a program forked which, and when each ran, for the runner's commands
//! `record` and `trace`. `recording/layout.rs` describes the files. `recording/buffer.rs` keeps the
//! cost of writing them small.

mod buffer;
// Another crate reads it, too.
#[allow(dead_code, unreachable_pub)]
mod layout;

use buffer::write;
use layout::{Event, job_word};

pub(crate) use buffer::threads_to_split_for;

/// A frame that the calling thread has open until this is dropped, even by a panic.
pub(crate) struct Frame;

impl Drop for Frame {
    #[inline]
    fn drop(&mut self) {
        write(Event::Close, 0);
    }
}

/// Returns the word for a job and the function that runs it.
#[inline]
fn word_of((job, code): (usize, usize)) -> u64 {
    job_word(job, code.wrapping_sub(word_of as *const () as usize))
}

/// A join begins whose second closure is the job at that place.
#[inline]
pub(crate) fn open_join(place: (usize, usize), splits: bool) -> Frame {
    write(
        if splits { Event::Split } else { Event::Join },
        word_of(place),
    );
    Frame
}

/// The calling thread waits for a job that it put into a pool.
pub(crate) fn open_install(place: (usize, usize)) -> Frame {
    write(Event::Install, word_of(place));
    Frame
}

/// The scope at that address begins.
#[inline]
pub(crate) fn open_scope(scope: usize) -> Frame {
    write(Event::Scope, scope as u64);
    Frame
}

/// A broadcast begins whose shares are jobs of the scope at that address.
pub(crate) fn open_broadcast(shares: usize) -> Frame {
    write(Event::Broadcast, shares as u64);
    Frame
}

/// The second closure of a join was taken back, and begins.
#[inline]
pub(crate) fn second_begins() {
    write(Event::Second, 0);
}

/// The calling thread waits for jobs of others before it closes its innermost frame.
#[inline]
pub(crate) fn await_others() {
    write(Event::Await, 0);
}

/// A job was made for which the scope at that address waits. If the address is 0, no scope waits
/// for it.
#[inline]
pub(crate) fn spawned(place: (usize, usize), scope: usize) {
    write(Event::Into, scope as u64);
    write(Event::Spawn, word_of(place));
}

/// The job at that address, which a thread took from a queue, begins.
#[inline]
pub(crate) fn job_begins(job: usize) {
    write(Event::Begin, job_word(job, 0));
}

/// The job ended.
#[inline]
pub(crate) fn job_ended() {
    write(Event::End, 0);
}

/// The calling thread is worker `index` now.
pub(crate) fn is_worker(index: usize) {
    write(Event::Worker, index as u64);
}

/// The calling worker searches for a job.
pub(crate) fn begin_search() {
    write(Event::Search, 0);
}

/// The calling worker stops searching.
pub(crate) fn end_search() {
    write(Event::Found, 0);
}

/// The calling worker blocks.
pub(crate) fn begin_sleep() {
    write(Event::Sleep, 0);
}

/// The calling worker runs again.
pub(crate) fn end_sleep() {
    write(Event::Wake, 0);
}
