//! Workloads give their known answers in all their shapes, and a wrong answer is noticed.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use protocol::{Description, Failure, Metric, Program, Refusal, Request};
use workloads::CATALOGUE;
use workloads::measure::{run, run_workload};
use workloads::workload::{Instance, Mismatch, Setup, Workload};

/// Pools of one thread, of as many as small hosts have, of an odd number, and of more than there
/// are CPUs.
const THREADS: [usize; 4] = [1, 2, 3, 8];

fn request(workload: &str, program: Program, threads: usize, seed: u64) -> Request {
    Request {
        program,
        threads,
        seed,
        warmup_iterations: 1,
        iterations: 2,
        ..Request::tiny(workload)
    }
}

fn with(mut request: Request, parameters: &[(&str, &str)]) -> Request {
    for (name, value) in parameters {
        request
            .parameters
            .insert((*name).to_owned(), (*value).to_owned());
    }
    request
}

fn answer(request: &Request) -> String {
    run("test", CATALOGUE, request)
        .unwrap_or_else(|failure| panic!("{request:?}: {failure:?}"))
        .answer
}

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

/// Every way of `packets` to hand packets on: strategy, and lock where it has one.
const STRATEGIES: [(&str, &str); 12] = [
    ("serial", "mutex"),
    ("lock-free", "mutex"),
    ("home-queue", "tas"),
    ("home-queue", "mutex"),
    ("home-queue", "mcs"),
    ("home-queue", "anderson"),
    ("awesome", "tas"),
    ("awesome", "mutex"),
    ("awesome", "mcs"),
    ("awesome", "anderson"),
    ("pool", "mutex"),
    ("pool-batch", "mutex"),
];

#[test]
fn every_strategy_and_lock_of_packets_agrees_with_the_sequential_program() {
    for generator in ["uniform", "exponential"] {
        let sequential = answer(&with(
            request("packets", Program::Sequential, 1, 5),
            &[("generator", generator)],
        ));
        for (strategy, lock) in STRATEGIES {
            for threads in THREADS {
                for depth in ["1", "2", "32"] {
                    let parallel = answer(&with(
                        request("packets", Program::Parallel, threads, 5),
                        &[
                            ("generator", generator),
                            ("strategy", strategy),
                            ("lock", lock),
                            ("depth", depth),
                        ],
                    ));
                    assert_eq!(
                        parallel, sequential,
                        "{generator} {strategy} {lock} {threads} {depth}"
                    );
                }
            }
        }
    }
}

#[test]
fn timed_packets_stop_and_report_what_they_managed() {
    let sequential = (Program::Sequential, 1, STRATEGIES[0]);
    let parallel = STRATEGIES.map(|strategy| (Program::Parallel, 3, strategy));
    for (program, threads, (strategy, lock)) in [sequential].into_iter().chain(parallel) {
        let request = with(
            request("packets", program, threads, 5),
            &[
                ("stop", "timed"),
                ("duration-ms", "10"),
                ("strategy", strategy),
                ("lock", lock),
            ],
        );
        let outcome = run("test", CATALOGUE, &request).unwrap();
        for iteration in &outcome.iterations {
            assert!(
                iteration.elapsed_ns >= 10_000_000,
                "{strategy}: {iteration:?}"
            );
            assert!(iteration.work_units > 0, "{strategy}: {iteration:?}");
        }
        assert!(outcome.metrics["throughput"].value > 0.0);
        assert_eq!(outcome.metrics["throughput"].unit, "packets/ms");
    }
}

#[test]
fn shapes_give_the_same_answer_in_each_of_their_modes() {
    for (workload, parameter, modes) in [
        ("ticks", "mode", ["regions", "install"]),
        ("install", "pool", ["idle", "busy"]),
    ] {
        let sequential = answer(&request(workload, Program::Sequential, 1, 3));
        for mode in modes {
            for threads in THREADS {
                let request = request(workload, Program::Parallel, threads, 3);
                let parallel = answer(&with(request, &[(parameter, mode)]));
                assert_eq!(parallel, sequential, "{workload} {mode} {threads}");
            }
        }
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
        let answers = [1, 2].map(|seed| answer(&request(name, Program::Sequential, 1, seed)));
        assert_ne!(answers[0], answers[1], "{name}");
    }
}

#[test]
fn explicit_parameters_override_those_of_the_size_and_are_reported() {
    let request = with(request("fib-join", Program::Parallel, 2, 1), &[("n", "20")]);
    let outcome = run("test", CATALOGUE, &request).unwrap();
    assert_eq!(outcome.parameters["n"], "20");
    assert_eq!(outcome.answer, "6765");
}

/// A workload whose answer is right until a given iteration.
struct Liar {
    lies_from: u32,
    runs: u32,
}

static LIAR: LazyLock<Description> = LazyLock::new(|| Description {
    name: "liar".to_owned(),
    work_unit: "lies".to_owned(),
    ..Description::default()
});

impl Workload for Liar {
    fn description(&self) -> &Description {
        &LIAR
    }

    fn prepare(&self, _: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Liar { ..*self }))
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
        Mismatch::unless_equal(&true, &(self.runs <= self.lies_from))
    }
}

#[test]
fn a_wrong_answer_fails_the_trial_in_the_iteration_that_gave_it() {
    let request = request("liar", Program::Parallel, 2, 1);
    let lies_from = |lies_from| run_workload("test", &Liar { lies_from, runs: 0 }, &request);
    assert!(lies_from(3).is_ok());
    for iteration in [0, 2] {
        let failure = lies_from(iteration).unwrap_err();
        let (expected, actual) = ("true".to_owned(), "false".to_owned());
        assert_eq!(
            failure,
            Failure::WrongAnswer {
                iteration,
                expected,
                actual
            }
        );
        assert_eq!(failure.exit_code(), 1);
    }
}

/// A workload that panics on the pool.
struct Panicking;

impl Workload for Panicking {
    fn description(&self) -> &Description {
        &LIAR
    }

    fn prepare(&self, _: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Panicking))
    }
}

impl Instance for Panicking {
    fn reset(&mut self) {}

    fn run_sequential(&mut self) -> u64 {
        panic!("the workload is broken")
    }

    fn run_parallel(&mut self) -> u64 {
        rayon::join(|| self.run_sequential(), || ()).0
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        Ok("never asked".to_owned())
    }
}

#[test]
fn a_panic_reaches_the_caller_with_its_message_instead_of_an_answer() {
    for (program, threads) in [(Program::Sequential, 1), (Program::Parallel, 2)] {
        let request = request("liar", program, threads, 1);
        let panic = std::panic::catch_unwind(|| run_workload("test", &Panicking, &request))
            .expect_err("there is no answer");
        assert_eq!(panic.downcast_ref(), Some(&"the workload is broken"));
    }
}

/// A workload whose answers pass its own check but differ from each other.
struct Wavering(u32);

impl Workload for Wavering {
    fn description(&self) -> &Description {
        &LIAR
    }

    fn prepare(&self, _: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Wavering(self.0)))
    }
}

impl Instance for Wavering {
    fn reset(&mut self) {
        self.0 += 1;
    }

    fn run_sequential(&mut self) -> u64 {
        1
    }

    fn run_parallel(&mut self) -> u64 {
        1
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        Ok(self.0.to_string())
    }
}

#[test]
fn answers_that_differ_between_iterations_fail_the_trial() {
    let request = request("liar", Program::Sequential, 1, 1);
    let failure = run_workload("test", &Wavering(0), &request).unwrap_err();
    let (expected, actual) = ("1".to_owned(), "2".to_owned());
    assert_eq!(
        failure,
        Failure::WrongAnswer {
            iteration: 1,
            expected,
            actual
        }
    );
}

/// A workload that is run from outside the pool, and counts what its metrics are about.
struct Outside {
    runs: u32,
}

impl Workload for Outside {
    fn description(&self) -> &Description {
        &LIAR
    }

    fn prepare(&self, _: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Outside { runs: 0 }))
    }
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
fn a_workload_may_call_the_pool_from_outside_and_its_metrics_leave_out_the_warm_up() {
    for (program, threads) in [(Program::Parallel, 2), (Program::Sequential, 1)] {
        let mut request = request("liar", program, threads, 1);
        request.warmup_iterations = 3;
        let outcome = run_workload("test", &Outside { runs: 0 }, &request).unwrap();
        assert!(
            (outcome.metrics["runs"].value - 2.0).abs() < f64::EPSILON,
            "{program:?}"
        );
    }
}
