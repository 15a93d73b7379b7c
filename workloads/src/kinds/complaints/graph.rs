//! Graphs of tasks. A task is spawned by the last of its predecessors to end. `factorization` is a
//! tree from the leaves to the root, `audio-graph` a mixer of several lanes and stages.
//!
//! A task's value is one more than the sum of its predecessors' values, so a task that runs too
//! early or twice makes the answer wrong.

use std::hint::black_box;
use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Relaxed},
};

use rayon::Scope;

use crate::kinds::one_number::Problem;
use crate::kinds::pacing::chain;
use crate::random::mix;
use crate::workload::Setup;

struct Task {
    steps: u64,
    needed_by: Vec<usize>,
    /// How many predecessors the task has; `missing` of these have not ended yet.
    needs: usize,
    missing: AtomicUsize,
    /// The sum of the predecessors' values. Relaxed: `missing` orders the accesses to this sum.
    input: AtomicU64,
}

pub(super) struct Graph {
    /// All tasks, in an order in which each task comes after its predecessors.
    tasks: Vec<Task>,
    /// The sum of the values of tasks without a successor. Relaxed: the sum is read after the end
    /// of the scope.
    answer: AtomicU64,
    known: u64,
}

impl Graph {
    /// Creates tasks with a random number of steps, from 0 to twice `steps`. `needed_by` returns a
    /// task's successors.
    fn new(
        tasks: usize,
        seed: u64,
        steps: u64,
        known: u64,
        needed_by: impl Fn(usize) -> Vec<usize>,
    ) -> Self {
        let task = |number: usize| Task {
            steps: mix(seed ^ number as u64) % (2 * steps + 1),
            needed_by: needed_by(number),
            needs: 0,
            missing: AtomicUsize::new(0),
            input: AtomicU64::new(0),
        };
        let mut tasks: Vec<Task> = (0..tasks).map(task).collect();
        for number in 0..tasks.len() {
            for other in tasks[number].needed_by.clone() {
                assert!(other > number, "a task comes after its predecessors");
                tasks[other].needs += 1;
                *tasks[other].missing.get_mut() += 1;
            }
        }
        Self {
            tasks,
            answer: AtomicU64::new(0),
            known,
        }
    }

    /// Creates a tree, whose nodes are numbered from the last leaf to the root.
    pub(super) fn tree(setup: &Setup<'_>) -> Self {
        let values = setup.values;
        let (nodes, children) = (values.count("nodes"), values.count("children"));
        let parent = |node: usize| match nodes - 1 - node {
            0 => Vec::new(),
            from_root => vec![nodes - 1 - (from_root - 1) / children],
        };
        let steps = values.whole("node-steps");
        Self::new(nodes, setup.seed, steps, nodes as u64, parent)
    }

    /// Creates a mixer, in which each task needs two tasks of the previous stage: one of its own
    /// lane, and one of a neighbouring lane. So the values by stage are 1, 3, 7, ….
    pub(super) fn mixer(setup: &Setup<'_>) -> Self {
        let values = setup.values;
        let (stages, lanes) = (values.count("stages"), values.count("lanes"));
        let next_stage = |task: usize| {
            let (stage, lane) = (task / lanes, task % lanes);
            let next = (stage + 1) * lanes;
            if stage + 1 == stages {
                Vec::new()
            } else {
                vec![next + lane, next + (lane + 1) % lanes]
            }
        };
        let known = lanes as u64 * ((1 << stages) - 1);
        let steps = values.whole("task-steps");
        Self::new(stages * lanes, setup.seed, steps, known, next_stage)
    }

    /// Runs a task whose predecessors have ended, and resets the task for the next run. Calls
    /// `begin` for each successor that is then ready.
    fn run(&self, number: usize, begin: impl Fn(usize)) {
        let task = &self.tasks[number];
        black_box(chain(number as u64, task.steps));
        task.missing.store(task.needs, Relaxed);
        let value = task.input.swap(0, Relaxed) + 1;
        for &other in &task.needed_by {
            self.tasks[other].input.fetch_add(value, Relaxed);
            // ORDERING: AcqRel. The thread that lowers `missing` to 0 sees the values that all
            // other threads added.
            if self.tasks[other].missing.fetch_sub(1, AcqRel) == 1 {
                begin(other);
            }
        }
        if task.needed_by.is_empty() {
            self.answer.fetch_add(value, Relaxed);
        }
    }

    fn spawn<'scope>(&'scope self, number: usize, scope: &Scope<'scope>) {
        scope.spawn(move |scope| self.run(number, |other| self.spawn(other, scope)));
    }

    fn first(&self) -> impl Iterator<Item = usize> {
        (0..self.tasks.len()).filter(|&number| self.tasks[number].needs == 0)
    }
}

impl Problem for Graph {
    fn sequential(&self) -> u64 {
        (0..self.tasks.len()).for_each(|number| self.run(number, |_| ()));
        self.answer.swap(0, Relaxed)
    }

    fn parallel(&self) -> u64 {
        rayon::scope(|scope| self.first().for_each(|number| self.spawn(number, scope)));
        self.answer.swap(0, Relaxed)
    }

    fn known(&self) -> u64 {
        self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Task 2 needs tasks 0 and 1, and task 3 needs task 2.
    fn graph() -> Graph {
        let needed_by: [&[usize]; 4] = [&[2], &[2], &[3], &[]];
        Graph::new(4, 1, 10, 4, |task| needed_by[task].to_vec())
    }

    #[test]
    fn a_graph_has_the_known_answer_each_time() {
        let graph = graph();
        for _ in 0..3 {
            assert_eq!([graph.sequential(), graph.parallel()], [4, 4]);
        }
    }

    #[test]
    fn a_task_that_runs_too_early_or_twice_makes_the_answer_wrong() {
        for order in [[0, 2, 1, 3].as_slice(), &[0, 0, 1, 2, 3]] {
            let graph = graph();
            for &number in order {
                graph.run(number, |_| ());
            }
            assert_ne!(graph.answer.load(Relaxed), graph.known, "{order:?}");
        }
    }

    #[test]
    fn a_task_begins_with_the_last_of_those_that_it_needs() {
        let graph = graph();
        let begun_by = |number| {
            let begun = AtomicUsize::new(0);
            graph.run(number, |other| begun.store(other, Relaxed));
            begun.into_inner()
        };
        assert_eq!([0, 1, 2, 3].map(begun_by), [0, 2, 3, 0]);
    }
}
