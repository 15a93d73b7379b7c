//! Measures the cycles of a branch's own instructions. A program of joins, or of spawns, runs on
//! one thread of this host. From the program's time, subtracts the time of its sequential version
//! and the time that the simulated machine `here` predicts. Divides the rest by the number of
//! calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use manycore::{Call, FrequencyMode, Machine};
use protocol::{MachineRequest, Outcome, Program, Request};

use super::{ask, while_busy};
use crate::build::Builder;
use crate::config::Branch;
use crate::config::catalogue::Programs;
use crate::host::Host;
use crate::host::here;
use crate::options::Project;
use crate::plan::machines;
use crate::run::builds;
use crate::system::interrupt;
use crate::system::whole_file;
use crate::text::output::print;

const HEADER: &str = "\
# Cycles of a branch's own instructions: those of a call that do not access shared memory. `cargo runner calibrate
# --own-instructions` writes such files. A machine's clock and its parameter `own-instructions` convert them to time.
";

/// Number of processes for each program and branch. The fastest iteration of all processes counts,
/// since other programs of the host only slow an iteration down. An iteration is shorter than a
/// time slice, so some iterations are not interrupted.
const ROUNDS: u32 = 15;

const ITERATIONS: u32 = 20;

/// The cost of a unit of work in simulations: almost zero, since the work is not compared.
const NO_WORK_NS: f64 = 1e-6;

/// The cycles of a call in simulations that count calls. The number is so large that rounding does
/// not matter.
const COUNTING: f64 = 10_000.0;

fn program(call: Call) -> (&'static str, &'static [(&'static str, &'static str)]) {
    match call {
        Call::Join => ("fib-join", &[("n", "20")]),
        Call::Spawn => ("scope-spawn", &[("repeats", "1"), ("spawns", "20000")]),
    }
}

pub(super) struct Builds {
    branch: String,
    pub(super) native: PathBuf,
    pub(super) simulated: PathBuf,
}

pub(super) fn measure(project: &Project, branches: &[Branch], output: &Path) -> Result<()> {
    let root = project.checkout.root();
    // This line returns an error if the host was not measured.
    machines::find(root, here::NAME, &[], &[])?;
    let file = machines::file(root, here::NAME);
    let machine = Machine::read(&file).context("the machine's file cannot be read again")?;
    let mhz = f64::from(machine.frequency.mhz(FrequencyMode::Fixed, 1));
    whole_file::check_writable(output)?;
    interrupt::install()?;
    let builds = built(
        project,
        branches,
        Programs::Workloads,
        &machines::plain_request(file.clone()),
    )?;
    let host = Host::default();
    let mut text = HEADER.to_owned();
    for call in Call::ALL {
        let (workload, parameters) = program(call);
        let request = |program: Program, machine: Option<MachineRequest>| Request {
            size: "small".to_owned(),
            parameters: parameters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            program,
            warmup_iterations: 1,
            iterations: if machine.is_none() { ITERATIONS } else { 3 },
            machine,
            ..Request::tiny(workload)
        };
        let simulated = |builds: &Builds, cycles: f64| -> Result<f64> {
            let machine = MachineRequest {
                charge_ns: NO_WORK_NS,
                own_cycles: BTreeMap::from([(call.name().to_owned(), cycles)]),
                ..machines::plain_request(file.clone())
            };
            let request = request(Program::Parallel, Some(machine));
            Ok(fastest(&ask(&builds.simulated, &request)?))
        };
        let mut native = vec![f64::INFINITY; builds.len()];
        let mut sequential = f64::INFINITY;
        for _ in 0..ROUNDS {
            for (builds, least) in builds.iter().zip(&mut native) {
                let fastest_of = |program| {
                    let outcome = ask(&builds.native, &request(program, None))?;
                    anyhow::Ok(fastest(&outcome))
                };
                *least = least.min(fastest_of(Program::Parallel)?);
                sequential = sequential.min(fastest_of(Program::Sequential)?);
            }
        }
        let busy = while_busy(&host);
        for (builds, native) in builds.iter().zip(native) {
            let without = simulated(builds, 0.0)?;
            let calls = (simulated(builds, COUNTING)? - without) / (COUNTING * 1e3 / mhz);
            let native = native - sequential;
            let ns = (native - without) / calls;
            let cycles = ns * mhz / 1e3;
            let name = call.name();
            tell!(
                "{}, {name}: {cycles:.1} cycles a call; {:.2} ns measured and {:.2} ns simulated in addition to the work, {calls:.0} calls of {workload}{busy}",
                builds.branch,
                native / calls,
                without / calls
            );
            let model = host
                .cpu_field("model name")
                .unwrap_or_else(|_| "an unknown CPU".to_owned());
            let source = format!(
                "measured: {workload}, one thread, fastest run minus the sequential and the simulated one, on {model}{busy}"
            );
            write!(
                text,
                "\n[{}.{name}]\ncycles = {cycles:.1}\nsource = {source:?}\n",
                builds.branch
            )?;
        }
    }
    whole_file::write(output, |file| file.write_all(text.as_bytes()))?;
    print(&format!("{}\n", project.checkout.shown(output)))
}

pub(super) fn built(
    project: &Project,
    branches: &[Branch],
    programs: Programs,
    machine: &MachineRequest,
) -> Result<Vec<Builds>> {
    let folder = project.config_folder()?;
    let all = |machine: Option<MachineRequest>| {
        let builder = Builder::new(&project.checkout, &folder, 1)?;
        builds::all(&builder.with(programs).simulated(machine), branches)
    };
    let (native, simulated) = (all(None)?, all(Some(machine.clone()))?);
    let both = |branch: &Branch| {
        let [native, simulated] = [&native, &simulated].map(|it| it.get(&branch.name));
        let (native, simulated) = native.zip(simulated)?;
        Some(Builds {
            branch: branch.name.clone(),
            native: native.binaries[0].clone(),
            simulated: simulated.binaries[0].clone(),
        })
    };
    let all: Option<Vec<Builds>> = branches.iter().map(both).collect();
    all.context("the build succeeded, but gave no binary")
}

fn fastest(outcome: &Outcome) -> f64 {
    let times = outcome.iterations.iter().map(|it| it.elapsed_ns);
    times.min().unwrap_or(u64::MAX) as f64
}
