//! What is left to be done, and roughly how long it takes, told before the first step.

use std::time::Duration;

use anyhow::Result;
use strum::VariantArray as _;

use super::plans;
use super::work::Work;
use crate::commands::validate::{self, COUNTED};
use crate::kit::record::{Record, Step};
use crate::options::meaning::{asked, builds};
use crate::plan;
use crate::plan::estimate;
use crate::report::table::{Column, Format, Terminal, TextTable};
use crate::run::progress::{count, human};

/// Builds, prices and pages: what they take beside the sweeps, measured once on 2 virtual CPUs; and with tiny sizes.
const REST: [Duration; 2] = [Duration::from_mins(20), Duration::from_mins(4)];

/// All that is left.
pub(super) struct Forecast {
    table: TextTable,
    pub(super) time: Duration,
}

/// What is left to be done takes so long.
pub(super) fn of(work: &Work<'_>) -> Result<Forecast> {
    let columns = [
        Column::text("step"),
        Column::text("what"),
        Column::text("threads"),
        Column::number("trials"),
        Column::number("time"),
    ];
    let mut table = TextTable::new(columns);
    let mut time = REST[usize::from(work.record.is_quick)];
    for step in work.left() {
        let mut cells = [step.name(), plans::says(step)[0], "", "", ""].map(str::to_owned);
        if step.is_sweep() {
            let (threads, trials, takes) = sweep(work, step)?;
            time += takes;
            cells[2] = threads.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
            cells[3..].clone_from_slice(&[trials.to_string(), human(takes)]);
        }
        table.push(cells, None);
    }
    Ok(Forecast { table, time })
}

/// Threads, trials and time of the sweep of a step; of a prediction those of what is measured afterwards, since it has the
/// same cells and the host's prices are not known yet.
fn sweep(work: &Work<'_>, step: Step) -> Result<(Vec<usize>, usize, Duration)> {
    let mut arguments = work.plans.sweep(step)?;
    let mut config = None;
    if matches!(step, Step::Predict | Step::Validate) {
        config = Some(validate::branches(work.project, &arguments)?);
        arguments.selection.instrument = Some(COUNTED);
    }
    let (asked, branches) = asked(work.project, config.as_ref(), &arguments.selection)?;
    let sources = builds(&asked, &branches).into_iter().map(|it| (it.name, it.source.to_string()));
    let plan = plan::order(&asked, &sources.collect());
    Ok((asked.threads.clone(), plan.len(), estimate::of(&asked, &plan)))
}

impl Forecast {
    /// For people.
    pub(super) fn text(&self, record: &Record) -> String {
        let Record { host, cpu, cores, cpus, .. } = record;
        let kind = if record.is_virtual { ", virtual" } else { "" };
        let mut text = format!(
            "host {host}: {cpu}{kind}; {}, {}\n",
            count(*cores, "core", "cores"),
            count(*cpus, "CPU", "CPUs")
        );
        if record.is_quick {
            text += "--quick: sizes are tiny, and times mean nothing\n";
        }
        if !record.steps.is_empty() {
            let done: Vec<&str> = record.steps.iter().map(|done| done.step.name()).collect();
            text.extend(["done already: ", &done.join(", "), "\n"]);
        }
        if record.steps.len() == Step::VARIANTS.len() {
            return text;
        }
        let table = self.table.text(Format::Table, Terminal::of_stdout());
        let all = human(self.time);
        text + &format!(
            "\n{table}\nin all about {all}, builds included, if nothing else runs here\n"
        )
    }
}
