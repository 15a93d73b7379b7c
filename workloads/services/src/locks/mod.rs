//! `locks`: threads contend for one lock. The model is a student project on user-level threads.
//!
//! Each contender alternates between work outside the lock and a critical section. Contenders are
//! jobs on the pool, user-level threads on one OS thread, or OS threads on few CPUs. Contenders
//! wait in the lock's queue, or spin.

mod contenders;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{Metric, Refusal, Values};
use rayon::ThreadPool;

use crate::metrics::metric;
use crate::user_threads::Report;
use work::{Lock, Shape, Tally};
use workloads::kinds::pacing::{chain, chains};
use workloads::workload::{Instance, Mismatch, Setup};

pub(crate) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(Box::new(Contention::new(setup.seed, setup.values)?))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Pool,
    UserThreads { quantum: Duration },
    OsThreads { cpus: Option<nix::sched::CpuSet> },
}

struct Contention {
    shape: Shape,
    lock: Lock,
    on: On,
    known: Tally,
    done: Option<Tally>,
    reports: Vec<Report>,
}

impl Contention {
    fn new(seed: u64, values: &Values) -> Result<Self, Refusal> {
        let shape = Shape {
            contenders: values.whole("contenders"),
            iterations: values.whole("iterations"),
            section_steps: values.whole("section-steps"),
            outside_steps: values.whole("outside-steps"),
            seed,
        };
        let steps = shape.outside_steps + shape.section_steps;
        let sums = (0..shape.contenders).map(|contender| chains(shape.seeds(contender), steps));
        let known = Tally {
            sections: shape.sections(),
            sum: sums.fold(0, u64::wrapping_add),
        };
        let lock = match values.word("lock") {
            "spin" => Lock::Spin,
            _ => Lock::Mutex,
        };
        let on = match values.word("on") {
            "user-threads" => On::UserThreads {
                quantum: Duration::from_micros(values.whole("quantum-us")),
            },
            "os-threads" => On::OsThreads {
                cpus: contenders::first_cpus(values.count("cpus"))?,
            },
            _ => On::Pool,
        };
        Ok(Self {
            shape,
            lock,
            on,
            known,
            done: None,
            reports: Vec::new(),
        })
    }
}

impl Instance for Contention {
    fn reset(&mut self) {
        self.done = None;
    }

    fn forget_warmup(&mut self) {
        self.reports.clear();
    }

    fn run_sequential(&mut self) -> u64 {
        let mut tally = Tally::default();
        for contender in 0..self.shape.contenders {
            self.shape
                .contend(contender, chain, |section| section(&mut tally));
        }
        self.done.insert(tally).sections
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let tally = match self.on {
            On::Pool => pool.install(|| contenders::on_pool(self.shape, self.lock)),
            On::OsThreads { cpus } => contenders::on_threads(self.shape, self.lock, cpus),
            On::UserThreads { quantum } => {
                let (tally, report) = contenders::on_user_threads(self.shape, self.lock, quantum);
                self.reports.push(report);
                tally
            }
        };
        self.done.insert(tally).sections
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe =
            |tally: &Tally| format!("{} sections add up to {:016x}", tally.sections, tally.sum);
        let done = self
            .done
            .as_ref()
            .map_or_else(|| "nothing ran".to_owned(), describe);
        Mismatch::unless_equal(&describe(&self.known), &done)
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        if self.reports.is_empty() {
            return BTreeMap::new();
        }
        let mean = |count: fn(&Report) -> u64| {
            let sum: u64 = self.reports.iter().map(count).sum();
            sum as f64 / self.reports.len() as f64
        };
        let (switches, preemptions) = (mean(|it| it.switches), mean(|it| it.preemptions));
        BTreeMap::from([
            metric("user_switches", switches, "switches/iteration"),
            metric("preemptions", preemptions, "times/iteration"),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{pool, values};

    fn contention(explicit: &str) -> Contention {
        Contention::new(1, &values("locks", explicit)).unwrap()
    }

    #[test]
    fn a_lost_section_and_a_wrong_sum_are_rejected() {
        let mut contention = contention("");
        assert!(contention.check().is_err(), "nothing ran");
        contention.run_sequential();
        assert!(contention.check().is_ok());
        let good = contention.done.unwrap();
        contention.done = Some(Tally {
            sections: good.sections - 1,
            ..good
        });
        assert!(contention.check().is_err(), "lost section");
        contention.done = Some(Tally {
            sum: good.sum ^ 1,
            ..good
        });
        assert!(contention.check().is_err(), "wrong sum");
    }

    #[test]
    fn a_holder_whose_quantum_ends_costs_every_spinning_contender_its_own() {
        // A quantum ends in each section, at the first safepoint.
        let shape = "on=user-threads contenders=4 iterations=2 outside-steps=0 section-steps=2000 \
                     quantum-us=1";
        let preemptions = |lock| {
            let mut contention = contention(&format!("{shape} lock={lock}"));
            contention.run_on(&pool(1));
            contention.check().unwrap();
            contention.metrics()["preemptions"].value
        };
        let (mutex, spin) = (preemptions("mutex"), preemptions("spin"));
        assert!(mutex >= 8.0, "{mutex}");
        assert!(spin > 1.5 * mutex, "{spin} against {mutex}");
    }
}
