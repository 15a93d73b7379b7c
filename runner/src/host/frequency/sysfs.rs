//! The kernel's files of the CPU frequency, below `/sys/devices/system/cpu`: their names and
//! contents, and the two ways to write them.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use crate::host::{CPUS, Fact, Host, LONGEST, cpu_list, is_there, read_text, start_of};
use crate::stop::Stop;
use crate::system::whole_file;

/// Bytes of the longest accepted name of a governor or of a preference; the kernel's limit is 16.
const LONGEST_NAME: usize = 32;

/// Where the kernel shows its CPUs.
const SYSTEM: &str = "/sys/devices/system/cpu";

/// The setting that a file decides, in the order of restoring. Boost follows the governor, because
/// setting a governor may allow boost again. Limits follow boost, because the kernel lowers upper
/// limits while boost is forbidden. Requests come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The governor, which chooses the frequency.
    Governor,
    /// `1` forbids boost on all CPUs; the file of `intel_pstate` that replaces [`Kind::Boost`].
    NoTurbo,
    /// `0` forbids boost on all CPUs.
    Boost,
    /// `0` forbids boost on the CPUs of one policy.
    PolicyBoost,
    /// `0` keeps the firmware from raising the lower limit after waiting for a device.
    HwpDynamicBoost,
    /// Energy performance preference, a hint to the firmware.
    Epp,
    /// Upper limit, in kHz.
    Max,
    /// Lower limit, in kHz.
    Min,
    /// Request to the governor `userspace`, in kHz; `<unsupported>` under any other.
    Speed,
}

impl Kind {
    /// All kinds, in their order, with the file's name; a file of the host comes with its folder.
    const FILES: [(Self, &str); 9] = [
        (Self::Governor, "scaling_governor"),
        (Self::NoTurbo, "intel_pstate/no_turbo"),
        (Self::Boost, "cpufreq/boost"),
        (Self::PolicyBoost, "boost"),
        (Self::HwpDynamicBoost, "intel_pstate/hwp_dynamic_boost"),
        (Self::Epp, "energy_performance_preference"),
        (Self::Max, "scaling_max_freq"),
        (Self::Min, "scaling_min_freq"),
        (Self::Speed, "scaling_setspeed"),
    ];

    /// All kinds, in their order.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Self::FILES.into_iter().map(|(kind, _)| kind)
    }

    /// The name of the file.
    pub(crate) fn file(self) -> &'static str {
        Self::FILES[self as usize].1
    }

    /// Whether the host has one such file; otherwise every policy may have one.
    pub(crate) fn is_of_host(self) -> bool {
        matches!(self, Self::Boost | Self::NoTurbo | Self::HwpDynamicBoost)
    }

    /// If `content` is invalid for such a file, returns a description of the valid contents. A
    /// caller checks this before it writes a value back.
    pub(crate) fn misfit(self, content: &str) -> Option<&'static str> {
        let value = content.strip_suffix('\n').unwrap_or(content);
        let is_name = |it: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            !it.is_empty() && it.len() <= LONGEST_NAME && it.chars().all(is_part)
        };
        let is_number = value.parse::<u32>().is_ok() && !value.starts_with('+');
        let (fits, what) = match self {
            Self::Governor => (is_name(value), "the name of a governor"),
            Self::Epp => (is_name(value), "the name of a preference, or a number"),
            Self::NoTurbo | Self::Boost | Self::PolicyBoost | Self::HwpDynamicBoost => {
                (["0", "1"].contains(&value), "0 or 1")
            }
            Self::Max | Self::Min => (is_number, "a number of kHz"),
            Self::Speed => (
                is_number || value == "<unsupported>",
                "a number of kHz, or `<unsupported>`",
            ),
        };
        (!fits).then_some(what)
    }

    /// Whether it is a switch for boost, which the upper limits of a fix already forbid.
    #[must_use]
    pub fn is_boost(self) -> bool {
        self.is_of_host() || self == Self::PolicyBoost
    }
}

/// One file that can be written; in a journal, its path below the tree's root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Knob {
    /// The policy that the file belongs to; `None` for a file of the host.
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

    /// The path of another file of the same policy, below the tree's root.
    pub(crate) fn beside(self, file: &str) -> String {
        format!("cpufreq/policy{}/{file}", self.policy.unwrap_or_default())
    }
}

impl From<Knob> for String {
    fn from(knob: Knob) -> Self {
        knob.to_string()
    }
}

impl TryFrom<String> for Knob {
    type Error = String;

    /// Accepts only the files that a fix changes, so a damaged journal cannot name others.
    fn try_from(path: String) -> Result<Self, String> {
        let of_policy = path.strip_prefix("cpufreq/policy");
        let (policy, file) = match of_policy.and_then(|path| path.split_once('/')) {
            Some((number, file)) => (number.parse().ok(), file),
            None => (None, &*path),
        };
        let knob = Kind::all()
            .find(|kind| kind.file() == file)
            .map(|kind| Self { policy, kind });
        let is_exact =
            |it: &Self| it.to_string() == path && it.kind.is_of_host() == policy.is_none();
        knob.filter(is_exact)
            .ok_or_else(|| format!("`file` is `{path}`, which a fix does not change"))
    }
}

impl std::fmt::Display for Knob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.policy {
            Some(policy) => write!(f, "cpufreq/policy{policy}/{}", self.kind.file()),
            None => write!(f, "{}", self.kind.file()),
        }
    }
}

/// CPUs whose frequency is set together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Number in the folder's name.
    pub number: u32,
    /// Its CPUs that are online, ascending; at least one.
    pub cpus: Vec<usize>,
    /// Name of the frequency driver.
    pub driver: String,
}

impl Policy {
    /// The path of one of its files, below the tree's root.
    pub(crate) fn file(&self, name: &str) -> String {
        format!("cpufreq/policy{}/{name}", self.number)
    }
}

/// The files below one folder: the system's, or a mock one in tests.
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

    /// Whether these are the files of this host's kernel, so that they describe its clock.
    pub(crate) fn is_system(&self) -> bool {
        self.root == Path::new(SYSTEM)
    }

    /// The folder, for messages.
    pub(crate) fn shown(&self) -> std::path::Display<'_> {
        self.root.display()
    }

    /// The file of a knob.
    #[must_use]
    pub fn path(&self, knob: Knob) -> PathBuf {
        self.root.join(knob.to_string())
    }

    /// The policies that have an online CPU, ascending; none on a host without frequency control.
    /// Policies of offline CPUs refuse every write, and have no clock to fix.
    #[must_use]
    pub fn policies(&self) -> Vec<Policy> {
        let entries = fs::read_dir(self.root.join("cpufreq"));
        let names = entries.into_iter().flatten().flatten();
        let mut policies: Vec<Policy> = names
            .filter_map(|entry| {
                let name = entry.file_name();
                let mut policy = Policy {
                    number: name.to_str()?.strip_prefix("policy")?.parse().ok()?,
                    cpus: Vec::new(),
                    driver: "unknown".to_owned(),
                };
                let text = |name| self.fact(&policy.file(name)).ok();
                let cpus_in = |name| cpu_list(&text(name)?.replace(' ', ","));
                let cpus = cpus_in("affected_cpus").or_else(|| cpus_in("related_cpus"));
                let driver = text("scaling_driver");
                // A policy has the number of its first CPU.
                policy.cpus = cpus.unwrap_or_else(|| vec![policy.number as usize]);
                policy.driver = driver.unwrap_or(policy.driver);
                Some(policy).filter(|policy| !policy.cpus.is_empty())
            })
            .collect();
        policies.sort_by_key(|policy| policy.number);
        policies
    }

    /// The policies that have a CPU among `used`, the CPUs that trials may run on. Those of other
    /// CPUs are left alone: other containers may run there.
    #[must_use]
    pub fn policies_of(&self, used: &[usize]) -> Vec<Policy> {
        let mut policies = self.policies();
        policies.retain(|policy| policy.cpus.iter().any(|cpu| used.contains(cpu)));
        policies
    }

    /// The CPUs that trials may run on. A mock folder in tests has no processes, so all of its CPUs
    /// are usable.
    pub(crate) fn used_cpus(&self) -> Vec<usize> {
        let allowed = match self.root.ancestors().nth(4) {
            Some(root) if self.root.ends_with(CPUS) => Host::at(root).allowed_cpus().ok(),
            _ => None,
        };
        let online = || cpu_list(&self.fact("online").ok()?);
        let of_policies = || {
            let policies = self.policies().into_iter();
            policies.flat_map(|policy| policy.cpus).collect()
        };
        allowed.or_else(online).unwrap_or_else(of_policies)
    }

    /// Every file of `policies` and of the host that a fix may write and that exists.
    pub(crate) fn knobs(&self, policies: &[Policy]) -> Vec<Knob> {
        let of_host = Kind::all().filter(|kind| kind.is_of_host());
        let of_policies = policies.iter().flat_map(|policy| {
            let kinds = Kind::all().filter(|kind| !kind.is_of_host());
            kinds.map(|kind| Knob::of(policy.number, kind))
        });
        let mut knobs: Vec<Knob> = of_host.map(Knob::of_host).chain(of_policies).collect();
        knobs.retain(|knob| self.path(*knob).exists());
        knobs
    }

    /// Whether a knob's file lies in this folder, if it exists: links may lead elsewhere.
    pub(crate) fn holds(&self, knob: Knob) -> bool {
        let Ok(file) = self.path(knob).canonicalize() else {
            return true;
        };
        let root = self.root.canonicalize();
        root.is_ok_and(|root| file.starts_with(root))
    }

    /// Reads a knob's file, byte for byte.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] if it cannot be read.
    pub fn read(&self, knob: Knob) -> Result<Vec<u8>> {
        let path = self.path(knob);
        let mut content = Vec::new();
        let file = whole_file::open(&path, OpenOptions::new().read(true));
        let read = file.and_then(|file| file.take(LONGEST).read_to_end(&mut content));
        read.map(|_| content).map_err(|error| {
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

    /// Reads a file below the root.
    pub(crate) fn fact(&self, path: &str) -> Fact<String> {
        let path = self.root.join(path);
        read_text(&path).map_err(|reason| format!("{} {reason}", path.display()))
    }

    /// Reads a file that not every host has; `None` if this host does not have it.
    pub(crate) fn fact_if_any(&self, path: &str) -> Fact<Option<String>> {
        if is_there(&self.root.join(path)) == Ok(false) {
            return Ok(None);
        }
        self.fact(path).map(Some)
    }

    /// Reads a number from such a file.
    pub(crate) fn number_if_any(&self, path: &str) -> Fact<Option<u64>> {
        let Some(text) = self.fact_if_any(path)? else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| {
            let (folder, text) = (self.shown(), start_of(&text));
            format!("{folder}/{path} says `{text}`, which is not a number")
        })
    }

    /// CPUs among `used` that no policy has: no file shows or sets their frequency.
    pub(crate) fn without_policy(&self, used: &[usize]) -> Vec<usize> {
        let policies = self.policies();
        let is_in = |cpu: &usize| policies.iter().any(|policy| policy.cpus.contains(cpu));
        used.iter().copied().filter(|cpu| !is_in(cpu)).collect()
    }
}

/// A value without the end of its line.
fn trimmed(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Writes values.
pub trait Backend {
    /// As `--frequency-backend` calls it.
    fn name(&self) -> &'static str;

    /// Whether it can write this kind of file.
    fn can_set(&self, _kind: Kind) -> bool {
        true
    }

    /// Writes `value`, byte for byte if the backend allows it.
    ///
    /// # Errors
    /// If it is refused. An accepted write proves little, so callers read the setting back.
    fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> Result<()>;
}

/// Which backend is to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum BackendChoice {
    /// The first that is permitted: sysfs, cpufreq-set
    #[default]
    Auto,
    /// Write the kernel's files
    Sysfs,
    /// The tool of the package cpufrequtils, through `sudo -n` unless root
    CpufreqSet,
}

impl BackendChoice {
    /// The backend, if it is permitted on this host.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with the missing permission.
    pub fn open(self, tree: &Tree, policies: &[Policy]) -> Result<Box<dyn Backend>> {
        match self {
            Self::Sysfs => Sysfs::open(tree, policies),
            Self::CpufreqSet => CpufreqSet::open(),
            // The tool knows only the system's tree.
            Self::Auto if !tree.is_system() => Sysfs::open(tree, policies),
            Self::Auto => Sysfs::open(tree, policies).or_else(|unwritable| {
                CpufreqSet::open().map_err(|error| {
                    let both =
                        format!("no permission to set the frequency:  {unwritable}; {error}");
                    Stop::HostNotFit(both).into()
                })
            }),
        }
    }
}

/// Writes the kernel's files.
#[derive(Clone, Copy, Debug)]
pub struct Sysfs;

impl Sysfs {
    /// Asks the kernel whether the files could be opened for writing, without opening one.
    fn open(tree: &Tree, policies: &[Policy]) -> Result<Box<dyn Backend>> {
        for knob in tree.knobs(policies) {
            let path = tree.path(knob);
            if let Err(error) = access(&path, Access::WRITE_OK) {
                bail!(Stop::HostNotFit(format!(
                    "{}: cannot be written: {error}; run as root, or permit `cpufreq-set` in \
                     /etc/sudoers without a password",
                    path.display()
                )));
            }
        }
        Ok(Box::new(Self))
    }
}

impl Backend for Sysfs {
    fn name(&self) -> &'static str {
        "sysfs"
    }

    fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> Result<()> {
        let path = tree.path(knob);
        let describe = || format!("{}: `{}` is refused", path.display(), trimmed(value));
        // The file is never created: if it is gone, its CPU is gone.
        let mut options = OpenOptions::new();
        let file = whole_file::open(&path, options.write(true).truncate(true));
        // One call, because the kernel takes each write as a separate value.
        let written = file.and_then(|mut file| file.write(value));
        let written = written.with_context(describe)?;
        if written != value.len() {
            bail!(
                "{}: took {written} of {} bytes",
                path.display(),
                value.len()
            );
        }
        Ok(())
    }
}

/// A tool that sets governor and limits, but not boost; started as root or through sudo.
struct CpufreqSet;

impl CpufreqSet {
    /// The tool, if this user may run it.
    fn open() -> Result<Box<dyn Backend>> {
        if let Err(error) = quiet(Command::new(TOOL).arg("--help")).output() {
            bail!(Stop::HostNotFit(format!(
                "`{TOOL}` cannot be run: {error}; install the package cpufrequtils"
            )));
        }
        if needs_sudo() {
            let listed = quiet(Command::new("sudo").args(["-n", "-l", TOOL])).output();
            if !listed.is_ok_and(|output| output.status.success()) {
                bail!(Stop::HostNotFit(format!(
                    "`sudo -n {TOOL}` is not permitted; permit it in /etc/sudoers without a password"
                )));
            }
        }
        Ok(Box::new(Self))
    }
}

const TOOL: &str = "cpufreq-set";

fn needs_sudo() -> bool {
    !rustix::process::geteuid().is_root()
}

/// Keyboard signals must reach only the runner: a restore must not lose its tools to a second
/// Ctrl-C.
fn quiet(command: &mut Command) -> &mut Command {
    let command = command.stdin(Stdio::null()).process_group(0);
    command.env("LC_ALL", "C")
}

impl Backend for CpufreqSet {
    fn name(&self) -> &'static str {
        TOOL
    }

    fn can_set(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Governor | Kind::Min | Kind::Max | Kind::Speed)
    }

    fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> Result<()> {
        let option = match knob.kind {
            Kind::Governor => "-g",
            Kind::Min => "-d",
            Kind::Max => "-u",
            Kind::Speed => "-f",
            _ => bail!("{}: `{TOOL}` cannot set it", tree.path(knob).display()),
        };
        // The CPUs of a policy share its files, so one stands for all.
        let policies = tree.policies();
        let policy = policies.iter().find(|it| Some(it.number) == knob.policy);
        let Some(policy) = policy else {
            bail!("{}: its CPUs are offline", tree.path(knob).display())
        };
        let (cpu, value) = (policy.cpus[0].to_string(), trimmed(value));
        let words = ["sudo", "-n", TOOL, "-c", &cpu, option, &value];
        let words = if needs_sudo() {
            &words[..]
        } else {
            &words[2..]
        };
        let line = words.join(" ");
        let output = quiet(Command::new(words[0]).args(&words[1..])).output();
        let output = output.with_context(|| format!("`{line}` cannot be started"))?;
        if !output.status.success() {
            let said = [output.stderr, output.stdout].concat();
            let said = String::from_utf8_lossy(&said);
            let said: Vec<&str> = said.split_whitespace().collect();
            bail!("`{line}` failed ({}): {}", output.status, said.join(" "));
        }
        Ok(())
    }
}
