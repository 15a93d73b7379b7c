//! `doctor`: lists this host's problems for measurements, with remedies.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::host::doctor::{self, Circumstances, Diagnosis};
use crate::host::frequency::Setup;
use crate::host::frequency::sysfs::BackendChoice;
use crate::host::{CPUS, Host};
use crate::options::Project;
use crate::options::{ListFormat, host_root};
use crate::stop::Exit;

pub(crate) const HELP: &str = "\
UNFIT means that, as the host is now, a sweep cannot run, no frequency can be held, or differences between branches \
would not show in the times.

Exit codes:
  0 fit, perhaps with warnings · 4 UNFIT

Examples:
  cargo runner doctor
  cargo runner doctor --format json | jq '.findings[].id'";

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// As text, or as JSON
    #[arg(long, value_enum, default_value = "table")]
    format: ListFormat,
    /// Folder to use instead of /, for tests
    #[arg(long, value_name = "DIR", hide = true, value_parser = host_root)]
    host: Option<PathBuf>,
}

pub(crate) fn run(project: &Project, arguments: &DoctorArgs) -> Result<Exit> {
    let host = arguments
        .host
        .as_deref()
        .map_or_else(Host::default, Host::at);
    let diagnosis = diagnose(project, &host);
    arguments.format.print(&diagnosis)?;
    Ok(if diagnosis.is_fit() {
        Exit::Good
    } else {
        Exit::HostNotFit
    })
}

pub(super) fn diagnose(project: &Project, host: &Host) -> Diagnosis {
    let sysfs = host.path(CPUS);
    // A mock host has a journal of its own as well, since the journal's name depends on the
    // folder.
    let setup = Setup::new(
        (!host.is_system()).then_some(&*sysfs),
        BackendChoice::Auto,
        None,
    );
    let cpus = if host.is_system() {
        Ok(Host::usable_cpus())
    } else {
        host.allowed_cpus().map(|cpus| cpus.len())
    };
    doctor::examine(host, &Circumstances::of(&project.checkout, &setup, cpus))
}
