//! Bytes of stack that a nested level takes, on the published crate and on the fork.
//!
//! The program is `rayon-fork/examples/stack.rs`. Two rayon-cores do not go into one program, so it
//! is compiled once for each, as anybody's program would be: with Cargo's own profiles.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};
use xshell::{Shell, cmd};

use crate::fork;
use crate::scratch::{Core, Scratch};
use crate::shell::alone;
use crate::variants::Variant;

/// Bytes that a level may take beyond those on the published crate. The compiler's choice to inline
/// a call or not changes a frame or two by so much.
const MARGIN: usize = 64;

/// Bytes per level for each way to nest, in the program's order.
type Levels = Vec<(String, usize)>;

/// One way to nest in one profile, on all that were measured.
struct Row {
    way: String,
    published: usize,
    least: usize,
    most: usize,
    /// A variant that takes most.
    largest: String,
}

/// Compares the fork's `variants` with the published crate, prints a table for each profile, and
/// fails if a level of any takes more than there.
pub(crate) fn run(sh: &Shell, variants: &[Variant]) -> Result<()> {
    let _lock = alone(sh, "stack")?;
    let mut excesses = Vec::new();
    for profile in ["release", "dev"] {
        let published = measure(sh, profile, "the published crate", Core::Published)?;
        let mut measured = Vec::new();
        for variant in variants {
            let name = variant.name();
            let levels = measure(sh, profile, &name, Core::Fork(&variant.features()))?;
            measured.push((name, levels));
        }
        let rows = rows(&published, &measured)?;
        println!("{}", table(profile, &rows));
        excesses.extend(rows.iter().filter_map(|row| excess(profile, row)));
    }
    ensure!(excesses.is_empty(), "{}", excesses.join("\n"));
    Ok(())
}

/// Compiles and runs the program with that rayon-core.
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
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(level)
        .collect()
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

fn rows(published: &Levels, measured: &[(String, Levels)]) -> Result<Vec<Row>> {
    let row = |(i, (way, published)): (usize, &(String, usize))| {
        let of_fork = measured.iter().map(|(name, levels)| (levels[i].1, name));
        let (most, largest) = of_fork.clone().max().context("no variant to compare")?;
        let least = of_fork.map(|(bytes, _)| bytes).min().unwrap_or(most);
        let (way, largest) = (way.clone(), largest.clone());
        Ok(Row {
            way,
            published: *published,
            least,
            most,
            largest,
        })
    };
    published.iter().enumerate().map(row).collect()
}

fn excess(profile: &str, row: &Row) -> Option<String> {
    let Row {
        way,
        published,
        most,
        largest,
        ..
    } = row;
    (*most > published + MARGIN).then(|| {
        format!(
            "`{way}`, profile {profile}: a level takes {most} bytes of stack on {largest}, \
             {published} on the published crate"
        )
    })
}

fn table(profile: &str, rows: &[Row]) -> String {
    let published = format!("rayon-core {}", fork::PUBLISHED);
    let mut table = format!("bytes of stack per level, profile {profile}\n");
    let mut line = |cells: [&str; 5]| {
        let [way, published, least, most, largest] = cells;
        let _ = writeln!(
            table,
            "{way:<32} {published:>17} {least:>12} {most:>12}  {largest}"
        );
    };
    line(["", &published, "fork, least", "fork, most", "which"]);
    for Row {
        way,
        published,
        least,
        most,
        largest,
    } in rows
    {
        let largest = if least == most { "" } else { largest };
        line([
            way,
            &published.to_string(),
            &least.to_string(),
            &most.to_string(),
            largest,
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{excess, level, rows};

    #[test]
    fn a_level_that_takes_clearly_more_than_on_the_published_crate_is_an_excess() {
        let levels = |bytes| vec![("scope".to_owned(), bytes)];
        let excess_of = |bytes: &[usize]| {
            let name = |i: usize| format!("variant {i}");
            let measured: Vec<_> = bytes
                .iter()
                .enumerate()
                .map(|(i, &bytes)| (name(i), levels(bytes)))
                .collect();
            excess("release", &rows(&levels(128), &measured).unwrap()[0])
        };
        assert_eq!(excess_of(&[96, 128, 144]), None);
        let told = excess_of(&[96, 512, 128]).unwrap();
        assert!(
            ["`scope`", "512", "variant 1", "128"]
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
