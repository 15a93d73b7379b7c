//! `calibrate`: measures the cost parameters of this host as a simulated machine, and the costs of
//! units of work. With `--own-instructions`, measures the cycles of branches' own instructions.

mod own;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use manycore::{FrequencyMode, Machine};
use protocol::{MachineRequest, Outcome, Program, Request};

use self::own::Builds;
use crate::build::binary;
use crate::config::Branch;
use crate::config::catalogue::Programs;
use crate::host::Host;
use crate::host::here;
use crate::options::{Project, selection};
use crate::plan::machines;
use crate::stop::{Exit, Stop};
use crate::system::interrupt;
use crate::system::whole_file;
use crate::text::output::print;

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Measure only the costs of work and write them to this file, such as workloads/charges.toml,
    /// which all shipped machines use
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Measure only the cycles of these branches' own instructions (`master,champion`, or `all`),
    /// for the machine `here`, or for the file of `--output`
    #[arg(long, value_name = "BRANCHES")]
    own_instructions: Option<String>,
}

pub(crate) const HELP: &str = "\
Measures what accesses, fences, sleeps and wake-ups cost on this host (machines/here.toml). Also measures the cost of one \
unit of each workload's work, by its sequential program (workloads/charges-here.toml). Then `--machine here` simulates \
this host. Both files hold for this host alone and are not in the repository. Run this command while \
nothing else runs.

A join and a spawn also execute instructions that do not access shared memory. `--own-instructions` measures them for each \
branch on one thread: the time of a program of joins, or of spawns, minus that of its sequential version, minus what the simulated \
machine `here` predicts.

Examples:
  cargo runner calibrate
  cargo runner calibrate --own-instructions master,champion --output workloads/own-instructions.toml";

const HEADER: &str = "\
# The cost of each unit of work on a simulated machine: nanoseconds of one core at the machine's reference
# frequency. `cargo runner calibrate` writes such files; `cargo runner list workloads` shows the unit of each
# workload.
";

#[derive(Clone, Copy, Debug)]
pub(super) struct Precision {
    processes: u32,
    iterations: u32,
    /// Whether only the study's programs run, at size `tiny`. Such a run only tries the command
    /// out.
    is_tiny: bool,
}

impl Precision {
    pub(super) const WHOLE: Self = Self {
        processes: 3,
        iterations: 5,
        is_tiny: false,
    };
    pub(super) const QUICK: Self = Self {
        processes: 1,
        iterations: 1,
        is_tiny: true,
    };
}

impl Precision {
    fn programs(self) -> Programs {
        if self.is_tiny {
            Programs::Study
        } else {
            Programs::Workloads
        }
    }
}

/// The cost of one unit of work in simulations that count units.
const COUNTING_NS: f64 = 100.0;

const LIMIT: Duration = Duration::from_mins(10);

struct Unit {
    name: &'static str,
    workload: &'static str,
}

impl Unit {
    fn request(&self, care: Precision, machine: Option<MachineRequest>) -> Request {
        Request {
            size: if care.is_tiny { "tiny" } else { "small" }.to_owned(),
            program: Program::Sequential,
            warmup_iterations: u32::from(machine.is_none()),
            iterations: if machine.is_none() {
                care.iterations
            } else {
                1
            },
            machine,
            ..Request::tiny(self.workload)
        }
    }
}

pub(crate) fn run(project: &Project, arguments: &CalibrateArgs) -> Result<Exit> {
    match (&arguments.own_instructions, &arguments.output) {
        (Some(list), output) => {
            let (branches, _) = selection::branches(&project.config()?, list)?;
            match output {
                Some(output) => own::measure(project, &branches, output)?,
                None => own_instructions(project, &branches)?,
            }
        }
        (None, Some(output)) => work(project, output, Precision::WHOLE)?,
        (None, None) => here(project, Precision::WHOLE)?,
    }
    Ok(Exit::Good)
}

pub(super) fn here(project: &Project, care: Precision) -> Result<()> {
    let root = project.checkout.root();
    work(project, &machines::charges_here(root), care)?;
    let host = Host::default();
    let text = here::measured(|name| machines::file(root, name), &host, while_busy(&host))?;
    let output = machines::file(root, here::NAME);
    whole_file::write(&output, |file| file.write_all(text.as_bytes()))?;
    print(&format!("{}\n", project.checkout.shown(&output)))
}

pub(super) fn own_instructions(project: &Project, branches: &[Branch]) -> Result<()> {
    own::measure(
        project,
        branches,
        &machines::own_here(project.checkout.root()),
    )
}

/// The smallest cost that the file's four digits can express.
const LEAST_NS: f64 = 0.0001;

fn work(project: &Project, output: &Path, care: Precision) -> Result<()> {
    let root = project.checkout.root();
    let config = project.config()?;
    let branch = config
        .branches
        .iter()
        .find(|branch| branch.name == machines::BASELINE);
    let branch = branch.with_context(|| format!("no branch `{}`", machines::BASELINE))?;
    let machine = machines::all(root)?
        .into_iter()
        .next()
        .context("no machine in machines/")?;
    let counting = MachineRequest {
        charge_ns: COUNTING_NS,
        ..machines::plain_request(machines::file(root, &machine.name))
    };
    // This check comes first, because the builds take minutes.
    whole_file::check_writable(output)?;
    interrupt::install()?;
    let programs = care.programs();
    let builds = own::built(project, std::slice::from_ref(branch), programs, &counting)?;
    let Builds {
        native, simulated, ..
    } = &builds[0];
    let host = Host::default();
    let mut text = HEADER.to_owned();
    for unit in units(programs) {
        let charged = charged(
            &ask(simulated, &unit.request(care, Some(counting.clone())))?,
            &machine,
        );
        let mut times = Vec::new();
        for _ in 0..care.processes {
            times.extend(cpu_ns(&ask(native, &unit.request(care, None))?));
        }
        // A run that ends before the clock's next tick takes no time, but no cost may be 0.
        let ns = (usual(times) as f64 / charged).max(LEAST_NS);
        let busy = while_busy(&host);
        let Unit { name, workload, .. } = unit;
        let size = unit.request(care, None).size;
        tell!("{name}: {ns:.4} ns, {charged:.0} units by {workload}{busy}");
        let model = host
            .cpu_field("model name")
            .unwrap_or_else(|_| "an unknown CPU".to_owned());
        let source =
            format!("measured: {workload}, sequential, {size}, median run, on {model}{busy}");
        write!(text, "\n[{name}]\nns = {ns:.4}\nsource = {source:?}\n")?;
    }
    whole_file::write(output, |file| file.write_all(text.as_bytes()))?;
    print(&format!("{}\n", project.checkout.shown(output)))
}

/// Returns the median. The times of trials on this host are medians, too, so other programs affect
/// costs and trials alike.
fn usual(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(u64::MAX)
}

fn units(programs: Programs) -> Vec<Unit> {
    let mut units = BTreeMap::new();
    let reporting = machines::supported().filter_map(|it| Some((it.charge.as_deref()?, &*it.name)));
    for (name, workload) in reporting.filter(|(_, workload)| programs.has(workload)) {
        // Several workloads share the unit `steps`. The workload `two-busy-workers` does nothing
        // else.
        if name == "steps" && workload != "two-busy-workers" {
            continue;
        }
        units.entry(name).or_insert(Unit { name, workload });
    }
    units.into_values().collect()
}

fn ask(binary: &Path, request: &Request) -> Result<Outcome> {
    let Some(ended) = binary::ask(binary, request, LIMIT) else {
        bail!(Stop::Interrupted(
            "interrupted; the cost parameters are unchanged".to_owned()
        ));
    };
    ended.result.map_err(|failure| {
        Stop::HostNotFit(format!(
            "{}: {}: {}; the cost parameters are unchanged",
            request.workload, failure.ending, failure.reason
        ))
        .into()
    })
}

fn cpu_ns(outcome: &Outcome) -> impl Iterator<Item = u64> + '_ {
    outcome
        .iterations
        .iter()
        .map(|it| it.user_ns + it.system_ns)
}

fn charged(outcome: &Outcome, machine: &Machine) -> f64 {
    let spent = outcome
        .simulated
        .as_ref()
        .and_then(|it| it.spent_ns.get("work"));
    let frequency = &machine.frequency;
    let fixed = f64::from(frequency.mhz(FrequencyMode::Fixed, 1));
    let slower = f64::from(frequency.reference_mhz) / fixed;
    let iterations = outcome.iterations.len() as f64;
    spent.copied().unwrap_or_default() as f64 / iterations / slower / COUNTING_NS
}

fn while_busy(host: &Host) -> &'static str {
    if host.load().is_ok_and(|load| load > 1.5) {
        ", while the host was busy"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_that_is_reported_is_measured_once() {
        let units = units(Programs::Workloads);
        for workload in machines::supported() {
            let is_it = |unit: &&Unit| Some(unit.name) == workload.charge.as_deref();
            assert_eq!(units.iter().filter(is_it).count(), 1, "{}", workload.name);
        }
    }
}
