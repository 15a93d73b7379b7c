//! `compare`: a sweep of branches that are named on the command line, and the analysis's verdicts on it.

use std::io::Write as _;

use anyhow::{Context as _, Result};

use super::sweep::{self, Purpose};
use super::{Place, asked_among};
use crate::cli::CompareArgs;
use crate::config::fork_features;
use crate::config::spec::Reader;
use crate::manifest::Manifest;
use crate::python::Python;
use crate::stop::{Exit, Stop};
use crate::sweep_dir::SweepDir;
use crate::table::Look;
use crate::verdicts::{Page, Verdicts};

pub(crate) fn run(place: &Place, arguments: &CompareArgs) -> Result<Exit> {
    let config = match arguments.specs.as_slice() {
        // What is resumed knows its branches.
        [] => None,
        words => {
            let reader = Reader {
                config: &place.config()?,
                known_features: &fork_features(&place.checkout.root().join("rayon-fork"))?,
                here: &std::env::current_dir().context("the current folder cannot be read")?,
                config_folder: &place.config_folder()?,
            };
            let config = reader.config(words).map_err(Stop::BadInput)?;
            // A slip in an option is told before Python is set up, which takes a minute the first time.
            asked_among(place, &config, &arguments.sweep.selection)?;
            Some(config)
        }
    };
    // Told before everything is measured, not after.
    let python = Python::set_up(place.checkout.root())?;
    let print = |sweep: &SweepDir, manifest: &Manifest| {
        let verdicts = Verdicts::ask(&python, sweep, manifest)?;
        let page = Page { verdicts: &verdicts, manifest, host: &sweep.host()? };
        let text = page.text(arguments.sweep.format, Look::of_stdout())?;
        Ok(std::io::stdout().write_all(text.as_bytes())?)
    };
    sweep::run_for(
        place,
        &arguments.sweep,
        &Purpose { command: "compare", config, print: Some(&print) },
    )
}
