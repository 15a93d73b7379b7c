//! What holds of each workload of this crate.

mod agreement;
mod answers;
mod catalogue;
mod lengths;
mod readme;

use std::time::Duration;

use workloads::CATALOGUE;

const README: &str = include_str!("../../README.md");

const WRITTEN: &str = include_str!("../../catalogue.json");
const RENEW: &str = "cargo run -p workloads -- list --json > workloads/catalogue.json";

/// Workloads that last as long as their parameters say, and what makes them do so.
const OF_KNOWN_LENGTH: &[(&str, &[(&str, &str)])] = &[
    ("packets", &[("stop", "timed")]),
    ("life", &[("frame-us", "500")]),
    ("ticks", &[]),
    ("idle", &[]),
    ("burst", &[]),
    ("install", &[]),
    ("barrier-join", &[]),
    ("two-long-tasks", &[]),
    ("injection-ping-pong", &[]),
    ("broadcast-dozing", &[]),
];

/// Some lengths, and parameters that tell none.
#[expect(clippy::type_complexity, reason = "a table")]
const KNOWN_LENGTHS: &[(&str, &[(&str, &str)], Option<Duration>)] = &[
    ("packets", &[], None),
    ("life", &[], None),
    (
        "packets",
        &[("stop", "timed"), ("duration-ms", "1500")],
        Some(Duration::from_millis(1500)),
    ),
    (
        "ticks",
        &[("ticks", "3"), ("period-us", "7000")],
        Some(Duration::from_millis(21)),
    ),
    (
        "two-long-tasks",
        &[("joins", "4"), ("task-us", "1000"), ("gap-us", "500")],
        Some(Duration::from_millis(5)),
    ),
];
