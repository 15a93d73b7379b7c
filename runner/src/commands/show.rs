//! `show`: the table of a sweep, also printed at the end of `sweep`; or what a recording tells.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use super::record;
use crate::options::folder;
use crate::options::project::Project;
use crate::record::manifest::Manifest;
use crate::record::sweep_dir::SweepDir;
use crate::record::trials_file::BrokenLine;
use crate::report::judgement;
use crate::report::summary::{self, Row, Summary};
use crate::report::table::{Format, Terminal, print};
use crate::run::progress::count;
use crate::stop::{Exit, Stop};

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A name or the beginning of one, a path, or `latest`; or the file of a recording
    #[arg(default_value = "latest")]
    sweep: String,
    /// Of a recording: a file to write for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Folder that holds the sweeps [default: results/sweeps]
    #[arg(long, value_name = "DIR", value_parser = folder)]
    output: Option<PathBuf>,
}

/// What `--help` says below the options.
pub(crate) const HELP: &str = "\
Examples:
  cargo runner show latest --format csv > table.csv
  cargo runner show my-program.recording.zst --timeline timeline.json";

/// A recording is shown anywhere; sweeps are in the checkout at `place`.
pub(crate) fn run(place: impl FnOnce() -> Result<Project>, arguments: &ShowArgs) -> Result<Exit> {
    let file = Path::new(&arguments.sweep);
    if is_recording(file) {
        if let Some(output) = &arguments.output {
            bail!(Stop::BadInput(format!(
                "--output {}: it names a folder of sweeps, and {} is a file, so a recording; leave it out",
                output.display(),
                arguments.sweep
            )));
        }
        return record::show::run(file, arguments.timeline.as_deref(), arguments.format);
    }
    if let Some(timeline) = &arguments.timeline {
        bail!(Stop::BadInput(format!(
            "--timeline {}: only a recording has one, and {} is no file; name the file of a recording",
            timeline.display(),
            arguments.sweep
        )));
    }
    let project = &place()?;
    let parent = project.sweeps(arguments.output.as_deref());
    let sweep = SweepDir::find(&project.checkout, &parent, &arguments.sweep)?;
    let manifest = sweep.manifest()?;
    let summary = summarized(&sweep, &manifest, Broken::LeftOut)?;
    let mut table = Table::of(&sweep, &manifest, &summary, arguments.format)?;
    // What is known at once is not kept back while Python is set up.
    print(&table.text)?;
    print(&table.judge(project))?;
    if summary.trials < manifest.trials_planned {
        let remedy = if manifest.shards.is_empty() {
            format!(
                "`cargo runner sweep --resume {}` runs the others",
                project.reference_to(&sweep)
            )
        } else {
            "finish the shards and merge them again".to_owned()
        };
        tell!(
            "note: {} of {} trials; {remedy}",
            summary.trials,
            manifest.trials_planned
        );
    }
    Ok(Exit::Good)
}

/// Sweeps are folders, so what is a file, or is called like one that is not there, is a recording.
fn is_recording(file: &Path) -> bool {
    let is_there = file != Path::new("latest") && fs::metadata(file).is_ok_and(|it| !it.is_dir());
    is_there || file.extension().is_some_and(|it| it == "zst")
}

/// What to do about lines that are no records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The others can be shown.
    LeftOut,
    /// What is added to would end up with them in its middle.
    Refused,
}

/// What the tables need of a sweep's records.
pub(crate) fn summarized(sweep: &SweepDir, manifest: &Manifest, which: Broken) -> Result<Summary> {
    /// At most so many broken lines are reported one by one.
    const TOLD: usize = 3;
    let mut summary = Summary::new(&manifest.asked);
    let planned = manifest.planned();
    let mut broken = 0;
    for record in sweep.records()? {
        let record = match record {
            Err(error) if error.is::<BrokenLine>() => {
                if which == Broken::Refused {
                    bail!(Stop::BadInput(format!(
                        "{error}; `cargo runner repair {}` sets such lines aside, then resume",
                        sweep.path().display()
                    )));
                }
                broken += 1;
                if broken <= TOLD {
                    tell!("warning: {error}");
                }
                continue;
            }
            other => other?,
        };
        if !manifest.knows(&record)
            || planned
                .as_ref()
                .is_some_and(|ids| !ids.contains(&record.trial))
        {
            bail!(Stop::BadInput(format!(
                "{}: trial {} of branch `{}` on {} is not part of the plan in manifest.json; trials of other \
                 sweeps cannot be added by hand",
                sweep.trials().display(),
                record.trial,
                record.branch,
                record.workload
            )));
        }
        summary.add(&record);
    }
    if broken > 0 {
        tell!(
            "WARNING: {} of {} {} no record and left out; `cargo runner repair {}` sets such lines aside",
            count(broken, "line", "lines"),
            sweep.trials().display(),
            if broken == 1 { "is" } else { "are" },
            sweep.path().display()
        );
    }
    Ok(summary)
}

/// What is printed of a sweep.
pub(crate) struct Table<'a> {
    sweep: &'a SweepDir,
    manifest: &'a Manifest,
    format: Format,
    look: Terminal,
    /// Ends with a line end.
    pub(crate) text: String,
    /// What the analysis says, once it was asked; `None` as well where it has nothing to say.
    pub(crate) judgement: Option<String>,
    /// Its rows; none of an experiment about answers.
    pub(crate) rows: Vec<Row>,
}

impl<'a> Table<'a> {
    /// The table for standard output, coloured for a terminal unless `NO_COLOR` is set.
    pub(crate) fn of(
        sweep: &'a SweepDir,
        manifest: &'a Manifest,
        summary: &Summary,
        format: Format,
    ) -> Result<Self> {
        let asked = &manifest.asked;
        let look = Terminal::of_stdout();
        let table = |text, rows| Self {
            sweep,
            manifest,
            format,
            look,
            text,
            judgement: None,
            rows,
        };
        if asked.is_about_answers() {
            let text = summary::answers_table(&summary.agreements(), format)?;
            return Ok(table(text, Vec::new()));
        }
        let rows = summary.rows();
        let mut text = summary::table(asked, &rows, format, look)?;
        let foot = || summary::foot(asked, &summary.conditions, manifest.settle_ms);
        match format {
            Format::Table => text.extend(["\n", &foot()]),
            Format::Markdown => text.extend(["\n```text\n", &foot(), "```\n"]),
            Format::Json | Format::Csv => {}
        }
        if summary.counted > 0 {
            tell!(
                "note: {} trials of instrumented builds were counted, not timed; the report draws their counts, \
                 `cargo runner analysis table SWEEP events` prints them",
                summary.counted
            );
        }
        Ok(table(text, rows))
    }

    /// Asks the analysis, which takes seconds, or minutes where Python is not set up. Gives what
    /// comes below the text: nothing, where that is data.
    pub(crate) fn judge(&mut self, project: &Project) -> String {
        // Rows alone have no place for it.
        let is_wanted = match self.format {
            Format::Table | Format::Markdown => true,
            Format::Json => self.manifest.is_ad_hoc,
            Format::Csv => false,
        };
        if !is_wanted {
            return String::new();
        }
        let judgement = judgement::of(
            project.checkout.root(),
            self.sweep,
            &self.manifest.asked,
            self.look.columns,
            &project.reference_to(self.sweep),
        );
        self.judgement = judgement;
        let below = self
            .judgement
            .as_ref()
            .filter(|_| self.format != Format::Json);
        below.map_or_else(String::new, |text| format!("\n{text}\n"))
    }
}
