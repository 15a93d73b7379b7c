//! Ctrl-C and termination signals: end the running process group at once, then stop cleanly.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process_group};

/// Shared between the signal handler's thread and whoever waits for a process.
static STATE: Mutex<State> = Mutex::new(State { is_requested: false, group: None });

struct State {
    is_requested: bool,
    group: Option<Pid>,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Catches SIGINT, SIGTERM and SIGHUP from now on; called once, by the binary.
///
/// # Errors
/// If the handler cannot be installed.
pub fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        let mut state = state();
        state.is_requested = true;
        if let Some(group) = state.group {
            // A group that ended meanwhile is what we want.
            let _ = kill_process_group(group, Signal::KILL);
        }
    })
    .context("the handler for Ctrl-C cannot be installed")
}

/// Whether somebody asked to stop.
#[must_use]
pub fn is_requested() -> bool {
    state().is_requested
}

/// While it lives, an interrupt kills this process group.
pub(crate) struct Watched(());

impl Watched {
    /// Watches `group`; kills it right away if the request to stop is already there.
    pub(crate) fn new(group: Pid) -> Self {
        let mut state = state();
        state.group = Some(group);
        if state.is_requested {
            let _ = kill_process_group(group, Signal::KILL); // it may have ended already
        }
        Self(())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        state().group = None;
    }
}
