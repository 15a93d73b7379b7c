//! The options of `sweep`, and the steps of a new sweep before its first trial.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Parser};
use protocol::{Request, SCHEMA};

use crate::build::{Builder, binary, check_folder};
use crate::config::{Branch, Config};
use crate::host::{Host, doctor};
use crate::options::meaning::{asked, builds};
use crate::options::{Project, Selection};
use crate::plan::{self, Plan, SETTLE, SweepRequest, machines};
use crate::record::Ending;
use crate::record::manifest::{
    Manifest, MeasuredBranch, Toolchain, arguments_sha256, identities, sweep_name,
};
use crate::record::sweep_dir::{self, SweepDir};
use crate::run::builds;
use crate::stop::Stop;
use crate::system::interrupt;
use crate::system::python::Python;
use crate::text::output::Format;
use crate::text::words::moment;

#[derive(Clone, Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(in crate::commands) selection: Selection,
    /// Continue a stopped sweep: a name or the beginning of one, a path, or by default the newest
    /// unfinished sweep. Excludes the options that define a sweep, except `--input` for an instance
    /// file outside the checkout
    #[arg(long, value_name = "SWEEP", num_args = 0..=1, default_missing_value = "latest",
          conflicts_with_all = ["preset", "experiment", "branches", "workloads", "size", "parameters", "threads",
                                "mode", "placement", "trials", "layouts", "iterations", "seed", "timeout", "no_twin",
                                "instrument", "shard", "machine", "box"])]
    pub(in crate::commands) resume: Option<String>,
    /// Parent folder of the sweep [default: results/sweeps]
    #[arg(long, value_name = "DIR")]
    pub(in crate::commands) output: Option<PathBuf>,
    /// Trials of a simulated machine that run at the same time [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(in crate::commands) jobs: Option<u16>,
    /// Output format of the result at the end
    #[arg(long, value_enum, default_value = "table")]
    pub(super) format: Format,
}

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    sweep: SweepArgs,
}

impl SweepArgs {
    pub(in crate::commands) fn of(words: &[String]) -> Result<Self> {
        let words = std::iter::once("sweep").chain(words.iter().map(String::as_str));
        Ok(Line::try_parse_from(words)?.sweep)
    }
}

pub(crate) struct SweepCommand {
    pub(crate) command: &'static str,
    pub(crate) config: Option<Config>,
    /// Whether the text for a pull request is printed around the table, in the formats `table` and
    /// `md`.
    pub(crate) has_page: bool,
    /// Whether the same command line, without `--resume`, continues the sweep after an
    /// interruption.
    pub(crate) goes_on: bool,
    pub(crate) program: Option<TypedProgram>,
}

pub(crate) struct TypedProgram {
    pub(crate) folder: PathBuf,
    pub(crate) arguments: Vec<String>,
}

impl SweepCommand {
    pub(crate) fn going_on(command: &'static str, config: Option<Config>) -> Self {
        Self {
            command,
            config,
            has_page: false,
            goes_on: true,
            program: None,
        }
    }
}

pub(super) struct SweepRun {
    pub(super) sweep: SweepDir,
    pub(super) manifest: Manifest,
    pub(super) plan: Plan,
    pub(super) binaries: BTreeMap<String, Vec<PathBuf>>,
    pub(super) inputs: Vec<Option<PathBuf>>,
    pub(super) building: Duration,
    pub(super) warnings: Vec<String>,
}

/// Prints the conditions of the host that make times doubtful, before the builds load the host, and
/// returns these conditions for the manifest.
pub(super) fn warnings(host: &Host) -> Vec<String> {
    let findings = doctor::first_look(host).into_iter();
    let warnings: Vec<String> = findings
        .map(|it| format!("{}; {}", it.seen, it.why))
        .collect();
    for warning in &warnings {
        tell!("warning: {warning} (`cargo runner doctor`)");
    }
    warnings
}

pub(super) struct BuiltSet {
    pub(super) branches: Vec<MeasuredBranch>,
    pub(super) binaries: BTreeMap<String, Vec<PathBuf>>,
    pub(super) toolchain: Toolchain,
    pub(super) building: Duration,
}

pub(super) fn build_all(
    project: &Project,
    asked: &SweepRequest,
    branches: &[Branch],
) -> Result<BuiltSet> {
    interrupt::install()?;
    let folder = project.config_folder()?;
    let builder = Builder::new(&project.checkout, &folder, asked.layouts)?
        .with(asked.programs())
        .simulated(machines::first_request(project.checkout.root(), asked));
    let started = Instant::now();
    let built = builds::all(&builder, branches)?;
    let measured = |branch: &Branch| MeasuredBranch {
        name: branch.name.clone(),
        source: branch.source.clone(),
        baseline: branch.baseline,
        hypothesis: branch.hypothesis.clone(),
        claims: branch.claims.clone(),
        receipt: built[&branch.name].receipt.clone(),
        build_error: None,
    };
    let branches = branches.iter().map(measured).collect();
    let binaries = built
        .into_iter()
        .map(|(name, built)| (name, built.binaries))
        .collect();
    let binaries = machines::binaries(asked, binaries);
    Ok(BuiltSet {
        branches,
        binaries,
        toolchain: builder.toolchain()?,
        building: started.elapsed(),
    })
}

pub(super) type CheckedRequest = (SweepRequest, Vec<Branch>, Vec<Option<PathBuf>>);

pub(super) fn wanted(
    project: &Project,
    arguments: &SweepArgs,
    command: &SweepCommand,
) -> Result<CheckedRequest> {
    let (asked, branches) = asked(project, command.config.as_ref(), &arguments.selection)?;
    let folder = project.config_folder()?;
    branches
        .iter()
        .try_for_each(|branch| check_folder(&folder, branch))?;
    sweep_dir::check_parent(&project.sweeps(arguments.output.as_deref()))?;
    let inputs = project.inputs(&asked, None)?;
    Ok((asked, branches, inputs))
}

pub(super) fn begin(
    project: &Project,
    arguments: &SweepArgs,
    command: &SweepCommand,
    (asked, branches, inputs): CheckedRequest,
) -> Result<SweepRun> {
    let warnings = match &asked.machine {
        Some(_) => Vec::new(),
        None => warnings(&Host::default()),
    };
    let builds = builds(&asked, &branches);
    // The table needs Python's libraries, which a thread installs beside the builds. If that fails,
    // `finish` tries again and reports the error.
    let root = project.checkout.root().to_owned();
    let python = std::thread::spawn(move || Python::set_up(&root));
    let built = build_all(project, &asked, &builds)?;
    drop(python.join());
    let BuiltSet {
        branches: measured,
        binaries,
        toolchain,
        building,
    } = built;
    check_inputs(
        project.checkout.root(),
        &asked,
        &inputs,
        &binaries[&asked.baseline][0],
    )?;
    let ran = try_program(&asked, &binaries[&asked.baseline][0])?;
    let whole = plan::order(&asked, &identities(&measured));
    let plan_digest = whole.digest();
    let shard = arguments.selection.shard;
    let plan = whole.part(shard);
    let (instrumented, measured) = measured
        .into_iter()
        .partition(|branch| branch.source.is_instrumented());
    if let (Some(ran), Some(program)) = (ran, &asked.program) {
        tell!(
            "note: `{}` ran for {:.1} s with `{}`; {} such runs follow",
            program.binary,
            ran.as_secs_f64(),
            asked.baseline,
            plan.len()
        );
    }
    let host = machines::host_id(&asked);
    let facts = machines::host_facts(&asked);
    let checkout = project.checkout.commit();
    let created_at = SystemTime::now();
    let here = std::env::current_dir().context("the current folder cannot be read")?;
    let manifest = Manifest {
        schema: SCHEMA,
        name: sweep_name(created_at, &host, &checkout)
            + &shard.map_or(String::new(), |it| {
                format!("-shard-{}-of-{}", it.number, it.of)
            }),
        created_at: moment(created_at),
        host,
        checkout,
        runner: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args()
            .skip(1)
            .map(|argument| project.checkout.shown_argument(&argument, &here))
            .collect(),
        is_ad_hoc: command.config.is_some(),
        arguments_sha256: (command.program.as_ref()).map(|it| arguments_sha256(&it.arguments)),
        twin: asked.twin_name(),
        asked,
        branches: measured,
        instrumented,
        toolchain,
        settle_ms: u64::try_from(SETTLE.as_millis()).ok(),
        shard,
        shards: Vec::new(),
        plan_digest,
        trials_planned: plan.len(),
        runs: Vec::new(),
    };
    let parent = project.sweeps(arguments.output.as_deref());
    let sweep = SweepDir::create(&parent, &manifest, &facts, |_| Ok(()))?;
    Ok(SweepRun {
        sweep,
        manifest,
        plan,
        binaries,
        inputs,
        building,
        warnings,
    })
}

/// Runs a program of the user once, and returns how long the run took. A failure of the program is
/// thus reported before any measurement. The run also brings the files that the program reads into
/// memory.
fn try_program(asked: &SweepRequest, binary: &Path) -> Result<Option<Duration>> {
    let Some(program) = &asked.program else {
        return Ok(None);
    };
    let request = Request {
        threads: asked.threads[0],
        ..Request::tiny(&program.name)
    };
    let limit = Duration::from_secs_f64(asked.timeout_s);
    let ended = binary::ask(binary, &request, limit)
        .ok_or_else(|| Stop::Interrupted("interrupted before anything was measured".to_owned()))?;
    let Err(failure) = ended.result else {
        return Ok(Some(ended.process));
    };
    let said = failure
        .stderr_tail
        .map(|tail| format!("; it printed:\n{tail}"))
        .unwrap_or_default();
    bail!(Stop::BadInput(format!(
        "`{}` with the arguments {:?} fails when built with `{}`, so nothing is measured: {}. A run may take {} s, and its \
         standard input is empty{said}",
        program.binary,
        program.arguments,
        asked.baseline,
        failure.reason,
        asked.timeout_s / 2.0
    )))
}

/// Makes the baseline's binary read the instance files, so that an error in a file is reported
/// before any measurement, not by every trial.
fn check_inputs(
    root: &Path,
    asked: &SweepRequest,
    inputs: &[Option<PathBuf>],
    binary: &Path,
) -> Result<()> {
    for (load, input) in asked.workloads.iter().zip(inputs) {
        let request = Request {
            size: load.size.clone(),
            parameters: load.own_parameters(),
            input: input.clone(),
            machine: machines::first_request(root, asked),
            prepare_only: true,
            ..Request::tiny(&load.workload)
        };
        let ended = input.is_some().then(|| {
            binary::ask(binary, &request, Duration::from_secs_f64(asked.timeout_s)).ok_or_else(
                || Stop::Interrupted("interrupted before anything was measured".to_owned()),
            )
        });
        match ended.transpose()?.map(|ended| ended.result) {
            Some(Err(failure)) if failure.ending == Ending::Refused => {
                bail!(Stop::BadInput(failure.reason))
            }
            _ => {}
        }
    }
    Ok(())
}
