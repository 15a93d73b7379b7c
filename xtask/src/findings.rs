//! Tests of the programs in `findings/`, which are outside the workspace. Each program must pass
//! the lints and run to its end. Each proposal in that folder must fit upstream.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use xshell::{Shell, cmd};

use crate::shell::step;
use crate::upstream;

/// The workspace's lints that can find something in a small program.
const LINTS: [&str; 5] = [
    "-Dwarnings",
    "-Wmissing_docs",
    "-Wclippy::pedantic",
    "-Dclippy::undocumented_unsafe_blocks",
    "-Aclippy::cast_precision_loss",
];

/// Accepted exit codes: 0, the effect was not seen; 4, the host lacks something that the program
/// needs; 10, the effect was seen.
const EXIT_CODES: [i32; 3] = [0, 4, 10];

/// Arguments that each program must refuse: invalid durations, and unknown words.
const REFUSED: [&[&str]; 6] = [
    &["0"],
    &["-1"],
    &["nan"],
    &["inf"],
    &["0.1", "fense"],
    &["--help"],
];

pub(crate) fn test(sh: &Shell) -> Result<()> {
    let target = sh.current_dir().join("target/findings");
    let _target = sh.push_env("CARGO_TARGET_DIR", &target);
    for name in programs(sh)? {
        let _dir = sh.push_dir(format!("findings/{name}"));
        step(&format!("format, {name}"), cmd!(sh, "cargo fmt --check"))?;
        let clippy = cmd!(sh, "cargo clippy --quiet --release --locked -- {LINTS...}");
        step(&format!("lints, {name}"), clippy)?;
        let build = cmd!(sh, "cargo build --quiet --release --locked");
        step(&format!("build, {name}"), build)?;
        let program = target.join("release").join(&name);
        eprintln!("── {name}, for a moment");
        let output = cmd!(sh, "{program} 0.1").quiet().ignore_status().output()?;
        let code = output.status.code();
        ensure!(
            code.is_some_and(|code| EXIT_CODES.contains(&code)),
            "findings/{name}: {}, which its README does not list\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        for words in REFUSED {
            let run = cmd!(sh, "{program} {words...}");
            let code = run.quiet().ignore_status().output()?.status.code();
            ensure!(
                code == Some(2),
                "findings/{name} {}: {code:?}, not 2",
                words.join(" ")
            );
        }
    }
    upstream::check(sh)
}

fn programs(sh: &Shell) -> Result<Vec<String>> {
    let is_program = |path: &PathBuf| path.join("Cargo.toml").is_file();
    let folders = sh.read_dir("findings")?.into_iter().filter(is_program);
    let name = |path: &std::path::Path| Some(path.file_name()?.to_str()?.to_owned());
    folders
        .map(|path| name(&path).context("a folder of findings has no name"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::programs;
    use crate::shell::at_root;

    #[test]
    fn the_table_of_findings_has_a_row_for_each_program() {
        let sh = at_root().unwrap();
        let readme = sh.read_file("findings/README.md").unwrap();
        let programs = programs(&sh).unwrap();
        assert!(!programs.is_empty());
        for name in programs {
            let row = format!("| [`{name}`]({name}/README.md) | ");
            assert!(readme.contains(&row), "{name}");
        }
    }

    #[test]
    fn each_program_is_short_enough_to_be_read_at_once() {
        /// Maximum number of lines in rustfmt's default format, so that a maintainer reads a
        /// program in five minutes.
        const MOST: usize = 200;
        let sh = at_root().unwrap();
        for name in programs(&sh).unwrap() {
            let lines = sh
                .read_file(format!("findings/{name}/src/main.rs"))
                .unwrap()
                .lines()
                .count();
            assert!(lines <= MOST, "{name} has {lines} lines");
        }
    }
}
