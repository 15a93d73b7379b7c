//! `frequency restore`: undoes what a sweep that was killed has done to the CPU frequency.

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::options::FrequencyOptions;
use crate::stop::Exit;

pub(crate) const HELP: &str = "\
Examples:
  cargo runner frequency restore    after a sweep was killed; the next sweep does it, too";

#[derive(Debug, Args)]
pub(crate) struct FrequencyArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Restore the settings from before a sweep that died
    Restore {
        #[command(flatten)]
        options: FrequencyOptions,
    },
}

pub(crate) fn run(arguments: &FrequencyArgs) -> Result<Exit> {
    let Verb::Restore { options } = &arguments.verb;
    if !options.setup().restore_leftover()? {
        tell!("nothing to restore: no fix is in force");
    }
    Ok(Exit::Good)
}
