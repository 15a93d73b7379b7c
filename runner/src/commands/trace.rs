//! `trace`: one trial of an instrumented build, drawn as a timeline of its workers.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use protocol::{Outcome, Request, TraceRequest};
use tempfile::NamedTempFile;

use super::build;
use crate::build::Builder;
use crate::config::Branch;
use crate::config::catalogue::{self, Programs};
use crate::config::pick::pick;
use crate::options::project::Project;
use crate::options::selection;
use crate::plan::Load;
use crate::record::{Ending, whole_file};
use crate::run::interrupt;
use crate::run::trial;
use crate::stop::{Exit, Stop};

/// How long a run may take.
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
    /// File to write [default: results/traces/BRANCH-WORKLOAD-SIZE-N-threads.json]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What `--help` says below the options.
pub(crate) const HELP: &str = "\
Example:
  cargo runner trace --branch packed --workload quicksort --threads 2";

pub(crate) fn run(project: &Project, arguments: &TraceArgs) -> Result<Exit> {
    let branch = branch(project, &arguments.branch)?;
    let Some(instrumented) = branch.instrumented() else {
        bail!(Stop::BadInput(format!(
            "--branch {}: {} records nothing; only branches of rayon-fork/ can, for example `packed`",
            branch.name, branch.source
        )));
    };
    let load = load(arguments)?;
    let output = output(project, arguments, &branch, &load);
    let temporary = beside(&output)?;
    let written = temporary.as_ref().map_or(output.as_path(), |it| it.path());
    interrupt::install()?;
    let folder = project.config_folder()?;
    let builder =
        Builder::new(&project.checkout, &folder, 1)?.with(Programs::with([load.workload.as_str()]));
    let (built, _) = build::all(&builder, std::slice::from_ref(&instrumented), false)?;
    let binary = &built[&instrumented.name].binaries[0];
    let request = request(arguments, &branch, load, written)?;
    let Some(ended) = trial::ask(binary, &request, LIMIT) else {
        bail!(Stop::Interrupted(
            "interrupted; there is no trace".to_owned()
        ));
    };
    match ended.result {
        Ok(outcome) => {
            if let Some(temporary) = temporary {
                temporary
                    .persist(&output)
                    .map_err(|error| unwritable(&output, &error.error))?;
            }
            tell(&outcome);
            println!("{}", project.checkout.shown(&output));
            Ok(Exit::Good)
        }
        // What the program says of its trace is about the file that was asked for.
        Err(failure)
            if failure.ending == Ending::Refused && failure.reason.starts_with("trace = ") =>
        {
            let (asked, made) = (output.display().to_string(), written.display().to_string());
            bail!(Stop::HostNotFit(failure.reason.replace(&made, &asked)))
        }
        Err(failure) if failure.ending == Ending::Refused => {
            bail!(Stop::BadInput(failure.reason))
        }
        Err(failure) => {
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
    }
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
        .context("a picked branch is among those it was picked from")
}

fn load(arguments: &TraceArgs) -> Result<Load> {
    // What whole programs do is not seen from outside.
    let known = catalogue::names()
        .into_iter()
        .filter(|name| catalogue::whole(name).is_none());
    let known: Vec<&str> = known.collect();
    let workload = one("--workload", "workload", &arguments.workload, &known)?;
    let input = arguments.input.as_deref();
    let mut loads = selection::loads(workload, &arguments.size, &arguments.parameters, input)?;
    loads.pop().context("a picked workload gives its load")
}

/// The only thing of its kind that `text` names.
fn one<'a>(option: &str, kind: &str, text: &str, known: &[&'a str]) -> Result<&'a str> {
    match pick(option, kind, text, known)?[..] {
        [only] => Ok(only),
        ref several => bail!(Stop::BadInput(format!(
            "{option}: `{text}` matches {}; a trace is of one {kind}",
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

/// The file that takes the name of the output when it is whole; none where that is a device or a
/// pipe. It is made now: that it cannot be is better told before minutes go into a build.
fn beside(output: &Path) -> Result<Option<NamedTempFile>> {
    if whole_file::is_special(output) {
        return Ok(None);
    }
    let make = || -> io::Result<NamedTempFile> {
        let folder = whole_file::folder_of(output);
        fs::create_dir_all(folder)?;
        if output.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // Readable like any other file, although temporary files are private.
        let file = NamedTempFile::new_in(folder)?;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(0o644))?;
        Ok(file)
    };
    Ok(Some(make().map_err(|error| unwritable(output, &error))?))
}

fn unwritable(output: &Path, error: &io::Error) -> Stop {
    let path = output.display();
    Stop::HostNotFit(format!("--output {path}: {error}; choose another file"))
}

fn request(arguments: &TraceArgs, branch: &Branch, load: Load, output: &Path) -> Result<Request> {
    Ok(Request {
        size: load.size,
        parameters: load.parameters,
        input: load.input.and_then(|input| input.place),
        threads: arguments.threads as usize,
        warmup_iterations: 1,
        trace: Some(TraceRequest {
            path: std::path::absolute(output)?,
            branch: branch.name.clone(),
        }),
        ..Request::tiny(&load.workload)
    })
}

fn tell(outcome: &Outcome) {
    let spans = |name: &str| outcome.metrics.get(name).map_or(0.0, |metric| metric.value);
    tell!(
        "{} spans; open the file at https://ui.perfetto.dev, which reads it in your browser and sends \
         it nowhere. It shows what happens, not how long it takes: recording takes time itself",
        spans("trace_spans")
    );
    if spans("trace_dropped") > 0.0 {
        tell!(
            "note: {} spans found no room, so tracks end early; a smaller --size fits",
            spans("trace_dropped")
        );
    }
}
