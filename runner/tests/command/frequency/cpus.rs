//! Mock folders that replace /sys/devices/system/cpu, and a mock kernel that responds to writes
//! there.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use runner::host::frequency::sysfs::{Backend, Kind, Knob, Tree};
use tempfile::TempDir;

/// Files of a mock host, with their lines. A `*` means the number of each policy.
pub(crate) type Files = [(&'static str, &'static str)];

/// The highest frequency of all mock hosts without boost, in kHz.
pub(crate) const BASE: u64 = 2_000_000;

/// The files that every mock host has, unless its own say otherwise: two policies of one CPU each.
const EVERY: &Files = &[
    ("online", "0-1"),
    ("present", "0-1"),
    ("cpufreq/policy*/affected_cpus", "*"),
    ("cpufreq/policy*/cpuinfo_max_freq", "3500000"),
    ("cpufreq/policy*/cpuinfo_min_freq", "1000000"),
    ("cpufreq/policy*/related_cpus", "*"),
    (
        "cpufreq/policy*/scaling_available_governors",
        "performance powersave schedutil userspace",
    ),
    ("cpufreq/policy*/scaling_cur_freq", "1000000"),
    ("cpufreq/policy*/scaling_driver", "mock"),
    ("cpufreq/policy*/scaling_governor", "schedutil"),
    ("cpufreq/policy*/scaling_max_freq", "3500000"),
    ("cpufreq/policy*/scaling_min_freq", "1000000"),
    ("cpufreq/policy*/scaling_setspeed", "<unsupported>"),
    ("cpufreq/policy*/cpuinfo_transition_latency", "10000"),
];

/// The files of `intel_pstate`; the host with the most files.
pub(crate) const OF_BASE: &Files = &[
    ("cpufreq/policy*/base_frequency", "2000000"),
    (
        "cpufreq/policy*/energy_performance_preference",
        "balance_performance",
    ),
    ("cpufreq/policy*/scaling_driver", "intel_pstate"),
    ("cpufreq/policy*/scaling_governor", "powersave"),
    ("intel_pstate/no_turbo", "0"),
    ("intel_pstate/hwp_dynamic_boost", "1"),
    ("intel_pstate/status", "active"),
];

/// The files of `amd-pstate-epp`.
pub(crate) const OF_NOMINAL: &Files = &[
    ("cpu*/acpi_cppc/nominal_freq", "2000"), // MHz
    ("cpufreq/boost", "1"),
    ("cpufreq/policy*/boost", "1"),
    (
        "cpufreq/policy*/energy_performance_preference",
        "balance_performance",
    ),
    ("cpufreq/policy*/scaling_driver", "amd-pstate-epp"),
    ("cpufreq/policy*/scaling_governor", "powersave"),
];

/// The files of `acpi-cpufreq` on Intel, which lists turbo as 1 MHz more; with a user's request.
pub(crate) const OF_LIST: &Files = &[
    ("cpufreq/boost", "1"),
    ("cpufreq/policy*/cpuinfo_max_freq", "2001000"),
    (
        "cpufreq/policy*/scaling_available_frequencies",
        "2001000 2000000 1500000 1000000 ",
    ),
    ("cpufreq/policy*/scaling_driver", "acpi-cpufreq"),
    ("cpufreq/policy*/scaling_governor", "userspace"),
    ("cpufreq/policy*/scaling_max_freq", "2001000"),
    ("cpufreq/policy*/scaling_setspeed", "1500000"),
];

/// The files of `cpufreq-dt` and `scmi`: frequencies of a table, boost frequencies in a separate
/// file.
pub(crate) const OF_TABLE: &Files = &[
    (
        "cpufreq/policy*/scaling_available_frequencies",
        "1000000 1800000 2000000 ",
    ),
    ("cpufreq/policy*/scaling_boost_frequencies", "3500000 "),
];

/// One host for each file that may name the highest frequency without boost, with the existing
/// switches for boost.
pub(crate) const HOSTS: [(&str, &Files); 4] = [
    ("base", OF_BASE),
    ("nominal", OF_NOMINAL),
    ("list", OF_LIST),
    ("table", OF_TABLE),
];

/// A mock host.
pub(crate) struct Cpus {
    folder: TempDir,
}

impl Cpus {
    pub(crate) fn of(files: &Files) -> Self {
        let cpus = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        cpus.change(EVERY);
        cpus.change(files);
        for policy in 0..2 {
            let cpu = cpus.path().join(format!("cpu{policy}"));
            fs::create_dir_all(&cpu).unwrap();
            symlink(format!("../cpufreq/policy{policy}"), cpu.join("cpufreq")).unwrap();
        }
        cpus
    }

    /// Writes further files.
    pub(crate) fn change(&self, files: &[(&str, &str)]) {
        for (file, content) in files {
            for policy in ["0", "1"] {
                self.write(&file.replace('*', policy), &content.replace('*', policy));
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn tree(&self) -> Tree {
        Tree::at(self.path())
    }

    /// The line in a file.
    pub(crate) fn read(&self, file: &str) -> String {
        let text = fs::read_to_string(self.path().join(file)).unwrap();
        text.trim().to_owned()
    }

    /// Writes a line.
    pub(crate) fn write(&self, file: &str, content: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // At once, as the kernel does it: a runner that reads meanwhile finds the old or the new
        // content, but never an empty file.
        let mut whole = tempfile::NamedTempFile::new_in(self.path()).unwrap();
        writeln!(whole, "{content}").unwrap();
        fs::set_permissions(whole.path(), fs::Permissions::from_mode(0o644)).unwrap();
        whole.persist(path).unwrap();
    }

    /// Every file with its bytes: equal bytes mean an unchanged host.
    pub(crate) fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut bytes, mut left) = (BTreeMap::new(), vec![self.path().to_owned()]);
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_symlink() {
                    continue; // a link to a policy, which is read anyway
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
#[derive(Clone, Copy, Debug)]
pub(crate) enum Quirk {
    /// The kernel lowers any upper limit above this one to it.
    ClipsAt(u64),
    /// Writes to this kind are refused.
    Refuses(Kind),
    /// A daemon writes this into the file right after every write to its kind.
    Overwrites(Kind, &'static str),
}

/// Responds to writes as the kernel does. It refuses contradictory values, and cuts limits without
/// boost. A governor may allow turbo again and force a preference. Every value is a line of its
/// own.
#[derive(Clone, Default)]
pub(crate) struct Kernel {
    pub(crate) quirk: Option<Quirk>,
    /// No write comes before this file.
    pub(crate) journal: Option<PathBuf>,
    /// As with a tool, the switches for boost and the preference cannot be written.
    pub(crate) sets_limits_only: bool,
}

fn store(tree: &Tree, knob: Knob, text: &str) {
    fs::write(tree.path(knob), format!("{text}\n")).unwrap();
}

fn limit(tree: &Tree, policy: u32, kind: Kind) -> u64 {
    tree.value(Knob::of(policy, kind)).unwrap().parse().unwrap()
}

/// A governor was set.
fn governor(tree: &Tree, policy: u32, value: &str) {
    let knob = |kind| Knob::of(policy, kind);
    let was = tree.value(knob(Kind::Governor)).unwrap();
    store(tree, knob(Kind::Governor), value);
    let speed = limit(tree, policy, Kind::Min).to_string();
    let is_asked = value == "userspace";
    let speed = if is_asked { &speed } else { "<unsupported>" };
    store(tree, knob(Kind::Speed), speed);
    if tree.path(Knob::of_host(Kind::NoTurbo)).exists() {
        store(tree, Knob::of_host(Kind::NoTurbo), "0");
    }
    if tree.path(knob(Kind::Epp)).exists() && was != value {
        if value == "performance" {
            store(tree, knob(Kind::Epp), "performance");
        } else if was == "performance" {
            // Not the old value: the restore must write that.
            store(tree, knob(Kind::Epp), "default");
        }
    }
}

/// Boost was switched: the upper limits follow at once, down, or up to the hardware's limit again.
fn boost(tree: &Tree, is_allowed: bool) {
    for policy in tree.policies() {
        let max = Knob::of(policy.number, Kind::Max);
        if is_allowed {
            let most = tree.path(max).with_file_name("cpuinfo_max_freq");
            fs::copy(most, tree.path(max)).unwrap();
        } else if limit(tree, policy.number, Kind::Max) > BASE {
            store(tree, max, &BASE.to_string());
        }
    }
}

fn is_boost_off(tree: &Tree, policy: u32) -> bool {
    let is = |knob: Knob, off: &str| tree.value(knob).is_ok_and(|value| value == off);
    is(Knob::of_host(Kind::NoTurbo), "1")
        || is(Knob::of_host(Kind::Boost), "0")
        || is(Knob::of(policy, Kind::PolicyBoost), "0")
}

impl Backend for Kernel {
    fn name(&self) -> &'static str {
        "mock"
    }

    fn can_set(&self, kind: Kind) -> bool {
        !self.sets_limits_only || !(kind.is_boost() || kind == Kind::Epp)
    }

    fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> anyhow::Result<()> {
        assert!(self.can_set(knob.kind), "{knob}");
        assert!(self.journal.as_ref().is_none_or(|it| it.exists()), "{knob}");
        let text = String::from_utf8(value.to_vec()).unwrap().trim().to_owned();
        let policy = knob.policy.unwrap_or_default();
        let is_under = |name: &str| tree.value(Knob::of(policy, Kind::Governor)).unwrap() == name;
        let mut refusal = None;
        match knob.kind {
            kind if matches!(self.quirk, Some(Quirk::Refuses(it)) if it == kind) => {
                refusal = Some("Permission denied");
            }
            Kind::Governor => {
                let offered = tree
                    .path(knob)
                    .with_file_name("scaling_available_governors");
                let offered = fs::read_to_string(offered).unwrap();
                if offered.split_whitespace().any(|name| name == text) {
                    governor(tree, policy, &text);
                } else {
                    refusal = Some("Invalid argument");
                }
            }
            Kind::Min | Kind::Max => {
                let mut khz: u64 = text.parse().unwrap();
                if is_boost_off(tree, policy) {
                    khz = khz.min(BASE);
                }
                if let Some(Quirk::ClipsAt(most)) = self.quirk {
                    khz = khz.min(most);
                }
                let is_contradiction = match knob.kind {
                    Kind::Min => khz > limit(tree, policy, Kind::Max),
                    _ => khz < limit(tree, policy, Kind::Min),
                };
                if is_contradiction {
                    refusal = Some("Invalid argument");
                } else {
                    store(tree, knob, &khz.to_string());
                }
            }
            Kind::Speed if !is_under("userspace") => refusal = Some("Invalid argument"),
            Kind::Epp if is_under("performance") => refusal = Some("Device or resource busy"),
            Kind::Speed | Kind::Epp | Kind::HwpDynamicBoost => store(tree, knob, &text),
            Kind::NoTurbo | Kind::Boost | Kind::PolicyBoost => {
                store(tree, knob, &text);
                boost(tree, (text == "0") == (knob.kind == Kind::NoTurbo));
            }
        }
        if let Some(refusal) = refusal {
            anyhow::bail!("{knob}: {refusal}");
        }
        match self.quirk {
            Some(Quirk::Overwrites(kind, value)) if kind == knob.kind => store(tree, knob, value),
            _ => {}
        }
        Ok(())
    }
}
