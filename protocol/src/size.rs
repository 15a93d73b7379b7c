//! How big an input is.

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// How big an input is; what that means in each workload is in its
/// [`Description::sizes`](crate::Description::sizes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// For tests: a few milliseconds even in a debug build.
    Tiny,
    /// Default of a sweep: some 25 ms on one core of the 2.6 GHz class.
    Small,
    /// Some 250 ms.
    Medium,
    /// A few seconds.
    Large,
}

impl Size {
    /// All sizes, smallest first.
    pub const ALL: [Self; 4] = [Self::Tiny, Self::Small, Self::Medium, Self::Large];

    /// The size called `name`.
    ///
    /// # Errors
    /// If there is none; the message lists the known names.
    pub fn find(name: &str) -> Result<Self, Refusal> {
        Self::ALL
            .into_iter()
            .find(|size| size.name() == name)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::name).join(", ");
                Refusal::new(format!("unknown size `{name}`; known: {known}"))
            })
    }

    /// Its name in requests and records.
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
