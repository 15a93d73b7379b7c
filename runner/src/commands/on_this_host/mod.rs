//! `on-this-host`: everything that others want to know of a host, in one command that goes on where
//! it was ended.

mod plans;
mod send;
mod steps;
mod work;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;

use crate::host::Host;
use crate::kit::personal::Personal;
use crate::kit::record::{Done, Record, Step};
use crate::kit::threads::Threads;
use crate::options::folder;
use crate::options::project::Project;
use crate::stop::{Exit, Stop};
use crate::system::interrupt;
use crate::system::python::Python;
use crate::text::table::print;
use crate::text::words::human;

use plans::Plans;
use work::{Work, begun};

/// Text that `--help` prints below the options.
pub(crate) const HELP: &str = "\
Examines this host, measures its prices, predicts it by simulation, measures the programs of the study, a part of
`classics`, and what was predicted, draws all of it, and packs it into one file: results/hosts/HOST.tar.zst. It tells first
what it will do and for how long. Let nothing else run meanwhile. After Ctrl-C or a reboot, the same command goes on.

The file has no name of a person or of the machine in it, and no path. Send it to this laboratory, where
`cargo runner merge FILE` adds your host to the findings.

Examples:
  cargo runner on-this-host --plan         what it would do, and for how long
  cargo runner on-this-host --quick        the same with tiny sizes, to try it out first; its times mean nothing
  cargo runner on-this-host                all of it, in about an hour

Needs Python 3.11 or newer.

Exit codes:
  0 all good · 1 some trials failed · 2 bad input · 3 build failed · 4 host not fit · 130 interrupted";

/// Arguments of `on-this-host`.
#[derive(Debug, Args)]
pub(crate) struct OnThisHostArgs {
    /// Say what would be done, and for how long; do nothing
    #[arg(long)]
    plan: bool,
    /// Make everything tiny, and keep it in results/quick
    #[arg(long)]
    quick: bool,
    /// Start over, even if an earlier call could be continued
    #[arg(long)]
    new: bool,
    /// A name of yours or of this machine that may be sent, because it is an ordinary word; may be
    /// repeated
    #[arg(long = "allow-word", value_name = "WORD")]
    allowed: Vec<String>,
    /// Folder of results [default: results, with --quick results/quick]
    #[arg(long, value_name = "DIR", value_parser = folder)]
    output: Option<PathBuf>,
}

pub(crate) fn run(project: &Project, arguments: &OnThisHostArgs) -> Result<Exit> {
    let host = Host::default();
    let default = if arguments.quick {
        "results/quick"
    } else {
        "results"
    };
    let default = project.checkout.root().join(default);
    let results = arguments.output.clone().unwrap_or(default);
    let folder = results.join("this-host").join(host.id());
    let earlier = if arguments.new {
        None
    } else {
        Record::read(&folder)?
    };
    let record = match earlier {
        Some(record) => record,
        None => begun(project, &host, arguments.quick),
    };
    let threads = Threads::of(record.cores, record.cpus);
    let plans = Plans::new(&results, &threads, record.is_quick);
    let personal = Personal::of_this_host(project.checkout.root(), &arguments.allowed);
    let work = Work {
        project,
        results,
        folder,
        plans,
        personal,
        record,
    };
    work.check(arguments.quick)?;
    print(&work.text())?;
    if arguments.plan {
        return Ok(Exit::Good);
    }
    if work.record.steps.is_empty() {
        work.record.write(&work.folder)?;
    }
    interrupt::install()?;
    work.go()
}

impl Work<'_> {
    fn go(mut self) -> Result<Exit> {
        // Before an hour goes by: without Python nothing is compared or drawn.
        Python::set_up(self.project.checkout.root())?;
        let mut failed = false;
        for step in self.left().collect::<Vec<_>>() {
            let number = 1 + Step::ALL
                .iter()
                .position(|it| *it == step)
                .unwrap_or_default();
            let says = plans::says(step);
            tell!(
                "\n[{number} of {}] {}: {says}",
                Step::ALL.len(),
                step.name()
            );
            let started = Instant::now();
            let (made, exit) = self.step(step).inspect_err(|_| {
                tell!(
                    "\nwhat is done is kept; the same command goes on with `{}`",
                    step.name()
                );
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
            self.record.write(&self.folder)?;
            if interrupt::is_requested() {
                return Err(
                    Stop::Interrupted("interrupted; the same command goes on".to_owned()).into(),
                );
            }
        }
        let took: u64 = self.record.steps.iter().map(|done| done.seconds).sum();
        tell!(
            "\nall steps are done; they took {}",
            human(std::time::Duration::from_secs(took))
        );
        self.pack()?;
        Ok(if failed {
            Exit::TrialsFailed
        } else {
            Exit::Good
        })
    }
}
