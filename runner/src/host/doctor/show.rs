//! A diagnosis as people read it, 80 columns wide.

use std::fmt;

use comfy_table::{ColumnConstraint, Table, Width, presets};

use super::{Diagnosis, Severity};
use crate::run::progress::count;

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
        let mut table = Table::new();
        table.load_style(presets::NOTHING).force_no_tty();
        for finding in &self.findings {
            table.add_row([finding.severity.to_string().as_str(), &finding.id]);
            for (label, text) in [("seen", &finding.seen), ("matters", &finding.why), ("remedy", &finding.remedy)] {
                table.add_row([label, text.as_str()]);
            }
            table.add_row(["", ""]);
        }
        for (index, clause) in self.in_order.iter().enumerate() {
            table.add_row([if index == 0 { "in order" } else { "" }, clause.as_str()]);
        }
        for (column, width) in table.column_iter_mut().zip([10, 70]) {
            column.set_padding((0, 1));
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
        }
        for line in table.lines() {
            writeln!(f, "{}", line.trim_end())?;
        }
        let these = |severity, one: &str| {
            let number = self.findings.iter().filter(|it| it.severity == severity).count();
            count(number, one, &format!("{one}s"))
        };
        let warnings = these(Severity::Warning, "warning");
        writeln!(f)?;
        if self.is_fit() {
            return writeln!(f, "fit: a sweep may run, and a frequency can be held ({warnings})");
        }
        let unfit = these(Severity::Unfit, "finding");
        writeln!(f, "not fit: {unfit} of the kind UNFIT ({warnings})")
    }
}
