//! `trace`: records one trial of a workload, then shows and draws it as `record` and `show` do.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use protocol::Request;

use super::record::{Recorder, show};
use crate::build::Builder;
use crate::build::binary;
use crate::config::Branch;
use crate::config::catalogue::{self, Programs};
use crate::config::pick::pick;
use crate::options::Project;
use crate::options::selection;
use crate::plan::Load;
use crate::record::Ending;
use crate::run::builds;
use crate::stop::{Exit, Stop};
use crate::system::interrupt;
use crate::system::whole_file;

/// Time limit of a run.
const LIMIT: Duration = Duration::from_mins(1);

/// Arguments of `trace`.
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// A branch of rayon-fork/; other branches cannot record
    #[arg(long, value_name = "NAME")]
    branch: String,
    /// A workload; see `list workloads`
    #[arg(long, value_name = "NAME")]
    workload: String,
    /// Threads of the pool
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: u32,
    /// tiny, small, medium or large
    #[arg(long, default_value = "small")]
    size: String,
    /// NAME=VALUE; may be repeated
    #[arg(long = "parameter", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// Instance file, for workloads that read one
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Timeline to write, with the recording beside it
    /// [default: results/traces/BRANCH-WORKLOAD-SIZE-N-threads.json]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Text that `--help` prints below the options.
pub(crate) const HELP: &str = "\
The run is one iteration, from the start of its pool. It shows what happens, not how long it takes: recording itself takes time.

Example:
  cargo runner trace --branch packed --workload quicksort --threads 2";

pub(crate) fn run(project: &Project, arguments: &TraceArgs) -> Result<Exit> {
    let branch = branch(project, &arguments.branch)?;
    let Some(traced) = branch.recorded() else {
        bail!(Stop::BadInput(format!(
            "--branch {}: {} records nothing; only branches of rayon-fork/ can, for example `packed`",
            branch.name, branch.source
        )));
    };
    let load = load(arguments)?;
    let output = output(project, arguments, &branch, &load);
    // Refuses unwritable files before minutes go into a build.
    let recording = output.with_extension("zst");
    if recording == output {
        bail!(Stop::BadInput(format!(
            "--output {}: the recording beside the timeline gets this name; name the timeline, for example {}",
            output.display(),
            output.with_extension("json").display()
        )));
    }
    let folder = whole_file::folder_of(&output);
    fs::create_dir_all(folder).map_err(|error| {
        let path = output.display();
        Stop::HostNotFit(format!("--output {path}: {error}; choose another file"))
    })?;
    whole_file::check_writable(&output)?;
    interrupt::install()?;
    let folder = project.config_folder()?;
    let builder =
        Builder::new(&project.checkout, &folder, 1)?.with(Programs::with([load.workload.as_str()]));
    let built = builds::all(&builder, std::slice::from_ref(&traced))?;
    let binary = &built[&traced.name].binaries[0];
    let name = format!(
        "{}: {} {}, threads {}",
        branch.name, load.workload, load.size, arguments.threads
    );
    let request = request(arguments, load);
    let recorder = Recorder::begin(recording.clone())?;
    let ended = binary::ask_by(recorder.command(binary), &request, LIMIT);
    let failure = match ended.map(|ended| ended.result) {
        Some(Ok(_)) => {
            if recorder.end(name, "a right answer".to_owned())?.is_none() {
                bail!("a program that ran on its pool recorded nothing")
            }
            tell!("{}", project.checkout.shown(&recording));
            return show::run(&recording, Some(&output));
        }
        Some(Err(failure)) => failure,
        None => {
            bail!(Stop::Interrupted(
                "interrupted; there is no trace".to_owned()
            ))
        }
    };
    if failure.ending == Ending::Refused {
        bail!(Stop::BadInput(failure.reason))
    }
    let tail = failure
        .stderr_tail
        .map(|tail| format!(":\n{tail}"))
        .unwrap_or_default();
    tell!(
        "error: no trace: {}: {}{tail}",
        failure.ending,
        failure.reason
    );
    Ok(Exit::TrialsFailed)
}

fn branch(project: &Project, name: &str) -> Result<Branch> {
    let config = project.config()?;
    let known: Vec<&str> = config
        .branches
        .iter()
        .map(|branch| branch.name.as_str())
        .collect();
    let only = one("--branch", "branch", name, &known)?;
    let found = config.branches.iter().find(|branch| branch.name == only);
    found
        .cloned()
        .context("the picked branch is not in branches.toml")
}

fn load(arguments: &TraceArgs) -> Result<Load> {
    // Whole programs cannot be traced: the runner does not see inside them.
    let known = catalogue::names()
        .into_iter()
        .filter(|name| catalogue::whole(name).is_none());
    let known: Vec<&str> = known.collect();
    let workload = one("--workload", "workload", &arguments.workload, &known)?;
    let input = arguments.input.as_deref();
    let mut loads = selection::loads(workload, &arguments.size, &arguments.parameters, input)?;
    loads.pop().context("the picked workload has no instance")
}

/// Returns the only name of its kind that `text` matches.
fn one<'a>(option: &str, kind: &str, text: &str, known: &[&'a str]) -> Result<&'a str> {
    match pick(option, kind, text, known)?[..] {
        [only] => Ok(only),
        ref several => bail!(Stop::BadInput(format!(
            "{option}: `{text}` matches {}; name exactly one {kind}",
            several.join(", ")
        ))),
    }
}

fn output(project: &Project, arguments: &TraceArgs, branch: &Branch, load: &Load) -> PathBuf {
    arguments.output.clone().unwrap_or_else(|| {
        let Load { workload, size, .. } = load;
        let name = format!(
            "{}-{workload}-{size}-{}-threads.json",
            branch.name, arguments.threads
        );
        project.checkout.root().join("results/traces").join(name)
    })
}

fn request(arguments: &TraceArgs, load: Load) -> Request {
    Request {
        size: load.size,
        parameters: load.parameters,
        input: load.input.and_then(|input| input.place),
        threads: arguments.threads as usize,
        ..Request::tiny(&load.workload)
    }
}
