//! Parameters of a workload: what it accepts, and the checked values in force.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Description, Refusal, Size, for_ever};

/// One parameter that a workload accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name in requests and records.
    #[serde(deserialize_with = "for_ever::text")]
    pub name: &'static str,
    /// What it means, with the unit, in one line.
    #[serde(deserialize_with = "for_ever::text")]
    pub summary: &'static str,
    /// Which values it takes.
    pub accepts: Accepts,
    /// Its value where the size gives none.
    #[serde(deserialize_with = "for_ever::text")]
    pub default: &'static str,
    /// Whether an instance file takes its place; naming both is refused.
    pub is_replaced_by_input: bool,
}

impl Parameter {
    /// One that takes whole numbers from `min` to `max`, both included.
    #[must_use]
    pub const fn whole(
        name: &'static str,
        summary: &'static str,
        (min, max): (u64, u64),
        default: &'static str,
    ) -> Self {
        let accepts = Accepts::Whole { min, max };
        Self { name, summary, accepts, default, is_replaced_by_input: false }
    }

    /// One that takes one of these words.
    #[must_use]
    pub const fn one_of(
        name: &'static str,
        summary: &'static str,
        words: &'static [&'static str],
        default: &'static str,
    ) -> Self {
        let accepts = Accepts::OneOf(words);
        Self { name, summary, accepts, default, is_replaced_by_input: false }
    }
}

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accepts {
    /// A whole number from `min` to `max`, both included.
    Whole {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// One of these words.
    OneOf(#[serde(deserialize_with = "for_ever::texts")] &'static [&'static str]),
}

impl Accepts {
    fn admits(self, value: &str) -> bool {
        match self {
            // Only the plain spelling: `+5` or `007` would be a second name of the same cell.
            Self::Whole { min, max } => value
                .parse::<u64>()
                .is_ok_and(|number| (min..=max).contains(&number) && number.to_string() == value),
            Self::OneOf(words) => words.contains(&value),
        }
    }
}

impl fmt::Display for Accepts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole { min, max } => write!(formatter, "a whole number from {min} to {max}"),
            Self::OneOf(words) => write!(formatter, "one of {}", words.join(", ")),
        }
    }
}

/// All parameters in force for one trial, each value checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values(BTreeMap<String, String>);

impl Values {
    /// The values of `size`, overridden by `explicit`.
    ///
    /// # Errors
    /// An unknown name, a value that the parameter does not take, or a parameter that the
    /// instance file replaces.
    pub fn resolve(
        description: &Description,
        size: Size,
        explicit: &BTreeMap<String, String>,
        has_input: bool,
    ) -> Result<Self, Refusal> {
        let workload = description.name;
        let mut values = description.parameters_of(size);
        if has_input {
            values.retain(|name, _| {
                !description.parameter(name).is_some_and(|p| p.is_replaced_by_input)
            });
        }
        for (name, value) in explicit {
            let Some(parameter) = description.parameter(name) else {
                let known: Vec<&str> = description.parameters.iter().map(|p| p.name).collect();
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
        Ok(Self(values))
    }

    /// The value of a parameter that takes whole numbers.
    ///
    /// # Panics
    /// If the workload does not declare `name` as such: its own mistake, not the request's.
    #[must_use]
    pub fn whole(&self, name: &str) -> u64 {
        self.word(name).parse().unwrap_or_else(|_| panic!("parameter `{name}` is no whole number"))
    }

    /// [`Values::whole`] as a count of things in memory.
    ///
    /// # Panics
    /// As [`Values::whole`], and if the number does not fit the address space.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        usize::try_from(self.whole(name)).expect("a declared count fits the address space")
    }

    /// The value of a parameter as written.
    ///
    /// # Panics
    /// If the workload does not declare `name`.
    #[must_use]
    pub fn word(&self, name: &str) -> &str {
        self.0.get(name).unwrap_or_else(|| panic!("parameter `{name}` is not declared"))
    }

    /// Name and value of each, as reported in the outcome.
    #[must_use]
    pub fn as_map(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}
