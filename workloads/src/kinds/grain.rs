//! `grain`: a fixed amount of work, cut into tasks of 100 ns, then of 300 ns, … up to 1 ms.
//!
//! The figure of merit is the metric `metg50`: the smallest grain at which efficiency is still 50
//! %. It is the minimum effective task granularity of the Task Bench study of 2020. Let `T1` be the
//! time of the work in one piece, `T` that of the work in tasks, and `n` the number of threads that
//! have a CPU. Efficiency is `T1 / (n T)`.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal};
use rayon::prelude::*;

use crate::kinds::pacing::{chain, cores};
use crate::workload::{Instance, Mismatch, Setup};

/// Steps per task, two grains per decade, and their time on one core of the 2.6 GHz class.
const GRAINS: [(u64, &str); 9] = [
    (30, "100ns"),
    (95, "300ns"),
    (300, "1us"),
    (949, "3us"),
    (3_000, "10us"),
    (9_487, "30us"),
    (30_000, "100us"),
    (94_868, "300us"),
    (300_000, "1ms"),
];

/// Prepares the workload `grain`.
///
/// # Errors
/// If the workload cannot run with these parameters.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(Box::new(Work::new(
        setup.seed,
        setup.values.whole("steps"),
        setup.threads.min(cores()),
    )))
}

/// The work in tasks of one length.
struct Cut {
    /// The grain in metrics.
    label: &'static str,
    steps: u64,
    tasks: usize,
    known: u64,
    answer: u64,
    /// Wall time of the current run.
    elapsed: Duration,
    /// Wall times of the runs since the warm-up.
    runs: Vec<Duration>,
}

impl Cut {
    fn task(&self, seed: u64, number: usize) -> u64 {
        chain(seed ^ number as u64, self.steps)
    }

    fn in_turn(&self, seed: u64) -> u64 {
        (0..self.tasks).fold(0, |sum, number| sum.wrapping_add(self.task(seed, number)))
    }

    fn total_steps(&self) -> u64 {
        self.steps * self.tasks as u64
    }

    fn median_ns(&self) -> Option<f64> {
        let mut runs = self.runs.clone();
        runs.sort_unstable();
        runs.get(runs.len() / 2)
            .map(|median| median.as_nanos() as f64)
    }
}

struct Work {
    seed: u64,
    /// Threads that can run at once.
    parallelism: usize,
    /// The time of a step if the work is one piece, in ns.
    step_ns: f64,
    cuts: Vec<Cut>,
}

impl Work {
    fn new(seed: u64, total_steps: u64, parallelism: usize) -> Self {
        let cuts = GRAINS
            .iter()
            .map(|&(steps, label)| {
                let tasks = usize::try_from((total_steps / steps).max(1)).unwrap_or(usize::MAX);
                let mut cut = Cut {
                    label,
                    steps,
                    tasks,
                    known: 0,
                    answer: 0,
                    elapsed: Duration::ZERO,
                    runs: Vec::new(),
                };
                cut.known = cut.in_turn(seed);
                cut
            })
            .collect();
        Self {
            seed,
            parallelism,
            step_ns: step_ns(seed, total_steps),
            cuts,
        }
    }

    fn run(&mut self, run: impl Fn(&Cut, u64) -> u64) -> u64 {
        for cut in &mut self.cuts {
            let begun = Instant::now();
            cut.answer = run(cut, self.seed);
            cut.elapsed = begun.elapsed();
        }
        self.cuts.iter().map(Cut::total_steps).sum()
    }

    /// Returns grains in ns and their efficiency, smallest grain first. Leaves out grains that
    /// never ran.
    fn efficiencies(&self) -> Vec<(f64, f64)> {
        self.cuts
            .iter()
            .filter_map(|cut| {
                let ideal_ns = cut.total_steps() as f64 * self.step_ns / self.parallelism as f64;
                let efficiency = ideal_ns / cut.median_ns().filter(|&median| median > 0.0)?;
                Some((cut.steps as f64 * self.step_ns, efficiency))
            })
            .collect()
    }
}

/// Returns the time of a step of the work in one piece: the best of three.
fn step_ns(seed: u64, steps: u64) -> f64 {
    let time = |_| {
        let begun = Instant::now();
        black_box(chain(seed, steps));
        begun.elapsed()
    };
    let best = (0..3).map(time).min().unwrap_or_default();
    best.as_nanos() as f64 / steps as f64
}

/// Returns the smallest grain with an efficiency of 50 %. The curve through the logarithms of the
/// grains first crosses 50 % there. If the smallest grain already reaches 50 %, returns that grain;
/// if no grain does, `None`.
fn metg50(efficiencies: &[(f64, f64)]) -> Option<f64> {
    let first = efficiencies
        .iter()
        .position(|&(_, efficiency)| efficiency >= 0.5)?;
    let (grain, efficiency) = efficiencies[first];
    let Some(&(finer, worse)) = first
        .checked_sub(1)
        .and_then(|before| efficiencies.get(before))
    else {
        return Some(grain);
    };
    let part = (0.5 - worse) / (efficiency - worse);
    Some(finer * (grain / finer).powf(part))
}

impl Instance for Work {
    fn reset(&mut self) {
        self.cuts.iter_mut().for_each(|cut| cut.answer = 0);
    }

    fn forget_warmup(&mut self) {
        self.cuts.iter_mut().for_each(|cut| cut.runs.clear());
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(Cut::in_turn)
    }

    fn run_parallel(&mut self) -> u64 {
        self.run(|cut, seed| {
            (0..cut.tasks)
                .into_par_iter()
                .with_max_len(1)
                .map(|number| cut.task(seed, number))
                .reduce(|| 0, u64::wrapping_add)
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let join = |sums: Vec<String>| sums.join(" ");
        let known = join(
            self.cuts
                .iter()
                .map(|cut| format!("{:x}", cut.known))
                .collect(),
        );
        let answers = join(
            self.cuts
                .iter()
                .map(|cut| format!("{:x}", cut.answer))
                .collect(),
        );
        self.cuts
            .iter_mut()
            .for_each(|cut| cut.runs.push(cut.elapsed));
        Mismatch::unless_equal(&known, &answers)
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let efficiencies = self.efficiencies();
        let metg50 = metg50(&efficiencies).map(|grain| {
            (
                "metg50".to_owned(),
                Metric {
                    value: grain,
                    unit: "ns".to_owned(),
                },
            )
        });
        let by_grain = self
            .cuts
            .iter()
            .zip(efficiencies)
            .map(|(cut, (_, efficiency))| {
                let name = format!("efficiency_at_{}", cut.label);
                (
                    name,
                    Metric {
                        value: efficiency,
                        unit: "share".to_owned(),
                    },
                )
            });
        metg50.into_iter().chain(by_grain).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crossing_lies_between_grains_on_a_logarithmic_scale() {
        let crossing = metg50(&[(100.0, 0.1), (1_000.0, 0.4), (100_000.0, 0.6), (1e6, 0.9)]);
        assert!(
            (crossing.unwrap() / 10_000.0 - 1.0).abs() < 1e-9,
            "{crossing:?}"
        );
    }

    #[test]
    fn the_smallest_grain_is_the_answer_if_it_is_good_and_none_is_if_none_is() {
        assert_eq!(metg50(&[(100.0, 0.5), (1_000.0, 0.2)]), Some(100.0));
        assert_eq!(metg50(&[(100.0, 0.1), (1_000.0, 0.49)]), None);
        assert_eq!(metg50(&[]), None);
    }

    #[test]
    fn a_wrong_answer_at_any_grain_is_rejected() {
        let mut work = Work::new(1, 1_000, 1);
        assert!(work.check().is_err(), "nothing ran");
        for wrong in 0..GRAINS.len() {
            work.reset();
            work.run_sequential();
            assert!(work.check().is_ok());
            work.cuts[wrong].answer ^= 1;
            assert!(work.check().is_err(), "{wrong}");
        }
    }

    #[test]
    fn efficiency_is_ideal_time_over_median_time() {
        let mut work = Work::new(1, 900_000, 2);
        work.step_ns = 4.0;
        let milliseconds = [20, 2, 10];
        work.cuts[0].runs = milliseconds.map(Duration::from_millis).to_vec();
        // 900 000 steps of 4 ns on two threads take 1.8 ms at best; 10 ms is the median.
        let efficiencies = work.efficiencies();
        assert_eq!(efficiencies.len(), 1);
        assert!((efficiencies[0].0 - 120.0).abs() < 1e-9, "{efficiencies:?}");
        assert!((efficiencies[0].1 - 0.18).abs() < 1e-9, "{efficiencies:?}");
    }
}
