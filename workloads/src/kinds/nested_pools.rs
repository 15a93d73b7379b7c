//! `nested-pools`: a job installs into a second pool, and its jobs install back into the first,
//! down to small leaves.
//!
//! A library with a pool of its own, called from jobs of a program's pool, gives this shape. Every
//! install is a job for the other pool's injector, mostly while its workers doze, and a worker that
//! waits for one goes on with jobs of its own pool. Neither pool ever sees enough of the work to
//! stay awake by itself.

use protocol::{Description, Parameter, Refusal, Size, SizeOverrides};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::kinds::pacing::{chain, chains};
use crate::workload::{Instance, Mismatch, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "nested-pools",
    summary: "a tree of joins, each level of which is installed into the other of two pools",
    stresses: "installs from the workers of another pool, and waiting for them",
    work_unit: "installs",
    input: None,
    lasts: None,
    charge: Some("steps"),
    parameters: &[
        // A worker that waits may take up any other job of its pool, on the same stack.
        Parameter::whole(
            "levels",
            "levels of joins; the leaves are 2^levels",
            (0, 10),
            "5",
        ),
        Parameter::whole("repeats", "trees, one after the other", (1, 1_000_000), "3"),
        // 3 us.
        Parameter::whole(
            "leaf-steps",
            "work of a leaf, some 3 ns a step",
            (0, 1 << 32),
            "1000",
        ),
    ],
    sizes: &[
        SizeOverrides {
            size: Size::Tiny,
            overrides: &[("levels", "3"), ("leaf-steps", "100")],
        },
        SizeOverrides {
            size: Size::Small,
            overrides: &[("repeats", "100")],
        },
        SizeOverrides {
            size: Size::Medium,
            overrides: &[("repeats", "1000")],
        },
        SizeOverrides {
            size: Size::Large,
            overrides: &[("repeats", "15000")],
        },
    ],
};

/// The workload `nested-pools`.
#[derive(Clone, Copy, Debug)]
pub struct NestedPools;

impl Workload for NestedPools {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// The second pool is as large as the first. Its workers are never pinned, and its events are
    /// not counted.
    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let values = setup.values;
        let threads = setup.threads;
        let other = ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
            Refusal::new(format!(
                "threads = {threads}: the second pool, of as many, cannot be built: {error}; ask for fewer"
            ))
        })?;
        let tree = Tree {
            first: setup.seed,
            leaves: 1 << values.whole("levels"),
        };
        let (repeats, steps) = (values.whole("repeats"), values.whole("leaf-steps"));
        let known = chains(tree.seeds(), steps).wrapping_mul(repeats);
        Ok(Box::new(Visits {
            other,
            tree,
            repeats,
            steps,
            known,
            sum: 0,
        }))
    }
}

/// A tree by its leaves, whose seeds follow one another.
#[derive(Clone, Copy)]
struct Tree {
    first: u64,
    leaves: u64,
}

impl Tree {
    fn seeds(self) -> impl Iterator<Item = u64> {
        (0..self.leaves).map(move |leaf| self.first.wrapping_add(leaf))
    }

    fn halves(self) -> [Self; 2] {
        let leaves = self.leaves / 2;
        [0, leaves].map(|skipped| Self {
            first: self.first.wrapping_add(skipped),
            leaves,
        })
    }

    /// Adds up the leaves: this level in the pool `here`, the next in the pool `there`, and so on
    /// in turn.
    fn visit(self, here: &ThreadPool, there: &ThreadPool, steps: u64) -> u64 {
        here.install(|| {
            if self.leaves == 1 {
                return chain(self.first, steps);
            }
            let [left, right] = self.halves();
            let (left, right) = rayon::join(
                || left.visit(there, here, steps),
                || right.visit(there, here, steps),
            );
            left.wrapping_add(right)
        })
    }

    /// One for each leaf and each join.
    fn installs(self) -> u64 {
        2 * self.leaves - 1
    }
}

struct Visits {
    other: ThreadPool,
    tree: Tree,
    repeats: u64,
    steps: u64,
    known: u64,
    sum: u64,
}

impl Visits {
    fn run(&mut self, visit: impl Fn(&Self) -> u64) -> u64 {
        self.sum = (0..self.repeats).fold(0, |sum: u64, _| sum.wrapping_add(visit(self)));
        self.repeats * self.tree.installs()
    }
}

impl Instance for Visits {
    fn reset(&mut self) {
        self.sum = 0;
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(|it| chains(it.tree.seeds(), it.steps))
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        self.run(|it| it.tree.visit(pool, &it.other, it.steps))
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe = |sum: u64| format!("{} leaves add up to {sum:016x}", self.tree.leaves);
        Mismatch::unless_equal(&describe(self.known), &describe(self.sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> ThreadPool {
        ThreadPoolBuilder::new().num_threads(2).build().unwrap()
    }

    #[test]
    fn a_leaf_that_is_lost_or_visited_twice_is_rejected() {
        let tree = Tree {
            first: 1,
            leaves: 4,
        };
        let known = chains(tree.seeds(), 2);
        let mut visits = Visits {
            other: pool(),
            tree,
            repeats: 1,
            steps: 2,
            known,
            sum: 0,
        };
        assert!(visits.check().is_err(), "nothing ran");
        visits.run_on(&pool());
        assert!(visits.check().is_ok());
        for (wrong, seeds) in [("lost", &[1, 2, 3][..]), ("twice", &[1, 2, 3, 3, 4])] {
            visits.sum = chains(seeds.iter().copied(), 2);
            assert!(visits.check().is_err(), "{wrong}");
        }
    }

    #[test]
    fn halves_have_the_leaves_of_their_tree_in_order() {
        let tree = Tree {
            first: u64::MAX,
            leaves: 8,
        };
        let seeds: Vec<u64> = tree.halves().into_iter().flat_map(Tree::seeds).collect();
        assert_eq!(seeds, tree.seeds().collect::<Vec<_>>());
    }
}
