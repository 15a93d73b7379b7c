//! What the options of a sweep mean: presets, experiments, branches and the host, put together to
//! what is asked.

use anyhow::{Context as _, Result, bail};

use super::Selection;
use crate::config::catalogue;
use crate::config::experiments::{self, Experiment};
use crate::config::machines;
use crate::config::{Branch, Config};
use crate::host::Host;
use crate::options::preset::Preset;
use crate::options::project::Project;
use crate::options::selection::{self, PlacementChoice};
use crate::plan::{self, Asked, Figure, Instrument, Load, Mode};
use crate::stop::Stop;

/// What the command line asks, checked against branches, catalogue and host; of branches from
/// elsewhere than branches.toml, all are meant.
pub(crate) fn asked(
    project: &Project,
    elsewhere: Option<&Config>,
    selection: &Selection,
) -> Result<(Asked, Vec<Branch>)> {
    let (preset, start) = start(project, selection)?;
    let list = selection.workloads.as_deref().unwrap_or(&start.workloads);
    let list = if selection.machine.is_some() {
        machines::workloads(list)?
    } else {
        list.to_owned()
    };
    let size = selection.size.as_deref().unwrap_or(&start.size);
    let mut loads = start.loads(
        &list,
        size,
        &selection.parameters,
        selection.input.as_deref(),
    )?;
    let (mut branches, is_baseline_added) = if let Some(config) = elsewhere {
        (config.branches.clone(), false)
    } else {
        let list = selection.branches.as_deref().unwrap_or(&start.branches);
        selection::branches(&project.config()?, list)?
    };
    let baseline = branches
        .iter()
        .find(|branch| branch.baseline)
        .map(|it| it.name.clone());
    let baseline = baseline.context("a file of branches has a baseline, as was checked")?;
    if is_baseline_added {
        tell!("note: the baseline `{baseline}` is added, since the others are compared with it");
    }
    if branches.len() > 1 && !loads.iter().any(Load::uses_pool) {
        tell!(
            "note: only the baseline `{baseline}` is built and run: what was asked for leaves the pool \
             idle, so all branches are one program"
        );
        branches.retain(|branch| branch.baseline);
    }
    let host = Host::default();
    let instrument = selection
        .instrument
        .map(|trials| instrument(trials, &branches, &loads))
        .transpose()?;
    let threads = selection.threads.as_deref().unwrap_or(&start.threads);
    let root = project.checkout.root();
    let machine = selection.machine.as_deref();
    if let Some(prices) = selection.prices.as_ref().or(start.prices.as_ref()) {
        let Some(machine) = machine else {
            bail!(Stop::BadInput(format!(
                "--prices {prices}: only simulated machines have prices; name one by --machine"
            )));
        };
        loads = machines::with_prices(root, machine, &loads, prices)?;
    }
    let machine = machine
        .map(|name| machines::find(root, name, &loads))
        .transpose()?;
    let threads = match &machine {
        None => {
            // Where the topology is not shown, a CPU counts as a core.
            let cpus = Host::usable_cpus();
            selection::threads(threads, host.cores().unwrap_or(cpus), cpus)?
        }
        Some(machine) => {
            let mut threads = selection::threads(threads, machine.cores, machine.cpus())?;
            // What is asked for in so many words runs, though threads share cores then; of other
            // lists what has CPUs.
            threads.retain(|&threads| selection.threads.is_some() || threads <= machine.cpus());
            threads
        }
    };
    let placements = match (&machine, selection.placement) {
        (None, typed) => typed.unwrap_or(start.placement),
        (Some(_), Some(PlacementChoice::Pinned | PlacementChoice::Both)) => {
            bail!(Stop::BadInput(
                "--placement pinned: simulated machines pin no worker; leave it out".to_owned()
            ))
        }
        // An experiment's other placements are left out.
        (Some(_), _) => PlacementChoice::Free,
    };
    let trials = selection.trials.unwrap_or(start.trials);
    let is_timed = preset != Some(Preset::Smoke) && start.figure != Figure::Answers;
    let mut asked = Asked {
        preset: preset.map_or("experiment".to_owned(), |preset| preset.to_string()),
        branches: branches.iter().map(|branch| branch.name.clone()).collect(),
        baseline,
        layouts: layouts(selection, is_timed, trials)?,
        twin: start.twin && !selection.no_twin,
        workloads: loads,
        threads,
        modes: modes(selection)?,
        machine,
        placements: placements.placements(),
        trials,
        warmup_iterations: start.warmup_iterations,
        iterations: selection.iterations.unwrap_or(start.iterations),
        seed: selection.seed.unwrap_or(1),
        timeout_s: selection.timeout.unwrap_or(60.0),
        instrument,
        experiment: preset.is_none().then(|| start.asked()),
    };
    let programs = asked.programs();
    if let Some(apart) = asked
        .workloads
        .iter()
        .find(|load| !programs.has(&load.workload))
    {
        bail!(Stop::BadInput(format!(
            "--workloads: whole programs are built without `{}`; run it in a sweep of its own",
            apart.workload
        )));
    }
    for input in asked
        .workloads
        .iter_mut()
        .filter_map(|load| load.input.as_mut())
    {
        let shown = input
            .place
            .as_ref()
            .map(|path| project.checkout.shown_without_folders(path));
        input.path = shown.unwrap_or_else(|| input.path.clone());
    }
    if let Some(why) = asked.fault() {
        bail!(Stop::BadInput(format!(
            "{why}; ask for fewer --trials, --threads or --workloads"
        )));
    }
    if let Some(shard) = selection.shard {
        let names = asked
            .branches
            .iter()
            .chain(asked.instrument.iter().flat_map(|it| &it.branches));
        let names = names.map(|name| (name.clone(), String::new()));
        let blocks = plan::order(&asked, &names.collect()).blocks();
        if blocks < shard.of as usize {
            bail!(Stop::BadInput(format!(
                "--shard {shard}: the plan has {blocks} blocks, too few for {} shards; ask for fewer shards or \
                 more --trials",
                shard.of
            )));
        }
    }
    Ok((asked, branches))
}

/// Layouts per branch: as many as trials, so that each trial has one of its own, except where times
/// mean nothing.
fn layouts(selection: &Selection, is_timed: bool, trials: u32) -> Result<u32> {
    match selection.layouts {
        Some(layouts) if layouts > trials => bail!(Stop::BadInput(format!(
            "--layouts {layouts}: with {trials} trials per cell no more than {trials} would run; ask for \
             fewer, or for more --trials"
        ))),
        Some(layouts) => Ok(layouts),
        None if !is_timed => Ok(1),
        None => Ok(trials),
    }
}

/// The instrumented builds of the branches that can count; says once which cannot.
fn instrument(trials: u32, branches: &[Branch], loads: &[Load]) -> Result<Instrument> {
    let workloads = loads.iter().map(|load| load.workload.as_str());
    if let Some(whole) = workloads
        .into_iter()
        .find(|name| catalogue::whole(name).is_some())
    {
        bail!(Stop::BadInput(format!(
            "--instrument: nothing is counted of what `{whole}` does, which is a process of its own; add \
             `!{whole}` to --workloads"
        )));
    }
    let names: Vec<String> = branches
        .iter()
        .filter_map(Branch::instrumented)
        .map(|branch| branch.name)
        .collect();
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
        tell!("note: no counts of {silent}: only branches of rayon-fork/ can count events");
    }
    Ok(Instrument {
        branches: names,
        trials,
    })
}

/// All builds of a sweep: its branches, then the instrumented ones that it asks for.
pub(crate) fn builds(asked: &Asked, branches: &[Branch]) -> Vec<Branch> {
    let instrumented = branches.iter().filter_map(Branch::instrumented);
    let asked_for = instrumented.filter(|branch| asked.is_instrumented(&branch.name));
    branches.iter().cloned().chain(asked_for).collect()
}

/// What holds where the command line says nothing: an experiment, or the values of a preset.
fn start(project: &Project, selection: &Selection) -> Result<(Option<Preset>, Experiment)> {
    if let Some(name) = &selection.experiment {
        let known = experiments::read(project.checkout.root())?;
        return Ok((None, experiments::find(known, name)?));
    }
    let preset = match (selection.preset, &selection.machine) {
        (Some(Preset::Simulated), None) => bail!(Stop::BadInput(
            "--preset simulated is for simulated machines; add `--machine NAME` (`list machines` has the names)"
                .to_owned()
        )),
        (Some(preset), _) => preset,
        (None, None) => Preset::Quick,
        (None, Some(_)) => Preset::Simulated,
    };
    Ok((Some(preset), preset.values()))
}

/// The modes asked for, refused where the host cannot keep them; the preset `full` takes both where
/// it can.
fn modes(selection: &Selection) -> Result<Vec<Mode>> {
    if selection.machine.is_some() {
        // A machine has a table of frequencies.
        return Ok(selection
            .mode
            .map_or(vec![Mode::Dynamic], super::ModeChoice::modes));
    }
    let frequency = selection.frequency.setup();
    match selection.mode {
        Some(choice) => {
            let modes = choice.modes();
            frequency.check_modes(&modes, selection.allow_uncontrolled)?;
            Ok(modes)
        }
        None if selection.preset == Some(Preset::Full) => {
            Ok(match frequency.reason_against_fixed() {
                None => vec![Mode::Dynamic, Mode::Fixed],
                Some(reason) => {
                    tell!("note: dynamic frequency only: {reason}");
                    vec![Mode::Dynamic]
                }
            })
        }
        None => Ok(vec![Mode::Dynamic]),
    }
}
