//! Where the published tests come from and how they are run on the fork.
//!
//! Their files are those that Cargo keeps of the published packages. They are copied under
//! `target/`, unmodified, into a workspace that is given the fork; nothing of them is in this
//! repository.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use runner::stop::Stop;
use toml::Table;
use xshell::{Cmd, Shell, cmd};

use super::counts::Counts;
use crate::fork;
use crate::registry::{self, copy_folder};
use crate::scratch::{Core, Scratch};
use crate::variants::Variant;

/// A published package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: Name,
    pub(super) version: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// The facade, which is compiled with the fork below it.
    Rayon,
    /// The package that the fork replaces: its integration tests, and its unit tests, which stand
    /// in files of their own. Its documentation tests are part of its sources, so they cannot run
    /// on others.
    RayonCore,
}

/// One kind of tests of one package, ready to be run.
pub(super) struct Suite {
    package: String,
    folder: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Of these targets.
    Tests(&'static str, &'static [&'static str]),
    Doctests,
}

/// The two private functions of rayon-core that its unit tests call, as a program can write them.
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

impl Package {
    /// Fetches the package and sets its tests up to run on the fork.
    pub(super) fn suites(&self, sh: &Shell, skip_doctests: bool) -> Result<Vec<Suite>> {
        let published = registry::sources(sh, self.name.as_str(), &self.version)?;
        let place = self.place();
        let folder = sh.current_dir().join("target").join(&place);
        sh.remove_path(&folder)?;
        match self.name {
            Name::Rayon => patch_facade(sh, &published, &folder)?,
            Name::RayonCore => move_tests(sh, &published, &place)?,
        }
        prove_on_fork(sh, &folder)?;
        let of_rayon = Kind::Tests("tests", &["--lib", "--tests"]);
        let kinds = match self.name {
            Name::Rayon if skip_doctests => vec![of_rayon],
            Name::Rayon => vec![of_rayon, Kind::Doctests],
            Name::RayonCore => vec![
                Kind::Tests("tests", &["--test", "*"]),
                Kind::Tests("unit tests", &["--lib"]),
            ],
        };
        let package = format!("{} {}", self.name.as_str(), self.version);
        let suite = |kind| Suite {
            package: package.clone(),
            folder: folder.clone(),
            kind,
        };
        Ok(kinds.into_iter().map(suite).collect())
    }

    fn file_name(&self) -> String {
        format!("{}-{}", self.name.as_str(), self.version)
    }

    /// Below `target/`.
    fn place(&self) -> String {
        format!("conformance/{}", self.file_name())
    }
}

impl FromStr for Package {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, version) = match text.split_once('@') {
            Some(("rayon", version)) => (Name::Rayon, version),
            Some(("rayon-core", version)) => (Name::RayonCore, version),
            _ => bail!("`{text}` is not of the form rayon@1.12.0 or rayon-core@1.13.0"),
        };
        Ok(Self {
            name,
            version: version.to_owned(),
        })
    }
}

impl Name {
    fn as_str(self) -> &'static str {
        match self {
            Self::Rayon => "rayon",
            Self::RayonCore => "rayon-core",
        }
    }
}

/// A copy of the facade with a workspace of its own, in which rayon-core is the fork.
fn patch_facade(sh: &Shell, published: &Path, folder: &Path) -> Result<()> {
    copy_folder(published, folder).with_context(|| format!("copying {}", published.display()))?;
    let mut manifest = fork::manifest_in(sh, published)?;
    manifest.insert("workspace".into(), Table::new().into());
    manifest.insert("patch".into(), fork::patch(sh).into());
    sh.write_file(folder.join("Cargo.toml"), manifest.to_string())?;
    // The package's own lock file pins the published rayon-core, which would switch the patch off.
    sh.remove_path(folder.join("Cargo.lock"))?;
    Ok(())
}

/// A package that has nothing but the tests of the published one. To the unit tests its root looks
/// like that of rayon-core.
fn move_tests(sh: &Shell, published: &Path, place: &str) -> Result<()> {
    let folder = sh.current_dir().join("target").join(place);
    let tests = published.join("tests");
    copy_folder(&tests, &folder.join("tests"))
        .with_context(|| format!("copying {}", tests.display()))?;
    let more = manifest_for_tests(&fork::manifest_in(sh, published)?)?;
    let package = Scratch::new(sh, place, more).on(Core::Fork(""));
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

/// Unit tests but those that look at a private field of a pool, to see that its workers end: the
/// fork's own tests of how pools end show that.
fn without_tests_of_fields(text: &str) -> String {
    let mut items: Vec<&str> = text.split_inclusive("\n}\n").collect();
    items.retain(|item| !item.contains("pool.registry"));
    items.concat()
}

/// The files `test.rs` in `sources`, and in its folders.
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
    pub(super) fn title(&self) -> String {
        let kind = match self.kind {
            Kind::Tests(name, _) => name,
            Kind::Doctests => "doctests",
        };
        format!("{} {kind}", self.package)
    }

    /// Runs the suite on `variant` and says on stderr what failed. A test program that does not end
    /// by itself counts as one failure; one that does not compile is an error.
    pub(super) fn run(&self, sh: &Shell, variant: &Variant) -> Result<Counts> {
        // One folder for all: what does not depend on the variant is built once.
        let target = sh.current_dir().join("target/conformance/build");
        let _target = sh.push_env("CARGO_TARGET_DIR", target);
        // Many builds that are run once: debug info and incremental state would only cost time.
        let _debug = sh.push_env("CARGO_PROFILE_DEV_DEBUG", "0");
        let _incremental = sh.push_env("CARGO_INCREMENTAL", "0");
        let _dir = sh.push_dir(&self.folder);
        let features: Vec<_> = variant
            .features()
            .split(',')
            .filter(|name| !name.is_empty())
            .map(|name| format!("rayon-core/{name}"))
            .collect();
        let features = features.join(",");
        let test = || cmd!(sh, "cargo test --no-fail-fast --features {features}");
        let test = match self.kind {
            Kind::Tests(_, targets) => {
                let what = format!("{} on {}", self.title(), variant.name());
                build(test().args(targets).arg("--no-run"), &what)?;
                test().args(targets)
            }
            Kind::Doctests => fork::examples(test()),
        };
        let Tested { counts, has_died } = tested(test)?;
        Ok(Counts {
            failed: counts.failed.max(has_died.into()),
            ..counts
        })
    }
}

/// Builds tests, so that nobody takes a compile error for a failed test.
///
/// # Errors
/// [`Stop::BuildFailed`], after cargo's words on stderr.
pub(crate) fn build(tests: Cmd<'_>, what: &str) -> Result<()> {
    let output = tests.quiet().ignore_status().output()?;
    if output.status.success() {
        return Ok(());
    }
    eprintln!("{}", String::from_utf8_lossy(&output.stderr).trim_end());
    Err(Stop::BuildFailed(format!("{what} does not compile; cargo's words are above")).into())
}

/// The outcome of tests that compile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tested {
    pub(crate) counts: Counts,
    /// Whether a test program ended without a result.
    pub(crate) has_died: bool,
}

/// Runs tests, and prints the failed ones on stderr.
pub(crate) fn tested(test: Cmd<'_>) -> Result<Tested> {
    let output = test.quiet().ignore_status().output()?;
    let report = String::from_utf8_lossy(&output.stdout);
    let counts = Counts::read(&report);
    if !output.status.success() {
        let passed = |line: &&str| line.starts_with("test ") && line.ends_with("... ok");
        report
            .lines()
            .filter(|line| !passed(line))
            .for_each(|line| eprintln!("{line}"));
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(Tested {
        counts,
        has_died: !output.status.success() && counts.failed == 0,
    })
}

/// Makes the manifest of a package with the published package's tests. It has the edition, the
/// features and all dependencies of the published manifest.
fn manifest_for_tests(published: &Table) -> Result<Table> {
    let edition = published
        .get("package")
        .and_then(|package| package.get("edition"));
    let edition = edition
        .context("the published manifest names no edition")?
        .clone();
    let mut manifest = Table::new();
    manifest.insert(
        "package".into(),
        Table::from_iter([("edition".to_owned(), edition)]).into(),
    );
    for key in ["dependencies", "dev-dependencies", "target", "features"] {
        if let Some(value) = published.get(key) {
            manifest.insert(key.into(), value.clone());
        }
    }
    Ok(manifest)
}

/// Refuses to test upstream.
fn prove_on_fork(sh: &Shell, folder: &Path) -> Result<()> {
    let (core, is_fork) = fork::linked_core(sh, folder)?;
    ensure!(
        is_fork,
        "the tests in {} would run on `{core}`, not on the fork in {}",
        folder.display(),
        fork::folder(sh).display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Name, Package, manifest_for_tests, without_tests_of_fields};

    #[test]
    fn unit_tests_stay_as_they_are_but_for_those_of_a_private_field() {
        let kept = "use crate::join;\n\n#[test]\nfn a() {\n    join();\n}\n";
        let left_out = "\n#[test]\nfn b() {\n    {\n        thread_pool.registry;\n    }\n}\n";
        assert_eq!(without_tests_of_fields(&format!("{kept}{left_out}")), kept);
    }

    #[test]
    fn a_package_is_named_with_its_version() {
        let core = Package {
            name: Name::RayonCore,
            version: "1.13.0".to_owned(),
        };
        assert_eq!("rayon-core@1.13.0".parse::<Package>().unwrap(), core);
        for wrong in ["rayon", "rayon=1.12.0", "ryon@1.12.0"] {
            let error = wrong.parse::<Package>().unwrap_err().to_string();
            assert!(
                error.contains(wrong) && error.contains("rayon@1.12.0"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_package_of_tests_depends_on_what_the_published_one_does() {
        let published = toml::toml! {
            links = "rayon-core"
            [package]
            name = "rayon-core"
            edition = "2021"
            [lib]
            path = "src/lib.rs"
            [features]
            web_spin_lock = ["dep:wasm_sync"]
            [dependencies.crossbeam-deque]
            version = "0.8"
            [dev-dependencies.scoped-tls]
            version = "1.0"
            [target."cfg(unix)".dev-dependencies.libc]
            version = "0.2"
        };
        let manifest = manifest_for_tests(&published).unwrap();
        let expected = toml::toml! {
            [package]
            edition = "2021"
            [features]
            web_spin_lock = ["dep:wasm_sync"]
            [dependencies.crossbeam-deque]
            version = "0.8"
            [dev-dependencies.scoped-tls]
            version = "1.0"
            [target."cfg(unix)".dev-dependencies.libc]
            version = "0.2"
        };
        assert_eq!(manifest, expected);
    }
}
