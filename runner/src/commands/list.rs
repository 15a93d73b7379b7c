//! `list`: branches and workloads.

use anyhow::Result;
use serde_json::json;
use workloads::workload::{self, Description, Size};

use super::Place;
use crate::cli::{ListArgs, ListFormat, ListWhat};
use crate::config::Config;
use crate::stop::Exit;

pub(crate) fn run(place: &Place, arguments: &ListArgs) -> Result<Exit> {
    let wants = |what| arguments.what.is_none_or(|wanted| wanted == what);
    let config = wants(ListWhat::Branches).then(|| place.config()).transpose()?;
    let workloads: Vec<&Description> =
        workload::catalogue().iter().map(|workload| workload.description()).collect();
    if arguments.format == ListFormat::Json {
        let mut all = json!({});
        if let Some(config) = &config {
            all["branches"] = serde_json::to_value(&config.branches)?;
        }
        if wants(ListWhat::Workloads) {
            all["workloads"] = serde_json::to_value(&workloads)?;
        }
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(Exit::Good);
    }
    if let Some(config) = &config {
        print_branches(config);
    }
    if wants(ListWhat::Workloads) {
        print_workloads(&workloads);
    }
    Ok(Exit::Good)
}

fn print_branches(config: &Config) {
    println!("BRANCHES ({} in all; `--branches` takes these names)\n", config.branches.len());
    for branch in &config.branches {
        let mark = if branch.baseline { " (baseline)" } else { "" };
        println!("{}{mark}", branch.name);
        println!("    source      {}", branch.source);
        if !branch.hypothesis.is_empty() {
            println!("    hypothesis  {}", branch.hypothesis);
        }
    }
    println!();
}

fn print_workloads(workloads: &[&Description]) {
    println!("WORKLOADS (sizes: {})\n", Size::ALL.map(Size::name).join(", "));
    for workload in workloads {
        println!("{}", workload.name);
        println!("    does        {}", workload.summary);
        println!("    stresses    {}", workload.stresses);
        if let Some(input) = workload.input {
            println!("    --input     {input}");
        }
        let at_small = workload.parameters_of(Size::Small);
        for parameter in workload.parameters {
            println!(
                "    --parameter {}={} at small; {}: {}",
                parameter.name, at_small[parameter.name], parameter.accepts, parameter.summary
            );
        }
    }
}
