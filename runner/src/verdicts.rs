//! What `compare` prints: the analysis's verdicts, and all that somebody else needs to believe or repeat
//! them. Nothing is judged here.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use comfy_table::Color;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checkout::Commit;
use crate::config::Source;
use crate::manifest::{Manifest, MeasuredBranch};
use crate::progress::count;
use crate::python::Python;
use crate::stop::Stop;
use crate::sweep_dir::SweepDir;
use crate::table::{Column, Format, Look, Sheet, data, json, wrapped};

/// A branch against the baseline on one workload, all thread counts together, as the analysis has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Workload, and what tells it from others of the sweep; `None` for all of them together.
    #[serde(rename = "panel")]
    pub workload: Option<String>,
    /// Branch.
    pub branch: String,
    /// `faster`, `slower`, `not distinguishable` or `not judged`.
    pub verdict: String,
    /// Time over the baseline's.
    pub time_ratio: f64,
    /// Lower end of its 95 % interval.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
    /// The A/A band reaches from 1/band to band; `None` without a twin.
    pub band: Option<f64>,
    /// CPU time over the baseline's.
    pub cpu_ratio: Option<f64>,
    /// The smallest ratio above 1 that would be found with probability 0.8.
    pub detectable: Option<f64>,
    /// Thread counts and workloads pooled.
    pub cells: u64,
    /// Pairs of trials.
    pub pairs: u64,
}

/// What the analysis says of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// One for each workload and branch; those over all workloads last.
    pub comparisons: Vec<Comparison>,
    /// What cannot be concluded, in sentences.
    pub cautions: Vec<String>,
}

impl Verdicts {
    /// Asks the analysis.
    ///
    /// # Errors
    /// If it refuses (it has said why), or answers what this does not understand.
    pub fn ask(python: &Python, sweep: &SweepDir, manifest: &Manifest) -> Result<Self> {
        let mut command = python.module("sweep_analysis");
        command.arg("compare").arg(sweep.path()).args(["--level", "pooled", "--format", "json"]);
        let output = command
            .stderr(std::process::Stdio::inherit())
            .output()
            .context("Python cannot be run")?;
        if !output.status.success() {
            bail!(Stop::BadInput(format!(
                "the analysis cannot compare {}; the lines above say why",
                sweep.name()
            )));
        }
        let mut found: Self = serde_json::from_slice(&output.stdout)
            .context("what the analysis printed cannot be understood")?;
        found.comparisons.retain(|row| manifest.twin.as_deref() != Some(&row.branch));
        if found.comparisons.iter().filter(|row| row.workload.is_some()).count()
            == found.comparisons.iter().filter(|row| row.workload.is_none()).count()
        {
            // One workload is all of them.
            found.comparisons.retain(|row| row.workload.is_some());
        }
        Ok(found)
    }
}

/// Everything that is printed.
#[derive(Debug)]
pub struct Page<'a> {
    /// What the analysis says.
    pub verdicts: &'a Verdicts,
    /// The sweep it is of.
    pub manifest: &'a Manifest,
    /// Its `host.json`.
    pub host: &'a Value,
}

impl Page<'_> {
    /// The page as text that ends with a line end.
    ///
    /// # Errors
    /// If a row has no JSON or CSV form, which cannot happen.
    pub fn text(&self, format: Format, look: Look) -> Result<String> {
        match format {
            Format::Csv => Ok(data(&self.verdicts.comparisons, format)?.unwrap_or_default()),
            Format::Json => json(&serde_json::json!({
                "sweep": self.manifest.name,
                "baseline": self.manifest.asked.baseline,
                "comparisons": self.verdicts.comparisons,
                "cautions": self.verdicts.cautions,
                "host": self.host_line(),
                "versions": self.versions(),
                "command": self.command(),
            })),
            Format::Markdown => Ok(self.markdown()),
            Format::Table => Ok(self.plain(look)),
        }
    }

    fn markdown(&self) -> String {
        let mut text = format!("### rayon-core: {}\n\n", self.title());
        let mut sheet = Sheet::new([
            Column::text("workload"),
            Column::text("branch"),
            Column::figure("time"),
            Column::figure("95 % interval"),
            Column::figure("A/A band"),
            Column::figure("CPU time"),
            Column::text("verdict"),
        ]);
        for row in &self.verdicts.comparisons {
            let workload = row.workload.clone().unwrap_or("all together".to_owned());
            let [branch, time, interval, band, cpu, verdict] = cells(row);
            let is_claim = matches!(row.verdict.as_str(), "faster" | "slower");
            let verdict = if is_claim { format!("**{verdict}**") } else { verdict };
            sheet.push([workload, format!("`{branch}`"), time, interval, band, cpu, verdict], None);
        }
        let _ = writeln!(text, "{}", sheet.text(Format::Markdown, Look::default()));
        let _ = writeln!(text, "{}\n", self.legend());
        let _ = writeln!(text, "**Host:** {}\n\n**Versions:**\n", self.host_line());
        for version in self.versions() {
            let _ = writeln!(text, "- {version}");
        }
        let _ = writeln!(text, "\n**To repeat it:**\n\n```sh\n{}\n```\n", self.command());
        text.push_str("**What cannot be concluded:**\n\n");
        for caution in &self.verdicts.cautions {
            let _ = writeln!(text, "- {caution}");
        }
        text
    }

    fn plain(&self, look: Look) -> String {
        let columns = look.columns.unwrap_or(100);
        let mut text = format!("{}\n", self.title());
        let width = self.verdicts.comparisons.iter().map(|row| row.branch.len()).max().unwrap_or(0);
        for panel in self.verdicts.comparisons.chunk_by(|a, b| a.workload == b.workload) {
            let _ = writeln!(
                text,
                "\n{}",
                panel[0].workload.as_deref().unwrap_or("all workloads together")
            );
            let mut sheet = Sheet::new([
                Column::text("branch").at_least(width),
                Column::figure("time"),
                Column::figure("95 % interval").at_least(14),
                Column::figure("A/A band"),
                Column::figure("CPU"),
                Column::text("verdict").at_least(19),
            ]);
            for row in panel {
                let colour = match row.verdict.as_str() {
                    "faster" => Some(Color::Green),
                    "slower" => Some(Color::Red),
                    _ => None,
                };
                sheet.push(cells(row), colour);
            }
            text.push_str(&sheet.text(Format::Table, look));
        }
        let _ = writeln!(text, "\n{}\n", wrapped(&self.legend(), columns, ""));
        let _ =
            writeln!(text, "{}", wrapped(&format!("host: {}", self.host_line()), columns, "  "));
        for version in self.versions() {
            let _ = writeln!(text, "{}", wrapped(&version, columns, "  "));
        }
        let _ = writeln!(text, "to repeat it: {}\n\nwhat cannot be concluded:", self.command());
        for caution in &self.verdicts.cautions {
            let _ = writeln!(text, "{}", wrapped(&format!("- {caution}"), columns, "  "));
        }
        text
    }

    fn title(&self) -> String {
        let asked = &self.manifest.asked;
        let others: Vec<String> = asked
            .branches
            .iter()
            .filter(|name| **name != asked.baseline)
            .map(|name| format!("`{name}`"))
            .collect();
        format!("{} compared with `{}`", others.join(", "), asked.baseline)
    }

    fn legend(&self) -> String {
        let asked = &self.manifest.asked;
        let threads: Vec<String> = asked.threads.iter().map(ToString::to_string).collect();
        format!(
            "Time and CPU time are ratios to `{}`, paired inside blocks; below 1 is better. All thread counts \
             ({}) together, {} of each cell, each the median of {}. The A/A band is how far `{0}` strays from \
             itself, which is no difference; a verdict also needs the interval and corrected tests to agree.",
            asked.baseline,
            threads.join(", "),
            count(asked.trials as usize, "trial", "trials"),
            count(asked.iterations as usize, "iteration", "iterations"),
        )
    }

    fn host_line(&self) -> String {
        let text = |pointer: &str| self.host.pointer(pointer).and_then(Value::as_str);
        let mut words = vec![text("/cpu/model_name").unwrap_or("unknown CPU").to_owned()];
        if let Some(cpus) = self.host.get("cpus_usable").and_then(Value::as_u64) {
            let cpus = usize::try_from(cpus).unwrap_or(usize::MAX);
            words.push(count(cpus, "CPU", "CPUs"));
        }
        if self.host.pointer("/cpu/is_virtual").and_then(Value::as_bool) == Some(true) {
            words.push("virtual machine".to_owned());
        }
        words.extend(text("/kernel/osrelease").map(|release| format!("Linux {release}")));
        let modes: Vec<String> =
            self.manifest.asked.modes.iter().map(ToString::to_string).collect();
        let driver =
            text("/frequency/scaling_driver").map_or("uncontrolled".to_owned(), |driver| {
                let governor = text("/frequency/scaling_governor").unwrap_or("unknown");
                format!("{}, {driver}, governor {governor}", modes.join(" and "))
            });
        words.push(format!("CPU frequency {driver}"));
        words.join(", ")
    }

    fn versions(&self) -> Vec<String> {
        let manifest = self.manifest;
        let mut lines: Vec<String> = manifest.branches.iter().map(version).collect();
        let rustc = manifest.toolchain.rustc.first().map_or("unknown compiler", String::as_str);
        let layouts = count(manifest.asked.layouts as usize, "layout", "layouts");
        lines.push(format!(
            "{rustc}, {layouts} of each binary; measured by this laboratory's {}",
            commit(&manifest.checkout)
        ));
        lines
    }

    fn command(&self) -> String {
        let mut words = Vec::new();
        let mut arguments = self.manifest.command_line.iter();
        while let Some(argument) = arguments.next() {
            // Where it was written and how it was shown is nothing to repeat.
            match argument.split('=').next() {
                Some("--output" | "--format") if argument.contains('=') => {}
                Some("--output" | "--format") => _ = arguments.next(),
                _ => words.push(quoted(argument)),
            }
        }
        format!("cargo runner {}", words.join(" "))
    }
}

fn cells(row: &Comparison) -> [String; 6] {
    let ratio = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.3}"));
    [
        row.branch.clone(),
        ratio(Some(row.time_ratio)),
        format!("{} to {}", ratio(row.ratio_low), ratio(row.ratio_high)),
        row.band.map_or("none".to_owned(), |band| format!("±{:.1} %", (band - 1.0) * 100.0)),
        ratio(row.cpu_ratio),
        row.verdict.clone(),
    ]
}

fn version(branch: &MeasuredBranch) -> String {
    let name = &branch.name;
    let Some(receipt) = &branch.receipt else {
        return format!("`{name}`: {}, which could not be built", branch.source);
    };
    let tree = match (&branch.source, &receipt.commit.commit) {
        // Its address says so.
        (Source::Git { .. }, _) | (_, None) => String::new(),
        (_, Some(_)) => format!(", {}", commit(&receipt.commit)),
    };
    format!("`{name}`: {}; version {}{tree}", branch.source, receipt.version)
}

fn commit(commit: &Commit) -> String {
    let changes = if commit.dirty == Some(true) { " with uncommitted changes" } else { "" };
    let hash = commit.commit.as_deref().unwrap_or("of unknown number");
    format!("commit {hash}{changes}")
}

/// A word as a shell reads it back.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,+@%#-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('#') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
#[path = "verdicts_tests.rs"]
mod tests;
