//! `bfs`: how far every vertex of a random graph is from the first, level by level.
//!
//! Each level is one parallel loop over the vertices that the last one reached, and a barrier.
//! Threads race for a vertex by one atomic word, and what they win is gathered for the next level.
//! Levels of a random graph are few and grow tenfold; if edges do not reach far, levels are many
//! and short.

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::kinds::fingerprint::fingerprint;
use crate::machine::atomic::{AtomicU32, Ordering::Relaxed};
use crate::machine::charge;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "bfs",
    summary: "breadth-first search of a random graph, a parallel loop for each level, vertices claimed by an atomic",
    stresses: "loops from one item to very many with a barrier after each, shared words that are written once",
    work_unit: "edges",
    input: None,
    lasts: None,
    charge: Some("bfs"),
    parameters: &[
        Parameter::whole("vertices", "vertices of the graph", (2, 1 << 28), "1000"),
        Parameter::whole(
            "edges",
            "edges drawn for each vertex; it has twice as many",
            (1, 15),
            "4",
        ),
        Parameter::whole(
            "reach",
            "how far apart, in numbers, neighbours are at most; 0: anywhere",
            (0, 1 << 28),
            "0",
        ),
    ],
    sizes: &SizeOverrides::all(
        &[],
        &[("vertices", "300000")],
        &[("vertices", "2000000")],
        &[("vertices", "10000000")],
    ),
};

/// The workload `bfs`.
#[derive(Clone, Copy, Debug)]
pub struct Bfs;

impl Workload for Bfs {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let number =
            |name| u32::try_from(setup.values.whole(name)).expect("declared to be at most 2^28");
        let graph = draw(
            setup.seed,
            number("vertices"),
            number("edges"),
            number("reach"),
        );
        Ok(Box::new(Search::new(graph)))
    }
}

/// The neighbours of all vertices, one vertex after the other.
struct Graph {
    /// Where the neighbours of a vertex begin, and where those of the last one end.
    begins: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// An edge in both directions for each pair.
    fn new(vertices: u32, pairs: &[(u32, u32)]) -> Self {
        let both_ways = || {
            pairs
                .iter()
                .flat_map(|&(one, other)| [(one, other), (other, one)])
        };
        let mut begins = vec![0; vertices as usize + 1];
        both_ways().for_each(|(from, _)| begins[from as usize + 1] += 1);
        for vertex in 0..vertices as usize {
            begins[vertex + 1] += begins[vertex];
        }
        let mut free = begins.clone();
        let mut neighbours = vec![0; 2 * pairs.len()];
        for (from, to) in both_ways() {
            neighbours[free[from as usize] as usize] = to;
            free[from as usize] += 1;
        }
        Self { begins, neighbours }
    }

    fn neighbours(&self, vertex: u32) -> &[u32] {
        let [begin, end] = [0, 1].map(|next| self.begins[vertex as usize + next] as usize);
        &self.neighbours[begin..end]
    }
}

fn draw(seed: u64, vertices: u32, edges: u32, reach: u32) -> Graph {
    let mut random = Random::new(seed);
    let anywhere = vertices - 1;
    let reach = u64::from(if reach == 0 {
        anywhere
    } else {
        reach.min(anywhere)
    });
    let mut other = |vertex| {
        let far = u64::from(vertex) + 1 + random.below(reach);
        u32::try_from(far % u64::from(vertices)).expect("a vertex")
    };
    let drawn = (0..vertices).flat_map(|vertex| (0..edges).map(move |_| vertex));
    let pairs: Vec<(u32, u32)> = drawn.map(|vertex| (vertex, other(vertex))).collect();
    Graph::new(vertices, &pairs)
}

/// Distance of a vertex that was not reached.
const UNREACHED: u32 = u32::MAX;

struct Search {
    graph: Graph,
    /// Edges from the first vertex.
    distances: Vec<AtomicU32>,
}

impl Search {
    fn new(graph: Graph) -> Self {
        let distances = graph.begins[1..]
            .iter()
            .map(|_| AtomicU32::new(UNREACHED))
            .collect();
        Self { graph, distances }
    }

    fn neighbours(&self, vertex: u32) -> &[u32] {
        let neighbours = self.graph.neighbours(vertex);
        charge(neighbours.len() as u64);
        neighbours
    }

    /// Whether the caller is the first to reach `vertex`.
    fn claim(&self, vertex: u32, distance: u32) -> bool {
        let place = &self.distances[vertex as usize];
        // Relaxed: whoever comes second does nothing, and the end of the loop orders a level before
        // the next.
        place.load(Relaxed) == UNREACHED
            && place
                .compare_exchange(UNREACHED, distance, Relaxed, Relaxed)
                .is_ok()
    }

    fn edges(&self) -> u64 {
        self.graph.neighbours.len() as u64 / 2
    }

    /// What is wrong, if anything is. Distances are right if the first vertex is at none, no edge
    /// leads further than one on, and every other vertex that was reached has a neighbour that is
    /// one nearer.
    fn fault(graph: &Graph, distances: &[u32]) -> Option<String> {
        if distances[0] != 0 {
            return Some(format!("the first vertex is at {}", distances[0]));
        }
        (0..).zip(distances).find_map(|(vertex, &distance)| {
            let of_neighbours = || {
                graph
                    .neighbours(vertex)
                    .iter()
                    .map(|&other| distances[other as usize])
            };
            let too_far = of_neighbours().find(|&other| other > distance.saturating_add(1));
            if let Some(other) = too_far {
                return Some(format!(
                    "vertex {vertex} is at {distance}, a neighbour at {other}"
                ));
            }
            let has_nearer = || {
                distance
                    .checked_sub(1)
                    .is_some_and(|nearer| of_neighbours().any(|it| it == nearer))
            };
            if vertex == 0 || distance == UNREACHED || has_nearer() {
                return None;
            }
            Some(format!(
                "vertex {vertex} is at {distance}, and no neighbour is nearer"
            ))
        })
    }
}

impl Instance for Search {
    fn reset(&mut self) {
        self.distances
            .iter_mut()
            .for_each(|distance| *distance.get_mut() = UNREACHED);
    }

    fn run_sequential(&mut self) -> u64 {
        *self.distances[0].get_mut() = 0;
        let mut reached = vec![0];
        let mut next = 0;
        while let Some(&vertex) = reached.get(next) {
            next += 1;
            let distance = *self.distances[vertex as usize].get_mut() + 1;
            charge(self.graph.neighbours(vertex).len() as u64);
            for &neighbour in self.graph.neighbours(vertex) {
                let place = self.distances[neighbour as usize].get_mut();
                if *place == UNREACHED {
                    *place = distance;
                    reached.push(neighbour);
                }
            }
        }
        self.edges()
    }

    fn run_parallel(&mut self) -> u64 {
        *self.distances[0].get_mut() = 0;
        let mut frontier = vec![0];
        let mut distance = 0;
        while !frontier.is_empty() {
            distance += 1;
            frontier = frontier
                .par_iter()
                .flat_map_iter(|&vertex| self.neighbours(vertex))
                .copied()
                .filter(|&neighbour| self.claim(neighbour, distance))
                .collect();
        }
        self.edges()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let distances: Vec<u32> = self
            .distances
            .iter_mut()
            .map(|place| *place.get_mut())
            .collect();
        let reached = distances.iter().filter(|&&distance| distance != UNREACHED);
        let places = (0_u64..).zip(&distances);
        let answer = format!(
            "{} vertices reached, the farthest at {}, distances {:016x}",
            reached.clone().count(),
            reached.max().unwrap_or(&UNREACHED),
            fingerprint(places.map(|(vertex, &distance)| vertex << 32 | u64::from(distance)))
        );
        match Self::fault(&self.graph, &distances) {
            None => Ok(answer),
            Some(actual) => Err(Mismatch {
                expected: "the distances of every edge fit".to_owned(),
                actual,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of five, a sixth vertex at the third, and two apart from all.
    const PAIRS: [(u32, u32); 7] = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (2, 5), (6, 7)];
    const RIGHT: [u32; 8] = [0, 1, 2, 2, 1, 3, UNREACHED, UNREACHED];

    #[test]
    fn both_programs_find_the_distances_that_one_sees() {
        for run in [Search::run_sequential, Search::run_parallel] {
            let mut search = Search::new(Graph::new(8, &PAIRS));
            run(&mut search);
            let found: Vec<u32> = search
                .distances
                .iter_mut()
                .map(|it| *it.get_mut())
                .collect();
            assert_eq!(found, RIGHT);
            assert!(
                search
                    .check()
                    .unwrap()
                    .starts_with("6 vertices reached, the farthest at 3")
            );
        }
    }

    #[test]
    fn any_other_distance_of_any_vertex_is_rejected() {
        let graph = Graph::new(8, &PAIRS);
        assert_eq!(Search::fault(&graph, &RIGHT), None);
        for vertex in 0..8 {
            for wrong in (0..5)
                .chain([UNREACHED])
                .filter(|&wrong| wrong != RIGHT[vertex])
            {
                let mut distances = RIGHT;
                distances[vertex] = wrong;
                assert!(
                    Search::fault(&graph, &distances).is_some(),
                    "{vertex} at {wrong}"
                );
            }
        }
    }

    #[test]
    fn all_vertices_beyond_an_edge_that_are_one_too_far_are_rejected() {
        let wrong = RIGHT.map(|distance| {
            if distance > 1 {
                distance.saturating_add(1)
            } else {
                distance
            }
        });
        assert!(Search::fault(&Graph::new(8, &PAIRS), &wrong).is_some());
    }

    #[test]
    fn neighbours_of_a_drawn_graph_are_within_reach_of_each_other() {
        let graph = draw(1, 100, 3, 5);
        for vertex in 0..100 {
            for &other in graph.neighbours(vertex) {
                let apart = vertex.abs_diff(other);
                assert!(
                    (1..=5).contains(&apart.min(100 - apart)),
                    "{vertex} and {other}"
                );
            }
        }
        assert_eq!(graph.neighbours.len(), 600);
    }
}
