//! `tsp`: the shortest round trip through a set of cities, exact, by branch and bound.
//!
//! The search spawns irregular tasks in bulk down to a depth. One shared bound prunes these tasks.

mod bound;
mod cities;
mod first_tour;
mod partial;
mod search;
mod subsets;
mod tsplib;

use std::collections::BTreeMap;
use std::path::Path;

use crate::input;
use crate::workload::{Instance, Mismatch, Setup};
use cities::Cities;
use partial::MAX_CITIES;
use protocol::{Metric, Refusal};
use search::{Found, Search, Tour};

/// Up to this many cities, the known answer comes from the dynamic programme over subsets. The
/// programme's table has `2^(n-1) (n-1)` entries: at most 4 MB.
const SUBSETS_CITIES: usize = 16;

/// Longest instance file that is read, in bytes: a file of 100 000 cities is shorter.
const MAX_FILE_BYTES: u64 = 16 << 20;

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let cities = match setup.input {
        Some(path) => read(path, setup.values.count("max-cities"))?,
        None => Cities::random(setup.values.count("cities"), setup.values.whole("map")),
    };
    Ok(Box::new(RoundTrip {
        search: Search::new(&cities, setup.values.count("spawn-depth")),
        known_length: known_length(&cities),
        cities,
        found: None,
        runs: 0,
        nodes: 0,
    }))
}

fn read(path: &Path, max_cities: usize) -> Result<Cities, Refusal> {
    let bytes = input::read(path, MAX_FILE_BYTES, "a TSPLIB file")?;
    // Old files hold comments in Latin-1; all other parts are ASCII.
    let points = tsplib::parse(&String::from_utf8_lossy(&bytes))
        .map_err(|error| input::refusal(path, &error.to_string()))?;
    // Checks the number of cities before computing the distances, because the number of distances
    // grows with the square of the number of cities.
    if points.len() > max_cities {
        let remedy = if points.len() > MAX_CITIES {
            format!("the search handles {MAX_CITIES} at most; cut the file down")
        } else {
            format!("set max-cities={} if hours are acceptable", points.len())
        };
        let fault = format!(
            "{} cities are more than max-cities = {max_cities}; {remedy}",
            points.len()
        );
        return Err(input::refusal(path, &fault));
    }
    Ok(Cities::new(points))
}

/// Computes the optimum in another way than the checked run. For many cities, the other way is a
/// sequential search of the cities numbered in reverse, which has another search tree.
fn known_length(cities: &Cities) -> u64 {
    if cities.len() <= SUBSETS_CITIES {
        subsets::shortest_length(cities)
    } else {
        Search::new(&cities.reversed(), 0).sequential().best.length
    }
}

struct RoundTrip {
    cities: Cities,
    search: Search,
    known_length: u64,
    found: Option<Tour>,
    runs: u64,
    /// The nodes that all searches visited together.
    nodes: u64,
}

impl RoundTrip {
    /// A tour is one unit of work, because a time per node would hide the wasted work of a parallel
    /// search.
    fn keep(&mut self, result: Found) -> u64 {
        self.found = Some(result.best);
        self.runs += 1;
        self.nodes += result.nodes;
        1
    }
}

impl Instance for RoundTrip {
    fn reset(&mut self) {
        self.found = None;
    }

    fn run_sequential(&mut self) -> u64 {
        let result = self.search.sequential();
        self.keep(result)
    }

    fn run_parallel(&mut self) -> u64 {
        let result = self.search.parallel();
        self.keep(result)
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let value = if self.runs == 0 {
            0.0
        } else {
            self.nodes as f64 / self.runs as f64
        };
        BTreeMap::from([(
            "nodes".to_owned(),
            Metric {
                value,
                unit: "nodes/tour".to_owned(),
            },
        )])
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe = |length: u64| format!("a tour of length {length}");
        let actual = match &self.found {
            None => "no tour".to_owned(),
            Some(tour) => match self.cities.round_trip_length(&tour.order) {
                None => "a tour that does not visit every city once".to_owned(),
                Some(length) if length != tour.length => {
                    format!("a tour of length {length}, claimed to be {}", tour.length)
                }
                Some(length) => describe(length),
            },
        };
        Mismatch::unless_equal(&describe(self.known_length), &actual)
    }
}
