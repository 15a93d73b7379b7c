//! A diagnosis as people read it, 80 columns wide.

use std::fmt;

use super::{Diagnosis, Finding, Severity};
use crate::text::table::{PAGE, labelled};
use crate::text::words::count;

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
