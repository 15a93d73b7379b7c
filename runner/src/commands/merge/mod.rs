//! `merge`: joins the shards of one plan into one sweep, or adds the results that other hosts sent.

mod hosts;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::Value;

use crate::options::Project;
use crate::plan::{self, Plan, Shard};
use crate::record::manifest::{Manifest, MergedShard, identities, sweep_name};
use crate::record::summary::not_planned;
use crate::record::sweep_dir::{self, SweepDir};
use crate::record::trials_file;
use crate::stop::{Exit, Stop};
use crate::system::digest::Id;
use crate::text::output::print;
use crate::text::words::{count, moment};

pub(crate) const HELP: &str = "\
Examples:
  cargo runner sweep --branches all --shard 1/2      on one machine
  cargo runner sweep --branches all --shard 2/2      on another, from the same checkout and path
  cargo runner merge results/sweeps/*-shard-1-of-2 results/sweeps/*-shard-2-of-2
  cargo runner merge results/shards/2026-03-01T120000Z
  cargo runner merge 1a2b3c.tar.zst        a file that `on-this-host` packed on another host

`show`, `report` and `analysis` read the merged sweep like any other. Its folder `shards` keeps each \
shard's manifest and host facts.";

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Sweeps made with --shard, or folders that hold them; or files that `on-this-host` packed
    #[arg(required = true, value_name = "DIR|FILE")]
    shards: Vec<PathBuf>,
    /// Parent folder of the merged sweep [default: results/sweeps]; of a packed file, the folder
    /// that gets its `sweeps` and `hosts` [default: results]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

struct Part {
    sweep: SweepDir,
    manifest: Manifest,
    shard: Shard,
    host: Value,
}

pub(crate) fn run(project: &Project, arguments: &MergeArgs) -> Result<Exit> {
    if let Some(path) = arguments.shards.iter().find(|path| !path.exists()) {
        bail!(Stop::BadInput(format!(
            "{}: there is no such file or folder",
            path.display()
        )));
    }
    let is_file = |path: &PathBuf| path.is_file();
    if arguments.shards.iter().all(is_file) {
        return hosts::run(project, &arguments.shards, arguments.output.as_deref());
    }
    if let Some(file) = arguments.shards.iter().find(|path| is_file(path)) {
        bail!(Stop::BadInput(format!(
            "{}: name either files of other hosts or shards; a command cannot take both",
            file.display()
        )));
    }
    let mut parts = Vec::new();
    for folder in &arguments.shards {
        let sweeps = SweepDir::below(folder);
        if sweeps.is_empty() {
            bail!(Stop::BadInput(format!(
                "{}: no sweep there; name the folders that `sweep --shard` wrote",
                folder.display()
            )));
        }
        for sweep in sweeps {
            parts.push(read(project, sweep)?);
        }
    }
    parts.sort_by_key(|part| part.shard);
    let first = &parts[0].manifest;
    check_same_plan(project, &parts)?;
    let whole = plan::order(&first.asked, &identities(first.builds()));
    if whole.digest() != first.plan_digest {
        bail!(Stop::BadInput(format!(
            "{} was begun by runner {}, which orders trials differently; merge it with that version",
            first.name, first.runner
        )));
    }
    let trials = find_trials(project, &parts, &whole)?;
    warn(&parts, trials.len(), whole.len());
    let parent = project.sweeps(arguments.output.as_deref());
    sweep_dir::check_parent(&parent)?;
    let manifest = merged_manifest(&parts, whole.len());
    let fill = |folder: &Path| {
        let lines: Vec<&[u8]> = trials.iter().map(|(_, line)| &**line).collect();
        fs::write(trials_file::of(folder), lines.concat())?;
        trials_file::pack(folder)?;
        for part in &parts {
            let own = folder.join(format!("shards/{}-of-{}", part.shard.number, part.shard.of));
            fs::create_dir_all(&own)?;
            for file in ["manifest.json", "host.json"] {
                fs::copy(part.sweep.path().join(file), own.join(file))?;
            }
        }
        Ok(())
    };
    let sweep = SweepDir::create(&parent, &manifest, &parts[0].host, fill)?;
    tell!(
        "{} of {} from {}",
        count(trials.len(), "trial", "trials"),
        whole.len(),
        count(parts.len(), "shard", "shards")
    );
    print(&format!("{}\n", project.checkout.shown(sweep.path())))?;
    Ok(Exit::Good)
}

fn read(project: &Project, sweep: SweepDir) -> Result<Part> {
    let manifest = sweep.manifest()?;
    let Some(shard) = manifest.shard else {
        bail!(Stop::BadInput(format!(
            "{}: is a whole sweep; only shards made with `sweep --shard` can be merged",
            project.checkout.shown(sweep.path())
        )));
    };
    let host = sweep.host()?;
    Ok(Part {
        sweep,
        manifest,
        shard,
        host,
    })
}

fn check_same_plan(project: &Project, parts: &[Part]) -> Result<()> {
    let shown = |part: &Part| project.checkout.shown(part.sweep.path());
    for (a, b) in parts.iter().zip(&parts[1..]) {
        let both = format!("{} and {}", shown(a), shown(b));
        if a.shard == b.shard {
            bail!(Stop::BadInput(format!(
                "shard {} is there twice, in {both}; leave one out",
                a.shard
            )));
        }
        let plan = |part: &Part| {
            let manifest = &part.manifest;
            let (asked, digest) = (manifest.asked.clone(), manifest.plan_digest.clone());
            (
                part.shard.of,
                asked,
                digest,
                manifest.arguments_sha256.clone(),
            )
        };
        if plan(a) != plan(b) {
            bail!(Stop::BadInput(format!(
                "{both} are parts of different plans; merge only shards that were begun with the same options from the \
                 same commit, with the checkout at the same path"
            )));
        }
    }
    Ok(())
}

/// A trial's line, with its block and position in the plan.
type TrialLine = ((usize, usize), Vec<u8>);

fn find_trials(project: &Project, parts: &[Part], whole: &Plan) -> Result<Vec<TrialLine>> {
    let mut found: Vec<TrialLine> = Vec::new();
    for part in parts {
        let own = whole.clone().part(Some(part.shard));
        let own: HashMap<Id, (usize, usize)> = own
            .trials()
            .map(|trial| (trial.id, (trial.block, trial.position)))
            .collect();
        let mut records = part.sweep.records()?;
        while let Some(record) = records.next() {
            let record = record?;
            if !part.manifest.knows(&record) {
                bail!(not_planned(&part.sweep, &record));
            }
            let trial = record.trial;
            let Some(order) = own.get(&trial) else {
                bail!(Stop::BadInput(format!(
                    "{}: trial {trial} does not belong to shard {}; restore the original file",
                    project.checkout.shown(part.sweep.path()),
                    part.shard
                )));
            };
            found.push((*order, records.line().to_owned()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn warn(parts: &[Part], present: usize, planned: usize) {
    let of = parts[0].shard.of;
    let numbers: HashSet<u32> = parts.iter().map(|part| part.shard.number).collect();
    let missing: Vec<String> = (1..=of)
        .filter(|number| !numbers.contains(number))
        .map(|it| it.to_string())
        .collect();
    if !missing.is_empty() {
        tell!(
            "warning: of {of} shards these are missing: {}",
            missing.join(", ")
        );
    } else if present < planned {
        tell!(
            "warning: some shards are not finished: {} of {planned} trials are missing",
            planned - present
        );
    }
    for fact in [
        "/cpu/model_name",
        "/cpu/microcode",
        "/cpus_usable",
        "/cores",
        "/kernel/osrelease",
        "/kernel/membarrier",
        "/frequency/scaling_driver",
        "/frequency/scaling_governor",
    ] {
        let of = |part: &Part| part.host.pointer(fact).cloned().unwrap_or_default();
        if let Some(other) = parts.iter().find(|part| of(part) != of(&parts[0])) {
            tell!(
                "warning: the shards' machines differ in {fact}: {} and {}. Branches are compared inside blocks, each on one \
                 machine; speed-ups compare blocks of different machines",
                of(&parts[0]),
                of(other)
            );
        }
    }
}

fn merged_manifest(parts: &[Part], trials_planned: usize) -> Manifest {
    let first = &parts[0].manifest;
    let hosts: HashSet<&str> = parts
        .iter()
        .map(|part| part.manifest.host.as_str())
        .collect();
    let host = if hosts.len() == 1 {
        first.host.clone()
    } else {
        format!("{}-hosts", hosts.len())
    };
    let created_at = SystemTime::now();
    let shards = parts
        .iter()
        .map(|part| MergedShard {
            shard: part.shard,
            name: part.manifest.name.clone(),
            host: part.manifest.host.clone(),
        })
        .collect();
    Manifest {
        name: format!("{}-merged", sweep_name(created_at, &host, &first.checkout)),
        created_at: moment(created_at),
        host,
        shard: None,
        shards,
        trials_planned,
        runs: parts
            .iter()
            .flat_map(|part| part.manifest.runs.iter().cloned())
            .collect(),
        ..first.clone()
    }
}
