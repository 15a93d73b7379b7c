//! Options on the kernel's command line that can change times: those that a record keeps, and those
//! that mainline Linux does not have.
//!
//! The names are those of the kernel's own list (`admin-guide/kernel-parameters`) and of the
//! modules named there.

/// Options of mainline Linux that change when, where and how fast a thread runs. A name that ends in
/// a dot stands for all options of a module. In names, `-` and `_` are one.
const TIMING: [(&str, &[&str]); 8] = [
    (
        "scheduler",
        &[
            "autogroup",
            "cgroup_disable",
            "cgroup_favordynmods",
            "cgroup_no_v1",
            "noautogroup",
            "numa_balancing",
            "preempt",
            "psi",
            "relax_domain_level",
            "resched_latency_warn_ms",
            "sched_debug",
            "sched_ext.",
            "sched_proxy_exec",
            "sched_thermal_decay_shift",
            "sched_verbose",
            "schedstats",
            "workqueue.",
        ],
    ),
    (
        "isolation and interrupts",
        &[
            "irqaffinity",
            "isolcpus",
            "maxcpus",
            "nmi_watchdog",
            "nohz",
            "nohz_full",
            "nosmp",
            "nosmt",
            "nosoftlockup",
            "nowatchdog",
            "nr_cpus",
            "possible_cpus",
            "rcu_nocb_poll",
            "rcu_nocbs",
            "rcupdate.",
            "rcutree.",
            "skew_tick",
            "threadirqs",
            "watchdog_thresh",
        ],
    ),
    (
        "idle",
        &[
            "cpuidle.",
            "cpuidle_haltpoll.",
            "cpuidle_sysfs_switch",
            "haltpoll.",
            "hlt",
            "idle",
            "intel_idle.",
            "nohlt",
            "processor.",
        ],
    ),
    (
        "frequency",
        &[
            "acpi_cpufreq.",
            "amd_prefcore",
            "amd_pstate",
            "cpufreq.",
            "cpufreq_driver",
            "intel_pstate",
            "thermal.",
        ],
    ),
    (
        "time",
        &[
            "clocksource",
            "clocksource.",
            "highres",
            "hpet",
            "nohpet",
            "nolapic_timer",
            "notsc",
            "tsc",
            "tsc_early_khz",
        ],
    ),
    (
        "guests",
        &[
            "hv_nopvspin",
            "kvm.",
            "kvm_amd.",
            "kvm_intel.",
            "no_kvmapf",
            "no_kvmclock",
            "no_steal_acc",
            "no_vmw_sched_clock",
            "nopv",
            "nopvspin",
            "xen_nopv",
            "xen_nopvspin",
        ],
    ),
    (
        "mitigations and hardening",
        &[
            "gather_data_sampling",
            "indirect_target_selection",
            "init_on_alloc",
            "init_on_free",
            "kaslr",
            "kpti",
            "l1d_flush",
            "l1tf",
            "mds",
            "mitigations",
            "mmio_stale_data",
            "nokaslr",
            "nopti",
            "norandmaps",
            "nospec_store_bypass_disable",
            "nospectre_bhb",
            "nospectre_v1",
            "nospectre_v2",
            "page_poison",
            "pti",
            "randomize_kstack_offset",
            "reg_file_data_sampling",
            "retbleed",
            "spec_rstack_overflow",
            "spec_store_bypass_disable",
            "spectre_bhi",
            "spectre_v2",
            "spectre_v2_user",
            "srbds",
            "ssbd",
            "tsa",
            "tsx",
            "tsx_async_abort",
            "vmscape",
        ],
    ),
    // A miss in address translation costs as much as a steal.
    (
        "huge pages and memory nodes",
        &[
            "default_hugepagesz",
            "hugepages",
            "hugepagesz",
            "numa",
            "thp_anon",
            "transparent_hugepage",
        ],
    ),
];

/// Prefixes of options that decide when a thread runs, in kernels of any origin.
const OF_SCHEDULING: [&str; 14] = [
    "bore", "cfs", "cpufreq", "cpuidle", "eevdf", "halt", "idle", "isol", "nohz", "preempt",
    "pvsched", "sched", "steal", "vcpu",
];

/// The options that can change times, in their order. The other options name disks, networks, hosts
/// or programs; they are private and not recorded.
pub(super) fn timing(command_line: &str) -> String {
    let kept = options(command_line)
        .into_iter()
        .filter(|option| is_known(option) || is_of_scheduling(option));
    kept.collect::<Vec<_>>().join(" ")
}

/// The options that decide when a thread runs and that are not in the list of mainline Linux above.
pub(super) fn foreign(command_line: &str) -> Vec<&str> {
    let foreign = options(command_line)
        .into_iter()
        .filter(|option| is_of_scheduling(option) && !is_known(option));
    foreign.collect()
}

/// Splits the kernel's command line as the kernel does, up to `--`: later words are for the first
/// program. A value between quotes may contain spaces.
fn options(command_line: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let words = command_line.split(|it: char| {
        is_quoted ^= it == '"';
        it.is_whitespace() && !is_quoted
    });
    words
        .take_while(|word| *word != "--")
        .filter(|word| !word.is_empty())
        .collect()
}

fn name(option: &str) -> String {
    let name = option.split('=').next().unwrap_or_default();
    name.replace('-', "_")
}

fn is_known(option: &str) -> bool {
    let name = name(option);
    let mut known = TIMING.iter().flat_map(|(_, names)| *names);
    known.any(|known| *known == name || (known.ends_with('.') && name.starts_with(known)))
}

fn is_of_scheduling(option: &str) -> bool {
    let name = name(option);
    OF_SCHEDULING.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_change_times_is_recorded() {
        let line = "BOOT_IMAGE=/boot/mine root=UUID=12-34 quiet mitigations=off init=/sbin/start \
                    systemd.hostname=mine cryptkey=secret isolcpus=2-3 cpuidle_haltpoll.force=1 \
                    transparent_hugepage=never no-steal-acc -- --token secret sched_after=1";
        assert_eq!(
            timing(line),
            "mitigations=off isolcpus=2-3 cpuidle_haltpoll.force=1 transparent_hugepage=never \
             no-steal-acc"
        );
    }

    #[test]
    fn a_quoted_value_is_one_word_whatever_it_holds() {
        let line = r#"dyndbg="file a.c idle=secret +p" "name=my idle=host" idle=poll"#;
        assert_eq!(timing(line), "idle=poll");
    }

    #[test]
    fn options_of_the_scheduler_that_mainline_lacks_are_foreign_and_recorded() {
        let line = "quiet sched_verbose sched_vcpu_pack=15 schedstats=enable nohz_full=1 \
                    sched-turbo bore.burst=1 psi=1 root=/dev/sched";
        assert_eq!(
            foreign(line),
            ["sched_vcpu_pack=15", "sched-turbo", "bore.burst=1"]
        );
        assert!(timing(line).contains("sched_vcpu_pack=15"));
    }
}
