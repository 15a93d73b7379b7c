//! `manifest.json`: the request, the binaries, the host and the runs of a sweep.

use std::collections::{BTreeMap, HashSet};
use std::time::SystemTime;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::config::checkout::Commit;
use crate::config::{Claim, Source};
use crate::plan::{self, Shard, SweepRequest};
use crate::record::Record;
use crate::record::check_schema;
use crate::stop::Stop;
use crate::system::digest::{self, Id};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub schema: u32,
    pub name: String,
    /// When the sweep was created (RFC 3339, UTC).
    pub created_at: String,
    pub host: String,
    pub checkout: Commit,
    pub runner: String,
    /// Arguments after `cargo runner`.
    pub command_line: Vec<String>,
    pub asked: SweepRequest,
    pub branches: Vec<MeasuredBranch>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instrumented: Vec<MeasuredBranch>,
    /// Whether the command (`compare`, `validate`) chose the branches itself, instead of leaving
    /// the choice to `--branches`. Left out if it did not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ad_hoc: bool,
    /// SHA-256 of the arguments of a user's program, as typed, since `asked` has only the names of
    /// files in them. Left out without such a program, and missing in older sweeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_sha256: Option<String>,
    /// Name of the baseline's A/A control, if the control runs.
    pub twin: Option<String>,
    /// The shard that this sweep runs; left out if the sweep runs the whole plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The shards from which this sweep was merged; left out if it was not merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<MergedShard>,
    /// Compiler and flags, the same for all branches.
    pub toolchain: Toolchain,
    /// Pause before each trial, in milliseconds; missing in older sweeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_ms: Option<u64>,
    /// Identity of the order of all trials, including the trials of other shards.
    pub plan_digest: String,
    pub trials_planned: usize,
    /// One entry for each start of the runner on this sweep.
    pub runs: Vec<Run>,
}

/// A shard in a merged sweep. The shard's own manifest and host facts are in
/// `shards/<number>-of-<count>/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MergedShard {
    pub shard: Shard,
    pub name: String,
    pub host: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasuredBranch {
    pub name: String,
    /// The branch's source, as the user wrote it.
    pub source: Source,
    pub baseline: bool,
    pub hypothesis: String,
    /// The branch's pre-registered hypotheses; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    pub receipt: Provenance,
    /// Older sweeps have this field, always as null: no sweep begins without all of its binaries.
    #[serde(default, skip_serializing)]
    pub build_error: Option<()>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Provenance {
    /// Version of rayon-core that cargo resolved.
    pub version: String,
    /// The place from which cargo took rayon-core: `registry`, a path, or a Git address with the
    /// commit.
    pub origin: String,
    pub features: Vec<String>,
    /// Commit of the source, if the source is a working tree or a Git repository.
    pub commit: Commit,
    /// SHA-256 of a file of edits, or of a working tree's names and contents, since a commit does
    /// not identify a modified tree. Left out for other sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_sha256: Option<String>,
    /// The variant that the binary itself reports.
    pub variant: String,
    pub binary_sha256: String,
    /// SHA-256 of the binary in each random link order, in the order of the seeds from 1 on. Left
    /// out if only the linker's own order was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts_sha256: Vec<String>,
    pub binary_bytes: u64,
    pub lock_sha256: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Toolchain {
    pub rustc: Vec<String>,
    /// `[profile.release]`, as TOML.
    pub profile: String,
    /// Environment variables that change code generation, with their values.
    pub flags: BTreeMap<String, String>,
    /// SHA-256 of the checkout's `Cargo.lock`, which all branches share.
    pub lock_sha256: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// When the run began (RFC 3339, UTC).
    pub started_at: String,
    /// When the run ended (RFC 3339, UTC); until then, when the run began.
    pub ended_at: String,
    /// How the run ended: `finished`, `interrupted`, `failed` (the runner stopped, for example at a
    /// full disk), or `killed`. The runner writes `killed` when the run begins, and replaces this
    /// value when the run ends.
    pub end: String,
    pub trials: usize,
    pub failed: usize,
    /// Wall time without builds, in nanoseconds.
    pub wall_ns: u64,
    /// The part of `wall_ns` inside trial processes. On a simulated machine, the sum over processes
    /// that ran side by side.
    pub in_trials_ns: u64,
    /// The part of `wall_ns` in pauses before trials. This part and the next parts are missing in
    /// older sweeps.
    #[serde(default)]
    pub settling_ns: u64,
    /// The part of `wall_ns` for setting and measuring the CPU's clock, and for measuring transfers
    /// between CPUs.
    #[serde(default)]
    pub clocking_ns: u64,
    /// The part of `wall_ns` for writing records and waiting for the disk.
    #[serde(default)]
    pub writing_ns: u64,
    /// Time of the builds, in nanoseconds.
    #[serde(default)]
    pub builds_ns: u64,
    /// The host's conditions before the builds that make times doubtful, as the runner printed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Manifest {
    pub(crate) fn parse(text: &str, place: &str) -> Result<Self> {
        check_schema(text, || place.to_owned())?;
        let manifest: Self = serde_json::from_str(text).map_err(|error| {
            let remedy = if error.is_data() {
                "sweeps are read by the version of the runner that wrote them"
            } else {
                "the file is damaged; restore a copy of it; the trials beside it are unchanged"
            };
            Stop::BadInput(format!("{place}: {error}; {remedy}"))
        })?;
        let asked = &manifest.asked;
        let counted = asked.instrument.iter().flat_map(|it| &it.branches);
        let unknown = asked
            .branches
            .iter()
            .chain(counted)
            .find(|it| manifest.branch(it).is_none());
        let fault = asked
            .fault()
            .or_else(|| unknown.map(|it| format!("`branches` has no `{it}`, which `asked` names")));
        match fault {
            None => Ok(manifest),
            Some(why) => Err(Stop::BadInput(format!(
                "{place}: {why}; restore a copy of the file, since sweeps must not be edited by hand"
            ))
            .into()),
        }
    }

    /// Returns the identities of the planned trials; `None` if another version of the runner made
    /// the plan.
    pub(crate) fn planned(&self) -> Option<HashSet<Id>> {
        let plan = plan::order(&self.asked, &identities(self.builds()));
        let is_ours = plan.digest() == self.plan_digest;
        is_ours.then(|| {
            plan.part(self.shard)
                .trials()
                .map(|trial| trial.id)
                .collect()
        })
    }

    pub(crate) fn knows(&self, record: &Record) -> bool {
        self.branch(&record.branch).is_some() && record.load(&self.asked).is_some()
    }

    /// Whether the sweep's last run reached the end of the plan. A merged sweep has no run of its
    /// own, and counts as finished.
    pub(crate) fn is_finished(&self) -> bool {
        !self.shards.is_empty() || self.runs.last().is_some_and(|run| run.end == "finished")
    }

    pub(crate) fn builds(&self) -> impl Iterator<Item = &MeasuredBranch> {
        self.branches.iter().chain(&self.instrumented)
    }

    /// Returns the entry of a branch or of an instrumented build. For the A/A control, returns the
    /// baseline's entry.
    pub(crate) fn branch(&self, name: &str) -> Option<&MeasuredBranch> {
        let name = self.asked.binary_of(name);
        self.builds().find(|branch| branch.name == name)
    }
}

/// Returns a name such as `2026-03-01T120000Z-1a2b3c-0123456789ab`, which sorts by time, and names
/// machine and commit.
pub(crate) fn sweep_name(created_at: SystemTime, host: &str, checkout: &Commit) -> String {
    let commit = checkout.commit.as_deref().unwrap_or("nogit");
    let dirty = if checkout.dirty == Some(true) {
        "-dirty"
    } else {
        ""
    };
    let time = humantime::format_rfc3339_seconds(created_at).to_string();
    format!("{}-{host}-{commit}{dirty}", time.replace(':', ""))
}

/// Returns the digest of the arguments of a user's program, as typed.
pub(crate) fn arguments_sha256(typed: &[String]) -> String {
    digest::of_bytes(serde_json::json!(typed).to_string().as_bytes())
}

/// Returns the identity that each branch has in its configurations: a hash of its binaries.
pub(crate) fn identities<'a>(
    builds: impl IntoIterator<Item = &'a MeasuredBranch>,
) -> BTreeMap<String, String> {
    let identity = |Provenance {
                        binary_sha256,
                        layouts_sha256,
                        ..
                    }: &Provenance| {
        if layouts_sha256.is_empty() {
            binary_sha256.clone()
        } else {
            Id::of(&(binary_sha256, layouts_sha256)).to_string()
        }
    };
    builds
        .into_iter()
        .map(|branch| (branch.name.clone(), identity(&branch.receipt)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::record::sweep_dir::SweepDir;

    #[test]
    fn every_committed_manifest_is_read_and_what_it_asks_is_written_and_ordered_as_it_was() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for (number, sweep) in SweepDir::all(&checkout.join("results/sweeps"))
            .iter()
            .enumerate()
        {
            let text = std::fs::read_to_string(sweep.path().join("manifest.json")).unwrap();
            let written: serde_json::Value = serde_json::from_str(&text).unwrap();
            let manifest = sweep.manifest().unwrap();
            let asked = serde_json::to_value(&manifest.asked).unwrap();
            assert_eq!(asked, written["asked"], "{}", sweep.name());
            // Making a plan takes time, so the test makes only the plans of the four oldest sweeps
            // again.
            assert!(
                number >= 4 || manifest.planned().is_some(),
                "{}",
                sweep.name()
            );
        }
    }
}
