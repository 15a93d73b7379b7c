//! The facts that the doctor checks in addition to the host's files.

use crate::affinity::allowed_cpus;
use crate::host::Host;
use crate::host::frequency::Setup;
use crate::host::frequency::clock::{self, Clock};
use crate::host::stacking::{self, Stacking};
use crate::system::lock::HostLock;

/// Facts that no file of the host shows, so that tests must set them.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// The frequency that a fix would set, and the backend; or why no frequency can be fixed.
    pub fixable: Result<String, String>,
    /// A description of the fix that a killed runner left behind.
    pub fix_in_force: Option<String>,
    /// The clock of all allowed CPUs at once. `Some(None)` if the clock cannot be measured; `None`
    /// if the files of another host are examined.
    pub clock: Option<Option<Clock>>,
    /// How often two woken threads run on one CPU; `None` if this was not measured, for example
    /// with only one CPU.
    pub stacking: Option<Stacking>,
    /// Whether another sweep runs; or why that is unknown.
    pub is_another_sweep_running: Result<bool, String>,
    /// CPUs that a pool may use, by affinity and quota; or why that is unknown.
    pub usable_cpus: Result<usize, String>,
    /// Whether the kernel lets a process fence for all its threads; `None` if the files of another
    /// host are examined.
    pub has_membarrier: Option<bool>,
}

impl Circumstances {
    /// Collects the facts. On the running system, [`stacking::measure`] takes most of the time: about
    /// a second, in which two threads work and pause in turns.
    pub(crate) fn of(setup: &Setup) -> Self {
        let host = &setup.host;
        let is_here = host.is_system();
        let cpus = allowed_cpus();
        Self {
            fixable: setup.fixable(),
            fix_in_force: setup.fix_in_force(),
            clock: is_here.then(|| clock::measure(&cpus)),
            stacking: is_here.then(|| stacking::measure(&cpus)).flatten(),
            is_another_sweep_running: if is_here {
                HostLock::is_held()
            } else {
                Err("its lock is held by a process, and the running system is another host".into())
            },
            usable_cpus: if is_here {
                Ok(Host::usable_cpus())
            } else {
                host.allowed_cpus().map(|cpus| cpus.len())
            },
            has_membarrier: is_here.then(Host::has_membarrier),
        }
    }
}
