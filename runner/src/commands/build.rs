//! `build`: one trusted binary per branch.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Error, Result, bail};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::builds::{Builder, Built};
use crate::config::Branch;
use crate::exit::exit_of;
use crate::interrupt;
use crate::options::complete;
use crate::pick::pick;
use crate::place::Place;
use crate::progress::{BuildBar, human};
use crate::stop::{Exit, Stop};

/// Arguments of `build`.
#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// Names, globs, `all`, `!exclusions`, separated by commas
    #[arg(long, value_name = "LIST", default_value = "all",
          add = ArgValueCompleter::new(complete::branches))]
    branches: String,
}

/// What `--help` says below the options.
pub(crate) const HELP: &str = "\
Example:
  cargo runner build --branches 'all,!*jec*'";

pub(crate) fn run(place: &Place, arguments: &BuildArgs) -> Result<Exit> {
    let config = place.config()?;
    let known: Vec<&str> = config.branches.iter().map(|branch| branch.name.as_str()).collect();
    let picked = pick("--branches", "branch", &arguments.branches, &known)?;
    let branches: Vec<Branch> = config
        .branches
        .iter()
        .filter(|branch| picked.contains(&branch.name.as_str()))
        .cloned()
        .collect();
    interrupt::install()?;
    let folder = place.config_folder()?;
    let builder = Builder::new(&place.checkout, &folder, 1)?;
    let (built, failed) = all(&builder, &branches, true)?;
    for branch in &branches {
        if let Some(built) = built.get(&branch.name) {
            println!("{} {}", branch.name, built.binaries[0].display());
        }
    }
    Ok(if failed.is_empty() { Exit::Good } else { Exit::BuildFailed })
}

/// Binaries, and why some branches have none.
pub(crate) type Builds = (BTreeMap<String, Built>, BTreeMap<String, Error>);

/// Builds branches one after another and says so. A failure stops, or is kept and told.
pub(crate) fn all(builder: &Builder<'_>, branches: &[Branch], keeps_going: bool) -> Result<Builds> {
    // What can be told at once is told before minutes go into other branches.
    branches.iter().try_for_each(|branch| builder.check_folder(branch))?;
    let _lock = builder.lock()?;
    let mut failed = BTreeMap::new();
    let mut keep = |branch: &Branch, error: Error, bar: Option<&BuildBar>| {
        if !keeps_going || exit_of(&error) != Exit::BuildFailed {
            return Err(error);
        }
        let text =
            format!("error: {error:#}\n(end of the error; going on without `{}`)", branch.name);
        bar.map_or_else(|| eprintln!("{text}"), |bar| bar.say(&text));
        failed.insert(branch.name.clone(), error);
        Ok(())
    };
    let mut prepared = Vec::new();
    for branch in branches {
        match builder.prepare(branch) {
            Ok(resolved) => prepared.push((branch, resolved)),
            Err(error) => keep(branch, error, None)?,
        }
    }
    let sources = builder.shared_sources(branches)?;
    let mut built = BTreeMap::new();
    let left: Vec<Branch> = prepared.iter().map(|(branch, _)| (*branch).clone()).collect();
    let mut bar = BuildBar::new(builder.expected(&left)?);
    for (branch, resolved) in prepared {
        bar.begin(&branch.name);
        let started = Instant::now();
        match builder.build(branch, resolved) {
            Ok(done) => {
                let took = started.elapsed();
                bar.end(&format!("{} ({})", done.receipt.variant, human(took)));
                builder.learn(branch, took)?;
                built.insert(branch.name.clone(), done);
            }
            Err(error) => {
                let is_interrupted = exit_of(&error) == Exit::Interrupted;
                bar.end(if is_interrupted { "interrupted" } else { "failed" });
                keep(branch, error, Some(&bar))?;
            }
        }
    }
    bar.finish();
    if builder.shared_sources(branches)? != sources {
        // The branches would differ in more than their rayon-core.
        bail!(Stop::BuildFailed(
            "workloads/, rayon-fork/ or a working tree was edited while branches were being built; run again"
                .to_owned()
        ));
    }
    Ok((built, failed))
}
