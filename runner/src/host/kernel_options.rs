//! Finds two kinds of options on the kernel's command line: options that can change times, which
//! `host.json` keeps, and options that mainline Linux does not have.

/// Beginnings of the names of mainline Linux's options that change when, where and how fast a thread
/// runs (`admin-guide/kernel-parameters`). The kernel reads `-` in a name as `_`.
const TIMING: [&str; 90] = [
    "acpi_cpufreq.",
    "amd_prefcore",
    "amd_pstate",
    "autogroup",
    "cgroup_",
    "clocksource",
    "cpufreq.",
    "cpufreq_driver",
    "cpuidle.",
    "cpuidle_haltpoll.",
    "cpuidle_sysfs_switch",
    "default_hugepagesz",
    "gather_data_sampling",
    "haltpoll.",
    "highres",
    "hlt",
    "hpet",
    "hugepages",
    "hv_nopvspin",
    "indirect_target_selection",
    "init_on_",
    "intel_idle.",
    "intel_pstate",
    "irqaffinity",
    "isolcpus",
    "kaslr",
    "kpti",
    "kvm",
    "l1d_flush",
    "l1tf",
    "maxcpus",
    "mds",
    "mitigations",
    "mmio_stale_data",
    "nmi_watchdog",
    "no_kvmapf",
    "no_kvmclock",
    "no_steal_acc",
    "no_vmw_sched_clock",
    "noautogroup",
    "nohlt",
    "nohpet",
    "nohz",
    "nokaslr",
    "nolapic_timer",
    "nopti",
    "nopv",
    "norandmaps",
    "nosm",
    "nosoftlockup",
    "nospec",
    "notsc",
    "nowatchdog",
    "nr_cpus",
    "numa",
    "page_poison",
    "possible_cpus",
    "preempt",
    "processor.",
    "psi",
    "pti",
    "randomize_kstack_offset",
    "rcu",
    "reg_file_data_sampling",
    "relax_domain_level",
    "resched_latency_warn_ms",
    "retbleed",
    "sched_debug",
    "sched_ext.",
    "sched_proxy_exec",
    "sched_thermal_decay_shift",
    "sched_verbose",
    "schedstats",
    "skew_tick",
    "spec_",
    "spectre_bhi",
    "spectre_v2",
    "srbds",
    "ssbd",
    "thermal.",
    "thp_anon",
    "threadirqs",
    "transparent_hugepage",
    "tsa",
    "tsc",
    "tsx",
    "vmscape",
    "watchdog_thresh",
    "workqueue.",
    "xen_nopv",
];

/// Prefixes of options that decide when a thread runs, in kernels of any origin.
const OF_SCHEDULING: [&str; 14] = [
    "bore", "cfs", "cpufreq", "cpuidle", "eevdf", "halt", "idle", "isol", "nohz", "preempt",
    "pvsched", "sched", "steal", "vcpu",
];

/// Returns the options that can change times, in their order. The other options name disks,
/// networks, hosts or programs, which are private and are not recorded.
pub(super) fn timing(command_line: &str) -> String {
    let mut options = options(command_line);
    options.retain(|option| is_one(option, &TIMING) || is_one(option, &OF_SCHEDULING));
    options.join(" ")
}

/// Returns the options that decide when a thread runs and that are not in [`TIMING`], the list of
/// mainline Linux.
pub(super) fn foreign(command_line: &str) -> Vec<&str> {
    let mut options = options(command_line);
    options.retain(|option| is_one(option, &OF_SCHEDULING) && !is_one(option, &TIMING));
    options
}

fn is_one(option: &str, prefixes: &[&str]) -> bool {
    let name = option.replace('-', "_");
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Splits the kernel's command line as the kernel does, up to `--`. The words after `--` are for
/// the first program that the kernel starts. A value between quotes may contain spaces.
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
