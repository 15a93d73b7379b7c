//! `list`: branches, workloads, experiments and simulated machines.

use std::fmt::{self, Write as _};

use anyhow::Result;
use clap::Args;
use manycore::Machine;
use protocol::{Description, Size};
use serde_json::{Value, json};

use crate::config::catalogue;
use crate::config::{Branch, Config};
use crate::options::ListFormat;
use crate::options::experiments;
use crate::options::project::Project;
use crate::plan::machines;
use crate::plan::{Definition, is_free};
use crate::stop::Exit;
use crate::text::table::{json, labelled, plain, print};

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
    let (mut data, mut text) = (json!({}), String::new());
    if wants(ListWhat::Branches) {
        let config = project.config()?;
        data["branches"] = serde_json::to_value(&config.branches)?;
        tell_branches(&mut text, &config)?;
    }
    if wants(ListWhat::Workloads) {
        data["workloads"] = serde_json::to_value(catalogue::all())?;
        tell_workloads(&mut text, catalogue::all())?;
    }
    if wants(ListWhat::Experiments) {
        let experiments = experiments::read(project.checkout.root())?.experiments;
        data["experiments"] = serde_json::to_value(&experiments)?;
        tell_experiments(&mut text, &experiments)?;
    }
    if wants(ListWhat::Machines) {
        let machines = machines::all(project.checkout.root())?;
        data["machines"] = machines.iter().map(machine).collect();
        tell_machines(&mut text, &machines)?;
    }
    let text = if arguments.format == ListFormat::Json {
        json(&data)?
    } else {
        plain(&text) // names of files may have any bytes
    };
    print(&text)?;
    Ok(Exit::Good)
}

/// What stands behind a branch's name.
fn mark(branch: &Branch) -> String {
    let group = branch
        .group
        .as_ref()
        .map(|group| format!(" (group {group})"));
    let baseline = branch.baseline.then(|| " (baseline)".to_owned());
    group.into_iter().chain(baseline).collect()
}

fn tell_branches(out: &mut String, config: &Config) -> fmt::Result {
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

fn tell_workloads(out: &mut String, workloads: &[Description]) -> fmt::Result {
    let sizes = Size::ALL.map(Size::name).join(" · ");
    writeln!(
        out,
        "WORKLOADS ({sizes}; `--parameter NAME=VALUE` overrides)\n"
    )?;
    for workload in workloads {
        writeln!(out, "{}", workload.name)?;
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut add = |label: &str, what: String| rows.push((format!("    {label}"), what));
        add("does", workload.summary.clone());
        add("stresses", workload.stresses.clone());
        let scales = [
            ("what counts", &workload.counts),
            ("span", &workload.span),
            ("parallelism", &workload.parallelism),
        ];
        for (label, what) in scales {
            if let Some(what) = what {
                add(label, what.clone());
            }
        }
        if let Some(unit) = &workload.charge {
            add(
                "simulated",
                format!("yes; `--machine NAME` prices its work by `{unit}`"),
            );
        }
        if let Some(input) = &workload.input {
            add("--input FILE", input.clone());
        }
        for parameter in &workload.parameters {
            let values = Size::ALL.map(|size| {
                workload
                    .parameters_of(size)
                    .remove(&parameter.name)
                    .unwrap_or_default()
            });
            let is_the_same = values.iter().all(|value| *value == values[0]);
            let values = if is_the_same {
                values[0].clone()
            } else {
                values.join(" · ")
            };
            let (name, summary, accepts) =
                (&parameter.name, &parameter.summary, &parameter.accepts);
            add(name, format!("{values} ({summary}; {accepts})"));
        }
        let rows = rows
            .iter()
            .map(|(label, what)| (label.as_str(), what.as_str()));
        write!(out, "{}", labelled(rows, [24, 79], ""))?;
    }
    Ok(())
}

fn tell_experiments(out: &mut String, experiments: &[Definition]) -> fmt::Result {
    writeln!(
        out,
        "\nEXPERIMENTS (`sweep --experiment NAME`; options override what they set)\n"
    )?;
    let said = |value: &Option<String>| value.clone().unwrap_or_default();
    for it in experiments {
        let workloads = said(&it.workloads);
        let (size, sets) = (said(&it.size), it.cells.len());
        writeln!(out, "{}", it.name)?;
        writeln!(out, "    shows       {}", it.shows)?;
        writeln!(out, "    source      {}", it.source)?;
        writeln!(out, "    workloads   {workloads}, size {size}, {sets} sets")?;
        writeln!(out, "    branches    {}", said(&it.branches))?;
        let trials = it.trials.unwrap_or_default();
        writeln!(
            out,
            "    threads     {}; {trials} trials",
            said(&it.threads)
        )?;
        let placements = it.placement.unwrap_or_default().placements();
        if !is_free(&placements) {
            let words = placements
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ");
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
    let threads = if topology.hardware_threads == 1 {
        ""
    } else {
        " with two hardware threads each"
    };
    format!(
        "{} cores{threads}, {} socket{plural}",
        topology.cores(),
        topology.sockets
    )
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

fn tell_machines(out: &mut String, machines: &[Machine]) -> fmt::Result {
    writeln!(
        out,
        "\nMACHINES (simulated; `--machine` takes these names)\n"
    )?;
    for it in machines {
        writeln!(out, "{}", it.name)?;
        writeln!(out, "    is          {}", it.title)?;
        writeln!(out, "    has         {}", size(it))?;
    }
    Ok(())
}
