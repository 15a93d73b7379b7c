//! The workloads that there are, as their crates wrote them down: nothing of them is linked, so that the tool speaks
//! whether or not a pool compiles.

use std::sync::LazyLock;

use protocol::Description;

/// What one crate says of its workloads, as it was when the runner was built, in the same checkout.
#[derive(Debug)]
pub struct File {
    /// Where it lies in a checkout.
    pub path: &'static str,
    /// The crate.
    pub package: &'static str,
    pub(crate) text: &'static str,
}

/// The workloads, then the services.
static FILES: [File; 2] = [
    File {
        path: "workloads/catalogue.json",
        package: "workloads",
        text: include_str!("../../../workloads/catalogue.json"),
    },
    File {
        path: "workloads/services/catalogue.json",
        package: "services",
        text: include_str!("../../../workloads/services/catalogue.json"),
    },
];

/// The workloads of the original study, which most sweeps run.
pub const STUDY: [&str; 3] = ["quicksort", "tsp", "packets"];

/// What a branch is built with: the less, the sooner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Programs {
    /// [`STUDY`] alone.
    Study,
    /// All workloads, without the services.
    Workloads,
    /// Services, too.
    Services,
}

impl Programs {
    /// The least that has the workload called `name`.
    pub(crate) fn with(name: &str) -> Self {
        let least = [Self::Study, Self::Workloads].into_iter().find(|it| it.has(name));
        least.unwrap_or(Self::Services)
    }

    /// Whether the workload called `name` is among them.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        match self {
            Self::Study => STUDY.contains(&name),
            Self::Workloads => !is_service(name),
            Self::Services => true,
        }
    }

    /// The files that describe them.
    pub(crate) fn files(self) -> &'static [File] {
        if self == Self::Services { &FILES } else { &FILES[..1] }
    }
}

impl File {
    /// The command that writes it anew.
    pub(crate) fn renew(&self) -> String {
        format!("cargo run -p {} -- list --json > {}", self.package, self.path)
    }

    fn descriptions(&self) -> Vec<Description> {
        serde_json::from_str(self.text)
            .unwrap_or_else(|error| panic!("{}: {error}; renew it: {}", self.path, self.renew()))
    }
}

static ALL: LazyLock<Vec<Description>> =
    LazyLock::new(|| FILES.iter().flat_map(File::descriptions).collect());

static NAMES_OF_SERVICES: LazyLock<Vec<&str>> =
    LazyLock::new(|| FILES[1].descriptions().iter().map(|it| it.name).collect());

/// Every workload, in the order in which it is listed.
///
/// # Panics
/// If a file is not as the workloads write it.
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

/// Whether the workload called `name` is a service.
fn is_service(name: &str) -> bool {
    NAMES_OF_SERVICES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_has_a_name_of_its_own_and_a_service_is_known_as_one() {
        let mut names = names();
        assert!(is_service("kv") && !is_service("quicksort"));
        let least = ["tsp", "fib-join", "kv"].map(Programs::with);
        assert_eq!(least, [Programs::Study, Programs::Workloads, Programs::Services]);
        assert!(STUDY.iter().all(|name| names.contains(name)));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
