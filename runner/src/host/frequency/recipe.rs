//! What has to be in which file so that all CPUs run at one frequency: a recipe for each driver.

use anyhow::{Result, bail};

use super::tree::{Kind, Knob, Policy, Tree};
use crate::stop::Stop;

/// Everything that a fix writes, before a byte is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The frequency of all CPUs, in kHz.
    pub khz: u64,
    /// What must be in which file for the fix to hold, in the order in which it is written:
    /// governors, what forbids boost (setting a governor can allow it again), limits, requests to
    /// the governor `userspace`.
    pub settings: Vec<(Knob, String)>,
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

/// Chooses the highest frequency that every CPU can hold without boost, and all that is to be
/// written. `used` are the CPUs that trials may run on.
///
/// # Errors
/// [`Stop::HostNotFit`] if there is no frequency control, no recipe for the driver, or no common
/// frequency.
pub fn recipe(tree: &Tree, used: &[usize]) -> Result<Recipe> {
    let policies = tree.policies();
    if policies.is_empty() {
        bail!(Stop::HostNotFit(format!(
            "the host shows no frequency control (no policy in {}/cpufreq), as is usual in a virtual machine",
            tree.root.display()
        )));
    }
    let mut drivers = Vec::new();
    for policy in &policies {
        drivers.push(driver(policy)?);
    }
    check_capacities(tree, &policies, used)?;
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

fn driver(policy: &Policy) -> Result<Driver> {
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

/// CPUs that do different work in a cycle are not made equal by one frequency.
fn check_capacities(tree: &Tree, policies: &[Policy], used: &[usize]) -> Result<()> {
    let cpus = policies
        .iter()
        .flat_map(|policy| &policy.cpus)
        .filter(|cpu| used.contains(cpu));
    let mut capacities =
        cpus.filter_map(|&cpu| Some((cpu, tree.number_of_cpu(cpu, "cpu_capacity")?)));
    let Some((first, capacity)) = capacities.next() else {
        return Ok(());
    };
    if let Some((other, differs)) = capacities.find(|(_, other)| *other != capacity) {
        bail!(Stop::HostNotFit(format!(
            "CPUs of unequal capacity would share the trials (cpu{first}: {capacity}, cpu{other}: {differs}; \
             {}/cpu*/cpu_capacity); choose equal ones, for example with `taskset --cpu-list`",
            tree.root.display()
        )));
    }
    Ok(())
}

fn common_frequency(tree: &Tree, policies: &[Policy], drivers: &[Driver]) -> Result<u64> {
    let mut khz = u64::MAX;
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
        Stop::HostNotFit(format!(
            "{}/{file} says no frequency, so the highest one without boost is not known (driver `{}`); \
             start Linux with `intel_pstate=disable` or `amd_pstate=disable`: another driver may list it",
            tree.root.display(),
            policy.driver
        ))
    };
    let of_policy = |file: &str| {
        tree.number(number, file)
            .ok_or_else(|| missing(&format!("cpufreq/policy{number}/{file}")).into())
    };
    let nominal = || {
        let cpu = policy.cpus[0]; // policies without a CPU are left out by `Tree::policies`
        let file = "acpi_cppc/nominal_freq"; // in MHz
        let mhz = tree.number_of_cpu(cpu, file).filter(|mhz| *mhz > 0);
        mhz.map(|mhz| mhz * 1000)
            .ok_or_else(|| missing(&format!("cpu{cpu}/{file}")).into())
    };
    match driver {
        Driver::IntelPstate | Driver::IntelCpufreq => of_policy("base_frequency"),
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
    let offered = tree.text(policy.number, file).unwrap_or_default();
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
        tree.root.display(),
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
