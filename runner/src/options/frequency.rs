//! Where and how a command sets the CPU frequency.

use std::path::PathBuf;

use clap::Args;

use crate::host::frequency::Setup;
use crate::host::frequency::sysfs::Choice;
use crate::plan::FREQUENCY_HEADING as HEADING;

/// Where and how the frequency is set.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FrequencyOptions {
    /// Backend that writes the settings; `auto` takes the first that is permitted [default: auto]
    #[arg(long, value_enum, value_name = "BACKEND", help_heading = HEADING)]
    frequency_backend: Option<Choice>,
    /// File that keeps the original settings until they are restored [default: one per host in
    /// /var/tmp]
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    frequency_journal: Option<PathBuf>,
    /// Folder to use instead of /sys/devices/system/cpu, for tests; the measured clock is then not
    /// compared
    #[arg(long, value_name = "DIR", hide = true, value_parser = super::host_folder)]
    sysfs: Option<PathBuf>,
}

impl FrequencyOptions {
    pub(crate) fn setup(&self) -> Setup {
        let (sysfs, journal) = (self.sysfs.as_deref(), self.frequency_journal.as_deref());
        Setup::new(sysfs, self.frequency_backend.unwrap_or_default(), journal)
    }

    /// An option that was typed, if there is one.
    pub(crate) fn typed(&self) -> Option<&'static str> {
        let typed = [
            ("--frequency-backend", self.frequency_backend.is_some()),
            ("--frequency-journal", self.frequency_journal.is_some()),
            ("--sysfs", self.sysfs.is_some()),
        ];
        typed.into_iter().find(|it| it.1).map(|it| it.0)
    }
}
