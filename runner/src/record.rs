//! One line of `trials.jsonl`; `results/README.md` says what each field means.

use std::collections::BTreeMap;

use protocol::{Events, Iteration, Metric, Placement, Program, Simulated, Usage};
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use crate::id::Id;
use crate::plan::{Asked, Mode, Regime};

/// What a sweep knows of the CPU frequency during a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FreqState {
    /// Set, read back and held.
    FixedVerified,
    /// Asked for, but not held.
    FixedFailed,
    /// Left to the host, which has a frequency driver.
    Dynamic,
    /// The host shows no frequency driver, so nothing is known and nothing can be set.
    Uncontrolled,
    /// Could not be found out.
    #[default]
    Unknown,
}

/// How a trial ended.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Ending {
    /// An answer, checked, with its times.
    #[default]
    Ok,
    /// Killed after the time limit.
    Timeout,
    /// An iteration got no further; the process noticed by itself.
    Hang,
    /// Ended by a signal or an unexpected exit code.
    Crash,
    /// The answer differs from the known one.
    WrongAnswer,
    /// The request asks for what the workload does not have.
    Refused,
    /// What it printed is not what the protocol says.
    BadOutput,
    /// Its branch could not be built.
    BuildFailed,
}

/// A trial that ran, or could not.
#[expect(missing_docs, reason = "results/README.md describes every field, for all readers")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub schema: u32,
    pub trial: Id,
    pub cell: Id,
    pub replicate: u32,
    pub block: usize,
    pub position: usize,
    pub branch: String,
    pub program: Program,
    pub workload: String,
    pub size: String,
    pub parameters: BTreeMap<String, String>,
    pub input: Option<String>,
    pub threads: usize,
    pub mode: Mode,
    /// Left out if it is free, as it was in all older sweeps.
    #[serde(default, skip_serializing_if = "Placement::is_free")]
    pub placement: Placement,
    pub freq_state: FreqState,
    pub oversubscribed: bool,
    pub seed: u64,
    pub started_at: String,
    pub process_ns: u64,
    pub outcome: Ending,
    pub reason: Option<String>,
    pub stderr_tail: Option<String>,
    pub variant: Option<String>,
    pub answer: Option<String>,
    pub work_unit: Option<String>,
    pub warmup: Vec<Iteration>,
    pub iterations: Vec<Iteration>,
    pub usage: Option<Usage>,
    pub metrics: BTreeMap<String, Metric>,
    pub load_before: Option<f64>,
    /// Left out where it could not be measured, and missing in older sweeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_to_core_ns: Option<f64>,
    pub steal_ns: Option<u64>,
    /// Left out where the host shows none, like the two below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius_after: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttles: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_throttled_ns: Option<u64>,
    /// Seed of the binary's layout; only where each branch has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<u32>,
    /// Only in trials of instrumented builds, which have no times instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// Only on simulated machines, and missing in older sweeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_seed: Option<u64>,
    /// Only on simulated machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Simulated>,
    pub ghz_before: Option<f64>,
    pub ghz_after: Option<f64>,
}

impl Record {
    /// Under what regime it ran.
    #[must_use]
    pub fn regime(&self) -> Regime {
        Regime { mode: self.mode, placement: self.placement }
    }

    /// The one of [`Asked::workloads`] that it is of.
    #[must_use]
    pub fn load(&self, asked: &Asked) -> Option<usize> {
        asked.workloads.iter().position(|load| {
            load.workload == self.workload
                && load.size == self.size
                && load.parameters == self.parameters
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep_dir::SweepDir;
    use crate::trials_file::Lines;

    #[test]
    fn a_record_of_before_there_was_a_choice_reads_as_free_and_is_written_as_it_was() {
        let sweeps = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/sweeps");
        let line = SweepDir::all(&sweeps).iter().find_map(|sweep| {
            let mut lines = Lines::open(&sweep.trials()).unwrap();
            let line = std::str::from_utf8(lines.next_line().unwrap()?).unwrap().to_owned();
            (!line.contains("\"placement\"")).then_some(line)
        });
        let line = line.unwrap();
        let record: Record = serde_json::from_str(&line).unwrap();
        assert_eq!(record.placement, Placement::Free);
        assert!(!serde_json::to_string(&record).unwrap().contains("placement"));
        let pinned = Record { placement: Placement::Pinned, ..record };
        let again: Record = serde_json::from_str(&serde_json::to_string(&pinned).unwrap()).unwrap();
        assert_eq!(again.placement, Placement::Pinned);
    }
}
