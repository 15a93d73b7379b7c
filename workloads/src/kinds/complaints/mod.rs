//! `complaints`: patterns of load of which users complained in public. Rows of `workloads.toml` set
//! the pattern by the parameter `how`, and `workloads/README.md` names the reports.
//!
//! A pattern consists of a small problem and a way to enter a pool. Only `urgent-call` runs two
//! loads at once.

mod busy;
mod calls;
mod counting;
mod graph;
mod sections;
mod urgent;

use std::time::Duration;

use protocol::Refusal;

use self::busy::Busy;
use self::calls::{Calls, Entry};
use self::counting::Counting;
use self::graph::Graph;
use self::sections::Sections;
use self::urgent::Urgent;
use crate::kinds::one_number::Problem;
use crate::kinds::pacing::Gaps;
use crate::kinds::series::{Pace, Request, Requests, Series};
use crate::kinds::sum::Passes;
use crate::workload::{Instance, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    let microseconds = |name| Duration::from_micros(values.whole(name));
    let gaps = || Gaps::up_to(setup.seed, microseconds("gap-us"));
    Ok(match values.word("how") {
        "two-busy-workers" => at_once(setup, Entry::Inside, Busy::new(setup)),
        "nested-sections" => at_once(setup, Entry::from(setup), Sections::nested(setup)),
        // The child of a node that ends last spawns the node, as multifrontal solvers do.
        "factorization" => at_once(setup, Entry::from(setup), Graph::tree(setup)),
        "fold" if values.count("counters") > 0 => {
            at_once(setup, Entry::from(setup), Counting::new(setup))
        }
        "fold" => at_once(setup, Entry::from(setup), Passes::new(setup, 1)),
        "pool-per-call" => at_once(setup, Entry::NewPool, Sections::one(setup)),
        // Each pool sleeps while other pools are called.
        "pools-in-turn" => {
            let entry = Entry::in_turn(values.count("pools"), setup.threads)?;
            let calls = Calls::new(Sections::one(setup), entry);
            paced(setup, gaps(), Pace::Sleeps, calls)
        }
        "urgent-call" => paced(setup, gaps(), Pace::Sleeps, Urgent::new(setup)),
        // A buffer of sound is due at a fixed time, even if the previous buffer was late.
        _ => {
            let calls = Calls::new(Graph::mixer(setup), Entry::Outside)
                .with_deadline(microseconds("deadline-us"));
            let gaps = Gaps::every(microseconds("period-us"));
            paced(setup, gaps, Pace::Open, calls)
        }
    })
}

/// The parameter `calls` is the number of requests.
fn paced<R: Request + 'static>(
    setup: &Setup<'_>,
    gaps: Gaps,
    pace: Pace,
    request: R,
) -> Box<dyn Instance> {
    let series = Series {
        requests: setup.values.count("calls"),
        gaps,
        pace,
    };
    Box::new(Requests::new(series, request))
}

/// Each call begins when the previous call has ended.
fn at_once<P: Problem + 'static>(setup: &Setup<'_>, entry: Entry, problem: P) -> Box<dyn Instance> {
    let gaps = Gaps::every(Duration::ZERO);
    paced(setup, gaps, Pace::Spins, Calls::new(problem, entry))
}
