//! Under which conditions the trials of a table ran: what a sceptic asks before believing it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::plan::Asked;
use crate::record::{Ending, Record};

/// The conditions name a trial if at least this share of its wall time was stolen, on all CPUs
/// together.
const MUCH_STOLEN: f64 = 0.01;

/// What the trials ran under.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Timed trials that gave an answer.
    pub trials: usize,
    /// Of these, the ones that the hypervisor took much time from; `None` if the host shows none.
    pub stolen_from: Counted,
    /// Stolen time in all of them.
    pub stolen: Duration,
    /// Trials in which heat slowed a CPU down; `None` if the host does not count that.
    pub throttled: Counted,
    /// Trials in which a used-up CPU quota stopped the threads; `None` if the host does not count
    /// that.
    pub out_of_quota: Counted,
    /// How many trials had which state of the frequency.
    pub frequency: BTreeMap<&'static str, usize>,
    /// Lowest and highest clock measured beside a trial, in GHz.
    pub ghz: Option<(f64, f64)>,
    /// How long a cache line took from one CPU to another, least and most of all trials, in
    /// nanoseconds.
    pub core_to_core_ns: Option<(f64, f64)>,
}

/// In how many trials something was so; `None` until one tells.
type Counted = Option<usize>;

impl Conditions {
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
        count(
            &mut self.stolen_from,
            record.steal_ns.map(|stolen| stolen as f64 > much),
        );
        self.stolen += Duration::from_nanos(record.steal_ns.unwrap_or(0));
        count(
            &mut self.throttled,
            record.throttles.map(|throttles| throttles > 0),
        );
        count(
            &mut self.out_of_quota,
            record.quota_throttled_ns.map(|stopped| stopped > 0),
        );
        *self.frequency.entry(record.freq_state.into()).or_default() += 1;
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

/// The foot of a table: a line for each condition.
pub(crate) fn foot(asked: &Asked, conditions: &Conditions, settle_ms: Option<u64>) -> String {
    let mut text = String::new();
    let mut line = |label: &str, what: &str| {
        let _ = writeln!(text, "{:<14}{what}", format!("{label}:"));
    };
    if let Some(machine) = &asked.machine {
        line("simulated", &format!("{}, {}", machine.name, machine.title));
        line("seeds", &format!("{} of each branch", asked.trials));
        line("frequency", &frequency(conditions));
        return text;
    }
    line(
        "layouts",
        &match asked.layouts {
            1 => "1: the linker's own, whose luck is not told from the design's".to_owned(),
            several => format!("{several} of each branch"),
        },
    );
    let settle = settle_ms.map_or("not recorded".to_owned(), |ms| {
        format!("{ms} ms before each trial")
    });
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
        line(
            "core to core",
            &format!("{low:.0} to {high:.0} ns for a cache line"),
        );
    }
    text
}

fn frequency(conditions: &Conditions) -> String {
    let states = conditions
        .frequency
        .iter()
        .map(|(state, count)| match *state {
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

    use protocol::Program;

    use super::super::tests::{asked, record, summary};
    use super::*;

    fn conditions(asked: &Asked, records: &[Record]) -> Conditions {
        summary(asked, records).conditions
    }

    /// Three branches at two thread counts, seven replicates.
    fn sweep() -> Vec<Record> {
        let mut records = Vec::new();
        for replicate in 0..7_u32 {
            for branch in ["master", "slow", "same"] {
                for threads in [2, 8] {
                    let block = replicate as usize * 2 + threads / 8;
                    records.push(Record {
                        replicate,
                        process_ns: 1_000_000_000,
                        ..record(branch, Program::Parallel, threads, block, 1_000_000)
                    });
                }
            }
        }
        records
    }

    #[test]
    fn stolen_time_heat_quota_and_clocks_are_counted_by_trial() {
        let mut records = sweep();
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
        let text = foot(&asked(), &conditions, Some(10));
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
        let mut records = sweep();
        records[0].outcome = Ending::Crash;
        records[1].iterations.clear();
        assert_eq!(conditions(&asked(), &records).trials, 40);
    }

    #[test]
    fn the_foot_names_layouts_and_fits_eighty_columns() {
        let asked = Asked {
            layouts: 7,
            ..asked()
        };
        let text = foot(&asked, &conditions(&asked, &sweep()), Some(10));
        assert!(text.contains("layouts:      7 of each branch"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}
