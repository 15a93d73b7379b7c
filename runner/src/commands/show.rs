//! `show`: the table of a sweep, also printed at the end of `sweep`.

use std::io::Write as _;

use anyhow::Result;

use super::Place;
use crate::cli::ShowArgs;
use crate::manifest::Manifest;
use crate::stop::Exit;
use crate::summary::{self, Summary};
use crate::sweep_dir::SweepDir;
use crate::table::{Format, Look};

pub(crate) fn run(place: &Place, arguments: &ShowArgs) -> Result<Exit> {
    let parent = place.sweeps(arguments.output.as_deref());
    let sweep = SweepDir::find(&place.checkout, &parent, &arguments.sweep)?;
    let manifest = sweep.manifest()?;
    let summary = summarized(&sweep, &manifest)?;
    print(&manifest, &summary, arguments.format)?;
    if summary.trials() < manifest.trials_planned {
        let remedy = if manifest.shards.is_empty() {
            format!("`cargo runner sweep --resume {}` runs the others", place.reference_to(&sweep))
        } else {
            "finish the shards and merge them again".to_owned()
        };
        eprintln!("note: {} of {} trials; {remedy}", summary.trials(), manifest.trials_planned);
    }
    Ok(Exit::Good)
}

/// What the tables need of a sweep's records.
pub(crate) fn summarized(sweep: &SweepDir, manifest: &Manifest) -> Result<Summary> {
    let mut summary = Summary::new(&manifest.asked);
    for record in sweep.records()? {
        summary.add(&record?);
    }
    Ok(summary)
}

/// Prints the table to standard output, coloured for a terminal unless `NO_COLOR` is set.
pub(crate) fn print(manifest: &Manifest, summary: &Summary, format: Format) -> Result<()> {
    let asked = &manifest.asked;
    let text = if asked.is_about_answers() {
        summary::answers_table(&summary.agreements(), format)?
    } else {
        let rows = summary.rows();
        let mut text = summary::table(asked, &rows, format, Look::of_stdout())?;
        let foot = || summary::foot(asked, &rows, &summary.conditions(), manifest.settle_ms);
        match format {
            Format::Table => text.extend(["\n", &foot()]),
            Format::Markdown => text.extend(["\n```text\n", &foot(), "```\n"]),
            Format::Json | Format::Csv => {}
        }
        text
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    let counted = summary.counted();
    if counted > 0 {
        eprintln!(
            "note: {counted} trials of instrumented builds were counted, not timed; the report draws \
             their counts, `cargo runner analysis events` prints them"
        );
    }
    Ok(())
}
