//! The parts of the test suite: the subject of each part, the files that the part reads, and when
//! the part runs.

use anyhow::Result;
use clap::ValueEnum as _;
use xshell::{Shell, cmd};

use crate::sources::Stamp;
use crate::variants::Variant;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// The fork: `packed`, `champion`, and builds that together have every other feature.
    Fork,
    /// The fork in a user's program: lock file, other targets, oldest compiler.
    Dependency,
    /// The fork's stack compared with the published crate's, on `packed` and `champion`.
    Stack,
    /// The published packages' own tests: rayon-core's on `packed` and `champion`, rayon's on
    /// `champion`.
    Conformance,
    /// The fast set of model checks of the fork's sleep protocol and of the workloads' locks; no
    /// feature of the fork changes the models.
    Models,
    /// Simulated machines, and the fork (`packed` and `champion`) on them.
    Simulated,
    /// The measured programs, on `packed` and `champion`.
    Workloads,
    /// The services and the whole programs. The parts `services`, `rivals` and `findings` run only
    /// if their files changed, or if the user names them.
    Services,
    /// Programs written for rayon, on other crates' pools.
    Rivals,
    /// The programs of `findings/`, for maintainers of rayon.
    Findings,
    /// The runner and xtask.
    Runner,
    /// The Python package and its notebooks.
    Analysis,
}

/// Files that every part reads: versions, settings, and xtask.
const SHARED: [&str; 6] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "branches.toml",
    "rust-toolchain.toml",
    "xtask",
];

impl Part {
    pub(crate) fn name(self) -> String {
        let name = self
            .to_possible_value()
            .map(|value| value.get_name().to_owned());
        name.unwrap_or_default()
    }

    fn reads(self) -> &'static [&'static str] {
        match self {
            Self::Fork | Self::Dependency | Self::Stack | Self::Conformance => &["rayon-fork"],
            Self::Models => &["findings", "rayon-fork", "workloads"],
            Self::Simulated => &[
                "machines",
                "manycore",
                "probes",
                "rayon-fork",
                "runner/src/build/rewriting",
            ],
            Self::Workloads | Self::Services => &["protocol", "rayon-fork", "workloads"],
            Self::Rivals => &[
                "clippy.toml",
                "protocol",
                "rivals",
                "rustfmt.toml",
                "workloads",
            ],
            Self::Findings => &[
                "clippy.toml",
                "findings",
                "runner/src/build/edits",
                "rustfmt.toml",
            ],
            // The tests read any file: they run whole sweeps, and check documents and the commands
            // in them.
            Self::Runner | Self::Analysis => &["."],
        }
    }

    pub(crate) fn is_left_out(self, sh: &Shell) -> Option<String> {
        let places = match self {
            Self::Services => &["workloads"][..],
            Self::Rivals | Self::Findings => self.reads(),
            _ => return None,
        };
        let name = self.name();
        (!is_changed(sh, places)).then(|| {
            let places = places.join(", ");
            format!("nothing in {places} has changed; `--only {name}` runs it")
        })
    }

    pub(crate) fn stamp(self, sh: &Shell, variants: &[Variant]) -> Result<Stamp> {
        Stamp::of(
            sh,
            &self.name(),
            &[&SHARED, self.reads()].concat(),
            variants,
        )
    }
}

/// Compares the files at `places` with the commit where this branch left `origin/HEAD`. If that is
/// the current commit, or is unknown, compares them with the previous commit. A new file is a
/// change, also before it is added. True if Git cannot compare.
fn is_changed(sh: &Shell, places: &[&str]) -> bool {
    let read = |command: xshell::Cmd<'_>| command.quiet().ignore_stderr().read().ok();
    let head = read(cmd!(sh, "git rev-parse HEAD"));
    let left = read(cmd!(sh, "git merge-base HEAD origin/HEAD"));
    let left = left.filter(|left| Some(left) != head.as_ref());
    let base = left.unwrap_or_else(|| "HEAD~1".to_owned());
    let changed = read(cmd!(sh, "git diff --name-only {base} -- {places...}"));
    let others = ["--others", "--exclude-standard"];
    let new = read(cmd!(sh, "git ls-files {others...} -- {places...}"));
    [changed, new]
        .into_iter()
        .any(|files| files.is_none_or(|files| !files.is_empty()))
}

#[cfg(test)]
mod tests {
    use xshell::{Shell, cmd};

    use super::is_changed;

    #[test]
    fn a_place_has_changed_in_the_last_commit_or_since_and_where_there_is_no_other() {
        let sh = Shell::new().unwrap();
        let checkout = sh.create_temp_dir().unwrap();
        sh.change_dir(checkout.path());
        let git = |words: &[&str]| {
            let who = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
            cmd!(sh, "git {who...} {words...}")
                .quiet()
                .ignore_stdout()
                .run()
                .unwrap();
        };
        let commit = |place: &str| {
            sh.write_file(place, place).unwrap();
            git(&["add", "--all"]);
            git(&["commit", "--quiet", "--message", "a change"]);
        };
        git(&["init", "--quiet"]);
        commit("workloads/one");
        assert!(is_changed(&sh, &["workloads"]), "a clone without history");
        commit("workloads/two");
        assert!(is_changed(&sh, &["workloads"]));
        commit("README.md");
        assert!(!is_changed(&sh, &["workloads"]) && is_changed(&sh, &["README.md"]));
        sh.write_file("workloads/two", "other").unwrap();
        assert!(is_changed(&sh, &["workloads"]), "not committed yet");
        assert!(!is_changed(&sh, &["rivals"]));
        sh.write_file("rivals/three", "new").unwrap();
        assert!(is_changed(&sh, &["rivals"]), "not added yet");
    }
}
