//! `list`: branches, workloads, experiments and simulated machines.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use manycore::Machine;
use protocol::{Description, Size};
use serde_json::{Value, json};

use crate::config::catalogue;
use crate::config::experiments::{self, Experiment};
use crate::config::machines;
use crate::config::{Branch, Config};
use crate::options::ListFormat;
use crate::options::project::Project;
use crate::plan::is_free;
use crate::report::table::{json, labelled};
use crate::stop::Exit;

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list [default: all]
    #[arg(value_enum)]
    what: Option<ListWhat>,
    /// As text, or as JSON with every detail
    #[arg(long, value_enum, default_value = "table")]
    format: ListFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ListWhat {
    Branches,
    Workloads,
    Experiments,
    Machines,
}

pub(crate) fn run(project: &Project, arguments: &ListArgs) -> Result<Exit> {
    let wants = |what| arguments.what.is_none_or(|wanted| wanted == what);
    let config = wants(ListWhat::Branches).then(|| project.config()).transpose()?;
    let workloads = catalogue::all();
    let experiments = wants(ListWhat::Experiments).then(|| experiments::read(project.checkout.root())).transpose()?;
    let machines = wants(ListWhat::Machines).then(|| machines::all(project.checkout.root())).transpose()?;
    let mut out = io::stdout().lock();
    if arguments.format == ListFormat::Json {
        let mut all = json!({});
        if let Some(config) = &config {
            all["branches"] = serde_json::to_value(&config.branches)?;
        }
        if wants(ListWhat::Workloads) {
            all["workloads"] = serde_json::to_value(workloads)?;
        }
        if let Some(experiments) = &experiments {
            all["experiments"] = serde_json::to_value(experiments)?;
        }
        if let Some(machines) = &machines {
            all["machines"] = machines.iter().map(machine).collect();
        }
        out.write_all(json(&all)?.as_bytes())?;
        return Ok(Exit::Good);
    }
    if let Some(config) = &config {
        print_branches(&mut out, config)?;
    }
    if wants(ListWhat::Workloads) {
        print_workloads(&mut out, workloads)?;
    }
    if let Some(experiments) = &experiments {
        print_experiments(&mut out, experiments)?;
    }
    if let Some(machines) = &machines {
        print_machines(&mut out, machines)?;
    }
    Ok(Exit::Good)
}

/// What stands behind a branch's name.
fn mark(branch: &Branch) -> String {
    let group = branch.group.as_ref().map(|group| format!(" (group {group})"));
    let baseline = branch.baseline.then(|| " (baseline)".to_owned());
    group.into_iter().chain(baseline).collect()
}

fn print_branches(out: &mut impl Write, config: &Config) -> io::Result<()> {
    writeln!(
        out,
        "BRANCHES ({}; `--branches` takes names, `group:NAME`, and `all`, which are those without a group)\n",
        config.branches.len()
    )?;
    for branch in &config.branches {
        writeln!(out, "{}{}", branch.name, mark(branch))?;
        writeln!(out, "    source      {}", branch.source)?;
        if !branch.hypothesis.is_empty() {
            writeln!(out, "    hypothesis  {}", branch.hypothesis)?;
        }
        for claim in &branch.claims {
            writeln!(out, "    claim       {claim}")?;
        }
    }
    writeln!(out)
}

fn print_workloads(out: &mut impl Write, workloads: &[Description]) -> io::Result<()> {
    let sizes = Size::ALL.map(Size::name).join(" · ");
    writeln!(out, "WORKLOADS ({sizes}; `--parameter NAME=VALUE` overrides)\n")?;
    for workload in workloads {
        writeln!(out, "{}", workload.name)?;
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut add = |label: &str, what: String| rows.push((format!("    {label}"), what));
        add("does", workload.summary.to_owned());
        add("stresses", workload.stresses.to_owned());
        if let Some(unit) = workload.charge {
            add("simulated", format!("yes; `--machine NAME` prices its work by `{unit}`"));
        }
        if let Some(input) = workload.input {
            add("--input FILE", input.to_owned());
        }
        for parameter in workload.parameters {
            let values = Size::ALL.map(|size| workload.parameters_of(size).remove(parameter.name).unwrap_or_default());
            let is_the_same = values.iter().all(|value| *value == values[0]);
            let values = if is_the_same { values[0].clone() } else { values.join(" · ") };
            let (name, summary, accepts) = (parameter.name, parameter.summary, parameter.accepts);
            add(name, format!("{values} ({summary}; {accepts})"));
        }
        let rows = rows.iter().map(|(label, what)| (label.as_str(), what.as_str()));
        write!(out, "{}", labelled(rows, [24, 79], ""))?;
    }
    Ok(())
}

fn print_experiments(out: &mut impl Write, experiments: &[Experiment]) -> io::Result<()> {
    writeln!(out, "\nEXPERIMENTS (`sweep --experiment NAME`; options override what they set)\n")?;
    for it in experiments {
        writeln!(out, "{}", it.name)?;
        writeln!(out, "    shows       {}", it.shows)?;
        writeln!(out, "    source      {}", it.source)?;
        writeln!(out, "    workloads   {}, size {}, {} sets", it.workloads, it.size, it.cells.len())?;
        writeln!(out, "    branches    {}", it.branches)?;
        writeln!(out, "    threads     {}; {} trials", it.threads, it.trials)?;
        let placements = it.placement.placements();
        if !is_free(&placements) {
            let words = placements.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            writeln!(out, "    placement   {words}")?;
        }
        writeln!(out, "    command     {}", it.command())?;
    }
    Ok(())
}

/// How large a machine is, in words.
fn size(machine: &Machine) -> String {
    let topology = machine.topology;
    let plural = if topology.sockets == 1 { "" } else { "s" };
    let threads = if topology.hardware_threads == 1 { "" } else { " with two hardware threads each" };
    format!("{} cores{threads}, {} socket{plural}", topology.cores(), topology.sockets)
}

fn machine(it: &Machine) -> Value {
    json!({
        "name": it.name,
        "title": it.title,
        "cores": it.topology.cores(),
        "cpus": it.topology.cpus(),
        "sockets": it.topology.sockets,
    })
}

fn print_machines(out: &mut impl Write, machines: &[Machine]) -> io::Result<()> {
    writeln!(out, "\nMACHINES (simulated; `--machine` takes these names)\n")?;
    for it in machines {
        writeln!(out, "{}", it.name)?;
        writeln!(out, "    is          {}", it.title)?;
        writeln!(out, "    has         {}", size(it))?;
    }
    Ok(())
}
