//! The files and values that a fix writes, so that all CPUs run at one frequency.
//!
//! The kernel's files decide, not the name of the driver. The runner reads the highest frequency
//! without boost from the file that has it. The clock that is measured after a fix shows whether
//! the file is right.

use anyhow::{Result, bail};

use super::kinds;
use super::sysfs::{Kind, Knob, Policy, Tree};
use crate::host::{Fact, show_cpus};
use crate::stop::Stop;

/// Everything that a fix writes, before a byte is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The frequency of all CPUs, in kHz.
    pub khz: u64,
    /// The policies whose CPUs are fixed.
    pub policies: Vec<Policy>,
    /// The files and values of the fix, in the order of writing: governors, switches that forbid
    /// boost, limits. Boost comes after the governor, because setting a governor can allow boost
    /// again.
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
    if policies.is_empty() {
        bail!(Stop::HostNotFit(format!(
            "the host shows no frequency control (no policy in {}/cpufreq), as is usual in a virtual machine",
            tree.shown()
        )));
    }
    check_alike(tree, used)?;
    let khz = common_frequency(tree, &policies)?;
    let mut settings = Vec::new();
    for policy in &policies {
        check_governor(tree, policy)?;
        let governor = Knob::of(policy.number, Kind::Governor);
        settings.push((governor, PERFORMANCE.to_owned()));
    }
    let mut boost = tree.knobs(&policies);
    boost.retain(|knob| knob.kind.is_boost());
    settings.extend(boost.into_iter().map(|knob| {
        let off = if knob.kind == Kind::NoTurbo { "1" } else { "0" };
        (knob, off.to_owned())
    }));
    for policy in &policies {
        let limits = [Kind::Max, Kind::Min].map(|kind| Knob::of(policy.number, kind));
        settings.extend(limits.map(|knob| (knob, khz.to_string())));
    }
    Ok(Recipe {
        khz,
        policies,
        settings,
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

fn common_frequency(tree: &Tree, policies: &[Policy]) -> Result<u64> {
    let (mut most, mut lowest, mut lists) = (u64::MAX, 0, Vec::new());
    for policy in policies {
        most = most.min(most_without_boost(tree, policy)?);
        let listed = available(tree, policy)?;
        let least = known(tree.number_if_any(&policy.file("cpuinfo_min_freq")))?;
        lowest = lowest.max(least.unwrap_or(0));
        lists.extend((!listed.is_empty()).then_some(listed));
    }
    // If only some frequencies exist, all CPUs must have the chosen one.
    let is_in_all = |khz: &u64| lists.iter().all(|listed| listed.contains(khz));
    let khz = match lists.first() {
        Some(first) => first
            .iter()
            .copied()
            .rfind(|khz| *khz <= most && is_in_all(khz)),
        None => Some(most).filter(|most| *most >= lowest),
    };
    khz.ok_or_else(|| {
        Stop::HostNotFit(format!(
            "no frequency is common to all CPUs: {most} kHz is the highest of some without boost, and \
             others have none of the lower ones that these have; choose equal CPUs, for example by \
             taking the others offline"
        ))
        .into()
    })
}

/// The highest frequency that a policy promises without boost, in kHz.
fn most_without_boost(tree: &Tree, policy: &Policy) -> Result<u64> {
    let number = |file: &str| -> Result<Option<u64>> {
        let number = known(tree.number_if_any(file))?;
        Ok(number.filter(|number| *number > 0))
    };
    if let Some(base) = number(&policy.file("base_frequency"))? {
        return Ok(base);
    }
    match available(tree, policy)?[..] {
        // ACPI tables of Intel hosts list turbo as 1 MHz above the highest frequency without it.
        [.., next, top] if next + 1000 == top => return Ok(next),
        [.., top] => return Ok(top),
        [] => {}
    }
    let nominal = format!("cpu{}/acpi_cppc/nominal_freq", policy.cpus[0]); // in MHz
    let khz = number(&nominal)?.and_then(|mhz| mhz.checked_mul(1000));
    // If turbo is forbidden, perhaps permanently by firmware, no CPU can exceed its base frequency.
    // A kernel may still report the turbo frequency, so the nominal one is checked, too.
    let no_turbo = tree.fact(&Knob::of_host(Kind::NoTurbo).to_string());
    let highest = match no_turbo.as_deref() {
        Ok("1") => number(&policy.file("cpuinfo_max_freq"))?,
        _ => None,
    };
    khz.into_iter().chain(highest).min().ok_or_else(|| {
        let (base, list) = (policy.file("base_frequency"), policy.file(AVAILABLE));
        let driver = &policy.driver;
        let remedy = if driver.starts_with("intel") {
            "; start Linux with `intel_pstate=passive`, or with `intel_pstate=disable` if that \
             shows none either: another driver may list it"
        } else if driver.starts_with("amd") {
            "; start Linux with `amd_pstate=disable`: another driver may list it"
        } else {
            ""
        };
        Stop::HostNotFit(format!(
            "{}: none of {base}, {list} and {nominal} says the highest frequency without boost \
             (driver `{driver}`){remedy}",
            tree.shown()
        ))
        .into()
    })
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

const AVAILABLE: &str = "scaling_available_frequencies";

/// Frequencies that a policy accepts, ascending; empty if it accepts any.
fn available(tree: &Tree, policy: &Policy) -> Result<Vec<u64>> {
    let text = known(tree.fact_if_any(&policy.file(AVAILABLE)))?.unwrap_or_default();
    let words = text.split_whitespace();
    let mut listed: Vec<u64> = words.filter_map(|khz| khz.parse().ok()).collect();
    listed.sort_unstable();
    Ok(listed)
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
/// without boost. It comes with its file and the number of policies that have such a limit. `None`
/// if there is none.
pub(crate) fn cap(tree: &Tree, policies: &[Policy]) -> Fact<Option<String>> {
    let mut capped = Vec::new();
    for policy in policies {
        let limit = |name: &str| {
            let path = policy.file(name);
            let khz = tree.number_if_any(&path)?;
            let place = format!("{}/{path}", tree.shown());
            match khz {
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
        let mut limits = vec![there("scaling_max_freq")?];
        // The firmware's limit, and a share of the highest frequency: not every host has them.
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
