//! The branches of branches.toml.

use anyhow::Result;
use runner::config::checkout::Checkout;
use runner::config::{Branch, Config, Source};

/// All of them.
pub(crate) fn read(checkout: &Checkout) -> Result<Config> {
    Ok(Config::read(&checkout.root().join("branches.toml"))?)
}

/// Those that are built of the fork.
pub(crate) fn of_the_fork(checkout: &Checkout) -> Result<Vec<Branch>> {
    let mut branches = read(checkout)?.branches;
    branches.retain(|branch| matches!(branch.source, Source::Fork { .. }));
    Ok(branches)
}
