//! Loom models of the real [`Sleep`](super::Sleep), latch and slots, with the counters of every row
//! of `branches.toml`. They run in all schedules, and with all stale values that the memory model
//! allows, within a bound on preemptions.
//!
//! | file           | holds                                                            |
//! |----------------|------------------------------------------------------------------|
//! | `queues.rs`    | queues with crossbeam's orderings, as loom cannot see into those |
//! | `on_demand.rs` | jobs that are private until a worker is idle: pool and results |
//! | `in_public.rs` | a FIFO pool, where no job is private |
//! | `pool.rs`      | workers that search, run and wait as the real ones do            |
//! | `scenarios.rs` | what happens in a model, and what must be true at its end        |
//! | `mutants.rs`   | the same code with one mistake planted                           |
//! | `outcomes.rs`  | which scenario each variant must pass, and each mutant must fail |
//!
//! The README, section 11, says how to run them, and what they found. Padding is not modelled: it
//! is placement, and loom has none.

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

/// The variable that makes a child process run the model that its parent expects to fail.
const CHILD: &str = "FORK_LOOM_CHILD";
/// Begins the line in which a child says how many executions it needed.
const FAILED_IN: &str = "failed in execution";
/// The variable that selects the larger preemption bounds.
const DEEP: &str = "FORK_LOOM_DEEP";

/// Loom's message if all threads are blocked, as after a lost wake-up.
pub(crate) const LOST: &str = "deadlock; threads";

/// Loom's message if an access is not ordered after another thread's.
pub(crate) const UNORDERED: &str = "Causality violation";

/// How far loom explores a scenario: the largest number of times that a thread which could run on
/// is made to wait.
///
/// `None` means every schedule. With a bound, loom's pruning may also miss schedules that keep
/// within it.
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
/// Three threads whose pushes have one more step, the light fence.
const TRIO_WITH_STEPS: Bounds = Bounds {
    fast: Some(1),
    deep: Some(2),
};

/// A test for each row: the scenario must hold in every execution within its bounds.
macro_rules! holds {
    ($($name:ident: $bounds:expr, $play:expr;)*) => {
        $(#[test]
        fn $name() {
            $crate::sleep::models::must_hold($bounds, $play);
        })*
    };
}

/// A test for each row: the scenario must fail in some execution, by a message that has this part.
macro_rules! is_caught {
    ($($name:ident: $bounds:expr, $symptom:expr, $play:expr;)*) => {
        $(#[test]
        fn $name() {
            $crate::sleep::models::must_fail($bounds, $symptom, $play);
        })*
    };
}

pub(crate) use {holds, is_caught};

/// Returns the name of the scenario and of its types, without their modules.
fn subject_of<P>(_: &P) -> String {
    let name = std::any::type_name::<P>();
    if name.ends_with("{{closure}}") {
        return "steps of the test".to_owned();
    }
    let words = name.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    words.filter_map(|word| word.rsplit("::").next()).collect()
}

/// Prints the result of the running test: its promise, its model, its bound, and the number of
/// executions.
fn report(subject: &str, bounds: Bounds, executions: usize, result: &str) {
    let test = this_test();
    let promise = test
        .rsplit_once("outcomes::")
        .or_else(|| test.rsplit_once("models::"))
        .map_or(test.as_str(), |(_, promise)| promise);
    let bound = bounds
        .chosen()
        .map_or_else(|| "none".to_owned(), |bound| bound.to_string());
    // The test harness leaves its own line open.
    println!("\n| {promise} | {subject} | {bound} | {executions} | {result} |");
}

fn this_test() -> String {
    std::thread::current()
        .name()
        .expect("tests run in threads that bear their names")
        .to_owned()
}

/// Runs `scenario` in every execution within its bounds. It does so once with loom's own fences and
/// once with fences as events (see [`begin_execution`]). Returns the number of executions.
///
/// # Panics
///
/// Panics if an execution ends in a failed assertion. An execution that ends with every thread
/// blocked aborts the process.
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

/// The scenario must hold in every execution.
pub(crate) fn must_hold(bounds: Bounds, play: impl Fn() + Copy + Send + Sync + 'static) {
    let executions = explore(bounds, play);
    assert!(
        executions > 2,
        "a model with one execution explores no interleaving"
    );
    report(&subject_of(&play), bounds, executions, "holds");
}

/// Some execution must fail, with a message that contains `symptom`.
///
/// The model runs in a child, which runs the same test by its name: a deadlock under loom takes its
/// process with it.
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
    let subject = subject_of(&play);
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
        "{subject}: the planted mistake was not found\n{output}"
    );
    assert!(
        output.contains(symptom),
        "{subject}: failed, but not by `{symptom}`\n{output}"
    );
    let executions = output
        .lines()
        .find_map(|line| line.strip_prefix(FAILED_IN)?.trim().parse().ok());
    report(
        &subject,
        bounds,
        executions.expect("a failing child says when"),
        "caught",
    );
}
