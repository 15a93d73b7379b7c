//! `build`: one trusted binary per branch.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Error, Result, bail};

use super::Place;
use crate::builds::{Builder, Built};
use crate::cli::BuildArgs;
use crate::config::Branch;
use crate::progress::human;
use crate::stop::{Exit, Stop, exit_of};
use crate::{interrupt, selection};

pub(crate) fn run(place: &Place, arguments: &BuildArgs) -> Result<Exit> {
    let config = place.config()?;
    let known: Vec<&str> = config.branches.iter().map(|branch| branch.name.as_str()).collect();
    let picked = selection::pick("--branches", "branch", &arguments.branches, &known)?;
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
    let _lock = builder.lock()?;
    // What can be told at once is told before minutes go into other branches.
    branches.iter().try_for_each(|branch| builder.check_folder(branch))?;
    let sources = builder.shared_sources(branches)?;
    let mut built = BTreeMap::new();
    let mut failed = BTreeMap::new();
    for (index, branch) in branches.iter().enumerate() {
        eprint!("building {}/{} {} … ", index + 1, branches.len(), branch.name);
        let started = Instant::now();
        match builder.build(branch) {
            Ok(done) => {
                eprintln!("{} ({})", done.receipt.variant, human(started.elapsed()));
                built.insert(branch.name.clone(), done);
            }
            Err(error) => {
                let exit = exit_of(&error);
                eprintln!("{}", if exit == Exit::Interrupted { "interrupted" } else { "failed" });
                if !keeps_going || exit != Exit::BuildFailed {
                    return Err(error);
                }
                eprintln!(
                    "error: {error:#}\n(end of the error; going on without `{}`)",
                    branch.name
                );
                failed.insert(branch.name.clone(), error);
            }
        }
    }
    if builder.shared_sources(branches)? != sources {
        // The branches would differ in more than their rayon-core.
        bail!(Stop::BuildFailed(
            "workloads/ or rayon-fork/ was edited while branches were being built; run again"
                .to_owned()
        ));
    }
    Ok((built, failed))
}
