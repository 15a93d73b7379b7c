//! The branches of all files that name some.

use anyhow::Result;
use runner::checkout::Checkout;
use runner::config::{Branch, Config, Source};
use runner::stop::Stop;

/// Where branches are named; a name in several files is one branch.
const BRANCH_FILES: [&str; 2] = ["branches.toml", "branches-more.toml"];

/// Those branches of all files that are built of the fork, each once.
pub(crate) fn of_the_fork(checkout: &Checkout) -> Result<Vec<Branch>> {
    let mut branches = all(checkout)?;
    branches.retain(|branch| matches!(branch.source, Source::Fork { .. }));
    Ok(branches)
}

/// The branches of all files, each once.
pub(crate) fn all(checkout: &Checkout) -> Result<Vec<Branch>> {
    let mut all: Vec<Branch> = Vec::new();
    for file in BRANCH_FILES {
        for branch in Config::read(&checkout.root().join(file))?.branches {
            match all.iter().find(|known| known.name == branch.name) {
                None => all.push(branch),
                Some(known) if known.source == branch.source => {}
                Some(_) => anyhow::bail!(Stop::BadInput(format!(
                    "{file}: branch `{}` is built otherwise than in {}; rename one",
                    branch.name, BRANCH_FILES[0]
                ))),
            }
        }
    }
    Ok(all)
}
