//! The fork's variants: combinations of its counter features, read from its manifest.

use anyhow::{Context, Result, bail};
use runner::config::excluding_pair;
use runner::stop::Stop;
use xshell::Shell;

/// Features that are no modifier: the no-op of the default, the one that counts, and upstream's.
const NO_MODIFIERS: [&str; 3] = ["packed", "instrument", "web_spin_lock"];

/// The modifiers of the study, of which every combination is tested. Any other is tested once, alone:
/// unit tests and models cover all its combinations in every build, and each build takes a while.
const OF_THE_STUDY: [&str; 4] = ["split", "no-jec", "sleepers-only", "cache-padded"];

/// Which variants a task runs on.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Variants {
    /// A variant by its features, for example `split,no-jec` or `packed`; may be repeated
    /// (default: every combination of the study's features, and each further one alone; where one
    /// takes long, the first and the last).
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
    pub(crate) fn chosen(&self, sh: &Shell) -> Result<Vec<Variant>> {
        let modifiers = modifiers(&sh.read_file("rayon-fork/Cargo.toml")?)?;
        if self.asked.is_empty() {
            return Ok(tested(&modifiers));
        }
        self.asked.iter().map(|asked| Variant::parse(asked, &modifiers)).collect()
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
    pub(crate) fn chosen_or_extremes(&self, sh: &Shell) -> Result<Vec<Variant>> {
        let mut chosen = self.chosen(sh)?;
        if self.asked.is_empty() && chosen.len() > 2 {
            chosen.drain(1..chosen.len() - 1);
        }
        Ok(chosen)
    }
}

impl Variant {
    fn parse(asked: &str, modifiers: &[String]) -> Result<Self> {
        let features: Vec<String> =
            asked.split([',', '+']).filter(|name| *name != "packed").map(str::to_owned).collect();
        if let Some(unknown) = features.iter().find(|name| !modifiers.contains(name)) {
            bail!(Stop::BadInput(format!(
                "--variant {asked}: unknown feature `{unknown}`; known: {}",
                modifiers.join(", ")
            )));
        }
        let asked_for = features.iter().cloned().collect();
        if let Some((one, other)) = excluding_pair(&asked_for) {
            bail!(Stop::BadInput(format!(
                "--variant {asked}: `{one}` and `{other}` exclude each other; keep one"
            )));
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
        if self.features.is_empty() { "packed".to_owned() } else { self.features.join("+") }
    }
}

fn modifiers(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse().context("rayon-fork/Cargo.toml")?;
    let features =
        manifest.get("features").and_then(toml::Value::as_table).context("no [features] in it")?;
    Ok(features.keys().filter(|name| !NO_MODIFIERS.contains(&name.as_str())).cloned().collect())
}

/// Every subset of `modifiers` that can be compiled and is either of the study or a single one,
/// small ones first.
fn tested(modifiers: &[String]) -> Vec<Variant> {
    let is_of_the_study = |name: &String| OF_THE_STUDY.contains(&name.as_str());
    let mut subsets: Vec<Vec<String>> = (0..1_usize << modifiers.len())
        .map(|subset| {
            let chosen = modifiers.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1);
            chosen.map(|(_, name)| name.clone()).collect::<Vec<_>>()
        })
        .filter(|names| names.len() <= 1 || names.iter().all(is_of_the_study))
        .filter(|names| excluding_pair(&names.iter().cloned().collect()).is_none())
        .collect();
    subsets.sort_by_key(Vec::len);
    subsets.into_iter().map(|features| Variant { features }).collect()
}

#[cfg(test)]
mod tests {
    use super::{Variant, modifiers, tested};

    fn known() -> Vec<String> {
        modifiers(include_str!("../../rayon-fork/Cargo.toml")).unwrap()
    }

    #[test]
    fn every_combination_of_the_studys_modifiers_is_tested_and_each_further_one_alone() {
        let names: Vec<_> = tested(&known()).iter().map(Variant::name).collect();
        let (further, study): (Vec<_>, Vec<_>) = names.iter().partition(|name| {
            ["asymmetric-fence", "in-place-join", "notify-unlocked", "push-fence", "split-idle"]
                .contains(&name.as_str())
        });
        assert_eq!((study.len(), further.len()), (16, 5), "{names:?}");
        assert_eq!(names.first().map(String::as_str), Some("packed"));
        assert_eq!(names.last().map(|name| name.split('+').count()), Some(4), "{names:?}");
    }

    #[test]
    fn a_variant_beside_another_package_is_chosen_by_features_with_their_package() {
        let variant = Variant::parse("split+no-jec", &known()).unwrap();
        let arguments = ["--features=rayon-core/split", "--features=rayon-core/no-jec"];
        assert_eq!(variant.features_of("rayon-core"), arguments);
        assert!(Variant::parse("packed", &known()).unwrap().features_of("rayon-core").is_empty());
    }

    #[test]
    fn features_that_exclude_each_other_are_no_variant() {
        let error = Variant::parse("push-fence,no-jec", &known()).unwrap_err().to_string();
        assert!(error.contains("`push-fence` and `no-jec` exclude each other"), "{error}");
        Variant::parse("split-idle,push-fence,cache-padded", &known()).unwrap();
    }

    #[test]
    fn an_unknown_feature_is_refused_with_the_known_ones() {
        let error = Variant::parse("spilt", &known()).unwrap_err().to_string();
        assert!(error.contains("`spilt`") && error.contains("no-jec"), "{error}");
    }
}
