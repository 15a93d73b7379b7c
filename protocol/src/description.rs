//! The descriptions of workloads: the rows of `workloads/workloads.toml`. A tool reads a
//! description without running the workload. Each process parses that file at most once.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use serde::Deserialize;

use crate::parameters::{self, Parameter};
use crate::{Refusal, Size, Values};

/// The description of a workload: all that a tool needs to write a valid request, without reading
/// the workload's source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Description {
    /// The workload's name in requests, records and plots.
    pub name: String,
    /// The program that runs the workload, if the program has another name.
    pub program: Option<String>,
    /// Parameters that the workload sets for its program. These parameters appear in no request and
    /// no record.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// The build that contains the workload.
    #[serde(default)]
    pub part: Part,
    /// The workload's computation, in one line.
    pub summary: String,
    /// The workload's demands on a pool, in one line.
    pub stresses: String,
    /// The unit of work, plural.
    pub work_unit: String,
    /// The contents of the instance file, for workloads that read an instance file.
    pub input: Option<String>,
    /// The unit of work that the workload's leaves report to a simulated machine: a name in
    /// `workloads/charges.toml`. `None` for workloads that only run on a host.
    pub charge: Option<String>,
    /// The metrics to look at, for workloads whose time alone says little.
    pub counts: Option<String>,
    /// Whether a clock sets how long an iteration takes, while the amount of work is fixed.
    /// [`Parameter::unpaced_if`] is the one value of a parameter with which no clock does so.
    #[serde(default)]
    pub paced: bool,
    /// The parameter that sets the duration of an iteration, for workloads that do as much as they
    /// can in a given time.
    pub runs_for: Option<RunsFor>,
    /// Every parameter that the workload accepts.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// For each size, the values that the size sets, by the parameter's name.
    #[serde(default, deserialize_with = "parameters::values_by_size")]
    pub sizes: BTreeMap<Size, BTreeMap<String, String>>,
}

/// Which of a branch's builds contain a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// All builds: every branch has the workloads of the original study.
    Study,
    /// The feature `further` of the crate `workloads`.
    #[default]
    Further,
    /// The crate `services`.
    Services,
    /// The crate `programs`.
    Programs,
}

/// How a parameter sets the duration of an iteration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunsFor {
    /// The parameter that is the time in milliseconds.
    pub parameter: String,
    /// Another parameter and a value: `parameter` has an effect only if the other parameter has
    /// this value.
    pub only_if: Option<(String, String)>,
}

impl Description {
    /// The name of the program that runs the workload.
    #[must_use]
    pub fn program(&self) -> &str {
        self.program.as_deref().unwrap_or(&self.name)
    }

    /// The parameter called `name`.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name == name)
    }

    /// Name and value of every parameter at `size`.
    #[must_use]
    pub fn parameters_of(&self, size: Size) -> BTreeMap<String, String> {
        let defaults = self
            .parameters
            .iter()
            .map(|parameter| (&parameter.name, &parameter.default));
        defaults
            .chain(self.sizes.get(&size).into_iter().flatten())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Returns the values of the parameters at `size`, overridden by `explicit`.
    ///
    /// # Errors
    /// If `explicit` has an unknown name, a value that the parameter does not accept, or a
    /// parameter that the instance file replaces.
    pub fn resolve(
        &self,
        size: Size,
        explicit: &BTreeMap<String, String>,
        has_input: bool,
    ) -> Result<Values, Refusal> {
        let workload = &self.name;
        let mut values = self.parameters_of(size);
        if has_input {
            values.retain(|name, _| !self.parameter(name).is_some_and(|p| p.is_replaced_by_input));
        }
        for (name, value) in explicit {
            let Some(parameter) = self.parameter(name) else {
                let known: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
                return Err(Refusal::new(format!(
                    "workload `{workload}`: unknown parameter `{name}`; known: {}",
                    known.join(", ")
                )));
            };
            if has_input && parameter.is_replaced_by_input {
                return Err(Refusal::new(format!(
                    "workload `{workload}`: parameter `{name}` = `{value}` has no effect on an \
                     input file; give only one of the two"
                )));
            }
            if !parameter.accepts.admits(value) {
                return Err(Refusal::new(format!(
                    "workload `{workload}`: parameter `{name}` = `{value}`: expected {}",
                    parameter.accepts
                )));
            }
            values.insert(name.clone(), value.clone());
        }
        Ok(Values {
            named: values,
            set: self.set.clone(),
        })
    }

    /// The duration of an iteration of a workload that does as much as it can in a given time.
    #[must_use]
    pub fn runs_for(&self, values: &Values) -> Option<Duration> {
        let RunsFor { parameter, only_if } = self.runs_for.as_ref()?;
        let is_so = only_if
            .as_ref()
            .is_none_or(|(name, value)| values.word(name) == value);
        is_so.then(|| Duration::from_millis(values.whole(parameter)))
    }

    /// Whether the workload uses the pool under test. If not, every branch runs the same program.
    #[must_use]
    pub fn uses_pool(&self, values: &Values) -> bool {
        self.parameters.iter().all(|parameter| {
            parameter
                .uses_pool_if
                .as_ref()
                .is_none_or(|needed| values.word(&parameter.name) == needed)
        })
    }
}

/// The file `workloads/workloads.toml`.
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

/// Every workload of `workloads/workloads.toml`, in the order of the file. Whole programs are in
/// another file.
///
/// # Panics
/// If the file has an invalid row. Tests check that the file has no invalid row.
#[must_use]
pub fn workloads() -> &'static [Description] {
    &ALL
}

/// The workload called `name`.
///
/// # Panics
/// If no workload has this name.
#[must_use]
pub fn workload(name: &str) -> &'static Description {
    ALL.iter()
        .find(|row| row.name == name)
        .unwrap_or_else(|| panic!("workloads/workloads.toml has no row `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{
        "name": "mock", "summary": "says \"hello\"", "stresses": "nothing", "work-unit": "hellos",
        "paced": true, "runs-for": { "parameter": "hellos", "only-if": ["how", "loud"] },
        "parameters": [
            { "name": "hellos", "summary": "how many", "accepts": { "min": 1, "max": 9 }, "default": 3 },
            { "name": "gap-us", "summary": "gap", "accepts": { "min": 0 }, "default": 4, "unpaced-if": 0 },
            { "name": "how", "summary": "voice", "accepts": ["loud", "soft"], "default": "loud", "uses-pool-if": "soft" }
        ],
        "sizes": { "small": { "hellos": 5 }, "large": { "hellos": 7, "how": "soft" } }
    }"#;

    fn row() -> Description {
        serde_json::from_str(ROW).unwrap()
    }

    fn values(explicit: &[(&str, &str)]) -> Values {
        let explicit = explicit
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        row()
            .resolve(Size::Small, &explicit.collect(), false)
            .unwrap()
    }

    #[test]
    fn sizes_override_defaults_and_a_size_without_a_row_has_them() {
        let of = |size, name: &str| row().parameters_of(size)[name].clone();
        assert_eq!(of(Size::Small, "hellos"), "5");
        assert_eq!(of(Size::Large, "how"), "soft");
        assert_eq!(of(Size::Tiny, "hellos"), "3");
    }

    #[test]
    fn an_unknown_field_is_refused_wherever_it_stands() {
        for (known, unknown) in [
            ("summary\": \"says", "sumary\": \"says"),
            ("unpaced-if", "unpacd-if"),
            ("\"max\": 9", "\"mx\": 9"),
            ("only-if", "onlyif"),
            ("\"small\"", "\"smal\""),
        ] {
            let text = ROW.replace(known, unknown);
            assert_ne!(text, ROW);
            assert!(
                serde_json::from_str::<Description>(&text).is_err(),
                "{unknown}"
            );
        }
    }

    #[test]
    fn a_time_is_given_only_with_the_value_that_it_needs() {
        assert_eq!(row().runs_for(&values(&[])), Some(Duration::from_millis(5)));
        assert_eq!(row().runs_for(&values(&[("how", "soft")])), None);
    }
}

#[cfg(test)]
mod file_tests {
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
    fn every_row_names_parameters_that_it_has() {
        for row in workloads() {
            let name = &row.name;
            let needed = row.runs_for.iter().flat_map(|it| {
                let other = it.only_if.iter().map(|(parameter, _)| parameter);
                other.chain([&it.parameter])
            });
            for parameter in needed {
                assert!(row.parameter(parameter).is_some(), "{name}: {parameter}");
            }
            let admits = |it: &Parameter, value: &Option<String>| {
                value.as_ref().is_none_or(|value| it.accepts.admits(value))
            };
            assert!(row.parameters.iter().all(|it| admits(it, &it.uses_pool_if)));
            assert!(row.parameters.iter().all(|it| admits(it, &it.unpaced_if)));
        }
    }
}
