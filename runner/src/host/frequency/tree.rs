//! The kernel's files below `/sys/devices/system/cpu`: which there are, and what is in them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::host::{CPUS, Fact, Host, cpu_list, is_there, read_text, start_of};
use crate::stop::Stop;

/// Where the kernel shows its CPUs.
pub const SYSTEM: &str = "/sys/devices/system/cpu";

/// The setting that a file of the tree decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The governor, which chooses the frequency.
    Governor,
    /// Lower limit, in kHz.
    Min,
    /// Upper limit, in kHz.
    Max,
    /// Request to the governor `userspace`, in kHz; `<unsupported>` under any other.
    Speed,
    /// Energy performance preference, a hint to the firmware.
    Epp,
    /// `0` forbids boost on the CPUs of one policy.
    PolicyBoost,
    /// `0` forbids boost on all CPUs.
    Boost,
    /// `1` forbids boost on all CPUs; the file of `intel_pstate` in the place of [`Kind::Boost`].
    NoTurbo,
    /// `0` keeps the firmware from raising the lower limit after waiting for a device.
    HwpDynamicBoost,
}

impl Kind {
    /// The kinds that every policy may have.
    pub const OF_POLICY: [Self; 6] = [
        Self::Governor,
        Self::PolicyBoost,
        Self::Epp,
        Self::Max,
        Self::Min,
        Self::Speed,
    ];
    /// The kinds that the host may have once.
    pub const OF_HOST: [Self; 3] = [Self::Boost, Self::NoTurbo, Self::HwpDynamicBoost];

    fn file(self) -> &'static str {
        match self {
            Self::Governor => "scaling_governor",
            Self::Min => "scaling_min_freq",
            Self::Max => "scaling_max_freq",
            Self::Speed => "scaling_setspeed",
            Self::Epp => "energy_performance_preference",
            Self::PolicyBoost => "boost",
            Self::Boost => "cpufreq/boost",
            Self::NoTurbo => "intel_pstate/no_turbo",
            Self::HwpDynamicBoost => "intel_pstate/hwp_dynamic_boost",
        }
    }

    /// Whether it is a switch for boost, which the upper limits of a fix forbid already.
    #[must_use]
    pub fn is_boost(self) -> bool {
        matches!(
            self,
            Self::PolicyBoost | Self::Boost | Self::NoTurbo | Self::HwpDynamicBoost
        )
    }
}

/// One file that can be written; in a journal, its path below the tree's root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Knob {
    /// The policy whose file it is; `None` for one of the host.
    pub policy: Option<u32>,
    /// The setting that it decides.
    pub kind: Kind,
}

impl Knob {
    /// The file of a policy.
    #[must_use]
    pub fn of(policy: u32, kind: Kind) -> Self {
        Self {
            policy: Some(policy),
            kind,
        }
    }

    /// A file of the host.
    #[must_use]
    pub fn of_host(kind: Kind) -> Self {
        Self { policy: None, kind }
    }
}

impl From<Knob> for String {
    fn from(knob: Knob) -> Self {
        knob.to_string()
    }
}

impl TryFrom<String> for Knob {
    type Error = String;

    /// Accepts only the files that a fix changes, so a damaged journal cannot lead outside.
    fn try_from(path: String) -> Result<Self, String> {
        let of_policy = || {
            let (policy, file) = path.strip_prefix("cpufreq/policy")?.split_once('/')?;
            let kind = Kind::OF_POLICY
                .into_iter()
                .find(|kind| kind.file() == file)?;
            Some(Self::of(policy.parse().ok()?, kind)).filter(|knob| knob.to_string() == path)
        };
        let of_host = Kind::OF_HOST
            .into_iter()
            .find(|kind| kind.file() == path)
            .map(Self::of_host);
        of_host
            .or_else(of_policy)
            .ok_or_else(|| format!("`file` is `{path}`, which no fix changes"))
    }
}

impl std::fmt::Display for Knob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.policy {
            Some(policy) => write!(f, "cpufreq/policy{policy}/{}", self.kind.file()),
            None => f.write_str(self.kind.file()),
        }
    }
}

/// CPUs whose frequency is set together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Number in the folder's name.
    pub number: u32,
    /// Its CPUs that are online, ascending.
    pub cpus: Vec<usize>,
    /// Name of the frequency driver.
    pub driver: String,
}

/// The files below one folder: [`SYSTEM`], or one made up for a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    pub(super) root: PathBuf,
}

impl Default for Tree {
    fn default() -> Self {
        Self::at(Path::new(SYSTEM))
    }
}

impl Tree {
    /// The files below `root`.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Whether these are the files of this host's kernel, so that they say something about its
    /// clock.
    pub(crate) fn is_system(&self) -> bool {
        self.root == Path::new(SYSTEM)
    }

    /// The file of a knob.
    #[must_use]
    pub fn path(&self, knob: Knob) -> PathBuf {
        self.root.join(knob.to_string())
    }

    /// The policies that have a CPU online, ascending; none on a host without frequency control.
    /// Policies of CPUs that are offline refuse every write, and have no clock to fix.
    #[must_use]
    pub fn policies(&self) -> Vec<Policy> {
        let entries = fs::read_dir(self.root.join("cpufreq"))
            .into_iter()
            .flatten()
            .flatten();
        let mut policies: Vec<Policy> = entries
            .filter_map(|entry| {
                let number = entry
                    .file_name()
                    .to_str()?
                    .strip_prefix("policy")?
                    .parse()
                    .ok()?;
                let cpus_in = |file| cpu_list(&self.text(number, file)?.replace(' ', ","));
                let cpus = ["affected_cpus", "related_cpus"]
                    .into_iter()
                    .find_map(cpus_in);
                let driver = self.text(number, "scaling_driver");
                Some(Policy {
                    number,
                    // A policy has the number of its first CPU.
                    cpus: cpus.unwrap_or_else(|| vec![number as usize]),
                    driver: driver.unwrap_or_else(|| "unknown".to_owned()),
                })
            })
            .filter(|policy| !policy.cpus.is_empty())
            .collect();
        policies.sort_by_key(|policy| policy.number);
        policies
    }

    /// The policies that have a CPU among `used`, the CPUs that trials may run on. Those of other CPUs
    /// are left alone: other containers may run there.
    #[must_use]
    pub fn policies_of(&self, used: &[usize]) -> Vec<Policy> {
        let mut policies = self.policies();
        policies.retain(|policy| policy.cpus.iter().any(|cpu| used.contains(cpu)));
        policies
    }

    /// The CPUs that trials may run on. A folder that stands alone, in tests, has no processes: all
    /// of its CPUs may be used.
    pub(crate) fn used_cpus(&self) -> Vec<usize> {
        let allowed = match self.root.ancestors().nth(4) {
            Some(root) if self.root.ends_with(CPUS) => Host::at(root).allowed_cpus().ok(),
            _ => None,
        };
        let online = || cpu_list(&self.text_at("online")?);
        let of_policies = || {
            let policies = self.policies().into_iter();
            policies.flat_map(|policy| policy.cpus).collect()
        };
        allowed.or_else(online).unwrap_or_else(of_policies)
    }

    /// Every file of `policies` and of the host that a fix may write and that exists.
    pub(crate) fn knobs(&self, policies: &[Policy]) -> Vec<Knob> {
        let of_host = Kind::OF_HOST.into_iter().map(Knob::of_host);
        let of_policies = policies
            .iter()
            .flat_map(|policy| Kind::OF_POLICY.map(|kind| Knob::of(policy.number, kind)));
        of_host
            .chain(of_policies)
            .filter(|knob| self.path(*knob).exists())
            .collect()
    }

    /// Reads a knob's file, byte for byte.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] if it cannot be read.
    pub fn read(&self, knob: Knob) -> Result<Vec<u8>> {
        let path = self.path(knob);
        fs::read(&path).map_err(|error| {
            Stop::HostNotFit(format!("{}: cannot be read: {error}", path.display())).into()
        })
    }

    /// Reads a knob's file, without the end of the line.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] if it cannot be read.
    pub fn value(&self, knob: Knob) -> Result<String> {
        self.read(knob).map(|bytes| trimmed(&bytes))
    }

    /// The same for a knob that not every host has.
    #[must_use]
    pub fn value_if_any(&self, knob: Knob) -> Option<String> {
        self.text_at(&knob.to_string())
    }

    /// Reads a file of a policy that the runner only reads; `None` if there is none.
    #[must_use]
    pub fn text(&self, policy: u32, file: &str) -> Option<String> {
        self.text_at(&format!("cpufreq/policy{policy}/{file}"))
    }

    /// A number that such a file says.
    #[must_use]
    pub fn number(&self, policy: u32, file: &str) -> Option<u64> {
        self.text(policy, file)?.parse().ok()
    }

    /// The folder, for messages.
    pub(crate) fn shown(&self) -> std::path::Display<'_> {
        self.root.display()
    }

    /// Reads a file below the root.
    pub(crate) fn fact(&self, path: &str) -> Fact<String> {
        let path = self.root.join(path);
        read_text(&path).map_err(|reason| format!("{} {reason}", path.display()))
    }

    /// A number that a file below the root says; `None` if not every host has the file and this one
    /// does not.
    pub(crate) fn number_if_any(&self, path: &str) -> Fact<Option<u64>> {
        if is_there(&self.root.join(path)) == Ok(false) {
            return Ok(None);
        }
        let text = self.fact(path)?;
        text.parse().map(Some).map_err(|_| {
            format!(
                "{}/{path} says `{}`, which is no number",
                self.shown(),
                start_of(&text)
            )
        })
    }

    /// CPUs among `used` that no policy has: nothing says or sets their frequency.
    pub(crate) fn without_policy(&self, used: &[usize]) -> Vec<usize> {
        let policies = self.policies();
        let is_in = |cpu: &usize| policies.iter().any(|policy| policy.cpus.contains(cpu));
        used.iter().copied().filter(|cpu| !is_in(cpu)).collect()
    }

    /// Reads the number in a file of a CPU.
    pub(crate) fn number_of_cpu(&self, cpu: usize, file: &str) -> Option<u64> {
        self.text_at(&format!("cpu{cpu}/{file}"))?.parse().ok()
    }

    fn text_at(&self, path: &str) -> Option<String> {
        read_text(&self.root.join(path)).ok()
    }
}

/// A value without the end of its line.
pub(crate) fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
