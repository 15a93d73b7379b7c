//! Resolves the options of a sweep. Options override a row of experiments.toml; options, row,
//! branches and host together make the request.

use anyhow::{Context as _, Result, bail};
use protocol::{Placement, WholeProgram};

use super::Selection;
use crate::config::catalogue;
use crate::config::{Branch, Config};
use crate::host::Host;
use crate::options::Project;
use crate::options::selection;
use crate::plan::{
    self, Definition, Figure, Instrument, Load, MachineSpec, Mode, PlacementChoice, Shard,
    SweepRequest,
};
use crate::plan::{machine_box, machines};
use crate::stop::Stop;

/// Returns the request of the command line, checked against branches, catalogue and host. The
/// branches are those of `elsewhere`, if given; otherwise `--branches` or the row picks them from
/// branches.toml.
pub(crate) fn asked(
    project: &Project,
    elsewhere: Option<&Config>,
    selection: &Selection,
) -> Result<(SweepRequest, Vec<Branch>)> {
    let (preset, row) = start(project, selection)?;
    let typed = Definition {
        twin: selection.no_twin.then_some(false),
        ..selection.definition.clone()
    };
    let meant = typed.clone().over(row.clone());
    let loads = loads(project, selection, &row, &meant)?;
    let branches = branches(project, elsewhere, &meant, &loads)?;
    let baseline = branches.iter().find(|branch| branch.baseline);
    let baseline = baseline.context("the file of branches has no baseline")?;
    let machine = machine(project, selection, &meant, &loads, &branches)?;
    let loads = match selection.points {
        Some(count) => machine_box::with_points(&loads, count as usize),
        None => loads,
    };
    let instrument = selection
        .instrument
        .map(|trials| instrument(trials, &branches, &loads))
        .transpose()?;
    let (trials, layouts) = trials_and_layouts(&typed, &row)?;
    let mut whole = loads.iter().filter_map(|it| catalogue::whole(&it.workload));
    let program = whole.find(|it| it.folder.is_some()).cloned();
    let asked = SweepRequest {
        preset: preset.unwrap_or_else(|| "experiment".to_owned()),
        experiment: selection.experiment.is_some().then(|| row.kept()),
        branches: branches.iter().map(|branch| branch.name.clone()).collect(),
        baseline: baseline.name.clone(),
        layouts,
        twin: meant.twin.context(CHECKED)?,
        workloads: loads,
        threads: threads(selection, &meant, machine.as_ref())?,
        modes: modes(selection, &meant)?,
        placements: placements(selection, &meant)?,
        machine,
        trials,
        warmup_iterations: meant.warmup_iterations.context(CHECKED)?,
        iterations: meant.iterations.context(CHECKED)?,
        seed: selection.seed.unwrap_or(1),
        timeout_s: selection.timeout.unwrap_or(60.0),
        instrument,
        program: program.map(|it| without_folders(project, it)).transpose()?,
    };
    check(&asked, selection.shard)?;
    Ok((asked, branches))
}

/// Returns a user's program in the form for results, which reveals no folder of the machine.
pub(crate) fn without_folders(project: &Project, program: WholeProgram) -> Result<WholeProgram> {
    let here = std::env::current_dir().context("the current folder cannot be read")?;
    let checkout = &project.checkout;
    let shown = |it: &String| checkout.shown_argument(it, &here);
    Ok(WholeProgram {
        arguments: program.arguments.iter().map(shown).collect(),
        folder: program
            .folder
            .map(|folder| checkout.shown_without_folders(&folder).into()),
        ..program
    })
}

const CHECKED: &str = "rows of experiments.toml were checked when they were read";

fn loads(
    project: &Project,
    selection: &Selection,
    row: &Definition,
    meant: &Definition,
) -> Result<Vec<Load>> {
    let list = meant.workloads.as_deref().context(CHECKED)?;
    let list = if selection.machine().is_some() {
        machines::workloads(list)?
    } else {
        list.to_owned()
    };
    let size = meant.size.as_deref().context(CHECKED)?;
    let input = selection.input.as_deref();
    let mut loads = row.loads(&list, size, &selection.parameters, input)?;
    for input in loads.iter_mut().filter_map(|load| load.input.as_mut()) {
        let shown = input
            .place
            .as_ref()
            .map(|path| project.checkout.shown_without_folders(path));
        input.path = shown.unwrap_or_else(|| input.path.clone());
    }
    Ok(loads)
}

/// Returns the branches to measure: only the baseline if the workloads leave the pool idle.
fn branches(
    project: &Project,
    elsewhere: Option<&Config>,
    meant: &Definition,
    loads: &[Load],
) -> Result<Vec<Branch>> {
    let (mut branches, is_baseline_added) = if let Some(config) = elsewhere {
        (config.branches.clone(), false)
    } else {
        let list = meant.branches.as_deref().context(CHECKED)?;
        selection::branches(&project.config()?, list)?
    };
    let baseline = branches.iter().find(|branch| branch.baseline);
    let baseline = baseline.map_or_else(String::new, |it| it.name.clone());
    if is_baseline_added {
        tell!("note: the baseline `{baseline}` is added, because the others are compared with it");
    }
    if branches.len() > 1 && !loads.iter().any(Load::uses_pool) {
        tell!(
            "note: only the baseline `{baseline}` is built and run: the selected workloads leave the pool \
             idle, so all branches would be the same program"
        );
        branches.retain(|branch| branch.baseline);
    }
    Ok(branches)
}

fn machine(
    project: &Project,
    selection: &Selection,
    meant: &Definition,
    loads: &[Load],
    branches: &[Branch],
) -> Result<Option<MachineSpec>> {
    let root = project.checkout.root();
    let on = selection.machine.as_deref();
    let Some(count) = selection.points else {
        return on
            .map(|name| machines::find(root, name, loads, branches))
            .transpose();
    };
    let list = meant.threads.as_deref().context(CHECKED)?;
    if let Some(word) = ["cores", "cpus"].iter().find(|word| list.contains(*word)) {
        bail!(Stop::BadInput(format!(
            "--threads {list}: a box takes no {word}, because its machines may differ in them; write numbers"
        )));
    }
    let most = selection::threads(list, 1, 1)?.into_iter().max();
    let mut machine = machine_box::find(root, count as usize, most.unwrap_or(1), on)?;
    machine.charges_ns = machines::charges_of(root, loads, false)?;
    machine.own_cycles = machines::own_cycles(root, false, branches)?;
    Ok(Some(machine))
}

fn threads(
    selection: &Selection,
    meant: &Definition,
    machine: Option<&MachineSpec>,
) -> Result<Vec<usize>> {
    let list = meant.threads.as_deref().context(CHECKED)?;
    let Some(machine) = machine else {
        // If the topology is unknown, a CPU counts as a core.
        let cpus = Host::usable_cpus();
        return selection::threads(list, Host::default().cores().unwrap_or(cpus), cpus);
    };
    let mut threads = selection::threads(list, machine.cores, machine.cpus())?;
    // All thread counts that the user typed run, even if they are oversubscribed. Thread counts of
    // a row run only if the machine has CPUs for them.
    let is_typed = selection.definition.threads.is_some();
    threads.retain(|&threads| is_typed || threads <= machine.cpus());
    Ok(threads)
}

/// Returns where workers run. A simulated machine ignores a row's request to pin workers, because
/// it cannot pin them.
fn placements(selection: &Selection, meant: &Definition) -> Result<Vec<Placement>> {
    let typed = selection.definition.placement;
    let meant = match (selection.machine(), typed) {
        (None, _) => meant.placement.context(CHECKED)?,
        (Some(_), None | Some(PlacementChoice::Free)) => PlacementChoice::Free,
        (Some(_), Some(_)) => bail!(Stop::BadInput(
            "--placement pinned or both: simulated machines do not pin workers; leave it out"
                .to_owned()
        )),
    };
    Ok(meant.placements())
}

fn check(asked: &SweepRequest, shard: Option<Shard>) -> Result<()> {
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
    if let Some(why) = asked.fault() {
        bail!(Stop::BadInput(format!(
            "{why}; request fewer --trials, --threads or --workloads, or a smaller --seed"
        )));
    }
    let Some(shard) = shard else {
        return Ok(());
    };
    let names = asked
        .branches
        .iter()
        .chain(asked.instrument.iter().flat_map(|it| &it.branches));
    let names = names.map(|name| (name.clone(), String::new()));
    let blocks = plan::order(asked, &names.collect()).blocks();
    if blocks < shard.of as usize {
        bail!(Stop::BadInput(format!(
            "--shard {shard}: the plan has {blocks} blocks, too few for {} shards; request fewer shards or \
             more --trials",
            shard.of
        )));
    }
    Ok(())
}

/// Returns the number of trials, and of link orders of each branch. A trial runs one link order, so
/// link orders beyond the number of trials would never run: `--layouts` without `--trials` raises the
/// number of trials. By default, each trial has its own link order; a sweep that only checks answers
/// has one.
fn trials_and_layouts(typed: &Definition, row: &Definition) -> Result<(u32, u32)> {
    let of_row = row.trials.context(CHECKED)?;
    let trials = typed
        .trials
        .unwrap_or_else(|| of_row.max(typed.layouts.unwrap_or(0)));
    let layouts = match typed.layouts {
        Some(layouts) => {
            if layouts > trials {
                tell!(
                    "note: --layouts {layouts} with --trials {trials}: a trial runs one link order, so each branch has \
                     {trials}; for {layouts} link orders, request --trials {layouts}"
                );
            }
            layouts
        }
        None if row.figure == Figure::Answers => 1,
        None => row.layouts.unwrap_or(trials),
    };
    Ok((trials, layouts.min(trials)))
}

fn instrument(trials: u32, branches: &[Branch], loads: &[Load]) -> Result<Instrument> {
    let mut workloads = loads.iter().map(|load| load.workload.as_str());
    if let Some(whole) = workloads.find(|name| catalogue::whole(name).is_some()) {
        bail!(Stop::BadInput(format!(
            "--instrument: `{whole}` is a separate process, whose events are not counted; add \
             `!{whole}` to --workloads"
        )));
    }
    let (counting, silent): (Vec<&Branch>, Vec<&Branch>) = branches
        .iter()
        .partition(|branch| branch.instrumented().is_some());
    let counting = counting.into_iter().filter_map(Branch::instrumented);
    let names: Vec<String> = counting.map(|branch| branch.name).collect();
    let silent: Vec<&str> = silent.iter().map(|branch| &*branch.name).collect();
    if names.is_empty() {
        bail!(Stop::BadInput(format!(
            "--instrument: only branches of rayon-fork/ can count events, and {} are not; \
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

pub(crate) fn builds(asked: &SweepRequest, branches: &[Branch]) -> Vec<Branch> {
    let instrumented = branches.iter().filter_map(Branch::instrumented);
    let asked_for = instrumented.filter(|branch| asked.is_instrumented(&branch.name));
    branches.iter().cloned().chain(asked_for).collect()
}

/// Returns the row with the values that the command line lacks: the experiment's row, or a preset's
/// row with the preset's name.
fn start(project: &Project, selection: &Selection) -> Result<(Option<String>, Definition)> {
    let rows = selection::read(project.checkout.root())?;
    if let Some(name) = &selection.experiment {
        let row = selection::find(rows.experiments, "experiment", name)?;
        return Ok((None, row));
    }
    let name = match (selection.preset.as_deref(), selection.machine()) {
        (Some(preset), _) => preset,
        (None, None) => "quick",
        (None, Some(machine_box::NAME)) => machine_box::NAME,
        (None, Some(_)) => "simulated",
    };
    let row = selection::find(rows.presets, "preset", name)?;
    Ok((Some(name.to_owned()), row))
}

fn modes(selection: &Selection, meant: &Definition) -> Result<Vec<Mode>> {
    let choice = meant.mode.unwrap_or_default();
    if selection.machine().is_some() {
        // A simulated machine can hold a frequency, but `available` means both modes only if the
        // user typed it.
        let is_typed = selection.definition.mode.is_some();
        return Ok(choice.modes(|| is_typed));
    }
    let frequency = selection.frequency.setup();
    let modes = choice.modes(|| match frequency.fixable() {
        Ok(_) => true,
        Err(reason) => {
            tell!("note: dynamic frequency only: {reason}");
            false
        }
    });
    frequency.check_modes(&modes, selection.allow_uncontrolled)?;
    Ok(modes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(trials: Option<u32>, layouts: Option<u32>) -> Definition {
        Definition {
            trials,
            layouts,
            ..Definition::default()
        }
    }

    #[test]
    fn layouts_alone_raise_the_number_of_trials_because_each_trial_runs_one_link_order() {
        for (typed, row, expected) in [
            ((None, None), (7, None), (7, 7)),
            ((None, Some(15)), (7, None), (15, 15)),
            ((None, Some(15)), (7, Some(1)), (15, 15)),
            ((None, Some(3)), (7, None), (7, 3)),
            ((Some(3), None), (7, Some(5)), (3, 3)),
            ((Some(7), Some(15)), (3, None), (7, 7)),
        ] {
            let row = counts(Some(row.0), row.1);
            let found = trials_and_layouts(&counts(typed.0, typed.1), &row).unwrap();
            assert_eq!(found, expected, "{typed:?} over {row:?}");
        }
    }
}
