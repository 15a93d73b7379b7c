//! Mock hosts with the kernel's files of CPUs, and a mock kernel that responds to writes there.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use runner::host::Host;
use runner::host::frequency::sysfs::{Backend, EPP, GOVERNOR, Knob, MAX, MIN, NO_TURBO, SPEED};
use tempfile::TempDir;

/// Files of a mock host, with their lines. A `*` means the number of each policy.
pub(crate) type Files = [(&'static str, &'static str)];

/// The highest frequency without boost of all mock hosts, in kHz.
pub(crate) const BASE: u64 = 2_000_000;

/// The files of every mock host: two policies of one CPU each. A kind of host replaces some of
/// these files and adds others.
const EVERY: &Files = &[
    ("online", "0-1"),
    ("cpufreq/policy*/affected_cpus", "*"),
    ("cpufreq/policy*/cpuinfo_max_freq", "3500000"),
    ("cpufreq/policy*/cpuinfo_min_freq", "1000000"),
    (
        "cpufreq/policy*/scaling_available_governors",
        "performance powersave schedutil userspace",
    ),
    ("cpufreq/policy*/scaling_driver", "mock"),
    ("cpufreq/policy*/scaling_governor", "schedutil"),
    ("cpufreq/policy*/scaling_max_freq", "3500000"),
    ("cpufreq/policy*/scaling_min_freq", "1000000"),
    ("cpufreq/policy*/scaling_setspeed", "<unsupported>"),
];

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
];

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

/// The files of `acpi-cpufreq` on Intel, which lists turbo as 1 MHz more than the highest frequency
/// without turbo. The files include a user's request for a frequency.
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

/// The files of `cpufreq-dt` and `scmi`, which list frequencies in one file and boost frequencies
/// in another.
pub(crate) const OF_TABLE: &Files = &[
    (
        "cpufreq/policy*/scaling_available_frequencies",
        "1000000 1800000 2000000 ",
    ),
    ("cpufreq/policy*/scaling_boost_frequencies", "3500000 "),
];

/// Mock hosts for each file that may name the highest frequency without boost, with the switches
/// for boost that exist on such hosts.
pub(crate) const HOSTS: [(&str, &Files); 4] = [
    ("base", OF_BASE),
    ("nominal", OF_NOMINAL),
    ("list", OF_LIST),
    ("table", OF_TABLE),
];

pub(crate) struct Cpus {
    folder: TempDir,
}

impl Cpus {
    pub(crate) fn of(files: &Files) -> Self {
        let cpus = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(cpus.path()).unwrap();
        cpus.change(EVERY);
        cpus.change(files);
        for policy in 0..2 {
            let cpu = cpus.path().join(format!("cpu{policy}"));
            fs::create_dir_all(&cpu).unwrap();
            symlink(format!("../cpufreq/policy{policy}"), cpu.join("cpufreq")).unwrap();
        }
        cpus
    }

    pub(crate) fn change(&self, files: &[(&str, &str)]) {
        for (file, content) in files {
            for policy in ["0", "1"] {
                self.write(&file.replace('*', policy), &content.replace('*', policy));
            }
        }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.root().join("sys/devices/system/cpu")
    }

    pub(crate) fn host(&self) -> Host {
        Host::at(self.root())
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.root().join("journal.json")
    }

    pub(crate) fn allow(&self, cpus: &str) {
        self.write(
            "../../../../proc/self/status",
            &format!("Cpus_allowed_list:\t{cpus}"),
        );
    }

    pub(crate) fn read(&self, file: &str) -> String {
        let text = fs::read_to_string(self.path().join(file)).unwrap();
        text.trim().to_owned()
    }

    pub(crate) fn write(&self, file: &str, content: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // The content is replaced atomically, as in the kernel. A runner that reads the file
        // meanwhile finds the old or the new content, but never an empty file.
        let mut whole = tempfile::NamedTempFile::new_in(self.root()).unwrap();
        writeln!(whole, "{content}").unwrap();
        fs::set_permissions(whole.path(), fs::Permissions::from_mode(0o644)).unwrap();
        whole.persist(path).unwrap();
    }

    pub(crate) fn bytes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut bytes, mut left) = (BTreeMap::new(), vec![self.path()]);
        while let Some(folder) = left.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_symlink() {
                    continue; // a link to a policy, whose folder is read anyway
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

#[derive(Clone, Copy, Debug)]
pub(crate) enum Quirk {
    ClipsAt(u64),
    Refuses(&'static str),
    /// A daemon writes this value right after every write to a file of this name.
    Overwrites(&'static str, &'static str),
}

/// A backend that responds to writes as the kernel does: it refuses contradictory limits, and
/// lowers limits while boost is forbidden. A write of a governor allows turbo again, and may change
/// the energy preference.
#[derive(Clone, Default)]
pub(crate) struct Kernel {
    pub(crate) quirk: Option<Quirk>,
    /// The journal, which must exist before the first write.
    pub(crate) journal: Option<PathBuf>,
    /// Whether the switches for boost and the energy preference cannot be written, as with
    /// `cpufreq-set`.
    pub(crate) sets_limits_only: bool,
}

pub(crate) fn knob(policy: u32, name: &'static str) -> Knob {
    Knob {
        policy: Some(policy),
        name,
    }
}

fn store(host: &Host, knob: Knob, text: &str) {
    fs::write(host.knob(knob), format!("{text}\n")).unwrap();
}

fn value(host: &Host, knob: Knob) -> String {
    host.setting(knob).unwrap().trim().to_owned()
}

fn limit(host: &Host, policy: u32, name: &'static str) -> u64 {
    value(host, knob(policy, name)).parse().unwrap()
}

fn set_governor(host: &Host, policy: u32, governor: &str) {
    let knob = |name| knob(policy, name);
    let was = value(host, knob(GOVERNOR));
    store(host, knob(GOVERNOR), governor);
    let speed = limit(host, policy, MIN).to_string();
    let is_asked = governor == "userspace";
    let speed = if is_asked { &speed } else { "<unsupported>" };
    store(host, knob(SPEED), speed);
    let no_turbo = Knob {
        policy: None,
        name: NO_TURBO,
    };
    if host.knob(no_turbo).exists() {
        store(host, no_turbo, "0");
    }
    if host.knob(knob(EPP)).exists() && was != governor {
        if governor == "performance" {
            store(host, knob(EPP), "performance");
        } else if was == "performance" {
            // The mock kernel stores another value than the old one, so that the restore must write
            // the old value.
            store(host, knob(EPP), "default");
        }
    }
}

/// Changes the upper limits as the kernel does when boost is switched: down, or up to the
/// hardware's limit again.
fn switch_boost(host: &Host, is_allowed: bool) {
    for policy in host.policies() {
        let max = knob(policy.number, MAX);
        if is_allowed {
            let most = host.knob(max).with_file_name("cpuinfo_max_freq");
            fs::copy(most, host.knob(max)).unwrap();
        } else if limit(host, policy.number, MAX) > BASE {
            store(host, max, &BASE.to_string());
        }
    }
}

fn is_boost_off(host: &Host, policy: u32) -> bool {
    let switches = [NO_TURBO, "cpufreq/boost"].map(|name| Knob { policy: None, name });
    let mut switches = switches.into_iter().chain([knob(policy, "boost")]);
    switches.any(|knob| {
        let off = if knob.name == NO_TURBO { "1" } else { "0" };
        host.setting(knob).is_ok_and(|value| value.trim() == off)
    })
}

impl Backend for Kernel {
    fn name(&self) -> &'static str {
        "mock"
    }

    fn can_set(&self, knob: Knob) -> bool {
        !self.sets_limits_only || knob.name.starts_with("scaling_")
    }

    fn set(&mut self, host: &Host, knob: Knob, text: &str) -> anyhow::Result<()> {
        assert!(self.can_set(knob), "{knob}");
        assert!(self.journal.as_ref().is_none_or(|it| it.exists()), "{knob}");
        let text = text.trim();
        let policy = knob.policy.unwrap_or_default();
        let of_policy = |name| value(host, super::cpus::knob(policy, name));
        let mut khz: u64 = text.parse().unwrap_or(0);
        if is_boost_off(host, policy) {
            khz = khz.min(BASE);
        }
        if let Some(Quirk::ClipsAt(most)) = self.quirk {
            khz = khz.min(most);
        }
        let is_refused = match knob.name {
            name if matches!(self.quirk, Some(Quirk::Refuses(it)) if it == name) => true,
            GOVERNOR => {
                let offered = "scaling_available_governors";
                let offered = fs::read_to_string(host.knob(knob).with_file_name(offered)).unwrap();
                offered.split_whitespace().all(|name| name != text)
            }
            MIN => khz > limit(host, policy, MAX),
            MAX => khz < limit(host, policy, MIN),
            SPEED => of_policy(GOVERNOR) != "userspace",
            EPP => of_policy(GOVERNOR) == "performance",
            _ => false,
        };
        if is_refused {
            anyhow::bail!("{knob}: Permission denied");
        }
        match knob.name {
            GOVERNOR => set_governor(host, policy, text),
            MIN | MAX => store(host, knob, &khz.to_string()),
            name => {
                store(host, knob, text);
                if name == NO_TURBO || name.ends_with("boost") && !name.contains("hwp") {
                    switch_boost(host, (text == "0") == (name == NO_TURBO));
                }
            }
        }
        match self.quirk {
            Some(Quirk::Overwrites(name, value)) if name == knob.name => store(host, knob, value),
            _ => {}
        }
        Ok(())
    }
}
