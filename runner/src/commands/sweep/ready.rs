//! Makes a sweep ready for its first trial: checks the host, and builds a binary of each branch.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::build::Builder;
use crate::commands::build;
use crate::config::Branch;
use crate::host::Host;
use crate::host::doctor;
use crate::options::project::Project;
use crate::plan::machines;
use crate::plan::{Asked, Plan};
use crate::record::manifest::{Manifest, MeasuredBranch, Toolchain};
use crate::record::sweep_dir::SweepDir;
use crate::stop::Stop;
use crate::system::interrupt;

/// All that is needed to run trials.
pub(super) struct Ready {
    pub(super) sweep: SweepDir,
    pub(super) manifest: Manifest,
    pub(super) plan: Plan,
    pub(super) binaries: BTreeMap<String, Vec<PathBuf>>,
    /// Instance files for the processes, one for each of the workloads asked for.
    pub(super) inputs: Vec<Option<PathBuf>>,
    /// Time that the builds took.
    pub(super) building: Duration,
}

/// Says what about the host makes times doubtful: once it is clear that something will be measured,
/// and before the builds, which are a load themselves.
pub(super) fn warn_of(host: &Host) {
    for finding in doctor::first_look(host) {
        tell!(
            "warning: {}; {} (`cargo runner doctor`)",
            finding.seen,
            finding.why
        );
    }
}

/// The builds of a sweep.
pub(super) struct Measured {
    /// The record of each branch for the manifest.
    pub(super) branches: Vec<MeasuredBranch>,
    pub(super) binaries: BTreeMap<String, Vec<PathBuf>>,
    pub(super) toolchain: Toolchain,
    /// Time that they took.
    pub(super) building: Duration,
}

/// Builds the branches of a sweep; nothing can be compared without the baseline.
pub(super) fn build_all(
    project: &Project,
    asked: &Asked,
    branches: &[Branch],
    keeps_going: bool,
) -> Result<Measured> {
    interrupt::install()?;
    let folder = project.config_folder()?;
    let builder = Builder::new(&project.checkout, &folder, asked.layouts)?
        .with(asked.programs())
        .simulated(machines::first_request(project.checkout.root(), asked));
    let started = Instant::now();
    let (built, failed) = build::all(&builder, branches, keeps_going)?;
    if let Some(baseline) = branches
        .iter()
        .find(|it| it.baseline && failed.contains_key(&it.name))
    {
        bail!(Stop::BuildFailed(format!(
            "nothing can be compared without the baseline `{}`, which cannot be built (see above)",
            baseline.name
        )));
    }
    let measured = |branch: &Branch| MeasuredBranch {
        name: branch.name.clone(),
        source: branch.source.clone(),
        baseline: branch.baseline,
        hypothesis: branch.hypothesis.clone(),
        claims: branch.claims.clone(),
        receipt: built.get(&branch.name).map(|built| built.receipt.clone()),
        build_error: failed
            .get(&branch.name)
            .map(|error| builder.shown(&format!("{error:#}"))),
    };
    let branches = branches.iter().map(measured).collect();
    let binaries = built
        .into_iter()
        .map(|(name, built)| (name, built.binaries))
        .collect();
    let binaries = machines::binaries(asked, binaries);
    Ok(Measured {
        branches,
        binaries,
        toolchain: builder.toolchain()?,
        building: started.elapsed(),
    })
}
