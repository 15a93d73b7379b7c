//! `frequency`: controls the CPU frequency by hand, in the way a sweep does.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use crate::affinity::allowed_cpus;
use crate::host::frequency::Setup;
use crate::host::frequency::clock;
use crate::host::frequency::status::Status;
use crate::options::FrequencyOptions;
use crate::options::ListFormat;
use crate::stop::{Exit, Stop};
use crate::system::interrupt;

/// Text that `--help` prints below the options.
pub(crate) const HELP: &str = "\
Examples:
  cargo runner frequency status
  cargo runner frequency fix        all CPUs at one frequency, until `restore`
  cargo runner frequency restore    even after a sweep was killed";

/// Arguments of `frequency`.
#[derive(Debug, Args)]
pub(crate) struct FrequencyArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show drivers, limits and measured clock, and whether one frequency could be fixed
    Status {
        /// As a table, or as JSON with every detail
        #[arg(long, value_enum, default_value = "table")]
        format: ListFormat,
        #[command(flatten)]
        options: FrequencyOptions,
    },
    /// Fix all usable CPUs at their highest common frequency without boost, until `restore`
    Fix {
        #[command(flatten)]
        options: FrequencyOptions,
    },
    /// Restore the settings from before a fix, made by hand or by a sweep that died
    Restore {
        #[command(flatten)]
        options: FrequencyOptions,
    },
}

pub(crate) fn run(arguments: &FrequencyArgs) -> Result<Exit> {
    match &arguments.verb {
        Verb::Status { format, options } => status(&options.setup(), *format),
        Verb::Fix { options } => fix(&options.setup()),
        Verb::Restore { options } => {
            if !options.setup().restore_leftover()? {
                tell!("nothing to restore: no fix is in force");
            }
            Ok(Exit::Good)
        }
    }
}

fn status(setup: &Setup, format: ListFormat) -> Result<Exit> {
    format.print(&Status::of(setup))?;
    Ok(Exit::Good)
}

fn fix(setup: &Setup) -> Result<Exit> {
    interrupt::install()?;
    if setup.journal.exists() {
        bail!(Stop::HostNotFit(format!(
            "the frequency is fixed already, or a fix was never undone ({}); run `cargo runner frequency \
             restore` first",
            setup.journal.display()
        )));
    }
    let held = setup.fix()?;
    if interrupt::is_requested() {
        held.restore()?;
        bail!(Stop::Interrupted(
            "interrupted; all settings are restored".to_owned()
        ));
    }
    let khz = held.khz();
    if let Some(knob) = held.boost_left_on() {
        let path = setup.tree.path(knob);
        let path = path.display();
        tell!("note: {path} still allows boost, which this backend cannot forbid");
    }
    held.leave_fixed();
    tell!(
        "all CPUs that trials may use are set to {khz} kHz; `cargo runner frequency restore` restores \
         the original settings"
    );
    if setup.tree.is_system() {
        tell!("{}", delivered(khz));
    }
    tell!("note: a sweep also restores them when it begins; `sweep --mode fixed` fixes by itself");
    Ok(Exit::Good)
}

fn delivered(khz: u64) -> String {
    match clock::measure(&allowed_cpus()) {
        Some(clock) if clock.is_at(khz) => format!("measured: {clock}"),
        Some(clock) => format!("warning: measured: {clock}, which differs from the set frequency"),
        None => "warning: the clock cannot be measured: the two methods disagree".to_owned(),
    }
}
