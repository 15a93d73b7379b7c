//! `uts`: a search of an unbalanced tree, whose shape is not known before.
//!
//! A node's hash decides its number of children, and the children's hashes are computed from it. In
//! a binomial tree nearly all subtrees are tiny, and a few hold most of the nodes. The benchmark is
//! that of Olivier and others (UTS, 2006), with the same hash, so its trees are the published ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use protocol::Refusal;
use rayon::Scope;
use sha1::{Digest, Sha1};

use crate::kinds::one_number::{OneNumber, Problem};
use crate::machine::add_cost;
use crate::workload::{Instance, Setup};

/// Children of a node of a binomial tree that has any.
const CHILDREN: u32 = 8;

/// The numbers of nodes of the published trees `T3` and `T1`.
const PUBLISHED: [(Tree, u64); 2] = [
    (
        Tree {
            root: 42,
            law: Law::binomial(2_000, 999),
        },
        4_112_897,
    ),
    (
        Tree {
            root: 19,
            law: Law::Geometric { mean: 4, depth: 10 },
        },
        4_130_071,
    ),
];

/// The trial's seed is ignored, because trees of equal parameters differ a thousandfold in size.
pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    let number = |name| u32::try_from(values.whole(name)).expect("declared to be at most 2^31");
    let law = match values.word("law") {
        "binomial" => Law::binomial(number("root-children"), number("permille")),
        _ => Law::Geometric {
            mean: number("mean"),
            depth: number("depth"),
        },
    };
    let tree = Tree {
        root: number("root"),
        law,
    };
    Ok(Box::new(OneNumber::new(Search::new(
        tree,
        values.count("chunk"),
    ))))
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Tree {
    root: u32,
    law: Law,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    /// The root has this many. Any other node has [`CHILDREN`] with this probability, or none.
    Binomial { of_root: u32, probability: f64 },
    /// This many on average above this depth, and none below.
    Geometric { mean: u32, depth: u32 },
}

impl Law {
    const fn binomial(of_root: u32, permille: u32) -> Self {
        Self::Binomial {
            of_root,
            probability: permille as f64 / (1_000 * CHILDREN) as f64,
        }
    }
}

#[derive(Clone, Copy)]
struct Node {
    hash: [u8; 20],
    depth: u32,
}

impl Node {
    /// A number from 0 to 1 (excluded): the last 31 bits of the hash.
    fn chance(&self) -> f64 {
        let [.., a, b, c, d] = self.hash;
        f64::from(u32::from_be_bytes([a, b, c, d]) & i32::MAX.cast_unsigned()) / 2_f64.powi(31)
    }

    fn child(&self, number: u32) -> Self {
        let hash = Sha1::new()
            .chain_update(self.hash)
            .chain_update(number.to_be_bytes());
        Self {
            hash: hash.finalize().into(),
            depth: self.depth + 1,
        }
    }
}

impl Tree {
    fn root(&self) -> Node {
        let hash = Sha1::new()
            .chain_update([0; 16])
            .chain_update(self.root.to_be_bytes());
        Node {
            hash: hash.finalize().into(),
            depth: 0,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded down"
    )]
    fn children(&self, node: &Node) -> u32 {
        add_cost(1);
        match self.law {
            Law::Binomial { of_root, .. } if node.depth == 0 => of_root,
            Law::Binomial { probability, .. } => CHILDREN * u32::from(node.chance() < probability),
            Law::Geometric { depth, .. } if node.depth >= depth => 0,
            Law::Geometric { mean, .. } => {
                let goes_on = 1.0 - 1.0 / f64::from(1 + mean);
                ((1.0 - node.chance()).ln() / goes_on.ln()) as u32
            }
        }
    }
}

#[derive(Debug)]
struct Search {
    tree: Tree,
    chunk: usize,
    known: u64,
}

impl Search {
    fn new(tree: Tree, chunk: usize) -> Self {
        let published = PUBLISHED.iter().find(|(it, _)| *it == tree);
        Self {
            tree,
            chunk,
            known: published.map_or_else(|| children_along_paths(&tree), |it| it.1),
        }
    }

    /// Counts nodes of the subtrees below `open`, and spawns jobs for the rest.
    fn explore<'scope>(
        &'scope self,
        mut open: VecDeque<Node>,
        counted: &'scope AtomicU64,
        scope: &Scope<'scope>,
    ) {
        let mut nodes = 0;
        while let Some(node) = open.pop_back() {
            nodes += 1;
            open.extend((0..self.tree.children(&node)).map(|number| node.child(number)));
            while open.len() >= 2 * self.chunk {
                // The oldest nodes, whose subtrees contain those of their descendants.
                let given = open.drain(..self.chunk).collect();
                scope.spawn(move |scope| self.explore(given, counted, scope));
            }
        }
        // Relaxed: read when the scope of all jobs has ended.
        counted.fetch_add(nodes, Relaxed);
    }
}

impl Problem for Search {
    fn sequential(&self) -> u64 {
        let mut open = vec![self.tree.root()];
        let mut nodes = 0;
        while let Some(node) = open.pop() {
            nodes += 1;
            open.extend((0..self.tree.children(&node)).map(|number| node.child(number)));
        }
        nodes
    }

    fn parallel(&self) -> u64 {
        let counted = AtomicU64::new(0);
        rayon::scope(|scope| self.explore([self.tree.root()].into(), &counted, scope));
        counted.into_inner()
    }

    fn work_units(&self) -> u64 {
        self.known
    }

    fn known(&self) -> u64 {
        self.known
    }
}

/// Counts the nodes in another way: adds up the numbers of children, depth-first, without a list of
/// open nodes.
fn children_along_paths(tree: &Tree) -> u64 {
    let root = tree.root();
    // Each node on the path from the root, its children, and how many of those have been visited.
    let mut path = vec![(root, tree.children(&root), 0)];
    let mut nodes = 1 + u64::from(path[0].1);
    while let Some((node, children, visited)) = path.last_mut() {
        if visited == children {
            path.pop();
            continue;
        }
        let child = node.child(*visited);
        *visited += 1;
        let grandchildren = tree.children(&child);
        nodes += u64::from(grandchildren);
        path.push((child, grandchildren, 0));
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_solves(problem: &Search) {
        assert_eq!(problem.sequential(), problem.known());
        assert_eq!(problem.parallel(), problem.known());
    }

    #[test]
    fn the_published_numbers_of_nodes_come_out() {
        for (tree, nodes) in PUBLISHED {
            assert_eq!(Search::new(tree, 16).sequential(), nodes, "{tree:?}");
        }
    }

    #[test]
    fn every_node_is_counted_once_however_few_or_many_are_given_away() {
        for law in [Law::binomial(30, 900), Law::Geometric { mean: 3, depth: 5 }] {
            for root in 0..10 {
                for chunk in [1, 2, 50, 100_000] {
                    assert_solves(&Search::new(Tree { root, law }, chunk));
                }
            }
        }
    }
}
