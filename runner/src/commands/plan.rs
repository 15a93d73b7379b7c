//! `plan`: prints what a sweep would do, and runs nothing.

use anyhow::Result;
use clap::Args;

use crate::build::check_folder;
use crate::options::Project;
use crate::options::Selection;
use crate::options::meaning::{asked, builds};
use crate::plan;
use crate::plan::BOX;
use crate::plan::estimate;
use crate::stop::Exit;
use crate::text::output::{self, columns_of_stdout, labelled};
use crate::text::words::{count, human};

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    selection: Selection,
}

pub(crate) const HELP: &str = "\
Examples:
  cargo runner plan
  cargo runner plan --preset full
  cargo runner plan --branches 'split*' --threads 1..=8";

pub(crate) fn run(project: &Project, arguments: &PlanArgs) -> Result<Exit> {
    let (asked, branches) = asked(project, None, &arguments.selection)?;
    // `plan` builds nothing, so the sources identify the builds. The order of trials does not
    // depend on these identities.
    let to_build = builds(&asked, &branches);
    let folder = project.config_folder()?;
    to_build
        .iter()
        .try_for_each(|branch| check_folder(&folder, branch))?;
    let sources = to_build
        .iter()
        .map(|branch| (branch.name.clone(), branch.source.to_string()))
        .collect();
    let plan = plan::order(&asked, &sources).part(arguments.selection.shard);
    let cpus = asked.cpus();
    let threads: Vec<String> = asked
        .threads
        .iter()
        .map(|&count| with_star(count, cpus))
        .collect();
    let (modes, placements) = (words(&asked.modes), words(&asked.placements));
    let mut facts = Vec::new();
    if let Some(machine) = &asked.machine {
        facts.push(("simulated", format!("{}: {}", machine.name, machine.title)));
    }
    facts.push(("branches", asked.branches.join("\n")));
    if let Some(twin) = asked.twin_name() {
        facts.push(("A/A control", format!("{twin} (the baseline once more)")));
    }
    if let Some(experiment) = &asked.experiment {
        let shows = format!("{}: {}", experiment.name, experiment.shows);
        facts.push(("experiment", shows));
    }
    facts.push(("workloads", workloads(&asked).join("\n")));
    facts.push(("threads", threads.join(" ")));
    facts.push((
        "frequency",
        format!("{modes}{}", fixed_at(&asked, arguments)),
    ));
    facts.push(("placement", placements));
    facts.push((
        "trials",
        format!(
            "{} of each configuration, each of {} + {} iterations (untimed + timed)",
            asked.trials, asked.warmup_iterations, asked.iterations
        ),
    ));
    if let Some(instrument) = &asked.instrument {
        let counted = format!(
            "{} trials of each configuration of {}, in separate builds; never timed",
            instrument.trials,
            instrument.branches.join(", ")
        );
        facts.push(("counted", counted));
    }
    if let Some(shard) = arguments.selection.shard {
        facts.push((
            "shard",
            format!("{shard}: the numbers below are for this shard alone"),
        ));
    }
    let (cells, trials) = (plan.cells(), plan.len());
    let all = format!(
        "{cells} configurations, {} blocks, {trials} trials",
        plan.blocks()
    );
    facts.push(("in all", all));
    if asked.machine.is_some() {
        // The virtual time of trials does not show how long the host takes to simulate them.
        return print(&facts);
    }
    let time = human(estimate::of(&asked, &plan));
    let time = format!("about {time} for the trials, estimated from sizes and parameters");
    facts.push(("time", time));
    let (branches, layouts) = (to_build.len(), asked.layouts as usize);
    let branches = count(branches, "branch", "branches");
    let builds = format!(
        "{branches} in {} each",
        count(layouts, "link order", "link orders")
    );
    facts.push(("builds", builds));
    if asked.threads.last().is_some_and(|&most| most > cpus) {
        let note = format!(
            "* oversubscribed: more threads than the {} of this host",
            count(cpus, "CPU", "CPUs")
        );
        facts.push(("note", note));
    }
    print(&facts)
}

fn print(facts: &[Fact]) -> Result<Exit> {
    let rows = facts.iter().map(|(what, says)| (*what, says.as_str()));
    let columns = columns_of_stdout().unwrap_or(usize::MAX);
    output::print(&labelled(rows, [12, columns], "  "))?;
    Ok(Exit::Good)
}

type Fact = (&'static str, String);

fn workloads(asked: &plan::SweepRequest) -> Vec<String> {
    let line = |(index, load): (usize, &plan::Load)| {
        // Describes the first of several instances of a workload completely, and the other
        // instances by their differences.
        let is_repeated = asked.workloads[..index]
            .iter()
            .any(|it| it.workload == load.workload);
        let differing = asked.differing_parameters(index);
        let parameters: Vec<String> = load
            .parameters
            .iter()
            .filter(|(name, _)| *name != BOX)
            .filter(|(name, _)| !is_repeated || differing.iter().any(|(it, _)| it == name))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!("{}, {}: {}", load.workload, load.size, parameters.join(" "))
    };
    // Each workload runs on all points of a box, so the first point stands for them.
    let is_first_point = |(_, load): &(usize, &plan::Load)| {
        let point = load.parameters.get(BOX);
        point.is_none_or(|it| it == "1")
    };
    let loads = asked.workloads.iter().enumerate().filter(is_first_point);
    loads.map(line).collect()
}

fn fixed_at(asked: &plan::SweepRequest, arguments: &PlanArgs) -> String {
    if !asked.modes.contains(&plan::Mode::Fixed) {
        return String::new();
    }
    if asked.machine.is_some() {
        // A simulated machine has its own frequency, so the host's frequency does not matter.
        return String::new();
    }
    match arguments.selection.frequency.setup().fixable() {
        Ok(how) => format!(" (at {how})"),
        Err(_) => " (not possible on this host; the trials' labels say so)".to_owned(),
    }
}

fn words(choices: &[impl ToString]) -> String {
    choices
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

fn with_star(threads: usize, cpus: usize) -> String {
    format!("{threads}{}", if threads > cpus { "*" } else { "" })
}
