//! The text that `compare` prints around the table: title, host, versions, and the command that
//! repeats the sweep.

use serde_json::Value;

use crate::config::Source;
use crate::config::checkout::Commit;
use crate::plan::{SweepRequest, is_free};
use crate::record::manifest::{Manifest, MeasuredBranch};
use crate::text::output::{Format, wrapped};
use crate::text::words::count;

pub(super) fn head(manifest: &Manifest, format: Format) -> String {
    let asked = &manifest.asked;
    let others = asked.branches.iter().filter(|it| **it != asked.baseline);
    let others: Vec<String> = others.map(|name| format!("`{name}`")).collect();
    let mark = if format == Format::Markdown {
        "### rayon-core: "
    } else {
        ""
    };
    let baseline = &asked.baseline;
    format!("{mark}{} compared with `{baseline}`\n\n", others.join(", "))
}

/// Returns the text below the table. For a terminal, the lines above the command have at most
/// `columns` characters. `typed` are the arguments of a user who has just begun the sweep.
pub(super) fn below(
    manifest: &Manifest,
    host: &Value,
    typed: Option<&[String]>,
    format: Format,
    columns: usize,
) -> String {
    let mut facts = vec![format!("host: {}", host_line(host, &manifest.asked))];
    facts.extend(manifest.branches.iter().map(version));
    let rustc = manifest.toolchain.rustc.first();
    facts.push(format!(
        "{}, {} of each binary; measured by this laboratory's {}",
        rustc.map_or("unknown compiler", String::as_str),
        count(manifest.asked.layouts as usize, "link order", "link orders"),
        commit(&manifest.checkout)
    ));
    // The paths of branches in a manifest's command line start from the checkout's folder.
    let place = match typed {
        Some(_) => "",
        None => ", in the checkout's folder",
    };
    let command = command(typed.unwrap_or(&manifest.command_line));
    if format == Format::Markdown {
        let facts = facts.join("\n- ");
        return format!("\n- {facts}\n- to repeat it{place}:\n\n```sh\n{command}\n```\n");
    }
    let facts: String = facts
        .iter()
        .map(|fact| wrapped(fact, columns, "  ") + "\n")
        .collect();
    format!("\n{facts}to repeat it{place}: {command}\n")
}

/// The command that repeats a sweep, without its options `--output` and `--format`. The arguments
/// after `--` belong to the user's program and stay.
fn command(arguments: &[String]) -> String {
    let mut words = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.split('=').next() {
            Some("--") => {
                words.push(argument.clone());
                words.extend(arguments.by_ref().map(|it| quoted(it)));
            }
            Some("--output" | "--format") if argument.contains('=') => {}
            Some("--output" | "--format") => _ = arguments.next(),
            _ => words.push(quoted(argument)),
        }
    }
    format!("cargo runner {}", words.join(" "))
}

pub(crate) fn host_line(host: &Value, asked: &SweepRequest) -> String {
    let text = |pointer: &str| host.pointer(pointer).and_then(Value::as_str);
    let mut words = vec![text("/cpu/model_name").unwrap_or("unknown CPU").to_owned()];
    if let Some(cpus) = host.get("cpus_usable").and_then(Value::as_u64) {
        let cpus = usize::try_from(cpus).unwrap_or(usize::MAX);
        words.push(count(cpus, "CPU", "CPUs"));
    }
    if host.pointer("/cpu/is_virtual").and_then(Value::as_bool) == Some(true) {
        words.push("virtual machine".to_owned());
    }
    words.extend(text("/kernel/osrelease").map(|release| format!("Linux {release}")));
    let modes: Vec<String> = asked.modes.iter().map(ToString::to_string).collect();
    let driver = text("/frequency/scaling_driver").map_or("uncontrolled".to_owned(), |driver| {
        let governor = text("/frequency/scaling_governor").unwrap_or("unknown");
        format!("{}, {driver}, governor {governor}", modes.join(" and "))
    });
    words.push(format!("CPU frequency {driver}"));
    let placements = &asked.placements;
    if !is_free(placements) {
        let placements: Vec<String> = placements.iter().map(ToString::to_string).collect();
        words.push(format!("workers {}", placements.join(" and ")));
    }
    words.join(", ")
}

fn version(branch: &MeasuredBranch) -> String {
    let name = &branch.name;
    let receipt = &branch.receipt;
    let tree = match (&branch.source, &receipt.commit.commit) {
        // The Git address already names the commit.
        (Source::Git { .. }, _) | (_, None) => String::new(),
        (_, Some(_)) => format!(", {}", commit(&receipt.commit)),
    };
    let content = match &receipt.tree_sha256 {
        Some(digest) => format!(", content {}", digest.get(..12).unwrap_or(digest)),
        None => String::new(),
    };
    format!(
        "`{name}`: {}; version {}{tree}{content}",
        branch.source, receipt.version
    )
}

fn commit(commit: &Commit) -> String {
    let changes = if commit.dirty == Some(true) {
        " with uncommitted changes"
    } else {
        ""
    };
    let hash = commit.commit.as_deref().unwrap_or("of unknown number");
    format!("commit {hash}{changes}")
}

pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,+@%#-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('#') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::manifest::{Provenance, Toolchain};

    fn branch(name: &str) -> MeasuredBranch {
        MeasuredBranch {
            name: name.to_owned(),
            source: Source::Published {
                version: "1.13.0".to_owned(),
            },
            baseline: name == "master",
            hypothesis: String::new(),
            claims: Vec::new(),
            receipt: Provenance {
                version: "1.13.0".to_owned(),
                commit: Commit {
                    commit: Some("0123456789ab".to_owned()),
                    dirty: Some(true),
                },
                tree_sha256: Some("fedcba9876543210".repeat(4)),
                ..Provenance::default()
            },
            build_error: None,
        }
    }

    #[test]
    fn a_page_has_all_that_a_pull_request_needs_and_fits_a_terminal() {
        let line = "compare master mine=path:my_tree --format json --output=x";
        let manifest = Manifest {
            command_line: line.split(' ').map(|it| it.replace('_', " ")).collect(),
            asked: SweepRequest {
                branches: vec!["master".to_owned(), "mine".to_owned()],
                placements: crate::plan::PlacementChoice::Both.placements(),
                ..crate::plan::tests::asked()
            },
            branches: vec![branch("master"), branch("mine")],
            toolchain: Toolchain {
                rustc: vec!["rustc 1.95.0".to_owned()],
                ..Toolchain::default()
            },
            ..Manifest::default()
        };
        let host = serde_json::json!({"cpu": {"model_name": "Mock 9000"}, "cpus_usable": 4});
        let page =
            |typed, format| head(&manifest, format) + &below(&manifest, &host, typed, format, 80);
        let markdown = page(Some(&*manifest.command_line), Format::Markdown);
        for part in [
            "### rayon-core: `mine` compared with `master`",
            "Mock 9000, 4 CPUs, CPU frequency uncontrolled, workers free and pinned",
            "- `mine`: rayon-core 1.13.0 as published; version 1.13.0, commit 0123456789ab with uncommitted changes, content fedcba987654",
            "rustc 1.95.0",
            "cargo runner compare master 'mine=path:my tree'\n```",
        ] {
            assert!(markdown.contains(part), "{part} is not in:\n{markdown}");
        }
        let table = page(None, Format::Table);
        let (facts, command) = table.split_once("to repeat it, in the checkout").unwrap();
        assert!(
            facts.lines().all(|line| line.chars().count() <= 80),
            "{facts}"
        );
        assert!(command.contains("mine=path:"), "{command}");
    }

    #[test]
    fn the_command_keeps_the_arguments_of_the_users_program_as_they_are() {
        let typed = "compare a b --program ../it --output x --format=json -- --output y --format=z";
        let typed: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        assert_eq!(
            command(&typed),
            "cargo runner compare a b --program ../it -- --output y --format=z"
        );
    }
}
