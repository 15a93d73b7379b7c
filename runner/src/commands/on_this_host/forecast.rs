//! How long each step will take, told before the first one.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;

use super::plans::{self, DRAWN};
use super::work::Work;
use crate::builds::Builder;
use crate::catalogue::Programs;
use crate::commands::validate::{self, COUNTED};
use crate::config::Branch;
use crate::estimate::Past;
use crate::host::Host;
use crate::kit::record::{Record, Step};
use crate::machines;
use crate::options::meaning::{asked, builds};
use crate::plan::{self, Asked, Plan};
use crate::progress::{count, human};
use crate::sweep_dir::SweepDir;
use crate::table::{Column, Format, Terminal, TextTable};

/// What the doctor takes, most of it to let threads work in ticks.
const DOCTOR: Duration = Duration::from_secs(4);

/// What the calibration takes apart from its builds; measured once on 2 virtual CPUs.
const CALIBRATION: Duration = Duration::from_secs(30);

/// What the page of a sweep takes; measured once on 2 virtual CPUs.
const PAGE: Duration = Duration::from_secs(25);

/// What the comparison with the prediction takes; measured once on 2 virtual CPUs.
const COMPARISON: Duration = Duration::from_secs(10);

/// What it takes to install the libraries of the analysis.
const LIBRARIES: Duration = Duration::from_mins(1);

/// What an iteration of `validation` takes on the host that simulates few threads; measured once on 2 virtual CPUs.
const SIMULATED: Duration = Duration::from_millis(140);

/// Pools of more simulated threads take as much longer as the square of this many of them: measured from 16 to 64.
const CHEAP_THREADS: f64 = 16.0;

/// A step that is left, or what has to be there before.
struct Row {
    name: &'static str,
    says: String,
    threads: String,
    trials: Option<usize>,
    time: Duration,
}

/// All that is left.
pub(super) struct Forecast {
    rows: Vec<Row>,
}

/// What is left to be done takes so long.
pub(super) fn of(work: &Work<'_>) -> Result<Forecast> {
    let report = if work.record.is_quick { PAGE / 4 } else { DRAWN.map(|_| PAGE).iter().sum() };
    let calibration = if work.record.is_quick { CALIBRATION / 3 } else { CALIBRATION };
    let mut rows = Vec::new();
    let mut all = Builds::default();
    // Both have the same cells, and what is left out of them is told once.
    let mut validation = None;
    for step in work.left() {
        let (trials, time, threads) = match step {
            Step::Doctor => (None, DOCTOR, String::new()),
            Step::Calibrate => {
                let baseline = machines_baseline(work)?;
                for is_simulated in [false, true] {
                    all.add((is_simulated, Programs::Workloads), 1, baseline.clone());
                }
                (None, calibration, String::new())
            }
            Step::Report => (None, report, String::new()),
            Step::Predict | Step::Validate | Step::Study | Step::Classics => {
                let known = if step == Step::Validate { validation.take() } else { None };
                let (asked, branches) = known.map_or_else(|| sweep(work, step), Ok)?;
                if step == Step::Predict {
                    validation = Some((asked.clone(), branches.clone()));
                }
                let to_build = builds(&asked, &branches);
                let sources = to_build.iter().map(|it| (it.name.clone(), it.source.to_string()));
                let plan = plan::order(&asked, &sources.collect());
                let time = if step == Step::Predict {
                    simulating(&asked, &plan)
                } else {
                    measuring(work, &asked, &plan)
                };
                let time = if step == Step::Validate { time + COMPARISON } else { time };
                let layouts = if step == Step::Predict { 1 } else { asked.layouts };
                all.add((step == Step::Predict, asked.programs()), layouts, to_build);
                let threads = asked.threads.iter().map(usize::to_string).collect::<Vec<_>>();
                (Some(plan.len()), time, threads.join(" "))
            }
        };
        let says = plans::says(step)[0].to_owned();
        rows.push(Row { name: step.name(), says, threads, trials, time });
    }
    if !rows.is_empty() {
        let says = format!("{}, when needed", count(all.0.len(), "build", "builds"));
        rows.push(Row {
            name: "builds",
            says,
            threads: String::new(),
            trials: None,
            time: all.time(),
        });
        if !work.project.checkout.root().join(".venv/requirements.sha256").is_file() {
            let says = "of Python, in .venv".to_owned();
            rows.push(Row {
                name: "libraries",
                says,
                threads: String::new(),
                trials: None,
                time: LIBRARIES,
            });
        }
    }
    Ok(Forecast { rows })
}

/// What the sweep of a step is asked; a prediction as what is measured afterwards, since it has the same cells and the
/// host's prices are not known yet.
fn sweep(work: &Work<'_>, step: Step) -> Result<(Asked, Vec<Branch>)> {
    let mut arguments = work.plans.sweep(step)?;
    if matches!(step, Step::Study | Step::Classics) {
        return asked(work.project, None, &arguments.selection);
    }
    let config = validate::branches(work.project, &arguments)?;
    arguments.selection.instrument = Some(COUNTED);
    asked(work.project, Some(&config), &arguments.selection)
}

fn machines_baseline(work: &Work<'_>) -> Result<Vec<Branch>> {
    let all = work.project.config()?.branches;
    Ok(all.into_iter().filter(|it| it.name == machines::BASELINE).collect())
}

fn measuring(work: &Work<'_>, asked: &Asked, plan: &Plan) -> Duration {
    let mut sweeps = SweepDir::all(&work.project.checkout.sweeps());
    let own = work.results.join("sweeps");
    if own != work.project.checkout.sweeps() {
        sweeps.extend(SweepDir::all(&own));
    }
    Past::read(&sweeps, &Host::default().id(), asked).estimate(asked, plan).time
}

fn simulating(asked: &Asked, plan: &Plan) -> Duration {
    let is_tiny = asked.workloads.iter().all(|load| load.size == "tiny");
    let each = if is_tiny { SIMULATED / 10 } else { SIMULATED } * asked.iterations;
    let all = plan.trials_by_kind().into_iter().map(|(kind, trials)| {
        let crowd = kind.threads as f64 / CHEAP_THREADS;
        each.mul_f64(trials as f64 * (1.0 + crowd * crowd))
    });
    all.sum::<Duration>().div_f64(Host::usable_cpus() as f64)
}

/// Whether a build is simulated, and which programs it has.
type Kind = (bool, Programs);

/// Builds by kind and name, with the layouts that the sweep with most of them wants.
#[derive(Default)]
struct Builds(BTreeMap<(Kind, String), u32>);

impl Builds {
    fn add(&mut self, kind: Kind, layouts: u32, branches: Vec<Branch>) {
        for branch in branches {
            let build = self.0.entry((kind, branch.name)).or_insert(1);
            *build = layouts.max(*build);
        }
    }

    /// How long they take together.
    fn time(&self) -> Duration {
        let layouts = self.0.values().sum::<u32>();
        let builds = self.0.len();
        Builder::guess(builds, layouts / u32::try_from(builds.max(1)).unwrap_or(u32::MAX))
    }
}

impl Forecast {
    pub(super) fn total(&self) -> Duration {
        self.rows.iter().map(|row| row.time).sum()
    }

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
        if self.rows.is_empty() {
            return text;
        }
        let mut table = TextTable::new([
            Column::text("step"),
            Column::text("what"),
            Column::text("threads"),
            Column::number("trials"),
            Column::number("time"),
        ]);
        for row in &self.rows {
            let trials = row.trials.map_or(String::new(), |trials| trials.to_string());
            let words = [row.name.to_owned(), row.says.clone(), row.threads.clone()];
            table.push(words.into_iter().chain([trials, human(row.time)]), None);
        }
        text.push('\n');
        text += &table.text(Format::Table, Terminal::of_stdout());
        text + &format!("\nin all about {}, if nothing else runs here\n", human(self.total()))
    }
}
