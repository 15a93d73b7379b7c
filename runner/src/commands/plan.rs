//! `plan`: what a sweep would do.

use anyhow::Result;
use std::io::Write as _;

use super::{Place, asked, builds};
use crate::cli::PlanArgs;
use crate::estimate::Past;
use crate::host::Host;
use crate::plan;
use crate::progress::human;
use crate::stop::Exit;
use crate::sweep_dir::SweepDir;

pub(crate) fn run(place: &Place, arguments: &PlanArgs) -> Result<Exit> {
    let (asked, branches) = asked(place, &arguments.selection)?;
    // Nothing is built, so cells are known by their sources; the order does not depend on it.
    let sources = builds(&asked, &branches)
        .into_iter()
        .map(|branch| (branch.name, branch.source.to_string()))
        .collect();
    let plan = plan::order(&asked, &sources).part(&asked, arguments.selection.shard);
    if arguments.order {
        print_order(&asked, &plan)?;
        return Ok(Exit::Good);
    }
    let threads: Vec<String> = asked.threads.iter().map(|&count| marked(count)).collect();
    let modes: Vec<String> = asked.modes.iter().map(ToString::to_string).collect();
    let past = Past::read(&SweepDir::all(&place.checkout.sweeps()), &Host::default().id());
    let estimate = past.estimate(&asked, &plan);
    let mut out = std::io::stdout().lock();
    writeln!(out, "branches    {}", asked.branches.join("\n            "))?;
    if let Some(twin) = asked.twin_name() {
        writeln!(out, "            {twin} (A/A: the baseline once more)")?;
    }
    if let Some(experiment) = &asked.experiment {
        writeln!(out, "experiment  {}: {}", experiment.name, experiment.shows)?;
    }
    for (index, load) in asked.workloads.iter().enumerate() {
        // Of many instances of a workload, the first says everything and the others how they differ.
        let is_repeated = asked.workloads[..index].iter().any(|it| it.workload == load.workload);
        let differing = asked.differing_parameters(index);
        let parameters: Vec<String> = load
            .parameters
            .iter()
            .filter(|(name, _)| !is_repeated || differing.iter().any(|(it, _)| it == name))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let label = if index == 0 { "workloads" } else { "" };
        writeln!(out, "{label:12}{}, {}: {}", load.workload, load.size, parameters.join(" "))?;
    }
    writeln!(out, "threads     {}", threads.join(" "))?;
    writeln!(out, "frequency   {}{}", modes.join(" "), fixed_at(&asked, arguments))?;
    writeln!(
        out,
        "each cell   {} trials of {} + {} iterations (untimed + timed)",
        asked.trials, asked.warmup_iterations, asked.iterations
    )?;
    if let Some(instrument) = &asked.instrument {
        writeln!(
            out,
            "counted     {} trials of each cell of {}, in builds of their own; never timed",
            instrument.trials,
            instrument.branches.join(", ")
        )?;
    }
    writeln!(
        out,
        "in all      {} cells, {} blocks, {} trials",
        plan.cells(),
        plan.blocks,
        plan.trials.len()
    )?;
    writeln!(
        out,
        "time        about {} for the trials; {:.0} % of them were measured on this host before{}",
        human(estimate.time),
        100.0 * estimate.measured_share,
        if estimate.measured_share < 1.0 { ", the others are a guess from their size" } else { "" }
    )?;
    if asked.threads.last().is_some_and(|&most| most > Host::usable_cpus()) {
        writeln!(out, "            * more threads than the {} CPUs here", Host::usable_cpus())?;
    }
    Ok(Exit::Good)
}

/// What `fixed` would mean on this host.
fn fixed_at(asked: &plan::Asked, arguments: &PlanArgs) -> String {
    if !asked.modes.contains(&plan::Mode::Fixed) {
        return String::new();
    }
    match arguments.selection.frequency.setup().prepare() {
        Ok((recipe, backend)) => format!(" (at {} kHz, by {})", recipe.khz, backend.name()),
        Err(_) => " (not possible here, and labelled so)".to_owned(),
    }
}

fn marked(threads: usize) -> String {
    format!("{threads}{}", if threads > Host::usable_cpus() { "*" } else { "" })
}

fn print_order(asked: &plan::Asked, plan: &plan::Plan) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "block,position,replicate,workload,program,threads,mode,branch")?;
    for trial in &plan.trials {
        let program = match trial.program {
            workloads::protocol::Program::Sequential => "sequential",
            workloads::protocol::Program::Parallel => "parallel",
        };
        writeln!(
            out,
            "{},{},{},{},{program},{},{},{}",
            trial.block,
            trial.position,
            trial.replicate,
            asked.workloads[trial.load].workload,
            trial.threads,
            trial.mode,
            trial.branch
        )?;
    }
    Ok(())
}
