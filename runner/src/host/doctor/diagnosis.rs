//! The doctor's diagnosis, and its output for people, at most 80 columns wide.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::host::Fact;
use crate::text::output::{PAGE, labelled};
use crate::text::words::count;

/// The severity of a finding for a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// A sweep cannot run, no frequency can be held, or differences between branches would not show
    /// in the times.
    Unfit,
    /// Intervals are wider, or curves are bent, for a reason outside the scheduler.
    Warning,
    /// Readers of the results should know the property.
    Note,
}

/// A property of the host that makes times doubtful, or that readers should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Stable name, for scripts.
    pub id: String,
    /// How much the property matters.
    pub severity: Severity,
    /// The file or tool that shows the property, and the value there.
    pub seen: String,
    /// The property's effect on a sweep.
    pub why: String,
    /// The remedy, mostly a command.
    pub remedy: String,
}

/// The result of all checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// The unknown facts with the reasons, one clause each. Diagnoses from before 2026-12 have
    /// none.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// The checks that found everything in order, one clause each.
    pub in_order: Vec<String>,
}

impl Diagnosis {
    /// Whether this host is fit for a sweep: no finding is UNFIT.
    #[must_use]
    pub fn is_fit(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity != Severity::Unfit)
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

    pub(super) fn unknown(&mut self, what: &str, reason: &str) {
        let clause = format!("{what}: {reason}");
        if !self.unknown.contains(&clause) {
            self.unknown.push(clause);
        }
    }

    /// Returns the fact, or lists it as unknown. A check that gets `None` must not say that
    /// something is in order.
    pub(super) fn known<T>(&mut self, what: &str, fact: Fact<T>) -> Option<T> {
        fact.map_err(|reason| self.unknown(what, &reason)).ok()
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
        let mut rows: Vec<(String, &str)> = Vec::new();
        for it in &self.findings {
            rows.push((it.severity.to_string(), &it.id));
            for (label, text) in [
                ("seen", &*it.seen),
                ("matters", &it.why),
                ("remedy", &it.remedy),
                ("", ""),
            ] {
                rows.push((label.to_owned(), text));
            }
        }
        for (label, clauses) in [("unknown", &self.unknown), ("in order", &self.in_order)] {
            if label == "in order" && !self.unknown.is_empty() {
                rows.push(Default::default());
            }
            for (number, clause) in clauses.iter().enumerate() {
                let label = if number == 0 { label } else { "" };
                rows.push((label.to_owned(), clause));
            }
        }
        let rows = rows.iter().map(|(label, text)| (&**label, *text));
        f.write_str(&labelled(rows, [10, PAGE], ""))?;
        let these = |severity, one: &str| {
            let these = self.findings.iter().filter(|it| it.severity == severity);
            count(these.count(), one, &format!("{one}s"))
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
