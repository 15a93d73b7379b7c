//! Determines whether CPUs are equally strong: per cycle, and in cycles per second.

use std::collections::BTreeMap;

use crate::host::{CPUS, Fact, Host};

/// CPUs that are equally strong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alike {
    /// The evidence that these CPUs differ from other CPUs: a file of the kernel and its content.
    pub(crate) sign: String,
    pub(crate) cpus: Vec<usize>,
}

/// Files of a CPU that show its strength. A kernel may lack some of them.
const FILES: [&str; 4] = [
    "cpu_capacity",
    "cpufreq/base_frequency",
    "acpi_cppc/nominal_freq",
    HIGHEST,
];
const HIGHEST: &str = "cpufreq/cpuinfo_max_freq";

/// Performance monitors of the kinds of cores of a hybrid processor, the weakest first. The kernel
/// has one monitor for each kind of core that exists.
const MONITORS: [&str; 3] = ["cpu_lowpower", "cpu_atom", "cpu_core"];

/// Smaller differences between highest frequencies do not make another kind of CPU: firmware lets
/// the best cores of a processor clock somewhat higher. A guess.
const FAVOURED: f64 = 0.85;

/// Returns the kinds of `cpus`, the strongest kind first; one kind if all CPUs are alike. CPUs are
/// unequal if any file shows a difference.
pub(crate) fn of(host: &Host, cpus: &[usize]) -> Fact<Vec<Alike>> {
    let policies = host.policies();
    let policy_of = |cpu| policies.iter().find(|policy| policy.cpus.contains(&cpu));
    let mut same = None;
    for file in FILES {
        let mut known = Vec::new();
        for &cpu in cpus {
            let file = match (file.strip_prefix("cpufreq/"), policy_of(cpu)) {
                (None, _) => format!("{CPUS}/cpu{cpu}/{file}"),
                (Some(file), Some(policy)) => policy.file(file),
                (Some(_), None) => continue,
            };
            let strength = host.if_any(&file, Host::number)?;
            // A value of 0 counts as missing.
            known.extend(strength.filter(|it| *it > 0).map(|it| (it, cpu)));
        }
        if file == HIGHEST {
            let highest = known.iter().map(|(khz, _)| *khz).max().unwrap_or(0);
            for (khz, _) in &mut known {
                if *khz as f64 > FAVOURED * highest as f64 {
                    *khz = highest;
                }
            }
        }
        let is_of_all = known.len() == cpus.len();
        let sign = |strength, cpu| format!("/{CPUS}/cpu{cpu}/{file} = {strength}");
        let kinds = grouped(known, sign);
        if kinds.len() > 1 {
            return Ok(kinds);
        }
        if is_of_all && !kinds.is_empty() {
            same = same.or(Some(kinds));
        }
    }
    let mut known = Vec::new();
    for (kind, name) in MONITORS.iter().enumerate() {
        let file = format!("sys/devices/{name}/cpus");
        let listed = host.if_any(&file, Host::cpus_in)?.unwrap_or_default();
        let listed = listed.into_iter().filter(|cpu| cpus.contains(cpu));
        known.extend(listed.map(|cpu| (kind, cpu)));
    }
    let sign = |kind, _| format!("/sys/devices/{}/cpus", MONITORS[kind]);
    let kinds = grouped(known, sign);
    if kinds.len() > 1 {
        return Ok(kinds);
    }
    same.ok_or_else(|| {
        let files = FILES.join(", ");
        format!("none of the files {files} below /{CPUS}/cpu* exists for all CPUs")
    })
}

/// Returns the CPUs to which trials should be kept: the strongest kind with at least two CPUs, as a
/// pool of one worker shows little.
pub(crate) fn to_choose(kinds: &[Alike]) -> &[usize] {
    let several = kinds.iter().find(|kind| kind.cpus.len() > 1);
    several.or(kinds.first()).map_or(&[], |kind| &kind.cpus)
}

fn grouped<S: Ord + Copy>(known: Vec<(S, usize)>, sign: impl Fn(S, usize) -> String) -> Vec<Alike> {
    let mut kinds: BTreeMap<S, Vec<usize>> = BTreeMap::new();
    for (strength, cpu) in known {
        kinds.entry(strength).or_default().push(cpu);
    }
    let alike = |(strength, cpus): (S, Vec<usize>)| Alike {
        sign: sign(strength, cpus[0]),
        cpus,
    };
    kinds.into_iter().rev().map(alike).collect()
}
