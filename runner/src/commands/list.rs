//! `list`: branches, workloads and experiments.

use std::io::{self, Write};

use anyhow::Result;
use serde_json::json;
use workloads::workload::{self, Description, Size};

use super::Place;
use crate::cli::{ListArgs, ListFormat, ListWhat};
use crate::config::Config;
use crate::experiments::{self, Experiment};
use crate::stop::Exit;

pub(crate) fn run(place: &Place, arguments: &ListArgs) -> Result<Exit> {
    let wants = |what| arguments.what.is_none_or(|wanted| wanted == what);
    let config = wants(ListWhat::Branches).then(|| place.config()).transpose()?;
    let workloads: Vec<&Description> =
        workload::catalogue().iter().map(|workload| workload.description()).collect();
    let experiments = wants(ListWhat::Experiments)
        .then(|| experiments::read(place.checkout.root()))
        .transpose()?;
    let mut out = io::stdout().lock();
    if arguments.format == ListFormat::Json {
        let mut all = json!({});
        if let Some(config) = &config {
            all["branches"] = serde_json::to_value(&config.branches)?;
        }
        if wants(ListWhat::Workloads) {
            all["workloads"] = serde_json::to_value(&workloads)?;
        }
        if let Some(experiments) = &experiments {
            all["experiments"] = serde_json::to_value(experiments)?;
        }
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(Exit::Good);
    }
    if let Some(config) = &config {
        print_branches(&mut out, config)?;
    }
    if wants(ListWhat::Workloads) {
        print_workloads(&mut out, &workloads)?;
    }
    if let Some(experiments) = &experiments {
        print_experiments(&mut out, experiments)?;
    }
    Ok(Exit::Good)
}

fn print_branches(out: &mut impl Write, config: &Config) -> io::Result<()> {
    writeln!(out, "BRANCHES ({} in all; `--branches` takes these names)\n", config.branches.len())?;
    for branch in &config.branches {
        let mark = if branch.baseline { " (baseline)" } else { "" };
        writeln!(out, "{}{mark}", branch.name)?;
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

fn print_workloads(out: &mut impl Write, workloads: &[&Description]) -> io::Result<()> {
    writeln!(out, "WORKLOADS (sizes: {})\n", Size::ALL.map(Size::name).join(", "))?;
    for workload in workloads {
        writeln!(out, "{}", workload.name)?;
        writeln!(out, "    does        {}", workload.summary)?;
        writeln!(out, "    stresses    {}", workload.stresses)?;
        if let Some(input) = workload.input {
            writeln!(out, "    --input     {input}")?;
        }
        let at_small = workload.parameters_of(Size::Small);
        for parameter in workload.parameters {
            writeln!(
                out,
                "    --parameter {}={} at small; {}: {}",
                parameter.name, at_small[parameter.name], parameter.accepts, parameter.summary
            )?;
        }
    }
    Ok(())
}

fn print_experiments(out: &mut impl Write, experiments: &[Experiment]) -> io::Result<()> {
    writeln!(out, "\nEXPERIMENTS (`sweep --experiment NAME`; options override what they set)\n")?;
    for it in experiments {
        writeln!(out, "{}", it.name)?;
        writeln!(out, "    shows       {}", it.shows)?;
        writeln!(out, "    source      {}", it.source)?;
        writeln!(
            out,
            "    workloads   {}, size {}, {} sets",
            it.workloads,
            it.size,
            it.cells.len()
        )?;
        writeln!(out, "    branches    {}", it.branches)?;
        writeln!(out, "    threads     {}; {} trials", it.threads, it.trials)?;
        writeln!(out, "    command     cargo runner sweep --experiment {}", it.name)?;
    }
    Ok(())
}
