//! The workloads that there are, as their crates wrote them down: nothing of them is linked, so
//! that the tool speaks whether or not a pool compiles.

use std::sync::LazyLock;

use protocol::{Description, WholeProgram, WholePrograms};

use crate::config::pick::Known;

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

/// The group of the whole programs, which `all` leaves out: each takes minutes to build.
pub const GROUP: &str = "programs";

/// Where the file of whole programs lies in a checkout, beside those that the registry does not
/// have.
pub(crate) const WHOLE_FILE: &str = "workloads/programs/programs.toml";

/// The whole programs, each with its description as a workload.
static WHOLE: LazyLock<Vec<(WholeProgram, Description)>> = LazyLock::new(|| {
    let text = include_str!("../../../workloads/programs/programs.toml");
    let rows: WholePrograms =
        toml::from_str(text).unwrap_or_else(|error| panic!("{WHOLE_FILE}: {error}"));
    rows.program
        .into_iter()
        .map(|row| (row.description(), row))
        .map(|(it, row)| (row, it))
        .collect()
});

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
    /// The study's, and the whole programs of these names.
    Whole(&'static [&'static str]),
}

impl Programs {
    /// The least that has the workloads of these names.
    pub(crate) fn with<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        let whole = WHOLE
            .iter()
            .map(|(_, it)| it.name)
            .filter(|name| names.contains(name));
        let whole: Vec<&str> = whole.collect();
        if !whole.is_empty() {
            return Self::Whole(whole.leak());
        }
        let least = [Self::Study, Self::Workloads];
        let least = least
            .into_iter()
            .find(|it| names.iter().all(|name| it.has(name)));
        least.unwrap_or(Self::Services)
    }

    /// The whole programs that are built.
    pub(crate) fn whole(self) -> impl Iterator<Item = &'static WholeProgram> {
        let names = if let Self::Whole(names) = self {
            names
        } else {
            &[]
        };
        names.iter().filter_map(|name| whole(name))
    }

    /// Whether the workload called `name` is among them.
    pub(crate) fn has(self, name: &str) -> bool {
        match self {
            Self::Study => STUDY.contains(&name),
            Self::Workloads => Self::Services.has(name) && !is_service(name),
            Self::Services => whole(name).is_none(),
            Self::Whole(_) => STUDY.contains(&name) || whole(name).is_some(),
        }
    }

    /// The files that describe them.
    pub(crate) fn files(self) -> &'static [File] {
        if self == Self::Services {
            &FILES
        } else {
            &FILES[..1]
        }
    }

    /// Of the whole programs that builds tell of, whether or not they are among them.
    pub(crate) fn whole_descriptions(self) -> impl Iterator<Item = &'static Description> {
        WHOLE
            .iter()
            .map(|(_, it)| it)
            .filter(move |_| matches!(self, Self::Whole(_)))
    }
}

impl File {
    /// The command that writes it anew.
    pub(crate) fn renew(&self) -> String {
        format!(
            "cargo run -p {} -- list --json > {}",
            self.package, self.path
        )
    }

    fn descriptions(&self) -> Vec<Description> {
        serde_json::from_str(self.text)
            .unwrap_or_else(|error| panic!("{}: {error}; renew it: {}", self.path, self.renew()))
    }
}

static ALL: LazyLock<Vec<Description>> = LazyLock::new(|| {
    let whole = WHOLE.iter().map(|(_, it)| *it);
    FILES
        .iter()
        .flat_map(File::descriptions)
        .chain(whole)
        .collect()
});

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
pub(crate) fn find(name: &str) -> Option<&'static Description> {
    all().iter().find(|description| description.name == name)
}

/// Names of all workloads.
#[must_use]
pub fn names() -> Vec<&'static str> {
    all().iter().map(|description| description.name).collect()
}

/// All workloads as they are picked: whole programs are meant by their group, by name or by glob.
pub(crate) fn known() -> Vec<Known<'static>> {
    let group = |name| whole(name).map(|_| GROUP);
    names()
        .into_iter()
        .map(|name| Known {
            name,
            group: group(name),
        })
        .collect()
}

/// The whole program called `name`.
#[must_use]
pub fn whole(name: &str) -> Option<&'static WholeProgram> {
    WHOLE
        .iter()
        .find(|(_, it)| it.name == name)
        .map(|(row, _)| row)
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
        let whole = Programs::Whole(&["b3sum"]);
        let least = ["tsp", "fib-join", "kv", "b3sum"].map(|name| Programs::with([name]));
        assert_eq!(
            least,
            [
                Programs::Study,
                Programs::Workloads,
                Programs::Services,
                whole
            ]
        );
        assert_eq!(Programs::with(["b3sum", "tsp"]), whole);
        assert_eq!(whole.whole().next().unwrap().package, "b3sum");
        assert!(
            least[..3].iter().all(|it| !it.has("b3sum")) && whole.has("tsp") && !whole.has("kv")
        );
        assert!(STUDY.iter().all(|name| names.contains(name)));
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
