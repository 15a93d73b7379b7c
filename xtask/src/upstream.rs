//! Proposals to upstream: what `findings/*/edits.toml` make of the published rayon-core, and
//! whether its own tests pass.
//!
//! Nothing of upstream is in this repository: the sources are those that Cargo keeps, and are
//! copied under `target/`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use runner::build::check_folder;
use runner::build::edits::{Changed, Edits};
use runner::config::pick::hint;
use runner::config::{Branch, Source};
use runner::stop::Stop;
use similar::TextDiff;
use xshell::{PushEnv, Shell, cmd};

use crate::conformance::{Tested, build, tested};
use crate::registry;
use crate::shell::{alone, step};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Folders of `findings/` that have an `edits.toml`. Without one, lists them.
    names: Vec<String>,
    /// Edit this working tree of rayon-core, not the release that the edits are for; if it is in a
    /// workspace, all of that is copied.
    #[arg(long, value_name = "FOLDER", requires = "names")]
    tree: Option<PathBuf>,
    /// Only print the difference.
    #[arg(long, requires = "names")]
    skip_tests: bool,
}

/// Prints the difference that each proposal makes, and runs upstream's tests on it.
pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    let known = known(sh)?;
    if options.names.is_empty() {
        let width = known.iter().map(String::len).max().unwrap_or(0);
        let mut out = std::io::stdout().lock();
        for name in known {
            writeln!(out, "{name:width$}  {}", edits(sh, &name)?.change)?;
        }
        return Ok(());
    }
    for name in &options.names {
        if !known.contains(name) {
            let hint = hint(name, known.iter().map(String::as_str));
            let known = known.join(", ");
            return Err(Stop::BadInput(format!(
                "`{name}` has no findings/{name}/edits.toml; known: {known}{hint}"
            ))
            .into());
        }
    }
    let source = options
        .tree
        .as_deref()
        .map(|tree| located(sh, tree))
        .transpose()?;
    let _lock = lock(sh)?;
    let mut first = Ok(());
    for name in &options.names {
        let tried = try_out(sh, name, source.as_ref(), options.skip_tests);
        // One that does not fit says nothing of the others.
        if let (Err(error), true) = (&tried, first.is_err()) {
            eprintln!("error: {error:#}");
        }
        first = first.and(tried);
    }
    first
}

/// Prints the difference that one proposal makes, and runs upstream's tests on it.
///
/// # Errors
/// That tell apart a proposal that does not fit ([`Stop::BadInput`]), one that does not compile
/// ([`Stop::BuildFailed`]), and one with which tests fail.
fn try_out(sh: &Shell, name: &str, source: Option<&Sources>, skips_tests: bool) -> Result<()> {
    let (folder, changed) = edited(sh, name, source)?;
    let mut out = std::io::stdout().lock();
    // Whoever reads may have read enough; the tests run all the same.
    let _ = out
        .write_all(diff(&changed).as_bytes())
        .and_then(|()| out.flush());
    drop(out);
    if skips_tests {
        return Ok(());
    }
    let _target = shared_target(sh);
    let _dir = sh.push_dir(&folder);
    eprintln!("── upstream's tests with {name} are built");
    build(
        cmd!(sh, "cargo test --no-run"),
        &format!("upstream with {name}"),
    )?;
    eprintln!("── upstream's tests with {name}");
    let Tested { counts, has_died } = tested(cmd!(sh, "cargo test --no-fail-fast"))?;
    eprintln!("   {counts}, in {}", folder.display());
    ensure!(
        counts.failed == 0,
        "{name}: {} of upstream's tests fail",
        counts.failed
    );
    ensure!(
        !has_died,
        "{name}: a program of upstream's tests died; its last words are above"
    );
    ensure!(counts.passed > 0, "{name}: upstream has no test there");
    Ok(())
}

/// A rayon-core, and the folder of which it needs all: its workspace, or itself.
#[derive(Debug, PartialEq, Eq)]
struct Sources {
    root: PathBuf,
    krate: PathBuf,
}

/// The working tree of rayon-core in the folder that was typed, with its workspace.
fn located(sh: &Shell, tree: &Path) -> Result<Sources> {
    let branch = Branch {
        name: "tree".to_owned(),
        source: Source::Path {
            path: tree.to_owned(),
            features: BTreeSet::new(),
        },
        baseline: false,
        group: None,
        hypothesis: String::new(),
        claims: Vec::new(),
        typed: Some(format!("--tree {}", tree.display())),
    };
    // As typed, wherever the shell is.
    let here = std::env::current_dir().context("the current folder cannot be read")?;
    check_folder(&here, &branch)?;
    let refused =
        |what: &dyn std::fmt::Display| Stop::BadInput(format!("--tree {}: {what}", tree.display()));
    let krate = here
        .join(tree)
        .canonicalize()
        .map_err(|error| refused(&error))?;
    let manifest = krate.join("Cargo.toml");
    let locate = cmd!(
        sh,
        "cargo locate-project --quiet --workspace --message-format plain --manifest-path {manifest}"
    );
    let said = locate.quiet().ignore_status().output()?;
    let root = Path::new(String::from_utf8_lossy(&said.stdout).trim())
        .parent()
        .and_then(|root| root.canonicalize().ok());
    let root = root.filter(|root| krate.starts_with(root));
    let root = root.ok_or_else(|| {
        let words = String::from_utf8_lossy(&said.stderr);
        refused(&format!(
            "cargo finds no workspace around it: {}",
            words.trim()
        ))
    })?;
    let made = sh.current_dir().join(MADE).canonicalize();
    if made.is_ok_and(|made| root.starts_with(made)) {
        return Err(refused(&format!(
            "lies in {MADE}, which is deleted and made anew; copy it to another place first"
        ))
        .into());
    }
    Ok(Sources { root, krate })
}

/// Where copies with edits are made.
const MADE: &str = "target/upstream";

/// Keeps others from `target/upstream`, which each of them makes anew.
fn lock(sh: &Shell) -> Result<File> {
    alone(sh, "upstream")
}

/// That each proposal still fits its release, changes something, is formatted as upstream formats,
/// and compiles.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let _lock = lock(sh)?;
    for name in known(sh)? {
        let (folder, changed) = edited(sh, &name, None)?;
        ensure!(
            !diff(&changed).is_empty(),
            "findings/{name}/edits.toml changes nothing"
        );
        let _target = shared_target(sh);
        // Or the checkout's own would count.
        sh.write_file(folder.join("rustfmt.toml"), "")?;
        let _dir = sh.push_dir(folder);
        step(
            &format!("format of upstream with {name}"),
            cmd!(sh, "cargo fmt --check"),
        )?;
        let check = cmd!(sh, "cargo check --quiet").env("RUSTFLAGS", "-Dwarnings");
        step(&format!("upstream compiles with {name}"), check)?;
    }
    Ok(())
}

/// One folder for all: what rayon-core needs is built once.
fn shared_target(sh: &Shell) -> PushEnv<'_> {
    sh.push_env(
        "CARGO_TARGET_DIR",
        sh.current_dir().join("target/upstream/build"),
    )
}

/// Where rayon-core lies in a copy below `target/upstream` with the edits, and what they changed.
fn edited(sh: &Shell, name: &str, source: Option<&Sources>) -> Result<(PathBuf, Vec<Changed>)> {
    let edits = edits(sh, name)?;
    let published;
    let Sources { root, krate } = if let Some(source) = source {
        source
    } else {
        let folder = registry::sources(sh, "rayon-core", &edits.published)?;
        published = Sources {
            root: folder.clone(),
            krate: folder,
        };
        &published
    };
    let to = sh.current_dir().join(MADE).join(name);
    sh.remove_path(&to)?;
    let changed = edits.copy(root, krate, &to)?;
    Ok((to.join(krate.strip_prefix(root)?), changed))
}

fn edits(sh: &Shell, name: &str) -> Result<Edits> {
    let shown = format!("findings/{name}/edits.toml");
    Ok(Edits::read(&sh.current_dir().join(&shown), &shown)?)
}

/// The findings that have a proposal, in the order of their names.
fn known(sh: &Shell) -> Result<Vec<String>> {
    let folders = sh
        .read_dir("findings")?
        .into_iter()
        .filter(|path| path.join("edits.toml").is_file());
    let name = |path: PathBuf| Some(path.file_name()?.to_str()?.to_owned());
    folders
        .map(|path| name(path).context("a folder of findings has no name"))
        .collect()
}

/// As `git apply` takes it in the folder of rayon-core.
fn diff(changed: &[Changed]) -> String {
    let one = |change: &Changed| {
        let diff = TextDiff::from_lines(&change.before, &change.after);
        let (before, after) = (format!("a/{}", change.file), format!("b/{}", change.file));
        diff.unified_diff().header(&before, &after).to_string()
    };
    changed.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use runner::build::edits::{Changed, Edits};
    use runner::stop::Stop;
    use xshell::cmd;

    use super::{MADE, build, diff, edited, known, located, tested};
    use crate::shell::at_root;

    /// A workspace with a rayon-core that takes its edition from it, and a library beside it.
    fn workspace(source: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        write(
            "Cargo.toml",
            "[workspace]\nresolver = \"2\"\nmembers = [\"rayon-core\", \"beside\"]\n\
             [workspace.package]\nedition = \"2021\"\n",
        );
        write(
            "rayon-core/Cargo.toml",
            "[package]\nname = \"rayon-core\"\nversion = \"1.13.0\"\nedition.workspace = true\n\
             [dependencies]\nbeside = { path = \"../beside\" }\n",
        );
        write("rayon-core/src/lib.rs", source);
        let beside =
            "[package]\nname = \"beside\"\nversion = \"0.1.0\"\nedition.workspace = true\n";
        write("beside/Cargo.toml", beside);
        write("beside/src/lib.rs", "");
        folder
    }

    #[test]
    fn a_tree_in_a_workspace_is_known_with_all_of_it_and_another_package_is_refused() {
        let sh = at_root().unwrap();
        let folder = workspace("");
        let root = folder.path().canonicalize().unwrap();
        let found = located(&sh, &root.join("rayon-core")).unwrap();
        assert_eq!((&found.root, found.krate), (&root, root.join("rayon-core")));
        for (other, told) in [("beside", "the package `beside`"), ("none", "is not there")] {
            let error = located(&sh, &root.join(other)).unwrap_err();
            assert!(
                matches!(error.downcast_ref(), Some(Stop::BadInput(_))),
                "{error}"
            );
            let error = error.to_string();
            assert!(error.contains("--tree ") && error.contains(told), "{error}");
        }
    }

    #[test]
    fn a_tree_where_copies_are_made_is_refused_before_it_is_deleted() {
        let sh = at_root().unwrap();
        let made = sh.current_dir().join(MADE);
        fs::create_dir_all(&made).unwrap();
        let folder = tempfile::tempdir_in(&made).unwrap();
        let manifest = "[package]\nname = \"rayon-core\"\nversion = \"1.13.0\"\n[workspace]\n";
        fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/lib.rs"), "").unwrap();
        let error = located(&sh, folder.path()).unwrap_err().to_string();
        assert!(error.contains("copy it to another place first"), "{error}");
    }

    #[test]
    fn edits_that_do_not_fit_a_tree_are_bad_input_and_what_does_not_compile_is_a_failed_build() {
        let sh = at_root().unwrap();
        let name = &known(&sh).unwrap()[0];
        let folder = workspace("fn broken( {}\n");
        let source = located(&sh, &folder.path().join("rayon-core")).unwrap();
        let error = edited(&sh, name, Some(&source)).unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(Stop::BadInput(_))),
            "{error}"
        );
        let shown = format!("findings/{name}/edits.toml");
        assert!(error.to_string().starts_with(&shown), "{error}");

        let _dir = sh.push_dir(folder.path().join("rayon-core"));
        let error = build(cmd!(sh, "cargo test --offline --no-run"), "the tree").unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(Stop::BuildFailed(_))),
            "{error}"
        );
        assert_eq!(
            error.to_string(),
            "the tree does not compile; cargo's words are above"
        );
    }

    #[test]
    fn a_workspace_is_copied_with_all_its_members_and_tests_run_in_the_crates_own_folder() {
        let sh = at_root().unwrap();
        let folder =
            workspace("#[test]\nfn passes() {}\n#[test]\nfn fails() { assert!(cfg!(any())) }\n");
        let source = located(&sh, &folder.path().join("rayon-core")).unwrap();
        let to = tempfile::tempdir().unwrap();
        let file = folder.path().join("edits.toml");
        let written = |was: &str| {
            let text = format!(
                "published = \"1.13.0\"\nchange = \"adds\"\n[[edit]]\nfile = \"src/lib.rs\"\n\
                 item = \"passes\"\nwas = \"{was}\"\nafter = \"fn added() {{}}\"\n"
            );
            fs::write(&file, text).unwrap();
            let edits = Edits::read(&file, "edits.toml").unwrap();
            edits.copy(&source.root, &source.krate, to.path())
        };
        // The refusal says what stands there.
        let refused = written("").unwrap_err().to_string();
        let (_, was) = refused.rsplit_once("was = \"").unwrap();
        let changed = written(was.trim_end_matches('"')).unwrap();
        assert_eq!(changed.len(), 1);
        assert!(to.path().join("beside/src/lib.rs").is_file());
        let copy = to.path().join("rayon-core/src/lib.rs");
        assert!(fs::read_to_string(&copy).unwrap().contains("fn added() {}"));
        let _dir = sh.push_dir(to.path().join("rayon-core"));
        build(cmd!(sh, "cargo test --offline --no-run"), "the tree").unwrap();
        let found = tested(cmd!(sh, "cargo test --offline --no-fail-fast")).unwrap();
        assert_eq!(
            (found.counts.passed, found.counts.failed, found.has_died),
            (1, 1, false)
        );
        fs::write(&copy, "#[test]\nfn dies() { std::process::abort() }\n").unwrap();
        let found = tested(cmd!(sh, "cargo test --offline --no-fail-fast")).unwrap();
        assert_eq!((found.counts.failed, found.has_died), (0, true));
    }

    #[test]
    fn a_difference_names_the_file_and_has_the_lines_around() {
        let change = |after: &str| {
            let [file, before, after] = ["src/a.rs", "one\ntwo\n", after].map(str::to_owned);
            diff(&[Changed {
                file,
                before,
                after,
            }])
        };
        let expected = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n";
        assert_eq!(change("one\nthree\n"), expected);
        assert_eq!(change("one\ntwo\n"), "");
    }

    #[test]
    fn each_proposal_is_a_branch_that_sweeps_can_measure() {
        let sh = at_root().unwrap();
        let branches = sh.read_file("branches.toml").unwrap();
        for name in known(&sh).unwrap() {
            assert!(
                branches.contains(&format!("edits = \"findings/{name}/edits.toml\"\n")),
                "{name}"
            );
        }
    }
}
