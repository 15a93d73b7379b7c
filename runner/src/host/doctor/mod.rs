//! Checks whether this host, as it is now, is fit for a sweep, and says how to mend it.
//!
//! Every check reads files below a [`Host`], which tests mock, or the [`Circumstances`]; no check
//! changes anything.

mod circumstances;
mod clock;
mod cpus;
mod diagnosis;
mod quiet;
mod tools;

pub use crate::host::stacking::Stacking;
pub use circumstances::{Circumstances, Disk, Tool};
pub use diagnosis::{Diagnosis, Finding, Severity};

use crate::host::Host;

/// Examines a host.
#[must_use]
pub fn examine(host: &Host, around: &Circumstances) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    clock::check_setup(host, around, &mut diagnosis);
    cpus::check_number(around, &mut diagnosis);
    cpus::check_stacking(around, &mut diagnosis);
    cpus::check_fences(around, &mut diagnosis);
    quiet::check_sweeps(around, &mut diagnosis);
    check_files(host, &mut diagnosis);
    tools::check(around, &mut diagnosis);
    diagnosis.findings.sort_by_key(|finding| finding.severity);
    diagnosis
}

/// Returns findings that make times measured now doubtful, as far as files tell at once: for a user
/// who begins a sweep without asking the doctor.
#[must_use]
pub fn first_look(host: &Host) -> Vec<Finding> {
    let mut diagnosis = Diagnosis::default();
    check_files(host, &mut diagnosis);
    diagnosis
        .findings
        .retain(|finding| finding.severity == Severity::Unfit);
    diagnosis.findings
}

fn check_files(host: &Host, diagnosis: &mut Diagnosis) {
    clock::check(host, diagnosis);
    cpus::check(host, diagnosis);
    quiet::check(host, diagnosis);
}
