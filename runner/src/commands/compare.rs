//! `compare`: a sweep of branches that are named on the command line, and a page for a pull request.

use anyhow::{Context as _, Result};

use super::Place;
use super::show::Table;
use super::sweep::{self, Purpose};
use crate::cli::CompareArgs;
use crate::config::fork_features;
use crate::config::spec::Reader;
use crate::manifest::Manifest;
use crate::page::Page;
use crate::stop::{Exit, Stop};
use crate::sweep_dir::SweepDir;
use crate::table::{Format, Look};

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
            Some(config)
        }
    };
    let purpose = Purpose { command: "compare", config, page: Some(page) };
    sweep::run_for(place, &arguments.sweep, &purpose)
}

fn page(
    sweep: &SweepDir,
    manifest: &Manifest,
    table: &Table,
    is_begun_here: bool,
    format: Format,
) -> Result<String> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    Page {
        manifest,
        host: &sweep.host()?,
        rows: &table.rows,
        table: &table.text,
        judgement: table.judgement.as_deref(),
        arguments: if is_begun_here { &typed } else { &manifest.command_line },
        as_typed: is_begun_here,
    }
    .text(format, Look::of_stdout())
}
