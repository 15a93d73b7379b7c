//! The tree of jobs in a recording: which forked which, and how long each took by itself.

mod build;

use std::collections::HashMap;

use crate::Error;
use crate::file::Recording;

/// The number that stands for no scope, of a job for which no scope waits.
pub const NO_SCOPE: u32 = u32::MAX;

/// Number of a task in [`Tree::tasks`]. A task is a job, the first closure of a join, the closure
/// of a scope, or the work of a thread outside the pool. Numbers of tasks and steps grow from the
/// task that forks to the task that is forked.
pub(crate) type TaskNumber = u32;

/// A task's call of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Calls two closures, maybe in parallel.
    Join {
        /// The first.
        first: TaskNumber,
        /// The second, which others may take.
        second: TaskNumber,
        /// If a parallel iterator may split so, the place of its code.
        site: Option<u32>,
    },
    /// Calls a closure, and waits for all jobs of the scope.
    Scope {
        /// The closure.
        body: TaskNumber,
        /// The scope's number.
        scope: u32,
    },
    /// Spawns the shares of a broadcast into the scope, and waits for them: a [`What::Scope`] with
    /// a body that does nothing else.
    Broadcast {
        /// Spawns the shares.
        body: TaskNumber,
        /// The scope's number.
        scope: u32,
    },
    /// Spawns a job.
    Spawn {
        /// The job.
        job: TaskNumber,
        /// The scope that waits for it, or [`NO_SCOPE`].
        scope: u32,
    },
    /// Puts a job into a pool that the thread does not belong to, and waits.
    Install {
        /// The job.
        job: TaskNumber,
    },
}

/// One step of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The task's own work before: an index into [`Tree::work_ns`].
    pub before: u32,
    /// Number of the task's next step; 0 if this is the last.
    next: u32,
    /// Its kind.
    pub what: What,
}

/// Something that runs from one end to the other on one thread, apart from the jobs for which it
/// waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Number of the first step and of the last; 0 if there is none.
    first: u32,
    last: u32,
    /// The task's own work after its last step: an index into [`Tree::work_ns`].
    pub after: u32,
    /// How many tasks are above this one.
    pub depth: u32,
}

/// A thread's wait for something outside the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// How long, in nanoseconds.
    pub ns: u64,
    /// The jobs whose ends let it go on, as far as the recording shows; none if something else did.
    pub jobs: Vec<TaskNumber>,
    /// How much of the stretch's work came after the last of them, in nanoseconds.
    pub after_ns: u64,
}

/// The activity of a thread outside the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// As a task.
    pub task: TaskNumber,
    /// When it first had to do with a pool, in nanoseconds since the beginning of the recording.
    pub begin_ns: u64,
}

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Something of the program.
    Running,
    /// Waiting for jobs that others run, and looking for some.
    Searching,
    /// Blocked by the pool.
    Asleep,
}

/// The facts about one thread, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadFacts {
    /// Its number in its pool, if it is a worker.
    pub worker: Option<u64>,
    /// Events of it.
    pub events: u64,
    /// Time in each [`State`], by its number.
    pub in_state_ns: [u64; 3],
    /// It could run, and had no CPU.
    pub preempted_ns: u64,
    /// It ran something of the program, and waited for something outside the pool.
    pub blocked_ns: u64,
}

/// Jobs as they forked each other.
#[derive(Debug, Default)]
pub struct Tree {
    tasks: Vec<Task>,
    /// Step 0 belongs to no task.
    steps: Vec<Step>,
    /// Time between steps, without what threads were preempted or blocked, in nanoseconds.
    work_ns: Vec<u64>,
    waits: HashMap<u32, Wait>,
    roots: Vec<Root>,
    scopes: u32,
    threads: Vec<ThreadFacts>,
    /// Tasks that had not ended, or not begun, when the recording ended.
    unfinished: u64,
}

impl Tree {
    /// The tree in `recording`.
    ///
    /// # Errors
    /// If events contradict each other, or the clock jumped.
    pub fn of(recording: &Recording) -> Result<Self, Error> {
        build::tree(recording)
    }

    /// By number.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The activities of threads outside the pool, the earliest first.
    #[must_use]
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// How many scopes and broadcasts there are.
    #[must_use]
    pub fn scopes(&self) -> u32 {
        self.scopes
    }

    /// By number of the thread.
    #[must_use]
    pub fn threads(&self) -> &[ThreadFacts] {
        &self.threads
    }

    /// Tasks that had not ended, or not begun, when the recording ended.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// The thread's own work in each stretch between steps, in nanoseconds.
    #[must_use]
    pub fn work_ns(&self) -> &[u64] {
        &self.work_ns
    }

    /// The thread's wait for something outside the pool in such a stretch, if it waited.
    #[must_use]
    pub fn wait(&self, stretch: u32) -> Option<&Wait> {
        if self.waits.is_empty() {
            None
        } else {
            self.waits.get(&stretch)
        }
    }

    /// All such waits, by their stretches, in no order.
    pub fn waits(&self) -> impl Iterator<Item = (u32, &Wait)> {
        self.waits.iter().map(|(stretch, wait)| (*stretch, wait))
    }

    /// The steps of a task, in order.
    pub fn steps(&self, task: TaskNumber) -> impl Iterator<Item = (u32, &Step)> {
        let from = |number: u32| (number != 0).then_some(number);
        std::iter::successors(from(self.tasks[task as usize].first), move |step| {
            from(self.steps[*step as usize].next)
        })
        .map(|number| (number, &self.steps[number as usize]))
    }
}

/// Where parallel iterators are in a tree, and how far the recording let them split.
#[derive(Debug)]
pub struct Iterators {
    /// For each step, how many splits of one iterator lie one below the other from here on.
    levels: Vec<u8>,
}

impl Iterators {
    /// Those of `tree`.
    #[must_use]
    pub fn of(tree: &Tree) -> Self {
        let mut levels = vec![0_u8; tree.steps.len()];
        // From forked tasks to those that fork.
        for (number, step) in tree.steps.iter().enumerate().rev() {
            if let What::Join {
                first,
                second,
                site: Some(site),
            } = step.what
            {
                let below = [first, second].map(|task| {
                    let steps = tree
                        .steps(task)
                        .filter(|(_, it)| matches!(it.what, What::Join { site: Some(it), .. } if it == site));
                    steps.map(|(step, _)| levels[step as usize]).max().unwrap_or(0)
                });
                levels[number] = below[0].max(below[1]).saturating_add(1);
            }
        }
        Self { levels }
    }

    /// The splits that an iterator which begins with `step` has left on `threads` threads: as many
    /// as threads. It has more only if it was split farther than the recorded number of threads
    /// explains, as an iterator with a longest piece is.
    #[must_use]
    pub fn first_splits(&self, step: u32, threads: u64, recorded_for: u64) -> u64 {
        let levels = u32::from(self.levels[step as usize]);
        let accounted = recorded_for.max(1).ilog2() + 1;
        if levels > accounted {
            threads.max(1 << (levels - 1).min(62))
        } else {
            threads
        }
    }
}

#[cfg(test)]
mod tests;
