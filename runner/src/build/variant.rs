//! Checks the variant that a freshly built binary names, before the runner trusts its output.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use protocol::{MachineRequest, Request};

use crate::build::binary;
use crate::config::{Branch, Features, Source};
use crate::stop::Stop;
use crate::system::interrupt;

const LIMIT: Duration = Duration::from_mins(1);

pub(crate) fn expected_variant(source: &Source) -> BTreeSet<String> {
    let Source::Fork { features } = source else {
        return ["upstream".to_owned()].into();
    };
    Features::of_the_fork().words(features)
}

pub(crate) fn smallest_request() -> Request {
    Request {
        threads: 2,
        ..Request::tiny("quicksort")
    }
}

pub(crate) fn who_are_you(
    branch: &Branch,
    binary: &Path,
    machine: Option<&MachineRequest>,
) -> Result<String> {
    let request = Request {
        machine: machine.cloned(),
        // The trial only prepares a program, which starts a pool. No program runs on every compared
        // pool, because some pools have no join, and others no broadcast.
        prepare_only: !branch.source.is_instrumented(),
        ..smallest_request()
    };
    let ended = binary::ask(binary, &request, LIMIT).filter(|_| !interrupt::is_requested());
    let ended = ended.ok_or_else(interrupt::while_building)?;
    let outcome = ended.result.map_err(|failure| {
        let tail = failure.stderr_tail.map(|tail| format!(":\n{tail}"));
        let tail = tail.unwrap_or_default();
        Stop::BuildFailed(format!(
            "branch `{}` was built, but does not name its variant: {}: {}{tail}",
            branch.name, failure.ending, failure.reason
        ))
    })?;
    let said: BTreeSet<String> = outcome.variant.split('+').map(str::to_owned).collect();
    let expected = expected_variant(&branch.source);
    if said != expected {
        let expected: Vec<String> = expected.into_iter().collect();
        bail!(Stop::BuildFailed(format!(
            "branch `{}`: the binary says it is `{}`, but its row requests {}",
            branch.name,
            outcome.variant,
            expected.join("+")
        )));
    }
    if outcome.events.is_some() != branch.source.is_instrumented() {
        bail!(Stop::BuildFailed(format!(
            "branch `{}`: the binary {}",
            branch.name,
            if branch.source.is_instrumented() {
                "counted nothing although it is built to; is the feature `instrument` still in \
                 rayon-fork/Cargo.toml?"
            } else {
                "counts events, so its times would mean nothing"
            }
        )));
    }
    Ok(outcome.variant)
}

#[cfg(test)]
mod tests {
    use protocol::SCHEMA;

    use super::*;

    fn fork(features: &[&str]) -> Source {
        Source::Fork {
            features: features.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn a_fork_without_a_layout_is_packed_and_anything_else_is_upstream() {
        let words = |source: &Source| {
            expected_variant(source)
                .into_iter()
                .collect::<Vec<_>>()
                .join("+")
        };
        assert_eq!(words(&fork(&[])), "packed");
        assert_eq!(words(&fork(&["packed"])), "packed");
        assert_eq!(words(&fork(&["split", "no-jec"])), "no-jec+split");
        assert_eq!(words(&fork(&["split", "push-fence"])), "push-fence+split");
        assert_eq!(words(&fork(&["push-fence"])), "packed+push-fence");
        assert_eq!(
            words(&Source::Published {
                version: "1.13.0".to_owned()
            }),
            "upstream"
        );
    }

    fn mine(source: Source) -> Branch {
        Branch::new("mine".to_owned(), source)
    }

    fn ask(said: &str, more: &str, source: Source) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let answer = format!(
            r#"{{"schema":{SCHEMA},"variant":"{said}","parameters":{{}},"answer":"","work_unit":"","warmup":[],
            "iterations":[],"usage":{{"max_rss_bytes":0,"voluntary_switches":0,"involuntary_switches":0,
            "minor_faults":0,"major_faults":0}}{more}}}"#
        )
        .replace('\n', "");
        let binary = crate::system::testing::script(folder.path(), &format!("echo '{answer}'"));
        who_are_you(&mine(source), &binary, None).map_err(|error| {
            assert!(matches!(error.downcast_ref(), Some(Stop::BuildFailed(_))));
            error.to_string()
        })
    }

    #[test]
    fn a_binary_is_trusted_if_it_names_its_variant_and_counts_only_where_that_was_asked_for() {
        let events = r#","events":{"iterations":1,"work_units":1,"workers":[],"outside":{}}"#;
        let counting = || fork(&["split", "instrument"]);
        for (said, more, source, expected) in [
            (
                "split+no-jec",
                "",
                fork(&["no-jec", "split"]),
                Ok("split+no-jec"),
            ),
            ("split", events, counting(), Ok("split")),
            ("split", "", counting(), Err("counted nothing")),
            ("split", events, fork(&["split"]), Err("counts events")),
            (
                "split",
                "",
                fork(&["no-jec", "split"]),
                Err("says it is `split`, but its row requests no-jec+split"),
            ),
        ] {
            match (ask(said, more, source), expected) {
                (Ok(variant), Ok(expected)) => assert_eq!(variant, expected),
                (Err(message), Err(part)) => assert!(message.contains(part), "{message}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_pool_without_joins_says_who_it_is_since_no_program_runs() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"case "$(cat)" in *'"prepare_only":true'*) exit 7;; esac; exit 101"#;
        let binary = crate::system::testing::script(folder.path(), script);
        let error = who_are_you(&mine(fork(&[])), &binary, None)
            .unwrap_err()
            .to_string();
        assert!(error.contains("exit status: 7"), "{error}");
    }
}
