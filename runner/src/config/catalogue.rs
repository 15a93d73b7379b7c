//! The list of workloads. The runner links no workload, so the runner works even if a pool does not
//! compile.

use std::sync::{LazyLock, OnceLock};

use protocol::{Description, Part, WholeProgram, WholePrograms};

use crate::config::pick::Known;

/// The group of the whole programs. `all` leaves this group out, because each whole program takes
/// minutes to build.
pub const GROUP: &str = "programs";

pub(crate) const WHOLE_FILE: &str = "workloads/programs/programs.toml";

static WHOLE: LazyLock<Vec<WholeProgram>> = LazyLock::new(|| {
    let text = include_str!("../../../workloads/programs/programs.toml");
    let rows: WholePrograms =
        toml::from_str(text).unwrap_or_else(|error| panic!("{WHOLE_FILE}: {error}"));
    rows.program
});

static USER: OnceLock<(WholeProgram, Description)> = OnceLock::new();

/// Lists a program of the user; a process may list at most one. [`find`], [`whole`] and [`known`]
/// then return this program, too.
pub(crate) fn list_user(program: WholeProgram) {
    let description = program.description();
    drop(USER.set((program, description)));
}

/// The programs with which a branch is built. A build with fewer programs takes less time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Programs {
    /// Only the programs of the 2022 study.
    Study,
    /// All workloads, without the services and the whole programs.
    Workloads,
    /// All workloads and the services, without the whole programs.
    Services,
    /// The programs of the study, and the whole programs of these names.
    Whole(&'static [&'static str]),
}

impl Programs {
    pub(crate) fn with<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        let whole = all_whole()
            .map(|it| it.name.as_str())
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

    pub(crate) fn whole(self) -> impl Iterator<Item = &'static WholeProgram> {
        let names = if let Self::Whole(names) = self {
            names
        } else {
            &[]
        };
        names.iter().filter_map(|name| whole(name))
    }

    pub(crate) fn has(self, name: &str) -> bool {
        find(name).is_some_and(|workload| match workload.part {
            Part::Study => true,
            Part::Further => matches!(self, Self::Workloads | Self::Services),
            Part::Services => self == Self::Services,
            Part::Programs => matches!(self, Self::Whole(_)),
        })
    }
}

static ALL: LazyLock<Vec<Description>> = LazyLock::new(|| {
    let whole = WHOLE.iter().map(WholeProgram::description);
    protocol::workloads().iter().cloned().chain(whole).collect()
});

/// Every workload of the files, in the order of the files.
///
/// # Panics
/// If a file of workloads has an invalid row.
#[must_use]
pub fn all() -> &'static [Description] {
    &ALL
}

pub(crate) fn find(name: &str) -> Option<&'static Description> {
    described().find(|description| description.name == name)
}

/// Names of all workloads.
#[must_use]
pub fn names() -> Vec<&'static str> {
    all()
        .iter()
        .map(|description| description.name.as_str())
        .collect()
}

/// All workloads, for a selection. A whole program is selected by its group, its name or a glob.
pub(crate) fn known() -> Vec<Known<'static>> {
    let group = |name: &str| whole(name).map(|_| GROUP);
    described()
        .map(|it| Known {
            name: it.name.as_str(),
            group: group(&it.name),
        })
        .collect()
}

/// The whole program called `name`.
#[must_use]
pub fn whole(name: &str) -> Option<&'static WholeProgram> {
    all_whole().find(|it| it.name == name)
}

fn all_whole() -> impl Iterator<Item = &'static WholeProgram> {
    WHOLE.iter().chain(USER.get().map(|(program, _)| program))
}

fn described() -> impl Iterator<Item = &'static Description> {
    all().iter().chain(USER.get().map(|(_, it)| it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_has_a_name_of_its_own_and_needs_the_smallest_build_that_has_it() {
        let whole = Programs::Whole(&["b3sum"]);
        for (name, least) in [
            ("tsp", Programs::Study),
            ("fib-join", Programs::Workloads),
            ("kv", Programs::Services),
            ("b3sum", whole),
        ] {
            assert_eq!(Programs::with([name]), least, "{name}");
        }
        assert_eq!(Programs::with(["b3sum", "tsp"]), whole);
        assert!(whole.has("tsp") && !whole.has("kv") && !Programs::Services.has("b3sum"));
        let mut names = names();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
