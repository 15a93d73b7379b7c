//! `validate`: simulates a sweep on the machine `here`, measures the same sweep on this host, and
//! compares the times.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::analysis;
use super::calibrate::{self, Precision};
use super::sweep::{self, SweepArgs, SweepCommand};
use crate::config::Config;
use crate::host::Host;
use crate::host::here;
use crate::options::Project;
use crate::options::meaning::asked;
use crate::options::selection;
use crate::plan::SweepRequest;
use crate::plan::machines;
use crate::record::manifest::Manifest;
use crate::record::sweep_dir::SweepDir;
use crate::stop::{Exit, Stop};
use crate::system::python::Python;

pub(super) const EXPERIMENT: &str = "validation";

type IsGiven = fn(&SweepArgs) -> bool;

/// Options of `sweep` that this command sets itself, or that have no meaning for this command. The
/// function of each option says whether the option is given.
pub(crate) const REFUSED: [(&str, IsGiven); 8] = [
    ("machine", |it| it.selection.machine.is_some()),
    ("box", |it| it.selection.points.is_some()),
    ("placement", |it| {
        it.selection.definition.placement.is_some()
    }),
    ("resume", |it| it.resume.is_some()),
    ("shard", |it| it.selection.shard.is_some()),
    ("experiment", |it| it.selection.experiment.is_some()),
    ("preset", |it| it.selection.preset.is_some()),
    ("instrument", |it| it.selection.instrument.is_some()),
];

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Use the cost parameters that `cargo runner calibrate` measured on this host earlier
    #[arg(long)]
    pub(super) keep_prices: bool,
    /// Start over, even if an earlier validation is unfinished
    #[arg(long)]
    pub(super) new: bool,
    #[command(flatten)]
    pub(super) sweep: SweepArgs,
}

pub(crate) const HELP: &str = "\
Measures the cost parameters of this host, sweeps the experiment `validation` on the simulated machine `here`, and then \
the same configurations on the host, with pinned workers. The table compares predicted and measured times. The results are two ordinary sweeps; \
the prediction is finished before the first trial is measured. The same command continues after an interruption. Run this command while nothing else runs.

Examples:
  cargo runner validate
  cargo runner validate --workloads fib-join,ticks --trials 3 --keep-prices

Needs Python 3.11 or newer.";

pub(crate) fn run(project: &Project, arguments: &ValidateArgs) -> Result<Exit> {
    let (predicted, exit) = predict(project, arguments)?;
    // The comparison leaves out configurations whose trials failed.
    let failed = exit == Exit::TrialsFailed;
    if !(failed || exit == Exit::Good) {
        return Ok(exit);
    }
    let (measured, exit) = measure(project, &arguments.sweep, &predicted)?;
    let compared = compare(project, &predicted, &measured)?;
    Ok(match exit {
        Exit::Good if failed => Exit::TrialsFailed,
        Exit::Good => compared,
        exit => exit,
    })
}

const COMMAND: &str = "validate";

pub(super) fn predict(project: &Project, arguments: &ValidateArgs) -> Result<(SweepDir, Exit)> {
    if let Some((name, _)) = REFUSED
        .iter()
        .find(|(_, is_given)| is_given(&arguments.sweep))
    {
        bail!(Stop::BadInput(format!(
            "--{name}: `validate` runs the experiment `{EXPERIMENT}` on the machine `{}` and on this host, and continues \
             an interrupted validation by itself; leave it out",
            here::NAME
        )));
    }
    let parent = project.sweeps(arguments.sweep.output.as_deref());
    let config = branches(project, &arguments.sweep)?;
    let mut simulation = arguments.sweep.clone();
    simulation.selection.experiment = Some(EXPERIMENT.to_owned());
    // This line reports mistakes on the command line before the costs are measured, which takes
    // minutes.
    asked(project, Some(&config), &simulation.selection)?;
    simulation.selection.machine = Some(here::NAME.to_owned());
    let is_measured = machines::file(project.checkout.root(), here::NAME).is_file();
    let earlier = if is_measured && !arguments.new {
        let (wanted, ..) = asked(project, Some(&config), &simulation.selection)?;
        begun(&parent, &wanted)
    } else {
        None
    };
    let earlier = match earlier {
        Some(earlier) => {
            let shown = project.checkout.shown(earlier.path());
            tell!("continuing the prediction {shown}; `--new` begins another");
            Some(earlier)
        }
        None if arguments.keep_prices => check_prices(project).map(|()| None)?,
        None => {
            calibrate::here(project, Precision::WHOLE)?;
            calibrate::own_instructions(project, &config.branches)?;
            None
        }
    };
    simulation.resume = earlier.as_ref().map(|sweep| project.reference_to(sweep));
    let is_whole = |sweep: &SweepDir| sweep.manifest().is_ok_and(|it| it.is_finished());
    let command = SweepCommand::going_on(COMMAND, Some(config));
    let exit = if earlier.as_ref().is_some_and(is_whole) {
        Exit::Good
    } else {
        sweep::run_for(project, &simulation, &command)?
    };
    let predicted = match earlier {
        Some(earlier) => earlier,
        None => SweepDir::newest(&parent, |manifest| is_prediction(manifest, None))
            .context("the sweep that just ran cannot be found")?,
    };
    Ok((predicted, exit))
}

pub(super) fn measure(
    project: &Project,
    arguments: &SweepArgs,
    predicted: &SweepDir,
) -> Result<(SweepDir, Exit)> {
    let parent = project.sweeps(arguments.output.as_deref());
    let prediction = predicted.manifest()?;
    let mut measurement = arguments.clone();
    measurement.jobs = None;
    measurement.selection.experiment = Some(EXPERIMENT.to_owned());
    let threads = prediction.asked.threads.iter().map(usize::to_string);
    let threads: Vec<String> = threads.collect();
    measurement.selection.definition.threads = Some(threads.join(","));
    let newest = || SweepDir::newest(&parent, |manifest| is_measurement(manifest, &prediction));
    measurement.resume = newest().map(|sweep| project.reference_to(&sweep));
    let config = branches(project, arguments)?;
    let command = SweepCommand::going_on(COMMAND, Some(config));
    let exit = sweep::run_for(project, &measurement, &command)?;
    let measured = newest().context("the sweep that just ran cannot be found")?;
    Ok((measured, exit))
}

pub(super) fn branches(project: &Project, arguments: &SweepArgs) -> Result<Config> {
    let known = selection::read(project.checkout.root())?.experiments;
    let experiment = selection::find(known, "experiment", EXPERIMENT)?;
    let typed = arguments.selection.definition.clone();
    let list = typed.over(experiment).branches.unwrap_or_default();
    let (mut branches, is_baseline_added) = selection::branches(&project.config()?, &list)?;
    if is_baseline_added {
        // Predicted times are compared with measured times of the same branch. A baseline that the
        // list does not name is therefore left out.
        branches.retain(|branch| !branch.baseline);
        branches[0].baseline = true;
    }
    Ok(Config { branches })
}

fn check_prices(project: &Project) -> Result<()> {
    let root = project.checkout.root();
    let machine = machines::find(root, here::NAME, &[], &[])?;
    let host = Host::default();
    let title = here::title(&host, &here::cpus(&host));
    if machine.title != title {
        bail!(Stop::BadInput(format!(
            "--keep-prices: machines/{}.toml was measured on `{}`, and this host is `{title}`; leave the option out, or run `cargo runner \
             calibrate`",
            machine.name, machine.title
        )));
    }
    Ok(())
}

/// Returns the newest prediction of exactly the `wanted` sweep, unless the measurement of that
/// prediction is finished.
fn begun(parent: &Path, wanted: &SweepRequest) -> Option<SweepDir> {
    let predicted = SweepDir::newest(parent, |manifest| is_prediction(manifest, Some(wanted)))?;
    let prediction = predicted.manifest().ok()?;
    let measured = SweepDir::newest(parent, |manifest| is_measurement(manifest, &prediction));
    let is_over = measured.is_some_and(|it| it.manifest().is_ok_and(|it| it.is_finished()));
    (!is_over).then_some(predicted)
}

fn is_prediction(manifest: &Manifest, wanted: Option<&SweepRequest>) -> bool {
    let asked = &manifest.asked;
    let is_here = asked.machine.iter().any(|it| it.name == here::NAME);
    let is_validation = asked.experiment.iter().any(|it| it.name == EXPERIMENT);
    is_here && is_validation && wanted.is_none_or(|wanted| wanted == asked)
}

fn is_measurement(manifest: &Manifest, prediction: &Manifest) -> bool {
    // Any placement: simulated machines do not pin workers, and earlier measurements had free ones.
    let asked = SweepRequest {
        machine: None,
        placements: manifest.asked.placements.clone(),
        ..prediction.asked.clone()
    };
    manifest.asked == asked
        && manifest.host == Host::default().id()
        && manifest.created_at > prediction.created_at
}

pub(super) fn compare(
    project: &Project,
    predicted: &SweepDir,
    measured: &SweepDir,
) -> Result<Exit> {
    let sweeps = measured
        .path()
        .parent()
        .context("the sweep's path has no parent folder")?;
    let output = sweeps.with_file_name("reports").join(measured.name());
    let python = Python::set_up(project.checkout.root())?;
    let mut command = python.module("sweep_analysis");
    let sweeps = [predicted.path(), measured.path()];
    command
        .arg("validate")
        .args(sweeps)
        .args(["--format", "md"]);
    command.arg("--output").arg(&output);
    tell!(
        "figure: {}",
        project.checkout.shown(&output.join("validation.svg"))
    );
    analysis::wait(&mut command)
}
