//! The kernel's files of the CPU frequency, and the two ways to write them.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use crate::host::{CPUS, Host, cpu_list};
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

/// The files of the host that a fix may change. Each of these files is a switch.
const OF_HOST: [&str; 3] = [NO_TURBO, "cpufreq/boost", "intel_pstate/hwp_dynamic_boost"];
const OF_POLICY: [&str; 6] = [GOVERNOR, "boost", EPP, MAX, MIN, SPEED];

/// One file that a fix may change; in a journal, its path below the kernel's folder of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Knob {
    /// The policy that the file belongs to; `None` for a file of the host.
    pub policy: Option<u32>,
    /// The file's name; a file of the host comes with its folder.
    pub name: FileName,
}

/// One of the file names that are constants above. serde would borrow a plain `&'static str` from
/// the journal's text.
pub type FileName = &'static str;

impl From<Knob> for String {
    fn from(knob: Knob) -> Self {
        knob.to_string()
    }
}

impl TryFrom<String> for Knob {
    type Error = String;

    /// Accepts only the files that a fix may change, so a damaged journal cannot name other files.
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
    /// The policy's number, from the name of its folder.
    pub number: u32,
    /// The policy's CPUs that are online, ascending; at least one CPU.
    pub cpus: Vec<usize>,
}

impl Policy {
    pub(crate) fn file(&self, name: &str) -> String {
        format!("{CPUS}/cpufreq/policy{}/{name}", self.number)
    }
}

impl Host {
    /// Returns the policies that have an online CPU, ascending. A host without frequency control
    /// has no policy.
    #[must_use]
    pub fn policies(&self) -> Vec<Policy> {
        let names = self.names_in(&format!("{CPUS}/cpufreq")).into_iter();
        let policy = |name: String| {
            let number = name.strip_prefix("policy")?.parse().ok()?;
            let mut policy = Policy {
                number,
                cpus: Vec::new(),
            };
            let cpus_in = |file| cpu_list(&self.read(&policy.file(file)).ok()?.replace(' ', ","));
            let cpus = cpus_in("affected_cpus").or_else(|| cpus_in("related_cpus"));
            // A policy has the number of its first CPU.
            policy.cpus = cpus.unwrap_or_else(|| vec![number as usize]);
            Some(policy).filter(|policy| !policy.cpus.is_empty())
        };
        let mut policies: Vec<Policy> = names.filter_map(policy).collect();
        policies.sort_by_key(|policy| policy.number);
        policies
    }

    /// Returns the policies of CPUs on which trials may run. A fix leaves other policies alone,
    /// because other containers may use their CPUs.
    #[must_use]
    pub fn used_policies(&self) -> Vec<Policy> {
        let used = self.used_cpus();
        let mut policies = self.policies();
        policies.retain(|policy| policy.cpus.iter().any(|cpu| used.contains(cpu)));
        policies
    }

    /// Returns the CPUs that trials may run on; all CPUs if these are unknown.
    pub(crate) fn used_cpus(&self) -> Vec<usize> {
        let of_policies = || {
            let policies = self.policies().into_iter();
            policies.flat_map(|policy| policy.cpus).collect()
        };
        let allowed = self.allowed_cpus().or_else(|_| self.cpus());
        allowed.unwrap_or_else(|_| of_policies())
    }

    pub(crate) fn knobs(&self, policies: &[Policy]) -> Vec<Knob> {
        let of_policies = policies.iter().flat_map(|policy| {
            OF_POLICY.map(|name| Knob {
                policy: Some(policy.number),
                name,
            })
        });
        let of_host = OF_HOST.map(|name| Knob { policy: None, name });
        let mut knobs: Vec<Knob> = of_policies.chain(of_host).collect();
        knobs.retain(|knob| self.knob(*knob).exists());
        knobs
    }

    /// The path of a file that a fix may change.
    #[must_use]
    pub fn knob(&self, knob: Knob) -> PathBuf {
        self.path(CPUS).join(knob.to_string())
    }

    /// Returns the content of a file that a fix may change, with the end of its line.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] if the file cannot be read.
    pub fn setting(&self, knob: Knob) -> Result<String> {
        let path = self.knob(knob);
        whole_file::read_text(&path).map_err(|error| {
            Stop::HostNotFit(format!("{}: cannot be read: {error}", path.display())).into()
        })
    }
}

/// Writes values to the files that a fix may change.
pub trait Backend {
    /// The backend's name in `--frequency-backend`.
    fn name(&self) -> &'static str;

    /// Whether the backend can write this file.
    fn can_set(&self, _knob: Knob) -> bool {
        true
    }

    /// Writes `value`, byte for byte if the backend allows it.
    ///
    /// # Errors
    /// If the kernel or the tool refuses the value. Callers read the setting back even after a
    /// success.
    fn set(&mut self, host: &Host, knob: Knob, value: &str) -> Result<()>;
}

/// The user's choice of a backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum BackendChoice {
    /// The first backend that is permitted: sysfs, cpufreq-set
    #[default]
    Auto,
    /// Write the kernel's files
    Sysfs,
    /// Run the tool of the package cpufrequtils, through `sudo -n` unless root
    CpufreqSet,
}

impl BackendChoice {
    pub(super) fn open(self, host: &Host, policies: &[Policy]) -> Result<Box<dyn Backend>> {
        let sysfs = || Sysfs::open(host, policies);
        match self {
            Self::CpufreqSet => CpufreqSet::open(),
            // The tool works on the running system only, not on a mock host.
            Self::Auto if host.is_system() => sysfs().or_else(|unwritable| {
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
    fn open(host: &Host, policies: &[Policy]) -> Result<Box<dyn Backend>> {
        for knob in host.knobs(policies) {
            let path = host.knob(knob);
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

    fn set(&mut self, host: &Host, knob: Knob, value: &str) -> Result<()> {
        let path = host.knob(knob);
        let describe = || format!("{}: `{}` is refused", path.display(), value.trim());
        // A missing file is not created, because its CPU is gone, too.
        let mut options = OpenOptions::new();
        let file = whole_file::open(&path, options.write(true).truncate(true));
        // One call writes the whole value, because the kernel takes each write as a separate value.
        let written = file.and_then(|mut file| file.write(value.as_bytes()));
        let written = written.with_context(describe)?;
        if written != value.len() {
            let all = value.len();
            bail!("{}: took {written} of {all} bytes", path.display());
        }
        Ok(())
    }
}

/// The tool `cpufreq-set`, which sets the governor, the limits and the speed of the governor
/// `userspace`, but not boost. It is started as root or through sudo.
struct CpufreqSet;

impl CpufreqSet {
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

/// Gives a command no input and a process group of its own. Keyboard signals then do not reach the
/// command: a second Ctrl-C must not end the tool during a restore.
fn quiet(command: &mut Command) -> &mut Command {
    let command = command.stdin(Stdio::null()).process_group(0);
    command.env("LC_ALL", "C")
}

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

    fn set(&mut self, host: &Host, knob: Knob, value: &str) -> Result<()> {
        let path = host.knob(knob);
        let option = option_of(knob);
        let option =
            option.with_context(|| format!("{}: `{TOOL}` cannot set it", path.display()))?;
        // The CPUs of a policy share its files, so setting one CPU sets them all.
        let policies = host.policies();
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
