//! The workloads that there are, as their crates wrote them down: nothing of them is linked, so that the tool speaks
//! whether or not a pool compiles.

use std::sync::LazyLock;

use protocol::Description;

/// Where the catalogue lies in a checkout.
pub const FILE: &str = "workloads/catalogue.json";

/// What writes it.
pub const RENEW: &str = "cargo run -p workloads -- list --json > workloads/catalogue.json";

/// As it was when the runner was built, in the same checkout.
pub(crate) const TEXT: &str = include_str!("../../workloads/catalogue.json");

static ALL: LazyLock<Vec<Description>> = LazyLock::new(|| {
    serde_json::from_str(TEXT)
        .unwrap_or_else(|error| panic!("{FILE}: {error}; renew it by `{RENEW}`"))
});

/// Every workload, in the order in which it is listed.
///
/// # Panics
/// If the file is not as a build of the workloads writes it.
#[must_use]
pub fn all() -> &'static [Description] {
    &ALL
}

/// The workload called `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Description> {
    all().iter().find(|description| description.name == name)
}

/// Names of all workloads.
#[must_use]
pub fn names() -> Vec<&'static str> {
    all().iter().map(|description| description.name).collect()
}
