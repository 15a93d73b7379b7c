//! The five scenarios: which workload, on how many threads, how often.

use std::collections::BTreeMap;
use std::thread;

use protocol::Request;

/// An iteration that takes longer is a hang. The longest one takes about a second on an idle host.
const HANG_AFTER_MS: u64 = 60_000;

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Some seconds per branch.
    Short,
    /// As often as the sleep protocol's claims are meant to be tested.
    Long,
}

/// One load that finds lost wake-ups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    /// In the table.
    pub(super) name: &'static str,
    workload: &'static str,
    threads: Threads,
    /// The workload's parameter that says how often in an iteration.
    repetitions: &'static str,
    short: Often,
    long: Often,
    parameters: &'static [(&'static str, &'static str)],
    /// Its gaps are slept through, so its CPU time is the pool's.
    pub(super) tells_cpu_time: bool,
}

#[derive(Clone, Copy, Debug)]
enum Threads {
    Exactly(usize),
    /// As many as there are CPUs: the pool that a program gets if it says nothing.
    Cpus,
}

/// Iterations are short enough that the watchdog can tell a slow one from one that hangs.
#[derive(Clone, Copy, Debug)]
struct Often {
    in_iteration: u32,
    iterations: u32,
}

const fn often(in_iteration: u32, iterations: u32) -> Often {
    Often {
        in_iteration,
        iterations,
    }
}

/// All of them, in the order of the table.
pub(super) const SCENARIOS: [Scenario; 5] = [
    Scenario {
        name: "barrier-join",
        workload: "barrier-join",
        threads: Threads::Exactly(2),
        repetitions: "joins",
        short: often(1_000, 4),
        long: often(10_000, 100),
        parameters: &[("gap-us", "200")],
        tells_cpu_time: false,
    },
    Scenario {
        name: "two long tasks",
        workload: "two-long-tasks",
        threads: Threads::Exactly(2),
        repetitions: "joins",
        short: often(20, 5),
        long: often(100, 100),
        parameters: &[("task-us", "5000"), ("gap-us", "1000")],
        tells_cpu_time: false,
    },
    Scenario {
        name: "ping-pong",
        workload: "injection-ping-pong",
        // Nobody else can come to the rescue.
        threads: Threads::Exactly(1),
        repetitions: "jobs",
        short: often(5_000, 4),
        long: often(10_000, 100),
        parameters: &[("gap-us", "50")],
        tells_cpu_time: false,
    },
    Scenario {
        name: "broadcast",
        workload: "broadcast-dozing",
        threads: Threads::Exactly(4),
        repetitions: "broadcasts",
        short: often(1_000, 4),
        long: often(1_000, 100),
        parameters: &[("gap-us", "100")],
        tells_cpu_time: false,
    },
    Scenario {
        name: "sparse ticking",
        workload: "idle",
        threads: Threads::Cpus,
        repetitions: "spawns",
        short: often(500, 2),
        long: often(1_000, 60),
        parameters: &[("period-us", "1000")],
        tells_cpu_time: true,
    },
];

impl Scenario {
    /// What the branch's binary is asked. Nothing is left out as a warm-up.
    pub(super) fn request(&self, form: Form) -> Request {
        let often = match form {
            Form::Short => self.short,
            Form::Long => self.long,
        };
        let mut parameters: BTreeMap<String, String> = self
            .parameters
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        parameters.insert(self.repetitions.to_owned(), often.in_iteration.to_string());
        Request {
            size: "small".to_owned(),
            parameters,
            threads: match self.threads {
                Threads::Exactly(threads) => threads,
                Threads::Cpus => thread::available_parallelism().map_or(1, usize::from),
            },
            iterations: often.iterations,
            hang_after_ms: Some(HANG_AFTER_MS),
            ..Request::tiny(self.workload)
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::PathBuf;
    use std::sync::LazyLock;
    use std::time::Duration;

    use protocol::Outcome;
    use runner::build::Builder;
    use runner::config::Config;
    use runner::config::checkout::Checkout;
    use runner::run::trial;

    use super::*;

    /// A build of the branch `packed`, as sweeps have it.
    static PACKED: LazyLock<PathBuf> = LazyLock::new(|| {
        let checkout =
            Checkout::find(Some(&crate::shell::at_root().unwrap().current_dir())).unwrap();
        let folder = checkout.root().to_owned();
        let config = Config::read(&folder.join("branches.toml")).unwrap();
        let branch = config
            .branches
            .iter()
            .find(|branch| branch.name == "packed")
            .unwrap();
        let builder = Builder::new(&checkout, &folder, 1).unwrap();
        let _lock = builder.lock().unwrap();
        let built = builder
            .build(branch, builder.prepare(branch).unwrap(), 0)
            .unwrap();
        built.binaries[0].clone()
    });

    /// A scenario's request, made so small that a test can run it.
    fn tiny(scenario: &Scenario) -> Request {
        let mut request = scenario.request(Form::Short);
        request
            .parameters
            .insert(scenario.repetitions.to_owned(), "3".to_owned());
        Request {
            iterations: 2,
            ..request
        }
    }

    /// What the branch `packed` answers to it.
    pub(in crate::stress) fn outcome(scenario: &Scenario) -> Outcome {
        trial::ask(&PACKED, &tiny(scenario), Duration::from_mins(1))
            .unwrap()
            .result
            .unwrap()
    }

    #[test]
    fn every_scenario_runs_and_counts_its_repetitions_as_units_of_work() {
        for scenario in &SCENARIOS {
            let outcome = outcome(scenario);
            let units: Vec<u64> = outcome.iterations.iter().map(|it| it.work_units).collect();
            assert_eq!(units, [3, 3], "{}", scenario.name);
        }
    }

    #[test]
    fn the_long_form_is_a_million_joins_and_ping_pongs_and_a_hundred_thousand_broadcasts() {
        let total = |name: &str| {
            let scenario = SCENARIOS.iter().find(|it| it.name == name).unwrap();
            scenario.long.in_iteration * scenario.long.iterations
        };
        assert_eq!(total("barrier-join"), 1_000_000);
        assert_eq!(total("ping-pong"), 1_000_000);
        assert_eq!(total("broadcast"), 100_000);
    }
}
