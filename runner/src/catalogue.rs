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
        text: include_str!("../../workloads/catalogue.json"),
    },
    File {
        path: "workloads/services/catalogue.json",
        package: "services",
        text: include_str!("../../workloads/services/catalogue.json"),
    },
];

/// The files for a program with or without the services.
#[must_use]
pub fn files(with_services: bool) -> &'static [File] {
    if with_services { &FILES } else { &FILES[..1] }
}

impl File {
    /// The command that writes it anew.
    #[must_use]
    pub fn renew(&self) -> String {
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

/// Whether the workload called `name` is a service, which a program has only if it is built with them.
#[must_use]
pub fn is_service(name: &str) -> bool {
    NAMES_OF_SERVICES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_has_a_name_of_its_own_and_a_service_is_known_as_one() {
        let mut names = names();
        assert!(is_service("kv") && !is_service("quicksort"));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
