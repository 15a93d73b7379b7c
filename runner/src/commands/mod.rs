//! One file per command: what it prints, and the order of its steps.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::checkout::Checkout;
use crate::cli::Selection;
use crate::config::{Branch, Config, fork_features};
use crate::host::Host;
use crate::plan::{Asked, Instrument, Mode};
use crate::selection::{self, Preset};
use crate::stop::Stop;
use crate::sweep_dir::SweepDir;

pub(crate) mod build;
pub(crate) mod frequency;
pub(crate) mod list;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod show;
pub(crate) mod sweep;
pub(crate) mod trace;

/// Where a command works.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) checkout: Checkout,
    /// The file of branches.
    pub(crate) config: PathBuf,
}

impl Place {
    pub(crate) fn config(&self) -> Result<Config> {
        let known = fork_features(&self.checkout.root().join("rayon-fork"))?;
        Ok(Config::read(&self.config, &known)?)
    }

    /// Folder that relative paths in the file of branches start from.
    pub(crate) fn config_folder(&self) -> Result<PathBuf> {
        let absolute = std::path::absolute(&self.config)?;
        Ok(absolute.parent().unwrap_or(Path::new("/")).to_owned())
    }

    /// What a command must be given to find this sweep: its name, or its path where it lies elsewhere
    /// than in the checkout's folder of sweeps.
    pub(crate) fn reference_to(&self, sweep: &SweepDir) -> String {
        let is_at_home = sweep.path().parent().and_then(|parent| parent.canonicalize().ok())
            == self.checkout.sweeps().canonicalize().ok();
        if is_at_home { sweep.name() } else { self.checkout.shown(sweep.path()) }
    }

    pub(crate) fn sweeps(&self, explicit: Option<&Path>) -> PathBuf {
        explicit.map_or_else(|| self.checkout.sweeps(), Path::to_owned)
    }
}

/// What the command line asks, checked against branches, catalogue and host.
pub(crate) fn asked(place: &Place, selection: &Selection) -> Result<(Asked, Vec<Branch>)> {
    let config = place.config()?;
    let list = selection.branches.as_deref().unwrap_or("all");
    let (branches, is_baseline_added) = selection::branches(&config, list)?;
    let baseline = config.baseline().name.clone();
    if is_baseline_added {
        eprintln!(
            "note: the baseline `{baseline}` is added, since the others are compared with it"
        );
    }
    let preset = selection.preset.unwrap_or(Preset::Quick);
    let values = preset.values();
    let or = |given: &Option<String>, preset: &'static str| {
        given.clone().unwrap_or_else(|| preset.to_owned())
    };
    let host = Host::default();
    let instrument =
        selection.instrument.map(|trials| instrument(trials, &branches)).transpose()?;
    let asked = Asked {
        preset: preset.name().to_owned(),
        branches: branches.iter().map(|branch| branch.name.clone()).collect(),
        baseline,
        twin: !selection.no_twin,
        workloads: selection::loads(
            &or(&selection.workloads, values.workloads),
            &or(&selection.size, values.size),
            &selection.parameters,
            selection.input.as_deref(),
        )?,
        threads: selection::threads(
            &or(&selection.threads, values.threads),
            host.cores(),
            Host::usable_cpus(),
        )?,
        modes: modes(selection, preset)?,
        trials: selection.trials.unwrap_or(values.trials),
        layouts: layouts(selection, preset, selection.trials.unwrap_or(values.trials))?,
        warmup_iterations: 1,
        iterations: selection.iterations.unwrap_or(values.iterations),
        seed: selection.seed.unwrap_or(1),
        timeout_s: selection.timeout.unwrap_or(60.0),
        instrument,
    };
    Ok((asked, branches))
}

/// Layouts per branch: as many as trials, so that each trial has one of its own, except where times mean
/// nothing.
fn layouts(selection: &Selection, preset: Preset, trials: u32) -> Result<u32> {
    match selection.layouts {
        Some(layouts) if layouts > trials => bail!(Stop::BadInput(format!(
            "--layouts {layouts}: with {trials} trials per cell no more than {trials} would run; ask for \
             fewer, or for more --trials"
        ))),
        Some(layouts) => Ok(layouts),
        None if preset == Preset::Smoke => Ok(1),
        None => Ok(trials),
    }
}

/// The instrumented builds of the branches that can count; says once which cannot.
fn instrument(trials: u32, branches: &[Branch]) -> Result<Instrument> {
    let names: Vec<String> =
        branches.iter().filter_map(Branch::instrumented).map(|branch| branch.name).collect();
    let silent: Vec<&str> = branches
        .iter()
        .filter(|branch| branch.instrumented().is_none())
        .map(|branch| branch.name.as_str())
        .collect();
    if names.is_empty() {
        bail!(Stop::BadInput(format!(
            "--instrument: only branches of rayon-fork/ can count events, and none of {} is one; \
             add for example `packed` to --branches",
            silent.join(", ")
        )));
    }
    if !silent.is_empty() {
        let silent = silent.join(", ");
        eprintln!("note: no counts of {silent}: only branches of rayon-fork/ can count events");
    }
    Ok(Instrument { branches: names, trials })
}

/// All builds of a sweep: its branches, then the instrumented ones that it asks for.
pub(crate) fn builds(asked: &Asked, branches: &[Branch]) -> Vec<Branch> {
    let instrumented = branches.iter().filter_map(Branch::instrumented);
    let asked_for = instrumented.filter(|branch| asked.is_instrumented(&branch.name));
    branches.iter().cloned().chain(asked_for).collect()
}

/// The modes asked for, refused where the host cannot keep them; the preset `full` takes both where it can.
fn modes(selection: &Selection, preset: Preset) -> Result<Vec<Mode>> {
    let frequency = selection.frequency.setup();
    match selection.mode {
        Some(choice) => {
            let modes = choice.modes();
            frequency.check_modes(&modes, selection.allow_uncontrolled)?;
            Ok(modes)
        }
        None if preset == Preset::Full => Ok(match frequency.reason_against_fixed() {
            None => vec![Mode::Dynamic, Mode::Fixed],
            Some(reason) => {
                eprintln!("note: dynamic frequency only: {reason}");
                vec![Mode::Dynamic]
            }
        }),
        None => Ok(vec![Mode::Dynamic]),
    }
}
