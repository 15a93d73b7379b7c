//! Waits for sockets while other user threads run.
//!
//! Sockets do not block. If a socket is not ready, its thread waits until the kernel says that the
//! socket may be ready, or until the thread's time is up.

use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub(super) struct Waiter {
    pub(super) thread: usize,
    pub(super) socket: Rc<dyn AsFd>,
    pub(super) flags: PollFlags,
    pub(super) due: Instant,
}

/// Removes and returns the threads whose sockets may be ready or whose time is up. If there is no
/// such thread yet and `may_wait`, waits for the first one.
pub(super) fn take_ready(waiters: &mut Vec<Waiter>, may_wait: bool) -> Vec<usize> {
    let Some(first_due) = waiters.iter().map(|it| it.due).min() else {
        return Vec::new();
    };
    let left = first_due.saturating_duration_since(Instant::now());
    // Rounds the time up to milliseconds: otherwise the scheduler would poll again and again in the
    // last millisecond.
    let left = left.as_micros().div_ceil(1000);
    let timeout = if may_wait {
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    } else {
        PollTimeout::ZERO
    };
    let mut asked: Vec<PollFd<'_>> = waiters
        .iter()
        .map(|it| PollFd::new(it.socket.as_fd(), it.flags))
        .collect();
    match poll(&mut asked, timeout) {
        Err(Errno::EINTR) => return Vec::new(),
        outcome => outcome.expect("polling its own sockets cannot fail"),
    };
    let now = Instant::now();
    let is_ready: Vec<bool> = asked.iter().map(|it| it.any() == Some(true)).collect();
    drop(asked);
    let mut is_ready = is_ready.into_iter();
    waiters
        .extract_if(.., |it| is_ready.next() == Some(true) || it.due <= now)
        .map(|it| it.thread)
        .collect()
}
