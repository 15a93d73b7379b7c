//! `on-this-host`: measures what the project collects from each host, in one command that continues
//! where it was interrupted.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::bundle::{self, Done, ENDING, Record, Step};
use crate::commands::analysis;
use crate::commands::calibrate::{self, Precision};
use crate::commands::doctor;
use crate::commands::sweep::{self, SweepArgs, SweepCommand};
use crate::commands::validate::{self, EXPERIMENT, ValidateArgs};
use crate::host::Host;
use crate::host::here;
use crate::options::meaning::asked;
use crate::options::{Project, selection};
use crate::plan::machines;
use crate::record::manifest::Manifest;
use crate::record::sweep_dir::SweepDir;
use crate::stop::{Exit, Stop};
use crate::system::interrupt;
use crate::system::python::Python;
use crate::system::whole_file;
use crate::text::output::print;
use crate::text::words::{count, human, moment};

pub(crate) const HELP: &str = "\
Runs the doctor, measures the cost parameters of this host, predicts its times by simulation, sweeps the experiments \
`host-study` and `host-classics`, and measures what was predicted. With 16 cores or more it also tests the registered \
predictions (results/predictions). Then it packs results/hosts/HOST and these sweeps into \
results/hosts/HOST.tar.zst. First it prints what it will do. Let nothing else run meanwhile. After Ctrl-C or a reboot, \
the same command continues.

Sweeps contain no path of your folders, and only those kernel options that change times. Read the files listed at the \
end before you send them. `cargo runner merge FILE` adds the host to another checkout.

Examples:
  cargo runner on-this-host --plan         print the steps
  cargo runner on-this-host --quick        all steps with tiny sizes, to try it out; the times mean nothing
  cargo runner on-this-host                all steps, in about an hour

Needs Python 3.11 or newer.";

#[derive(Debug, Args)]
pub(crate) struct OnThisHostArgs {
    /// Print the steps; run nothing
    #[arg(long)]
    plan: bool,
    /// Use tiny sizes, and write to results/quick
    #[arg(long)]
    quick: bool,
    /// Folder of results [default: results, with --quick results/quick]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

const COMMAND: &str = "on-this-host";

const STEPS: &[(Step, &str, &str)] = &[
    (
        Step::Doctor,
        "doctor",
        "conditions that make times on this host doubtful",
    ),
    (
        Step::Calibrate,
        "calibrate",
        "cost parameters of this host, for the simulated machine `here`",
    ),
    (
        Step::Predict,
        "predict",
        "predicted times of `validation`, saved before any is measured",
    ),
    (
        Step::Study,
        "study",
        "the programs of the 2022 study on every branch",
    ),
    (
        Step::Classics,
        "classics",
        "small programs with different demands on a pool; `champion` is among the branches",
    ),
    (
        Step::Predictions,
        PREDICTIONS,
        "registered predictions (results/predictions): hit or miss, in half an hour",
    ),
    (
        Step::Validate,
        "validate",
        "measured times of `validation`, and the prediction accuracy",
    ),
];

const PREDICTIONS: &str = "predictions";

/// No registered prediction is about fewer cores.
const FEWEST_CORES: usize = 16;

/// The most threads of a pool that this command simulates. With more threads, simulating one
/// iteration takes seconds.
const MOST_SIMULATED: usize = 64;

/// Options of every sweep of a call with `--quick`: one build of one branch.
const QUICK: [&str; 6] = [
    "--size=tiny",
    "--trials=2",
    "--iterations=1",
    "--layouts=1",
    "--branches=packed",
    "--workloads=quicksort,packets",
];

struct Work<'a> {
    project: &'a Project,
    results: PathBuf,
    record: Record,
}

pub(crate) fn run(project: &Project, arguments: &OnThisHostArgs) -> Result<Exit> {
    let now = begun(project, arguments.quick);
    let default = if arguments.quick {
        "results/quick"
    } else {
        "results"
    };
    let default = project.checkout.root().join(default);
    let results = arguments.output.clone().unwrap_or(default);
    let own = results.join("hosts").join(&now.host);
    let record = Record::read(&own)?.unwrap_or_else(|| now.clone());
    let work = Work {
        project,
        results,
        record,
    };
    work.check(&now)?;
    print(&work.text())?;
    if arguments.plan {
        return Ok(Exit::Good);
    }
    work.record.write(&own)?;
    interrupt::install()?;
    work.go()
}

fn begun(project: &Project, is_quick: bool) -> Record {
    let host = Host::default();
    let cpu = host.cpu_field("model name");
    Record {
        schema: protocol::SCHEMA,
        host: host.id(),
        cpu: cpu.unwrap_or_else(|_| "an unknown processor".to_owned()),
        cores: here::cpus(&host).len(),
        cpus: Host::usable_cpus(),
        is_virtual: host.is_virtual().ok(),
        is_quick,
        begun_at: moment(SystemTime::now()),
        checkout: project.checkout.commit(),
        steps: Vec::new(),
    }
}

/// Returns the steps that a host with so many cores can do.
fn steps(cores: usize) -> impl Iterator<Item = &'static (Step, &'static str, &'static str)> {
    let is_possible = move |it: &&(Step, _, _)| cores >= FEWEST_CORES || it.0 != Step::Predictions;
    STEPS.iter().filter(is_possible)
}

fn is_good(analysed: Exit) -> Result<()> {
    if analysed == Exit::Good {
        return Ok(());
    }
    bail!(Stop::HostNotFit(format!(
        "the analysis ended with {}; see above. The measurements are kept",
        analysed.code()
    )))
}

impl Work<'_> {
    /// Refuses to continue a call that differs in `--quick`, in the commit or in the number of
    /// CPUs, unless all steps are done.
    fn check(&self, now: &Record) -> Result<()> {
        let describe = |record: &Record| {
            let size = if record.is_quick { "with" } else { "without" };
            let commit = record.checkout.commit.as_deref().unwrap_or("no commit");
            let cpus = count(record.cpus, "CPU", "CPUs");
            format!("{size} `--quick`, at commit {commit}, on {cpus}")
        };
        let is_done = self.left().next().is_none() && self.record.is_quick == now.is_quick;
        let (before, now) = (describe(&self.record), describe(now));
        if is_done || before == now {
            return Ok(());
        }
        bail!(Stop::BadInput(format!(
            "{}: it was begun {before}, and this call is {now}; repeat that call, or remove this folder to begin anew",
            self.project.checkout.shown(&self.own())
        )))
    }

    fn own(&self) -> PathBuf {
        self.results.join("hosts").join(&self.record.host)
    }

    fn left(&self) -> impl Iterator<Item = &'static (Step, &'static str, &'static str)> {
        let is_left = |it: &&(Step, _, _)| self.record.made(it.0).is_none();
        steps(self.record.cores).filter(is_left)
    }

    fn text(&self) -> String {
        let Record {
            host,
            cpu,
            cores,
            cpus,
            steps,
            ..
        } = &self.record;
        let (cores, cpus) = (count(*cores, "core", "cores"), count(*cpus, "CPU", "CPUs"));
        let mut text = format!("host {host}: {cpu}; {cores}, {cpus}\n");
        if !steps.is_empty() {
            let is_done = |it: &&(Step, &str, _)| self.record.made(it.0).is_some();
            let done: Vec<&str> = STEPS.iter().filter(is_done).map(|it| it.1).collect();
            text.extend(["done already: ", &done.join(", "), "\n"]);
        }
        text.extend(
            self.left()
                .map(|(_, name, says)| format!("{name:<12}{says}\n")),
        );
        let has_cores = self.record.cores >= FEWEST_CORES;
        if !has_cores {
            let has = self.record.cores;
            let why = format!("left out: needs {FEWEST_CORES} cores; this host has {has}");
            text.extend([format!("{PREDICTIONS:<12}{why}\n")]);
        }
        if self.record.is_quick {
            text += "--quick: takes some minutes; the times mean nothing\n";
        } else if steps.is_empty() {
            let hours = if has_cores {
                "an hour and a half"
            } else {
                "an hour"
            };
            text.extend([
                "about ",
                hours,
                " in all, including builds, if nothing else runs\n",
            ]);
        }
        text
    }

    fn go(mut self) -> Result<Exit> {
        // Python is set up first. If the set-up failed only at the comparison, an hour would have
        // passed.
        Python::set_up(self.project.checkout.root())?;
        let mut failed = false;
        for &(step, name, says) in self.left().collect::<Vec<_>>() {
            let possible = || steps(self.record.cores);
            let number = 1 + possible().take_while(|it| it.0 != step).count();
            let of = possible().count();
            tell!("\n[{number} of {of}] {name}: {says}");
            let started = Instant::now();
            let (made, exit) = self.step(step).inspect_err(|_| {
                tell!("\nfinished steps are kept; the same command continues with `{name}`");
            })?;
            failed |= exit == Exit::TrialsFailed;
            if !matches!(exit, Exit::Good | Exit::TrialsFailed) {
                return Ok(exit);
            }
            let seconds = started.elapsed().as_secs();
            self.record.steps.push(Done {
                step,
                made,
                seconds,
            });
            self.record.write(&self.own())?;
            if interrupt::is_requested() {
                bail!(Stop::Interrupted(
                    "interrupted; the same command continues from here".to_owned()
                ));
            }
        }
        let took = self.record.steps.iter().map(|done| done.seconds).sum();
        tell!(
            "\nall steps are done; they took {}",
            human(Duration::from_secs(took))
        );
        self.pack()?;
        Ok(if failed {
            Exit::TrialsFailed
        } else {
            Exit::Good
        })
    }

    fn step(&self, step: Step) -> Result<(String, Exit)> {
        match step {
            Step::Doctor => self.doctor(),
            Step::Calibrate => self.calibrate(),
            Step::Predict => {
                let validation = ValidateArgs {
                    keep_prices: true,
                    new: false,
                    sweep: self.validation()?,
                };
                let (sweep, exit) = validate::predict(self.project, &validation)?;
                Ok((sweep.name(), exit))
            }
            Step::Study => self.sweep("host-study", 2 * self.record.cpus),
            Step::Classics => self.sweep("host-classics", 2 * self.record.cpus),
            Step::Predictions => self.predictions(),
            Step::Validate => self.validate(),
            Step::Report => bail!("no step of this runner draws pages"),
        }
    }

    fn doctor(&self) -> Result<(String, Exit)> {
        let diagnosis = doctor::diagnose(&Host::default());
        print(&diagnosis.to_string())?;
        if !diagnosis.is_fit() {
            tell!("note: the doctor's findings become part of the results; continuing");
        }
        let text = serde_json::to_string_pretty(&diagnosis)? + "\n";
        let text = self.project.checkout.without_folders(&text);
        self.keep("doctor.json", text.as_bytes())?;
        Ok(("doctor.json".to_owned(), Exit::Good))
    }

    fn calibrate(&self) -> Result<(String, Exit)> {
        let care = if self.record.is_quick {
            Precision::QUICK
        } else {
            Precision::WHOLE
        };
        calibrate::here(self.project, care)?;
        let root = self.project.checkout.root();
        for (name, path) in [
            ("here.toml", machines::file(root, here::NAME)),
            ("charges-here.toml", machines::charges_here(root)),
        ] {
            let text = fs::read(&path);
            let text = text.with_context(|| format!("{} cannot be read", path.display()))?;
            self.keep(name, &text)?;
        }
        Ok(("here.toml charges-here.toml".to_owned(), Exit::Good))
    }

    fn keep(&self, name: &str, text: &[u8]) -> Result<()> {
        let path = self.own().join(name);
        whole_file::write(&path, |file| file.write_all(text))
            .with_context(|| format!("{} cannot be written", path.display()))
    }

    fn options(&self, experiment: &str, most_threads: usize) -> Result<SweepArgs> {
        let known = selection::read(self.project.checkout.root())?.experiments;
        let row = selection::find(known, "experiment", experiment)?;
        let fits = |word: &&str| !word.parse().is_ok_and(|count: usize| count > most_threads);
        let threads = row.threads.unwrap_or_default();
        let threads: Vec<&str> = threads.split(',').filter(fits).collect();
        let mut words = vec![
            format!("--threads={}", threads.join(",")),
            format!("--output={}", self.results.join("sweeps").display()),
        ];
        if experiment != EXPERIMENT {
            words.push(format!("--experiment={experiment}"));
        }
        if self.record.is_quick {
            words.extend(QUICK.map(str::to_owned));
        }
        SweepArgs::of(&words)
    }

    /// Returns the options of `validate`. More threads than cores would only make simulations
    /// longer.
    fn validation(&self) -> Result<SweepArgs> {
        self.options(EXPERIMENT, self.record.cores.min(MOST_SIMULATED))
    }

    fn sweep(&self, experiment: &str, most_threads: usize) -> Result<(String, Exit)> {
        let mut arguments = self.options(experiment, most_threads)?;
        let (wanted, _) = asked(self.project, None, &arguments.selection)?;
        let is_it = |manifest: &Manifest| {
            manifest.asked == wanted
                && manifest.host == self.record.host
                && manifest.shards.is_empty()
                && manifest.created_at > self.record.begun_at
        };
        let newest = || SweepDir::newest(&self.results.join("sweeps"), is_it);
        arguments.resume = newest().map(|sweep| self.project.reference_to(&sweep));
        let command = SweepCommand::going_on(COMMAND, None);
        let exit = sweep::run_for(self.project, &arguments, &command)?;
        let sweep = newest().context("the sweep that just ran cannot be found")?;
        Ok((sweep.name(), exit))
    }

    fn predictions(&self) -> Result<(String, Exit)> {
        let (sweep, exit) = self.sweep(PREDICTIONS, self.record.cpus)?;
        if matches!(exit, Exit::Good | Exit::TrialsFailed) {
            let python = Python::set_up(self.project.checkout.root())?;
            let mut command = python.module("sweep_analysis");
            let path = self.results.join("sweeps").join(&sweep);
            command.arg("table").arg(path).arg(PREDICTIONS);
            is_good(analysis::wait(command.args(["--format", "md"]))?)?;
        }
        Ok((sweep, exit))
    }

    fn validate(&self) -> Result<(String, Exit)> {
        let predicted = self.record.made(Step::Predict);
        let predicted = predicted.context("the step `predict` left no sweep")?;
        let sweeps = self.results.join("sweeps");
        let predicted = SweepDir::find(&self.project.checkout, &sweeps, predicted)?;
        let (sweep, exit) = validate::measure(self.project, &self.validation()?, &predicted)?;
        // The comparison leaves out configurations whose trials failed.
        if matches!(exit, Exit::Good | Exit::TrialsFailed) {
            is_good(validate::compare(self.project, &predicted, &sweep)?)?;
        }
        Ok((sweep.name(), exit))
    }

    fn pack(&self) -> Result<()> {
        let path = self.own().with_extension(ENDING.trim_start_matches('.'));
        let files = bundle::files(&self.results, &self.record)?;
        bundle::write(&path, &self.results, &files)?;
        let shown = self.project.checkout.shown(&path);
        let mut text = format!("\nin {shown}:\n{}", bundle::listed(&files));
        text += "Read these files before you send them: their contents become public.\n";
        if self.record.is_quick {
            text += "this call had --quick; `cargo runner on-this-host` measures\n";
        } else {
            text += "To send it, attach it to an issue or a pull request (CONTRIBUTING.md, \"Send us your host\").\n\
                     In this checkout, `cargo runner analysis statements --write` adds this host to the findings.\n";
        }
        print(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_predictions_are_a_step_of_hosts_with_enough_cores_only() {
        let names = |cores| steps(cores).map(|it| it.1).collect::<Vec<_>>();
        let few = names(FEWEST_CORES - 1);
        assert_eq!(few.len(), 6);
        assert!(!few.contains(&PREDICTIONS));
        let many = names(FEWEST_CORES);
        let without: Vec<_> = many
            .iter()
            .filter(|it| **it != PREDICTIONS)
            .copied()
            .collect();
        assert_eq!(many.len(), 7);
        assert_eq!(without, few);
    }
}
