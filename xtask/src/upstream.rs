//! Proposals to upstream: what `findings/*/edits.toml` make of the published rayon-core, and
//! whether its own tests pass.
//!
//! Nothing of upstream is in this repository: the sources are those that Cargo keeps, and are
//! copied under `target/`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use runner::build::edits::{Changed, Edits};
use runner::config::pick::hint;
use runner::stop::Stop;
use similar::TextDiff;
use xshell::{PushEnv, Shell, cmd};

use crate::conformance::count;
use crate::registry;
use crate::shell::step;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Folders of `findings/` that have an `edits.toml`. Without one, lists them.
    names: Vec<String>,
    /// Edit this working tree of rayon-core, not the release that the edits are for.
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
        for name in known {
            println!("{name:width$}  {}", edits(sh, &name)?.change);
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
    for name in &options.names {
        let (folder, changed) = edited(sh, name, options.tree.as_deref())?;
        print!("{}", diff(&changed));
        if !options.skip_tests {
            eprintln!("── upstream's tests with {name}");
            let _target = shared_target(sh);
            let _dir = sh.push_dir(&folder);
            let counts = count(cmd!(sh, "cargo test --no-fail-fast"))?;
            eprintln!("   {counts}, in {}", folder.display());
            ensure!(
                counts.failed == 0 && counts.passed > 0,
                "{name}: {} of upstream's tests fail",
                counts.failed
            );
        }
    }
    Ok(())
}

/// That each proposal still fits its release, changes something, is formatted as upstream formats,
/// and compiles.
pub(crate) fn check(sh: &Shell) -> Result<()> {
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

/// A copy of rayon-core below `target/upstream` with the edits, and what they changed.
fn edited(sh: &Shell, name: &str, tree: Option<&Path>) -> Result<(PathBuf, Vec<Changed>)> {
    let edits = edits(sh, name)?;
    let from = match tree {
        // As typed, wherever the shell is.
        Some(tree) => std::path::absolute(tree)?,
        None => registry::sources(sh, "rayon-core", &edits.published)?,
    };
    let to = sh.current_dir().join("target/upstream").join(name);
    sh.remove_path(&to)?;
    let changed = edits.copy(&from, &to)?;
    Ok((to, changed))
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
    use runner::build::edits::Changed;

    use super::{diff, known};
    use crate::shell::at_root;

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
