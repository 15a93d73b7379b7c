//! The checked values of a workload's parameters, as they are in force for one trial.

use std::collections::BTreeMap;

/// All parameters in force for one trial, each value checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    pub(crate) named: BTreeMap<String, String>,
    /// Values that the workload sets for its program, and that no request names.
    pub(crate) set: BTreeMap<String, String>,
}

impl Values {
    /// The value of a parameter that takes whole numbers.
    ///
    /// # Panics
    /// If the workload does not declare `name` as such: its own mistake, not the request's.
    #[must_use]
    pub fn whole(&self, name: &str) -> u64 {
        self.word(name)
            .parse()
            .unwrap_or_else(|_| panic!("parameter `{name}` is no whole number"))
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
        self.named
            .get(name)
            .or_else(|| self.set.get(name))
            .unwrap_or_else(|| panic!("parameter `{name}` is not declared"))
    }

    /// Name and value of each, as reported in the outcome.
    #[must_use]
    pub fn as_map(&self) -> &BTreeMap<String, String> {
        &self.named
    }
}
