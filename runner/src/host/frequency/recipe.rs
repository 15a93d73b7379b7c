//! Recipes, one for each driver: the files and values that make all CPUs run at one frequency.

use anyhow::{Result, bail};

use super::kinds;
use super::tree::{Kind, Knob, Policy, Tree};
use crate::host::{Fact, show_cpus};
use crate::stop::Stop;

/// Everything that a fix writes, before a byte is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The frequency of all CPUs, in kHz.
    pub khz: u64,
    /// The files and values that make the fix hold, in the order in which they are written:
    /// governors, what forbids boost (setting a governor can allow it again), limits, requests to
    /// the governor `userspace`.
    pub settings: Vec<(Knob, String)>,
}

impl Recipe {
    /// Whether it sets files of this policy.
    pub(super) fn is_of(&self, policy: u32) -> bool {
        let mut knobs = self.settings.iter().map(|(knob, _)| knob);
        knobs.any(|knob| knob.policy == Some(policy))
    }
}

/// Drivers with a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    IntelPstate,
    IntelCpufreq,
    AmdPstateEpp,
    AmdPstate,
    AcpiCpufreq,
    Cppc,
    /// Frequencies of a device tree or of a system controller.
    Listed,
}

const DRIVERS: [(&str, Driver); 8] = [
    ("intel_pstate", Driver::IntelPstate),
    ("intel_cpufreq", Driver::IntelCpufreq),
    ("amd-pstate-epp", Driver::AmdPstateEpp),
    ("amd-pstate", Driver::AmdPstate),
    ("acpi-cpufreq", Driver::AcpiCpufreq),
    ("cppc_cpufreq", Driver::Cppc),
    ("cpufreq-dt", Driver::Listed),
    ("scmi", Driver::Listed),
];

/// Chooses the highest frequency that every CPU of `used`, those that trials may run on, can hold
/// without boost, and all that is to be written.
///
/// # Errors
/// [`Stop::HostNotFit`] if there is no frequency control, no recipe for the driver, or no common
/// frequency.
pub fn recipe(tree: &Tree, used: &[usize]) -> Result<Recipe> {
    let policies = tree.policies_of(used);
    if policies.is_empty() {
        bail!(Stop::HostNotFit(format!(
            "the host shows no frequency control (no policy in {}/cpufreq), as is usual in a virtual machine",
            tree.shown()
        )));
    }
    let mut drivers = Vec::new();
    for policy in &policies {
        drivers.push(driver(tree, policy)?);
    }
    check_alike(tree, used)?;
    let khz = common_frequency(tree, &policies, &drivers)?;
    let at_khz = |policy: u32, kind| (Knob::of(policy, kind), khz.to_string());
    let (mut settings, mut speeds) = (Vec::new(), Vec::new());
    for (policy, driver) in policies.iter().zip(&drivers) {
        let governor = governor(tree, policy, *driver)?;
        settings.push((Knob::of(policy.number, Kind::Governor), governor.to_owned()));
        speeds.extend((governor == USERSPACE).then(|| at_khz(policy.number, Kind::Speed)));
    }
    settings.extend(boost(tree, &policies));
    settings.extend(
        policies
            .iter()
            .flat_map(|it| [Kind::Max, Kind::Min].map(|kind| at_khz(it.number, kind))),
    );
    settings.extend(speeds);
    Ok(Recipe { khz, settings })
}

/// The governor that leaves the choice to the writer of `scaling_setspeed`.
pub(super) const USERSPACE: &str = "userspace";
const PERFORMANCE: &str = "performance";

fn driver(tree: &Tree, policy: &Policy) -> Result<Driver> {
    let file = format!("cpufreq/policy{}/scaling_driver", policy.number);
    if let Err(reason) = tree.fact(&file) {
        bail!(unread(
            &reason,
            "which driver sets the frequency is not known"
        ));
    }
    let known = DRIVERS.iter().find(|(name, _)| *name == policy.driver);
    known.map(|(_, driver)| *driver).ok_or_else(|| {
        let names: Vec<&str> = DRIVERS.iter().map(|(name, _)| *name).collect();
        Stop::HostNotFit(format!(
            "there is no recipe for the frequency driver `{}` (policy{}); there is one for {}",
            policy.driver,
            policy.number,
            names.join(", ")
        ))
        .into()
    })
}

/// Returns the error for an unreadable file without which nothing can be fixed.
fn unread(reason: &str, then: &str) -> Stop {
    Stop::HostNotFit(format!(
        "{reason}, so {then}; look at its permissions, or ask as root"
    ))
}

/// The same of the frequencies that a policy lists.
fn check_readable(tree: &Tree, file: &str) -> Result<(), Stop> {
    match tree.number_if_any(file) {
        Ok(_) => Ok(()),
        Err(_) => tree
            .fact(file)
            .map(drop)
            .map_err(|reason| unread(&reason, "the highest frequency without boost is not known")),
    }
}

/// CPUs that do different work in a cycle are not made equal by one frequency.
fn check_alike(tree: &Tree, used: &[usize]) -> Result<()> {
    // Where no file tells, the clock that is measured after a fix still does.
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

fn common_frequency(tree: &Tree, policies: &[Policy], drivers: &[Driver]) -> Result<u64> {
    let mut khz = u64::MAX;
    for policy in policies {
        check_readable(
            tree,
            &format!("cpufreq/policy{}/{AVAILABLE}", policy.number),
        )?;
    }
    for (policy, driver) in policies.iter().zip(drivers) {
        khz = khz.min(most_without_boost(tree, policy, *driver)?);
    }
    // Where only some frequencies exist, going down to one of them may leave another policy's list.
    loop {
        let mut lower = khz;
        for policy in policies {
            lower = lower.min(at_or_below(tree, policy, khz)?);
        }
        if lower == khz {
            return Ok(khz);
        }
        khz = lower;
    }
}

/// The highest frequency that a policy promises without boost, in kHz.
fn most_without_boost(tree: &Tree, policy: &Policy, driver: Driver) -> Result<u64> {
    let number = policy.number;
    let missing = |file: &str| {
        if let Err(stop) = check_readable(tree, file) {
            return stop;
        }
        let remedy = match driver {
            Driver::IntelPstate | Driver::IntelCpufreq => {
                "; start Linux with `intel_pstate=passive`, or with `intel_pstate=disable` where that \
                 shows none either: another driver may list it"
            }
            Driver::AmdPstateEpp | Driver::AmdPstate => {
                "; start Linux with `amd_pstate=disable`: another driver may list it"
            }
            Driver::AcpiCpufreq | Driver::Cppc | Driver::Listed => "",
        };
        Stop::HostNotFit(format!(
            "{}/{file} says no frequency, so the highest one without boost is not known (driver `{}`){remedy}",
            tree.shown(),
            policy.driver
        ))
    };
    let of_policy = |file: &str| -> Result<u64> {
        tree.number(number, file)
            .filter(|khz| *khz > 0)
            .ok_or_else(|| missing(&format!("cpufreq/policy{number}/{file}")).into())
    };
    let nominal = || -> Result<u64> {
        let cpu = policy.cpus[0]; // policies without a CPU are left out by `Tree::policies`
        let file = "acpi_cppc/nominal_freq"; // in MHz
        let mhz = tree.number_of_cpu(cpu, file).filter(|mhz| *mhz > 0);
        mhz.and_then(|mhz| mhz.checked_mul(1000))
            .ok_or_else(|| missing(&format!("cpu{cpu}/{file}")).into())
    };
    match driver {
        Driver::IntelPstate | Driver::IntelCpufreq => {
            let no_turbo = tree.value_if_any(Knob::of_host(Kind::NoTurbo));
            match of_policy("base_frequency") {
                // Where turbo is forbidden, by firmware for good, no CPU can do more than its base. A
                // kernel may still name the turbo frequency, so the nominal one is asked, too.
                Err(_) if no_turbo.as_deref() == Some("1") => {
                    let most = of_policy("cpuinfo_max_freq")?;
                    Ok(nominal().map_or(most, |nominal| nominal.min(most)))
                }
                base => base.or_else(|missing| nominal().map_err(|_: anyhow::Error| missing)),
            }
        }
        Driver::AmdPstateEpp | Driver::AmdPstate | Driver::Cppc => nominal(),
        Driver::AcpiCpufreq => {
            let listed = available(tree, number);
            let (Some(&top), next) = (listed.last(), listed.iter().rev().nth(1)) else {
                return Err(missing(&format!("cpufreq/policy{number}/{AVAILABLE}")).into());
            };
            // ACPI tables of Intel hosts name turbo as 1 MHz above the highest frequency without
            // it.
            Ok(next
                .copied()
                .filter(|next| next + 1000 == top)
                .unwrap_or(top))
        }
        Driver::Listed => available(tree, number)
            .last()
            .copied()
            .map_or_else(|| of_policy("cpuinfo_max_freq"), Ok),
    }
}

/// The limits that keep CPUs of `policies` below what they can hold without boost: the first, with
/// its file, and how many policies have one; `None` if there is none.
pub(crate) fn cap(tree: &Tree, policies: &[Policy]) -> Fact<Option<String>> {
    let mut capped = Vec::new();
    for policy in policies {
        let number = policy.number;
        let of_policy = |file: &str| {
            let path = format!("cpufreq/policy{number}/{file}");
            let khz = tree.number_if_any(&path)?;
            let place = format!("{}/{path}", tree.shown());
            match khz {
                Some(0) => Err(format!("{place} = 0, which is no frequency")),
                khz => Ok(khz.map(|khz| (format!("{place} = {khz}"), khz))),
            }
        };
        let there = |file: &str| {
            let missing = || {
                let folder = tree.shown();
                format!("{folder}/cpufreq/policy{number}/{file} is not there")
            };
            of_policy(file)?.ok_or_else(missing)
        };
        let (_, highest) = there("cpuinfo_max_freq")?;
        let without_boost =
            driver(tree, policy).and_then(|it| most_without_boost(tree, policy, it));
        let least = without_boost.map_or(highest, |khz| khz.min(highest));
        let mut limits = vec![there("scaling_max_freq")?];
        // Firmware's, and a share of the highest: not every host has them.
        limits.extend(of_policy("bios_limit")?);
        let file = "intel_pstate/max_perf_pct";
        if let Some(share) = tree.number_if_any(file)? {
            let seen = format!("{}/{file} = {share}", tree.shown());
            limits.push((seen, highest / 100 * share.min(100)));
        }
        let below = limits.into_iter().filter(|(_, khz)| *khz < least);
        capped.extend(
            below
                .min_by_key(|(_, khz)| *khz)
                .map(|(seen, _)| format!("{seen}, and {least} kHz can be held without boost")),
        );
    }
    let number = capped.len();
    let first = capped.into_iter().next();
    Ok(first.map(|seen| format!("{seen} ({number} of {} policies)", policies.len())))
}

const AVAILABLE: &str = "scaling_available_frequencies";

/// Frequencies that a policy can be asked for, ascending; empty where any can be.
fn available(tree: &Tree, policy: u32) -> Vec<u64> {
    let text = tree.text(policy, AVAILABLE).unwrap_or_default();
    let mut listed: Vec<u64> = text
        .split_whitespace()
        .filter_map(|khz| khz.parse().ok())
        .collect();
    listed.sort_unstable();
    listed
}

fn at_or_below(tree: &Tree, policy: &Policy, khz: u64) -> Result<u64> {
    let listed = available(tree, policy.number);
    let lowest = listed
        .first()
        .copied()
        .or_else(|| tree.number(policy.number, "cpuinfo_min_freq"));
    if lowest.is_some_and(|lowest| lowest > khz) {
        bail!(Stop::HostNotFit(format!(
            "no frequency is common to all CPUs: {khz} kHz is the highest of some, and policy{} cannot go \
             below {} kHz; choose equal CPUs, for example by taking the others offline",
            policy.number,
            lowest.unwrap_or_default()
        )));
    }
    Ok(listed
        .into_iter()
        .rfind(|listed| *listed <= khz)
        .unwrap_or(khz))
}

/// `userspace` where the driver obeys it to the letter; `performance` between equal limits
/// elsewhere.
fn governor(tree: &Tree, policy: &Policy, driver: Driver) -> Result<&'static str> {
    let file = "scaling_available_governors";
    let offered = tree
        .fact(&format!("cpufreq/policy{}/{file}", policy.number))
        .map_err(|reason| unread(&reason, "which governors there are is not known"))?;
    let has = |name: &str| offered.split_whitespace().any(|offered| offered == name);
    let obeys = matches!(
        driver,
        Driver::IntelCpufreq | Driver::AmdPstate | Driver::AcpiCpufreq
    );
    if obeys && has(USERSPACE) {
        return Ok(USERSPACE);
    }
    if has(PERFORMANCE) {
        return Ok(PERFORMANCE);
    }
    bail!(Stop::HostNotFit(format!(
        "{}/cpufreq/policy{}/{file}: `{offered}` has no `{PERFORMANCE}`; load it with \
         `modprobe cpufreq_{PERFORMANCE}`",
        tree.shown(),
        policy.number
    )))
}

fn boost(tree: &Tree, policies: &[Policy]) -> Vec<(Knob, String)> {
    let off = |kind| if kind == Kind::NoTurbo { "1" } else { "0" };
    let knobs = tree
        .knobs(policies)
        .into_iter()
        .filter(|knob| knob.kind.is_boost());
    knobs
        .map(|knob| (knob, off(knob.kind).to_owned()))
        .collect()
}
