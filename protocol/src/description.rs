//! What there is to know of a workload without running it.
//!
//! A workload declares its description as a constant. Tools read it as JSON from a catalogue, which
//! lives as long as the program that reads it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Lasts, Parameter, Refusal, Size, Values, for_ever};

/// A workload as listed: enough to write a valid request without reading its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Its name in requests, records and plots.
    #[serde(deserialize_with = "for_ever::text")]
    pub name: &'static str,
    /// What it does, in one line.
    #[serde(deserialize_with = "for_ever::text")]
    pub summary: &'static str,
    /// What it demands of a pool, in one line.
    #[serde(deserialize_with = "for_ever::text")]
    pub stresses: &'static str,
    /// What one unit of work is, plural.
    #[serde(deserialize_with = "for_ever::text")]
    pub work_unit: &'static str,
    /// What the instance file holds, for workloads that read one.
    #[serde(deserialize_with = "for_ever::optional_text")]
    pub input: Option<&'static str>,
    /// How long an iteration takes on any host, where the parameters say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Lasts>,
    /// What its leaves charge to a simulated machine: the name of a price in
    /// `workloads/charges.toml`. `None` for workloads that only run on a host.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "for_ever::optional_text"
    )]
    pub charge: Option<&'static str>,
    /// Every parameter it accepts.
    #[serde(deserialize_with = "for_ever::slice")]
    pub parameters: &'static [Parameter],
    /// How each size differs from the parameters' defaults; all sizes, smallest first.
    #[serde(deserialize_with = "for_ever::slice")]
    pub sizes: &'static [SizeOverrides],
}

/// What a size sets, as pairs of parameter name and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeOverrides {
    /// The size.
    pub size: Size,
    /// Parameter names and values that differ from the default.
    #[serde(deserialize_with = "for_ever::pairs")]
    pub overrides: Overrides,
}

/// Parameter names and values.
type Overrides = &'static [(&'static str, &'static str)];

impl SizeOverrides {
    /// All four sizes.
    #[must_use]
    pub const fn all(
        tiny: Overrides,
        small: Overrides,
        medium: Overrides,
        large: Overrides,
    ) -> [Self; 4] {
        [
            Self {
                size: Size::Tiny,
                overrides: tiny,
            },
            Self {
                size: Size::Small,
                overrides: small,
            },
            Self {
                size: Size::Medium,
                overrides: medium,
            },
            Self {
                size: Size::Large,
                overrides: large,
            },
        ]
    }
}

impl Description {
    /// The parameter called `name`.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
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
            .map(|parameter| (parameter.name, parameter.default));
        let overrides = self
            .sizes
            .iter()
            .filter(|entry| entry.size == size)
            .flat_map(|entry| entry.overrides.iter().copied());
        defaults
            .chain(overrides)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    /// The values of `size`, overridden by `explicit`.
    ///
    /// # Errors
    /// An unknown name, a value that the parameter does not take, or a parameter that the
    /// instance file replaces.
    pub fn resolve(
        &self,
        size: Size,
        explicit: &BTreeMap<String, String>,
        has_input: bool,
    ) -> Result<Values, Refusal> {
        let workload = self.name;
        let mut values = self.parameters_of(size);
        if has_input {
            values.retain(|name, _| !self.parameter(name).is_some_and(|p| p.is_replaced_by_input));
        }
        for (name, value) in explicit {
            let Some(parameter) = self.parameter(name) else {
                let known: Vec<&str> = self.parameters.iter().map(|p| p.name).collect();
                return Err(Refusal::new(format!(
                    "workload `{workload}`: unknown parameter `{name}`; known: {}",
                    known.join(", ")
                )));
            };
            if has_input && parameter.is_replaced_by_input {
                return Err(Refusal::new(format!(
                    "workload `{workload}`: parameter `{name}` = `{value}` has no effect on an \
                     input file; give one of the two"
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
        Ok(Values(values))
    }

    /// How long an iteration takes on any host: it works for a given time, or waits for given
    /// moments. A mean where gaps are random, and without the work between them. `None` where time
    /// is up to the host.
    #[must_use]
    pub fn lasts(&self, values: &Values) -> Option<Duration> {
        self.lasts?.evaluated(values)
    }

    /// Whether the workload uses the pool under test: otherwise every branch is the same program.
    #[must_use]
    pub fn uses_pool(&self, values: &Values) -> bool {
        self.parameters.iter().all(|parameter| {
            parameter
                .uses_pool_if
                .is_none_or(|needed| values.word(parameter.name) == needed)
        })
    }

    /// Whether a clock sets how long an iteration takes, and its work is fixed: then wall time can
    /// hardly tell pools apart, and CPU time does.
    #[must_use]
    pub fn is_paced(&self, values: &Values) -> bool {
        self.lasts
            .is_some_and(|lasts| lasts.is_paced && lasts.evaluated(values).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Accepts, Term};

    static DESCRIPTION: Description = Description {
        name: "made-up",
        summary: "says \"hello\"",
        stresses: "nothing",
        work_unit: "hellos",
        input: Some("a file of names"),
        lasts: Some(Lasts {
            terms: &[Term {
                product: &["hellos", "gap-us"],
                over: Some("2"),
                unit: crate::TimeUnit::Us,
            }],
            only_if: Some(("how", "loud")),
            is_paced: true,
        }),
        charge: Some("hellos"),
        parameters: &[
            Parameter::whole("hellos", "how many", (1, 9), "3"),
            Parameter::whole("gap-us", "between two", (0, 99), "4"),
            Parameter::one_of("how", "in which voice", &["loud", "soft"], "loud")
                .uses_pool_if("soft"),
        ],
        sizes: &SizeOverrides::all(
            &[],
            &[("hellos", "5")],
            &[],
            &[("hellos", "7"), ("how", "soft")],
        ),
    };

    #[test]
    fn a_description_read_from_its_json_is_the_same() {
        let text: &'static str = serde_json::to_string(&DESCRIPTION).unwrap().leak();
        let read: Description = serde_json::from_str(text).unwrap();
        assert_eq!(read, DESCRIPTION);
        assert_eq!(
            read.parameters[2].accepts,
            Accepts::OneOf(&["loud", "soft"])
        );
    }

    #[test]
    fn a_field_that_nobody_knows_is_refused() {
        let text = serde_json::to_string(&DESCRIPTION)
            .unwrap()
            .replace("summary", "sumary");
        let error = serde_json::from_str::<Description>(text.leak())
            .unwrap_err()
            .to_string();
        assert!(error.contains("unknown field `sumary`"), "{error}");
    }
}
