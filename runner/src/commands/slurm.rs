//! `slurm`: a job array in which each task measures one shard.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::{fs, iter};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Parser};
use jiff::Timestamp;

use super::sweep::{self, SweepArgs};
use crate::host::Host;
use crate::options::meaning::{asked, builds};
use crate::options::{Globals, Selection};
use crate::page::quoted;
use crate::plan::{self, Shard};
use crate::progress::count;
use crate::project::Project;
use crate::stop::{Exit, Stop};

/// What `--help` says below the options.
pub(crate) const HELP: &str = "\
Examples:
  cargo runner slurm --shards 8 -- --branches all --preset full
  cargo runner slurm --shards 4 --cpus-per-task 64 --sbatch=--partition=long --sbatch=--time=8:00:00 -- --workloads tsp

Writes results/shards/NAME/job.sh, and prints how to submit it and how to merge the shards.
Nodes must be alike and see this checkout at the same path. A restarted task resumes its shard.";

/// Arguments of `slurm`.
#[derive(Debug, Args)]
pub(crate) struct SlurmArgs {
    /// Number of array tasks, each on a machine of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    shards: u32,
    /// CPUs of a task [default: those of this host]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cpus_per_task: Option<u32>,
    /// Any other option of sbatch, such as --sbatch=--partition=long; may be repeated
    #[arg(long = "sbatch", value_name = "OPTION", allow_hyphen_values = true)]
    options: Vec<String>,
    /// Folder below results/shards [default: the time]
    #[arg(long)]
    name: Option<String>,
    /// Options of `sweep`, after `--`
    #[arg(last = true, value_name = "SWEEP-OPTION")]
    sweep: Vec<String>,
}

pub(crate) fn run(project: &Project, arguments: &SlurmArgs) -> Result<Exit> {
    let shards = arguments.shards;
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ").to_string(),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        bail!(Stop::BadInput(format!(
            "--name `{name}`: it becomes a folder; use letters, digits, `_`, `-` and `.`"
        )));
    }
    if let Some(wrong) =
        arguments.options.iter().find(|option| !option.starts_with('-') || option.contains('\n'))
    {
        bail!(Stop::BadInput(format!(
            "--sbatch `{wrong}`: is no option of sbatch; write for example --sbatch=--partition=long"
        )));
    }
    // Errors that the tasks would meet hours later are reported now.
    let sweep = sweep_selection(&arguments.sweep, Shard { number: 1, of: shards })?;
    let (asked, branches) = asked(project, None, &sweep)?;
    let sources = builds(&asked, &branches)
        .into_iter()
        .map(|branch| (branch.name, branch.source.to_string()))
        .collect();
    let whole = plan::order(&asked, &sources);
    if whole.blocks() < shards as usize {
        bail!(Stop::BadInput(format!(
            "--shards {shards}: the plan has only {}; ask for fewer shards or more --trials",
            count(whole.blocks(), "block", "blocks")
        )));
    }
    let shown = format!("results/shards/{name}");
    let folder = project.checkout.root().join(&shown);
    if folder.exists() {
        bail!(Stop::BadInput(format!("{shown} exists already; choose another --name")));
    }
    fs::create_dir_all(&folder).with_context(|| format!("{shown} cannot be made"))?;
    let script = folder.join("job.sh");
    fs::write(&script, job(project, arguments, &name))
        .and_then(|()| fs::set_permissions(&script, fs::Permissions::from_mode(0o755)))
        .with_context(|| format!("{shown}/job.sh cannot be written"))?;
    tell!(
        "{}, {} in {}",
        count(whole.len(), "trial", "trials"),
        count(whole.blocks(), "block", "blocks"),
        count(shards as usize, "shard", "shards")
    );
    println!("sbatch {shown}/job.sh\ncargo runner merge {shown}");
    Ok(Exit::Good)
}

/// The options of `sweep` that each task is given.
#[derive(Debug, Parser)]
#[command(name = "cargo runner sweep", bin_name = "cargo runner sweep", after_help = sweep::HELP)]
struct SweepLine {
    #[command(flatten)]
    sweep: SweepArgs,
    #[command(flatten)]
    _globals: Globals,
}

/// What the options of a shard's `sweep` select; clap words the errors in them.
fn sweep_selection(options: &[String], shard: Shard) -> Result<Selection> {
    let shard = format!("--shard={shard}");
    let words = iter::once("sweep").chain(options.iter().map(String::as_str));
    let line = SweepLine::try_parse_from(words.chain([shard.as_str()])).map_err(|error| {
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        Stop::BadInput(format!("after `--`: {text}"))
    })?;
    if line.sweep.resume.is_some() || line.sweep.output.is_some() {
        bail!(Stop::BadInput(
            "after `--`: --resume and --output are given by the script; leave them out".to_owned()
        ));
    }
    Ok(line.sweep.selection)
}

fn job(project: &Project, arguments: &SlurmArgs, name: &str) -> String {
    let SlurmArgs { shards, cpus_per_task, options, sweep, .. } = arguments;
    let cpus = cpus_per_task.map_or_else(Host::usable_cpus, |cpus| cpus as usize);
    let root = project.checkout.root().display().to_string();
    let mut more = String::new();
    for option in options {
        let _ = writeln!(more, "#SBATCH {option}");
    }
    let mut words: Vec<String> = sweep.iter().map(|word| quoted(word)).collect();
    // The tasks run in the checkout, wherever this command was typed.
    words.extend(project.other_config().map(|file| format!("--config {}", quoted(&file))));
    words.insert(0, "cargo runner sweep".to_owned());
    let command = words.join(" ");
    let root = quoted(&root);
    format!(
        r#"#!/usr/bin/env bash
# Written by `cargo runner slurm`. Each task of the array measures one shard of the sweep on a machine that
# it has to itself; `cargo runner merge results/shards/{name}` puts them together.
#SBATCH --job-name=runner-{name}
#SBATCH --array=1-{shards}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={cpus}
#SBATCH --exclusive
#SBATCH --output=results/shards/{name}/task-%a.log
#SBATCH --open-mode=append
#SBATCH --chdir={root}
{more}set -euo pipefail

shard="$SLURM_ARRAY_TASK_ID"
folder="results/shards/{name}/$shard-of-{shards}"
# A task that is started again goes on with what it has.
if compgen -G "$folder/*/manifest.json" > /dev/null; then
    exec cargo runner sweep --resume latest --output "$folder"
fi
exec {command} --shard "$shard/{shards}" --output "$folder"
"#
    )
}
