//! The fork's variants: combinations of its features.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use runner::checkout::Checkout;
use runner::config::Features;
use runner::stop::Stop;

use crate::branches;

/// Which variants a task runs on.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Variants {
    /// A variant by its features, such as `split,no-jec` or `packed`, or by a branch of the fork, such as
    /// `champion`; may be repeated (default: the task's own choice).
    #[arg(long = "variant", value_name = "FEATURES")]
    asked: Vec<String>,
}

/// One combination of counter features; empty for `packed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    features: Vec<String>,
}

impl Variants {
    /// The variants to run on, `packed` first and all modifiers of the study together last.
    pub(crate) fn chosen(&self) -> Result<Vec<Variant>> {
        if self.asked.is_empty() {
            return Ok(tested());
        }
        let branches = branches::of_the_fork(&Checkout::find(None)?)?;
        let chosen = self.asked.iter().map(|asked| {
            match branches.iter().find(|branch| branch.name == *asked) {
                Some(branch) => Ok(Variant::of(branch.source.features())),
                None => Variant::parse(asked),
            }
        });
        chosen.collect()
    }

    /// As [`Self::chosen`], but only `packed` and as few others as have every modifier among them: unit
    /// tests and models cover all counters in every build.
    pub(crate) fn chosen_or_covering(&self) -> Result<Vec<Variant>> {
        if self.asked.is_empty() {
            return Ok(covering());
        }
        self.chosen()
    }

    /// Refuses `--variant` where it has no effect without another option.
    pub(crate) fn refuse_unless(&self, option: &str) -> Result<()> {
        match self.asked.first() {
            None => Ok(()),
            Some(asked) => bail!(Stop::BadInput(format!(
                "--variant {asked} goes with {option}; without it, name branches by --branch"
            ))),
        }
    }

    /// As [`Self::chosen`], but of all combinations only `packed` and all modifiers together: for
    /// tasks that take long per variant. The other variants are made of the parts of these two.
    pub(crate) fn chosen_or_extremes(&self) -> Result<Vec<Variant>> {
        let mut chosen = self.chosen()?;
        if self.asked.is_empty() && chosen.len() > 2 {
            chosen.drain(1..chosen.len() - 1);
        }
        Ok(chosen)
    }
}

impl Variant {
    /// The features of a branch, which were checked when its row was read.
    pub(crate) fn of(features: BTreeSet<String>) -> Self {
        Self { features: features.into_iter().collect() }
    }

    fn parse(asked: &str) -> Result<Self> {
        let known = modifiers();
        let features: Vec<String> = asked
            .split([',', '+'])
            .filter(|&name| name != default_layout())
            .map(str::to_owned)
            .collect();
        if let Some(unknown) = features.iter().find(|name| !known.contains(&name.as_str())) {
            bail!(Stop::BadInput(format!(
                "--variant {asked}: unknown feature `{unknown}`, and no branch of the fork is called `{asked}`; known \
                 features: {}",
                known.join(", ")
            )));
        }
        if let Some(why) = Features::of_the_fork().refusal(&features.iter().cloned().collect()) {
            bail!(Stop::BadInput(format!("--variant {asked}: {why}")));
        }
        Ok(Self { features })
    }

    /// As Cargo's `--features` wants it; may be empty.
    pub(crate) fn features(&self) -> String {
        self.features.join(",")
    }

    /// The arguments that choose it where `package` is not the only one that is built.
    pub(crate) fn features_of(&self, package: &str) -> Vec<String> {
        self.features.iter().map(|feature| format!("--features={package}/{feature}")).collect()
    }

    /// [`Self::features`] and `instrument`.
    pub(crate) fn instrumented_features(&self) -> String {
        self.features.iter().map(String::as_str).chain(["instrument"]).collect::<Vec<_>>().join(",")
    }

    /// For people.
    pub(crate) fn name(&self) -> String {
        if self.features.is_empty() { default_layout().to_owned() } else { self.features.join("+") }
    }
}

/// What a build without features has.
fn default_layout() -> &'static str {
    &Features::of_the_fork().packings[0]
}

/// All features but the one without effect.
fn modifiers() -> Vec<&'static str> {
    let names = Features::of_the_fork().names.iter().map(String::as_str);
    names.filter(|&name| name != default_layout()).collect()
}

/// Every combination of the study's features that can be compiled, small ones first, and each further
/// feature alone: unit tests and models cover all its combinations in every build, and each build takes a
/// while.
fn tested() -> Vec<Variant> {
    let features = Features::of_the_fork();
    let mut variants: Vec<Variant> = vec![Variant { features: Vec::new() }];
    for name in &features.study {
        for smaller in variants.clone() {
            variants.push(Variant { features: [smaller.features, vec![name.clone()]].concat() });
        }
    }
    variants
        .retain(|variant| features.refusal(&variant.features.iter().cloned().collect()).is_none());
    let further = modifiers().into_iter().filter(|&name| !features.study.contains(name));
    variants.extend(further.map(|name| Variant { features: vec![name.to_owned()] }));
    variants.sort_by_key(|variant| variant.features.len());
    variants
}

/// All features, in as few sets as can be compiled, with `others` in the first.
pub(crate) fn all_features(others: &[&str]) -> Vec<Vec<String>> {
    let names = Features::of_the_fork().names.iter().map(String::as_str);
    few_sets(names, others.iter().map(|&name| name.to_owned()).collect())
}

/// The default, and every modifier in as few sets as can be compiled, the largest last.
fn covering() -> Vec<Variant> {
    let mut sets = few_sets(modifiers().into_iter(), BTreeSet::new());
    sets.push(Vec::new());
    sets.sort_by_key(Vec::len);
    sets.into_iter().map(|features| Variant { features }).collect()
}

/// Each name in the first set that can be compiled with it.
fn few_sets<'a>(names: impl Iterator<Item = &'a str>, first: BTreeSet<String>) -> Vec<Vec<String>> {
    let features = Features::of_the_fork();
    let mut sets = vec![first];
    for name in names {
        let with = |set: &BTreeSet<String>| {
            set.iter().cloned().chain([name.to_owned()]).collect::<BTreeSet<_>>()
        };
        match sets.iter_mut().find(|set| features.refusal(&with(set)).is_none()) {
            Some(set) => drop(set.insert(name.to_owned())),
            None => sets.push([name.to_owned()].into()),
        }
    }
    sets.into_iter().map(|set| set.into_iter().collect()).collect()
}

#[cfg(test)]
#[expect(dead_code, reason = "here nothing is built")]
#[path = "../../rayon-fork/build.rs"]
mod build_script;

#[cfg(test)]
mod tests {
    use runner::config::Features;

    use super::{
        Variant, Variants, all_features, build_script, covering, default_layout, modifiers, tested,
    };

    #[test]
    fn every_combination_of_the_studys_modifiers_is_tested_and_each_further_one_alone() {
        let study = &Features::of_the_fork().study;
        let tested = tested();
        let (of_study, further): (Vec<_>, Vec<_>) = tested
            .iter()
            .partition(|variant| variant.features.iter().all(|name| study.contains(name)));
        assert_eq!(of_study.len(), 1 << study.len(), "{tested:?}");
        assert_eq!(further.len(), modifiers().len() - study.len(), "{tested:?}");
        assert!(further.iter().all(|variant| variant.features.len() == 1), "{further:?}");
        assert_eq!(tested.first().map(Variant::name).as_deref(), Some(default_layout()));
        assert_eq!(tested.last().map(|last| last.features.len()), Some(study.len()), "{tested:?}");
    }

    #[test]
    fn the_forks_build_script_reads_its_manifest_as_it_is() {
        let manifest = include_str!("../../rayon-fork/Cargo.toml");
        let features = Features::of_the_fork();
        assert_eq!(build_script::strings(manifest, "packings"), features.packings);
        let rows = features.exclusive.iter();
        let rows: Vec<&str> =
            rows.flat_map(|(one, other, why)| [one.as_str(), other, why]).collect();
        assert_eq!(build_script::strings(manifest, "exclusive"), rows);
    }

    #[test]
    fn all_features_are_compiled_in_sets_that_can_be() {
        let sets = all_features(&["web_spin_lock"]);
        let features = Features::of_the_fork();
        for name in &features.names {
            assert_eq!(sets.iter().filter(|set| set.contains(name)).count(), 1, "{name}: {sets:?}");
        }
        for set in &sets {
            assert_eq!(features.refusal(&set.iter().cloned().collect()), None);
        }
    }

    #[test]
    fn a_few_variants_have_every_modifier_on_in_one_and_off_in_another() {
        let variants = covering();
        let mut on: Vec<&str> =
            variants.iter().flat_map(|it| it.features.iter().map(String::as_str)).collect();
        let mut all = modifiers();
        on.sort_unstable();
        all.sort_unstable();
        assert_eq!(on, all, "each in one of them alone");
        assert_eq!(variants.first().map(Variant::name).as_deref(), Some(default_layout()));
        assert!(variants.len() <= 4, "{variants:?}");
    }

    #[test]
    fn a_variant_beside_another_package_is_chosen_by_features_with_their_package() {
        let variant = Variant::parse("split+no-jec").unwrap();
        let arguments = ["--features=rayon-core/split", "--features=rayon-core/no-jec"];
        assert_eq!(variant.features_of("rayon-core"), arguments);
        assert!(Variant::parse("packed").unwrap().features_of("rayon-core").is_empty());
    }

    #[test]
    fn features_that_exclude_each_other_are_no_variant() {
        let error = Variant::parse("push-fence,no-jec").unwrap_err().to_string();
        assert!(error.contains("`push-fence` and `no-jec` exclude each other: "), "{error}");
        assert!(error.ends_with("; keep one"), "{error}");
        Variant::parse("split-idle,push-fence,cache-padded").unwrap();
    }

    #[test]
    fn a_branch_of_the_fork_names_a_variant() {
        let asked = ["champion", "split,no-jec"].map(str::to_owned).into();
        let chosen = Variants { asked }.chosen().unwrap();
        assert!(chosen[0].features.iter().any(|name| name == "demand"), "{chosen:?}");
        assert_eq!(chosen[1].features, ["split", "no-jec"]);
    }

    #[test]
    fn an_unknown_feature_is_refused_with_the_known_ones() {
        let error = Variant::parse("spilt").unwrap_err().to_string();
        assert!(error.contains("`spilt`") && error.contains("no-jec"), "{error}");
    }
}
