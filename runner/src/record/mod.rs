//! A sweep's folder and its files. This file defines one line of `trials.jsonl`. Times are integers
//! in nanoseconds (`_ns`), sizes in bytes (`_bytes`). Values that are unknown, or that older sweeps
//! did not record, are null or left out.

pub(crate) mod manifest;
pub(crate) mod summary;
pub(crate) mod sweep_dir;
pub mod trials_file;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use anyhow::{Result, bail};
use protocol::{Events, Iteration, Metric, Placement, Program, SCHEMA, Simulated, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::INSTRUMENTED_SUFFIX;
pub use crate::host::frequency::FreqState;
use crate::plan::{Mode, SweepRequest};
use crate::stop::Stop;
use crate::system::digest::Id;

/// How a trial ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The program gave the right answer. The record has the times, or the counts of an
    /// instrumented build.
    #[default]
    Ok,
    /// The runner killed the process after the time limit.
    Timeout,
    /// An iteration took half of the time limit, and the process's watchdog ended the process.
    Hang,
    /// A signal or an unexpected exit code ended the process.
    Crash,
    /// The answer differs from the known answer.
    WrongAnswer,
    /// The process refused the request, for example because of an unusable instance file.
    Refused,
    /// The process's output does not follow the protocol.
    BadOutput,
    /// The trial did not run, because its branch had turned its sign on too many machines of a box.
    Dropped,
}

impl Ending {
    /// Whether a trial that should have given times gave none.
    pub(crate) fn is_failure(self) -> bool {
        !matches!(self, Self::Ok | Self::Dropped)
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// The recorded trials, each with the time of its iterations in nanoseconds, if it has times.
pub type Done = HashMap<Id, Option<u64>>;

/// A trial that ran, or could not run.
#[expect(
    missing_docs,
    reason = "the type or a neighbouring field explains the other fields"
)]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the format of records: 1.
    pub schema: u32,
    /// Identity of the trial: the hash of its configuration and replicate.
    pub trial: Id,
    /// Identity of the configuration: a hash that also covers the branch's binary.
    pub cell: Id,
    /// Number of the trial within its configuration, from 0.
    pub replicate: u32,
    /// Number of the block within the sweep, from 0.
    pub block: usize,
    /// Position of the trial within its block, from 0.
    pub position: usize,
    /// Name of the branch in `branches.toml`. `<baseline>-again` is the A/A control,
    /// `<branch>-instrumented` an instrumented build.
    pub branch: String,
    /// The program. `sequential` runs without a pool, on the baseline's binary, with 1 thread.
    pub program: Program,
    pub workload: String,
    pub size: String,
    pub parameters: BTreeMap<String, String>,
    pub input: Option<String>,
    pub threads: usize,
    pub mode: Mode,
    /// Where the workers run; left out if the kernel places them.
    #[serde(default, skip_serializing_if = "Placement::is_free")]
    pub placement: Placement,
    pub freq_state: FreqState,
    /// Whether the trial was oversubscribed: it had more threads than CPUs that the process may
    /// use.
    pub oversubscribed: bool,
    pub seed: u64,
    /// When the trial began (RFC 3339, UTC).
    pub started_at: String,
    pub process_ns: u64,
    pub outcome: Ending,
    pub reason: Option<String>,
    pub stderr_tail: Option<String>,
    /// The variant that the binary's rayon-core named.
    pub variant: Option<String>,
    pub answer: Option<String>,
    /// Unit of `work_units`, in the plural.
    pub work_unit: Option<String>,
    /// Untimed iterations.
    pub warmup: Vec<Iteration>,
    pub iterations: Vec<Iteration>,
    /// Resource usage of the whole process.
    pub usage: Option<Usage>,
    /// Other measurements of the workload, by name.
    pub metrics: BTreeMap<String, Metric>,
    /// Load average over one minute, before the trial.
    pub load_before: Option<f64>,
    /// Transfer time of a cache line from the first CPU that trials may use to the last such CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_to_core_ns: Option<f64>,
    /// Time that the hypervisor stole from all CPUs during the trial.
    pub steal_ns: Option<u64>,
    /// Temperature of the CPU's hottest sensor after the trial, in degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius_after: Option<f64>,
    /// How often heat slowed a CPU or a package down during the trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttles: Option<u64>,
    /// Time during the trial in which a used-up CPU quota kept the control group from running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_throttled_ns: Option<u64>,
    /// Seed of the link order, if the branch has several link orders. On a simulated machine, all
    /// numbers mean the same binary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<u32>,
    /// Only trials of instrumented builds have events; these trials have no times, metrics or
    /// usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// Only trials on simulated machines have this field: the seed of the pool's random numbers and
    /// of the jitter of wake-ups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_seed: Option<u64>,
    /// Where the simulated time went. Only trials on simulated machines have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Simulated>,
    /// Mean clock of as many CPUs as the trial has threads. Null if the clock cannot be measured,
    /// for example because the two methods differ by more than 2 %; also on simulated machines.
    pub ghz_before: Option<f64>,
    pub ghz_after: Option<f64>,
}

/// Limit of the times of an iteration: about four months. A larger time comes from a wrong reading
/// of a clock.
const MOST_NS: u64 = 10_u64.pow(16);

/// The first number that does not fit into a signed 64-bit integer; the analysis uses such
/// integers.
const MOST: u64 = 1 << 63;

impl Record {
    /// Returns the time of all iterations, in nanoseconds; None if the record has no times.
    pub(crate) fn elapsed_ns(&self) -> Option<u64> {
        let times = self.iterations.iter().map(|it| it.elapsed_ns);
        (!self.iterations.is_empty()).then(|| times.sum())
    }

    /// Returns why this value is not a valid record of a trial, although each field has its type.
    pub(crate) fn fault(&self) -> Option<String> {
        self.out_of_range().or_else(|| self.contradiction())
    }

    fn out_of_range(&self) -> Option<String> {
        let wrong = |field: &str, value: u64, allowed: Range<u64>| {
            let Range { start, end } = allowed;
            let expected = if value < start {
                format!(">= {start}")
            } else if value >= end {
                format!("< {end}")
            } else {
                return None;
            };
            let value = format!("`{field}` is `{value}`");
            Some(format!("field {value}: expected `int` {expected}"))
        };
        let of_iterations = |list: &str, iterations: &[Iteration]| {
            iterations.iter().enumerate().find_map(|(index, it)| {
                let fields = [
                    ("elapsed_ns", it.elapsed_ns, 1..MOST_NS),
                    ("user_ns", it.user_ns, 0..MOST_NS),
                    ("system_ns", it.system_ns, 0..MOST_NS),
                    ("work_units", it.work_units, 1..MOST),
                ];
                let field = |name: &str| format!("{list}[{index}].{name}");
                fields
                    .into_iter()
                    .find_map(|(name, value, allowed)| wrong(&field(name), value, allowed))
            })
        };
        if humantime::parse_rfc3339(&self.started_at).is_err() {
            let at = &self.started_at;
            return Some(format!("field `started_at` is `{at}`: write RFC 3339"));
        }
        wrong("threads", self.threads as u64, 1..MOST)
            .or_else(|| of_iterations("warmup", &self.warmup))
            .or_else(|| of_iterations("iterations", &self.iterations))
            .or_else(|| {
                let events = self.events.as_ref()?;
                wrong("events.work_units", events.work_units, 1..MOST)
            })
            .or_else(|| {
                let all = serde_json::to_value(self).ok()?;
                let (field, value) = too_large(&all, String::new())?;
                wrong(&field, value, 0..MOST)
            })
    }

    fn contradiction(&self) -> Option<String> {
        let is_ok = self.outcome == Ending::Ok;
        let is_instrumented = self.branch.ends_with(INSTRUMENTED_SUFFIX);
        if is_ok && self.iterations.is_empty() && !is_instrumented {
            Some("field `iterations` is empty though `outcome` is `ok`".to_owned())
        } else if is_ok && is_instrumented != self.events.is_some() {
            let is_there = if is_instrumented {
                "missing"
            } else {
                "present"
            };
            let branch = &self.branch;
            Some(format!(
                "field `events` is {is_there} in a trial of `{branch}`"
            ))
        } else if is_instrumented && !self.iterations.is_empty() {
            Some("field `iterations` has times of an instrumented build".to_owned())
        } else {
            None
        }
    }

    pub(crate) fn load(&self, asked: &SweepRequest) -> Option<usize> {
        asked.workloads.iter().position(|load| {
            load.workload == self.workload
                && load.size == self.size
                && load.parameters == self.parameters
        })
    }
}

/// Returns the first number of a record that does not fit into a signed 64-bit integer, with its
/// field. The field `seed` is exempt, because the seed of a sweep on a host may be that large.
fn too_large(value: &Value, field: String) -> Option<(String, u64)> {
    match value {
        Value::Number(number) => Some(field).zip(number.as_u64().filter(|it| *it >= MOST)),
        Value::Array(items) => items.iter().find_map(|item| too_large(item, field.clone())),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "seed")
            .find_map(|(name, it)| too_large(it, format!("{field}.{name}"))),
        _ => None,
    }
    .map(|(field, value)| (field.trim_start_matches('.').to_owned(), value))
}

/// Refuses a file of another version of the format, before its fields are read.
pub(crate) fn check_schema(json: &str, place: impl Fn() -> String) -> Result<()> {
    #[derive(Deserialize)]
    struct Version {
        schema: u32,
    }
    // A file without a version passes this check, because parsing the file later reports the
    // missing field.
    let Ok(Version { schema }) = serde_json::from_str(json) else {
        return Ok(());
    };
    if schema == SCHEMA {
        return Ok(());
    }
    bail!(Stop::BadInput(format!(
        "{}: `schema` is {schema}, this runner reads {SCHEMA}; use the runner of the commit that the sweep's \
         name ends with",
        place()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sweep_dir::SweepDir;

    fn committed(old: &str, new: &str) -> Record {
        let sweeps = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/sweeps");
        let record = SweepDir::all(&sweeps)[0].records().unwrap().next();
        let text = serde_json::to_string(&record.unwrap().unwrap()).unwrap();
        let (before, from) = text.split_at(text.find(old).unwrap());
        let end = from.find([',', '}']).unwrap();
        serde_json::from_str(&format!("{before}{new}{}", &from[end..])).unwrap()
    }

    #[test]
    fn times_that_no_clock_tells_and_fields_that_contradict_each_other_are_no_record() {
        assert_eq!(committed("\"threads\"", "\"threads\":1").fault(), None);
        let huge = u64::MAX;
        for (old, value, says) in [
            ("elapsed_ns", 0, "is `0`: expected `int` >= 1"),
            ("elapsed_ns", MOST_NS, "expected `int` < 10000000000000000"),
            ("user_ns", huge, "expected `int` < "),
            ("system_ns", huge, "expected `int` < "),
            ("work_units", 0, "is `0`: expected `int` >= 1"),
            ("work_units", huge, "expected `int` < "),
            ("threads", 0, "field `threads` is `0`: expected `int` >= 1"),
            (
                "process_ns",
                huge,
                "field `process_ns` is `18446744073709551615`: exp",
            ),
            ("major_faults", huge, "field `usage.major_faults` is `1844"),
            ("started_at", 7, "field `started_at` is `7`: write RFC 3339"),
        ] {
            let old = format!("\"{old}\"");
            let value = if old.contains("started_at") {
                format!("\"{value}\"")
            } else {
                value.to_string()
            };
            let fault = committed(&old, &format!("{old}:{value}")).fault().unwrap();
            assert!(fault.contains(says), "{fault}");
        }
        let fault = committed("\"elapsed_ns\"", "\"elapsed_ns\":0")
            .fault()
            .unwrap();
        assert!(
            fault.starts_with("field `warmup[0].elapsed_ns` is `0`"),
            "{fault}"
        );
        let good = committed("\"threads\"", "\"threads\":1");
        let empty = Record {
            iterations: Vec::new(),
            ..good.clone()
        };
        assert!(empty.fault().unwrap().contains("`iterations` is empty"));
        let failed = Record {
            outcome: Ending::Crash,
            ..empty
        };
        assert_eq!(failed.fault(), None);
        let counted = Record {
            branch: "packed-instrumented".to_owned(),
            ..good
        };
        assert!(counted.fault().unwrap().contains("`events` is missing"));
    }
}
