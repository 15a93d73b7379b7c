//! Under which conditions the trials of a table ran: what a sceptic asks before believing it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::{Cell, Row, Summary};
use crate::plan::Asked;
use crate::record::{Ending, FreqState, Record};
use crate::stats::median;

/// A trial is told of when so large a share of its wall time was stolen from it, on all CPUs together.
const MUCH_STOLEN: f64 = 0.01;

/// Fewest replicates among which a trend is looked for; with fewer, every order is likely.
const FEWEST_REPLICATES: usize = 5;

/// The level at which a trend is called drift: one sweep in twenty shows it by chance.
const LEVEL: f64 = 0.05;

/// What the trials ran under.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// Timed trials that gave an answer.
    pub trials: usize,
    /// Of these, the ones that the hypervisor took much time from; `None` if the host shows none.
    pub stolen_from: Option<usize>,
    /// Stolen time in all of them.
    pub stolen: Duration,
    /// Trials in which heat slowed a CPU down; `None` if the host does not count that.
    pub throttled: Option<usize>,
    /// Trials in which a used-up CPU quota stopped the threads; `None` if the host does not count that.
    pub out_of_quota: Option<usize>,
    /// How many trials had which state of the frequency.
    pub frequency: BTreeMap<&'static str, usize>,
    /// Lowest and highest clock measured beside a trial, in GHz.
    pub ghz: Option<(f64, f64)>,
    /// How long a cache line took from one CPU to another, least and most of all trials, in nanoseconds.
    pub core_to_core_ns: Option<(f64, f64)>,
    /// Whether times rose or fell over the sweep; `None` with too few replicates.
    pub drift: Option<Drift>,
}

/// A trend of times over a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// How much longer the last third of the replicates took than the first, as a share.
    pub change: f64,
    /// Probability of so clear a trend, if the order of the replicates means nothing.
    pub p: f64,
}

impl Drift {
    /// Whether the trend is clearer than chance mostly makes it.
    #[must_use]
    pub fn is_found(self) -> bool {
        self.p < LEVEL
    }
}

/// What is kept of the records for [`Conditions`].
#[derive(Debug, Default)]
pub(super) struct Gathered {
    trials: usize,
    stolen_from: Counted,
    stolen_ns: u64,
    throttled: Counted,
    out_of_quota: Counted,
    frequency: BTreeMap<&'static str, usize>,
    ghz: Option<(f64, f64)>,
    core_to_core_ns: Option<(f64, f64)>,
}

/// In how many trials something was so; `None` until one tells.
type Counted = Option<usize>;

impl Gathered {
    pub(super) fn add(&mut self, record: &Record) {
        if record.outcome != Ending::Ok || record.iterations.is_empty() {
            return;
        }
        let count = |counted: &mut Counted, is_so: Option<bool>| {
            if let Some(is_so) = is_so {
                *counted.get_or_insert(0) += usize::from(is_so);
            }
        };
        self.trials += 1;
        let much = MUCH_STOLEN * record.process_ns as f64;
        count(&mut self.stolen_from, record.steal_ns.map(|stolen| stolen as f64 > much));
        self.stolen_ns += record.steal_ns.unwrap_or(0);
        count(&mut self.throttled, record.throttles.map(|throttles| throttles > 0));
        count(&mut self.out_of_quota, record.quota_throttled_ns.map(|stopped| stopped > 0));
        *self.frequency.entry(name(record.freq_state)).or_default() += 1;
        for ghz in [record.ghz_before, record.ghz_after].into_iter().flatten() {
            widen(&mut self.ghz, ghz);
        }
        if let Some(ns) = record.core_to_core_ns {
            widen(&mut self.core_to_core_ns, ns);
        }
    }
}

fn widen(range: &mut Option<(f64, f64)>, value: f64) {
    let (low, high) = range.unwrap_or((value, value));
    *range = Some((low.min(value), high.max(value)));
}

impl Summary {
    /// What the trials ran under.
    #[must_use]
    pub fn conditions(&self) -> Conditions {
        let gathered = &self.gathered;
        Conditions {
            trials: gathered.trials,
            stolen_from: gathered.stolen_from,
            stolen: Duration::from_nanos(gathered.stolen_ns),
            throttled: gathered.throttled,
            out_of_quota: gathered.out_of_quota,
            frequency: gathered.frequency.clone(),
            ghz: gathered.ghz,
            core_to_core_ns: gathered.core_to_core_ns,
            drift: drift(self.cells()),
        }
    }
}

fn name(state: FreqState) -> &'static str {
    match state {
        FreqState::FixedVerified => "fixed-verified",
        FreqState::FixedFailed => "fixed-failed",
        FreqState::Dynamic => "dynamic",
        FreqState::Uncontrolled => "uncontrolled",
        FreqState::Unknown => "unknown",
    }
}

/// Whether the replicates' times rise or fall with their order.
///
/// All cells are visited once before any is visited again, so a replicate is a stretch of the sweep. Each
/// trial is compared with the median of its cell, and a replicate's figure is the mean over all its trials.
/// Replicates and not trials are what is ordered: the trials of one replicate share its layouts, whose
/// luck would otherwise look like a trend.
fn drift<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<Drift> {
    /// Number and sum of what the trials of a replicate are above the middle of their cells.
    type Above = (usize, f64);
    let mut replicates: BTreeMap<u32, Above> = BTreeMap::new();
    for cell in cells {
        let Some(centre) = cell.cost().map(f64::ln) else { continue };
        for trial in &cell.timed {
            let (count, sum) = replicates.entry(trial.replicate).or_default();
            *count += 1;
            *sum += trial.cost.ln() - centre;
        }
    }
    let means: Vec<f64> = replicates.into_values().map(|(count, sum)| sum / count as f64).collect();
    if means.len() < FEWEST_REPLICATES {
        return None;
    }
    let third = means.len() / 3;
    let first = median(&mut means[..third].to_vec())?;
    let last = median(&mut means[means.len() - third..].to_vec())?;
    Some(Drift { change: (last - first).exp() - 1.0, p: trend(&means) })
}

/// Two-sided p-value of Mann's test for a trend (Kendall's rank correlation of `values` with their
/// order): the share of all orders with as few pairs that fall, or as few that rise. Equal values count
/// as rising.
fn trend(values: &[f64]) -> f64 {
    /// Up to so many values orders are counted; beyond, that takes long and changes nothing.
    const FEW: usize = 50;
    let count = values.len();
    let falls = |later: usize| values[..later].iter().filter(|it| **it > values[later]).count();
    let falling: usize = (0..count).map(falls).sum();
    let fewest = falling.min(count * count.saturating_sub(1) / 2 - falling);
    let tail = if count > FEW { normal_tail } else { exact_tail };
    (2.0 * tail(count, fewest)).min(1.0)
}

/// Share of the orders of `count` values in which at most `most` pairs fall.
fn exact_tail(count: usize, most: usize) -> f64 {
    // By number of falling pairs: the share of the orders of so many values that have it. A further
    // value may come after any number of those before it.
    let mut shares = vec![1.0];
    for size in 2..=count {
        let mut wider = vec![0.0; shares.len() + size - 1];
        for (pairs, share) in shares.iter().enumerate() {
            for sum in &mut wider[pairs..pairs + size] {
                *sum += share / size as f64;
            }
        }
        shares = wider;
    }
    shares[..=most].iter().sum()
}

/// The same by the normal distribution of as much spread, n (n - 1) (2n + 5) / 72.
fn normal_tail(count: usize, most: usize) -> f64 {
    let n = count as f64;
    let spread = (n * (n - 1.0) * (2.0 * n + 5.0) / 72.0).sqrt();
    Normal::standard().cdf((most as f64 + 0.5 - n * (n - 1.0) / 4.0) / spread)
}

/// The foot of a table: a line for each condition.
#[must_use]
pub fn foot(
    asked: &Asked,
    rows: &[Row],
    conditions: &Conditions,
    settle_ms: Option<u64>,
) -> String {
    let mut text = String::new();
    let mut line = |label: &str, what: &str| {
        let _ = writeln!(text, "{:<14}{what}", format!("{label}:"));
    };
    line("A/A band", &band(rows));
    line(
        "layouts",
        &match asked.layouts {
            1 => "1: the linker's own, whose luck is not told from the design's".to_owned(),
            several => format!("{several} of each branch"),
        },
    );
    let settle =
        settle_ms.map_or("not recorded".to_owned(), |ms| format!("{ms} ms before each trial"));
    line("settle gap", &settle);
    line("frequency", &frequency(conditions));
    let trials = conditions.trials;
    line(
        "stolen time",
        &match conditions.stolen_from {
            None => "not shown by this host".to_owned(),
            Some(0) => format!("none of note in {trials} trials"),
            Some(some) => format!(
                "over {:.0} % of the wall time in {some} of {trials} trials; {:.1} s in all",
                100.0 * MUCH_STOLEN,
                conditions.stolen.as_secs_f64()
            ),
        },
    );
    for (label, trials_so, what) in [
        ("heat", conditions.throttled, "slowed CPUs down"),
        ("CPU quota", conditions.out_of_quota, "was used up"),
    ] {
        if let Some(some) = trials_so.filter(|some| *some > 0) {
            line(label, &format!("{what} in {some} of {trials} trials"));
        }
    }
    if let Some((low, high)) = conditions.core_to_core_ns {
        line("core to core", &format!("{low:.0} to {high:.0} ns for a cache line"));
    }
    line(
        "drift",
        &match conditions.drift {
            None => format!("not looked for: fewer than {FEWEST_REPLICATES} trials per cell"),
            Some(drift) if drift.is_found() => format!(
                "times {} by {:.1} % over the sweep (p = {:.3}); ratios,\n{:14}paired inside blocks, do not \
                 move with it, times and speed-ups do",
                if drift.change < 0.0 { "fell" } else { "rose" },
                100.0 * drift.change.abs(),
                drift.p,
                ""
            ),
            Some(drift) => format!("none found (p = {:.2})", drift.p),
        },
    );
    text
}

fn band(rows: &[Row]) -> String {
    let mut widths: Vec<f64> =
        rows.iter().filter_map(|row| row.band_high).map(|high| 100.0 * (high - 1.0)).collect();
    let Some(middle) = median(&mut widths) else {
        return "none: without a twin, or with too few pairs, nothing is judged".to_owned();
    };
    let (narrowest, widest) = (widths[0], widths[widths.len() - 1]);
    format!("{narrowest:.1} to {widest:.1} %, median {middle:.1} %, by thread count and workload")
}

fn frequency(conditions: &Conditions) -> String {
    let states = conditions.frequency.iter().map(|(state, count)| match *state {
        "uncontrolled" => {
            format!("uncontrolled in {count} trials, since this host offers no control")
        }
        state => format!("{state} in {count} trials"),
    });
    let mut parts: Vec<String> = states.collect();
    if let Some((low, high)) = conditions.ghz {
        parts.push(format!("{low:.2} to {high:.2} GHz measured"));
    }
    parts.join(&format!(";\n{:14}", ""))
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

    use workloads::protocol::Program;

    use super::super::tests::{asked, record, rows, summary};
    use super::*;

    fn conditions(asked: &Asked, records: &[Record]) -> Conditions {
        summary(asked, records).conditions()
    }

    fn uniform(random: &mut ChaCha8Rng) -> f64 {
        random.next_u64() as f64 / u64::MAX as f64
    }

    /// Three branches at two thread counts, seven replicates; each binary of a branch has its own luck.
    fn sweep(seed: u64, drift: f64) -> Vec<Record> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut records = Vec::new();
        for replicate in 0..7_u32 {
            for branch in ["master", "slow", "same"] {
                let luck = 1.0 + 0.05 * uniform(&mut random);
                for threads in [2, 8] {
                    let level = 1.0 + drift * f64::from(replicate) / 6.0;
                    let time = 1e6 * luck * level * (1.0 + 0.02 * uniform(&mut random));
                    let elapsed = Duration::from_nanos(1).mul_f64(time).as_nanos();
                    let elapsed = u64::try_from(elapsed).unwrap();
                    let block = replicate as usize * 2 + threads / 8;
                    let program = Program::Parallel;
                    records.push(Record {
                        replicate,
                        process_ns: 1_000_000_000,
                        ..record(branch, program, threads, block, elapsed)
                    });
                }
            }
        }
        records
    }

    #[test]
    fn drift_is_found_in_about_one_sweep_in_twenty_without_any() {
        let found = (0..1000)
            .filter(|seed| conditions(&asked(), &sweep(*seed, 0.0)).drift.unwrap().is_found());
        let share = found.count() as f64 / 1000.0;
        assert!((0.02..0.08).contains(&share), "{share}");
    }

    #[test]
    fn a_true_drift_is_found_and_its_size_is_told() {
        let found: Vec<Drift> = (0..100)
            .map(|seed| conditions(&asked(), &sweep(seed, 0.3)).drift.unwrap())
            .filter(|drift| drift.is_found())
            .collect();
        assert!(found.len() > 95, "{}", found.len());
        let mut sizes: Vec<f64> = found.iter().map(|drift| drift.change).collect();
        let size = median(&mut sizes).unwrap();
        // Between the middles of the first third and of the last.
        assert!((0.15..0.3).contains(&size), "{size}");
        let conditions = conditions(&asked(), &sweep(1, 0.3));
        let text = foot(&asked(), &[], &conditions, Some(10));
        assert!(text.contains("times rose by"), "{text}");
    }

    #[test]
    fn five_values_in_order_are_two_orders_of_a_hundred_and_twenty() {
        assert!((trend(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 2.0 / 120.0).abs() < 1e-12);
        // One neighbouring pair falls: four such orders beside the one in which none does.
        assert!((trend(&[5.0, 4.0, 3.0, 1.0, 2.0]) - 10.0 / 120.0).abs() < 1e-12);
        assert!((trend(&[3.0, 1.0, 5.0, 4.0, 2.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_normal_distribution_agrees_with_counted_orders_where_it_takes_over() {
        for most in [400, 470, 500, 550, 612] {
            let (exact, normal) = (exact_tail(50, most), normal_tail(50, most));
            assert!((exact - normal).abs() < 0.001, "{most}: {exact}, {normal}");
        }
    }

    #[test]
    fn few_replicates_prove_no_trend() {
        let few: Vec<Record> =
            sweep(1, 0.3).into_iter().filter(|record| record.replicate < 4).collect();
        assert_eq!(conditions(&asked(), &few).drift, None);
    }

    #[test]
    fn stolen_time_heat_quota_and_clocks_are_counted_by_trial() {
        let mut records = sweep(1, 0.0);
        for record in &mut records {
            record.steal_ns = Some(0);
        }
        records[0].steal_ns = Some(20_000_000);
        records[1].steal_ns = Some(9_000_000);
        records[2].throttles = Some(1);
        records[3].quota_throttled_ns = Some(5);
        records[4].ghz_before = Some(2.1);
        records[4].ghz_after = Some(1.9);
        records[5].core_to_core_ns = Some(48.2);
        records[6].core_to_core_ns = Some(50.0);
        let conditions = conditions(&asked(), &records);
        assert_eq!((conditions.trials, conditions.stolen_from), (42, Some(1)));
        let text = foot(&asked(), &[], &conditions, Some(10));
        for words in [
            "over 1 % of the wall time in 1 of 42 trials; 0.0 s in all",
            "slowed CPUs down in 1 of 42 trials",
            "was used up in 1 of 42 trials",
            "1.90 to 2.10 GHz",
            "48 to 50 ns for a cache line\n",
            "uncontrolled in 42 trials",
            "10 ms before each trial",
        ] {
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn failed_and_counted_trials_say_nothing_of_times() {
        let mut records = sweep(1, 0.0);
        records[0].outcome = Ending::Crash;
        records[1].iterations.clear();
        assert_eq!(conditions(&asked(), &records).trials, 40);
    }

    #[test]
    fn the_foot_names_layouts_and_the_band() {
        let asked = Asked { layouts: 7, ..asked() };
        let mut records = sweep(1, 0.0);
        let again = records.clone().into_iter().filter(|record| record.branch == "same");
        let twins: Vec<Record> =
            again.map(|record| Record { branch: "master-again".to_owned(), ..record }).collect();
        records.extend(twins);
        let rows = rows(&asked, &records);
        let conditions = conditions(&asked, &records);
        let text = foot(&asked, &rows, &conditions, Some(10));
        assert!(text.contains("layouts:      7 of each branch"), "{text}");
        assert!(text.contains("%, median "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
