//! The fork's variants: combinations of its features.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use runner::config::checkout::Checkout;
use runner::config::{Branch, Config, Features, Source};
use runner::stop::Stop;

#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Variants {
    /// A variant by its features, such as `split,no-jec`, or by a branch of the fork, such as
    /// `champion`. May be repeated (default: the task's own choice).
    #[arg(long = "variant", value_name = "FEATURES")]
    asked: Vec<String>,
}

/// A combination of features; `packed` has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    features: Vec<String>,
    is_instrumented: bool,
}

impl Variants {
    pub(crate) fn chosen(&self) -> Result<Vec<Variant>> {
        self.chosen_or(tested)
    }

    pub(crate) fn chosen_or_of_ci(&self) -> Result<Vec<Variant>> {
        self.chosen_or(of_ci)
    }

    /// Like [`Self::chosen`], but the default is `packed` and `champion`, for tasks that take long
    /// on each variant.
    pub(crate) fn chosen_or_named(&self) -> Result<Vec<Variant>> {
        self.chosen_or(|| named().into())
    }

    fn chosen_or(&self, default: impl FnOnce() -> Vec<Variant>) -> Result<Vec<Variant>> {
        if self.asked.is_empty() {
            return Ok(default());
        }
        let branches = Config::read(&Checkout::find(None)?.root().join("branches.toml"))?.branches;
        let chosen = self.asked.iter().map(|asked| {
            let is_asked = |branch: &&Branch| {
                branch.name == *asked && matches!(branch.source, Source::Fork { .. })
            };
            match branches.iter().find(is_asked) {
                Some(branch) => Ok(Variant::of(branch.source.features())),
                None => Variant::parse(asked),
            }
        });
        chosen.collect()
    }

    pub(crate) fn words(&self) -> Vec<String> {
        self.asked
            .iter()
            .map(|asked| format!("--variant={asked}"))
            .collect()
    }
}

impl Variant {
    /// Makes a variant of a branch's features, which were checked when `branches.toml` was read.
    pub(crate) fn of(features: BTreeSet<String>) -> Self {
        Self {
            features: features.into_iter().collect(),
            is_instrumented: false,
        }
    }

    fn parse(asked: &str) -> Result<Self> {
        let known = single_features();
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
        Ok(Self {
            features,
            is_instrumented: false,
        })
    }

    /// The variant's features as Cargo's `--features` takes them; may be empty.
    pub(crate) fn features(&self) -> String {
        let instrument = self.is_instrumented.then_some("instrument");
        self.features
            .iter()
            .map(String::as_str)
            .chain(instrument)
            .collect::<Vec<_>>()
            .join(",")
    }

    /// The arguments that select this variant if Cargo also builds packages other than `package`.
    pub(crate) fn features_of(&self, package: &str) -> Vec<String> {
        let features = self.features();
        let names = features.split(',').filter(|name| !name.is_empty());
        names
            .map(|feature| format!("--features={package}/{feature}"))
            .collect()
    }

    pub(crate) fn is_instrumented(&self) -> bool {
        self.is_instrumented
    }

    fn instrumented(self) -> Self {
        Self {
            is_instrumented: true,
            ..self
        }
    }

    pub(crate) fn name(&self) -> String {
        let is_champion = self.features.iter().eq(&Features::of_the_fork().champion);
        let name = match self.features.as_slice() {
            [] => default_layout().to_owned(),
            _ if is_champion => "champion".to_owned(),
            features => features.join("+"),
        };
        if self.is_instrumented {
            name + " with instrument"
        } else {
            name
        }
    }
}

fn default_layout() -> &'static str {
    &Features::of_the_fork().counter_layouts[0]
}

/// All features except the name of the default counter layout, which has no effect.
fn single_features() -> Vec<&'static str> {
    let names = Features::of_the_fork().names.iter().map(String::as_str);
    names.filter(|&name| name != default_layout()).collect()
}

/// `packed` and `champion`, the builds that README names, in the order in which every task uses
/// them.
pub(crate) fn named() -> [Variant; 2] {
    [BTreeSet::new(), Features::of_the_fork().champion.clone()].map(Variant::of)
}

/// The long form: [`named`], every valid combination of the features that the study compares (small
/// ones first), each other feature alone, and the builds that count events.
fn tested() -> Vec<Variant> {
    let features = Features::of_the_fork();
    let mut sets: Vec<BTreeSet<String>> = vec![BTreeSet::new()];
    for name in &features.study {
        for smaller in sets.clone() {
            sets.push(smaller.into_iter().chain([name.clone()]).collect());
        }
    }
    sets.retain(|set| features.refusal(set).is_none());
    let further = single_features()
        .into_iter()
        .filter(|&name| !features.study.contains(name));
    sets.extend(further.map(|name| [name.to_owned()].into()));
    sets.sort_by_key(BTreeSet::len);
    let counting = named().map(Variant::instrumented).into_iter().chain(rest());
    let sets = sets.into_iter().skip(1).map(Variant::of);
    named().into_iter().chain(sets).chain(counting).collect()
}

pub(crate) fn of_ci() -> Vec<Variant> {
    named().into_iter().chain(rest()).collect()
}

/// Two instrumented builds, which together have every feature that is not in `champion`. One build
/// also has `wake-where-work-is`, the other build `demand`: these two features read the counters
/// most.
fn rest() -> [Variant; 2] {
    let features = Features::of_the_fork();
    let left = single_features()
        .into_iter()
        .filter(|&name| !features.champion.contains(name));
    let mut sets = ["wake-where-work-is", "demand"].map(|name| BTreeSet::from([name.to_owned()]));
    for name in left {
        let with = |set: &BTreeSet<String>| set.iter().cloned().chain([name.to_owned()]).collect();
        let fits = |set: &&mut BTreeSet<String>| features.refusal(&with(set)).is_none();
        if let Some(set) = sets.iter_mut().find(fits) {
            set.insert(name.to_owned());
        }
    }
    sets.map(|set| Variant::of(set).instrumented())
}

#[cfg(test)]
#[expect(dead_code, reason = "here nothing is built")]
#[path = "../../rayon-fork/build.rs"]
mod build_script;

#[cfg(test)]
mod tests {
    use runner::config::Features;

    use super::{
        Variant, Variants, build_script, default_layout, named, of_ci, single_features, tested,
    };

    #[test]
    fn the_long_form_has_the_builds_of_ci_each_combination_of_the_study_and_each_further_feature() {
        let study = &Features::of_the_fork().study;
        let tested = tested();
        assert!(
            of_ci().iter().all(|build| tested.contains(build)),
            "{tested:?}"
        );
        let plain = tested.iter().filter(|variant| !variant.is_instrumented());
        let (of_study, further): (Vec<_>, Vec<_>) = plain
            .filter(|variant| variant.name() != "champion")
            .partition(|variant| variant.features.iter().all(|name| study.contains(name)));
        assert_eq!(of_study.len(), 1 << study.len(), "{tested:?}");
        assert_eq!(
            further.len(),
            single_features().len() - study.len(),
            "{tested:?}"
        );
        assert!(
            further.iter().all(|variant| variant.features.len() == 1),
            "{further:?}"
        );
        assert!(named().iter().eq(&tested[..2]), "{tested:?}");
    }

    #[test]
    fn the_forks_build_script_reads_its_manifest_as_it_is() {
        let manifest = include_str!("../../rayon-fork/Cargo.toml");
        let features = Features::of_the_fork();
        assert_eq!(
            build_script::strings(manifest, "counter-layouts"),
            features.counter_layouts
        );
        let rows = features.exclusive.iter();
        let rows: Vec<&str> = rows
            .flat_map(|(one, other, why)| [one.as_str(), other, why])
            .collect();
        assert_eq!(build_script::strings(manifest, "exclusive"), rows);
    }

    #[test]
    fn every_modifier_is_on_in_one_build_of_ci_and_off_in_another() {
        let builds = of_ci();
        for name in single_features() {
            let has = |build: &&Variant| build.features.iter().any(|it| it == name);
            let on = builds.iter().filter(has).count();
            assert!((1..builds.len()).contains(&on), "{name}: {builds:?}");
        }
    }

    #[test]
    fn ci_builds_what_the_readme_names_as_it_ships_and_few_others() {
        let builds = of_ci();
        let names: Vec<_> = builds.iter().map(Variant::name).collect();
        assert_eq!(names[..2], ["packed", "champion"], "{names:?}");
        assert_eq!(names[0], default_layout());
        assert!(builds.len() <= 4, "{names:?}");
        let of_branch = Variants {
            asked: vec!["champion".to_owned()],
        }
        .chosen()
        .unwrap();
        assert_eq!(
            builds[1], of_branch[0],
            "the feature and the branch of that name are the same"
        );
    }

    #[test]
    fn a_variant_beside_another_package_is_chosen_by_features_with_their_package() {
        let variant = Variant::parse("split+no-jec").unwrap();
        let arguments = [
            "--features=rayon-core/split",
            "--features=rayon-core/no-jec",
        ];
        assert_eq!(variant.features_of("rayon-core"), arguments);
        assert!(
            Variant::parse("packed")
                .unwrap()
                .features_of("rayon-core")
                .is_empty()
        );
    }

    #[test]
    fn every_feature_of_variants_has_a_row_of_the_forks_readme_and_a_branch() {
        let readme = include_str!("../../rayon-fork/README.md");
        let branches = include_str!("../../branches.toml");
        for name in single_features() {
            let row = format!("| `{name}` |");
            assert!(readme.lines().any(|line| line.starts_with(&row)), "{row}");
            let word = format!("\"{name}\"");
            let is_built = |line: &str| line.starts_with("fork = ") && line.contains(&word);
            assert!(
                branches.lines().any(is_built),
                "no branch is built with {word}"
            );
        }
    }

    #[test]
    fn features_that_are_unknown_or_exclude_each_other_are_no_variant() {
        for (asked, told) in [
            ("spilt", "unknown feature `spilt`, and no branch"),
            (
                "push-fence,no-jec",
                "`push-fence` and `no-jec` exclude each other: ",
            ),
        ] {
            let error = Variant::parse(asked).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
