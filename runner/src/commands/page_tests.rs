//! Tests the page of a synthetic sweep: it leaves out nothing and adds nothing.

use super::*;
use crate::config::Source;
use crate::record::manifest::{Provenance, Toolchain};

fn branch(name: &str, baseline: bool) -> MeasuredBranch {
    let commit = Commit {
        commit: (!baseline).then(|| "0123456789ab".to_owned()),
        dirty: Some(true),
    };
    MeasuredBranch {
        name: name.to_owned(),
        source: Source::Published {
            version: "1.13.0".to_owned(),
        },
        baseline,
        hypothesis: String::new(),
        claims: Vec::new(),
        receipt: Some(Provenance {
            version: "1.13.0".to_owned(),
            commit,
            tree_sha256: (!baseline).then(|| "fedcba9876543210".repeat(4)),
            ..Provenance::default()
        }),
        build_error: None,
    }
}

fn manifest() -> Manifest {
    let asked = crate::plan::tests::asked();
    let branches = vec!["master".to_owned(), "mine".to_owned()];
    let placements = crate::plan::PlacementChoice::Both.placements();
    let asked = SweepRequest {
        branches,
        placements,
        ..asked
    };
    let command_line = [
        "compare",
        "master",
        "mine=path:my tree",
        "--format",
        "json",
        "--output=x",
    ];
    Manifest {
        command_line: command_line.map(str::to_owned).into(),
        asked,
        branches: vec![branch("master", true), branch("mine", false)],
        toolchain: Toolchain {
            rustc: vec!["rustc 1.95.0".to_owned()],
            ..Toolchain::default()
        },
        ..Manifest::default()
    }
}

fn page(format: Format, columns: Option<usize>) -> String {
    let host = serde_json::json!({"cpu": {"model_name": "Mock 9000"}, "cpus_usable": 4});
    let manifest = manifest();
    let page = Page {
        manifest: &manifest,
        host: &host,
        table: None,
        arguments: &manifest.command_line,
        as_typed: true,
    };
    Page::head(&manifest, format) + &page.text(format, columns).unwrap()
}

#[test]
fn the_markdown_page_has_all_that_a_pull_request_needs() {
    let text = page(Format::Markdown, None);
    for part in [
        "### rayon-core: `mine` compared with `master`",
        "Mock 9000, 4 CPUs, CPU frequency uncontrolled, workers free and pinned",
        "- `mine`: rayon-core 1.13.0 as published; version 1.13.0, commit 0123456789ab with uncommitted changes, content fedcba987654",
        "rustc 1.95.0",
        "cargo runner compare master 'mine=path:my tree'\n```",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
}

#[test]
fn in_a_terminal_of_eighty_columns_only_the_command_may_be_longer() {
    let text = page(Format::Table, Some(80));
    for line in text
        .lines()
        .filter(|line| !line.starts_with("to repeat it"))
    {
        assert!(line.chars().count() <= 80, "{line}");
    }
}
