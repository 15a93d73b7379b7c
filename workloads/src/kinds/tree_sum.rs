//! `tree-sum`: the sum of a binary tree's numbers, one join per node, no cutoff.
//!
//! Heartbeat schedulers (Spice, chili, Forte) use this benchmark. A node costs two nanoseconds and
//! a join ten times that, so on the tree of 1000 nodes the pool can only lose time.

use protocol::Refusal;
use rayon::ThreadPool;

use crate::kinds::one_number::{OneNumber, Problem, repeat};
use crate::machine::add_cost;
use crate::workload::{Instance, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let nodes = setup.values.whole("nodes");
    let tree = plant(1, nodes);
    Ok(Box::new(OneNumber::new(Sums {
        tree,
        nodes,
        repeats: setup.values.whole("repeats"),
        is_inside: setup.values.word("from") == "inside",
    })))
}

struct Sums {
    tree: Tree,
    nodes: u64,
    repeats: u64,
    /// Whether the caller enters the pool once for all sums, and not once for each sum.
    is_inside: bool,
}

type Tree = Option<Box<Node>>;

struct Node {
    value: u64,
    left: Tree,
    right: Tree,
}

/// Creates a tree of `nodes` nodes, as balanced as possible, whose numbers are `first`, `first +
/// 1`, ….
fn plant(first: u64, nodes: u64) -> Tree {
    let rest = nodes.checked_sub(1)?;
    let on_the_left = rest / 2;
    let value = first + on_the_left;
    let left = plant(first, on_the_left);
    let right = plant(value + 1, rest - on_the_left);
    Some(Box::new(Node { value, left, right }))
}

impl Problem for Sums {
    fn sequential(&self) -> u64 {
        repeat(self.repeats, &self.tree, sum)
    }

    fn parallel(&self) -> u64 {
        repeat(self.repeats, &self.tree, sum_with_join)
    }

    fn entering(&self, pool: &ThreadPool) -> u64 {
        if self.is_inside {
            return pool.install(|| self.parallel());
        }
        repeat(self.repeats, &self.tree, |tree| {
            pool.install(|| sum_with_join(tree))
        })
    }

    fn work_units(&self) -> u64 {
        self.repeats * self.nodes
    }

    fn known(&self) -> u64 {
        self.repeats * (self.nodes * (self.nodes + 1) / 2)
    }
}

fn sum(tree: &Tree) -> u64 {
    let Some(node) = tree else { return 0 };
    add_cost(1);
    node.value + sum(&node.left) + sum(&node.right)
}

fn sum_with_join(tree: &Tree) -> u64 {
    let Some(node) = tree else { return 0 };
    add_cost(1);
    let (left, right) = rayon::join(|| sum_with_join(&node.left), || sum_with_join(&node.right));
    node.value + left + right
}

#[cfg(test)]
mod tests {
    use super::*;

    fn height(tree: &Tree) -> u32 {
        tree.as_ref()
            .map_or(0, |node| 1 + height(&node.left).max(height(&node.right)))
    }

    fn numbers(tree: &Tree) -> Vec<u64> {
        tree.as_ref().map_or_else(Vec::new, |node| {
            [numbers(&node.left), vec![node.value], numbers(&node.right)].concat()
        })
    }

    #[test]
    fn a_tree_is_balanced_and_holds_each_number_once_in_order() {
        for nodes in 0..70 {
            let tree = plant(1, nodes);
            assert_eq!(numbers(&tree), (1..=nodes).collect::<Vec<_>>());
            assert_eq!(height(&tree), u64::BITS - nodes.leading_zeros());
        }
    }
}
