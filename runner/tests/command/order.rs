//! Tests the order of trials, seen by a fake that replaces the processes.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Duration;

use protocol::{Events, Iteration, Outcome, Placement, Program, Request, SCHEMA, Usage};
use runner::build::binary::{RunTrial, TrialExit, TrialFailure};
use runner::host::Host;
use runner::host::frequency::{ClockReading, ControlFrequency};
use runner::host::sensors::Sensors;
use runner::plan::{self, Instrument, Load, Mode, Plan, SweepRequest, Trial};
use runner::record::{Ending, FreqState, Record};
use runner::run::sweep::{self, Job, SweepContext, Tally, Watch};
use runner::system::digest::Id;

fn asked() -> SweepRequest {
    SweepRequest {
        branches: vec!["master".to_owned(), "packed".to_owned()],
        baseline: "master".to_owned(),
        twin: true,
        workloads: vec![Load {
            workload: "quicksort".to_owned(),
            size: "tiny".to_owned(),
            parameters: [("elements".to_owned(), "9".to_owned())].into(),
            input: None,
        }],
        threads: vec![1, 4],
        modes: vec![Mode::Dynamic],
        placements: vec![Placement::Free],
        trials: 2,
        warmup_iterations: 1,
        iterations: 3,
        seed: 5,
        timeout_s: 1.0,
        layouts: 1,
        ..SweepRequest::default()
    }
}

fn plan_of(asked: &SweepRequest) -> Plan {
    let instrumented = asked.instrument.iter().flat_map(|it| &it.branches);
    let names = asked.branches.iter().chain(instrumented);
    let identities = names.map(|name| (name.clone(), name.clone())).collect();
    plan::order(asked, &identities)
}

const ITERATION: Iteration = Iteration {
    elapsed_ns: 9,
    user_ns: 9,
    system_ns: 0,
    work_units: 1,
};

/// Remembers the requested trials; fails or is interrupted at chosen calls.
#[derive(Default)]
struct Fake {
    calls: Vec<(String, usize, Request)>,
    fails_at: Option<usize>,
    tells_no_time_at: Option<usize>,
    interrupted_at: Option<usize>,
}

impl RunTrial for Fake {
    fn run_trial(&mut self, branch: &str, layout: usize, request: &Request) -> Option<TrialExit> {
        let call = self.calls.len();
        if self.interrupted_at == Some(call) {
            return None;
        }
        self.calls
            .push((branch.to_owned(), layout, request.clone()));
        let result = if self.fails_at == Some(call) {
            let reason = "no answer".to_owned();
            Err(TrialFailure {
                ending: Ending::Timeout,
                reason,
                stderr_tail: None,
            })
        } else {
            Ok(Outcome {
                simulated: None,
                schema: SCHEMA,
                variant: "upstream".to_owned(),
                parameters: BTreeMap::new(),
                answer: "42".to_owned(),
                work_unit: "elements".to_owned(),
                warmup: Vec::new(),
                iterations: match self.tells_no_time_at {
                    Some(it) if it == call => Vec::new(),
                    _ => vec![ITERATION; 3],
                },
                usage: Usage::default(),
                metrics: BTreeMap::new(),
                events: branch.ends_with("-instrumented").then(|| Events {
                    iterations: 3,
                    work_units: 3,
                    workers: vec![BTreeMap::from([("pushes".to_owned(), 5)]); request.threads],
                    outside: BTreeMap::new(),
                }),
            })
        };
        Some(TrialExit {
            process: Duration::from_millis(3),
            result,
        })
    }
}

/// Remembers which modes were entered, and that they were left.
#[derive(Default)]
struct Modes {
    entered: Vec<Mode>,
    is_left: bool,
}

impl ControlFrequency for Modes {
    fn before(&mut self, mode: Mode, _threads: usize) -> anyhow::Result<()> {
        if self.entered.last() != Some(&mode) {
            self.entered.push(mode);
        }
        Ok(())
    }

    fn after(&mut self) -> ClockReading {
        let is_fixed = self.entered.last() == Some(&Mode::Fixed);
        let state = if is_fixed {
            FreqState::FixedVerified
        } else {
            FreqState::Dynamic
        };
        ClockReading {
            state,
            ghz_before: Some(2.0),
            ghz_after: Some(2.5),
        }
    }

    fn leave(&mut self) -> anyhow::Result<()> {
        self.is_left = true;
        Ok(())
    }
}

struct Nobody;

impl Watch for Nobody {
    fn begin(&mut self, _load: &Load, _trial: &Trial<'_>) {}
    fn end(&mut self, _record: &Record) {}
}

fn run(
    asked: &SweepRequest,
    plan: &Plan,
    done: HashSet<Id>,
    fake: &mut Fake,
) -> (Tally, Vec<Record>, Vec<Mode>) {
    let inputs = asked.workloads.iter().map(|_| None).collect();
    let job = Job {
        root: Path::new("."),
        asked,
        plan,
        inputs,
        done,
        cpus: 2,
        settle: Duration::ZERO,
    };
    let mut records = Vec::new();
    let mut modes = Modes::default();
    let tally = sweep::run(
        &job,
        &mut SweepContext {
            trials: &mut [fake],
            frequency: &mut modes,
            keep: &mut |record| {
                records.push(record.clone());
                Ok(())
            },
            watch: &mut Nobody,
            is_interrupted: &|| false,
            sensors: &Sensors::of(&Host::default()),
        },
    )
    .unwrap();
    assert!(modes.is_left);
    (tally, records, modes.entered)
}

#[test]
fn every_planned_trial_runs_once_and_in_the_planned_order() {
    let (asked, mut fake) = (asked(), Fake::default());
    let plan = plan_of(&asked);
    let (tally, records, _) = run(&asked, &plan, HashSet::new(), &mut fake);
    let ran: Vec<Id> = records.iter().map(|record| record.trial).collect();
    let planned: Vec<Id> = plan.trials().map(|trial| trial.id).collect();
    assert_eq!(ran, planned);
    assert_eq!(
        (tally.trials, tally.failed, tally.is_interrupted),
        (planned.len(), 0, false)
    );
    assert_eq!(
        tally.in_trials,
        Duration::from_millis(3) * u32::try_from(planned.len()).unwrap()
    );
}

#[test]
fn the_control_runs_the_binary_of_the_baseline() {
    let (asked, mut fake) = (asked(), Fake::default());
    let plan = plan_of(&asked);
    let (_, records, _) = run(&asked, &plan, HashSet::new(), &mut fake);
    assert!(records.iter().any(|record| record.branch == "master-again"));
    for ((binary, ..), record) in fake.calls.iter().zip(&records) {
        let expected = if record.branch == "master-again" {
            "master"
        } else {
            &record.branch
        };
        assert_eq!(binary, expected);
    }
}

#[test]
fn trials_run_in_the_link_order_that_their_record_names() {
    let (asked, mut fake) = (
        SweepRequest {
            layouts: 2,
            ..asked()
        },
        Fake::default(),
    );
    let plan = plan_of(&asked);
    let (_, records, _) = run(&asked, &plan, HashSet::new(), &mut fake);
    for ((_, layout, _), record) in fake.calls.iter().zip(&records) {
        assert_eq!(record.layout.map(|seed| seed as usize), Some(layout + 1));
    }
}

#[test]
fn requests_say_what_the_record_says() {
    let (asked, mut fake) = (asked(), Fake::default());
    let plan = plan_of(&asked);
    let (_, records, _) = run(&asked, &plan, HashSet::new(), &mut fake);
    for ((.., request), record) in fake.calls.iter().zip(&records) {
        assert_eq!(
            (request.threads, request.program),
            (record.threads, record.program)
        );
        assert_eq!(
            (request.warmup_iterations, request.iterations, request.seed),
            (1, 3, 5)
        );
        assert_eq!(request.parameters["elements"], "9");
        assert_eq!(record.oversubscribed, record.threads > 2);
        assert!(request.program == Program::Parallel || request.threads == 1);
    }
}

#[test]
fn an_answer_without_times_is_a_failed_trial_that_can_be_read_again() {
    let mut fake = Fake {
        tells_no_time_at: Some(3),
        ..Fake::default()
    };
    let (tally, records, _) = run(&asked(), &plan_of(&asked()), HashSet::new(), &mut fake);
    assert_eq!(tally.failed, 1);
    let record = &records[3];
    let reason = record.reason.as_deref().unwrap();
    assert_eq!(
        (record.outcome, reason),
        (
            Ending::BadOutput,
            "field `iterations` is empty though `outcome` is `ok`"
        )
    );
    assert!(record.metrics.is_empty() && record.usage.is_none());
}

#[test]
fn a_failed_trial_is_recorded_and_the_sweep_goes_on() {
    let (asked, mut fake) = (
        asked(),
        Fake {
            fails_at: Some(3),
            ..Fake::default()
        },
    );
    let plan = plan_of(&asked);
    let (tally, records, _) = run(&asked, &plan, HashSet::new(), &mut fake);
    assert_eq!((tally.trials, tally.failed), (plan.len(), 1));
    assert_eq!(
        (records[3].outcome, records[3].reason.as_deref()),
        (Ending::Timeout, Some("no answer"))
    );
    assert_eq!(records[4].outcome, Ending::Ok);
}

#[test]
fn after_an_interrupt_the_rest_and_only_the_rest_runs() {
    let asked = asked();
    let plan = plan_of(&asked);
    let mut first = Fake {
        interrupted_at: Some(5),
        ..Fake::default()
    };
    let (tally, before, _) = run(&asked, &plan, HashSet::new(), &mut first);
    assert!(tally.is_interrupted);
    assert_eq!(before.len(), 5);
    let done = before.iter().map(|record| record.trial).collect();
    let (tally, after, _) = run(&asked, &plan, done, &mut Fake::default());
    assert!(!tally.is_interrupted);
    let all: Vec<Id> = before
        .iter()
        .chain(&after)
        .map(|record| record.trial)
        .collect();
    let planned: Vec<Id> = plan.trials().map(|trial| trial.id).collect();
    assert_eq!(all, planned);
}

#[test]
fn a_record_that_cannot_be_kept_stops_the_sweep() {
    let (asked, mut fake) = (asked(), Fake::default());
    let plan = plan_of(&asked);
    let job = Job {
        root: Path::new("."),
        asked: &asked,
        plan: &plan,
        inputs: vec![None],
        done: HashSet::new(),
        cpus: 2,
        settle: Duration::ZERO,
    };
    let mut modes = Modes::default();
    let result = sweep::run(
        &job,
        &mut SweepContext {
            trials: &mut [&mut fake],
            frequency: &mut modes,
            keep: &mut |_| anyhow::bail!("disk full"),
            watch: &mut Nobody,
            is_interrupted: &|| false,
            sensors: &Sensors::of(&Host::default()),
        },
    );
    assert_eq!(result.unwrap_err().to_string(), "disk full");
    assert_eq!(fake.calls.len(), 1);
    assert!(modes.is_left, "the host must get its frequency back");
}

#[test]
fn modes_change_once_a_round_and_label_their_trials() {
    let asked = SweepRequest {
        modes: vec![Mode::Dynamic, Mode::Fixed],
        ..asked()
    };
    let plan = plan_of(&asked);
    let (_, records, modes) = run(&asked, &plan, HashSet::new(), &mut Fake::default());
    assert!(modes.len() <= 2 * asked.trials as usize, "{modes:?}");
    for record in records {
        let expected = if record.mode == Mode::Fixed {
            FreqState::FixedVerified
        } else {
            FreqState::Dynamic
        };
        assert_eq!(record.freq_state, expected);
        assert_eq!(
            (record.ghz_before, record.ghz_after),
            (Some(2.0), Some(2.5))
        );
    }
}

#[test]
fn a_trial_is_asked_to_run_where_its_block_says_and_its_record_tells() {
    let asked = SweepRequest {
        placements: vec![Placement::Free, Placement::Pinned],
        ..asked()
    };
    let plan = plan_of(&asked);
    let mut fake = Fake::default();
    let (_, records, _) = run(&asked, &plan, HashSet::new(), &mut fake);
    let placed = |of: Placement| {
        records
            .iter()
            .filter(|record| record.placement == of)
            .count()
    };
    assert_eq!(
        (placed(Placement::Free), placed(Placement::Pinned)),
        (14, 14)
    );
    for (record, (_, _, request)) in records.iter().zip(&fake.calls) {
        assert_eq!(record.placement, request.placement);
    }
}

#[test]
fn a_trial_of_an_instrumented_build_has_counts_and_no_times() {
    let instrument = Instrument {
        branches: vec!["packed-instrumented".to_owned()],
        trials: 2,
    };
    let asked = SweepRequest {
        instrument: Some(instrument),
        ..asked()
    };
    let plan = plan_of(&asked);
    let (_, records, _) = run(&asked, &plan, HashSet::new(), &mut Fake::default());
    let (counted, timed): (Vec<Record>, Vec<Record>) = records
        .into_iter()
        .partition(|record| record.branch == "packed-instrumented");
    assert_eq!(counted.len(), 2 * 2);
    for record in counted {
        let events = record.events.unwrap();
        assert_eq!(events.workers.len(), record.threads);
        assert!(record.iterations.is_empty() && record.warmup.is_empty());
        assert!(record.usage.is_none() && record.metrics.is_empty());
    }
    assert!(
        timed
            .iter()
            .all(|record| record.events.is_none() && record.iterations.len() == 3)
    );
}
