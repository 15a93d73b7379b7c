//! Whether CPUs are equally strong: in one cycle, and in cycles.

use std::collections::BTreeMap;

use super::tree::{Policy, Tree};
use crate::host::{Fact, cpu_list, is_there, start_of};

/// CPUs that are equally strong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alike {
    /// The evidence that they differ from others: a file and what it says.
    pub(crate) sign: String,
    /// Their numbers, ascending.
    pub(crate) cpus: Vec<usize>,
}

/// Performance monitors of the kinds of cores of a hybrid processor, the weakest first. The kernel
/// has one for each kind that is there.
const MONITORS: [&str; 3] = ["cpu_lowpower", "cpu_atom", "cpu_core"];

/// Highest frequencies that differ by less are of one kind of CPU: firmware lets the best cores of a
/// processor go somewhat higher. A guess.
const FAVOURED: f64 = 0.85;

/// The kinds of `cpus`, the strongest first; one if they are all alike.
///
/// Not every kernel shows all signs, so the CPUs are unequal if one sign says so.
pub(crate) fn of(tree: &Tree, cpus: &[usize]) -> Fact<Vec<Alike>> {
    let files = [
        "cpu_capacity",
        "cpufreq/base_frequency",
        "acpi_cppc/nominal_freq",
        "cpufreq/cpuinfo_max_freq",
    ];
    let policies = tree.policies();
    let mut same = None;
    for file in files {
        let strength = |cpu: &usize| Ok(number(tree, &policies, *cpu, file)?.map(|it| (*cpu, it)));
        let known: Fact<Vec<Option<(usize, u64)>>> = cpus.iter().map(strength).collect();
        let mut known: Vec<(usize, u64)> = known?.into_iter().flatten().collect();
        if file == "cpufreq/cpuinfo_max_freq" {
            let highest = known.iter().map(|(_, khz)| *khz).max().unwrap_or(0);
            for (_, khz) in &mut known {
                if *khz as f64 > FAVOURED * highest as f64 {
                    *khz = highest;
                }
            }
        }
        let is_of_all = known.len() == cpus.len();
        let sign = |cpu: usize, value: u64| format!("{}/cpu{cpu}/{file} = {value}", tree.shown());
        let kinds = grouped(known, sign);
        if kinds.len() > 1 {
            return Ok(kinds);
        }
        if is_of_all && !kinds.is_empty() {
            same = same.or(Some(kinds));
        }
    }
    let kinds = monitored(tree, cpus)?;
    if kinds.len() > 1 {
        return Ok(kinds);
    }
    same.ok_or_else(|| {
        format!(
            "of the files {} below {}/cpu*, none is there for all CPUs",
            files.join(", "),
            tree.shown()
        )
    })
}

/// The CPUs to keep trials to: the strongest of which there are two, as a pool of one worker shows
/// little.
pub(crate) fn to_choose(kinds: &[Alike]) -> &[usize] {
    let several = kinds.iter().find(|kind| kind.cpus.len() > 1);
    several.or(kinds.first()).map_or(&[], |kind| &kind.cpus)
}

/// Reads the number in a file of a CPU or of its policy; 0 counts as none.
fn number(tree: &Tree, policies: &[Policy], cpu: usize, file: &str) -> Fact<Option<u64>> {
    let number = match file.strip_prefix("cpufreq/") {
        Some(file) => {
            let Some(policy) = policies.iter().find(|it| it.cpus.contains(&cpu)) else {
                return Ok(None);
            };
            tree.number_if_any(&format!("cpufreq/policy{}/{file}", policy.number))
        }
        None => tree.number_if_any(&format!("cpu{cpu}/{file}")),
    };
    Ok(number?.filter(|number| *number > 0))
}

fn grouped<S: Ord + Copy>(known: Vec<(usize, S)>, sign: impl Fn(usize, S) -> String) -> Vec<Alike> {
    let mut kinds: BTreeMap<S, Vec<usize>> = BTreeMap::new();
    for (cpu, strength) in known {
        kinds.entry(strength).or_default().push(cpu);
    }
    let kinds = kinds.into_iter().rev();
    kinds
        .map(|(strength, cpus)| Alike {
            sign: sign(cpus[0], strength),
            cpus,
        })
        .collect()
}

fn monitored(tree: &Tree, cpus: &[usize]) -> Fact<Vec<Alike>> {
    let mut known = Vec::new();
    for (kind, name) in MONITORS.iter().enumerate() {
        let file = format!("../../{name}/cpus");
        if is_there(&tree.root.join(&file)) == Ok(false) {
            continue;
        }
        let text = tree.fact(&file)?;
        let listed = cpu_list(&text).ok_or_else(|| {
            format!(
                "/sys/devices/{name}/cpus says `{}`, which is no list of CPUs",
                start_of(&text)
            )
        })?;
        let listed = listed.into_iter();
        known.extend(
            listed
                .filter(|cpu| cpus.contains(cpu))
                .map(|cpu| (cpu, kind)),
        );
    }
    Ok(grouped(known, |_, kind| {
        format!("/sys/devices/{}/cpus", MONITORS[kind])
    }))
}
