//! Tests the order of trials. A fake that replaces the processes records the order.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use protocol::{Events, Iteration, Outcome, Placement, Program, Request, SCHEMA, Usage};
use runner::build::binary::{RunTrial, TrialExit, TrialFailure};
use runner::host::Host;
use runner::host::frequency::{ClockReading, ControlFrequency};
use runner::host::sensors::Sensors;
use runner::plan::{self, Instrument, Load, Mode, Plan, SweepRequest, Trial};
use runner::record::{Done, Ending, FreqState, Record};
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

fn job<'a>(asked: &'a SweepRequest, plan: &'a Plan, done: Done) -> Job<'a> {
    Job {
        root: Path::new("."),
        asked,
        plan,
        inputs: asked.workloads.iter().map(|_| None).collect(),
        done,
        cpus: 2,
        settle: Duration::ZERO,
    }
}

fn run_job(
    job: &Job<'_>,
    fake: &mut Fake,
    keep: &mut dyn FnMut(&Record) -> anyhow::Result<()>,
) -> (anyhow::Result<Tally>, Vec<Mode>) {
    let mut modes = Modes::default();
    let around = &mut SweepContext {
        trials: &mut [fake],
        frequency: &mut modes,
        keep,
        watch: &mut Nobody,
        is_interrupted: &|| false,
        sensors: &Sensors::of(&Host::default()),
    };
    let result = sweep::run(job, around);
    assert!(modes.is_left, "the host must get its frequency back");
    (result, modes.entered)
}

struct Ran {
    plan: Plan,
    tally: Tally,
    records: Vec<Record>,
    modes: Vec<Mode>,
}

fn run(asked: &SweepRequest, done: Done, fake: &mut Fake) -> Ran {
    let plan = plan_of(asked);
    let mut records = Vec::new();
    let mut keep = |record: &Record| {
        records.push(record.clone());
        Ok(())
    };
    let (tally, modes) = run_job(&job(asked, &plan, done), fake, &mut keep);
    Ran {
        tally: tally.unwrap(),
        plan,
        records,
        modes,
    }
}

fn all(asked: &SweepRequest, fake: &mut Fake) -> Ran {
    run(asked, Done::new(), fake)
}

fn planned(plan: &Plan) -> Vec<Id> {
    plan.trials().map(|trial| trial.id).collect()
}

#[test]
fn every_planned_trial_runs_once_in_order_as_its_record_says() {
    let asked = SweepRequest {
        layouts: 2,
        placements: vec![Placement::Free, Placement::Pinned],
        ..asked()
    };
    let mut fake = Fake::default();
    let ran = all(&asked, &mut fake);
    let ids: Vec<Id> = ran.records.iter().map(|record| record.trial).collect();
    assert_eq!(ids, planned(&ran.plan));
    let Tally {
        trials,
        failed,
        in_trials,
        is_interrupted,
        ..
    } = ran.tally;
    assert_eq!((trials, failed, is_interrupted), (ids.len(), 0, false));
    assert_eq!(
        in_trials,
        Duration::from_millis(3) * u32::try_from(trials).unwrap()
    );
    assert!(ran.records.iter().any(|it| it.branch == "master-again"));
    for ((binary, layout, request), record) in fake.calls.iter().zip(&ran.records) {
        assert_eq!(binary, record.branch.trim_end_matches("-again"));
        assert_eq!(record.layout.map(|seed| seed as usize), Some(layout + 1));
        assert_eq!(
            (request.threads, request.program, request.placement),
            (record.threads, record.program, record.placement)
        );
        let numbers = (request.warmup_iterations, request.iterations, request.seed);
        assert_eq!(numbers, (1, 3, 5));
        assert_eq!(request.parameters["elements"], "9");
        assert_eq!(record.oversubscribed, record.threads > 2);
        assert!(request.program == Program::Parallel || request.threads == 1);
    }
    let pinned = ran
        .records
        .iter()
        .filter(|it| it.placement == Placement::Pinned);
    assert_eq!(2 * pinned.count(), trials);
}

#[test]
fn a_failed_trial_is_recorded_with_its_reason_and_the_sweep_goes_on() {
    let no_time = "field `iterations` is empty though `outcome` is `ok`";
    for (fails_at, tells_no_time_at, outcome, reason) in [
        (Some(3), None, Ending::Timeout, "no answer"),
        (None, Some(3), Ending::BadOutput, no_time),
    ] {
        let mut fake = Fake {
            fails_at,
            tells_no_time_at,
            ..Fake::default()
        };
        let ran = all(&asked(), &mut fake);
        assert_eq!((ran.tally.trials, ran.tally.failed), (ran.plan.len(), 1));
        let record = &ran.records[3];
        assert_eq!(
            (record.outcome, record.reason.as_deref()),
            (outcome, Some(reason))
        );
        assert!(record.metrics.is_empty() && record.usage.is_none());
        assert_eq!(ran.records[4].outcome, Ending::Ok);
    }
}

#[test]
fn after_an_interrupt_the_rest_and_only_the_rest_runs() {
    let mut first = Fake {
        interrupted_at: Some(5),
        ..Fake::default()
    };
    let before = all(&asked(), &mut first);
    assert!(before.tally.is_interrupted);
    assert_eq!(before.records.len(), 5);
    let ids = before.records.iter().map(|record| record.trial);
    let done = ids.map(|id| (id, None)).collect();
    let after = run(&asked(), done, &mut Fake::default());
    assert!(!after.tally.is_interrupted);
    let records = before.records.iter().chain(&after.records);
    let ids: Vec<Id> = records.map(|record| record.trial).collect();
    assert_eq!(ids, planned(&after.plan));
}

#[test]
fn a_record_that_cannot_be_kept_stops_the_sweep() {
    let (asked, mut fake) = (asked(), Fake::default());
    let plan = plan_of(&asked);
    let job = job(&asked, &plan, Done::new());
    let (result, _) = run_job(&job, &mut fake, &mut |_| anyhow::bail!("disk full"));
    assert_eq!(result.unwrap_err().to_string(), "disk full");
    assert_eq!(fake.calls.len(), 1);
}

#[test]
fn modes_change_once_a_round_and_label_their_trials() {
    let asked = SweepRequest {
        modes: vec![Mode::Dynamic, Mode::Fixed],
        ..asked()
    };
    let ran = all(&asked, &mut Fake::default());
    assert!(ran.modes.len() <= 2 * asked.trials as usize);
    for record in ran.records {
        let expected = match record.mode {
            Mode::Fixed => FreqState::FixedVerified,
            Mode::Dynamic => FreqState::Dynamic,
        };
        assert_eq!(record.freq_state, expected);
        let clocks = (record.ghz_before, record.ghz_after);
        assert_eq!(clocks, (Some(2.0), Some(2.5)));
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
    let records = all(&asked, &mut Fake::default()).records.into_iter();
    let (counted, timed): (Vec<Record>, Vec<Record>) =
        records.partition(|record| record.branch == "packed-instrumented");
    assert_eq!(counted.len(), 2 * 2);
    for record in counted {
        let events = record.events.unwrap();
        assert_eq!(events.workers.len(), record.threads);
        assert!(record.iterations.is_empty() && record.warmup.is_empty());
        assert!(record.usage.is_none() && record.metrics.is_empty());
    }
    let has_times = |it: &Record| it.events.is_none() && it.iterations.len() == 3;
    assert!(timed.iter().all(has_times));
}
