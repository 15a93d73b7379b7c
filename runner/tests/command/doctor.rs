//! The doctor on mock hosts: tables of hosts, each with one thing that is not in order or cannot be
//! read, and of what the doctor says of it.

use std::fs;
use std::path::Path;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;
use runner::host::Host;
use runner::host::doctor::Severity::{Note, Unfit, Warning};
use runner::host::doctor::{
    Circumstances, Diagnosis, Disk, Severity, Stacking, Tool, examine, first_look,
};
use runner::host::frequency::clock::Clock;
use tempfile::TempDir;

use crate::common;

/// Files below a host's root, with their content. `CPUS` stands for the kernel's folder of CPUs.
type Files<'a> = [(&'a str, &'a str)];

/// A quiet machine of four CPUs with a driver, made for measuring. `#` stands for the number of each
/// CPU, `*` for that of each of the two policies.
const FIT: [(&str, &str); 29] = [
    ("CPUS/cpu#/cpu_capacity", "1024"),
    ("CPUS/cpu#/thermal_throttle/core_throttle_count", "0"),
    ("CPUS/cpufreq/boost", "0"),
    ("CPUS/cpufreq/policy*/cpuinfo_max_freq", "2000000"),
    ("CPUS/cpufreq/policy*/scaling_governor", "performance"),
    ("CPUS/cpufreq/policy*/scaling_max_freq", "2000000"),
    ("CPUS/cpufreq/policy0/affected_cpus", "0 1"),
    ("CPUS/cpufreq/policy1/affected_cpus", "2 3"),
    ("CPUS/isolated", ""),
    ("CPUS/online", "0-3"),
    ("CPUS/smt/active", "0"),
    ("proc/1/comm", "init"),
    ("proc/2/comm", "kthreadd"),
    ("proc/cmdline", "quiet mitigations=auto"),
    (
        "proc/cpuinfo",
        "model name\t: Made Up 9000\nflags\t\t: fpu sse2",
    ),
    ("proc/loadavg", "0.02 0.5 0.9 1/100 1234"),
    ("proc/self/cgroup", "0::/job"),
    ("proc/self/personality", "00000000"),
    ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3"),
    ("proc/stat", "cpu  1000 0 100 100000 0 0 0 0 0 0"),
    ("proc/sys/kernel/numa_balancing", "1"),
    ("proc/sys/kernel/randomize_va_space", "2"),
    ("sys/class/power_supply/AC/online", "1"),
    ("sys/class/power_supply/AC/type", "Mains"),
    (CLOCK_SOURCE, "tsc"),
    ("sys/devices/system/node/online", "0"),
    ("sys/fs/cgroup/cpu.max", "max 100000"),
    ("sys/fs/cgroup/job/cpu.max", "max 100000"),
    (
        "sys/fs/cgroup/job/cpu.stat",
        "nr_throttled 0\nthrottled_usec 0",
    ),
];

const CLOCK_SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
const ALLOWED: &str = "proc/self/status";
/// The processor of a guest on ARM.
const ARM: (&str, &str) = ("proc/cpuinfo", "Features\t: fp asimd\nCPU part\t: 0xd0c");

/// The files of the fit machine, one row each.
fn fit() -> Vec<(String, &'static str)> {
    let rows = FIT.iter().flat_map(|(path, content)| {
        let numbers = match path {
            path if path.contains('#') => 0..4,
            path if path.contains('*') => 0..2,
            _ => 0..1,
        };
        numbers.map(move |number| {
            let path = path.replace(['#', '*'], &number.to_string());
            (path, *content)
        })
    });
    rows.collect()
}

fn write(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path.replace("CPUS", "sys/devices/system/cpu"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The fit machine with other files, or more.
fn host(changes: &Files) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let fit = fit();
    let fit = fit.iter().map(|(path, content)| (&**path, *content));
    for (path, content) in fit.chain(changes.iter().copied()) {
        write(root.path(), path, format!("{content}\n").as_bytes());
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
        stacking: stacking(3, 225.0, 220.0),
        is_another_sweep_running: Ok(false),
        usable_cpus: Ok(4),
        has_membarrier: Some(true),
        disks: disk(Some(1 << 40), true),
        compilers: vec![tool("cargo"), tool("rustc")],
        python: Ok("Python 3.11".to_owned()),
        linker: Ok("ld.lld".to_owned()),
    }
}

fn disk(free_bytes: Option<u64>, is_writable: bool) -> Vec<Disk> {
    vec![Disk {
        folder: "results".to_owned(),
        free_bytes,
        is_writable,
    }]
}

#[expect(clippy::unnecessary_wraps, reason = "a circumstance may be unknown")]
fn stacking(stacked: u32, free_us: f64, pinned_us: f64) -> Option<Stacking> {
    Some(Stacking {
        ticks: 100,
        stacked,
        free_us,
        pinned_us,
    })
}

fn diagnose(changes: &Files) -> Diagnosis {
    examine(&Host::at(host(changes).path()), &good())
}

/// The diagnosis has this one finding, which says all these texts.
#[track_caller]
fn assert_one(diagnosis: &Diagnosis, severity: Severity, id: &str, texts: &[&str]) {
    let [finding] = diagnosis.findings.as_slice() else {
        panic!("{diagnosis}")
    };
    assert_eq!(
        (finding.severity, &*finding.id),
        (severity, id),
        "{diagnosis}"
    );
    let parts = [&finding.seen, &finding.why, &finding.remedy];
    assert!(parts.iter().all(|part| !part.is_empty()), "{diagnosis}");
    let said = parts.map(String::as_str).join("\n");
    for text in texts {
        assert!(said.contains(text), "{text}: {diagnosis}");
    }
    assert_eq!(diagnosis.is_fit(), severity != Unfit);
}

#[test]
fn nothing_is_found_on_a_host_made_for_measuring() {
    let diagnosis = diagnose(&[]);
    assert_eq!(diagnosis.findings, [], "{diagnosis}");
    assert_eq!(diagnosis.unknown, [""; 0], "{diagnosis}");
    assert!(diagnosis.is_fit());
    let said = diagnosis.to_string();
    assert!(said.contains("no CPU quota"), "{said}");
    assert!(said.contains("in 3 of 100 ticks"), "{said}");
}

/// The files that differ from the fit host's, and the one finding with what it says.
type Row<'a> = (&'a Files<'a>, Severity, &'a str, &'a [&'a str]);

#[track_caller]
fn assert_rows(rows: &[Row]) {
    for (changes, severity, id, texts) in rows {
        assert_one(&diagnose(changes), *severity, id, texts);
    }
}

#[test]
fn what_changes_the_clock_is_found() {
    let governor = "CPUS/cpufreq/policy1/scaling_governor";
    let limit = "CPUS/cpufreq/policy1/scaling_max_freq";
    let service = "clock-service";
    assert_rows(&[
        (
            &[(governor, "powersave")],
            Warning,
            "governor",
            &["policy1/scaling_governor = powersave (1 of 2 policies)"],
        ),
        (
            &[("CPUS/cpufreq/boost", "1")],
            Warning,
            "boost",
            &["cpufreq/boost = 1", "echo 0 | sudo tee /sys/"],
        ),
        (
            &[("CPUS/intel_pstate/no_turbo", "0")],
            Warning,
            "boost",
            &["no_turbo = 0", "echo 1 | sudo tee /sys/"],
        ),
        (
            &[(limit, "400000")],
            Warning,
            "frequency-cap",
            &[
                "scaling_max_freq = 400000, and 2000000 kHz can be held without boost (1 of 2 policies)",
            ],
        ),
        (
            &[("CPUS/intel_pstate/max_perf_pct", "50")],
            Warning,
            "frequency-cap",
            &["max_perf_pct = 50"],
        ),
        (
            &[("proc/77/comm", "power-profiles-")],
            Warning,
            service,
            &["process 77", "systemctl stop power-profiles-daemon"],
        ),
        (
            &[("run/tlp/last_pwr", "0")],
            Warning,
            service,
            &["/run/tlp"],
        ),
        (
            &[("CPUS/cpu0/thermal_throttle/core_throttle_count", "3")],
            Warning,
            "heat",
            &["core_throttle_count = 3"],
        ),
        (
            &[("sys/class/power_supply/AC/online", "0")],
            Unfit,
            "battery",
            &["from its battery"],
        ),
    ]);
}

#[test]
fn cpus_that_differ_share_a_core_or_are_set_apart_are_found() {
    let siblings = [0, 1, 2, 3].map(|cpu| format!("CPUS/cpu{cpu}/topology/thread_siblings_list"));
    let lists = ["0-1", "0-1", "2-3", "2-3"];
    let mut shared: Vec<(&str, &str)> = siblings.iter().map(|it| &**it).zip(lists).collect();
    let isolated = ("CPUS/isolated", "2-3");
    let unequal = "unequal-cpus";
    assert_rows(&[
        (
            &[("CPUS/smt/active", "1")],
            Warning,
            "smt",
            &["smt/active = 1", "smt/control"],
        ),
        (
            &shared,
            Warning,
            "smt",
            &["smt/active = 0 (4 CPUs that may be used, on 2 cores)"],
        ),
        (
            &[("CPUS/cpu1/cpu_capacity", "446")],
            Warning,
            unequal,
            &["cpu1/cpu_capacity = 446", "taskset -c 0,2-3 "],
        ),
        // Trials are not sent to the one CPU that is the strongest.
        (
            &[
                ("CPUS/cpu0/cpu_capacity", "250"),
                ("CPUS/cpu1/cpu_capacity", "850"),
                ("CPUS/cpu2/cpu_capacity", "850"),
            ],
            Warning,
            unequal,
            &["(1 CPU)", "taskset -c 1-2 "],
        ),
        (
            &[
                ("sys/devices/cpu_core/cpus", "0-1"),
                ("sys/devices/cpu_atom/cpus", "2-3"),
            ],
            Warning,
            unequal,
            &[
                "/sys/devices/cpu_core/cpus (2 CPUs), /sys/devices/cpu_atom/cpus (2 CPUs)",
                "taskset -c 0-1 ",
            ],
        ),
        (
            &[
                ("CPUS/cpufreq/policy0/base_frequency", "2000000"),
                ("CPUS/cpufreq/policy1/base_frequency", "1500000"),
            ],
            Warning,
            unequal,
            &["cpu2/cpufreq/base_frequency = 1500000 (2 CPUs)"],
        ),
        (
            &[
                ("CPUS/cpufreq/policy0/cpuinfo_max_freq", "3000000"),
                ("CPUS/cpufreq/policy0/scaling_max_freq", "3000000"),
            ],
            Warning,
            unequal,
            &["cpuinfo_max_freq = 3000000"],
        ),
        (&[isolated], Unfit, "isolated", &["isolated = 2-3"]),
        (
            &[("sys/fs/cgroup/job/cpuset.cpus.partition", "isolated")],
            Unfit,
            "isolated",
            &["/sys/fs/cgroup/job/cpuset.cpus.partition = isolated"],
        ),
        (
            &[(ALLOWED, "Cpus_allowed_list:\t0,2")],
            Note,
            "affinity",
            &["allows 2 of 4 CPUs"],
        ),
    ]);
    // What is said of CPUs that may not be used does not matter.
    shared.push((ALLOWED, "Cpus_allowed_list:\t0,2"));
    assert_eq!(diagnose(&shared).find("smt"), None);
    let apart = diagnose(&[isolated, (ALLOWED, "Cpus_allowed_list:\t0-1")]);
    assert_eq!(apart.find("isolated"), None, "{apart}");
    let weak = diagnose(&[
        ("sys/devices/cpu_core/cpus", "0-1"),
        ("sys/devices/cpu_atom/cpus", "2-3"),
        (ALLOWED, "Cpus_allowed_list:\t2-3"),
    ]);
    assert_eq!(weak.find(unequal), None, "{weak}");
}

#[test]
fn limits_neighbours_and_the_kernel_are_found() {
    let quota = "sys/fs/cgroup/cpu.max";
    let random = "proc/sys/kernel/randomize_va_space";
    let nodes = ("sys/devices/system/node/online", "0-1");
    let vendor = "sys/class/dmi/id/sys_vendor";
    let product = "sys/class/dmi/id/product_name";
    let guest = "virtual-machine";
    let steal = |columns: &str| format!("cpu  0 0 0 {columns} 5000 0");
    let stolen = ["981 0 0 0 19", "980 0 0 0 20"].map(steal);
    assert_rows(&[
        (
            &[(quota, "150000 100000")],
            Unfit,
            "quota",
            &["(1.50 CPUs' time for 4 CPUs)"],
        ),
        (
            &[(quota, "400000 100000")],
            Note,
            "quota",
            &["4.00 CPUs' time"],
        ),
        // The group that has the quota tells how often it was used up.
        (
            &[
                ("proc/self/cgroup", "0::/team/job"),
                ("sys/fs/cgroup/team/cpu.max", "250000 100000"),
                (
                    "sys/fs/cgroup/team/cpu.stat",
                    "nr_throttled 8\nthrottled_usec 9",
                ),
                (
                    "sys/fs/cgroup/team/job/cpu.stat",
                    "nr_throttled 0\nthrottled_usec 0",
                ),
            ],
            Unfit,
            "quota",
            &[
                "/sys/fs/cgroup/team/cpu.max = 250000 100000 (2.50 CPUs' time for 4 CPUs); used up in 8 periods",
            ],
        ),
        (
            &[("proc/loadavg", "1.99 0 0 1/100 1")],
            Warning,
            "load",
            &["1.99"],
        ),
        (
            &[("proc/loadavg", "2.00 0 0 1/100 1")],
            Unfit,
            "load",
            &["2.00"],
        ),
        (&[("proc/stat", &stolen[0])], Warning, "steal", &["1.9 %"]),
        (&[("proc/stat", &stolen[1])], Unfit, "steal", &["2.0 %"]),
        (
            &[("proc/78/comm", "irqbalance")],
            Note,
            "interrupts",
            &["process 78"],
        ),
        (
            &[("proc/cpuinfo", "flags\t\t: fpu hypervisor")],
            Warning,
            guest,
            &[],
        ),
        (
            &[ARM, (vendor, "Amazon EC2")],
            Warning,
            guest,
            &["sys_vendor = Amazon EC2"],
        ),
        (
            &[
                ARM,
                (vendor, "Microsoft Corporation"),
                (product, "Virtual Machine"),
            ],
            Warning,
            guest,
            &["product_name = Virtual Machine"],
        ),
        (
            &[(
                "proc/cmdline",
                "quiet isolcpus=9 cpuidle_haltpoll.force=1 sched_vcpu_pack=15 root=/dev/vda",
            )],
            Note,
            "kernel-options",
            &["not an option of mainline Linux that this doctor knows: sched_vcpu_pack=15"],
        ),
        (
            &[(random, "0")],
            Warning,
            "addresses",
            &["randomize_va_space = 0"],
        ),
        (
            &[("proc/self/personality", "00040000")],
            Warning,
            "addresses",
            &["/proc/self/personality = 00040000"],
        ),
        (
            &[(CLOCK_SOURCE, "hpet")],
            Warning,
            "clock-source",
            &["= hpet"],
        ),
        (
            &[nodes, ("proc/sys/kernel/numa_balancing", "0")],
            Note,
            "memory-nodes",
            &["numa_balancing = 0"],
        ),
        // A node whose CPUs may not be used is none to run on.
        (
            &[
                nodes,
                ("sys/devices/system/node/has_cpu", "0-1"),
                ("sys/devices/system/node/node0/cpulist", "4-7"),
                ("sys/devices/system/node/node1/cpulist", "0-3"),
            ],
            Warning,
            "memory-nodes",
            &["2 nodes", "--cpunodebind=1 --membind=1"],
        ),
        (
            &[
                (
                    "sys/kernel/mm/transparent_hugepage/enabled",
                    "[always] madvise never",
                ),
                ("proc/self/timerslack_ns", "50000"),
                ("CPUS/vulnerabilities/spectre_v2", "Mitigation: Retpolines"),
            ],
            Note,
            "settings",
            &[
                "[always] madvise never",
                "timerslack_ns = 50000",
                "mitigated spectre_v2",
            ],
        ),
    ]);
}

#[test]
fn circumstances_are_judged_like_files() {
    type Change = fn(&mut Circumstances);
    let rows: [(Change, Severity, &str, &[&str]); 13] = [
        (
            |it| it.fixable = Err("no permission".to_owned()),
            Unfit,
            "frequency-control",
            &["no permission"],
        ),
        (
            |it| it.fix_in_force = Some("since noon".to_owned()),
            Unfit,
            "fix-left",
            &["since noon"],
        ),
        (
            |it| it.clock = Some(None),
            Warning,
            "clock",
            &["do not agree"],
        ),
        (
            |it| it.stacking = stacking(56, 428.0, 229.0),
            Warning,
            "stacked-wake-ups",
            &[
                "in 56 of 100 ticks two threads that were woken to work were on one CPU",
                "428 us free and 229 us pinned",
                "--placement pinned",
            ],
        ),
        (
            |it| it.has_membarrier = Some(false),
            Warning,
            "no-membarrier",
            &["membarrier", "`champion`"],
        ),
        (
            |it| it.is_another_sweep_running = Ok(true),
            Unfit,
            "another-sweep",
            &["held"],
        ),
        (
            |it| it.compilers[0].seen = Err("not found".to_owned()),
            Unfit,
            "compiler",
            &["`cargo --version`"],
        ),
        (
            |it| it.python = Err("too old".to_owned()),
            Warning,
            "python",
            &["too old"],
        ),
        (
            |it| it.linker = Err("no ld.lld".to_owned()),
            Warning,
            "linker",
            &["no ld.lld"],
        ),
        (
            |it| it.disks = disk(Some(1 << 30), true),
            Warning,
            "disk",
            &["1.0 GiB"],
        ),
        (
            |it| it.disks = disk(Some(1 << 20), true),
            Unfit,
            "disk",
            &["0.0 GiB"],
        ),
        (
            |it| it.disks = disk(None, false),
            Unfit,
            "folder",
            &["results/ cannot be written"],
        ),
        (
            |it| it.usable_cpus = Ok(3),
            Warning,
            "few-cpus",
            &["3 CPUs", "`--threads 1..=3`"],
        ),
    ];
    let root = host(&[]);
    for (change, severity, id, texts) in rows {
        let mut around = good();
        change(&mut around);
        let diagnosis = examine(&Host::at(root.path()), &around);
        assert_one(&diagnosis, severity, id, texts);
    }
    // Where all CPUs are busy, pins gain nothing.
    let mut busy = good();
    busy.stacking = stacking(97, 446.0, 1542.0);
    let busy = examine(&Host::at(root.path()), &busy);
    assert_eq!(busy.findings, [], "{busy}");
}

#[test]
fn hosts_that_only_look_odd_are_in_order() {
    let supply = "sys/class/power_supply/AC/online";
    for changes in [
        &[("sys/fs/cgroup/job/cpuset.cpus.partition", "root")][..],
        // The best cores of a processor may go somewhat higher.
        &[
            ("CPUS/cpufreq/policy0/cpuinfo_max_freq", "2200000"),
            ("CPUS/cpufreq/policy0/scaling_max_freq", "2200000"),
        ],
        // A limit at what can be held without boost is none.
        &[
            ("CPUS/cpufreq/policy0/base_frequency", "1500000"),
            ("CPUS/cpufreq/policy1/base_frequency", "1500000"),
            ("CPUS/cpufreq/policy0/scaling_max_freq", "1500000"),
        ],
        // A laptop that is fed by USB.
        &[
            (supply, "0"),
            ("sys/class/power_supply/BAT0/type", "Battery"),
            ("sys/class/power_supply/BAT0/status", "Charging"),
            ("sys/class/power_supply/usb-c/type", "USB"),
            ("sys/class/power_supply/usb-c/online", "1"),
        ],
    ] {
        let diagnosis = diagnose(changes);
        assert_eq!(diagnosis.findings, [], "{diagnosis}");
    }
    // Policy 2 has CPUs that may not be used, and policy 3 none that is online.
    let diagnosis = diagnose(&[
        ("CPUS/cpufreq/policy0/scaling_governor", "powersave"),
        ("CPUS/cpufreq/policy1/scaling_governor", "powersave"),
        ("CPUS/cpufreq/policy2/affected_cpus", "4 5"),
        ("CPUS/cpufreq/policy2/scaling_governor", "powersave"),
        ("CPUS/cpufreq/policy2/scaling_max_freq", "400000"),
        ("CPUS/cpufreq/policy3/affected_cpus", ""),
        ("CPUS/cpufreq/policy3/scaling_governor", "powersave"),
        ("CPUS/online", "0-5"),
    ]);
    let seen = &diagnosis.find("governor").unwrap().seen;
    assert!(seen.ends_with("(2 of 2 policies)"), "{diagnosis}");
    assert!(diagnosis.find("frequency-cap").is_none(), "{diagnosis}");
}

#[test]
fn what_cannot_be_read_is_unknown_and_never_in_order() {
    let battery = [
        ("sys/class/power_supply/AC/online", "perhaps"),
        ("sys/class/power_supply/BAT0/type", "Battery"),
        ("sys/class/power_supply/BAT0/status", "Unknown"),
    ];
    let guest = [("proc/cpuinfo", "flags\t\t: fpu hypervisor")];
    let metal = [
        ARM,
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2"),
        ("sys/class/dmi/id/product_name", "m6g.metal"),
    ];
    // CPU 3 has no policy.
    let alone = [("CPUS/cpufreq/policy1/affected_cpus", "2")];
    let (steal, load, heat) = ("stolen time", "the load", "whether heat slows");
    let (cap, strength) = (
        "limits of the frequency",
        "whether the CPUs are equally strong",
    );
    let huge = "8500000 305946 943142 328322278 3023148 0 63260 18446744073709551612 0 0";
    let wrapped = "10162498 0 900000 11732815868058135187 0 0 0 15910903933238771776 0 0";
    let stat = |columns: &str| format!("cpu  {columns}");
    let stats = [
        huge,
        wrapped,
        "10 0 10 18446744073709551000 0 0 0 0 0 0",
        "10 0 10 100 0 0 0 -4 0 0",
        "0 0 0 0 0 0 0 0 0 0",
        "10 0 10 100",
    ]
    .map(stat);
    let loads = ["nan 0 0 1/9 1", "-1 0 0 1/9 1", "0.00 0.00 0.00 0/0 0", ""];
    let stats = stats.iter().map(|it| ("proc/stat", &**it, steal));
    let loads = loads.map(|it| ("proc/loadavg", it, load));
    let limits = ["", "2.0 GHz", "-1"].into_iter().flat_map(|says| {
        [
            "CPUS/cpufreq/policy0/bios_limit",
            "CPUS/cpufreq/policy1/bios_limit",
            "CPUS/cpufreq/policy1/scaling_max_freq",
            "CPUS/intel_pstate/max_perf_pct",
        ]
        .map(|file| (file, says, cap))
    });
    let files = [
        ("CPUS/smt/active", "perhaps", "CPUs that share a core"),
        ("CPUS/cpufreq/boost", "2", "boost"),
        (
            "CPUS/cpufreq/policy1/scaling_governor",
            "\u{1}",
            "who chooses the frequency",
        ),
        (
            "CPUS/cpu3/thermal_throttle/core_throttle_count",
            "unsupported",
            heat,
        ),
        ("CPUS/isolated", "3-1", "CPUs without load balancing"),
        ("CPUS/cpu1/cpu_capacity", "high", strength),
        ("CPUS/cpu1/acpi_cppc/nominal_freq", "?", strength),
        ("sys/devices/cpu_atom/cpus", "2-", strength),
        ("sys/fs/cgroup/cpu.max", "soon", "a CPU quota"),
        ("proc/2/comm", "bash", "which services run"), // a container
        (
            "proc/self/personality",
            "none",
            "whether addresses are random",
        ),
        (CLOCK_SOURCE, "mystery", "what reading the time costs"),
        (
            "sys/devices/system/node/online",
            "0-99999999999",
            "memory nodes",
        ),
    ];
    let files = files.into_iter().chain(loads).chain(stats).chain(limits);
    let rows: Vec<(Vec<(&str, &str)>, &str)> = files
        .map(|(file, says, what)| (vec![(file, says)], what))
        .chain([
            (battery.to_vec(), "the power supply"),
            (guest.to_vec(), steal),
            (vec![ARM], "a hypervisor beneath"),
            (metal.to_vec(), "a hypervisor beneath"),
            (alone.to_vec(), "who chooses the frequency"),
            (alone.to_vec(), "boost"),
            (alone.to_vec(), cap),
        ])
        .collect();
    // What is said instead where all is well.
    let in_order = [
        ("CPUs that share a core", "no two CPUs"),
        ("CPUs without load balancing", "scheduler balances"),
        ("a CPU quota", "no CPU quota"),
        ("a hypervisor beneath", "no hypervisor"),
        ("boost", "boost is off"),
        (cap, "no limit keeps"),
        ("memory nodes", "one memory node"),
        (steal, "was stolen"),
        (load, "the load is"),
        ("the power supply", "battery"),
        ("what reading the time costs", "the time is read"),
        ("whether addresses are random", "addresses are random"),
        (heat, "heat has not slowed"),
        (strength, "all CPUs are equally strong"),
        ("which services run", "no service"),
        ("who chooses the frequency", "the governor is"),
    ];
    let whole = diagnose(&[]).in_order;
    for (changes, what) in rows {
        let (_, good) = in_order.iter().find(|(of, _)| *of == what).unwrap();
        assert!(whole.iter().any(|it| it.contains(good)), "{whole:?}");
        let diagnosis = diagnose(&changes);
        let mut unknown = diagnosis.unknown.iter();
        let is_told = unknown.any(|it| it.starts_with(what));
        assert!(is_told, "{changes:?}: {diagnosis}");
        let mut told = diagnosis.in_order.iter();
        assert!(
            !told.any(|it| it.contains(good)),
            "{changes:?}: {diagnosis}"
        );
    }
    // Heat is unknown where only some CPUs count it.
    let root = host(&[]);
    let count = root
        .path()
        .join("sys/devices/system/cpu/cpu3/thermal_throttle");
    fs::remove_dir_all(count).unwrap();
    let said = examine(&Host::at(root.path()), &good());
    let missing = "cpu3/thermal_throttle is not there";
    assert!(said.unknown.iter().any(|it| it.contains(missing)), "{said}");
    assert!(
        !said.in_order.iter().any(|it| it.contains("heat")),
        "{said}"
    );
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
        "CPUs that share a core",
        "CPUs without load balancing",
        "a CPU quota",
        "a hypervisor beneath",
        "boost",
        "membarrier",
        "memory nodes",
        "stacked wake-ups",
        "stolen time",
        "the CPUs that may be used",
        "the clock",
        "the kernel's options",
        "the load",
        "the power supply",
        "what reading the time costs",
        "whether addresses are random",
        "whether heat slows",
        "which services run",
    ] {
        let mut unknown = diagnosis.unknown.iter();
        let is_told = unknown.any(|it| it.starts_with(what));
        assert!(is_told, "{what}: {diagnosis}");
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
    let root = host(&[]);
    let mut not_told = Vec::new();
    for (path, content) in fit() {
        for nonsense in NONSENSE.into_iter().filter(|it| !is_free(&path, it)) {
            write(root.path(), &path, nonsense.as_bytes());
            let diagnosis = examine(&Host::at(root.path()), &good());
            if diagnosis.unknown.is_empty() && diagnosis.findings.is_empty() {
                not_told.push((path.clone(), nonsense));
            }
        }
        write(root.path(), &path, content.as_bytes());
    }
    assert_eq!(not_told, []);
}

#[test]
fn files_with_garbage_are_unknown_and_nothing_of_them_reaches_the_terminal() {
    let root = host(&[]);
    // The second is not even of characters.
    for garbage in [&b"\x1b[2J\x07\0"[..], &[0xff, 0xfe, 0x80]] {
        for (path, _) in fit() {
            write(root.path(), &path, garbage);
        }
        let diagnosis = examine(&Host::at(root.path()), &good());
        assert_eq!(diagnosis.findings, [], "{diagnosis}");
        let text = diagnosis.to_string();
        assert!(text.contains("is no text"), "{text}");
        let is_plain = |it: char| it == '\n' || !it.is_control();
        assert!(text.chars().all(is_plain), "{text:?}");
    }
}

#[test]
fn the_worst_comes_first_and_whoever_begins_a_sweep_is_told_of_that_alone() {
    let root = host(&[
        ("proc/sys/kernel/randomize_va_space", "0"),
        ("proc/79/comm", "irqbalance"),
        ("proc/loadavg", "9 0 0 1/1 1"),
    ]);
    let host = Host::at(root.path());
    let ids = |findings: Vec<_>| -> Vec<String> {
        let ids = findings.into_iter();
        ids.map(|it: runner::host::doctor::Finding| it.id).collect()
    };
    let all = ids(examine(&host, &good()).findings);
    assert_eq!(all, ["load", "addresses", "interrupts"]);
    assert_eq!(ids(first_look(&host)), ["load"]);
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
        run.stderr(contains("nowhere"))
            .stderr(contains("no such folder"));
    }
}

#[test]
fn a_diagnosis_from_before_the_unknown_was_listed_is_still_read() {
    let old = r#"{ "findings": [], "in_order": ["no CPU quota"] }"#;
    let diagnosis: Diagnosis = serde_json::from_str(old).unwrap();
    assert_eq!(diagnosis.unknown, [""; 0]);
}

#[test]
fn a_mock_host_without_frequency_control_is_unfit_by_exit_code_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let root = host(&[]);
    let policies = root.path().join("sys/devices/system/cpu/cpufreq");
    fs::remove_dir_all(policies).unwrap();
    let mut command = common::runner(folder.path());
    command.args(["doctor", "--format", "json", "--host"]);
    let output = command.arg(root.path()).output().unwrap();
    let diagnosis: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(diagnosis["findings"][0]["id"], "frequency-control");
    assert_eq!(diagnosis["findings"][0]["severity"], "unfit");
    output.assert().code(4);
}

#[test]
fn the_running_host_is_diagnosed_in_80_columns_and_a_sweep_that_runs_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let lock = fs::File::create(folder.path().join("host.lock")).unwrap();
    lock.lock().unwrap();
    let mut command = common::runner(folder.path());
    let output = command.arg("doctor").output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let is_narrow = |line: &str| line.chars().count() <= 80;
    assert!(text.lines().all(is_narrow), "{text}");
    assert!(text.contains("another-sweep"), "{text}");
    assert!(text.contains("not fit: "), "{text}");
    output.assert().code(4);
}
