//! Channels with the interface of `std::sync::mpsc`, made of a [`Mutex`] and a [`Condvar`].

#![expect(
    missing_docs,
    clippy::must_use_candidate,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    reason = "the standard library documents this interface"
)]

use std::collections::VecDeque;
use std::sync::Arc;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use std::time::Duration;

use crate::lock::{Condvar, Mutex, MutexGuard};

struct State<T> {
    messages: VecDeque<T>,
    senders: usize,
    has_receiver: bool,
}

impl<T> State<T> {
    fn is_early(&mut self) -> bool {
        self.messages.is_empty() && self.senders > 0
    }
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

impl<T> Shared<T> {
    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("the lock is never poisoned")
    }
}

pub struct Sender<T>(Arc<Shared<T>>);

pub struct Receiver<T>(Arc<Shared<T>>);

pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = State {
        messages: VecDeque::new(),
        senders: 1,
        has_receiver: true,
    };
    let shared = Arc::new(Shared {
        state: Mutex::new(state),
        changed: Condvar::new(),
    });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut state = self.0.lock();
        if !state.has_receiver {
            return Err(SendError(message));
        }
        state.messages.push_back(message);
        drop(state);
        self.0.changed.notify_one();
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.lock().senders -= 1;
        self.0.changed.notify_one();
    }
}

impl<T> Receiver<T> {
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let state = self.0.changed.wait_while(self.0.lock(), State::is_early);
        state
            .expect("the lock is never poisoned")
            .messages
            .pop_front()
            .ok_or(RecvError)
    }

    #[track_caller]
    pub fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        let state = self
            .0
            .changed
            .wait_timeout_while(self.0.lock(), time, State::is_early);
        let (mut state, _) = state.expect("the lock is never poisoned");
        let none = if state.senders == 0 {
            RecvTimeoutError::Disconnected
        } else {
            RecvTimeoutError::Timeout
        };
        state.messages.pop_front().ok_or(none)
    }

    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.0.lock();
        let none = if state.senders == 0 {
            TryRecvError::Disconnected
        } else {
            TryRecvError::Empty
        };
        state.messages.pop_front().ok_or(none)
    }

    pub fn iter(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.recv().ok())
    }

    pub fn try_iter(&self) -> impl Iterator<Item = T> {
        std::iter::from_fn(|| self.try_recv().ok())
    }
}

pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let messages = {
            let mut state = self.0.lock();
            state.has_receiver = false;
            std::mem::take(&mut state.messages)
        };
        // The messages are dropped outside the lock, because a message may own a sender of this
        // channel.
        drop(messages);
    }
}
