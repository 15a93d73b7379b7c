//! Ways to write what a knob holds: the file itself, or a tool where only that is permitted.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::tree::{Kind, Knob, Policy, Tree};
use crate::stop::Stop;

/// Writes values.
pub trait Backend {
    /// As `--frequency-backend` calls it.
    fn name(&self) -> &'static str;

    /// Whether it has a way to write this kind of file.
    fn can_set(&self, kind: Kind) -> bool;

    /// Writes `value`, byte for byte where the way allows it.
    ///
    /// # Errors
    /// If it is refused. An accepted write proves little: callers read the setting back.
    fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> Result<()>;
}

/// Which backend is to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    /// The first that is permitted: sysfs, cpufreq-set, cpupower
    #[default]
    Auto,
    /// Write the kernel's files
    Sysfs,
    /// The tool of the package cpufrequtils, through `sudo -n` unless root
    CpufreqSet,
    /// The tool of the kernel's own package, through `sudo -n` unless root
    Cpupower,
}

impl Choice {
    /// The backend, if it is permitted here.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with what would have to be permitted.
    pub fn open(self, tree: &Tree, policies: &[Policy]) -> Result<Box<dyn Backend>> {
        let sysfs = || check_writable(tree, policies).map(|()| Box::new(Sysfs) as Box<dyn Backend>);
        match self {
            Self::Sysfs => sysfs(),
            Self::CpufreqSet => CPUFREQ_SET.open(),
            Self::Cpupower => CPUPOWER.open(),
            // The tools know one tree only.
            Self::Auto if !tree.is_system() => sysfs(),
            Self::Auto => sysfs().or_else(|unwritable| {
                CPUFREQ_SET.open().or_else(|first| {
                    CPUPOWER.open().map_err(|second| {
                        Stop::HostNotFit(format!(
                            "the frequency may not be set here: {unwritable}; {first}; {second}"
                        ))
                        .into()
                    })
                })
            }),
        }
    }
}

/// Asks the kernel whether the files could be opened for writing, without opening one.
fn check_writable(tree: &Tree, policies: &[Policy]) -> Result<()> {
    for knob in tree.knobs(policies) {
        let path = tree.path(knob);
        if let Err(error) = rustix::fs::access(&path, rustix::fs::Access::WRITE_OK) {
            bail!(Stop::HostNotFit(format!(
                "{}: cannot be written: {error}; run as root, or permit `cpufreq-set` or `cpupower` \
                 in /etc/sudoers without a password",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Writes the kernel's files.
#[derive(Clone, Copy, Debug)]
pub struct Sysfs;

impl Backend for Sysfs {
    fn name(&self) -> &'static str {
        "sysfs"
    }

    fn can_set(&self, _kind: Kind) -> bool {
        true
    }

    fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> Result<()> {
        let path = tree.path(knob);
        let describe = || {
            format!(
                "{}: `{}` is refused",
                path.display(),
                super::tree::trimmed(value)
            )
        };
        // Never created: a file that is gone means that its CPU is.
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&path)
            .with_context(describe)?;
        // One call, since the kernel takes each as a value of its own.
        let written = file.write(value).with_context(describe)?;
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

/// A tool that sets governor and limits, but no boost; started as root or through sudo.
#[derive(Clone, Copy, Debug)]
struct Tool {
    name: &'static str,
    package: &'static str,
    /// Between the CPU's number and the option of the value.
    verb: Option<&'static str>,
}

const CPUFREQ_SET: Tool = Tool {
    name: "cpufreq-set",
    package: "cpufrequtils",
    verb: None,
};
const CPUPOWER: Tool = Tool {
    name: "cpupower",
    package: "linux-cpupower",
    verb: Some("frequency-set"),
};

impl Tool {
    /// The tool, if it may be used here.
    fn open(self) -> Result<Box<dyn Backend>> {
        let Self { name, package, .. } = self;
        if let Err(error) = quiet(Command::new(name).arg("--help")).output() {
            bail!(Stop::HostNotFit(format!(
                "`{name}` cannot be run: {error}; install the package {package}"
            )));
        }
        if needs_sudo() {
            let listed = quiet(Command::new("sudo").args(["-n", "-l", name])).output();
            if !listed.is_ok_and(|output| output.status.success()) {
                bail!(Stop::HostNotFit(format!(
                    "`sudo -n {name}` is not permitted; permit it in /etc/sudoers without a password"
                )));
            }
        }
        Ok(Box::new(self))
    }
}

fn needs_sudo() -> bool {
    !rustix::process::geteuid().is_root()
}

/// Keyboard signals are for us alone: a restore must not lose its tools to a second Ctrl-C.
fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .process_group(0)
        .env("LC_ALL", "C")
}

impl Backend for Tool {
    fn name(&self) -> &'static str {
        self.name
    }

    fn can_set(&self, kind: Kind) -> bool {
        matches!(kind, Kind::Governor | Kind::Min | Kind::Max | Kind::Speed)
    }

    fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> Result<()> {
        let Self { name, verb, .. } = *self;
        let value = super::tree::trimmed(value);
        let option = match knob.kind {
            Kind::Governor => "-g",
            Kind::Min => "-d",
            Kind::Max => "-u",
            Kind::Speed => "-f",
            _ => bail!("{}: `{name}` cannot set it", tree.path(knob).display()),
        };
        // The CPUs of a policy share its files, so one stands for all.
        let policy = knob.policy.unwrap_or_default();
        let policies = tree.policies();
        let cpu = policies
            .iter()
            .find(|it| it.number == policy)
            .and_then(|it| it.cpus.first());
        let Some(cpu) = cpu else {
            bail!("policy{policy} has no CPU online any more")
        };
        let mut words = vec![name.to_owned(), "-c".to_owned(), cpu.to_string()];
        words.extend(verb.map(str::to_owned));
        words.extend([option.to_owned(), value]);
        if needs_sudo() {
            words.splice(0..0, ["sudo".to_owned(), "-n".to_owned()]);
        }
        let line = words.join(" ");
        let output = quiet(Command::new(&words[0]).args(&words[1..]))
            .output()
            .with_context(|| format!("`{line}` cannot be started"))?;
        if !output.status.success() {
            let said = [output.stderr, output.stdout].concat();
            let said = String::from_utf8_lossy(&said);
            bail!(
                "`{line}` failed ({}): {}",
                output.status,
                said.split_whitespace().collect::<Vec<_>>().join(" ")
            );
        }
        Ok(())
    }
}
