//! `skynet`: a tree of tasks with fan-out ten, whose leaves only return their number.
//!
//! This is a common micro-benchmark for runtimes with cheap tasks. Every node of the tree is a
//! task, and a parent waits for all its children.

use protocol::Refusal;
use rayon::prelude::*;

use crate::kinds::one_number::{OneNumber, Problem};
use crate::machine::add_cost;
use crate::workload::{Instance, Setup};

const FAN_OUT: usize = 10;

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
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

struct Tasks {
    leaves: u64,
    /// The parallel program. Its arguments are the number of the first leaf and the number of
    /// leaves.
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

    fn known(&self) -> u64 {
        self.leaves * (self.leaves - 1) / 2
    }
}

fn children(first: u64, leaves: u64) -> [u64; FAN_OUT] {
    let mut next = first;
    [(); FAN_OUT].map(|()| {
        let child = next;
        next += leaves / FAN_OUT as u64;
        child
    })
}

fn recurse(first: u64, leaves: u64) -> u64 {
    add_cost(1);
    if leaves == 1 {
        return first;
    }
    children(first, leaves)
        .iter()
        .map(|&child| recurse(child, leaves / FAN_OUT as u64))
        .sum()
}

fn scopes(first: u64, leaves: u64) -> u64 {
    add_cost(1);
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
    add_cost(1);
    if leaves == 1 {
        return first;
    }
    children(first, leaves)
        .into_par_iter()
        .map(|child| iterators(child, leaves / FAN_OUT as u64))
        .sum()
}
