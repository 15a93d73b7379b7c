//! The doctor's diagnosis: its findings, the checks that found everything in order, and their
//! output for people, 80 columns wide.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::host::Fact;
use crate::text::table::{PAGE, labelled};
use crate::text::words::count;

/// The severity of a finding for a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// As the host is now, a sweep cannot run, no frequency can be held, or differences between
    /// branches would not show in the times. The doctor then ends with exit code 4.
    Unfit,
    /// Times can be used, but their intervals are wider or their curves bent for a reason outside
    /// the scheduler.
    Warning,
    /// Readers of the results should know it.
    Note,
}

/// A property of the host that makes times doubtful, or that readers should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Stable name, for scripts.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// The file or tool that shows it, and the value there.
    pub seen: String,
    /// Its effect on a sweep.
    pub why: String,
    /// The remedy, mostly a command.
    pub remedy: String,
}

/// All findings, the worst first; the facts that could not be read; and the checks that found
/// everything in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// The faults of the host.
    pub findings: Vec<Finding>,
    /// The unknown facts with the reasons, one clause each. Diagnoses from before 2026-12 have
    /// none.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// The checks that found everything in order, one clause each.
    pub in_order: Vec<String>,
}

impl Diagnosis {
    /// Whether nothing makes this host unfit.
    #[must_use]
    pub fn is_fit(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity != Severity::Unfit)
    }

    /// The finding with this name, if there is one.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.id == id)
    }

    pub(super) fn add(
        &mut self,
        severity: Severity,
        id: &'static str,
        seen: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (seen, why, remedy) = (seen.into(), why.into(), remedy.into());
        self.findings.push(Finding {
            id: id.into(),
            severity,
            seen,
            why,
            remedy,
        });
    }

    /// Returns the fact. A fact that could not be read is listed as unknown. A check that gets
    /// `None` must not add anything, above all not that something is in order.
    pub(super) fn known<T>(&mut self, what: &str, fact: Fact<T>) -> Option<T> {
        let reason = match fact {
            Ok(fact) => return Some(fact),
            Err(reason) => reason,
        };
        let clause = format!("{what}: {reason}");
        if !self.unknown.contains(&clause) {
            self.unknown.push(clause);
        }
        None
    }

    /// Adds everything from another diagnosis.
    pub(super) fn extend(&mut self, other: Self) {
        self.findings.extend(other.findings);
        for clause in other.unknown {
            if !self.unknown.contains(&clause) {
                self.unknown.push(clause);
            }
        }
        self.in_order.extend(other.in_order);
    }

    pub(super) fn good(&mut self, clause: impl Into<String>) {
        self.in_order.push(clause.into());
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unfit => "UNFIT",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let findings: Vec<(String, &Finding)> = self
            .findings
            .iter()
            .map(|it| (it.severity.to_string(), it))
            .collect();
        let findings = findings.iter().flat_map(|(severity, it)| {
            let Finding {
                id,
                seen,
                why,
                remedy,
                ..
            } = it;
            [
                (severity.as_str(), id.as_str()),
                ("seen", seen),
                ("matters", why),
                ("remedy", remedy),
                ("", ""),
            ]
        });
        let group = |label, clauses| {
            let labels = std::iter::once(label).chain(std::iter::repeat(""));
            let clauses: &[String] = clauses;
            labels.zip(clauses.iter().map(String::as_str))
        };
        let unknown = group("unknown", &self.unknown);
        let gap = unknown.clone().take(1).map(|_| ("", ""));
        let rows = findings.chain(unknown).chain(gap);
        let rows = rows.chain(group("in order", &self.in_order));
        f.write_str(&labelled(rows, [10, PAGE], ""))?;
        let these = |severity, one: &str| {
            let number = self
                .findings
                .iter()
                .filter(|it| it.severity == severity)
                .count();
            count(number, one, &format!("{one}s"))
        };
        let warnings = these(Severity::Warning, "warning");
        writeln!(f)?;
        if self.is_fit() {
            return writeln!(
                f,
                "fit: a sweep may run, and a frequency can be held ({warnings})"
            );
        }
        let unfit = these(Severity::Unfit, "finding");
        writeln!(f, "not fit: {unfit} of the kind UNFIT ({warnings})")
    }
}
