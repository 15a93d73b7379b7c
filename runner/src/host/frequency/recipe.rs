//! The files and values that a fix writes, so that all CPUs on which trials may run have one
//! frequency. The clock that is measured after a fix shows whether the kernel's files gave the
//! right frequency.

use anyhow::{Result, bail};

use super::kinds;
use super::sysfs::{EPP, GOVERNOR, Knob, MAX, MIN, NO_TURBO, Policy, SPEED};
use crate::host::{CPUS, Fact, Host, show_cpus};
use crate::stop::Stop;

/// Everything that a fix writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The frequency of all CPUs of `policies`, in kHz.
    pub khz: u64,
    /// The policies whose CPUs are fixed.
    pub policies: Vec<Policy>,
    /// The files and values.
    pub settings: Vec<(Knob, String)>,
}

/// Chooses the highest frequency that all CPUs on which trials may run can hold without boost, and
/// all values to write.
///
/// # Errors
/// [`Stop::HostNotFit`] if there is no frequency control, no known frequency or no governor
/// `performance`, or if the CPUs are unequal.
pub fn recipe(host: &Host) -> Result<Recipe> {
    let policies = host.used_policies();
    let khz = policies
        .iter()
        .map(|policy| most_without_boost(host, policy));
    let Some(khz) = khz.collect::<Result<Vec<u64>>>()?.into_iter().min() else {
        bail!(Stop::HostNotFit(format!(
            "the host shows no frequency control (no policy in /{CPUS}/cpufreq), as is usual in a virtual machine"
        )));
    };
    check_alike(host)?;
    for policy in &policies {
        let file = policy.file("scaling_available_governors");
        let offered = known(host.read(&file))?;
        if offered.split_whitespace().all(|name| name != "performance") {
            bail!(Stop::HostNotFit(format!(
                "/{file}: `{offered}` has no `performance`; load it with `modprobe cpufreq_performance`"
            )));
        }
    }
    let value = |knob: Knob| match knob.name {
        // The governor cannot choose another frequency, because both limits are equal.
        GOVERNOR => Some("performance".to_owned()),
        MAX | MIN => Some(khz.to_string()),
        EPP | SPEED => None,
        NO_TURBO => Some("1".to_owned()),
        _ => Some("0".to_owned()),
    };
    let settings = host.knobs(&policies).into_iter();
    Ok(Recipe {
        khz,
        settings: settings
            .filter_map(|knob| Some((knob, value(knob)?)))
            .collect(),
        policies,
    })
}

/// Refuses CPUs of unequal strength: one frequency does not make CPUs equal that do different
/// amounts of work in a cycle.
fn check_alike(host: &Host) -> Result<()> {
    // If no file shows a difference, the clock that is measured after a fix still shows a
    // difference in speed.
    let kinds = kinds::of(host, &host.used_cpus()).unwrap_or_default();
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

fn most_without_boost(host: &Host, policy: &Policy) -> Result<u64> {
    let number = |file: &str| -> Result<Option<u64>> {
        let number = known(host.if_any(file, Host::number))?;
        Ok(number.filter(|number| *number > 0))
    };
    let base = policy.file("base_frequency");
    if let Some(khz) = number(&base)? {
        return Ok(khz);
    }
    let list = policy.file("scaling_available_frequencies");
    let listed = known(host.if_any(&list, Host::read))?.unwrap_or_default();
    let listed = listed.split_whitespace();
    let mut listed: Vec<u64> = listed.filter_map(|khz| khz.parse().ok()).collect();
    listed.sort_unstable();
    match listed[..] {
        // ACPI tables of Intel hosts list turbo as 1 MHz above the highest frequency without turbo.
        [.., next, top] if next + 1000 == top => return Ok(next),
        [.., top] => return Ok(top),
        [] => {}
    }
    let nominal = format!("{CPUS}/cpu{}/acpi_cppc/nominal_freq", policy.cpus[0]); // in MHz
    if let Some(khz) = number(&nominal)?.and_then(|mhz| mhz.checked_mul(1000)) {
        return Ok(khz);
    }
    let driver = host.read(&policy.file("scaling_driver"));
    let driver = driver.unwrap_or_else(|_| "unknown".to_owned());
    bail!(Stop::HostNotFit(format!(
        "none of /{base}, /{list} and /{nominal} says the highest frequency without boost \
         (driver `{driver}`); another driver may list it: start Linux with `intel_pstate=passive`, \
         `intel_pstate=disable` or `amd_pstate=disable`"
    )))
}

fn known<T>(fact: Fact<T>) -> Result<T> {
    fact.map_err(|reason| {
        Stop::HostNotFit(format!(
            "{reason}, so it is unknown which frequency can be fixed; check its permissions, or run as root"
        ))
        .into()
    })
}

/// Returns a text about the first policy with a limit below the frequency that its CPUs can hold
/// without boost. The text also says how many of `policies` have such a limit.
pub(crate) fn cap(host: &Host, policies: &[Policy]) -> Fact<Option<String>> {
    let mut capped = Vec::new();
    for policy in policies {
        let limit = |name: &str| {
            let file = policy.file(name);
            match host.number(&file)? {
                0 => Err(format!("/{file} = 0, which is not a frequency")),
                khz => Ok((khz, format!("/{file} = {khz}"))),
            }
        };
        let (highest, _) = limit("cpuinfo_max_freq")?;
        let held = most_without_boost(host, policy).map_or(highest, |khz| khz.min(highest));
        let mut limits = vec![limit(MAX)?];
        if host.is_there(&policy.file("bios_limit"))? {
            limits.push(limit("bios_limit")?);
        }
        let share = format!("{CPUS}/intel_pstate/max_perf_pct");
        if let Some(percent) = host.if_any(&share, Host::number)? {
            let seen = format!("/{share} = {percent}");
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
