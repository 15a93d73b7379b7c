//! `show`: the table of a sweep, also printed at the end of `sweep`.

use std::io::Write as _;

use anyhow::Result;

use super::Place;
use crate::cli::ShowArgs;
use crate::experiments::Figure;
use crate::manifest::Manifest;
use crate::record::Record;
use crate::stop::Exit;
use crate::summary;
use crate::sweep_dir::SweepDir;
use crate::table::{Format, Look};

pub(crate) fn run(place: &Place, arguments: &ShowArgs) -> Result<Exit> {
    let parent = place.sweeps(arguments.output.as_deref());
    let sweep = SweepDir::find(&place.checkout, &parent, &arguments.sweep)?;
    let manifest = sweep.manifest()?;
    let records = sweep.records()?;
    print(&manifest, &records, arguments.format)?;
    if records.len() < manifest.trials_planned {
        let remedy = if manifest.shards.is_empty() {
            format!("`cargo runner sweep --resume {}` runs the others", place.reference_to(&sweep))
        } else {
            "finish the shards and merge them again".to_owned()
        };
        eprintln!("note: {} of {} trials; {remedy}", records.len(), manifest.trials_planned);
    }
    Ok(Exit::Good)
}

/// Prints the table to standard output, coloured for a terminal unless `NO_COLOR` is set.
pub(crate) fn print(manifest: &Manifest, records: &[Record], format: Format) -> Result<()> {
    let asked = &manifest.asked;
    let text = if is_about_answers(manifest) {
        summary::answers_table(&summary::agreements(asked, records), format)?
    } else {
        let rows = summary::rows(asked, records);
        let mut text = summary::table(asked, &rows, format, Look::of_stdout())?;
        let conditions = || summary::conditions(asked, records);
        let foot = || summary::foot(asked, &rows, &conditions(), manifest.settle_ms);
        match format {
            Format::Table => text.extend(["\n", &foot()]),
            Format::Markdown => text.extend(["\n```text\n", &foot(), "```\n"]),
            Format::Json | Format::Csv => {}
        }
        text
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    let counted = records.iter().filter(|record| record.events.is_some()).count();
    if counted > 0 {
        eprintln!(
            "note: {counted} trials of instrumented builds were counted, not timed; the report draws \
             their counts, `cargo runner analysis events` prints them"
        );
    }
    Ok(())
}

/// Whether the sweep is an experiment whose result is not time but agreement.
pub(crate) fn is_about_answers(manifest: &Manifest) -> bool {
    manifest.asked.experiment.as_ref().is_some_and(|it| it.figure == Figure::Answers)
}
