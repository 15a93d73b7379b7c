//! The facts that the doctor checks besides the host's files.

use std::path::Path;
use std::process::Command;

use crate::affinity::allowed_cpus;
use crate::config::checkout::Checkout;
use crate::host::frequency::Setup;
use crate::host::frequency::clock::{self, Clock};
use crate::host::stacking::{self, Stacking};
use crate::host::{Fact, Host};
use crate::system::lock::HostLock;
use crate::system::python;

/// A folder that a sweep fills.
#[derive(Clone, Debug)]
pub struct Disk {
    /// The folder, as the checkout calls it.
    pub folder: String,
    /// Bytes that this user may still write; `None` if that is unknown.
    pub free_bytes: Option<u64>,
    /// Whether this user may write there at all.
    pub is_writable: bool,
}

/// A program that a sweep or its report starts.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Name of the program.
    pub name: &'static str,
    /// Its version, or why it cannot be used.
    pub seen: Result<String, String>,
}

/// The facts that are in no file of the host, so that tests can set them.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// The frequency that a fix would set and its backend, or why there is none.
    pub fixable: Result<String, String>,
    /// A fix that is in force, made by hand or left by a runner that died.
    pub fix_in_force: Option<String>,
    /// The current clock of all allowed CPUs at once. `None` inside if it cannot be measured; outer
    /// `None` if it was not tried.
    pub clock: Option<Option<Clock>>,
    /// How often wake-ups currently end on one CPU; `None` if it was not tried, or there is only
    /// one CPU.
    pub stacking: Option<Stacking>,
    /// Whether another sweep runs; or why that is unknown.
    pub is_another_sweep_running: Result<bool, String>,
    /// CPUs that a pool may use, by affinity and quota; or why that is unknown.
    pub usable_cpus: Result<usize, String>,
    /// Whether the kernel lets a process fence for all its threads; `None` if another kernel's
    /// files are examined.
    pub has_membarrier: Option<bool>,
    /// Folders that a sweep fills.
    pub disks: Vec<Disk>,
    /// cargo and rustc, without which nothing is built.
    pub compilers: Vec<Tool>,
    /// Python, for the report.
    pub python: Result<String, String>,
    /// The linker that shuffles functions, for `--layouts`.
    pub linker: Result<String, String>,
}

impl Circumstances {
    /// Collects the facts. Takes about two seconds, since it starts a few programs and lets threads
    /// work in ticks.
    pub(crate) fn of(checkout: &Checkout, setup: &Setup, usable_cpus: Fact<usize>) -> Self {
        let (root, is_here) = (checkout.root(), setup.tree.is_system());
        let tool = |name| Tool {
            name,
            seen: version(name, root),
        };
        Self {
            fixable: setup.fixable(),
            fix_in_force: setup.fix_in_force(),
            clock: is_here.then(|| clock::measure(&allowed_cpus())),
            stacking: is_here
                .then(|| stacking::measure(&allowed_cpus()))
                .flatten(),
            is_another_sweep_running: if is_here {
                HostLock::is_held()
            } else {
                Err("its lock is held by a process, and the running system is another host".into())
            },
            usable_cpus,
            has_membarrier: is_here.then(Host::has_membarrier),
            disks: ["results", "target"].map(|name| disk(root, name)).into(),
            compilers: ["cargo", "rustc"].map(tool).into(),
            python: python::usable(),
            linker: linker(root),
        }
    }
}

fn disk(root: &Path, name: &str) -> Disk {
    let folder = root.join(name);
    // Before the first sweep the folder does not exist; it will be made on the disk of the
    // checkout.
    let place = if folder.exists() {
        folder
    } else {
        root.to_owned()
    };
    let free = rustix::fs::statvfs(&place).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    Disk {
        folder: name.to_owned(),
        free_bytes: free.ok(),
        is_writable: tempfile::NamedTempFile::new_in(&place).is_ok(),
    }
}

/// First line of `PROGRAM --version`.
fn version(program: &str, folder: &Path) -> Result<String, String> {
    first_line(Command::new(program).arg("--version").current_dir(folder))
}

fn first_line(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.lines().next().unwrap_or_default().to_owned()
    };
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    }
}

/// LLVM's linker: the one of the Rust toolchain, or the system's.
fn linker(root: &Path) -> Result<String, String> {
    let print = |what: &str| {
        first_line(
            Command::new("rustc")
                .args(["--print", what])
                .current_dir(root),
        )
        .map_err(|error| format!("rustc --print {what}: {error}"))
    };
    let (sysroot, host) = (print("sysroot")?, print("host-tuple")?);
    let own = Path::new(&sysroot)
        .join("lib/rustlib")
        .join(host)
        .join("bin/gcc-ld/ld.lld");
    if own.exists() {
        return Ok("ld.lld of the Rust toolchain".to_owned());
    }
    version("ld.lld", root)
        .map_err(|error| format!("{}: not there; ld.lld: {error}", own.display()))
}
