//! Mock folders in the place of /sys/devices/system/cpu, and a kernel that answers to writes
//! there.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use runner::host::frequency::backend::{Backend, Sysfs};
use runner::host::frequency::tree::{Kind, Knob, Tree};
use tempfile::TempDir;

/// A mock host: two policies of one CPU each, unless a case says otherwise.
pub(crate) struct Cpus {
    folder: TempDir,
}

/// Frequencies that all mock hosts have, in kHz.
pub(crate) const LOWEST: u64 = 1_000_000;
pub(crate) const BASE: u64 = 2_000_000;
pub(crate) const TURBO: u64 = 3_500_000;

impl Cpus {
    /// Policies 0 and 1 with `driver` and settings as distributions leave them; files are
    /// (path below a policy, content).
    pub(crate) fn new(driver: &str, files: &[(&str, &str)]) -> Self {
        let cpus = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for policy in 0..2 {
            let limits = [LOWEST, TURBO].map(|khz| khz.to_string());
            let [lowest, turbo] = [&limits[0], &limits[1]];
            let number = policy.to_string();
            for (file, content) in [
                ("scaling_driver", driver),
                ("affected_cpus", &number),
                ("related_cpus", &number),
                ("cpuinfo_min_freq", lowest),
                ("cpuinfo_max_freq", turbo),
                ("scaling_min_freq", lowest),
                ("scaling_max_freq", turbo),
                ("scaling_cur_freq", lowest),
                ("scaling_setspeed", "<unsupported>"),
                ("cpuinfo_transition_latency", "10000"),
            ] {
                cpus.write(&format!("cpufreq/policy{policy}/{file}"), content);
            }
            for (file, content) in files {
                cpus.write(&format!("cpufreq/policy{policy}/{file}"), content);
            }
            fs::create_dir_all(cpus.path().join(format!("cpu{policy}"))).unwrap();
            let link = cpus.path().join(format!("cpu{policy}/cpufreq"));
            std::os::unix::fs::symlink(format!("../cpufreq/policy{policy}"), link).unwrap();
        }
        cpus.write("online", "0-1");
        cpus.write("present", "0-1");
        cpus
    }

    pub(crate) fn intel_pstate() -> Self {
        let cpus = Self::new(
            "intel_pstate",
            &[
                ("scaling_governor", "powersave"),
                ("scaling_available_governors", "performance powersave"),
                ("base_frequency", "2000000"),
                ("energy_performance_preference", "balance_performance"),
            ],
        );
        cpus.write("intel_pstate/no_turbo", "0");
        cpus.write("intel_pstate/hwp_dynamic_boost", "1");
        cpus.write("intel_pstate/status", "active");
        cpus
    }

    pub(crate) fn intel_cpufreq() -> Self {
        let cpus = Self::new(
            "intel_cpufreq",
            &[
                ("scaling_governor", "schedutil"),
                (
                    "scaling_available_governors",
                    "conservative userspace performance schedutil",
                ),
                ("base_frequency", "2000000"),
            ],
        );
        cpus.write("intel_pstate/no_turbo", "0");
        cpus.write("intel_pstate/status", "passive");
        cpus
    }

    pub(crate) fn amd_pstate_epp() -> Self {
        let cpus = Self::new(
            "amd-pstate-epp",
            &[
                ("scaling_governor", "powersave"),
                ("scaling_available_governors", "performance powersave"),
                ("energy_performance_preference", "balance_performance"),
                ("boost", "1"),
            ],
        );
        cpus.nominal();
        cpus.write("cpufreq/boost", "1");
        cpus
    }

    pub(crate) fn amd_pstate() -> Self {
        let cpus = Self::new(
            "amd-pstate",
            &[
                ("scaling_governor", "ondemand"),
                (
                    "scaling_available_governors",
                    "ondemand userspace performance",
                ),
            ],
        );
        cpus.nominal();
        cpus.write("cpufreq/boost", "1");
        cpus
    }

    /// On Intel: turbo is listed as 1 MHz more.
    pub(crate) fn acpi_cpufreq() -> Self {
        let cpus = Self::new(
            "acpi-cpufreq",
            &[
                ("scaling_governor", "userspace"),
                ("scaling_setspeed", "1500000"),
                (
                    "scaling_available_governors",
                    "userspace performance schedutil",
                ),
                (
                    "scaling_available_frequencies",
                    "2001000 2000000 1500000 1000000 ",
                ),
                ("cpuinfo_max_freq", "2001000"),
                ("scaling_max_freq", "2001000"),
            ],
        );
        cpus.write("cpufreq/boost", "1");
        cpus
    }

    pub(crate) fn cppc() -> Self {
        let cpus = Self::new(
            "cppc_cpufreq",
            &[
                ("scaling_governor", "schedutil"),
                ("scaling_available_governors", "performance schedutil"),
            ],
        );
        cpus.nominal();
        cpus
    }

    /// `cpufreq-dt` and `scmi`: frequencies of a table, boost ones apart.
    pub(crate) fn listed(driver: &str) -> Self {
        Self::new(
            driver,
            &[
                ("scaling_governor", "schedutil"),
                ("scaling_available_governors", "performance schedutil"),
                ("scaling_available_frequencies", "1000000 1800000 2000000 "),
                ("scaling_boost_frequencies", "3500000 "),
            ],
        )
    }

    /// Every row of the table of drivers.
    pub(crate) fn all() -> BTreeMap<&'static str, Self> {
        [
            ("intel_pstate", Self::intel_pstate()),
            ("intel_cpufreq", Self::intel_cpufreq()),
            ("amd-pstate-epp", Self::amd_pstate_epp()),
            ("amd-pstate", Self::amd_pstate()),
            ("acpi-cpufreq", Self::acpi_cpufreq()),
            ("cppc_cpufreq", Self::cppc()),
            ("cpufreq-dt", Self::listed("cpufreq-dt")),
            ("scmi", Self::listed("scmi")),
        ]
        .into()
    }

    fn nominal(&self) {
        for cpu in 0..2 {
            self.write(&format!("cpu{cpu}/acpi_cppc/nominal_freq"), "2000"); // MHz
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a line.
    pub(crate) fn write(&self, file: &str, content: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // At once, as the kernel does it: a runner that looks meanwhile finds the old or the new
        // content, never none.
        let mut whole = tempfile::NamedTempFile::new_in(self.path()).unwrap();
        writeln!(whole, "{content}").unwrap();
        fs::set_permissions(whole.path(), fs::Permissions::from_mode(0o644)).unwrap();
        whole.persist(path).unwrap();
    }

    /// Every file with its bytes: a host is as it was if this is.
    pub(crate) fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut bytes, mut left) = (BTreeMap::new(), vec![self.path().to_owned()]);
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_symlink() {
                    continue; // leads to a policy, which is read anyway
                }
                if path.is_dir() {
                    left.push(path);
                } else {
                    bytes.insert(path.clone(), fs::read(&path).unwrap());
                }
            }
        }
        bytes
    }
}

/// The behaviour of a mock host's kernel beyond storing values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quirks {
    /// No upper limit above this one is accepted; more is cut down to it.
    pub(crate) clips_at: Option<u64>,
    /// Writes to this kind are refused.
    pub(crate) refuses: Option<Kind>,
    /// A daemon writes this into the file right after every write to its kind.
    pub(crate) overwrites: Option<(Kind, &'static str)>,
}

/// Answers to writes as the kernel does: refuses what contradicts itself, cuts limits without
/// boost, lets a governor allow turbo again and force a preference, and shows every value as a line
/// of its own.
pub(crate) struct Kernel {
    pub(crate) quirks: Quirks,
    /// Preferences to come back when the governor `performance` goes.
    preferences: BTreeMap<u32, Vec<u8>>,
}

impl Kernel {
    pub(crate) fn new(quirks: Quirks) -> Self {
        Self {
            quirks,
            preferences: BTreeMap::new(),
        }
    }

    fn store(tree: &Tree, knob: Knob, text: &str) {
        fs::write(tree.path(knob), format!("{text}\n")).unwrap();
    }

    fn limit(tree: &Tree, policy: u32, kind: Kind) -> u64 {
        tree.value(Knob::of(policy, kind)).unwrap().parse().unwrap()
    }

    fn refuse(knob: Knob, reason: &str) -> anyhow::Result<()> {
        anyhow::bail!("{knob}: {reason}")
    }

    fn governor(&mut self, tree: &Tree, policy: u32, value: &str) {
        let knob = |kind| Knob::of(policy, kind);
        let was = tree.value(knob(Kind::Governor)).unwrap();
        Self::store(tree, knob(Kind::Governor), value);
        let speed = Self::limit(tree, policy, Kind::Min).to_string();
        let speed = if value == "userspace" {
            &speed
        } else {
            "<unsupported>"
        };
        Self::store(tree, knob(Kind::Speed), speed);
        if tree.path(Knob::of_host(Kind::NoTurbo)).exists() {
            Self::store(tree, Knob::of_host(Kind::NoTurbo), "0");
        }
        if !tree.path(knob(Kind::Epp)).exists() || was == value {
            return;
        }
        if value == "performance" {
            self.preferences
                .insert(policy, tree.read(knob(Kind::Epp)).unwrap());
            Self::store(tree, knob(Kind::Epp), "performance");
        } else if was == "performance" {
            // Not what was there before: that is for the restore to put back.
            Self::store(tree, knob(Kind::Epp), "default");
        }
    }

    /// Boost was switched: the upper limits follow, down at once, and up to the hardware's again.
    fn boost(tree: &Tree, is_allowed: bool) {
        for policy in tree.policies() {
            let max = Knob::of(policy.number, Kind::Max);
            if is_allowed {
                let most = tree.number(policy.number, "cpuinfo_max_freq").unwrap();
                Self::store(tree, max, &most.to_string());
            } else if Self::limit(tree, policy.number, Kind::Max) > BASE {
                Self::store(tree, max, &BASE.to_string());
            }
        }
    }

    fn is_boost_off(tree: &Tree, policy: u32) -> bool {
        let is = |knob: Knob, off: &str| tree.value_if_any(knob).is_some_and(|value| value == off);
        is(Knob::of_host(Kind::NoTurbo), "1")
            || is(Knob::of_host(Kind::Boost), "0")
            || is(Knob::of(policy, Kind::PolicyBoost), "0")
    }
}

impl Backend for Kernel {
    fn name(&self) -> &'static str {
        "made up"
    }

    fn can_set(&self, kind: Kind) -> bool {
        Sysfs.can_set(kind)
    }

    fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> anyhow::Result<()> {
        let text = String::from_utf8(value.to_vec()).unwrap().trim().to_owned();
        if self.quirks.refuses == Some(knob.kind) {
            return Self::refuse(knob, "Permission denied");
        }
        let policy = knob.policy.unwrap_or_default();
        match knob.kind {
            Kind::Governor => {
                let offered = tree.text(policy, "scaling_available_governors").unwrap();
                if !offered.split(' ').any(|name| name == text) {
                    return Self::refuse(knob, "Invalid argument");
                }
                self.governor(tree, policy, &text);
            }
            Kind::Min | Kind::Max => {
                let mut khz: u64 = text.parse().unwrap();
                let most = if Self::is_boost_off(tree, policy) {
                    BASE
                } else {
                    u64::MAX
                };
                khz = khz.min(most).min(self.quirks.clips_at.unwrap_or(u64::MAX));
                let is_contradiction = match knob.kind {
                    Kind::Min => khz > Self::limit(tree, policy, Kind::Max),
                    _ => khz < Self::limit(tree, policy, Kind::Min),
                };
                if is_contradiction {
                    return Self::refuse(knob, "Invalid argument");
                }
                Self::store(tree, knob, &khz.to_string());
            }
            Kind::Speed => {
                if tree.value(Knob::of(policy, Kind::Governor)).unwrap() != "userspace" {
                    return Self::refuse(knob, "Invalid argument");
                }
                Self::store(tree, knob, &text);
            }
            Kind::Epp => {
                if tree.value(Knob::of(policy, Kind::Governor)).unwrap() == "performance" {
                    return Self::refuse(knob, "Device or resource busy");
                }
                Self::store(tree, knob, &text);
            }
            Kind::NoTurbo | Kind::Boost | Kind::PolicyBoost => {
                Self::store(tree, knob, &text);
                Self::boost(tree, (text == "0") == (knob.kind == Kind::NoTurbo));
            }
            Kind::HwpDynamicBoost => Self::store(tree, knob, &text),
        }
        if let Some((kind, value)) = self.quirks.overwrites
            && kind == knob.kind
        {
            Self::store(tree, knob, value);
        }
        Ok(())
    }
}
