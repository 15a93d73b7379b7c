//! The runner's request to one process, and the outcome from that process: one JSON line each way.
//!
//! A trial is one process. The process reads one [`Request`] from standard input, writes one
//! [`Outcome`] to standard output and exits with 0; anything else is a failed trial. The runner
//! adds what the process does not know (block, position, branch, mode) and appends the result as
//! one line of `trials.jsonl`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Version of this protocol, and of the trial records that the runner makes from outcomes.
pub const SCHEMA: u32 = 1;

/// Which of a workload's two programs runs.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// The same work on the calling thread alone, without any pool: the base of the speed-up.
    Sequential,
    /// The program on the pool under test.
    #[default]
    Parallel,
}

/// Where the pool's workers run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Each worker runs where the kernel puts it.
    #[default]
    Free,
    /// Worker `i` stays on the `i`-th of the CPUs that the process may use; beyond the last CPU,
    /// counting starts again at the first.
    Pinned,
}

impl Placement {
    /// Whether the kernel places the workers. Records leave this placement out, because older
    /// records have no field for a placement.
    #[must_use]
    pub fn is_free(&self) -> bool {
        *self == Self::Free
    }
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Free => "free",
            Self::Pinned => "pinned",
        })
    }
}

/// One trial, as the runner requests it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// [`SCHEMA`] of the sender. The process refuses a request with another value.
    pub schema: u32,
    /// A name of the catalogue, for example `quicksort`.
    pub workload: String,
    /// `tiny`, `small`, `medium` or `large`.
    pub size: String,
    /// Explicit parameters that override those of the size, for example `strategy = "pool"`. The
    /// process refuses a name or value that the workload does not know.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// An instance file for workloads that read one.
    #[serde(default)]
    pub input: Option<PathBuf>,
    /// Which of the workload's two programs runs.
    pub program: Program,
    /// Threads of the pool (at least 1). For [`Program::Sequential`], the number must be 1.
    pub threads: usize,
    /// Where the workers run; left out if the kernel places them. The sequential program has no
    /// workers.
    #[serde(default, skip_serializing_if = "Placement::is_free")]
    pub placement: Placement,
    /// Seed of everything random in the workload's input. The same seed gives the same input.
    pub seed: u64,
    /// Number of untimed iterations before the timed iterations. The outcome reports the two kinds
    /// separately.
    pub warmup_iterations: u32,
    /// Number of timed iterations (at least 1).
    pub iterations: u32,
    /// If no iteration's region begins or ends for this long, in milliseconds, the run counts as
    /// hung. The process then reports its threads and its pool on standard error, and ends with
    /// [`Failure::Hang`]. Without this limit, the parent process must notice the hang. On a
    /// simulated machine, this is the limit of `manycore::run_watched`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang_after_ms: Option<u64>,
    /// Whether the process only prepares the input and responds, without running the program. Such
    /// a request reports an unusable instance file before a sweep measures anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prepare_only: bool,
    /// The simulated machine to run on. A build for simulated machines requires this field, and no
    /// other build accepts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineRequest>,
}

impl Request {
    /// The smallest request for a workload; callers change the fields that matter. The request runs
    /// the parallel program at size `tiny` on one thread: one timed iteration, no warm-up, seed 1.
    #[must_use]
    pub fn tiny(workload: &str) -> Self {
        Self {
            schema: SCHEMA,
            workload: workload.to_owned(),
            size: "tiny".to_owned(),
            parameters: BTreeMap::new(),
            input: None,
            program: Program::Parallel,
            threads: 1,
            placement: Placement::Free,
            seed: 1,
            warmup_iterations: 0,
            iterations: 1,
            hang_after_ms: None,
            prepare_only: false,
            machine: None,
        }
    }
}

/// The simulated machine that a trial runs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineRequest {
    /// The machine's file, for example `machines/zen4-64.toml`.
    pub file: PathBuf,
    /// Whether all cores always run at one frequency. If not, the frequency depends on the number
    /// of running cores.
    pub is_fixed: bool,
    /// Seed of the pool's random numbers and of the jitter of wake-ups.
    pub seed: u64,
    /// The cost of one of the units that the workload passes to `add_cost`, in nanoseconds at the
    /// machine's reference frequency. These units may differ from [`Iteration::work_units`].
    pub charge_ns: f64,
    /// Cycles of the branch's own instructions in one call (those that do not access shared
    /// memory), by the name of the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own_cycles: BTreeMap<String, f64>,
}

/// One iteration of a trial, untimed or timed: the process measures both kinds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iteration {
    /// Wall time of the region in nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time of the whole process, and of children that ended, in user mode during the region,
    /// in nanoseconds.
    pub user_ns: u64,
    /// CPU time of the whole process, and of children that ended, in the kernel during the region,
    /// in nanoseconds.
    pub system_ns: u64,
    /// Units of work done in the region (elements, nodes, packets: `Description::work_unit`).
    /// Fixed-work programs report the same number each time; programs that run for a given time
    /// report the units that they completed.
    pub work_units: u64,
}

/// The resources that the process, and its children that have ended, used over their whole lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Largest resident set in bytes.
    pub max_rss_bytes: u64,
    /// Context switches that the process requested (by blocking).
    pub voluntary_switches: u64,
    /// Context switches that the kernel forced on the process.
    pub involuntary_switches: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
}

/// A quantity in addition to the time, with its unit: `{"value": 12.5, "unit": "packets/ms"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// The quantity's value.
    pub value: f64,
    /// The unit of the value.
    pub unit: String,
}

/// The events that an instrumented rayon-core counted inside the timed regions, all timed
/// iterations together. `rayon-fork/src/hooks.rs` explains each name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// Timed iterations in which events were counted.
    pub iterations: u32,
    /// Units of work done in these iterations, by which counts are divided.
    pub work_units: u64,
    /// Counts by name, for each worker of the pool.
    pub workers: Vec<BTreeMap<String, u64>>,
    /// Counts by name for all threads that are not workers of the pool.
    pub outside: BTreeMap<String, u64>,
}

/// Where the time of a simulated machine went, in all timed iterations together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulated {
    /// Accesses to shared memory with a cost, including untimed iterations and the input's
    /// preparation.
    pub accesses: u64,
    /// Time of all threads together inside the timed regions, in nanoseconds: `work`, `jobs`,
    /// `search`, `lines`, `system`, `waking`, `asleep`.
    pub spent_ns: BTreeMap<String, u64>,
    /// The lines of source at which threads waited longest, the longest wait first.
    pub waits: Vec<LineWait>,
}

/// A line of source at which threads waited: for a line of memory, for their buffered stores, for a
/// lock, or for a wake-up call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineWait {
    /// Where the access is: `file:line:column`.
    pub at: String,
    /// Where the last write before the access is, in the same form. Left out if there was no write,
    /// or if the thread waited for its buffered stores. The text is `(a lock)` if the access
    /// blocked on a lock, and `(waking others)` if the access was a wake-up call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_at: Option<String>,
    /// How often a line came from another core or from memory, or a thread waited for its buffered
    /// stores. For a lock or a wake-up, the number of system calls.
    pub transfers: u64,
    /// The time of these waits, summed over all threads, in nanoseconds.
    pub waited_ns: u64,
}

/// The result of one process, with every answer checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// [`SCHEMA`] of the process.
    pub schema: u32,
    /// The variant that the binary's rayon-core reports: a name such as `split+cache-padded` for
    /// the fork, `upstream` for anything else.
    pub variant: String,
    /// All parameters in force, including those of the size.
    pub parameters: BTreeMap<String, String>,
    /// The answer on which all iterations agreed, in a short printable form. Empty if no iteration
    /// ran.
    pub answer: String,
    /// The unit of [`Iteration::work_units`], plural, for example `elements`.
    pub work_unit: String,
    /// Untimed iterations, in order.
    pub warmup: Vec<Iteration>,
    /// Timed iterations, in order.
    pub iterations: Vec<Iteration>,
    /// Resource use of the process.
    pub usage: Usage,
    /// The workload's further quantities, by name.
    #[serde(default)]
    pub metrics: BTreeMap<String, Metric>,
    /// The events inside the scheduler. Only an instrumented build reports events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// Where the simulated time went. Only a trial on a simulated machine reports this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Simulated>,
}

/// Why a process gave no [`Outcome`]. The process writes this failure as the last line of standard
/// output, and ends with exit code 1 (wrong answer, hang) or 2 (request refused).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, tag = "failure", rename_all = "kebab-case")]
pub enum Failure {
    /// The program's answer differs from the known answer.
    WrongAnswer {
        /// Number of the iteration, from 0. Untimed iterations are counted first.
        iteration: u32,
        /// The known answer.
        expected: String,
        /// The answer of the program.
        actual: String,
    },
    /// The run made no progress. Standard error has the state of the threads and of the pool, or
    /// the blocked threads of a simulated machine.
    Hang {
        /// Number of the iteration, from 0. Untimed iterations are counted first.
        iteration: u32,
        /// Milliseconds since a region last began or ended; 0 on a simulated machine.
        waited_ms: u64,
    },
    /// The request names something that does not exist.
    Refused {
        /// The fault and its remedy.
        message: String,
    },
}

impl Failure {
    /// The exit code of this failure: 1 for a wrong answer or a hang, 2 for a refusal.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::WrongAnswer { .. } | Self::Hang { .. } => 1,
            Self::Refused { .. } => 2,
        }
    }
}

/// The reason why a request cannot be served: the fault and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    message: String,
}

impl Refusal {
    /// Makes a refusal with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused {
            message: refusal.to_string(),
        }
    }
}
