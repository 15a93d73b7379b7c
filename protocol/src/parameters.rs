//! Parameters of a workload: what it accepts.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::for_ever;

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
    /// The one value with which the workload uses the pool under test, if others leave it idle.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "for_ever::optional_text"
    )]
    pub uses_pool_if: Option<&'static str>,
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
        Self {
            name,
            summary,
            accepts,
            default,
            is_replaced_by_input: false,
            uses_pool_if: None,
        }
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
        Self {
            name,
            summary,
            accepts,
            default,
            is_replaced_by_input: false,
            uses_pool_if: None,
        }
    }

    /// The same, which leaves the pool under test idle with any value but `value`.
    #[must_use]
    pub const fn uses_pool_if(self, value: &'static str) -> Self {
        Self {
            uses_pool_if: Some(value),
            ..self
        }
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
    pub(crate) fn admits(self, value: &str) -> bool {
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
