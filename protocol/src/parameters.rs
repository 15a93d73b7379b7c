//! Parameters of a workload: the values that a parameter accepts, the values in force for one
//! trial, and the sizes that set values.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};

use crate::Refusal;

/// One parameter that a workload accepts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Parameter {
    /// The parameter's name in requests and records.
    pub name: String,
    /// The parameter's meaning, with the unit, in one line.
    pub summary: String,
    /// The values that the parameter accepts.
    pub accepts: Accepts,
    /// The parameter's value if the size sets no value.
    #[serde(deserialize_with = "value")]
    pub default: String,
    /// Whether an instance file replaces the parameter. A request that names the parameter and an
    /// instance file is refused.
    #[serde(default)]
    pub is_replaced_by_input: bool,
    /// The one value with which the workload uses the pool, if other values leave the pool idle.
    pub uses_pool_if: Option<String>,
    /// The one value with which no clock sets how long an iteration takes.
    #[serde(default, deserialize_with = "some_value")]
    pub unpaced_if: Option<String>,
}

/// The values that a parameter accepts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Accepts {
    /// A whole number from `min` to `max`, both included.
    Whole {
        /// The smallest accepted value.
        min: u64,
        /// The largest accepted value.
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
            // Accepts only the plain spelling: `+5` or `007` would be a second name of the same
            // configuration.
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

/// A value as people write it: they may write a number without quotes.
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

/// All parameters in force for one trial, each value checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    pub(crate) named: BTreeMap<String, String>,
    /// Values that the workload sets for its program. These values appear in no request.
    pub(crate) set: BTreeMap<String, String>,
}

impl Values {
    /// The value of a parameter that takes whole numbers.
    ///
    /// # Panics
    /// If the workload does not declare such a parameter `name`: a mistake in the workload, not in
    /// the request.
    #[must_use]
    pub fn whole(&self, name: &str) -> u64 {
        self.word(name)
            .parse()
            .unwrap_or_else(|_| panic!("parameter `{name}` is no whole number"))
    }

    /// Returns the value of a parameter that takes whole numbers, as a count of things in memory.
    ///
    /// # Panics
    /// If the workload declares no parameter `name` with whole numbers, or if the number does not
    /// fit the address space.
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
        self.named
            .get(name)
            .or_else(|| self.set.get(name))
            .unwrap_or_else(|| panic!("parameter `{name}` is not declared"))
    }

    /// Name and value of each parameter, as the outcome reports them.
    #[must_use]
    pub fn as_map(&self) -> &BTreeMap<String, String> {
        &self.named
    }
}

/// The size of an input. [`Description::sizes`](crate::Description::sizes) has the parameters of
/// each size of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// For tests: an iteration takes a few milliseconds, even in a debug build.
    Tiny,
    /// Default of a sweep: an iteration takes some 25 ms on one core of the 2.6 GHz class.
    Small,
    /// An iteration takes some 250 ms on such a core.
    Medium,
    /// An iteration takes a few seconds on such a core.
    Large,
}

impl Size {
    /// All sizes, smallest first.
    pub const ALL: [Self; 4] = [Self::Tiny, Self::Small, Self::Medium, Self::Large];

    /// Returns the size called `name`.
    ///
    /// # Errors
    /// If no size has this name; the message lists the known names.
    pub fn find(name: &str) -> Result<Self, Refusal> {
        Self::ALL
            .into_iter()
            .find(|size| size.name() == name)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                Refusal::new(format!("unknown size `{name}`; known: {known}"))
            })
    }

    /// The size's name in requests and records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}
