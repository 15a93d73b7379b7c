//! How long trials take: from what this host measured before, else from what parameters and sizes say.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use protocol::{Program, Size};
use serde::Deserialize;

use crate::manifest::{Manifest, Run};
use crate::plan::{Asked, Kind, Load, Plan};
use crate::record::Ending;
use crate::stats::median;
use crate::sweep::SETTLE;
use crate::sweep_dir::SweepDir;
use crate::trials_file::Lines;

/// Start and end of a process, and what it prepares; measured once on 2 virtual CPUs.
const PER_PROCESS: Duration = Duration::from_millis(20);

/// Between two trials on a host that never swept: the pause, the clock measured twice, the disk.
const BETWEEN: Duration = SETTLE.saturating_add(Duration::from_millis(7));

/// So many trials of a kind tell how long it takes; most sweeps have them in the first replicate, and the
/// rest of the file is not read.
const ENOUGH: usize = 8;

/// An estimate and where it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Time of all trials.
    pub time: Duration,
    /// Share of the trials whose time was measured before, 0 to 1.
    pub measured_share: f64,
}

/// What earlier sweeps on this host measured of a sweep that is asked for.
#[derive(Debug, Default)]
pub struct Past {
    /// Median time of an iteration, in nanoseconds.
    iteration_ns: HashMap<Kind, f64>,
    /// The same on other hosts, of what was never measured on this one.
    elsewhere_ns: HashMap<Kind, f64>,
    /// Between two trials, as the newest sweep has it: pause, clock, disk.
    between: Option<Duration>,
}

/// The little of a record that an estimate needs; the rest is skipped.
#[derive(Deserialize)]
struct Measured<'a> {
    outcome: Ending,
    #[serde(borrow)]
    workload: Cow<'a, str>,
    #[serde(borrow)]
    size: Cow<'a, str>,
    #[serde(borrow)]
    parameters: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    #[serde(borrow)]
    input: Option<Cow<'a, str>>,
    program: Program,
    threads: usize,
    iterations: Vec<Elapsed>,
}

#[derive(Clone, Copy, Deserialize)]
struct Elapsed {
    elapsed_ns: u64,
}

impl Past {
    /// What the given sweeps (oldest first) measured of what is asked, later ones preferred, and other hosts only
    /// where this one has nothing; broken ones are left out, since an estimate is not worth an error.
    ///
    /// Manifests say what is in a sweep, so that of many sweeps few are read.
    #[must_use]
    pub fn read(sweeps: &[SweepDir], host: &str, asked: &Asked) -> Self {
        let mut past = Self::default();
        let mut wanted: Vec<Kind> = kinds(asked).collect();
        let mut others = Vec::new();
        for sweep in sweeps.iter().rev() {
            let Ok(manifest) = sweep.manifest() else { continue };
            if manifest.host == host {
                manifest.runs.iter().rev().for_each(|run| past.learn_run(run));
                learn(&mut past.iteration_ns, sweep, &manifest, asked, &wanted);
            } else if manifest.asked.machine.is_none() {
                others.push((sweep, manifest));
            }
        }
        wanted.retain(|kind| !past.iteration_ns.contains_key(kind));
        for (sweep, manifest) in others {
            learn(&mut past.elsewhere_ns, sweep, &manifest, asked, &wanted);
        }
        past
    }

    /// What other hosts took, with the nearest number of threads that one of them had: more threads than CPUs take
    /// about as long as all CPUs.
    fn elsewhere(&self, kind: Kind) -> Option<f64> {
        let alike = self
            .elsewhere_ns
            .iter()
            .filter(|(other, _)| (other.load, other.program) == (kind.load, kind.program));
        alike
            .min_by_key(|(other, _)| (other.threads.abs_diff(kind.threads), other.threads))
            .map(|(_, time)| *time)
    }

    /// Newest first.
    fn learn_run(&mut self, run: &Run) {
        let around = run.wall_ns.saturating_sub(run.in_trials_ns);
        self.between =
            self.between.or(around.checked_div(run.trials as u64).map(Duration::from_nanos));
    }

    /// The time of a whole plan of what was asked.
    #[must_use]
    pub fn estimate(&self, asked: &Asked, plan: &Plan) -> Estimate {
        let iterations = asked.warmup_iterations + asked.iterations;
        let around = PER_PROCESS + self.between.unwrap_or(BETWEEN);
        let mut time = Duration::ZERO;
        let (mut all, mut measured) = (0, 0);
        for (kind, trials) in plan.trials_by_kind() {
            let known = self.iteration_ns.get(&kind);
            let iteration = known.copied().or_else(|| self.elsewhere(kind)).map_or_else(
                || guess(&asked.workloads[kind.load]),
                |time| Duration::from_secs_f64(time / 1e9),
            );
            let each = around.saturating_add(iteration.saturating_mul(iterations));
            time =
                time.saturating_add(each.saturating_mul(u32::try_from(trials).unwrap_or(u32::MAX)));
            all += trials;
            measured += if known.is_some() { trials } else { 0 };
        }
        Estimate { time, measured_share: measured as f64 / all.max(1) as f64 }
    }
}

/// Reads of a sweep what is not known yet.
fn learn(
    known: &mut HashMap<Kind, f64>,
    sweep: &SweepDir,
    manifest: &Manifest,
    asked: &Asked,
    wanted: &[Kind],
) {
    let has = |kind: &Kind| {
        let wanted = &asked.workloads[kind.load];
        manifest.asked.workloads.iter().any(|load| is_same(load, wanted))
            && (kind.program == Program::Sequential
                || manifest.asked.threads.contains(&kind.threads))
    };
    let mut times: HashMap<Kind, Vec<f64>> = wanted
        .iter()
        .filter(|kind| !known.contains_key(kind) && has(kind))
        .map(|kind| (*kind, Vec::new()))
        .collect();
    let mut missing = times.len();
    let Ok(mut lines) = Lines::open(&sweep.trials()) else { return };
    while missing > 0
        && let Ok(Some(line)) = lines.next_line()
    {
        let Ok(measured) = serde_json::from_slice::<Measured<'_>>(line) else { continue };
        let Some(load) = asked.workloads.iter().position(|load| measured.is_of(load)) else {
            continue;
        };
        let kind = Kind { load, program: measured.program, threads: measured.threads };
        if let (Some(times), Some(time)) = (times.get_mut(&kind), measured.iteration_ns()) {
            times.push(time);
            missing -= usize::from(times.len() == ENOUGH);
        }
    }
    for (kind, mut times) in times {
        if let Some(time) = median(&mut times) {
            known.insert(kind, time);
        }
    }
}

impl Measured<'_> {
    fn is_of(&self, load: &Load) -> bool {
        let own = self.parameters.iter().map(|(name, value)| (&**name, &**value));
        load.workload == self.workload
            && load.size == self.size
            && load.input.as_ref().map(|input| input.path.as_str()) == self.input.as_deref()
            && load.parameters.iter().map(|(name, value)| (&**name, &**value)).eq(own)
    }

    /// Median time of an iteration; `None` of a failed trial and one that was only counted.
    fn iteration_ns(&self) -> Option<f64> {
        let times = self.iterations.iter().map(|iteration| iteration.elapsed_ns as f64);
        median(&mut times.collect::<Vec<_>>()).filter(|_| self.outcome == Ending::Ok)
    }
}

/// Whether two loads are the same instance, wherever its file lies.
fn is_same(one: &Load, other: &Load) -> bool {
    fn instance(load: &Load) -> impl PartialEq {
        let input = load.input.as_ref().map(|input| &input.sha256);
        (&load.workload, &load.size, &load.parameters, input)
    }
    instance(one) == instance(other)
}

/// What trials of a sweep can be.
fn kinds(asked: &Asked) -> impl Iterator<Item = Kind> {
    (0..asked.workloads.len()).flat_map(|load| {
        let threads = asked.threads.iter();
        let parallel = threads.map(move |&threads| (Program::Parallel, threads));
        std::iter::once((Program::Sequential, 1))
            .chain(parallel)
            .map(move |(program, threads)| Kind { load, program, threads })
    })
}

/// Of an instance that was never measured: what its parameters say, else its size.
fn guess(load: &Load) -> Duration {
    let by_parameters = || {
        let (workload, values) = load.resolved()?;
        workload.lasts(&values)
    };
    by_parameters().unwrap_or_else(|| by_design(&load.size))
}

/// What the sizes are made for (see [`Size`]), on one core.
fn by_design(size: &str) -> Duration {
    Duration::from_millis(match Size::find(size) {
        Ok(Size::Tiny) => 1,
        Ok(Size::Small) | Err(_) => 25,
        Ok(Size::Medium) => 250,
        Ok(Size::Large) => 3000,
    })
}

#[cfg(test)]
mod tests {
    use protocol::Placement;

    use super::*;

    use crate::plan::{self, Mode};

    fn load(elements: &str) -> Load {
        Load {
            workload: "quicksort".to_owned(),
            size: "tiny".to_owned(),
            parameters: BTreeMap::from([("elements".to_owned(), elements.to_owned())]),
            input: None,
        }
    }

    /// One cell of one trial, apart from the sequential one.
    fn asked(load: Load) -> Asked {
        Asked {
            machine: None,
            preset: "smoke".to_owned(),
            experiment: None,
            branches: vec!["master".to_owned()],
            baseline: "master".to_owned(),
            twin: false,
            workloads: vec![load],
            threads: vec![1],
            modes: vec![Mode::Dynamic],
            placements: vec![Placement::Free],
            trials: 1,
            warmup_iterations: 0,
            iterations: 1,
            seed: 1,
            timeout_s: 60.0,
            layouts: 1,
            instrument: None,
        }
    }

    fn estimate(past: &Past, asked: &Asked) -> Estimate {
        let identities = BTreeMap::from([("master".to_owned(), String::new())]);
        past.estimate(asked, &plan::order(asked, &identities))
    }

    /// Whether a record of 1 ms tells something of a planned load.
    fn tells(line: &str, planned: &Load) -> bool {
        let measured: Measured<'_> = serde_json::from_str(line).unwrap();
        measured.is_of(planned) && measured.iteration_ns() == Some(1e6)
    }

    #[test]
    fn a_measured_time_counts_for_the_same_parameters_and_input_only() {
        let line = r#"{"outcome":"ok","workload":"quicksort","size":"tiny","parameters":{"elements":"1000"},
            "input":null,"program":"parallel","threads":1,"iterations":[{"elapsed_ns":1000000}],"new":7}"#;
        assert!(tells(line, &load("1000")));
        assert!(!tells(line, &load("1000000000")));
        assert!(!tells(&line.replace("null", "\"other\""), &load("1000")));
        assert!(!tells(&line.replace("ok", "crash"), &load("1000")));
    }

    #[test]
    fn what_was_measured_is_not_guessed() {
        let asked = asked(load("1000"));
        let known = kinds(&asked).map(|kind| (kind, 1e9)).collect();
        let past = Past { iteration_ns: known, ..Past::default() };
        let Estimate { time, measured_share } = estimate(&past, &asked);
        assert!(time > Duration::from_secs(2) && measured_share > 0.99, "{time:?}");
        assert!(estimate(&Past::default(), &asked).measured_share < 0.01);
    }

    #[test]
    fn what_only_other_hosts_measured_takes_as_long_as_there_with_the_nearest_threads() {
        let mut asked = asked(load("1000"));
        asked.threads = vec![64];
        let of = |threads, program| Kind { load: 0, program, threads };
        let elsewhere_ns = HashMap::from([
            (of(1, Program::Parallel), 9e9),
            (of(4, Program::Parallel), 3e9),
            (of(1, Program::Sequential), 1e9),
        ]);
        let Estimate { time, measured_share } =
            estimate(&Past { elsewhere_ns, ..Past::default() }, &asked);
        assert!((Duration::from_secs(4)..Duration::from_secs(5)).contains(&time), "{time:?}");
        assert!(measured_share < 0.01);
    }

    #[test]
    fn what_runs_for_a_given_time_is_guessed_from_its_parameters() {
        let timed = |duration_ms: &str| {
            let parameters = [("stop", "timed"), ("duration-ms", duration_ms)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
            let packets =
                Load { workload: "packets".to_owned(), parameters: parameters.into(), ..load("1") };
            estimate(&Past::default(), &asked(packets)).time
        };
        // One trial of either program, one iteration each.
        assert_eq!(timed("7000"), timed("1000") + 2 * Duration::from_secs(6));
    }
}
