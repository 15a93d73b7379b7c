//! `list`: branches, workloads, experiments and simulated machines.

use std::fmt::{self, Write as _};

use anyhow::Result;
use clap::Args;
use manycore::Machine;
use protocol::{Description, Size};

use crate::config::catalogue;
use crate::config::{Branch, Config};
use crate::options::Project;
use crate::options::selection;
use crate::plan::machines;
use crate::plan::{Definition, is_free};
use crate::stop::Exit;
use crate::text::output::{PAGE, labelled, plain, print, wrapped};
use crate::text::words::count;

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Things to list [default: all]
    #[arg(value_enum)]
    what: Option<ListWhat>,
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
    let mut text = String::new();
    if wants(ListWhat::Branches) {
        let config = project.config()?;
        tell_branches(&mut text, &config)?;
    }
    if wants(ListWhat::Workloads) {
        tell_workloads(&mut text, catalogue::all())?;
    }
    if wants(ListWhat::Experiments) {
        let experiments = selection::read(project.checkout.root())?.experiments;
        tell_experiments(&mut text, &experiments)?;
    }
    if wants(ListWhat::Machines) {
        let machines = machines::all(project.checkout.root())?;
        tell_machines(&mut text, &machines)?;
    }
    print(&plain(&text))?; // a file's name may contain control characters
    Ok(Exit::Good)
}

fn remarks(branch: &Branch) -> String {
    let group = branch
        .group
        .as_ref()
        .map(|group| format!(" (group {group})"));
    let baseline = branch.baseline.then(|| " (baseline)".to_owned());
    group.into_iter().chain(baseline).collect()
}

fn heading(out: &mut String, text: &str) -> fmt::Result {
    writeln!(out, "{}\n", wrapped(text, PAGE, "  "))
}

fn tell_row(out: &mut String, name: &str, facts: &[(&str, String)]) -> fmt::Result {
    writeln!(out, "{name}")?;
    let labels: Vec<String> = facts
        .iter()
        .map(|(what, _)| format!("    {what}"))
        .collect();
    let rows = labels.iter().zip(facts);
    let rows = rows.map(|(label, (_, says))| (label.as_str(), says.as_str()));
    out.write_str(&labelled(rows, [16, PAGE], ""))
}

fn tell_branches(out: &mut String, config: &Config) -> fmt::Result {
    let text = format!(
        "BRANCHES ({}; `--branches` takes names, `group:NAME`, and `all`, which are those without a group)",
        config.branches.len()
    );
    heading(out, &text)?;
    for branch in &config.branches {
        let mut facts = vec![("source", branch.source.to_string())];
        if !branch.hypothesis.is_empty() {
            facts.push(("hypothesis", branch.hypothesis.clone()));
        }
        for claim in &branch.claims {
            let claim = toml::to_string(claim).unwrap_or_default();
            facts.push(("expected", claim.trim().replace('\n', ", ")));
        }
        tell_row(out, &format!("{}{}", branch.name, remarks(branch)), &facts)?;
    }
    writeln!(out)
}

fn tell_workloads(out: &mut String, workloads: &[Description]) -> fmt::Result {
    let sizes = Size::ALL.map(Size::name).join(" · ");
    heading(
        out,
        &format!("WORKLOADS ({sizes}; `--parameter NAME=VALUE` overrides)"),
    )?;
    for workload in workloads {
        writeln!(out, "{}", workload.name)?;
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut add = |label: &str, what: String| rows.push((format!("    {label}"), what));
        add("does", workload.summary.clone());
        add("stresses", workload.stresses.clone());
        if let Some(what) = &workload.counts {
            add("measured", what.clone());
        }
        if let Some(unit) = &workload.charge {
            add(
                "simulated",
                format!("yes, with `--machine NAME`; its unit of work is `{unit}`"),
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
        write!(out, "{}", labelled(rows, [24, PAGE], ""))?;
    }
    Ok(())
}

fn tell_experiments(out: &mut String, experiments: &[Definition]) -> fmt::Result {
    writeln!(out)?;
    heading(
        out,
        "EXPERIMENTS (`sweep --experiment NAME`; options override the values here)",
    )?;
    // A space follows each comma, so that lines can be broken there.
    let said = |value: &Option<String>| value.as_deref().unwrap_or_default().replace(',', ", ");
    for it in experiments {
        let (workloads, size) = (said(&it.workloads), said(&it.size));
        let sets = count(it.cells.len(), "set of parameters", "sets of parameters");
        let trials = it.trials.unwrap_or_default();
        let mut facts = vec![
            ("shows", it.shows.clone()),
            ("workloads", format!("{workloads}, size {size}, {sets}")),
            ("branches", said(&it.branches)),
            ("threads", format!("{}; {trials} trials", said(&it.threads))),
        ];
        if !it.source.is_empty() {
            facts.push(("source", it.source.clone()));
        }
        let placements = it.placement.unwrap_or_default().placements();
        if !is_free(&placements) {
            let words = placements
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            facts.push(("placement", words));
        }
        tell_row(out, &it.name, &facts)?;
    }
    Ok(())
}

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

fn tell_machines(out: &mut String, machines: &[Machine]) -> fmt::Result {
    writeln!(out)?;
    heading(out, "MACHINES (simulated; `--machine` takes these names)")?;
    for it in machines {
        tell_row(
            out,
            &it.name,
            &[("is", it.title.clone()), ("has", size(it))],
        )?;
    }
    Ok(())
}
