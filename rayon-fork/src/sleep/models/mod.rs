//! Loom models of the real [`Sleep`](super::Sleep), latch and slots, with the counters of the rows
//! of `branches.toml` except `reads-both`, which only adds a load. Loom runs all schedules, with
//! all stale values that the memory model allows, within a bound on preemptions.
//!
//! | file           | content                                                          |
//! |----------------|------------------------------------------------------------------|
//! | `queues.rs`    | queues that loom can see into, with crossbeam's orderings        |
//! | `on_demand.rs` | jobs that are private until a worker is idle                     |
//! | `in_public.rs` | a FIFO pool, where no job is private                             |
//! | `pool.rs`      | workers that search, run and wait as real workers do             |
//! | `scenarios.rs` | what happens in a model, and what must be true at its end        |
//! | `mutants.rs`   | the same code with one mistake planted                           |
//! | `outcomes.rs`  | which scenario each variant must pass, and each mutant must fail |
//!
//! The README, section 11, says how to run the models. No model has padding, because loom has no
//! cache lines.

mod in_public;
mod mutants;
mod on_demand;
mod outcomes;
mod pool;
mod queues;
mod scenarios;

use crate::sync::modelled::begin_execution;
use loom::model::Builder;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A variable that is set in a child process, in which the model is expected to fail.
const CHILD: &str = "FORK_LOOM_CHILD";
/// The text that begins the line in which a child says how many executions it needed.
const FAILED_IN: &str = "failed in execution";
/// The variable that selects the larger preemption bounds.
const DEEP: &str = "FORK_LOOM_DEEP";

/// Loom's message if all threads are blocked, as after a lost wake-up.
pub(crate) const LOST: &str = "deadlock; threads";

/// Loom's message if an access is not ordered after another thread's.
pub(crate) const UNORDERED: &str = "Causality violation";

/// How far loom explores a scenario: the largest number of preemptions, or every schedule. With a
/// bound on preemptions, loom may also miss schedules that keep within the bound.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) fast: Option<usize>,
    pub(crate) deep: Option<usize>,
}

impl Bounds {
    fn chosen(self) -> Option<usize> {
        if std::env::var_os(DEEP).is_some() {
            self.deep
        } else {
            self.fast
        }
    }
}

/// Two threads: few enough for every schedule, if there is enough time.
const PAIR: Bounds = Bounds {
    fast: Some(2),
    deep: None,
};
/// Two threads that both sleep. The larger bound is the largest that ends in reasonable time.
const TWO_SLEEPERS: Bounds = Bounds {
    fast: Some(2),
    deep: Some(4),
};
/// Three threads. The larger bound is the largest that ends in reasonable time.
pub(crate) const TRIO: Bounds = Bounds {
    fast: Some(2),
    deep: Some(3),
};
/// Three threads whose pushes have one more step, the light side of a fence.
const TRIO_WITH_STEPS: Bounds = Bounds {
    fast: Some(1),
    deep: Some(2),
};

/// Creates a test for each row: the scenario must hold in every execution within its bounds.
macro_rules! holds {
    ($($name:ident: $bounds:expr, $play:expr;)*) => {
        $(#[test]
        fn $name() {
            $crate::sleep::models::must_hold($bounds, $play);
        })*
    };
}

/// Creates a test for each row: the scenario must fail in some execution, with a message that
/// contains `$symptom`.
macro_rules! is_caught {
    ($($name:ident: $bounds:expr, $symptom:expr, $play:expr;)*) => {
        $(#[test]
        fn $name() {
            $crate::sleep::models::must_fail($bounds, $symptom, $play);
        })*
    };
}

pub(crate) use {holds, is_caught};

fn report(bounds: Bounds, executions: usize, result: &str) {
    let bound = bounds.chosen();
    // The line begins with a line break, because the test harness has printed the test's name
    // without one.
    println!(
        "\n{}: bound {bound:?}, {executions} executions, {result}",
        this_test()
    );
}

fn this_test() -> String {
    std::thread::current()
        .name()
        .expect("tests run in threads that bear their names")
        .to_owned()
}

/// Runs `scenario` in every execution within its bounds, with loom's own fences and with fences as
/// events (see [`begin_execution`]). Panics if an assertion fails; if every thread blocks, the
/// process aborts.
fn explore(bounds: Bounds, scenario: impl Fn() + Copy + Send + Sync + 'static) -> usize {
    let executions = Arc::new(AtomicUsize::new(0));
    if std::env::var_os(CHILD).is_some() {
        let executions = Arc::clone(&executions);
        let default_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            eprintln!("\n{FAILED_IN} {}", executions.load(Ordering::Relaxed));
            default_hook(panic);
        }));
    }
    for are_fences_events in [false, true] {
        let mut builder = Builder::new();
        builder.preemption_bound = bounds.chosen();
        builder.max_branches = 10_000;
        let executions = Arc::clone(&executions);
        builder.check(move || {
            executions.fetch_add(1, Ordering::Relaxed);
            begin_execution(are_fences_events);
            scenario();
        });
    }
    executions.load(Ordering::Relaxed)
}

pub(crate) fn must_hold(bounds: Bounds, play: impl Fn() + Copy + Send + Sync + 'static) {
    let executions = explore(bounds, play);
    assert!(
        executions > 2,
        "a model with at most two executions explores no interleaving"
    );
    report(bounds, executions, "holds");
}

/// Panics unless some execution fails with a message that contains `symptom`. The model runs in a
/// child process, because a deadlock under loom ends its process.
pub(crate) fn must_fail(
    bounds: Bounds,
    symptom: &str,
    play: impl Fn() + Copy + Send + Sync + 'static,
) {
    if std::env::var_os(CHILD).is_some() {
        let executions = explore(bounds, play);
        println!("nothing found in {executions} executions");
        return;
    }
    let child = Command::new(std::env::current_exe().expect("a running program has a path"))
        .args([
            this_test().as_str(),
            "--exact",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, "1")
        .env("RUST_BACKTRACE", "0")
        .output()
        .expect("a test binary can run itself");
    let output = format!(
        "{}{}",
        String::from_utf8_lossy(&child.stdout),
        String::from_utf8_lossy(&child.stderr)
    );
    assert!(
        !child.status.success(),
        "the planted mistake was not found\n{output}"
    );
    assert!(
        output.contains(symptom),
        "failed, but not by `{symptom}`\n{output}"
    );
    let executions = output
        .lines()
        .find_map(|line| line.strip_prefix(FAILED_IN)?.trim().parse().ok());
    let executions = executions.expect("a failing child says when");
    report(bounds, executions, "caught");
}
