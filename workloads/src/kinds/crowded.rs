//! `crowded`: another workload beside CPU hogs, endless loops of other processes on the same CPUs.
//!
//! A thread that yields gets its CPU back some milliseconds later. A thread that spins may take the
//! CPU from the thread for which it waits.

use std::collections::BTreeMap;

use protocol::{Metric, Refusal, Size, Values};
use rayon::ThreadPool;

use crate::hogs::Hogs;
use crate::kinds::arrivals;
use crate::placement::usable_cpus;
use crate::workload::{Instance, Mismatch, Setup};

struct Load {
    workload: &'static str,
    /// The parameter that sets the number of calls, and the parameter's value for one round. A
    /// round takes about as long with every load.
    often: (&'static str, u64),
    /// Parameters that differ from size `small`.
    set: &'static [(&'static str, &'static str)],
}

static LOADS: &[Load] = &[
    // Jobs of 20 µs, one after the other.
    Load {
        workload: "install",
        often: ("installs", 20),
        set: &[("gap-us", "0"), ("job-steps", "6000")],
    },
    Load {
        workload: "inject",
        often: ("installs", 10),
        set: &[("submitters", "64")],
    },
    // Steps of two regions, as in `nbody`, without a gap between steps.
    Load {
        workload: "ticks",
        often: ("ticks", 20),
        set: &[("period-us", "0"), ("bursts", "2"), ("serial-steps", "0")],
    },
];

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let load = Load::find(setup.values.word("load"));
    let values = load.values(setup.values.whole("rounds"))?;
    // Computes the known answers before the hogs take CPU time.
    let load = arrivals::prepare(&Setup {
        values: &values,
        ..*setup
    })?;
    let hogs = Hogs::start(setup.values.count("hogs-per-cpu") * usable_cpus()?.len())?;
    Ok(Box::new(Crowd { load, hogs }))
}

impl Load {
    fn find(name: &str) -> &'static Self {
        let found = LOADS.iter().find(|load| load.workload == name);
        found.expect("each value of the parameter names a load")
    }

    fn values(&self, rounds: u64) -> Result<Values, Refusal> {
        let (often, a_round) = self.often;
        let set = self
            .set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let set = set
            .chain([(often.to_owned(), (rounds * a_round).to_string())])
            .collect();
        protocol::workload(self.workload).resolve(Size::Small, &set, false)
    }
}

struct Crowd {
    load: Box<dyn Instance>,
    hogs: Hogs,
}

impl Instance for Crowd {
    fn reset(&mut self) {
        self.load.reset();
    }

    fn forget_warmup(&mut self) {
        self.load.forget_warmup();
    }

    fn run_sequential(&mut self) -> u64 {
        self.load.run_sequential()
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        self.load.run_on(pool)
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let answer = self.load.check()?;
        // A run is valid only if all hogs still run at its end.
        let describe = |hogs: usize| format!("{hogs} hogs at the end");
        Mismatch::unless_equal(&describe(self.hogs.count()), &describe(self.hogs.running()))?;
        Ok(answer)
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        self.load.metrics()
    }
}

#[cfg(test)]
mod tests {
    use protocol::Accepts;

    use super::*;

    #[test]
    fn every_value_of_the_parameter_is_a_load_and_every_load_can_be_repeated_as_often_as_allowed() {
        let accepts = |name| {
            &protocol::workload("crowded")
                .parameter(name)
                .unwrap()
                .accepts
        };
        let (Accepts::OneOf(names), Accepts::Whole { max, .. }) =
            (accepts("load"), accepts("rounds"))
        else {
            panic!("the parameters accept other values");
        };
        assert_eq!(names.len(), LOADS.len());
        for name in names {
            assert!(Load::find(name).values(*max).is_ok(), "{name}");
        }
    }

    #[test]
    fn an_answer_is_rejected_if_a_hog_has_ended() {
        let values = Load::find("install").values(1).unwrap();
        let setup = Setup {
            seed: 1,
            values: &values,
            input: None,
            threads: 2,
        };
        let mut crowd = Crowd {
            load: arrivals::prepare(&setup).unwrap(),
            hogs: Hogs::start(1).unwrap(),
        };
        crowd.reset();
        crowd.run_sequential();
        crowd.hogs.kill_one();
        let wrong = crowd.check().unwrap_err();
        assert_eq!(wrong.actual, "0 hogs at the end");
    }
}
