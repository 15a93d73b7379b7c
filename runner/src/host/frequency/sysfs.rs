//! The kernel's files of the CPU frequency, below `/sys/devices/system/cpu`: their names and
//! contents, and the two ways to write them.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use crate::host::{CPUS, Fact, Host, cpu_list, is_there, read_text, start_of};
use crate::stop::Stop;
use crate::system::whole_file;

/// The governor of a policy, which chooses the frequency.
pub const GOVERNOR: &str = "scaling_governor";
/// Upper limit of a policy, in kHz.
pub const MAX: &str = "scaling_max_freq";
/// Lower limit of a policy, in kHz.
pub const MIN: &str = "scaling_min_freq";
/// Request to the governor `userspace`, in kHz; `<unsupported>` under any other governor.
pub const SPEED: &str = "scaling_setspeed";
/// Energy performance preference of a policy, a hint to the firmware.
pub const EPP: &str = "energy_performance_preference";
/// `1` forbids boost on all CPUs, on hosts with the driver `intel_pstate`.
pub const NO_TURBO: &str = "intel_pstate/no_turbo";

/// The files of the host that a fix may change. All are switches.
const OF_HOST: [&str; 3] = [NO_TURBO, "cpufreq/boost", "intel_pstate/hwp_dynamic_boost"];
/// The files of each policy that a fix may change.
const OF_POLICY: [&str; 6] = [GOVERNOR, "boost", EPP, MAX, MIN, SPEED];

/// Where the kernel shows its CPUs.
const SYSTEM: &str = "/sys/devices/system/cpu";

/// One file that a fix may change; in a journal, its path below the tree's root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Knob {
    /// The policy that the file belongs to; `None` for a file of the host.
    pub policy: Option<u32>,
    /// The file's name; a file of the host comes with its folder.
    pub name: FileName,
}

/// One of the names above. A type of its own, since serde would take a plain `&'static str` for text
/// that is borrowed from the journal.
pub type FileName = &'static str;

impl Knob {
    /// If `content` is invalid for this file, returns a description of the valid contents.
    pub(crate) fn misfit(self, content: &str) -> Option<&'static str> {
        let value = content.strip_suffix('\n').unwrap_or(content);
        let is_part = |it: char| it.is_ascii_alphanumeric() || "_-".contains(it);
        // The kernel's limit for names is 16 bytes.
        let is_name = (1..=32).contains(&value.len()) && value.chars().all(is_part);
        let is_number = value.parse::<u32>().is_ok() && !value.starts_with('+');
        let (fits, valid) = match self.name {
            GOVERNOR | EPP => (is_name, "a name"),
            MAX | MIN => (is_number, "a number of kHz"),
            SPEED => (
                is_number || value == "<unsupported>",
                "a number of kHz, or `<unsupported>`",
            ),
            _ => (["0", "1"].contains(&value), "0 or 1"),
        };
        (!fits).then_some(valid)
    }

    /// Whether the file is a switch for boost.
    #[must_use]
    pub fn is_boost(self) -> bool {
        self.policy.is_none() || self.name == "boost"
    }
}

impl From<Knob> for String {
    fn from(knob: Knob) -> Self {
        knob.to_string()
    }
}

impl TryFrom<String> for Knob {
    type Error = String;

    /// Accepts only the files that a fix may change, so a damaged journal cannot name others.
    fn try_from(path: String) -> Result<Self, String> {
        let of_policy = path.strip_prefix("cpufreq/policy");
        let (policy, name, names) = match of_policy.and_then(|path| path.split_once('/')) {
            Some((number, name)) => (number.parse().ok(), name, &OF_POLICY[..]),
            None => (None, &*path, &OF_HOST[..]),
        };
        let known = names.iter().find(|known| **known == name);
        known
            .map(|name| Self { policy, name })
            .filter(|knob| knob.to_string() == path)
            .ok_or_else(|| format!("`file` is `{path}`, which a fix does not change"))
    }
}

impl std::fmt::Display for Knob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.policy {
            Some(policy) => write!(f, "cpufreq/policy{policy}/{}", self.name),
            None => f.write_str(self.name),
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

    /// The path of a file that a fix may change.
    #[must_use]
    pub fn path(&self, knob: Knob) -> PathBuf {
        self.root.join(knob.to_string())
    }

    /// The policies that have an online CPU, ascending; none on a host without frequency control.
    #[must_use]
    pub fn policies(&self) -> Vec<Policy> {
        let entries = fs::read_dir(self.root.join("cpufreq"));
        let names = entries.into_iter().flatten().flatten();
        let policy = |name: std::ffi::OsString| {
            let number = name.to_str()?.strip_prefix("policy")?.parse().ok()?;
            let mut policy = Policy {
                number,
                cpus: Vec::new(),
            };
            let cpus_in = |file| cpu_list(&self.fact(&policy.file(file)).ok()?.replace(' ', ","));
            let cpus = cpus_in("affected_cpus").or_else(|| cpus_in("related_cpus"));
            // A policy has the number of its first CPU.
            policy.cpus = cpus.unwrap_or_else(|| vec![number as usize]);
            Some(policy).filter(|policy| !policy.cpus.is_empty())
        };
        let mut policies: Vec<Policy> = names
            .filter_map(|entry| policy(entry.file_name()))
            .collect();
        policies.sort_by_key(|policy| policy.number);
        policies
    }

    /// The policies that have a CPU among `used`, the CPUs that trials may run on. The runner leaves
    /// the others alone, because other containers may run there.
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

    /// Every file of `policies` and of the host that a fix may change and that exists.
    pub(crate) fn knobs(&self, policies: &[Policy]) -> Vec<Knob> {
        let of_policies = policies.iter().flat_map(|policy| {
            OF_POLICY.map(|name| Knob {
                policy: Some(policy.number),
                name,
            })
        });
        let of_host = OF_HOST.map(|name| Knob { policy: None, name });
        let mut knobs: Vec<Knob> = of_policies.chain(of_host).collect();
        knobs.retain(|knob| self.path(*knob).exists());
        knobs
    }

    /// Whether the file lies in this folder, if it exists: links may lead elsewhere.
    pub(crate) fn holds(&self, knob: Knob) -> bool {
        let Ok(file) = self.path(knob).canonicalize() else {
            return true;
        };
        let root = self.root.canonicalize();
        root.is_ok_and(|root| file.starts_with(root))
    }

    /// Reads a file, with the end of its line.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] if it cannot be read.
    pub fn read(&self, knob: Knob) -> Result<String> {
        let path = self.path(knob);
        whole_file::read_text(&path).map_err(|error| {
            Stop::HostNotFit(format!("{}: cannot be read: {error}", path.display())).into()
        })
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

    /// Reads a number from a file that not every host has.
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

/// Writes values.
pub trait Backend {
    /// As `--frequency-backend` calls it.
    fn name(&self) -> &'static str;

    /// Whether it can write this file.
    fn can_set(&self, _knob: Knob) -> bool {
        true
    }

    /// Writes `value`, byte for byte if the backend allows it.
    ///
    /// # Errors
    /// If the kernel or the tool refuses. Callers read the setting back after a success, too.
    fn set(&mut self, tree: &Tree, knob: Knob, value: &str) -> Result<()>;
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
        let sysfs = || Sysfs::open(tree, policies);
        match self {
            Self::CpufreqSet => CpufreqSet::open(),
            // The tool knows only the system's tree.
            Self::Auto if tree.is_system() => sysfs().or_else(|unwritable| {
                CpufreqSet::open().map_err(|error| {
                    let both = format!("no permission to set the frequency: {unwritable}; {error}");
                    Stop::HostNotFit(both).into()
                })
            }),
            Self::Auto | Self::Sysfs => sysfs(),
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

    fn set(&mut self, tree: &Tree, knob: Knob, value: &str) -> Result<()> {
        let path = tree.path(knob);
        let describe = || format!("{}: `{}` is refused", path.display(), value.trim());
        // The file is never created: if it is gone, its CPU is gone.
        let mut options = OpenOptions::new();
        let file = whole_file::open(&path, options.write(true).truncate(true));
        // One call, because the kernel takes each write as a separate value.
        let written = file.and_then(|mut file| file.write(value.as_bytes()));
        let written = written.with_context(describe)?;
        if written != value.len() {
            let all = value.len();
            bail!("{}: took {written} of {all} bytes", path.display());
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

/// Keyboard signals must reach only the runner: a restore must not lose its tool to a second Ctrl-C.
fn quiet(command: &mut Command) -> &mut Command {
    let command = command.stdin(Stdio::null()).process_group(0);
    command.env("LC_ALL", "C")
}

/// The tool's option that sets a file.
fn option_of(knob: Knob) -> Option<&'static str> {
    match knob.name {
        GOVERNOR => Some("-g"),
        MIN => Some("-d"),
        MAX => Some("-u"),
        SPEED => Some("-f"),
        _ => None,
    }
}

impl Backend for CpufreqSet {
    fn name(&self) -> &'static str {
        TOOL
    }

    fn can_set(&self, knob: Knob) -> bool {
        option_of(knob).is_some()
    }

    fn set(&mut self, tree: &Tree, knob: Knob, value: &str) -> Result<()> {
        let path = tree.path(knob);
        let option = option_of(knob);
        let option =
            option.with_context(|| format!("{}: `{TOOL}` cannot set it", path.display()))?;
        // The CPUs of a policy share its files, so one stands for all.
        let policies = tree.policies();
        let policy = policies.iter().find(|it| Some(it.number) == knob.policy);
        let policy = policy.with_context(|| format!("{}: its CPUs are offline", path.display()))?;
        let cpu = policy.cpus[0].to_string();
        let words = ["sudo", "-n", TOOL, "-c", &cpu, option, value.trim()];
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
