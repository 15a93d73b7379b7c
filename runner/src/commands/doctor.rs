//! `doctor`: lists this host's problems for measurements, with remedies.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::host::Host;
use crate::host::doctor::{self, Circumstances, Diagnosis};
use crate::host::frequency::Setup;
use crate::host::frequency::sysfs::BackendChoice;
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

pub(crate) fn run(arguments: &DoctorArgs) -> Result<Exit> {
    let host = arguments
        .host
        .as_deref()
        .map_or_else(Host::default, Host::at);
    let diagnosis = diagnose(&host);
    arguments.format.print(&diagnosis)?;
    Ok(if diagnosis.is_fit() {
        Exit::Good
    } else {
        Exit::HostNotFit
    })
}

pub(super) fn diagnose(host: &Host) -> Diagnosis {
    // A mock host has its own journal, since the journal's name depends on the folder.
    let setup = Setup::new(host.clone(), BackendChoice::Auto, None);
    doctor::examine(host, &Circumstances::of(&setup))
}
