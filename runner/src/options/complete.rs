//! Completes names that only a checkout knows: branches, workloads, experiments.

use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;

use crate::catalogue;
use crate::checkout::Checkout;
use crate::config::Config;
use crate::experiments;

/// Names that go on with the last word of a list with commas, behind the words before it.
fn listed(current: &OsStr, names: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let split = current.rfind(',').map_or(0, |comma| comma + 1);
    let (before, last) = current.split_at(split);
    let (mark, last) = last.strip_prefix('!').map_or(("", last), |rest| ("!", rest));
    names
        .into_iter()
        .filter(|name| name.starts_with(last))
        .map(|name| CompletionCandidate::new(format!("{before}{mark}{name}")))
        .collect()
}

pub(crate) fn branches(current: &OsStr) -> Vec<CompletionCandidate> {
    // Commands report what is wrong with the file; completion does not.
    let names = || {
        let root = Checkout::find(None).ok()?.root().to_owned();
        let config = Config::read(&root.join("branches.toml")).ok()?;
        Some(config.branches.into_iter().map(|branch| branch.name).collect::<Vec<_>>())
    };
    listed(current, names().unwrap_or_default())
}

pub(crate) fn workloads(current: &OsStr) -> Vec<CompletionCandidate> {
    listed(current, catalogue::names().into_iter().map(str::to_owned))
}

pub(crate) fn experiments(current: &OsStr) -> Vec<CompletionCandidate> {
    let all = Checkout::find(None).and_then(|checkout| experiments::read(checkout.root()));
    listed(current, all.unwrap_or_default().into_iter().map(|experiment| experiment.name))
}
