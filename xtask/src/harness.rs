//! Runs other packages' tests by Cargo, and reports whether they compile and how many pass.

use std::fmt;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result};
use runner::stop::Stop;
use xshell::Cmd;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) ignored: u32,
}

impl Counts {
    /// Adds up the summary lines of the test harness: `test result: ok. 5 passed; 0 failed; …`.
    fn read(output: &str) -> Self {
        let mut counts = Self::default();
        let lines = output.lines();
        for line in lines.filter_map(|line| line.strip_prefix("test result: ")) {
            let number = |what: &str| {
                let mut parts = line.split([';', '.']);
                let number = parts.find_map(|part| part.strip_suffix(what)?.trim().parse().ok());
                number.unwrap_or(0)
            };
            counts.passed += number(" passed");
            counts.failed += number(" failed");
            counts.ignored += number(" ignored");
        }
        counts
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            ignored,
        } = self;
        write!(f, "{passed} passed, {failed} failed, {ignored} ignored")
    }
}

fn with_progress(cargo: Cmd<'_>) -> Result<Output> {
    let mut command = Command::from(cargo);
    let output = command.stderr(Stdio::inherit()).output();
    output.with_context(|| format!("{} cannot be run", command.get_program().display()))
}

/// Builds tests first, so that a compile error is not reported as a failed test.
///
/// # Errors
/// [`Stop::BuildFailed`], after cargo's output on stderr.
pub(crate) fn build(tests: Cmd<'_>, what: &str) -> Result<()> {
    if with_progress(tests)?.status.success() {
        return Ok(());
    }
    Err(Stop::BuildFailed(format!("{what} does not compile; cargo's output is above")).into())
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Tested {
    pub(crate) counts: Counts,
    pub(crate) has_died: bool,
}

pub(crate) fn tested(test: Cmd<'_>) -> Result<Tested> {
    let output = with_progress(test)?;
    let report = String::from_utf8_lossy(&output.stdout);
    let counts = Counts::read(&report);
    if !output.status.success() {
        let passed = |line: &&str| line.starts_with("test ") && line.ends_with("... ok");
        report
            .lines()
            .filter(|line| !passed(line))
            .for_each(|line| eprintln!("{line}"));
    }
    Ok(Tested {
        counts,
        has_died: !output.status.success() && counts.failed == 0,
    })
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn summaries_of_all_test_binaries_are_added_up() {
        let output = "\
running 2 tests
test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.02s

test result: FAILED. 5 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.02s
";
        let counts = Counts::read(output);
        assert_eq!(counts.to_string(), "7 passed, 4 failed, 1 ignored");
    }
}
