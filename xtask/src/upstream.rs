//! Tests proposals to upstream. Applies `findings/*/edits.toml` to the published rayon-core or to a
//! checkout of rayon, runs rayon-core's own tests, and writes the patch.
//!
//! This repository contains no source of upstream. The command copies the sources that Cargo keeps,
//! or the user's checkout, to a folder below `target/`.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use runner::build::check_folder;
use runner::build::edits::{Changed, Edits};
use runner::config::pick::hint;
use runner::config::{Branch, Source};
use runner::stop::Stop;
use similar::{DiffTag, TextDiff};
use xshell::{PushEnv, Shell, cmd};

use crate::harness::{Tested, build, tested};
use crate::registry;
use crate::shell::{alone, step};

mod demo;

/// The release for which each proposal has an edit script.
const RELEASE: &str = "1.13.0";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Folders of `findings/` that have an `edits.toml`. Without names, the command lists these
    /// folders.
    names: Vec<String>,
    /// Use a checkout of rayon, or the folder of a rayon-core, instead of the published crate. The
    /// edits are made in a copy, of the whole workspace if there is one.
    #[arg(long, value_name = "RAYON", requires = "names")]
    tree: Option<PathBuf>,
    /// Only write the patch, without compiling or testing.
    #[arg(long, requires = "names")]
    skip_tests: bool,
    /// If everything passes, also apply the patch to RAYON itself.
    #[arg(long, requires = "tree")]
    apply: bool,
    /// Run rayon-demo's own benchmarks before and after each proposal, in alternation. Print each
    /// change with its 95 % interval. `--demo=life,noop` runs only these two benchmarks.
    #[arg(
        long,
        requires = "tree",
        value_name = "BENCHMARKS",
        value_delimiter = ','
    )]
    #[arg(num_args = 0..=1, require_equals = true, value_parser = demo::names())]
    demo: Option<Vec<String>>,
    /// Runs of each benchmark with each build: more runs detect smaller changes.
    #[arg(long, requires = "demo", default_value_t = demo::TURNS, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
}

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
                "`{name}` has no findings/{name}/edits.toml; {hint}known: {known}"
            ))
            .into());
        }
    }
    let source = options
        .tree
        .as_deref()
        .map(|tree| located(sh, tree))
        .transpose()?;
    if let (Some(_), Some(source)) = (&options.demo, &source) {
        demo::check(&source.root)?;
    }
    let _lock = alone(sh, "upstream")?;
    let mut first = Ok(());
    for name in &options.names {
        let tried = try_out(sh, name, source.as_ref(), options);
        // If one proposal does not fit, the others are still applied.
        if let (Err(error), true) = (&tried, first.is_err()) {
            eprintln!("error: {error:#}");
        }
        first = first.and(tried);
    }
    first
}

fn try_out(sh: &Shell, name: &str, source: Option<&Sources>, options: &Options) -> Result<()> {
    let shown = format!("target/upstream/{name}.patch");
    let file = sh.current_dir().join(&shown);
    // If a step below fails, no patch of an earlier run may remain.
    sh.remove_path(&file)?;
    let edited = edited(sh, name, source)?;
    if options.skip_tests {
        eprintln!("── upstream's tests with {name} are skipped");
    } else {
        test(sh, name, &edited.copy)?;
    }
    if let Some(benchmarks) = &options.demo {
        demo::run(sh, name, &edited, benchmarks, options.turns)?;
    }
    sh.write_file(&file, edited.patch()?)?;
    eprintln!("── the patch of {name}: {}", lines(&edited.changed));
    if let (true, Some(source)) = (options.apply, source) {
        apply(sh, &source.root, &file)?;
        eprintln!("── it is applied to {}", source.root.display());
    }
    let mut out = std::io::stdout().lock();
    let told = writeln!(out, "{shown}").and_then(|()| out.flush());
    match told {
        // A reader may have closed the pipe.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Stop::HostNotFit(format!(
            "standard output cannot be written: {error}; make room, or name another place; \
             {shown} is written"
        ))
        .into()),
        _ => Ok(()),
    }
}

fn apply(sh: &Shell, root: &Path, patch: &Path) -> Result<()> {
    let git = cmd!(sh, "git -C {root} apply {patch}").quiet();
    git.run().map_err(|error| {
        Stop::BadInput(format!(
            "--apply: {} cannot be changed ({error}); the patch is written: {}",
            root.display(),
            patch.display()
        ))
        .into()
    })
}

fn test(sh: &Shell, name: &str, copy: &Sources) -> Result<()> {
    let checkout = sh.current_dir();
    let shown = copy.krate.strip_prefix(&checkout).unwrap_or(&copy.krate);
    let _target = shared_target(sh);
    let _dir = sh.push_dir(&copy.krate);
    eprintln!("── upstream's tests with {name} are built");
    build(
        cmd!(sh, "cargo test --no-run"),
        &format!("upstream with {name}"),
    )?;
    eprintln!("── upstream's tests with {name}");
    let Tested { counts, has_died } = tested(cmd!(sh, "cargo test --no-fail-fast"))?;
    eprintln!("   {counts}, in {}", shown.display());
    ensure!(
        counts.failed == 0,
        "{name}: {} of upstream's tests fail",
        counts.failed
    );
    ensure!(
        !has_died,
        "{name}: a program of upstream's tests died; its last output is above"
    );
    ensure!(counts.passed > 0, "{name}: upstream has no test there");
    if copy.root.join(DEMO).is_dir() {
        let _dir = sh.push_dir(&copy.root);
        eprintln!("── {DEMO} with {name} is built");
        build(
            cmd!(sh, "cargo build --package {DEMO}"),
            &format!("{DEMO} with {name}"),
        )?;
    }
    Ok(())
}

/// The member of rayon's workspace that has the demos.
const DEMO: &str = "rayon-demo";

struct Edited {
    name: String,
    edits: Edits,
    copy: Sources,
    changed: Vec<Changed>,
}

impl Edited {
    fn patch(&self) -> Result<String> {
        let Edits {
            change, message, ..
        } = &self.edits;
        let folder = self.copy.krate.strip_prefix(&self.copy.root)?;
        let diff = diff(folder, &self.changed);
        let lines = lines(&self.changed);
        let evidence = format!(
            "Evidence:\nwork-stealing-lab, findings/{}/README.md",
            self.name
        );
        Ok(format!(
            "{change}\n\n{message}\n{evidence}\n---\n{lines}\n\n{diff}"
        ))
    }
}

/// A rayon-core (`krate`), and the folder that must be copied with it (`root`): its workspace, or
/// itself.
#[derive(Debug, PartialEq, Eq)]
struct Sources {
    root: PathBuf,
    krate: PathBuf,
}

/// Finds the rayon-core of `--tree`: the subfolder `rayon-core` if that is a crate, otherwise the
/// tree itself. Also finds the workspace around that crate.
fn located(sh: &Shell, tree: &Path) -> Result<Sources> {
    // A path that a user types is relative to the user's folder, not to the shell's.
    let here = std::env::current_dir().context("the current folder cannot be read")?;
    let inner = tree.join("rayon-core");
    let is_rayon = here.join(&inner).join("Cargo.toml").is_file();
    let krate = if is_rayon { &inner } else { tree };
    let branch = Branch {
        name: "tree".to_owned(),
        source: Source::Path {
            path: krate.to_owned(),
            features: BTreeSet::new(),
        },
        baseline: false,
        group: None,
        hypothesis: String::new(),
        claims: Vec::new(),
        typed: Some(format!("--tree {}", tree.display())),
    };
    check_folder(&here, &branch)?;
    let refused =
        |what: &dyn std::fmt::Display| Stop::BadInput(format!("--tree {}: {what}", tree.display()));
    let krate = here
        .join(krate)
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

const MADE: &str = "target/upstream";

/// Checks that each proposal still fits its release, changes something and compiles, has upstream's
/// format, and has the numbers of lines that the table states.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let _lock = alone(sh, "upstream")?;
    let table = sh.read_file("findings/README.md")?;
    for name in known(sh)? {
        let Edited { copy, changed, .. } = edited(sh, &name, None)?;
        ensure!(
            changed.iter().any(|file| file.before != file.after),
            "findings/{name}/edits.toml changes nothing"
        );
        // The analysis knows no line of upstream, so it counts the lines in `edits.toml`.
        let stated = format!("<!-- analysis: lines {name} -->{}<!-- ", lines(&changed));
        ensure!(
            table.contains(&stated),
            "findings/README.md has no `{stated}`, which is what the difference has; write statements anew by `cargo \
             runner analysis statements --write`. If they have more lines, findings/{name}/edits.toml replaces lines \
             that stay: leave these out of it"
        );
        let _target = shared_target(sh);
        // Without this empty file, rustfmt would use this repository's settings.
        sh.write_file(copy.root.join("rustfmt.toml"), "")?;
        let _dir = sh.push_dir(copy.krate);
        step(
            &format!("format of upstream with {name}"),
            cmd!(sh, "cargo fmt --check"),
        )?;
        let check = cmd!(sh, "cargo check --quiet").env("RUSTFLAGS", "-Dwarnings");
        step(&format!("upstream compiles with {name}"), check)?;
    }
    Ok(())
}

/// All proposals share one target folder, so that the dependencies of rayon-core are built once.
fn shared_target(sh: &Shell) -> PushEnv<'_> {
    sh.push_env(
        "CARGO_TARGET_DIR",
        sh.current_dir().join("target/upstream/build"),
    )
}

/// Copies `source`, or the release, to a folder below `target/upstream`, and edits the copy.
fn edited(sh: &Shell, name: &str, source: Option<&Sources>) -> Result<Edited> {
    let edits = edits(sh, name)?;
    let published;
    let Sources { root, krate } = if let Some(source) = source {
        source
    } else {
        edits.expect(RELEASE)?;
        let folder = registry::sources(sh, "rayon-core", RELEASE)?;
        published = Sources {
            root: folder.clone(),
            krate: folder,
        };
        &published
    };
    let to = sh.current_dir().join(MADE).join(name);
    sh.remove_path(&to)?;
    let changed = edits.copy(root, krate, &to)?;
    let copy = Sources {
        krate: to.join(krate.strip_prefix(root)?),
        root: to,
    };
    Ok(Edited {
        name: name.to_owned(),
        edits,
        copy,
        changed,
    })
}

fn edits(sh: &Shell, name: &str) -> Result<Edits> {
    let shown = format!("findings/{name}/edits.toml");
    Ok(Edits::read(&sh.current_dir().join(&shown), &shown)?)
}

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

/// Counts the lines that a proposal adds and removes, separately for code and tests: `+14 −1 lines,
/// tests +46`.
fn lines(changed: &[Changed]) -> String {
    let [mut code, mut tests] = [(0, 0); 2];
    for file in changed {
        let is_test = file.file.starts_with("tests/") || file.file.ends_with("/test.rs");
        let diff = TextDiff::from_lines(&file.before, &file.after);
        for op in diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal) {
            let new: Vec<_> = file.after.lines().skip(op.new_range().start).collect();
            let is_module = new.iter().take(2).any(|line| *line == "#[cfg(test)]");
            let counts = if is_test || is_module {
                &mut tests
            } else {
                &mut code
            };
            counts.0 += op.new_range().len();
            counts.1 += op.old_range().len();
        }
    }
    let signed = |(added, removed): (usize, usize)| {
        let signs = [('+', added), ('−', removed)].into_iter();
        let signs = signs.filter(|(_, number)| *number > 0);
        let signs = signs.map(|(sign, number)| format!("{sign}{number}"));
        signs.collect::<Vec<_>>().join(" ")
    };
    let (code, tests) = (signed(code), signed(tests));
    let tests = Some(tests).filter(|it| !it.is_empty());
    format!("{code} lines") + &tests.map_or_else(String::new, |it| format!(", tests {it}"))
}

fn diff(folder: &Path, changed: &[Changed]) -> String {
    let one = |change: &Changed| {
        let diff = TextDiff::from_lines(&change.before, &change.after);
        let [before, after] =
            ["a", "b"].map(|side| Path::new(side).join(folder).join(&change.file));
        let [before, after] = [before, after].map(|path| path.display().to_string());
        diff.unified_diff().header(&before, &after).to_string()
    };
    changed.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use runner::build::edits::{Changed, Edits};
    use runner::stop::Stop;
    use xshell::cmd;

    use super::{MADE, RELEASE, build, diff, edits, known, lines, located, tested};
    use crate::shell::at_root;

    /// Creates a workspace of two packages: a rayon-core that inherits the workspace's edition, and
    /// a library.
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
        assert_eq!(
            (&found.root, &found.krate),
            (&root, &root.join("rayon-core"))
        );
        assert_eq!(located(&sh, &root).unwrap(), found, "the checkout itself");
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
    fn what_does_not_compile_is_a_failed_build() {
        let sh = at_root().unwrap();
        let folder = workspace("fn broken( {}\n");
        let _dir = sh.push_dir(folder.path().join("rayon-core"));
        let error = build(cmd!(sh, "cargo test --offline --no-run"), "the tree").unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(Stop::BuildFailed(_))),
            "{error}"
        );
        assert_eq!(
            error.to_string(),
            "the tree does not compile; cargo's output is above"
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
        let copy = |sha256: &str| {
            let text = format!(
                "change = \"adds\"\nwhy = \"\"\nmeasured = \"\"\nloses = \"\"\n\
                 [[file]]\npath = \"src/lib.rs\"\nsha256.main = \"{sha256}\"\n\
                 [[file.edit]]\nafter = 4\ntext = \"fn added() {{}}\\n\"\n"
            );
            fs::write(&file, text).unwrap();
            let edits = Edits::read(&file, "edits.toml").unwrap();
            edits.copy(&source.root, &source.krate, to.path())
        };
        // The refusal names the actual hash.
        let refused = copy("0").unwrap_err().to_string();
        let found = refused.split_once("has sha256 ").unwrap().1;
        let changed = copy(found.split_once(',').unwrap().0).unwrap();
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
    fn a_difference_names_the_file_in_the_tree_and_has_the_lines_around() {
        let change = |folder: &str, after: &str| {
            let [file, before, after] = ["src/a.rs", "one\ntwo\n", after].map(str::to_owned);
            let change = Changed {
                file,
                before,
                after,
            };
            diff(Path::new(folder), &[change])
        };
        let lines = "@@ -1,2 +1,2 @@\n one\n-two\n+three\n";
        assert_eq!(
            change("", "one\nthree\n"),
            format!("--- a/src/a.rs\n+++ b/src/a.rs\n{lines}")
        );
        assert_eq!(
            change("rayon-core", "one\nthree\n"),
            format!("--- a/rayon-core/src/a.rs\n+++ b/rayon-core/src/a.rs\n{lines}")
        );
        assert_eq!(change("", "one\ntwo\n"), "");
    }

    #[test]
    fn lines_that_differ_are_counted_and_those_of_tests_apart() {
        let change = |file: &str, before: &str, after: &str| {
            let [file, before, after] = [file, before, after].map(str::to_owned);
            Changed {
                file,
                before,
                after,
            }
        };
        let source = change("src/a.rs", "one\ntwo\nfour\n", "one\nthree\nfour\nfive\n");
        assert_eq!(lines(std::slice::from_ref(&source)), "+2 −1 lines");
        let module = change("src/b.rs", "one\n", "one\n\n#[cfg(test)]\nmod test {}\n");
        let test = change("tests/c.rs", "one\n", "");
        assert_eq!(lines(&[source, module, test]), "+2 −1 lines, tests +3 −1");
    }

    #[test]
    fn each_proposal_has_scripts_for_the_release_and_main_a_message_and_a_release_note() {
        /// Maximum width of a line of a commit message, by Git's conventions.
        const WIDEST: usize = 72;
        let sh = at_root().unwrap();
        let readme = sh.read_file("findings/README.md").unwrap();
        for name in known(&sh).unwrap() {
            let edits = edits(&sh, &name).unwrap();
            edits.expect(RELEASE).unwrap();
            let main = edits.trees().into_iter().find(|it| *it != RELEASE);
            let commit = main.and_then(|it| it.strip_prefix("main "));
            let commit = commit.unwrap_or_else(|| panic!("{name} has no script for main"));
            assert!(
                readme.contains(commit),
                "{name}: findings/README.md does not name {commit}"
            );
            assert!(!edits.release_note.is_empty(), "{name} has no release note");
            for line in edits.message.lines().chain([edits.change.as_str()]) {
                assert!(line.len() <= WIDEST, "{name}: {line}");
            }
        }
    }

    #[test]
    fn the_table_names_the_commit_of_each_proposal_and_the_branch_of_each_that_changes_code() {
        const OF_DOCUMENTS: &str = "lost-wake-up";
        let sh = at_root().unwrap();
        let readme = sh.read_file("findings/README.md").unwrap();
        let branches: toml::Table = sh.read_file("branches.toml").unwrap().parse().unwrap();
        for name in known(&sh).unwrap() {
            let file = format!("findings/{name}/edits.toml");
            let branch = branches["branch"].as_array().unwrap().iter();
            let branch = branch
                .filter(|it| it.get("edits").and_then(toml::Value::as_str) == Some(&file))
                .find_map(|it| it["name"].as_str());
            assert_eq!(branch.is_none(), name == OF_DOCUMENTS, "{name}");
            let branch = branch.map_or("no branch".to_owned(), |it| format!("`{it}`"));
            let title = edits(&sh, &name).unwrap().change;
            let cells = format!("| [`{name}`]({name}/README.md) | \"{title}\"; {branch} | ");
            assert!(
                readme.contains(&cells),
                "findings/README.md has no `{cells}`"
            );
        }
    }
}
