use std::collections::BTreeMap;
use std::sync::LazyLock;

use protocol::{Description, Failure, Metric, Program, Refusal};
use workloads::CATALOGUE;
use workloads::measure::{run, trial};
use workloads::workload::{Instance, Mismatch, Setup, Workload};

use crate::common::request;

#[test]
fn a_tour_is_one_unit_of_work_however_many_nodes_were_visited() {
    for (program, threads) in [(Program::Sequential, 1), (Program::Parallel, 3)] {
        let outcome = run("test", CATALOGUE, &request("tsp", program, threads, 0)).unwrap();
        assert!(
            outcome
                .iterations
                .iter()
                .all(|iteration| iteration.work_units == 1)
        );
        assert!(outcome.metrics["nodes"].value > 1.0);
    }
}

#[test]
fn shapes_report_latencies_and_cpu_time_with_units() {
    for name in [
        "ticks",
        "idle",
        "burst",
        "inject",
        "install",
        "barrier-join",
        "fold",
        "urgent-call",
        "pools-in-turn",
        "audio-graph",
    ] {
        let metrics = run("test", CATALOGUE, &request(name, Program::Parallel, 2, 1))
            .unwrap()
            .metrics;
        let value = |metric: &str| metrics[&format!("latency_{metric}")].value;
        let percentiles = ["p50", "p90", "p99", "p99.9", "max"].map(value);
        assert!(
            percentiles[0] > 0.0 && percentiles.is_sorted(),
            "{name}: {percentiles:?}"
        );
        assert_eq!(metrics["latency_max"].unit, "ns");
        assert_eq!(metrics["cpu_per_second"].unit, "ms/s");
    }
}

#[test]
fn the_seed_changes_the_input_of_the_workloads_with_a_random_one() {
    for name in ["quicksort", "packets", "mergesort"] {
        let [one, other] = [1, 2].map(|seed| {
            run(
                "test",
                CATALOGUE,
                &request(name, Program::Sequential, 1, seed),
            )
            .unwrap()
        });
        assert_ne!(one.answer, other.answer, "{name}");
    }
}

struct Mock(fn() -> Box<dyn Instance>);

static MOCK: LazyLock<Description> = LazyLock::new(|| Description {
    name: "mock".to_owned(),
    work_unit: "mocks".to_owned(),
    ..Description::default()
});

impl Workload for Mock {
    fn description(&self) -> &Description {
        &MOCK
    }

    fn prepare(&self, _: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(self.0())
    }
}

/// A workload whose answers are right up to and including run `lies_from`. If the workload
/// `wavers`, each answer differs from the previous one.
#[derive(Default)]
struct Liar {
    lies_from: u32,
    wavers: bool,
    runs: u32,
}

impl Liar {
    fn from(lies_from: u32) -> Self {
        Self {
            lies_from,
            ..Self::default()
        }
    }
}

impl Instance for Liar {
    fn reset(&mut self) {}

    fn run_sequential(&mut self) -> u64 {
        self.runs += 1;
        1
    }

    fn run_parallel(&mut self) -> u64 {
        self.run_sequential()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        if self.wavers {
            return Ok(self.runs.to_string());
        }
        Mismatch::unless_equal(&true, &(self.runs <= self.lies_from))
    }
}

#[test]
fn a_wrong_answer_fails_the_trial_in_the_iteration_that_gave_it() {
    let request = request("mock", Program::Parallel, 2, 1);
    let trial = |mock: fn() -> Box<dyn Instance>| trial("test", &Mock(mock), &request, None);
    let wrong = |iteration, expected: &str, actual: &str| Failure::WrongAnswer {
        iteration,
        expected: expected.to_owned(),
        actual: actual.to_owned(),
    };
    assert!(trial(|| Box::new(Liar::from(3))).is_ok());
    let at_once = trial(|| Box::new(Liar::from(0))).unwrap_err();
    assert_eq!(at_once, wrong(0, "true", "false"));
    assert_eq!(at_once.exit_code(), 1);
    let later = trial(|| Box::new(Liar::from(2))).unwrap_err();
    assert_eq!(later, wrong(2, "true", "false"));
    // Each answer passes its own check, but the answers differ from each other.
    let wavering = trial(|| {
        Box::new(Liar {
            wavers: true,
            ..Liar::default()
        })
    });
    assert_eq!(wavering.unwrap_err(), wrong(1, "1", "2"));
}

struct Panicking;

impl Instance for Panicking {
    fn reset(&mut self) {}

    fn run_sequential(&mut self) -> u64 {
        panic!("the workload is broken")
    }

    fn run_parallel(&mut self) -> u64 {
        rayon::join(|| self.run_sequential(), || ()).0
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        Ok("never checked".to_owned())
    }
}

#[test]
fn a_panic_reaches_the_caller_with_its_message_instead_of_an_answer() {
    for (program, threads) in [(Program::Sequential, 1), (Program::Parallel, 2)] {
        let request = request("mock", program, threads, 1);
        let mock = Mock(|| Box::new(Panicking));
        let panic = std::panic::catch_unwind(|| trial("test", &mock, &request, None))
            .expect_err("there is no answer");
        assert_eq!(panic.downcast_ref(), Some(&"the workload is broken"));
    }
}

/// A workload that an external thread runs. The metrics count the runs.
struct Outside {
    runs: u32,
}

impl Instance for Outside {
    fn reset(&mut self) {}

    fn forget_warmup(&mut self) {
        self.runs = 0;
    }

    fn run_sequential(&mut self) -> u64 {
        self.runs += 1;
        1
    }

    fn run_on(&mut self, pool: &rayon::ThreadPool) -> u64 {
        assert_eq!(pool.current_thread_index(), None);
        let worker = pool.install(|| std::thread::current().name().map(str::to_owned));
        assert!(worker.is_some_and(|name| name.starts_with("worker-")));
        self.run_sequential()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        Ok("ran".to_owned())
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let runs = Metric {
            value: f64::from(self.runs),
            unit: "runs".to_owned(),
        };
        BTreeMap::from([("runs".to_owned(), runs)])
    }
}

#[test]
fn a_workload_may_call_the_pool_from_an_external_thread_and_its_metrics_leave_out_the_warm_up() {
    for (program, threads) in [(Program::Parallel, 2), (Program::Sequential, 1)] {
        let mut request = request("mock", program, threads, 1);
        request.warmup_iterations = 3;
        let mock = Mock(|| Box::new(Outside { runs: 0 }));
        let outcome = trial("test", &mock, &request, None).unwrap();
        assert!(
            (outcome.metrics["runs"].value - 2.0).abs() < f64::EPSILON,
            "{program:?}"
        );
    }
}
