//! The `regular` queue: a list with one lock at each end, and a semaphore that counts its tasks.
//!
//! After Michael and Scott's queue of two locks (PODC 1996): the list always has one node more than
//! tasks, the first, which is spent. So pushing touches the last node under one lock, taking the
//! first under the other, and the two meet only in the link of an empty queue's one node.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::TaskQueue;

/// See the file's header.
pub(crate) struct Regular<T> {
    first: Mutex<Arc<Node<T>>>,
    last: Mutex<Arc<Node<T>>>,
    tasks: Semaphore,
}

struct Node<T> {
    /// Empty in the spent node. Its lock is free whenever a thread comes: the task is put in before
    /// others see the node, and taken out by the only thread that moved `first` to it.
    task: Mutex<Option<T>>,
    /// Set once, by the thread that appends the next node.
    next: OnceLock<Arc<Self>>,
}

impl<T> Node<T> {
    fn new(task: Option<T>) -> Arc<Self> {
        Arc::new(Self {
            task: Mutex::new(task),
            next: OnceLock::new(),
        })
    }
}

/// No code that can panic runs under these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T: Send> Regular<T> {
    pub(crate) fn new() -> Self {
        let spent = Node::new(None);
        Self {
            first: Mutex::new(Arc::clone(&spent)),
            last: Mutex::new(spent),
            tasks: Semaphore::default(),
        }
    }

    /// Takes the first task if there is one.
    fn take(&self) -> Option<T> {
        let mut first = lock(&self.first);
        let next = Arc::clone(first.next.get()?);
        let task = lock(&next.task).take();
        debug_assert!(task.is_some(), "a task was taken twice");
        *first = next;
        task
    }
}

impl<T: Send> TaskQueue<T> for Regular<T> {
    fn push(&self, task: T) {
        let node = Node::new(Some(task));
        {
            let mut last = lock(&self.last);
            let is_first = last.next.set(Arc::clone(&node)).is_ok();
            debug_assert!(is_first, "two nodes follow one");
            *last = node;
        }
        // After the node is linked, so that each permit stands for a task that can be found.
        self.tasks.add_permit();
    }

    fn pop(&self) -> Option<T> {
        if !self.tasks.take_permit() {
            return None;
        }
        let task = self.take();
        debug_assert!(task.is_some(), "a permit without a task");
        task
    }

    fn close(&self) {
        self.tasks.close();
    }
}

impl<T> Drop for Regular<T> {
    fn drop(&mut self) {
        // One by one: a chain that is dropped by its first node needs stack for each.
        let first = self.first.get_mut().unwrap_or_else(PoisonError::into_inner);
        while let Some(next) = first.next.get().map(Arc::clone) {
            *first = next;
        }
    }
}

/// Counts permits; a thread that wants one waits for it.
#[derive(Default)]
struct Semaphore {
    state: Mutex<Permits>,
    added: Condvar,
}

#[derive(Default)]
struct Permits {
    left: usize,
    is_closed: bool,
}

impl Semaphore {
    fn add_permit(&self) {
        lock(&self.state).left += 1;
        self.added.notify_one();
    }

    /// Waits for one; `false` if none is left and none will come.
    fn take_permit(&self) -> bool {
        let mut state = lock(&self.state);
        while state.left == 0 {
            if state.is_closed {
                return false;
            }
            state = self
                .added
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.left -= 1;
        true
    }

    fn close(&self) {
        lock(&self.state).is_closed = true;
        self.added.notify_all();
    }
}
