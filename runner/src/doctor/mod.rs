//! Judges whether this host, as it is now, can carry what a sweep claims, and says what to do about it.
//!
//! Every check reads files below a [`Host`], which tests make up, or what [`Circumstances`] holds; none
//! changes anything.

mod circumstances;
mod clock;
mod cpus;
mod quiet;
mod show;
mod tools;

use serde::Serialize;

pub use crate::host::stacking::Stacking;
pub use circumstances::{Circumstances, Disk, Tool};

use crate::host::Host;

/// How much a finding takes away from a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// As the host is now, a sweep cannot run here, or no frequency can be held, or times would tell of
    /// something else than the branches. The doctor then ends with exit code 4.
    Unfit,
    /// Times can be used, but their intervals are wider or their curves bent for a reason outside.
    Warning,
    /// Worth knowing by whoever reads the results.
    Note,
}

/// Something about the host that a sceptic would ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Stable name, for scripts.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Where it was seen, and what was there.
    pub seen: String,
    /// What it does to a sweep.
    pub why: String,
    /// What to do, mostly a command.
    pub remedy: String,
}

/// All findings, the worst first, and what was found to be in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// What is not as it should be.
    pub findings: Vec<Finding>,
    /// What is, one clause each.
    pub in_order: Vec<String>,
}

impl Diagnosis {
    /// Whether nothing makes this host unfit.
    #[must_use]
    pub fn is_fit(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity != Severity::Unfit)
    }

    /// The finding with this name, if there is one.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.id == id)
    }

    fn add(
        &mut self,
        severity: Severity,
        id: &'static str,
        seen: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (seen, why, remedy) = (seen.into(), why.into(), remedy.into());
        self.findings.push(Finding { id, severity, seen, why, remedy });
    }

    fn good(&mut self, clause: impl Into<String>) {
        self.in_order.push(clause.into());
    }
}

/// Examines a host.
#[must_use]
pub fn examine(host: &Host, around: &Circumstances) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    clock::check_setup(host, around, &mut diagnosis);
    cpus::check_number(around, &mut diagnosis);
    cpus::check_stacking(around, &mut diagnosis);
    quiet::check_sweeps(around, &mut diagnosis);
    check_files(host, &mut diagnosis);
    tools::check(around, &mut diagnosis);
    diagnosis.findings.sort_by_key(|finding| finding.severity);
    diagnosis
}

/// What makes times measured now doubtful, as far as files tell at once: for whoever begins a sweep without
/// asking the doctor.
#[must_use]
pub fn first_look(host: &Host) -> Vec<Finding> {
    let mut diagnosis = Diagnosis::default();
    check_files(host, &mut diagnosis);
    diagnosis.findings.retain(|finding| finding.severity == Severity::Unfit);
    diagnosis.findings
}

fn check_files(host: &Host, diagnosis: &mut Diagnosis) {
    clock::check(host, diagnosis);
    cpus::check(host, diagnosis);
    quiet::check(host, diagnosis);
}
