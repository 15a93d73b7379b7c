//! `tsp`: the shortest round trip through a set of cities, exact, by branch and bound.
//!
//! The search spawns irregular tasks in bulk down to a depth. One shared bound prunes them. Files:
//!
//! * `tsplib.rs` reads instances, and `cities.rs` holds distances
//! * `bound.rs` makes lower bounds, and `first_tour.rs` finds a tour to begin with
//! * `search.rs` searches over the paths of `partial.rs`
//! * `subsets.rs` proves small answers by another method

mod bound;
mod cities;
mod first_tour;
mod partial;
mod search;
mod subsets;
mod tsplib;

use std::collections::BTreeMap;
use std::path::Path;

use crate::input::{self, Unusable};
use crate::workload::{Instance, Mismatch, Setup};
use cities::Cities;
use partial::MAX_CITIES;
use protocol::{Metric, Refusal, packed};
use search::{Found, Search, Tour};

/// Up to this many cities the known answer comes from the dynamic programme over subsets.
/// Its table has `2^(n-1) (n-1)` entries: 2 MB here, ten times that for three cities more.
const SUBSETS_CITIES: usize = 16;

/// Longest instance file that is read, in bytes: those of 100 000 cities are shorter.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Prepares the workload `tsp`.
///
/// # Errors
/// If the workload cannot run with these parameters.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let cities = match setup.input {
        Some(path) => read(path, setup.values.count("max-cities"))?,
        None => Cities::random(setup.values.count("cities"), setup.values.whole("map")),
    };
    let known_length = known_length(&cities);
    let search = Search::new(&cities, setup.values.count("spawn-depth"));
    let search = match setup.values.word("first-bound") {
        "optimum" => search.for_tours_below(known_length + 1),
        _ => search,
    };
    Ok(Box::new(RoundTrip {
        cities,
        search,
        known_length,
        found: None,
        runs: 0,
        nodes: 0,
    }))
}

fn read(path: &Path, max_cities: usize) -> Result<Cities, Refusal> {
    let refuse = |what: String| Refusal::new(format!("input {}: {what}", path.display()));
    let bytes = input::read(path, MAX_FILE_BYTES).map_err(|why| {
        refuse(match why {
            Unusable::Unreadable(error) => format!("{error}; expected a TSPLIB file"),
            Unusable::NotRegular => "is no regular file; expected a TSPLIB file".to_owned(),
            Unusable::TooLong(bytes) => format!(
                "has {bytes} bytes, more than the {MAX_FILE_BYTES} that are read; an instance of \
                 {MAX_CITIES} cities, the most that can be solved, has some thousand"
            ),
        })
    })?;
    if let Some(packer) = packed::by(&bytes) {
        return Err(refuse(format!(
            "is compressed ({packer}); unpack it and name the result"
        )));
    }
    // Old files hold comments in Latin-1. All other parts are ASCII, and the parser names the line
    // of a fault there.
    let points = tsplib::parse(&String::from_utf8_lossy(&bytes))
        .map_err(|error| refuse(error.to_string()))?;
    // Checked before the distances are computed, whose number is the square of the number of
    // cities.
    if points.len() > max_cities {
        let remedy = if points.len() > MAX_CITIES {
            format!("the search handles {MAX_CITIES} at most; cut the file down")
        } else {
            format!("set max-cities={} if hours are acceptable", points.len())
        };
        return Err(refuse(format!(
            "{} cities are more than max-cities = {max_cities}; {remedy}",
            points.len()
        )));
    }
    Ok(Cities::new(points))
}

/// The optimum, computed in another way than by the run that is checked. For few cities, the other
/// method shares no code with the search. Otherwise it is a sequential search of the cities
/// numbered in reverse. That finds each tour in the other direction, under other penalties, and so
/// proves optimality with a different tree.
fn known_length(cities: &Cities) -> u64 {
    if cities.len() <= SUBSETS_CITIES {
        subsets::shortest_length(cities)
    } else {
        let found = Search::new(&cities.reversed(), 0).sequential();
        found.best.expect("the search begins with a tour").length
    }
}

struct RoundTrip {
    cities: Cities,
    search: Search,
    known_length: u64,
    found: Option<Tour>,
    /// The number of searches so far, and of the nodes that they visited together.
    runs: u64,
    nodes: u64,
}

impl RoundTrip {
    /// One tour is one unit of work, whatever the number of nodes that the search visits. A time
    /// per node would hide the wasted work of a parallel search.
    fn keep(&mut self, result: Found) -> u64 {
        self.found = result.best;
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
