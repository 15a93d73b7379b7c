//! `skynet`: a tree of tasks with fan-out ten, a million leaves that do nothing but return their
//! number.
//!
//! The micro-benchmark by which runtimes with cheap tasks are compared: every task is its own, no
//! cutoff, and a parent waits for all its children.

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::kinds::one_number::{OneNumber, Problem};
use crate::machine::charge;
use crate::workload::{Instance, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "skynet",
    summary: "tree of tasks with a fixed fan-out whose leaves return their numbers, which are added up",
    stresses: "task creation in flat bundles, a nested scope or loop per bundle",
    work_unit: "leaves",
    input: None,
    lasts: None,
    charge: Some("skynet"),
    parameters: &[
        Parameter::whole(
            "levels",
            "levels below the root; the leaves are 10^levels",
            (0, 9),
            "3",
        ),
        Parameter::one_of(
            "children",
            "how a task starts its ten children: as spawns of a scope or as a parallel iterator",
            &["scope", "iterator"],
            "scope",
        ),
    ],
    sizes: &SizeOverrides::all(
        &[],
        &[("levels", "6")],
        &[("levels", "7")],
        &[("levels", "8")],
    ),
};

const FAN_OUT: usize = 10;

/// The workload `skynet`.
#[derive(Clone, Copy, Debug)]
pub struct Skynet;

impl Workload for Skynet {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let leaves = (0..setup.values.whole("levels")).fold(1, |leaves, _| leaves * FAN_OUT as u64);
        Ok(Box::new(OneNumber::new(
            match setup.values.word("children") {
                "scope" => Tasks {
                    leaves,
                    run: scopes,
                },
                _ => Tasks {
                    leaves,
                    run: iterators,
                },
            },
        )))
    }
}

#[derive(Debug)]
struct Tasks {
    leaves: u64,
    /// The parallel program: number of the first leaf, number of leaves, their sum.
    run: fn(u64, u64) -> u64,
}

impl Problem for Tasks {
    fn sequential(&self) -> u64 {
        recurse(0, self.leaves)
    }

    fn parallel(&self) -> u64 {
        (self.run)(0, self.leaves)
    }

    fn work_units(&self) -> u64 {
        self.leaves
    }

    /// Gauss's formula.
    fn known(&self) -> u64 {
        self.leaves * (self.leaves - 1) / 2
    }
}

/// First leaf of each child.
fn children(first: u64, leaves: u64) -> [u64; FAN_OUT] {
    let mut next = first;
    [(); FAN_OUT].map(|()| {
        let child = next;
        next += leaves / FAN_OUT as u64;
        child
    })
}

fn recurse(first: u64, leaves: u64) -> u64 {
    charge(1);
    if leaves == 1 {
        return first;
    }
    children(first, leaves)
        .iter()
        .map(|&child| recurse(child, leaves / FAN_OUT as u64))
        .sum()
}

fn scopes(first: u64, leaves: u64) -> u64 {
    charge(1);
    if leaves == 1 {
        return first;
    }
    let mut sums = children(first, leaves);
    rayon::scope(|scope| {
        for sum in &mut sums {
            scope.spawn(|_| *sum = scopes(*sum, leaves / FAN_OUT as u64));
        }
    });
    sums.iter().sum()
}

fn iterators(first: u64, leaves: u64) -> u64 {
    charge(1);
    if leaves == 1 {
        return first;
    }
    children(first, leaves)
        .into_par_iter()
        .map(|child| iterators(child, leaves / FAN_OUT as u64))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::one_number::assert_solves;

    #[test]
    fn both_ways_to_start_children_visit_every_leaf() {
        for leaves in [1, 10, 1_000] {
            for run in [scopes, iterators] {
                assert_solves(&Tasks { leaves, run });
            }
        }
    }
}
