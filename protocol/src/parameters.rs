//! Parameters of a workload: the values that it accepts.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::Size;

/// One parameter that a workload accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Parameter {
    /// Its name in requests and records.
    pub name: String,
    /// Its meaning, with the unit, in one line.
    pub summary: String,
    /// Which values it takes.
    pub accepts: Accepts,
    /// Its value where the size gives none.
    #[serde(deserialize_with = "value")]
    pub default: String,
    /// Whether an instance file takes its place; naming both is refused.
    #[serde(default)]
    pub is_replaced_by_input: bool,
    /// The one value with which the workload uses the pool under test, if others leave it idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses_pool_if: Option<String>,
    /// The one value with which no clock sets how long an iteration takes.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_value"
    )]
    pub unpaced_if: Option<String>,
}

/// The values that a parameter takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Accepts {
    /// A whole number from `min` to `max`, both included.
    Whole {
        /// Smallest value.
        min: u64,
        /// Largest value.
        #[serde(default = "largest")]
        max: u64,
    },
    /// One of these words.
    OneOf(Vec<String>),
}

fn largest() -> u64 {
    u64::MAX
}

impl Accepts {
    pub(crate) fn admits(&self, value: &str) -> bool {
        match self {
            // Only the plain spelling: `+5` or `007` would be a second name of the same cell.
            Self::Whole { min, max } => value
                .parse::<u64>()
                .is_ok_and(|number| (min..=max).contains(&&number) && number.to_string() == value),
            Self::OneOf(words) => words.iter().any(|word| word == value),
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

/// A value as people write it: a number needs no quotes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Word(String),
}

impl From<Written> for String {
    fn from(value: Written) -> Self {
        match value {
            Written::Number(number) => number.to_string(),
            Written::Word(word) => word,
        }
    }
}

fn value<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    Ok(Written::deserialize(input)?.into())
}

fn some_value<'de, D: Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    value(input).map(Some)
}

pub(crate) fn values_by_size<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<BTreeMap<Size, BTreeMap<String, String>>, D::Error> {
    let sizes = BTreeMap::<Size, BTreeMap<String, Written>>::deserialize(input)?;
    let as_words = |values: BTreeMap<String, Written>| {
        values
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect()
    };
    Ok(sizes
        .into_iter()
        .map(|(size, values)| (size, as_words(values)))
        .collect())
}
