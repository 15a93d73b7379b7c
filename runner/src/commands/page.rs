//! The text that `compare` prints around the table: title, host, versions, and the command that
//! repeats it. It has all that another reader needs to trust the result.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::Value;

use crate::config::Source;
use crate::config::checkout::Commit;
use crate::plan::{SweepRequest, is_free};
use crate::record::manifest::{Manifest, MeasuredBranch};
use crate::record::sweep_dir::SweepDir;
use crate::text::table::{Format, columns_of_stdout, json, wrapped};
use crate::text::words::count;

/// The text around the table: [`Self::head`] comes before it, and the rest after it.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// The sweep that the page describes.
    pub manifest: &'a Manifest,
    /// Its `host.json`.
    pub host: &'a Value,
    /// Its table as data, for a page of data.
    pub table: Option<&'a Value>,
    /// Arguments that make the same sweep.
    pub arguments: &'a [String],
    /// Whether a user just typed the arguments; otherwise their paths start from the checkout.
    pub as_typed: bool,
}

/// Returns the part of a page below a sweep's table, or the whole page if the table is data.
/// `is_begun_here` says whether this command line began the sweep.
pub(super) fn below(
    sweep: &SweepDir,
    manifest: &Manifest,
    table: Option<&Value>,
    is_begun_here: bool,
    format: Format,
) -> Result<String> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    Page {
        manifest,
        host: &sweep.host()?,
        table,
        arguments: if is_begun_here {
            &typed
        } else {
            &manifest.command_line
        },
        as_typed: is_begun_here,
    }
    .text(format, columns_of_stdout())
}

impl Page<'_> {
    /// Returns the text before the table; empty for a page of data.
    pub(crate) fn head(manifest: &Manifest, format: Format) -> String {
        match format {
            Format::Csv | Format::Json => String::new(),
            Format::Markdown => format!("### rayon-core: {}\n\n", title(manifest)),
            Format::Table => format!("{}\n\n", title(manifest)),
        }
    }

    /// Returns the text below the table in lines of so many columns, or the whole page if it is
    /// data. The text ends with a line end. CSV has no place for the text.
    pub(crate) fn text(&self, format: Format, columns: Option<usize>) -> Result<String> {
        match format {
            Format::Csv => Ok(String::new()),
            Format::Json => json(&serde_json::json!({
                "sweep": self.manifest.name,
                "baseline": self.manifest.asked.baseline,
                "rows": self.table.map(|table| &table["rows"]),
                "judgement": self.table.map(|table| &table["judgement"]),
                "host": host_line(self.host, &self.manifest.asked),
                "versions": self.versions(),
                "command": self.command(),
            })),
            Format::Markdown => Ok(self.markdown()),
            Format::Table => Ok(self.plain(columns.unwrap_or(100))),
        }
    }

    fn markdown(&self) -> String {
        let mut text = format!(
            "\n**Host:** {}\n\n**Versions:**\n\n",
            host_line(self.host, &self.manifest.asked)
        );
        for version in self.versions() {
            let _ = writeln!(text, "- {version}");
        }
        let _ = writeln!(
            text,
            "\n**To repeat it{}:**\n\n```sh\n{}\n```",
            self.place(),
            self.command()
        );
        text
    }

    fn plain(&self, columns: usize) -> String {
        let mut text = String::from("\n");
        let _ = writeln!(
            text,
            "{}",
            wrapped(
                &format!("host: {}", host_line(self.host, &self.manifest.asked)),
                columns,
                "  "
            )
        );
        for version in self.versions() {
            let _ = writeln!(text, "{}", wrapped(&version, columns, "  "));
        }
        let _ = writeln!(text, "to repeat it{}: {}", self.place(), self.command());
        text
    }

    /// The folder in which the command can be repeated.
    fn place(&self) -> &'static str {
        if self.as_typed {
            ""
        } else {
            ", in the checkout's folder"
        }
    }

    fn command(&self) -> String {
        let mut words = Vec::new();
        let mut arguments = self.arguments.iter();
        while let Some(argument) = arguments.next() {
            // The output folder and the format are not part of the repetition.
            match argument.split('=').next() {
                Some("--output" | "--format") if argument.contains('=') => {}
                Some("--output" | "--format") => _ = arguments.next(),
                _ => words.push(quoted(argument)),
            }
        }
        format!("cargo runner {}", words.join(" "))
    }

    fn versions(&self) -> Vec<String> {
        let manifest = self.manifest;
        let mut lines: Vec<String> = manifest.branches.iter().map(version).collect();
        let rustc = manifest
            .toolchain
            .rustc
            .first()
            .map_or("unknown compiler", String::as_str);
        let layouts = count(manifest.asked.layouts as usize, "link order", "link orders");
        lines.push(format!(
            "{rustc}, {layouts} of each binary; measured by this laboratory's {}",
            commit(&manifest.checkout)
        ));
        lines
    }
}

/// Describes the machine of a sweep's `host.json` in one line.
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

fn title(manifest: &Manifest) -> String {
    let asked = &manifest.asked;
    let others: Vec<String> = asked
        .branches
        .iter()
        .filter(|name| **name != asked.baseline)
        .map(|name| format!("`{name}`"))
        .collect();
    format!("{} compared with `{}`", others.join(", "), asked.baseline)
}

fn version(branch: &MeasuredBranch) -> String {
    let name = &branch.name;
    let Some(receipt) = &branch.receipt else {
        return format!("`{name}`: {}, which could not be built", branch.source);
    };
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

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,+@%#-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('#') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
