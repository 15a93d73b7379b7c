//! What the doctor finds on made-up hosts: each has one fault, and that one is found.

use std::fs;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;
use runner::host::Host;
use runner::host::doctor::{
    Circumstances, Diagnosis, Disk, Severity, Stacking, Tool, examine, first_look,
};
use runner::host::frequency::clock::Clock;
use tempfile::TempDir;

use crate::common;

/// A quiet machine of four CPUs with a driver, made for measuring.
const FIT: [(&str, &str); 24] = [
    (
        "proc/cpuinfo",
        "model name\t: Made Up 9000\nflags\t\t: fpu sse2",
    ),
    ("proc/loadavg", "0.02 0.5 0.9 1/100 1234"),
    ("proc/stat", "cpu  1000 0 100 100000 0 0 0 0 0 0"),
    ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3"),
    ("proc/self/cgroup", "0::/job"),
    ("proc/1/comm", "init"),
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
    (
        "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
        "0",
    ),
    ("sys/devices/system/cpu/cpufreq/boost", "0"),
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "performance",
    ),
    (
        "sys/devices/system/cpu/cpufreq/policy1/scaling_governor",
        "performance",
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
        is_another_sweep_running: false,
        usable_cpus: 4,
        has_membarrier: true,
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
        has_membarrier: false,
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
        diagnosis.findings[0].remedy.contains("taskset -c 0 "),
        "{diagnosis}"
    );
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
        &|it| it.is_another_sweep_running = true,
        unfit,
        "another-sweep",
        "held",
    );
    judge(&|it| it.usable_cpus = 2, warning, "few-cpus", "2 CPUs");
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
