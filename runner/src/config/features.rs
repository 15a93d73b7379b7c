//! The features of the fork and the relations between them, as its manifest lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

/// The features that make variants.
#[derive(Debug)]
pub struct Features {
    /// All features that a row `fork = […]` may name.
    pub names: BTreeSet<String>,
    /// The counter layouts, of which a build has one. A build that names no layout has the first.
    pub counter_layouts: Vec<String>,
    /// The features of the 2022 study.
    pub study: BTreeSet<String>,
    /// The features that make up the feature `champion`, and the branch of that name.
    pub champion: BTreeSet<String>,
    /// Pairs of features that exclude each other, and the reasons.
    pub exclusive: Vec<(String, String, String)>,
}

/// The features of the fork that make variants, so neither `instrument` nor upstream's. The list is
/// that of the checkout from which this runner was compiled.
static FEATURES: LazyLock<Features> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Manifest {
        features: BTreeMap<String, Vec<String>>,
        package: Package,
    }
    #[derive(Deserialize)]
    struct Package {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        features: Table,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    struct Table {
        counter_layouts: Vec<String>,
        study: BTreeSet<String>,
        other: BTreeSet<String>,
        exclusive: Vec<(String, String, String)>,
    }
    let Manifest { features, package } =
        toml::from_str(include_str!("../../../rayon-fork/Cargo.toml"))
            .unwrap_or_else(|error| panic!("rayon-fork/Cargo.toml: {error}"));
    let Table {
        counter_layouts,
        study,
        other,
        exclusive,
    } = package.metadata.features;
    let champion = features.get("champion").into_iter().flatten();
    Features {
        champion: champion.cloned().collect(),
        names: features
            .into_keys()
            .filter(|name| !other.contains(name))
            .collect(),
        counter_layouts,
        study,
        exclusive,
    }
});

impl Features {
    /// Returns the features of the fork.
    #[must_use]
    pub fn of_the_fork() -> &'static Self {
        &FEATURES
    }

    /// Returns the reason why the features `chosen` cannot be compiled together; `None` if they can
    /// be.
    #[must_use]
    pub fn refusal(&self, chosen: &BTreeSet<String>) -> Option<String> {
        let says = |one: &str, other: &str, reason: &str| {
            format!("`{one}` and `{other}` exclude each other: {reason}; keep one")
        };
        let mut counter_layouts = self
            .counter_layouts
            .iter()
            .filter(|&counter_layout| chosen.contains(counter_layout));
        if let (Some(one), Some(other)) = (counter_layouts.next(), counter_layouts.next()) {
            return Some(says(
                one,
                other,
                "both are counter layouts, and a build has one",
            ));
        }
        let both = |(one, other, _): &&(String, String, String)| {
            chosen.contains(one) && chosen.contains(other)
        };
        self.exclusive
            .iter()
            .find(both)
            .map(|(one, other, reason)| says(one, other, reason))
    }

    pub(crate) fn words(&self, chosen: &BTreeSet<String>) -> BTreeSet<String> {
        let mut words: BTreeSet<String> = chosen.intersection(&self.names).cloned().collect();
        if !self
            .counter_layouts
            .iter()
            .any(|counter_layout| words.contains(counter_layout))
        {
            words.extend(self.counter_layouts.first().cloned());
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::Features;

    #[test]
    fn the_forks_own_table_is_read() {
        let features = Features::of_the_fork();
        assert!(features.study.is_subset(&features.names) && !features.study.is_empty());
        assert!(
            !features.names.contains("instrument"),
            "a build that counts is not timed"
        );
        assert_eq!(
            features.counter_layouts.first().map(String::as_str),
            Some("packed")
        );
    }
}
