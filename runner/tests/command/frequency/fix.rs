//! Fixing and restoring on mock hosts, one for each driver, whose kernel has a will of its own.

use std::path::PathBuf;

use super::cpus::{BASE, Cpus, Kernel, LOWEST, Quirks, TURBO};
use runner::host::frequency::backend::{Backend, Sysfs};
use runner::host::frequency::hold::{self, Held};
use runner::host::frequency::journal::Journal;
use runner::host::frequency::recipe::{Recipe, recipe};
use runner::host::frequency::tree::{Kind, Knob, Tree};

/// The value in a file of a host.
fn read(cpus: &Cpus, file: &str) -> String {
    std::fs::read_to_string(cpus.path().join(file))
        .unwrap()
        .trim()
        .to_owned()
}

fn tree(cpus: &Cpus) -> Tree {
    Tree::at(cpus.path())
}

struct Case {
    cpus: Cpus,
    journals: tempfile::TempDir,
}

impl Case {
    fn of(cpus: Cpus) -> Self {
        Self {
            cpus,
            journals: tempfile::tempdir().unwrap(),
        }
    }

    fn journal(&self) -> PathBuf {
        self.journals.path().join("journal.json")
    }

    fn recipe(&self) -> Recipe {
        recipe(&tree(&self.cpus), &[0, 1]).unwrap()
    }

    fn fix(&self, quirks: Quirks) -> anyhow::Result<Held> {
        self.fix_by(Box::new(Kernel::new(quirks)))
    }

    fn fix_by(&self, backend: Box<dyn Backend>) -> anyhow::Result<Held> {
        Held::begin(tree(&self.cpus), backend, self.recipe(), &self.journal())
    }

    fn journal_left(&self) -> Option<Journal> {
        Journal::open(&self.journal(), &tree(&self.cpus)).unwrap()
    }

    fn reason_against(&self) -> String {
        recipe(&tree(&self.cpus), &[0, 1]).unwrap_err().to_string()
    }
}

#[test]
fn every_driver_is_fixed_at_the_highest_frequency_without_boost_on_all_policies() {
    for (driver, cpus) in Cpus::all() {
        let case = Case::of(cpus);
        let held = case
            .fix(Quirks::default())
            .unwrap_or_else(|error| panic!("{driver}: {error}"));
        assert_eq!(held.khz(), BASE, "{driver}");
        for policy in 0..2 {
            let value = |file: &str| read(&case.cpus, &format!("cpufreq/policy{policy}/{file}"));
            assert_eq!(value("scaling_min_freq"), BASE.to_string(), "{driver}");
            assert_eq!(value("scaling_max_freq"), BASE.to_string(), "{driver}");
            let obeys = ["intel_cpufreq", "amd-pstate", "acpi-cpufreq"].contains(&driver);
            let governor = if obeys { "userspace" } else { "performance" };
            assert_eq!(value("scaling_governor"), governor, "{driver}");
            let speed = if obeys { "2000000" } else { "<unsupported>" };
            assert_eq!(value("scaling_setspeed"), speed, "{driver}");
        }
    }
}

#[test]
fn boost_is_off_while_fixed_wherever_there_is_a_file_for_it() {
    let off = [
        (Cpus::intel_pstate(), "intel_pstate/no_turbo", "1"),
        (Cpus::intel_pstate(), "intel_pstate/hwp_dynamic_boost", "0"),
        (Cpus::intel_cpufreq(), "intel_pstate/no_turbo", "1"),
        (Cpus::amd_pstate_epp(), "cpufreq/boost", "0"),
        (Cpus::amd_pstate_epp(), "cpufreq/policy1/boost", "0"),
        (Cpus::amd_pstate(), "cpufreq/boost", "0"),
        (Cpus::acpi_cpufreq(), "cpufreq/boost", "0"),
    ];
    for (cpus, file, value) in off {
        let case = Case::of(cpus);
        let held = case.fix(Quirks::default()).unwrap();
        assert_eq!(read(&case.cpus, file), value, "{file}");
        drop(held);
        assert_ne!(read(&case.cpus, file), value, "{file}");
    }
}

#[test]
fn the_drivers_status_is_never_written() {
    for (cpus, status) in [
        (Cpus::intel_pstate(), "active"),
        (Cpus::intel_cpufreq(), "passive"),
    ] {
        let case = Case::of(cpus);
        let _held = case.fix(Quirks::default()).unwrap();
        assert_eq!(read(&case.cpus, "intel_pstate/status"), status);
    }
}

#[test]
fn a_restore_gives_back_every_byte_on_every_driver() {
    for (driver, cpus) in Cpus::all() {
        let case = Case::of(cpus);
        let before = case.cpus.bytes();
        let held = case.fix(Quirks::default()).unwrap();
        assert_ne!(case.cpus.bytes(), before, "{driver}");
        held.restore()
            .unwrap_or_else(|error| panic!("{driver}: {error}"));
        assert_eq!(case.cpus.bytes(), before, "{driver}");
        assert!(!case.journal().exists(), "{driver}");
    }
}

#[test]
fn settings_that_are_not_the_defaults_come_back_too() {
    // Limits below and above the fixed frequency, boost already off, a request of the user's own.
    for (min, max, boost) in [("1000000", "1500000", "0"), ("1500000", "1500000", "1")] {
        let cpus = Cpus::acpi_cpufreq();
        for policy in 0..2 {
            cpus.write(&format!("cpufreq/policy{policy}/scaling_min_freq"), min);
            cpus.write(&format!("cpufreq/policy{policy}/scaling_max_freq"), max);
        }
        cpus.write("cpufreq/boost", boost);
        let case = Case::of(cpus);
        let before = case.cpus.bytes();
        case.fix(Quirks::default()).unwrap().restore().unwrap();
        assert_eq!(case.cpus.bytes(), before, "{min} {max} {boost}");
    }
}

#[test]
fn the_journal_is_on_disk_before_the_first_write_and_gone_after_the_last() {
    struct Watching(Kernel, PathBuf);
    impl Backend for Watching {
        fn name(&self) -> &'static str {
            "watching"
        }
        fn can_set(&self, kind: Kind) -> bool {
            self.0.can_set(kind)
        }
        fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> anyhow::Result<()> {
            assert!(self.1.exists(), "{knob} is written without a journal");
            self.0.set(tree, knob, value)
        }
    }
    let case = Case::of(Cpus::intel_pstate());
    let kernel = Kernel::new(Quirks::default());
    let held = case
        .fix_by(Box::new(Watching(kernel, case.journal())))
        .unwrap();
    held.restore().unwrap();
    assert!(!case.journal().exists());
}

#[test]
fn files_that_clip_are_an_error_with_both_values_and_leave_nothing_changed() {
    let case = Case::of(Cpus::intel_pstate());
    for policy in 0..2 {
        case.cpus.write(
            &format!("cpufreq/policy{policy}/scaling_max_freq"),
            "1900000",
        );
    }
    let low = case.cpus.bytes();
    let quirks = Quirks {
        clips_at: Some(1_900_000),
        ..Quirks::default()
    };
    let error = case.fix(quirks).err().unwrap().to_string();
    assert!(
        error.contains("cpufreq/policy0/scaling_max_freq"),
        "{error}"
    );
    assert!(
        error.contains("was set to `2000000` and reads `1900000`"),
        "{error}"
    );
    assert!(error.contains("everything is as it was"), "{error}");
    assert_eq!(case.cpus.bytes(), low);
    assert!(!case.journal().exists());
}

#[test]
fn a_file_that_refuses_is_an_error_and_what_was_changed_before_it_is_undone() {
    for kind in [Kind::Governor, Kind::NoTurbo, Kind::Min] {
        let case = Case::of(Cpus::intel_pstate());
        let before = case.cpus.bytes();
        let quirks = Quirks {
            refuses: Some(kind),
            ..Quirks::default()
        };
        let error = case.fix(quirks).err().unwrap().to_string();
        assert!(error.contains("Permission denied"), "{kind:?}: {error}");
        assert_eq!(case.cpus.bytes(), before, "{kind:?}");
        assert!(!case.journal().exists());
    }
}

#[test]
fn a_file_that_changes_after_being_written_is_an_error_that_suspects_a_daemon() {
    let case = Case::of(Cpus::amd_pstate_epp());
    let quirks = Quirks {
        overwrites: Some((Kind::Min, "1100000")),
        ..Quirks::default()
    };
    let error = case.fix(quirks).err().unwrap().to_string();
    // The daemon also undoes the restore, so the journal stays and says how to go on.
    assert!(
        error.contains("scaling_min_freq is `1100000`, was `1000000`"),
        "{error}"
    );
    assert!(error.contains("cargo runner frequency restore"), "{error}");
    let journal = case.journal_left().expect("the journal is kept");
    hold::put_back(
        &tree(&case.cpus),
        &mut Kernel::new(Quirks::default()),
        journal,
    )
    .unwrap();
    assert_eq!(
        read(&case.cpus, "cpufreq/policy0/scaling_min_freq"),
        LOWEST.to_string()
    );
    assert_eq!(
        read(&case.cpus, "cpufreq/policy0/scaling_max_freq"),
        TURBO.to_string()
    );
}

#[test]
fn a_value_changed_later_is_seen_by_the_next_verification() {
    let case = Case::of(Cpus::cppc());
    let held = case.fix(Quirks::default()).unwrap();
    held.verify().unwrap();
    case.cpus
        .write("cpufreq/policy1/scaling_governor", "schedutil");
    let error = held.verify().unwrap_err().to_string();
    assert!(error.contains("policy1/scaling_governor"), "{error}");
    assert!(
        error.contains("`performance` and reads `schedutil`"),
        "{error}"
    );
}

#[test]
fn a_backend_without_boost_fixes_by_limits_and_says_so() {
    struct Limits(Kernel);
    impl Backend for Limits {
        fn name(&self) -> &'static str {
            "limits"
        }
        fn can_set(&self, kind: Kind) -> bool {
            !kind.is_boost() && kind != Kind::Epp
        }
        fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> anyhow::Result<()> {
            assert!(self.can_set(knob.kind), "{knob}");
            self.0.set(tree, knob, value)
        }
    }
    let limits = || Box::new(Limits(Kernel::new(Quirks::default())));
    let case = Case::of(Cpus::acpi_cpufreq());
    let before = case.cpus.bytes();
    let held = case.fix_by(limits()).unwrap();
    assert_eq!(held.boost_left_on().unwrap().to_string(), "cpufreq/boost");
    held.restore().unwrap();
    assert_eq!(case.cpus.bytes(), before);
    case.cpus.write("cpufreq/boost", "0");
    assert_eq!(case.fix_by(limits()).unwrap().boost_left_on(), None);
}

#[test]
fn turbo_that_a_table_names_as_one_megahertz_more_is_passed_over() {
    let cpus = Cpus::acpi_cpufreq();
    assert_eq!(recipe(&tree(&cpus), &[0]).unwrap().khz, BASE);
    // On AMD the highest entry is no turbo.
    for policy in 0..2 {
        let file = format!("cpufreq/policy{policy}/scaling_available_frequencies");
        cpus.write(&file, "2200000 1800000 1400000 ");
    }
    assert_eq!(recipe(&tree(&cpus), &[0]).unwrap().khz, 2_200_000);
}

#[test]
fn policies_that_differ_meet_at_the_highest_frequency_that_all_have() {
    let cpus = Cpus::listed("scmi");
    cpus.write(
        "cpufreq/policy1/scaling_available_frequencies",
        "1000000 1900000 ",
    );
    // 1900000 is the most of policy 1; below it policy 0 has 1800000, below that policy 1 has
    // 1000000.
    assert_eq!(recipe(&tree(&cpus), &[0, 1]).unwrap().khz, 1_000_000);
    cpus.write(
        "cpufreq/policy1/scaling_available_frequencies",
        "500000 900000 ",
    );
    let error = Case::of(cpus).reason_against();
    assert!(
        error.contains("policy0 cannot go below 1000000 kHz"),
        "{error}"
    );
}

#[test]
fn cpus_of_unequal_capacity_are_refused_unless_trials_run_on_equal_ones() {
    let cpus = Cpus::listed("cpufreq-dt");
    cpus.write("cpu0/cpu_capacity", "446");
    cpus.write("cpu1/cpu_capacity", "1024");
    let error = recipe(&tree(&cpus), &[0, 1]).unwrap_err().to_string();
    assert!(
        error.contains("cpu1/cpu_capacity = 1024") && error.contains("taskset -c 1 "),
        "{error}"
    );
    assert_eq!(recipe(&tree(&cpus), &[1]).unwrap().khz, BASE);
}

#[test]
fn the_cores_of_a_hybrid_processor_are_not_fixed_at_one_frequency() {
    let cpus = Cpus::intel_pstate();
    cpus.write("cpufreq/policy1/base_frequency", "1500000");
    let error = recipe(&tree(&cpus), &[0, 1]).unwrap_err().to_string();
    assert!(
        error.contains("cpu0/cpufreq/base_frequency = 2000000")
            && error.contains("cpu1/cpufreq/base_frequency = 1500000")
            && error.contains("`taskset -c 0 cargo runner …`"),
        "{error}"
    );
    assert_eq!(recipe(&tree(&cpus), &[1]).unwrap().khz, 1_500_000);
}

#[test]
fn where_firmware_forbids_turbo_the_highest_frequency_is_the_base() {
    let cpus = Cpus::intel_pstate();
    cpus.write("intel_pstate/no_turbo", "1");
    for policy in 0..2 {
        let folder = cpus.path().join(format!("cpufreq/policy{policy}"));
        std::fs::remove_file(folder.join("base_frequency")).unwrap();
        std::fs::write(folder.join("cpuinfo_max_freq"), format!("{BASE}\n")).unwrap();
        std::fs::write(folder.join("scaling_max_freq"), format!("{BASE}\n")).unwrap();
    }
    assert_eq!(recipe(&tree(&cpus), &[0, 1]).unwrap().khz, BASE);
    // Some kernels go on to name the turbo frequency when a user forbids turbo.
    for policy in 0..2 {
        cpus.write(
            &format!("cpufreq/policy{policy}/cpuinfo_max_freq"),
            &TURBO.to_string(),
        );
        cpus.write(&format!("cpu{policy}/acpi_cppc/nominal_freq"), "2000");
    }
    assert_eq!(recipe(&tree(&cpus), &[0, 1]).unwrap().khz, BASE);
}

#[test]
fn the_remedy_for_an_unknown_base_frequency_is_that_of_the_driver() {
    let intel = Cpus::intel_pstate();
    let amd = Cpus::amd_pstate_epp();
    for policy in 0..2 {
        let base = format!("cpufreq/policy{policy}/base_frequency");
        std::fs::remove_file(intel.path().join(base)).unwrap();
        amd.write(&format!("cpu{policy}/acpi_cppc/nominal_freq"), "0");
    }
    let (intel, amd) = (
        Case::of(intel).reason_against(),
        Case::of(amd).reason_against(),
    );
    assert!(
        intel.contains("intel_pstate=passive") && !intel.contains("amd_pstate"),
        "{intel}"
    );
    assert!(
        amd.contains("amd_pstate=disable") && !amd.contains("intel"),
        "{amd}"
    );
}

#[test]
fn a_policy_that_cannot_be_read_is_not_passed_over() {
    let cpus = Cpus::intel_pstate();
    std::fs::remove_file(cpus.path().join("cpufreq/policy1/scaling_driver")).unwrap();
    std::fs::write(cpus.path().join("cpufreq/policy1/affected_cpus"), [0xff]).unwrap();
    let reason = Case::of(cpus).reason_against();
    assert!(
        reason.contains("policy1/scaling_driver is not there"),
        "{reason}"
    );
}

#[test]
fn policies_of_cpus_that_may_not_be_used_are_left_alone() {
    let case = Case::of(Cpus::intel_pstate());
    let before = case.cpus.bytes();
    let recipe = recipe(&tree(&case.cpus), &[0]).unwrap();
    let held = Held::begin(tree(&case.cpus), Box::new(Sysfs), recipe, &case.journal()).unwrap();
    assert_eq!(
        read(&case.cpus, "cpufreq/policy0/scaling_max_freq"),
        BASE.to_string()
    );
    assert_eq!(
        read(&case.cpus, "cpufreq/policy1/scaling_max_freq"),
        TURBO.to_string()
    );
    assert_eq!(
        read(&case.cpus, "cpufreq/policy1/scaling_governor"),
        "powersave"
    );
    held.restore().unwrap();
    assert_eq!(case.cpus.bytes(), before);
}

#[test]
fn hosts_that_cannot_be_fixed_say_why() {
    let no_base = Cpus::intel_pstate();
    std::fs::remove_file(no_base.path().join("cpufreq/policy1/base_frequency")).unwrap();
    let no_nominal = Cpus::amd_pstate_epp();
    no_nominal.write("cpu1/acpi_cppc/nominal_freq", "0");
    let no_list = Cpus::acpi_cpufreq();
    no_list.write("cpufreq/policy0/scaling_available_frequencies", "");
    let no_governor = Cpus::cppc();
    no_governor.write("cpufreq/policy0/scaling_available_governors", "schedutil");
    let unknown = Cpus::cppc();
    unknown.write("cpufreq/policy1/scaling_driver", "made-up");
    let none = Cpus::cppc();
    std::fs::remove_dir_all(none.path().join("cpufreq")).unwrap();
    for (cpus, reason) in [
        (no_base, "cpufreq/policy1/base_frequency says no frequency"),
        (no_nominal, "cpu1/acpi_cppc/nominal_freq says no frequency"),
        (
            no_list,
            "cpufreq/policy0/scaling_available_frequencies says no frequency",
        ),
        (no_governor, "modprobe cpufreq_performance"),
        (
            unknown,
            "no recipe for the frequency driver `made-up` (policy1)",
        ),
        (none, "no frequency control"),
    ] {
        let said = Case::of(cpus).reason_against();
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn policies_of_cpus_that_are_offline_are_left_alone() {
    let case = Case::of(Cpus::intel_pstate());
    case.cpus.write("cpufreq/policy1/affected_cpus", "");
    let _held = case.fix(Quirks::default()).unwrap();
    assert_eq!(
        read(&case.cpus, "cpufreq/policy0/scaling_max_freq"),
        BASE.to_string()
    );
    assert_eq!(
        read(&case.cpus, "cpufreq/policy1/scaling_max_freq"),
        TURBO.to_string()
    );
}

#[test]
fn plain_writes_are_byte_for_byte_and_never_create_a_file() {
    let cpus = Cpus::cppc();
    let knob = Knob::of(0, Kind::Governor);
    Sysfs.set(&tree(&cpus), knob, b"performance").unwrap();
    assert_eq!(
        std::fs::read(tree(&cpus).path(knob)).unwrap(),
        b"performance"
    );
    let gone = Knob::of(7, Kind::Governor);
    let error = Sysfs.set(&tree(&cpus), gone, b"performance").unwrap_err();
    assert!(
        format!("{error:#}").contains("policy7/scaling_governor"),
        "{error:#}"
    );
}
