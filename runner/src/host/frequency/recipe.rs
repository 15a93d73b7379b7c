//! The files and values that a fix writes, so that all CPUs run at one frequency.
//!
//! The runner reads the highest frequency without boost from the kernel's files, whatever the name
//! of the driver. The clock that is measured after a fix shows whether the files are right.

use anyhow::{Result, bail};

use super::kinds;
use super::sysfs::{EPP, GOVERNOR, Knob, MAX, MIN, NO_TURBO, Policy, SPEED, Tree};
use crate::host::{Fact, show_cpus};
use crate::stop::Stop;

/// Everything that a fix writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The frequency of all CPUs, in kHz.
    pub khz: u64,
    /// The policies whose CPUs are fixed.
    pub policies: Vec<Policy>,
    /// The files and values.
    pub settings: Vec<(Knob, String)>,
}

/// The governor of a fix. It has no choice, because both limits are equal.
const PERFORMANCE: &str = "performance";

/// Chooses the highest frequency that every CPU of `used` can hold without boost, and all values to
/// write. `used` are the CPUs that trials may run on.
///
/// # Errors
/// [`Stop::HostNotFit`] if there is no frequency control, or no known common frequency.
pub fn recipe(tree: &Tree, used: &[usize]) -> Result<Recipe> {
    let policies = tree.policies_of(used);
    let khz = policies.iter().map(|policy| {
        check_governor(tree, policy)?;
        most_without_boost(tree, policy)
    });
    let khz = khz.collect::<Result<Vec<u64>>>()?.into_iter().min();
    let Some(khz) = khz else {
        bail!(Stop::HostNotFit(format!(
            "the host shows no frequency control (no policy in {}/cpufreq), as is usual in a virtual machine",
            tree.shown()
        )));
    };
    check_alike(tree, used)?;
    let value = |knob: Knob| match knob.name {
        GOVERNOR => Some(PERFORMANCE.to_owned()),
        MAX | MIN => Some(khz.to_string()),
        EPP | SPEED => None,
        NO_TURBO => Some("1".to_owned()),
        _ => Some("0".to_owned()),
    };
    let settings = tree.knobs(&policies).into_iter();
    Ok(Recipe {
        khz,
        settings: settings
            .filter_map(|knob| Some((knob, value(knob)?)))
            .collect(),
        policies,
    })
}

/// One frequency does not make CPUs equal that do different work in a cycle.
fn check_alike(tree: &Tree, used: &[usize]) -> Result<()> {
    // If no file shows a difference, the clock that is measured after a fix still does.
    let kinds = kinds::of(tree, used).unwrap_or_default();
    let [strongest, other, ..] = kinds.as_slice() else {
        return Ok(());
    };
    bail!(Stop::HostNotFit(format!(
        "CPUs of unequal strength would share the trials ({}, {}); choose equal ones: `taskset -c {} cargo \
         runner …`",
        strongest.sign,
        other.sign,
        show_cpus(kinds::to_choose(&kinds))
    )))
}

/// The highest frequency that a policy promises without boost, in kHz.
fn most_without_boost(tree: &Tree, policy: &Policy) -> Result<u64> {
    let number = |file: &str| -> Result<Option<u64>> {
        let number = known(tree.number_if_any(file))?;
        Ok(number.filter(|number| *number > 0))
    };
    let base = policy.file("base_frequency");
    if let Some(khz) = number(&base)? {
        return Ok(khz);
    }
    let list = policy.file("scaling_available_frequencies");
    let listed = known(tree.fact_if_any(&list))?.unwrap_or_default();
    let listed = listed.split_whitespace();
    let mut listed: Vec<u64> = listed.filter_map(|khz| khz.parse().ok()).collect();
    listed.sort_unstable();
    match listed[..] {
        // ACPI tables of Intel hosts list turbo as 1 MHz above the highest frequency without it.
        [.., next, top] if next + 1000 == top => return Ok(next),
        [.., top] => return Ok(top),
        [] => {}
    }
    let nominal = format!("cpu{}/acpi_cppc/nominal_freq", policy.cpus[0]); // in MHz
    if let Some(khz) = number(&nominal)?.and_then(|mhz| mhz.checked_mul(1000)) {
        return Ok(khz);
    }
    let driver = tree.fact(&policy.file("scaling_driver"));
    let driver = driver.unwrap_or_else(|_| "unknown".to_owned());
    let remedy = if driver.starts_with("intel") {
        "; start Linux with `intel_pstate=passive`, or with `intel_pstate=disable` if that \
         shows none either: another driver may list it"
    } else if driver.starts_with("amd") {
        "; start Linux with `amd_pstate=disable`: another driver may list it"
    } else {
        ""
    };
    bail!(Stop::HostNotFit(format!(
        "{}: none of {base}, {list} and {nominal} says the highest frequency without boost \
         (driver `{driver}`){remedy}",
        tree.shown()
    )))
}

/// A fact without which nothing can be fixed.
fn known<T>(fact: Fact<T>) -> Result<T> {
    fact.map_err(|reason| {
        Stop::HostNotFit(format!(
            "{reason}, so it is unknown which frequency can be fixed; check its permissions, or run as root"
        ))
        .into()
    })
}

fn check_governor(tree: &Tree, policy: &Policy) -> Result<()> {
    let file = policy.file("scaling_available_governors");
    let offered = known(tree.fact(&file))?;
    if offered.split_whitespace().any(|name| name == PERFORMANCE) {
        return Ok(());
    }
    bail!(Stop::HostNotFit(format!(
        "{}/{file}: `{offered}` has no `{PERFORMANCE}`; load it with `modprobe cpufreq_{PERFORMANCE}`",
        tree.shown()
    )))
}

/// Returns the first limit that keeps CPUs of `policies` below the frequency that they can hold
/// without boost, with its file and the number of policies that have such a limit; `None` if there
/// is no such limit.
pub(crate) fn cap(tree: &Tree, policies: &[Policy]) -> Fact<Option<String>> {
    let mut capped = Vec::new();
    for policy in policies {
        let limit = |name: &str| {
            let path = policy.file(name);
            let place = format!("{}/{path}", tree.shown());
            match tree.number_if_any(&path)? {
                Some(0) => Err(format!("{place} = 0, which is not a frequency")),
                khz => Ok(khz.map(|khz| (khz, format!("{place} = {khz}")))),
            }
        };
        let there = |name: &str| {
            let missing = || format!("{}/{} is not there", tree.shown(), policy.file(name));
            limit(name)?.ok_or_else(missing)
        };
        let (highest, _) = there("cpuinfo_max_freq")?;
        let held = most_without_boost(tree, policy).map_or(highest, |khz| khz.min(highest));
        let mut limits = vec![there(MAX)?];
        limits.extend(limit("bios_limit")?);
        let share = "intel_pstate/max_perf_pct";
        if let Some(percent) = tree.number_if_any(share)? {
            let seen = format!("{}/{share} = {percent}", tree.shown());
            limits.push((highest / 100 * percent.min(100), seen));
        }
        let lowest = limits.into_iter().min().filter(|(khz, _)| *khz < held);
        capped.extend(lowest.map(|(_, seen)| (seen, held)));
    }
    Ok(capped.first().map(|(seen, held)| {
        let (number, all) = (capped.len(), policies.len());
        format!("{seen}, and {held} kHz can be held without boost ({number} of {all} policies)")
    }))
}
