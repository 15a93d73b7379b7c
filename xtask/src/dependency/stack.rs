//! Measures the bytes of stack per nested level, on the published crate and on the fork.
//!
//! The measured program is `rayon-fork/examples/stack.rs`. A program cannot contain two
//! rayon-cores, so it is compiled once for each rayon-core, with Cargo's own profiles, as users'
//! programs are.

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};
use xshell::{Shell, cmd};

use crate::fork;
use crate::scratch::{Core, Scratch};
use crate::shell::alone;
use crate::variants::Variant;

/// The number of bytes by which a level may exceed the same level on the published crate. Inlining
/// one call more or less changes a frame or two by so much.
const MARGIN: usize = 64;

/// Each way to nest, and its bytes per level, in the order of the program's output.
type Levels = Vec<(String, usize)>;

/// Compares the fork's `variants` with the published crate, and prints the bytes of each. Fails if
/// a level takes over [`MARGIN`] bytes more on a variant than on the published crate.
pub(crate) fn run(sh: &Shell, variants: &[Variant]) -> Result<()> {
    let _lock = alone(sh, "stack")?;
    let mut excesses = Vec::new();
    for profile in ["release", "dev"] {
        let published = measure(sh, profile, "the published crate", Core::Published)?;
        for variant in variants {
            let name = variant.name();
            let levels = measure(sh, profile, &name, Core::Fork(&variant.features()))?;
            excesses.extend(excess(profile, &name, &published, &levels));
        }
    }
    ensure!(excesses.is_empty(), "{}", excesses.join("\n"));
    Ok(())
}

fn measure(sh: &Shell, profile: &str, name: &str, core: Core<'_>) -> Result<Levels> {
    eprintln!("── stack per level, {profile}, {name}");
    let program = fork::folder(sh).join("examples/stack.rs");
    let program: Table = [("name", "stack"), ("path", &program.display().to_string())]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)))
        .collect();
    let program = Table::from_iter([("bin".to_owned(), vec![program].into())]);
    let scratch = Scratch::new(sh, "dependency/stack", program).on(core);
    scratch.write()?;
    let _target = sh.push_env("CARGO_TARGET_DIR", scratch.folder.join("target"));
    let _debug = sh.push_env("CARGO_PROFILE_DEV_DEBUG", "0");
    let _dir = sh.push_dir(&scratch.folder);
    let output = cmd!(sh, "cargo run --quiet --profile {profile}")
        .quiet()
        .ignore_status()
        .output()?;
    ensure!(
        output.status.success(),
        "nested levels on {name}, profile {profile}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let printed = String::from_utf8_lossy(&output.stdout);
    println!("{}", printed.trim_end());
    printed.lines().map(level).collect()
}

fn level(line: &str) -> Result<(String, usize)> {
    let (way, bytes) = line
        .split_once('\t')
        .with_context(|| format!("`{line}` has no tab"))?;
    Ok((
        way.to_owned(),
        bytes
            .parse()
            .with_context(|| format!("`{line}` has no number"))?,
    ))
}

/// Lists the ways to nest that take over [`MARGIN`] bytes more on the variant `name` than on the
/// published crate.
fn excess(profile: &str, name: &str, published: &Levels, levels: &Levels) -> Vec<String> {
    let both = levels.iter().zip(published);
    let more = both.filter(|((_, bytes), (_, published))| *bytes > published + MARGIN);
    more.map(|((way, bytes), (_, published))| {
        format!(
            "`{way}`, profile {profile}: a level takes {bytes} bytes of stack on {name}, \
             {published} on the published crate"
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{excess, level};

    #[test]
    fn a_level_that_takes_clearly_more_than_on_the_published_crate_is_an_excess() {
        let levels = |bytes| vec![("scope".to_owned(), bytes)];
        let excess_of = |bytes| excess("release", "split", &levels(128), &levels(bytes));
        assert!(
            [96, 128, 144]
                .iter()
                .all(|bytes| excess_of(*bytes).is_empty())
        );
        let told = excess_of(512).concat();
        assert!(
            ["`scope`", "512", "split", "128"]
                .iter()
                .all(|part| told.contains(part))
        );
    }

    #[test]
    fn the_programs_lines_are_a_way_to_nest_and_its_bytes() {
        assert_eq!(
            level("scope, spawn\t240").unwrap(),
            ("scope, spawn".to_owned(), 240)
        );
        assert!(level("overflow").is_err() && level("scope\tmany").is_err());
    }
}
