//! What there is to know of a workload without running it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Parameter, Size};

/// A workload as listed: enough to write a valid request without reading its source.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Description {
    /// Its name in requests, records and plots.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What it demands of a pool, in one line.
    pub stresses: &'static str,
    /// What one unit of work is, plural.
    pub work_unit: &'static str,
    /// What the instance file holds, for workloads that read one.
    pub input: Option<&'static str>,
    /// Every parameter it accepts.
    pub parameters: &'static [Parameter],
    /// How each size differs from the parameters' defaults; all sizes, smallest first.
    pub sizes: &'static [SizeOverrides],
}

/// What a size sets, as pairs of parameter name and value.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SizeOverrides {
    /// The size.
    pub size: Size,
    /// Parameter names and values that differ from the default.
    pub overrides: &'static [(&'static str, &'static str)],
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
            Self { size: Size::Tiny, overrides: tiny },
            Self { size: Size::Small, overrides: small },
            Self { size: Size::Medium, overrides: medium },
            Self { size: Size::Large, overrides: large },
        ]
    }
}

impl Description {
    /// The parameter called `name`.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Name and value of every parameter at `size`.
    #[must_use]
    pub fn parameters_of(&self, size: Size) -> BTreeMap<String, String> {
        let defaults = self.parameters.iter().map(|parameter| (parameter.name, parameter.default));
        let overrides = self
            .sizes
            .iter()
            .filter(|entry| entry.size == size)
            .flat_map(|entry| entry.overrides.iter().copied());
        defaults.chain(overrides).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}
