//! `show`: the table of a sweep, also printed at the end of `sweep`.

use std::io::Write as _;

use anyhow::Result;

use super::Place;
use crate::cli::ShowArgs;
use crate::judgement;
use crate::manifest::Manifest;
use crate::stop::Exit;
use crate::summary::{self, Row, Summary};
use crate::sweep_dir::SweepDir;
use crate::table::{Format, Look};

pub(crate) fn run(place: &Place, arguments: &ShowArgs) -> Result<Exit> {
    let parent = place.sweeps(arguments.output.as_deref());
    let sweep = SweepDir::find(&place.checkout, &parent, &arguments.sweep)?;
    let manifest = sweep.manifest()?;
    let summary = summarized(&sweep, &manifest)?;
    let table = Table::of(place, &sweep, &manifest, &summary, arguments.format)?;
    std::io::stdout().lock().write_all(table.text.as_bytes())?;
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

/// What is printed of a sweep.
pub(crate) struct Table {
    /// Ends with a line end; with what the analysis says, unless it is data.
    pub(crate) text: String,
    /// What the analysis says; `None` as well where nobody asked.
    pub(crate) judgement: Option<String>,
    /// Its rows; none of an experiment about answers.
    pub(crate) rows: Vec<Row>,
}

impl Table {
    /// The table for standard output, coloured for a terminal unless `NO_COLOR` is set.
    pub(crate) fn of(
        place: &Place,
        sweep: &SweepDir,
        manifest: &Manifest,
        summary: &Summary,
        format: Format,
    ) -> Result<Self> {
        let asked = &manifest.asked;
        if asked.is_about_answers() {
            let text = summary::answers_table(&summary.agreements(), format)?;
            return Ok(Self { text, judgement: None, rows: Vec::new() });
        }
        let look = Look::of_stdout();
        let rows = summary.rows();
        let mut text = summary::table(asked, &rows, format, look)?;
        let foot = || summary::foot(asked, &summary.conditions(), manifest.settle_ms);
        match format {
            Format::Table => text.extend(["\n", &foot()]),
            Format::Markdown => text.extend(["\n```text\n", &foot(), "```\n"]),
            Format::Json | Format::Csv => {}
        }
        // Rows alone have no place for it, and it takes seconds.
        let judgement = if format == Format::Csv || (format == Format::Json && !manifest.is_ad_hoc)
        {
            None
        } else {
            judgement::of(
                place.checkout.root(),
                sweep,
                asked,
                look.columns,
                &place.reference_to(sweep),
            )
        };
        if let (Some(judgement), Format::Table | Format::Markdown) = (&judgement, format) {
            text.extend(["\n", judgement, "\n"]);
        }
        if summary.counted() > 0 {
            eprintln!(
                "note: {} trials of instrumented builds were counted, not timed; the report draws their counts, \
                 `cargo runner analysis events` prints them",
                summary.counted()
            );
        }
        Ok(Self { text, judgement, rows })
    }
}
