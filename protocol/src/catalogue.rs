//! The workloads that there are: `workloads/workloads.toml`, read once by each program that asks.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::Description;

/// The file of workloads.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Workloads {
    workload: Vec<Description>,
}

static ALL: LazyLock<Vec<Description>> = LazyLock::new(|| {
    toml::from_str::<Workloads>(include_str!("../../workloads/workloads.toml"))
        .unwrap_or_else(|error| panic!("workloads/workloads.toml: {error}"))
        .workload
});

/// Every workload, in the order in which it is listed; whole programs have a file of their own.
///
/// # Panics
/// If the file has a row that is none, of which the tests are.
#[must_use]
pub fn workloads() -> &'static [Description] {
    &ALL
}

/// The workload called `name`.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn workload(name: &str) -> &'static Description {
    ALL.iter()
        .find(|row| row.name == name)
        .unwrap_or_else(|| panic!("workloads/workloads.toml has no row `{name}`"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Size;

    #[test]
    fn every_row_has_a_name_of_its_own_and_sizes_that_a_request_could_spell_out() {
        let mut names = BTreeSet::new();
        for row in workloads() {
            let name = &row.name;
            assert!(names.insert(name), "`{name}` has two rows");
            for size in Size::ALL {
                let values = row.resolve(size, &row.parameters_of(size), false);
                assert!(values.is_ok(), "{name} {size:?}: {values:?}");
            }
        }
    }

    #[test]
    fn every_row_says_how_far_it_can_scale_and_names_parameters_that_it_has() {
        for row in workloads() {
            let name = &row.name;
            let is_said = |it: &Option<String>| it.as_ref().is_some_and(|it| !it.is_empty());
            assert!(is_said(&row.span) && is_said(&row.parallelism), "{name}");
            let needed = row.runs_for.iter().flat_map(|it| {
                let other = it.only_if.iter().map(|(parameter, _)| parameter);
                other.chain([&it.parameter])
            });
            for parameter in needed {
                assert!(row.parameter(parameter).is_some(), "{name}: {parameter}");
            }
            let admits = |it: &crate::Parameter, value: &Option<String>| {
                value.as_ref().is_none_or(|value| it.accepts.admits(value))
            };
            assert!(row.parameters.iter().all(|it| admits(it, &it.uses_pool_if)));
            assert!(row.parameters.iter().all(|it| admits(it, &it.unpaced_if)));
        }
    }
}
