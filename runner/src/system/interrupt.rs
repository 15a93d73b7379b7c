//! Ctrl-C and termination signals: end the running process groups at once, then stop cleanly.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use nix::libc::c_int;
use nix::sys::signal::{SigHandler, Signal as Caught, signal};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::stop::Stop;

/// The state that the signal handler's thread shares with the threads that wait for a process.
static STATE: Mutex<State> = Mutex::new(State {
    is_installed: false,
    is_requested: false,
    groups: Vec::new(),
});

struct State {
    is_installed: bool,
    is_requested: bool,
    groups: Vec<Pid>,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Catches SIGINT, SIGTERM and SIGHUP from now on. Calling this function again has no effect.
///
/// # Errors
/// If the handler cannot be installed.
pub fn install() -> Result<()> {
    let mut state = state();
    if state.is_installed {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        let mut state = self::state();
        state.is_requested = true;
        for group in &state.groups {
            // An error only means that the group has already ended.
            let _ = kill_process_group(*group, Signal::KILL);
        }
    })
    .context("the handler for Ctrl-C cannot be installed")?;
    state.is_installed = true;
    Ok(())
}

/// Makes a write beyond `ulimit -f` return an error; by default, the kernel would end this process.
/// The processes that the runner starts do not inherit this handler.
///
/// # Errors
/// If the handler cannot be installed.
pub fn survive_file_limits() -> Result<()> {
    extern "C" fn nothing(_: c_int) {}
    // SAFETY: the handler does nothing, which is async-signal-safe, and no other part of this
    // process handles this signal.
    let installed = unsafe { signal(Caught::SIGXFSZ, SigHandler::Handler(nothing)) };
    installed
        .map(drop)
        .context("the handler for `ulimit -f` cannot be installed")
}

pub(crate) fn is_requested() -> bool {
    state().is_requested
}

pub(crate) fn while_building() -> Stop {
    Stop::Interrupted("interrupted while building; nothing was measured".to_owned())
}

/// While this value lives, an interrupt kills the process group in it.
pub(crate) struct InterruptGuard(Pid);

impl InterruptGuard {
    pub(crate) fn new(group: Pid) -> Self {
        let mut state = state();
        state.groups.push(group);
        if state.is_requested {
            let _ = kill_process_group(group, Signal::KILL); // an error means that the group has ended
        }
        Self(group)
    }
}

impl Drop for InterruptGuard {
    fn drop(&mut self) {
        state().groups.retain(|group| *group != self.0);
    }
}
