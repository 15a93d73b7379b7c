use std::fs;

use runner::host::frequency::hold::{self, Hold};
use runner::host::frequency::journal::Journal;
use runner::host::frequency::recipe::recipe;
use runner::host::frequency::sysfs::{Backend as _, GOVERNOR, MIN, NO_TURBO, Sysfs};

use super::cpus::{
    BASE, Cpus, Files, HOSTS, Kernel, OF_BASE, OF_LIST, OF_NOMINAL, OF_TABLE, Quirk, knob,
};

fn fix(cpus: &Cpus, kernel: &Kernel) -> anyhow::Result<Hold> {
    let (host, kernel) = (cpus.host(), Box::new(kernel.clone()));
    let recipe = recipe(&host).unwrap();
    Hold::begin(host, kernel, recipe, &cpus.journal())
}

#[test]
fn every_host_is_fixed_without_boost_and_given_back_byte_for_byte() {
    for (name, files) in HOSTS {
        let cpus = Cpus::of(files);
        let before = cpus.bytes();
        let kernel = Kernel {
            journal: Some(cpus.journal()),
            ..Kernel::default()
        };
        let held = fix(&cpus, &kernel).unwrap();
        assert_eq!(held.khz(), BASE, "{name}");
        for (file, fixed) in [
            ("cpufreq/policy1/scaling_governor", "performance"),
            ("cpufreq/policy1/scaling_max_freq", "2000000"),
            ("cpufreq/policy1/scaling_min_freq", "2000000"),
            ("cpufreq/policy1/boost", "0"),
            ("cpufreq/boost", "0"),
            ("intel_pstate/hwp_dynamic_boost", "0"),
            ("intel_pstate/no_turbo", "1"),
        ] {
            if cpus.path().join(file).exists() {
                assert_eq!(cpus.read(file), fixed, "{name}: {file}");
            }
        }
        held.restore().unwrap();
        assert_eq!(cpus.bytes(), before, "{name}");
        assert!(!cpus.journal().exists(), "{name}");
    }
}

#[test]
fn settings_that_are_not_the_defaults_come_back_too() {
    for (min, max, boost) in [
        ("1000000", "1500000", "0"),
        ("1500000", "1500000", "1"),
        ("2001000", "2001000", "1"),
    ] {
        let cpus = Cpus::of(OF_LIST);
        cpus.change(&[
            ("cpufreq/policy*/scaling_min_freq", min),
            ("cpufreq/policy*/scaling_max_freq", max),
            ("cpufreq/boost", boost),
        ]);
        let before = cpus.bytes();
        fix(&cpus, &Kernel::default()).unwrap().restore().unwrap();
        assert_eq!(cpus.bytes(), before, "{min} {max} {boost}");
    }
}

#[test]
fn a_kernel_that_does_not_as_it_should_is_an_error_that_leaves_nothing_changed() {
    let said = "was set to `2000000` and reads `1900000`; stop daemons that may set it";
    for (quirk, reason) in [
        (Quirk::ClipsAt(1_900_000), said),
        (Quirk::Refuses(GOVERNOR), "Permission denied"),
        (Quirk::Refuses(NO_TURBO), "Permission denied"),
        (Quirk::Refuses(MIN), "Permission denied"),
    ] {
        let cpus = Cpus::of(OF_BASE);
        if let Quirk::ClipsAt(_) = quirk {
            let low = ("cpufreq/policy*/scaling_max_freq", "1900000");
            cpus.change(&[low]);
        }
        let before = cpus.bytes();
        let kernel = Kernel {
            quirk: Some(quirk),
            ..Kernel::default()
        };
        let error = fix(&cpus, &kernel).err().unwrap().to_string();
        assert!(error.contains(reason), "{quirk:?}: {error}");
        assert!(error.contains("all settings are restored"), "{error}");
        assert_eq!(cpus.bytes(), before, "{quirk:?}");
        assert!(!cpus.journal().exists(), "{quirk:?}");
    }
}

#[test]
fn a_daemon_that_undoes_the_restore_leaves_a_journal_to_restore_from() {
    let cpus = Cpus::of(OF_NOMINAL);
    let before = cpus.bytes();
    let kernel = Kernel {
        quirk: Some(Quirk::Overwrites(MIN, "1100000")),
        ..Kernel::default()
    };
    let error = fix(&cpus, &kernel).err().unwrap().to_string();
    for text in [
        "scaling_min_freq is `1100000`, was `1000000`",
        "cargo runner frequency restore",
    ] {
        assert!(error.contains(text), "{error}");
    }
    let host = cpus.host();
    let journal = Journal::open(&cpus.journal(), &host).unwrap().unwrap();
    hold::put_back(&host, &mut Kernel::default(), journal).unwrap();
    assert_eq!(cpus.bytes(), before);
}

#[test]
fn a_backend_without_boost_fixes_by_limits() {
    let limits = Kernel {
        sets_limits_only: true,
        ..Kernel::default()
    };
    let cpus = Cpus::of(OF_LIST);
    let before = cpus.bytes();
    let held = fix(&cpus, &limits).unwrap();
    held.verify().unwrap();
    assert_eq!(cpus.read("cpufreq/boost"), "1");
    held.restore().unwrap();
    assert_eq!(cpus.bytes(), before);
}

#[test]
fn policies_of_cpus_that_are_offline_or_may_not_be_used_are_left_alone() {
    for (affected, used) in [("1", "0"), ("", "0-1")] {
        let cpus = Cpus::of(OF_BASE);
        cpus.write("cpufreq/policy1/affected_cpus", affected);
        let before = cpus.bytes();
        let host = cpus.host();
        cpus.allow(used);
        let recipe = recipe(&host).unwrap();
        let held = Hold::begin(host, Box::new(Sysfs), recipe, &cpus.journal()).unwrap();
        for (path, bytes) in cpus.bytes() {
            let is_fixed = path.ends_with("policy0/scaling_max_freq");
            assert!(!is_fixed || bytes == b"2000000", "{used:?}");
            let is_other = path.to_string_lossy().contains("policy1/");
            assert!(!is_other || bytes == before[&path], "{used:?}: {path:?}");
        }
        held.restore().unwrap();
        assert_eq!(cpus.bytes(), before, "{used:?}");
    }
}

const GONE: &str = "(gone)";

#[track_caller]
fn assert_chooses(
    files: &Files,
    changes: &[(&str, &str)],
    used: &str,
    expected: Result<u64, [&str; 2]>,
) {
    let cpus = Cpus::of(files);
    for (file, content) in changes {
        match *content {
            GONE => ["0", "1"].into_iter().for_each(|policy| {
                let _ = fs::remove_file(cpus.path().join(file.replace('*', policy)));
            }),
            _ => cpus.change(&[(file, content)]),
        }
    }
    cpus.allow(used);
    match (recipe(&cpus.host()), expected) {
        (Ok(recipe), expected) => assert_eq!(Ok(recipe.khz), expected, "{changes:?}"),
        (Err(error), Ok(_)) => panic!("{changes:?}: {error:#}"),
        (Err(error), Err(reasons)) => {
            let said = format!("{error:#}");
            let are_said = reasons.iter().all(|reason| said.contains(reason));
            assert!(are_said, "{changes:?}: {said}");
        }
    }
}

#[test]
fn the_frequency_is_the_highest_that_all_cpus_can_hold_without_boost() {
    let listed = "cpufreq/policy*/scaling_available_frequencies";
    let driver = "cpufreq/policy*/scaling_driver";
    let stronger = [("cpu0/cpu_capacity", "446"), ("cpu1/cpu_capacity", "1024")];
    let slower = [("cpufreq/policy1/base_frequency", "1500000")];
    for (files, changes, used, khz) in [
        // On AMD, the highest entry of a list is not a turbo frequency.
        (OF_LIST, &[(listed, "2200000 1400000 ")][..], "0", 2_200_000),
        (OF_TABLE, &stronger, "1", BASE),
        (OF_BASE, &slower, "1", 1_500_000),
        // The driver's name may be unknown or unreadable.
        (OF_NOMINAL, &[(driver, "new-driver")], "0", BASE),
        (OF_NOMINAL, &[(driver, GONE)], "0", BASE),
    ] {
        assert_chooses(files, changes, used, Ok(khz));
    }
}

#[test]
fn hosts_that_cannot_be_fixed_say_why_and_what_to_do() {
    let stronger = [("cpu0/cpu_capacity", "446"), ("cpu1/cpu_capacity", "1024")];
    let base = "cpufreq/policy*/base_frequency";
    for (files, changes, reasons) in [
        (
            OF_BASE,
            &[(base, GONE)][..],
            ["policy0/base_frequency", "`intel_pstate=passive`"],
        ),
        (
            OF_NOMINAL,
            &[("cpu1/acpi_cppc/nominal_freq", "0")],
            ["cpu1/acpi_cppc/nominal_freq", "`amd_pstate=disable`"],
        ),
        (
            OF_TABLE,
            &stronger,
            ["cpu1/cpu_capacity = 1024", "`taskset -c 1 cargo runner …`"],
        ),
        (
            OF_TABLE,
            &[("cpufreq/policy*/scaling_available_governors", "schedutil")],
            ["has no `performance`", "modprobe cpufreq_performance"],
        ),
        (OF_BASE, &[(base, "\u{1}")], ["is not text", "run as root"]),
        (
            OF_BASE,
            &[("cpufreq/policy*/affected_cpus", "")],
            ["no frequency control", "virtual"],
        ),
    ] {
        assert_chooses(files, changes, "0-1", Err(reasons));
    }
}

#[test]
fn plain_writes_are_byte_for_byte_and_never_create_a_file() {
    let cpus = Cpus::of(OF_TABLE);
    let host = cpus.host();
    let [there, gone] = [0, 7].map(|policy| knob(policy, GOVERNOR));
    Sysfs.set(&host, there, "performance").unwrap();
    assert_eq!(host.setting(there).unwrap(), "performance");
    let error = Sysfs.set(&host, gone, "performance").unwrap_err();
    assert!(format!("{error:#}").contains("policy7/scaling_governor"));
}
