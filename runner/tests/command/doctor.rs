//! The doctor on mock hosts: each has one fault, and the doctor finds that one.

use std::fs;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use runner::host::Host;
use runner::host::doctor::{
    Circumstances, Diagnosis, Disk, Severity, Stacking, Tool, examine, first_look,
};
use runner::host::frequency::clock::Clock;
use runner::host::frequency::recipe::recipe;
use runner::host::frequency::tree::Tree;
use tempfile::TempDir;

use crate::common;

/// A quiet machine of four CPUs with a driver, made for measuring.
const FIT: [(&str, &str); 38] = [
    ("proc/cmdline", "quiet mitigations=auto"),
    (
        "proc/cpuinfo",
        "model name\t: Made Up 9000\nflags\t\t: fpu sse2",
    ),
    ("proc/loadavg", "0.02 0.5 0.9 1/100 1234"),
    ("proc/stat", "cpu  1000 0 100 100000 0 0 0 0 0 0"),
    ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3"),
    ("proc/self/cgroup", "0::/job"),
    ("proc/self/personality", "00000000"),
    ("proc/1/comm", "init"),
    ("proc/2/comm", "kthreadd"),
    ("proc/sys/kernel/randomize_va_space", "2"),
    ("proc/sys/kernel/numa_balancing", "1"),
    ("sys/class/power_supply/AC/type", "Mains"),
    ("sys/class/power_supply/AC/online", "1"),
    (
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "tsc",
    ),
    ("sys/devices/system/cpu/cpu0/cpu_capacity", "1024"),
    ("sys/devices/system/cpu/cpu1/cpu_capacity", "1024"),
    ("sys/devices/system/cpu/cpu2/cpu_capacity", "1024"),
    ("sys/devices/system/cpu/cpu3/cpu_capacity", "1024"),
    (
        "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
        "0",
    ),
    (
        "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count",
        "0",
    ),
    (
        "sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count",
        "0",
    ),
    (
        "sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count",
        "0",
    ),
    ("sys/devices/system/cpu/cpufreq/boost", "0"),
    (
        "sys/devices/system/cpu/cpufreq/policy0/affected_cpus",
        "0 1",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "performance",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
        "2000000",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
        "2000000",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy1/affected_cpus",
        "2 3",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
        "performance",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq",
        "2000000",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy1/cpuinfo_max_freq",
        "2000000",
    ),
    ("sys/devices/system/cpu/isolated", ""),
    ("sys/devices/system/cpu/online", "0-3"),
    ("sys/devices/system/cpu/smt/active", "0"),
    ("sys/devices/system/node/online", "0"),
    ("sys/fs/cgroup/cpu.max", "max 100000"),
    ("sys/fs/cgroup/job/cpu.max", "max 100000"),
    (
        "sys/fs/cgroup/job/cpu.stat",
        "nr_throttled 0\nthrottled_usec 0",
    ),
];

/// The fit machine with other files, or more.
fn host(changes: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in FIT.iter().chain(changes) {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{content}\n")).unwrap();
    }
    root
}

fn good() -> Circumstances {
    let tool = |name| Tool {
        name,
        seen: Ok(format!("{name} 1.2.3")),
    };
    Circumstances {
        fixable: Ok("2000000 kHz, by sysfs".to_owned()),
        fix_in_force: None,
        clock: Some(Some(Clock {
            ghz: 2.0,
            slowest_ghz: 2.0,
            fastest_ghz: 2.0,
        })),
        stacking: Some(Stacking {
            ticks: 100,
            stacked: 3,
            free_us: 225.0,
            pinned_us: 220.0,
        }),
        is_another_sweep_running: Ok(false),
        usable_cpus: Ok(4),
        has_membarrier: Some(true),
        disks: vec![disk(Some(1 << 40), true)],
        compilers: vec![tool("cargo"), tool("rustc")],
        python: Ok("Python 3.11".to_owned()),
        linker: Ok("ld.lld".to_owned()),
    }
}

fn disk(free_bytes: Option<u64>, is_writable: bool) -> Disk {
    Disk {
        folder: "results".to_owned(),
        free_bytes,
        is_writable,
    }
}

fn diagnose(changes: &[(&str, &str)]) -> Diagnosis {
    let root = host(changes);
    examine(&Host::at(root.path()), &good())
}

/// The one finding of a host with these files: how bad it is, its name, and what was seen.
#[track_caller]
fn assert_finds(changes: &[(&str, &str)], severity: Severity, id: &str, seen: &str) {
    assert_one(&diagnose(changes), severity, id, seen);
}

#[track_caller]
fn assert_one(diagnosis: &Diagnosis, severity: Severity, id: &str, seen: &str) {
    let [finding] = diagnosis.findings.as_slice() else {
        panic!("{diagnosis}")
    };
    assert_eq!(
        (finding.severity, finding.id.as_str()),
        (severity, id),
        "{diagnosis}"
    );
    assert!(finding.seen.contains(seen), "{diagnosis}");
    assert!(
        !finding.why.is_empty() && !finding.remedy.is_empty(),
        "{diagnosis}"
    );
    assert_eq!(diagnosis.is_fit(), severity != Severity::Unfit);
}

const CPUS: &str = "sys/devices/system/cpu";

#[test]
fn nothing_is_found_on_a_host_made_for_measuring() {
    let diagnosis = diagnose(&[]);
    assert_eq!(diagnosis.findings, [], "{diagnosis}");
    assert_eq!(diagnosis.unknown, [""; 0], "{diagnosis}");
    assert!(diagnosis.is_fit());
    assert!(
        diagnosis.to_string().contains("no CPU quota"),
        "{diagnosis}"
    );
}

#[test]
fn a_governor_that_is_not_performance_is_told_with_its_file() {
    let file = format!("{CPUS}/cpufreq/policy1/scaling_governor");
    let seen = "policy1/scaling_governor = powersave (1 of 2 policies)";
    assert_finds(&[(&file, "powersave")], Severity::Warning, "governor", seen);
}

#[test]
fn boost_is_found_in_each_of_its_files_with_the_command_that_forbids_it() {
    for (file, on, off) in [
        ("cpufreq/boost", "1", "echo 0 | sudo tee"),
        ("cpufreq/policy1/boost", "1", "echo 0 | sudo tee"),
        ("intel_pstate/no_turbo", "0", "echo 1 | sudo tee"),
    ] {
        let file = format!("{CPUS}/{file}");
        let diagnosis = diagnose(&[(&file, on)]);
        assert_one(
            &diagnosis,
            Severity::Warning,
            "boost",
            &format!("/{file} = {on}"),
        );
        let remedy = &diagnosis.findings[0].remedy;
        assert!(remedy.contains(off) && remedy.contains(&file), "{remedy}");
    }
}

#[test]
fn a_kernel_that_stacks_wake_ups_is_a_warning_with_both_times_and_the_remedy() {
    let stacking = Some(Stacking {
        ticks: 100,
        stacked: 56,
        free_us: 428.0,
        pinned_us: 229.0,
    });
    let diagnosis = examine(
        &Host::at(host(&[]).path()),
        &Circumstances { stacking, ..good() },
    );
    let seen = "in 56 of 100 ticks two threads that were woken to work were on one CPU";
    assert_one(&diagnosis, Severity::Warning, "stacked-wake-ups", seen);
    let finding = &diagnosis.findings[0];
    assert!(
        finding.seen.contains("428 us free and 229 us pinned"),
        "{diagnosis}"
    );
    assert!(finding.remedy.contains("--placement pinned"), "{diagnosis}");
}

#[test]
fn a_kernel_without_membarrier_is_a_warning_with_the_branches_that_miss_it() {
    let around = Circumstances {
        has_membarrier: Some(false),
        ..good()
    };
    let diagnosis = examine(&Host::at(host(&[]).path()), &around);
    assert_one(&diagnosis, Severity::Warning, "no-membarrier", "membarrier");
    assert!(
        diagnosis.findings[0].why.contains("`champion`"),
        "{diagnosis}"
    );
}

#[test]
fn wake_ups_that_are_seldom_stacked_or_gain_nothing_by_pins_are_in_order() {
    let rare = diagnose(&[]);
    assert!(
        rare.in_order
            .iter()
            .any(|clause| clause.contains("in 3 of 100 ticks")),
        "{rare}"
    );
    let stacking = Some(Stacking {
        ticks: 100,
        stacked: 97,
        free_us: 446.0,
        pinned_us: 1542.0,
    });
    let busy = examine(
        &Host::at(host(&[]).path()),
        &Circumstances { stacking, ..good() },
    );
    assert_eq!(busy.findings, [], "{busy}");
}

#[test]
fn cpus_that_share_a_core_are_a_warning() {
    let file = format!("{CPUS}/smt/active");
    assert_finds(&[(&file, "1")], Severity::Warning, "smt", "smt/active = 1");
}

#[test]
fn cpus_of_unequal_strength_are_a_warning_that_names_the_strong_ones() {
    let file = format!("{CPUS}/cpu1/cpu_capacity");
    let diagnosis = diagnose(&[(&file, "446")]);
    assert_one(
        &diagnosis,
        Severity::Warning,
        "unequal-cpus",
        "cpu1/cpu_capacity = 446",
    );
    assert!(
        diagnosis.findings[0].remedy.contains("taskset -c 0,2-3 "),
        "{diagnosis}"
    );
}

#[test]
fn cpus_that_share_a_core_are_a_warning_where_the_kernel_only_lists_them() {
    let siblings: Vec<(String, &str)> = (0..4)
        .map(|cpu| {
            let file = format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list");
            (file, if cpu < 2 { "0-1" } else { "2-3" })
        })
        .collect();
    let mut changes: Vec<(&str, &str)> = siblings.iter().map(|(it, list)| (&**it, *list)).collect();
    let seen = "smt/active = 0 (4 CPUs that may be used, on 2 cores)";
    assert_finds(&changes, Severity::Warning, "smt", seen);
    let remedy = diagnose(&changes).findings.remove(0).remedy;
    assert!(!remedy.contains("smt/control"), "{remedy}");
    // CPUs that may not be used share no core with those that may.
    changes.push(("proc/self/status", "Cpus_allowed_list:\t0,2"));
    assert_eq!(diagnose(&changes).find("smt"), None);
}

#[test]
fn trials_are_not_sent_to_the_one_cpu_that_is_the_strongest() {
    let capacity = |cpu: usize| format!("{CPUS}/cpu{cpu}/cpu_capacity");
    let (little, big) = (capacity(0), [capacity(1), capacity(2)]);
    let changes = [
        (&*little, "250"),
        (&*big[0], "850"),
        (&*big[1], "850"),
        (&*capacity(3), "1024"),
    ];
    let diagnosis = diagnose(&changes);
    assert_one(&diagnosis, Severity::Warning, "unequal-cpus", "(1 CPU)");
    let remedy = &diagnosis.findings[0].remedy;
    assert!(remedy.contains("taskset -c 1-2 "), "{remedy}");
}

#[test]
fn what_cannot_be_read_of_a_frequency_driver_is_told_as_that() {
    for (file, seen) in [
        ("scaling_driver", "which driver"),
        ("scaling_available_governors", "which governors"),
        ("scaling_available_frequencies", "the highest frequency"),
    ] {
        let policy = format!("{CPUS}/cpufreq/policy0");
        let root = host(&[
            (&format!("{policy}/scaling_driver"), "acpi-cpufreq"),
            (
                &format!("{policy}/scaling_available_governors"),
                "performance",
            ),
            (
                &format!("{policy}/scaling_available_frequencies"),
                "1000000 2000000",
            ),
            ("proc/self/status", "Cpus_allowed_list:\t0-1"),
        ]);
        let tree = Tree::at(&root.path().join(CPUS));
        assert_eq!(recipe(&tree, &[0, 1]).unwrap().khz, 2_000_000);
        let path = root.path().join(&policy).join(file);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = recipe(&tree, &[0, 1]).unwrap_err().to_string();
        assert!(
            error.contains(&format!("policy0/{file} cannot be read: ")),
            "{error}"
        );
        assert!(error.contains(seen), "{error}");
    }
}

#[test]
fn a_quota_below_the_number_of_cpus_is_unfit_and_one_above_it_a_note() {
    let file = "sys/fs/cgroup/cpu.max";
    assert_finds(
        &[(file, "150000 100000")],
        Severity::Unfit,
        "quota",
        "(1.50 CPUs' time for 4 CPUs)",
    );
    assert_finds(
        &[(file, "400000 100000")],
        Severity::Note,
        "quota",
        "4.00 CPUs' time",
    );
}

#[test]
fn a_quota_that_was_used_up_is_told_with_its_count() {
    let changes = [
        ("sys/fs/cgroup/job/cpu.max", "150000 100000"),
        (
            "sys/fs/cgroup/job/cpu.stat",
            "nr_throttled 17\nthrottled_usec 9",
        ),
    ];
    assert_finds(
        &changes,
        Severity::Unfit,
        "quota",
        "used up in 17 periods so far",
    );
}

#[test]
fn a_quota_of_a_group_around_is_told_with_the_count_of_that_group() {
    let changes = [
        ("proc/self/cgroup", "0::/team/job"),
        ("sys/fs/cgroup/team/cpu.max", "250000 100000"),
        (
            "sys/fs/cgroup/team/cpu.stat",
            "nr_throttled 8\nthrottled_usec 9",
        ),
        ("sys/fs/cgroup/team/job/cpu.max", "max 100000"),
        (
            "sys/fs/cgroup/team/job/cpu.stat",
            "nr_throttled 0\nthrottled_usec 0",
        ),
    ];
    let seen = "/sys/fs/cgroup/team/cpu.max = 250000 100000 (2.50 CPUs' time for 4 CPUs); used up in 8 periods";
    assert_finds(&changes, Severity::Unfit, "quota", seen);
}

/// Checks that a fact without a file is listed as unknown, and not as in order.
#[track_caller]
fn assert_unknown(changes: &[(&str, &str)], what: &str, in_order: &str) {
    let whole = diagnose(&[]).in_order;
    assert!(whole.iter().any(|it| it.contains(in_order)), "{whole:?}");
    let diagnosis = diagnose(changes);
    let mut unknown = diagnosis.unknown.iter();
    assert!(unknown.any(|it| it.starts_with(what)), "{diagnosis}");
    let mut good = diagnosis.in_order.iter();
    assert!(!good.any(|it| it.contains(in_order)), "{diagnosis}");
}

#[test]
fn a_host_without_files_has_nothing_in_order_but_what_was_looked_at_elsewhere() {
    let nothing = tempfile::tempdir().unwrap();
    let around = Circumstances {
        usable_cpus: Err("unknown here".to_owned()),
        has_membarrier: None,
        clock: None,
        stacking: None,
        ..good()
    };
    let diagnosis = examine(&Host::at(nothing.path()), &around);
    assert_eq!(diagnosis.findings, [], "{diagnosis}");
    // Of the runner, the tools and the disk.
    assert_eq!(diagnosis.in_order.len(), 8, "{diagnosis}");
    for what in [
        "a hypervisor beneath",
        "CPUs that share a core",
        "the CPUs that may be used",
        "a CPU quota",
        "CPUs without load balancing",
        "memory nodes",
        "whether addresses are random",
        "what reading the time costs",
        "the kernel's options",
        "the load",
        "stolen time",
        "which services run",
        "whether heat slows",
        "the power supply",
        "boost",
        "membarrier",
        "stacked wake-ups",
        "the clock",
    ] {
        let mut unknown = diagnosis.unknown.iter();
        assert!(
            unknown.any(|it| it.starts_with(what)),
            "{what}: {diagnosis}"
        );
    }
}

#[test]
fn files_with_garbage_are_unknown_and_nothing_of_them_reaches_the_terminal() {
    let garbage = "\u{1b}[2J\u{7}\u{0}";
    let names: Vec<&str> = FIT.iter().map(|(path, _)| *path).collect();
    let root = host(&[]);
    for name in names {
        fs::write(root.path().join(name), garbage).unwrap();
    }
    let text = examine(&Host::at(root.path()), &good()).to_string();
    assert!(text.contains("is no text"), "{text}");
    let is_plain = |it: char| it == '\n' || !it.is_control();
    assert!(text.chars().all(is_plain), "{text:?}");
    // Bytes that are not even characters.
    for (name, _) in FIT {
        fs::write(root.path().join(name), [0xff, 0xfe, 0x80]).unwrap();
    }
    let diagnosis = examine(&Host::at(root.path()), &good());
    assert_eq!(diagnosis.findings, [], "{diagnosis}");
}

#[test]
fn counters_that_cannot_be_counts_are_unknown_and_never_no_stolen_time() {
    for columns in [
        "8500000 305946 943142 328322278 3023148 0 63260 18446744073709551612 0 0",
        "10162498 0 900000 11732815868058135187 0 0 0 15910903933238771776 0 0",
        "10 0 10 18446744073709551000 0 0 0 0 0 0",
        "10 0 10 100 0 0 0 -4 0 0",
        "0 0 0 0 0 0 0 0 0 0",
        "10 0 10 100",
    ] {
        let stat = format!("cpu  {columns}");
        assert_unknown(&[("proc/stat", &stat)], "stolen time", "was stolen");
    }
}

#[test]
fn a_guest_that_was_never_told_of_stolen_time_does_not_know_it() {
    let guest = [("proc/cpuinfo", "flags\t\t: fpu hypervisor")];
    assert_unknown(&guest, "stolen time", "was stolen");
}

#[test]
fn loads_that_are_none_are_unknown() {
    for load in ["nan 0 0 1/9 1", "-1 0 0 1/9 1", "0.00 0.00 0.00 0/0 0", ""] {
        assert_unknown(&[("proc/loadavg", load)], "the load", "the load is");
    }
}

#[test]
fn a_guest_on_arm_is_found_by_what_its_firmware_says() {
    let arm = ("proc/cpuinfo", "Features\t: fp asimd\nCPU part\t: 0xd0c");
    let vendor = |name| [arm, ("sys/class/dmi/id/sys_vendor", name)];
    let diagnosis = diagnose(&vendor("Amazon EC2"));
    assert_one(
        &diagnosis,
        Severity::Warning,
        "virtual-machine",
        "sys_vendor = Amazon EC2",
    );
    assert_unknown(&[arm], "a hypervisor beneath", "no hypervisor");
    let metal = [
        arm,
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2"),
        ("sys/class/dmi/id/product_name", "m6g.metal"),
    ];
    assert_unknown(&metal, "a hypervisor beneath", "no hypervisor");
}

#[test]
fn the_cores_of_a_hybrid_processor_are_unequal_by_their_monitors_alone() {
    let changes = [
        ("sys/devices/cpu_core/cpus", "0-1"),
        ("sys/devices/cpu_atom/cpus", "2-3"),
    ];
    let diagnosis = diagnose(&changes);
    assert_one(
        &diagnosis,
        Severity::Warning,
        "unequal-cpus",
        "/sys/devices/cpu_core/cpus (2 CPUs), /sys/devices/cpu_atom/cpus (2 CPUs)",
    );
    let remedy = &diagnosis.findings[0].remedy;
    assert!(remedy.starts_with("taskset -c 0-1 "), "{remedy}");
    // A runner that is kept on equal ones is in order.
    let kept = [
        changes[0],
        changes[1],
        ("proc/self/status", "Cpus_allowed_list:\t2-3"),
    ];
    assert!(diagnose(&kept).find("unequal-cpus").is_none());
}

#[test]
fn cpus_whose_base_frequencies_differ_are_unequal_and_favoured_cores_are_not() {
    let file = |policy: usize, file: &str| format!("{CPUS}/cpufreq/policy{policy}/{file}");
    let (strong, weak) = (file(0, "base_frequency"), file(1, "base_frequency"));
    let changes = [(&*strong, "2000000"), (&*weak, "1500000")];
    assert_finds(
        &changes,
        Severity::Warning,
        "unequal-cpus",
        "cpu2/cpufreq/base_frequency = 1500000 (2 CPUs)",
    );
    let highest = file(0, "cpuinfo_max_freq");
    let limit = file(0, "scaling_max_freq");
    let favoured = [(&*highest, "2200000"), (&*limit, "2200000")];
    assert_eq!(diagnose(&favoured).findings, []);
    let far = [(&*highest, "3000000"), (&*limit, "3000000")];
    assert_finds(
        &far,
        Severity::Warning,
        "unequal-cpus",
        "cpuinfo_max_freq = 3000000",
    );
}

#[test]
fn a_cap_on_the_frequency_is_a_warning_with_its_file() {
    let file = format!("{CPUS}/cpufreq/policy1/scaling_max_freq");
    let seen =
        "scaling_max_freq = 400000, and 2000000 kHz can be held without boost (1 of 2 policies)";
    assert_finds(
        &[(&file, "400000")],
        Severity::Warning,
        "frequency-cap",
        seen,
    );
    let firmware = format!("{CPUS}/cpufreq/policy0/bios_limit");
    let seen = "bios_limit = 1200000";
    assert_finds(
        &[(&firmware, "1200000")],
        Severity::Warning,
        "frequency-cap",
        seen,
    );
    let share = format!("{CPUS}/intel_pstate/max_perf_pct");
    assert_finds(
        &[(&share, "50")],
        Severity::Warning,
        "frequency-cap",
        "max_perf_pct = 50",
    );
    let what = "limits of the frequency";
    assert_unknown(&[(&file, "-1")], what, "no limit keeps");
}

#[test]
fn a_limit_at_what_can_be_held_without_boost_is_no_cap() {
    let file = |name: &str| format!("{CPUS}/cpufreq/policy0/{name}");
    let changes = [
        (&*file("scaling_driver"), "intel_pstate"),
        (&*file("base_frequency"), "1500000"),
        (&*file("scaling_max_freq"), "1500000"),
        (
            &*format!("{CPUS}/cpufreq/policy1/base_frequency"),
            "1500000",
        ),
    ];
    assert_eq!(diagnose(&changes).findings, []);
}

#[test]
fn a_cpuset_partition_without_balancing_is_unfit() {
    let file = "sys/fs/cgroup/job/cpuset.cpus.partition";
    let seen = "/sys/fs/cgroup/job/cpuset.cpus.partition = isolated";
    assert_finds(&[(file, "isolated")], Severity::Unfit, "isolated", seen);
    assert_eq!(diagnose(&[(file, "root")]).findings, []);
}

#[test]
fn settings_that_no_file_tells_are_not_in_order() {
    let file = |name: &str| format!("{CPUS}/{name}");
    assert_unknown(
        &[(&file("smt/active"), "perhaps")],
        "CPUs that share a core",
        "no two CPUs",
    );
    assert_unknown(&[(&file("cpufreq/boost"), "2")], "boost", "boost is off");
    assert_unknown(
        &[(&file("cpufreq/policy1/scaling_governor"), "\u{1}")],
        "who chooses the frequency",
        "the governor is",
    );
    assert_unknown(
        &[(
            &file("cpu3/thermal_throttle/core_throttle_count"),
            "unsupported",
        )],
        "whether heat slows",
        "heat has not slowed",
    );
    assert_unknown(
        &[(&file("isolated"), "3-1")],
        "CPUs without",
        "scheduler balances",
    );
    assert_unknown(
        &[("sys/fs/cgroup/cpu.max", "soon")],
        "a CPU quota",
        "no CPU quota",
    );
    assert_unknown(
        &[("proc/2/comm", "bash")], // a container
        "which services run",
        "no service",
    );
    let clock = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    assert_unknown(
        &[(clock, "mystery")],
        "what reading the time costs",
        "the time is read",
    );
    assert_unknown(
        &[("sys/devices/system/node/online", "0-99999999999")],
        "memory nodes",
        "one memory node",
    );
}

#[test]
fn policies_of_cpus_that_are_offline_or_anothers_are_not_counted() {
    let file = |policy: usize, file: &str| format!("{CPUS}/cpufreq/policy{policy}/{file}");
    // Policy 2 has CPUs that may not be used, and policy 3 none that is online.
    let changes = [
        (&*file(0, "scaling_governor"), "powersave"),
        (&*file(1, "scaling_governor"), "powersave"),
        (&*file(2, "affected_cpus"), "4 5"),
        (&*file(2, "scaling_governor"), "powersave"),
        (&*file(2, "scaling_max_freq"), "400000"),
        (&*file(3, "affected_cpus"), ""),
        (&*file(3, "scaling_governor"), "powersave"),
        (&*format!("{CPUS}/online"), "0-5"),
    ];
    let diagnosis = diagnose(&changes);
    let seen = &diagnosis.find("governor").unwrap().seen;
    assert!(seen.ends_with("(2 of 2 policies)"), "{diagnosis}");
    assert!(diagnosis.find("frequency-cap").is_none(), "{diagnosis}");
}

#[test]
fn a_machine_that_is_fed_by_usb_does_not_run_from_its_battery() {
    let supply = |name: &str, file: &str| format!("sys/class/power_supply/{name}/{file}");
    let changes = [
        (&*supply("AC", "online"), "0"),
        (&*supply("BAT0", "type"), "Battery"),
        (&*supply("BAT0", "status"), "Charging"),
        (&*supply("usb-c", "type"), "USB"),
        (&*supply("usb-c", "online"), "1"),
    ];
    assert_eq!(diagnose(&changes).findings, []);
    let unclear = [
        (&*supply("AC", "online"), "perhaps"),
        (&*supply("BAT0", "type"), "Battery"),
        (&*supply("BAT0", "status"), "Unknown"),
    ];
    assert_unknown(&unclear, "the power supply", "battery");
}

#[test]
fn options_of_the_scheduler_that_mainline_lacks_are_a_note() {
    let line = "quiet isolcpus=9 cpuidle_haltpoll.force=1 sched_vcpu_pack=15 root=/dev/vda";
    assert_finds(
        &[("proc/cmdline", line)],
        Severity::Note,
        "kernel-options",
        "not an option of mainline Linux that this doctor knows: sched_vcpu_pack=15",
    );
}

#[test]
fn a_node_without_cpus_is_none_to_run_on() {
    let changes = [
        ("sys/devices/system/node/online", "0-1"),
        ("sys/devices/system/node/has_cpu", "1"),
    ];
    let remedy = &diagnose(&changes).findings[0].remedy;
    assert!(remedy.contains("--cpunodebind=1"), "{remedy}");
}

#[test]
fn a_folder_that_is_not_there_is_no_host() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere");
    for words in [
        &["doctor", "--host"][..],
        &["frequency", "status", "--sysfs"],
    ] {
        let mut command = common::runner(folder.path());
        let run = command.args(words).arg(&missing).assert().code(2);
        run.stderr(contains("nowhere").and(contains("no such folder")));
    }
}

#[test]
fn a_diagnosis_from_before_the_unknown_was_listed_is_still_read() {
    let old = r#"{ "findings": [], "in_order": ["no CPU quota"] }"#;
    let diagnosis: Diagnosis = serde_json::from_str(old).unwrap();
    assert_eq!(diagnosis.unknown, [""; 0]);
}

#[test]
fn a_cpuset_smaller_than_the_machine_is_a_note() {
    let changes = [("proc/self/status", "Cpus_allowed_list:\t0,2")];
    assert_finds(&changes, Severity::Note, "affinity", "allows 2 of 4 CPUs");
}

#[test]
fn isolated_cpus_are_unfit_only_where_the_runner_may_use_them() {
    let isolated = format!("{CPUS}/isolated");
    assert_finds(
        &[(&isolated, "2-3")],
        Severity::Unfit,
        "isolated",
        "isolated = 2-3",
    );
    let apart = diagnose(&[
        (&isolated, "2-3"),
        ("proc/self/status", "Cpus_allowed_list:\t0-1"),
    ]);
    assert!(apart.find("isolated").is_none(), "{apart}");
}

#[test]
fn load_is_a_warning_first_and_unfit_from_half_the_cpus_on() {
    let load = |load: &str, severity| {
        let text = format!("{load} 0 0 1/100 1");
        assert_finds(&[("proc/loadavg", &text)], severity, "load", load);
    };
    load("0.40", Severity::Warning);
    load("1.99", Severity::Warning);
    load("2.00", Severity::Unfit);
}

#[test]
fn stolen_time_is_a_warning_first_and_unfit_from_two_per_cent_on() {
    let steal = |ticks: u32, severity, seen: &str| {
        let text = format!("cpu  0 0 0 {} 0 0 0 {ticks} 5000 0", 1000 - ticks);
        assert_finds(&[("proc/stat", &text)], severity, "steal", seen);
    };
    steal(1, Severity::Warning, "0.1 %");
    steal(19, Severity::Warning, "1.9 %");
    steal(20, Severity::Unfit, "2.0 %");
}

#[test]
fn a_machine_that_runs_from_its_battery_is_unfit() {
    let unplugged = [("sys/class/power_supply/AC/online", "0")];
    assert_finds(&unplugged, Severity::Unfit, "battery", "from its battery");
}

#[test]
fn services_that_change_the_clock_are_found_by_the_name_that_the_kernel_shows() {
    for (shown, service) in [
        ("power-profiles-", "power-profiles-daemon"),
        ("tuned", "tuned"),
        ("thermald", "thermald"),
        ("auto-cpufreq", "auto-cpufreq"),
    ] {
        let diagnosis = diagnose(&[("proc/77/comm", shown)]);
        assert_one(&diagnosis, Severity::Warning, "clock-service", "process 77");
        assert_eq!(
            diagnosis.findings[0].remedy,
            format!("sudo systemctl stop {service}")
        );
    }
    assert_finds(
        &[("run/tlp/last_pwr", "0")],
        Severity::Warning,
        "clock-service",
        "/run/tlp",
    );
    assert_finds(
        &[("proc/78/comm", "irqbalance")],
        Severity::Note,
        "interrupts",
        "process 78",
    );
}

#[test]
fn heat_that_slowed_cpus_down_is_a_warning() {
    let file = format!("{CPUS}/cpu0/thermal_throttle/core_throttle_count");
    assert_finds(
        &[(&file, "3")],
        Severity::Warning,
        "heat",
        "core_throttle_count = 3",
    );
}

#[test]
fn heat_is_unknown_where_only_some_cpus_count_it() {
    let root = host(&[]);
    let folder = root.path().join(CPUS).join("cpu3/thermal_throttle");
    fs::remove_dir_all(folder).unwrap();
    let diagnosis = examine(&Host::at(root.path()), &good());
    let of_heat = |clause: &String| clause.contains("heat");
    assert!(!diagnosis.in_order.iter().any(of_heat), "{diagnosis}");
    let unknown = diagnosis.unknown.iter().find(|it| of_heat(it)).unwrap();
    assert!(
        unknown.contains("cpu3/thermal_throttle is not there"),
        "{unknown}"
    );
}

#[test]
fn addresses_that_are_always_the_same_are_a_warning() {
    let changes = [("proc/sys/kernel/randomize_va_space", "0")];
    assert_finds(
        &changes,
        Severity::Warning,
        "addresses",
        "randomize_va_space = 0",
    );
}

#[test]
fn a_runner_whose_own_addresses_are_not_random_is_told_so() {
    let file = "proc/self/personality";
    assert_finds(
        &[(file, "00040000")],
        Severity::Warning,
        "addresses",
        "/proc/self/personality = 00040000",
    );
    assert_unknown(
        &[(file, "none")],
        "whether addresses are random",
        "addresses are random",
    );
}

#[test]
fn cpus_that_no_policy_has_are_not_said_to_be_in_order() {
    // CPU 3 has no policy.
    let file = format!("{CPUS}/cpufreq/policy1/affected_cpus");
    for (what, clause) in [
        ("who chooses the frequency", "the governor is"),
        ("boost", "boost is off"),
        ("limits of the frequency", "no limit keeps"),
    ] {
        assert_unknown(&[(&file, "2")], what, clause);
    }
}

/// Texts that no kernel writes into a file of numbers, lists or words.
const NONSENSE: [&str; 9] = [
    "",
    "garbage",
    "-1",
    "18446744073709551616",
    "1e+3",
    "12 kHz",
    "\u{feff}0",
    "0 0\n0",
    "\u{663}", // a digit, but none of ASCII
];

#[test]
fn nonsense_in_any_file_that_is_read_is_a_finding_or_unknown() {
    // Of these not all is read on such a host, or any word means something.
    let is_free = |path: &str, nonsense: &str| {
        let free = [
            "proc/cmdline",
            "proc/1/comm",
            "AC/type",
            "numa_balancing",
            "job/cpu.stat",
        ];
        let is_free = free.iter().any(|it| path.ends_with(it));
        is_free || (path.ends_with("isolated") && nonsense.is_empty())
    };
    let mut not_told = Vec::new();
    for (path, _) in FIT {
        for nonsense in NONSENSE.into_iter().filter(|it| !is_free(path, it)) {
            let diagnosis = diagnose(&[(path, nonsense)]);
            if diagnosis.unknown.is_empty() && diagnosis.findings.is_empty() {
                not_told.push((path, nonsense));
            }
        }
    }
    assert_eq!(not_told, []);
}

#[test]
fn a_limit_of_the_frequency_that_is_there_and_cannot_be_read_is_unknown() {
    for file in [
        "cpufreq/policy0/bios_limit",
        "cpufreq/policy1/bios_limit",
        "intel_pstate/max_perf_pct",
    ] {
        for says in ["", "2.0 GHz", "-1"] {
            let file = format!("{CPUS}/{file}");
            assert_unknown(
                &[(&file, says)],
                "limits of the frequency",
                "no limit keeps",
            );
        }
    }
}

#[test]
fn cpus_whose_strength_cannot_be_read_are_not_equally_strong() {
    for (file, says) in [
        ("sys/devices/system/cpu/cpu1/cpu_capacity", "high"),
        ("sys/devices/system/cpu/cpu1/acpi_cppc/nominal_freq", "?"),
        ("sys/devices/cpu_atom/cpus", "2-"),
    ] {
        assert_unknown(
            &[(file, says)],
            "whether the CPUs are equally strong",
            "all CPUs are equally strong",
        );
    }
}

#[test]
fn a_guest_of_hyper_v_on_arm_is_found_by_its_product() {
    let changes = [
        ("proc/cpuinfo", "Features\t: fp asimd\nCPU part\t: 0xd0c"),
        ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation"),
        ("sys/class/dmi/id/product_name", "Virtual Machine"),
    ];
    assert_finds(
        &changes,
        Severity::Warning,
        "virtual-machine",
        "product_name = Virtual Machine",
    );
}

#[test]
fn a_slow_clock_source_is_a_warning() {
    let file = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    assert_finds(
        &[(file, "hpet")],
        Severity::Warning,
        "clock-source",
        "= hpet",
    );
}

#[test]
fn several_memory_nodes_are_a_warning_while_the_kernel_moves_pages_between_them() {
    let nodes = ("sys/devices/system/node/online", "0-1");
    assert_finds(&[nodes], Severity::Warning, "memory-nodes", "2 nodes");
    let still = [nodes, ("proc/sys/kernel/numa_balancing", "0")];
    assert_finds(&still, Severity::Note, "memory-nodes", "numa_balancing = 0");
}

#[test]
fn the_memory_node_to_keep_to_is_one_whose_cpus_may_be_used() {
    let diagnosis = diagnose(&[
        ("sys/devices/system/node/online", "0-1"),
        ("sys/devices/system/node/has_cpu", "0-1"),
        ("sys/devices/system/node/node0/cpulist", "4-7"),
        ("sys/devices/system/node/node1/cpulist", "0-3"),
    ]);
    let remedy = &diagnosis.find("memory-nodes").unwrap().remedy;
    assert!(remedy.contains("--cpunodebind=1 --membind=1"), "{remedy}");
}

#[test]
fn huge_pages_timer_slack_and_mitigations_are_noted_as_facts() {
    let spectre = format!("{CPUS}/vulnerabilities/spectre_v2");
    let changes = [
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never",
        ),
        ("proc/self/timerslack_ns", "50000"),
        (&spectre, "Mitigation: Retpolines"),
    ];
    for seen in [
        "[always] madvise never",
        "timerslack_ns = 50000",
        "mitigated spectre_v2",
    ] {
        assert_finds(&changes, Severity::Note, "settings", seen);
    }
}

#[test]
fn a_hypervisor_is_a_warning() {
    let changes = [("proc/cpuinfo", "flags\t\t: fpu hypervisor")];
    assert_finds(&changes, Severity::Warning, "virtual-machine", "hypervisor");
}

#[test]
fn circumstances_are_judged_like_files() {
    let root = host(&[]);
    let judge = |change: &dyn Fn(&mut Circumstances), severity, id: &str, seen: &str| {
        let mut around = good();
        change(&mut around);
        assert_one(
            &examine(&Host::at(root.path()), &around),
            severity,
            id,
            seen,
        );
    };
    let (unfit, warning) = (Severity::Unfit, Severity::Warning);
    judge(
        &|it| it.fixable = Err("no permission".to_owned()),
        unfit,
        "frequency-control",
        "no permission",
    );
    judge(
        &|it| it.fix_in_force = Some("since noon".to_owned()),
        unfit,
        "fix-left",
        "since noon",
    );
    judge(
        &|it| it.clock = Some(None),
        warning,
        "clock",
        "do not agree",
    );
    judge(
        &|it| it.is_another_sweep_running = Ok(true),
        unfit,
        "another-sweep",
        "held",
    );
    judge(&|it| it.usable_cpus = Ok(2), warning, "few-cpus", "2 CPUs");
    judge(&|it| it.usable_cpus = Ok(1), warning, "few-cpus", "1 CPU ");
    judge(
        &|it| it.compilers[0].seen = Err("not found".to_owned()),
        unfit,
        "compiler",
        "`cargo --version`",
    );
    judge(
        &|it| it.python = Err("too old".to_owned()),
        warning,
        "python",
        "too old",
    );
    judge(
        &|it| it.linker = Err("no ld.lld".to_owned()),
        warning,
        "linker",
        "no ld.lld",
    );
    judge(
        &|it| it.disks = vec![disk(Some(1 << 30), true)],
        warning,
        "disk",
        "1.0 GiB",
    );
    judge(
        &|it| it.disks = vec![disk(Some(1 << 20), true)],
        unfit,
        "disk",
        "0.0 GiB",
    );
    judge(
        &|it| it.disks = vec![disk(None, false)],
        unfit,
        "folder",
        "results/ cannot be written",
    );
}

#[test]
fn whoever_begins_a_sweep_is_told_what_makes_times_doubtful_and_nothing_else() {
    let file = format!("{CPUS}/smt/active");
    let root = host(&[("proc/loadavg", "9 0 0 1/1 1"), (&file, "1")]);
    let ids: Vec<String> = first_look(&Host::at(root.path()))
        .into_iter()
        .map(|finding| finding.id)
        .collect();
    assert_eq!(ids, ["load"]);
}

#[test]
fn the_worst_comes_first() {
    let diagnosis = diagnose(&[
        ("proc/sys/kernel/randomize_va_space", "0"),
        ("proc/79/comm", "irqbalance"),
        ("proc/loadavg", "9 0 0 1/1 1"),
    ]);
    let ids: Vec<&str> = diagnosis
        .findings
        .iter()
        .map(|finding| &*finding.id)
        .collect();
    assert_eq!(ids, ["load", "addresses", "interrupts"]);
}

#[test]
fn a_diagnosis_fits_a_terminal_of_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    let output = common::runner(folder.path())
        .arg("doctor")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(
        text.contains("fit: ") || text.contains("not fit: "),
        "{text}"
    );
}

#[test]
fn a_made_up_host_without_frequency_control_is_unfit_by_exit_code_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let root = host(&[]);
    let policies = root.path().join(CPUS).join("cpufreq");
    fs::remove_dir_all(policies).unwrap();
    let mut command = common::runner(folder.path());
    let output = command
        .args(["doctor", "--format", "json", "--host"])
        .arg(root.path());
    let output = output.output().unwrap();
    let diagnosis: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(diagnosis["findings"][0]["id"], "frequency-control");
    assert_eq!(diagnosis["findings"][0]["severity"], "unfit");
    output.assert().code(4);
}

#[test]
fn a_sweep_that_runs_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let lock = fs::File::create(folder.path().join("host.lock")).unwrap();
    lock.lock().unwrap();
    common::runner(folder.path())
        .arg("doctor")
        .assert()
        .code(4)
        .stdout(contains("another-sweep"));
}
