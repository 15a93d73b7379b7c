//! The published rayon's own test suite, run on the fork: the proof that it is rayon-core.
//!
//! The suite's sources are those that Cargo keeps of the published package. They are copied under
//! `target/`, given a workspace of their own and patched to the fork; nothing of them is committed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::variants::Variant;

/// Runs the suites of the facade's `versions` on `variants` and prints a line for each.
pub(crate) fn run(
    sh: &Shell,
    variants: &[Variant],
    versions: &[String],
    skip_doctests: bool,
) -> Result<()> {
    let mut rows = Vec::new();
    for version in versions {
        let copy = prepare(sh, version)?;
        for variant in variants {
            eprintln!("── rayon {version} on {}", variant.name());
            let counts = run_suite(sh, &copy, variant, skip_doctests)?;
            eprintln!("   {} passed, {} failed", counts.passed, counts.failed);
            rows.push((version, variant.name(), counts));
        }
    }
    println!("{:<8} {:<45} {:>7} {:>7} {:>8}", "rayon", "variant", "passed", "failed", "ignored");
    for (version, variant, counts) in &rows {
        let Counts { passed, failed, ignored } = counts;
        println!("{version:<8} {variant:<45} {passed:>7} {failed:>7} {ignored:>8}");
    }
    let failed: u32 = rows.iter().map(|(_, _, counts)| counts.failed).sum();
    ensure!(failed == 0, "{failed} tests of the published suite fail on the fork");
    Ok(())
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u32,
    failed: u32,
    ignored: u32,
}

/// A patched copy of the facade's sources; returns its folder.
fn prepare(sh: &Shell, version: &str) -> Result<PathBuf> {
    let root = sh.current_dir();
    let copy = root.join("target/conformance").join(format!("rayon-{version}"));
    let source = published_sources(sh, version)?;
    sh.remove_path(&copy)?;
    copy_folder(&source, &copy).with_context(|| format!("copying {}", source.display()))?;
    let manifest = copy.join("Cargo.toml");
    let fork = toml::Value::from(root.join("rayon-fork").display().to_string());
    let text = sh.read_file(&manifest)?;
    let patch = format!("[workspace]\n\n[patch.crates-io]\nrayon-core = {{ path = {fork} }}\n");
    sh.write_file(&manifest, format!("{text}\n{patch}"))?;
    // The package's own lock file pins the published rayon-core, which would switch the patch off.
    sh.remove_path(copy.join("Cargo.lock"))?;
    Ok(copy)
}

/// Where Cargo keeps the sources of the published facade; fetches them if it has not yet.
fn published_sources(sh: &Shell, version: &str) -> Result<PathBuf> {
    let probe = sh.current_dir().join("target/conformance/probe");
    sh.create_dir(probe.join("src"))?;
    sh.write_file(probe.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"probe\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\nrayon = \"={version}\"\n\n[workspace]\n"
    );
    sh.write_file(probe.join("Cargo.toml"), manifest)?;
    let _dir = sh.push_dir(&probe);
    let metadata = cmd!(sh, "cargo metadata --format-version 1").quiet().ignore_stderr().read()?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata")?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let rayon = packages.iter().find(|package| package["name"] == "rayon");
    let manifest = rayon.and_then(|package| package["manifest_path"].as_str());
    let manifest = Path::new(manifest.context("cargo metadata does not know rayon")?);
    Ok(manifest.parent().context("a manifest lies in a folder")?.to_owned())
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            // Read and write, not copy: the registry's files may be read-only.
            std::fs::write(&target, std::fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

fn run_suite(sh: &Shell, copy: &Path, variant: &Variant, skip_doctests: bool) -> Result<Counts> {
    let _target =
        sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target/conformance/build"));
    let root = sh.current_dir();
    let _dir = sh.push_dir(copy);
    prove_patched(sh, &root)?;
    let features: Vec<String> = variant
        .features()
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| format!("rayon-core/{name}"))
        .collect();
    let features = features.join(",");
    let parts: &[&[&str]] =
        if skip_doctests { &[&["--lib", "--tests"]] } else { &[&["--lib", "--tests"], &["--doc"]] };
    let mut counts = Counts::default();
    for &part in parts {
        let output = cmd!(sh, "cargo test --no-fail-fast {part...} --features {features}")
            .quiet()
            .ignore_status()
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let part_counts = count(&text);
        if !output.status.success() && part_counts.failed == 0 {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("the suite did not run to its end on {}:\n{text}\n{errors}", variant.name());
        }
        if part_counts.failed > 0 {
            eprintln!("{text}");
        }
        counts.passed += part_counts.passed;
        counts.failed += part_counts.failed;
        counts.ignored += part_counts.ignored;
    }
    ensure!(counts.passed > 0, "no test of the suite ran on {}", variant.name());
    Ok(counts)
}

/// Cargo ignores a patch that does not fit with no more than a warning: refuse to test upstream.
fn prove_patched(sh: &Shell, root: &Path) -> Result<()> {
    let tree =
        cmd!(sh, "cargo tree --invert rayon-core --depth 0").quiet().ignore_stderr().read()?;
    let fork = root.join("rayon-fork");
    ensure!(
        tree.contains(&fork.display().to_string()),
        "the suite would run on `{}`, not on the fork in {}",
        tree.trim(),
        fork.display()
    );
    Ok(())
}

/// Adds up the summary lines of the test harness: `test result: ok. 5 passed; 0 failed; …`.
fn count(output: &str) -> Counts {
    let mut counts = Counts::default();
    for line in output.lines().filter_map(|line| line.strip_prefix("test result: ")) {
        for part in line.split([';', '.']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(what)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<u32>() else { continue };
            match what {
                "passed" => counts.passed += number,
                "failed" => counts.failed += number,
                "ignored" => counts.ignored += number,
                _ => {}
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::{Counts, count};

    #[test]
    fn summaries_of_all_test_binaries_are_added_up() {
        let output = "\
running 2 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.02s

test result: FAILED. 5 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.02s
";
        assert_eq!(count(output), Counts { passed: 7, failed: 4, ignored: 1 });
    }
}
