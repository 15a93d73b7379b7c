//! Runs the published packages' own tests on the fork. Left out are rayon-core's documentation
//! tests, and unit tests that read a private field.
//!
//! Cargo keeps the files of these tests with the published packages. The other tests are copied
//! under `target/`, unmodified, into a workspace that uses the fork; this repository contains none
//! of them.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use runner::build::edits::copy_folder;
use toml::Table;
use xshell::{Shell, cmd};

use crate::fork;
use crate::harness::{Counts, Tested, build, tested};
use crate::registry;
use crate::scratch::{Core, Scratch};
use crate::shell::alone;
use crate::sources::Stamp;
use crate::variants::{Variant, Variants};

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    variants: Variants,
    /// The published packages whose tests run: any version of `rayon` or `rayon-core`.
    #[arg(
        long = "package",
        value_name = "NAME@VERSION",
        value_delimiter = ',',
        default_values = ["rayon@1.11.0", "rayon@1.12.0", "rayon-core@1.13.0"]
    )]
    packages: Vec<Package>,
    /// Also run the tests that passed before with the same compiler and the same sources of the
    /// fork.
    #[arg(long)]
    force: bool,
}

/// A published package: `rayon`, the facade, or `rayon-core`, which the fork replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    name: &'static str,
    version: String,
}

const RAYON: &str = "rayon";
const RAYON_CORE: &str = "rayon-core";

/// One kind of tests of one package, ready to run.
struct Suite {
    title: String,
    folder: PathBuf,
    targets: &'static [&'static str],
}

const OF_RAYON: &[(&str, &[&str])] = &[("tests", &["--lib", "--tests"]), (EXAMPLES, &[])];

/// rayon-core's documentation tests are comments in its sources, which the fork replaces, so these
/// tests cannot run on the fork.
const EXAMPLES: &str = "doctests";

const OF_RAYON_CORE: &[(&str, &[&str])] = &[
    ("tests", &["--test", "*"]),
    // Unlike documentation tests, the unit tests are in separate files.
    ("unit tests", &["--lib"]),
];

/// The two private functions of rayon-core that its unit tests call, written with public functions.
const PRIVATE: &str = "
#[cfg(test)]
mod unwind {
    pub fn halt_unwinding<R>(body: impl FnOnce() -> R) -> std::thread::Result<R> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(body))
    }
}

#[cfg(test)]
mod registry {
    pub fn in_worker<R: Send>(body: impl FnOnce((), bool) -> R + Send) -> R {
        rayon_core::scope(|_| body((), false))
    }
}
";

pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    let _lock = alone(sh, "conformance")?;
    let suites = suites(sh, &options.packages)?;
    let variants = options.variants.chosen()?;
    let all = variants
        .iter()
        .flat_map(|variant| suites.iter().map(move |suite| (suite, variant)));
    run_all(sh, &all.collect::<Vec<_>>(), options.force)
}

/// Runs the tests that every change must pass: the tests of the newest version of each package.
/// Rayon's tests take long to compile, so they run only on the last of `variants`.
pub(crate) fn test(sh: &Shell, variants: &[Variant]) -> Result<()> {
    let _lock = alone(sh, "conformance")?;
    let newest = ["rayon-core@1.13.0", "rayon@1.12.0"].map(str::parse::<Package>);
    let suites = suites(sh, &newest.into_iter().collect::<Result<Vec<_>>>()?)?;
    let mut all = Vec::new();
    for (left, variant) in variants
        .iter()
        .enumerate()
        .map(|(i, it)| (variants.len() - i, it))
    {
        let runs = |suite: &&Suite| left == 1 || suite.title.starts_with(RAYON_CORE);
        all.extend(suites.iter().filter(runs).map(|suite| (suite, variant)));
    }
    run_all(sh, &all, true)
}

/// Runs each suite on its variant, even if an earlier suite failed, and prints how many tests
/// passed. Unless `force`, skips suites that passed with the same sources and compiler, so that a
/// rerun continues after an interrupt.
fn run_all(sh: &Shell, runs: &[(&Suite, &Variant)], force: bool) -> Result<()> {
    const READ: [&str; 3] = [
        "rayon-fork/Cargo.toml",
        "rayon-fork/build.rs",
        "rayon-fork/src",
    ];
    let mut failed = 0;
    for (number, (suite, variant)) in (1..).zip(runs) {
        let title = format!("{} on {}", suite.title, variant.name());
        eprintln!("── {number} of {}: {title}", runs.len());
        let stamp = Stamp::of(sh, &title, &READ, std::slice::from_ref(*variant))?;
        if !force && stamp.is_valid() {
            eprintln!("   passed on the same sources before (--force runs it again)");
            continue;
        }
        let start = Instant::now();
        let counts = suite.run(sh, variant)?;
        eprintln!("   {counts}, in {:.0} s", start.elapsed().as_secs_f64());
        ensure!(counts.passed + counts.failed > 0, "{title}: no test ran");
        if counts.failed == 0 {
            stamp.set(sh)?;
        }
        failed += counts.failed;
    }
    ensure!(
        failed == 0,
        "{failed} tests of the published packages fail on the fork"
    );
    Ok(())
}

fn suites(sh: &Shell, packages: &[Package]) -> Result<Vec<Suite>> {
    let mut suites = Vec::new();
    for Package { name, version } in packages {
        let published = registry::sources(sh, name, version)?;
        let place = format!("conformance/{name}-{version}");
        let folder = sh.current_dir().join("target").join(&place);
        sh.remove_path(&folder)?;
        let kinds = if *name == RAYON {
            patch_facade(sh, &published, &folder)?;
            OF_RAYON
        } else {
            move_tests(sh, &published, &place)?;
            OF_RAYON_CORE
        };
        // If a patch does not fit, Cargo only warns, and links the published crate.
        let (core, is_fork) = fork::linked_core(sh, &folder)?;
        ensure!(
            is_fork,
            "the tests in {} would run on `{core}`, not on the fork in {}",
            folder.display(),
            fork::folder(sh).display()
        );
        suites.extend(kinds.iter().map(|(kind, targets)| Suite {
            title: format!("{name} {version} {kind}"),
            folder: folder.clone(),
            targets,
        }));
    }
    Ok(suites)
}

impl FromStr for Package {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, version) = match text.split_once('@') {
            Some((RAYON, version)) => (RAYON, version),
            Some((RAYON_CORE, version)) => (RAYON_CORE, version),
            _ => bail!("`{text}` is not of the form rayon@1.12.0 or rayon-core@1.13.0"),
        };
        Ok(Self {
            name,
            version: version.to_owned(),
        })
    }
}

/// Copies the facade into a workspace of its own, in which rayon-core is the fork.
fn patch_facade(sh: &Shell, published: &Path, folder: &Path) -> Result<()> {
    copy_folder(published, folder, |_| None)?;
    let mut manifest = fork::manifest_in(sh, folder)?;
    manifest.insert("patch".into(), fork::patch(sh).into());
    sh.write_file(folder.join("Cargo.toml"), manifest.to_string())?;
    // The package's own lock file pins the published rayon-core, which would disable the patch.
    sh.remove_path(folder.join("Cargo.lock"))?;
    Ok(())
}

/// Writes a package without code: it has the tests, edition, features and dependencies of the
/// published package. The root module defines the names that rayon-core's unit tests import.
fn move_tests(sh: &Shell, published: &Path, place: &str) -> Result<()> {
    let folder = sh.current_dir().join("target").join(place);
    copy_folder(&published.join("tests"), &folder.join("tests"), |_| None)?;
    let mut manifest = fork::manifest_in(sh, published)?;
    let edition = manifest.get("package").and_then(|it| it.get("edition"));
    let edition = edition.context("the published manifest names no edition")?;
    let package = Table::from_iter([("edition".to_owned(), edition.clone())]);
    manifest
        .retain(|key, _| ["dependencies", "dev-dependencies", "target", "features"].contains(&key));
    manifest.insert("package".to_owned(), package.into());
    let package = Scratch::new(sh, place, manifest).on(Core::Fork(""));
    let mut root = format!("pub use rayon_core::*;\n{PRIVATE}");
    for file in unit_tests(sh, &published.join("src"))? {
        let inside = file.strip_prefix(published)?;
        sh.write_file(
            folder.join(inside),
            without_tests_of_fields(&sh.read_file(&file)?),
        )?;
        let module = inside.parent().and_then(Path::file_name);
        match module.and_then(|name| name.to_str()) {
            Some("src") | None => root += "\n#[cfg(test)]\nmod test;\n",
            Some(module) => root.extend([
                "\n#[cfg(test)]\nmod ",
                module,
                " {\n    #![allow(unused_imports)]\n    use {crate::unwind, rayon_core::*};\n    mod test;\n}\n",
            ]),
        }
    }
    package.file("src/lib.rs", &root)?;
    package.write()
}

/// Returns the unit tests, except those that read a private field of a pool to check that the
/// pool's workers end. The fork has its own tests of how pools end.
fn without_tests_of_fields(text: &str) -> String {
    let mut items: Vec<&str> = text.split_inclusive("\n}\n").collect();
    items.retain(|item| !item.contains("pool.registry"));
    items.concat()
}

fn unit_tests(sh: &Shell, sources: &Path) -> Result<Vec<PathBuf>> {
    let mut places = sh.read_dir(sources)?;
    places.push(sources.to_owned());
    let files = places.into_iter().map(|place| place.join("test.rs"));
    let files: Vec<_> = files.filter(|file| file.is_file()).collect();
    ensure!(
        !files.is_empty(),
        "no unit tests are in {}",
        sources.display()
    );
    Ok(files)
}

impl Suite {
    /// A test program that dies without a report of a failed test counts as one failure; one that
    /// does not compile is an error.
    fn run(&self, sh: &Shell, variant: &Variant) -> Result<Counts> {
        // All variants share one target folder, so that code that does not depend on the variant is
        // built once.
        let target = sh.current_dir().join("target/conformance/build");
        let _target = sh.push_env("CARGO_TARGET_DIR", target);
        // Each build runs only once, so debug info and incremental state would only cost time.
        let _debug = sh.push_env("CARGO_PROFILE_DEV_DEBUG", "0");
        let _incremental = sh.push_env("CARGO_INCREMENTAL", "0");
        let _dir = sh.push_dir(&self.folder);
        let (features, targets) = (variant.features_of(RAYON_CORE), self.targets);
        let test = || cmd!(sh, "cargo test --no-fail-fast").args(&features);
        let test = if self.title.ends_with(EXAMPLES) {
            fork::examples(test())
        } else {
            let what = format!("{} on {}", self.title, variant.name());
            build(test().arg("--no-run").args(targets), &what)?;
            test().args(targets)
        };
        let Tested { counts, has_died } = tested(test)?;
        Ok(Counts {
            failed: counts.failed.max(has_died.into()),
            ..counts
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Package, without_tests_of_fields};

    #[test]
    fn unit_tests_stay_as_they_are_but_for_those_of_a_private_field() {
        let kept = "use crate::join;\n\n#[test]\nfn a() {\n    join();\n}\n";
        let left_out = "\n#[test]\nfn b() {\n    {\n        thread_pool.registry;\n    }\n}\n";
        assert_eq!(without_tests_of_fields(&format!("{kept}{left_out}")), kept);
    }

    #[test]
    fn a_package_is_named_with_its_version() {
        assert!("rayon-core@1.13.0".parse::<Package>().is_ok());
        for wrong in ["rayon", "rayon=1.12.0", "ryon@1.12.0"] {
            let error = wrong.parse::<Package>().unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
