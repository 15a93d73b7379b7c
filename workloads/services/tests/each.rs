//! What holds of each workload of this crate, as of the others.

#[path = "../../tests/each/agreement.rs"]
mod agreement;
#[path = "../../tests/each/answers.rs"]
mod answers;
#[path = "../../tests/each/catalogue.rs"]
mod catalogue;
#[path = "../../tests/each/lengths.rs"]
mod lengths;
#[path = "../../tests/each/readme.rs"]
mod readme;

use std::time::Duration;

use services::SERVICES as CATALOGUE;

const README: &str = include_str!("../README.md");

const WRITTEN: &str = include_str!("../catalogue.json");
const RENEW: &str = "cargo run -p services -- list --json > workloads/services/catalogue.json";

/// Workloads that last as long as their parameters say, and what makes them do so.
const OF_KNOWN_LENGTH: &[(&str, &[(&str, &str)])] = &[("kv", &[("load", "open")]), ("forum", &[])];

/// Some lengths, and parameters that tell none.
#[expect(clippy::type_complexity, reason = "a table")]
const KNOWN_LENGTHS: &[(&str, &[(&str, &str)], Option<Duration>)] = &[
    ("kv", &[], None),
    (
        "kv",
        &[
            ("load", "open"),
            ("sessions", "5"),
            ("requests", "40"),
            ("rate", "100"),
        ],
        Some(Duration::from_secs(2)),
    ),
];
