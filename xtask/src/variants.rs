//! The fork's variants: every combination of its counter features, read from its manifest.

use anyhow::{Context, Result, bail};
use xshell::Shell;

/// Features that are no modifier: the no-op of the default, and the one that is upstream's.
const NO_MODIFIERS: [&str; 2] = ["packed", "web_spin_lock"];

/// Which variants a task runs on.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Variants {
    /// A variant by its features, for example `split,no-jec` or `packed`; may be repeated
    /// (default: every combination; where one takes long, the first and the last).
    #[arg(long = "variant", value_name = "FEATURES")]
    asked: Vec<String>,
}

/// One combination of counter features; empty for `packed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    features: Vec<String>,
}

impl Variants {
    /// The variants to run on, `packed` first and all modifiers together last.
    pub(crate) fn chosen(&self, sh: &Shell) -> Result<Vec<Variant>> {
        let modifiers = modifiers(&sh.read_file("rayon-fork/Cargo.toml")?)?;
        if self.asked.is_empty() {
            return Ok(all(&modifiers));
        }
        self.asked.iter().map(|asked| Variant::parse(asked, &modifiers)).collect()
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
            bail!(
                "--variant {asked}: unknown feature `{unknown}`; known: {}",
                modifiers.join(", ")
            );
        }
        Ok(Self { features })
    }

    /// As Cargo's `--features` wants it; may be empty.
    pub(crate) fn features(&self) -> String {
        self.features.join(",")
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

/// Every subset of `modifiers`, the empty one first and the full one last.
fn all(modifiers: &[String]) -> Vec<Variant> {
    (0..1_usize << modifiers.len())
        .map(|subset| {
            let chosen = modifiers.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1);
            Variant { features: chosen.map(|(_, name)| name.clone()).collect() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Variant, all, modifiers};

    fn known() -> Vec<String> {
        let manifest = "[features]\npacked = []\nsplit = []\nno-jec = []\nweb_spin_lock = []\n";
        modifiers(manifest).unwrap()
    }

    #[test]
    fn every_combination_of_the_manifests_modifiers_is_a_variant() {
        let names: Vec<_> = all(&known()).iter().map(Variant::name).collect();
        assert_eq!(names.len(), 4);
        assert_eq!(names.first().map(String::as_str), Some("packed"));
        assert!(names.contains(&"split".to_owned()) && names.contains(&"no-jec".to_owned()));
    }

    #[test]
    fn an_unknown_feature_is_refused_with_the_known_ones() {
        let error = Variant::parse("spilt", &known()).unwrap_err().to_string();
        assert!(error.contains("`spilt`") && error.contains("no-jec"), "{error}");
    }
}
