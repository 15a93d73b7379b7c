//! The branches of branches.toml.

use anyhow::Result;
use runner::config::checkout::Checkout;
use runner::config::{Branch, Config, Source};

/// Those that are built of the fork.
pub(crate) fn of_the_fork(checkout: &Checkout) -> Result<Vec<Branch>> {
    let mut branches = Config::read(&checkout.root().join("branches.toml"))?.branches;
    branches.retain(|branch| matches!(branch.source, Source::Fork { .. }));
    Ok(branches)
}
