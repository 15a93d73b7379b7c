//! The CPU frequency: what this host lets one do about it.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::plan::Mode;
use crate::record::FreqState;
use crate::stop::Stop;

/// Sets the frequency before trials and watches it beside them.
pub trait ControlFrequency {
    /// Switches to a mode; the state that trials in it begin with.
    ///
    /// # Errors
    /// If a mode that was promised cannot be entered.
    fn enter(&mut self, mode: Mode) -> Result<FreqState>;

    /// Looks after a trial whether the state still holds.
    fn check(&mut self, mode: Mode, state: FreqState) -> FreqState;
}

/// What the host shows below `/sys/devices/system/cpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequency {
    driver: Option<String>,
}

impl Frequency {
    /// Looks below `root`, which is `/` but for tests.
    #[must_use]
    pub fn detect(root: &Path) -> Self {
        let driver: PathBuf = root.join("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver");
        let driver = std::fs::read_to_string(driver).ok().map(|name| name.trim().to_owned());
        Self { driver }
    }

    /// Why one frequency cannot be set and held here; `None` if it can.
    #[must_use]
    pub fn reason_against_fixed(&self) -> Option<String> {
        Some(match &self.driver {
            None => {
                "the host shows no frequency control (no /sys/devices/system/cpu/cpu0/cpufreq), as \
                     is usual in a virtual machine"
                    .to_owned()
            }
            Some(driver) => {
                format!("holding a fixed frequency is not supported yet on driver `{driver}`")
            }
        })
    }

    /// Refuses modes that this host cannot keep, unless the caller takes the consequences.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with the reason.
    pub fn check_modes(&self, modes: &[Mode], allow_uncontrolled: bool) -> Result<()> {
        match self.reason_against_fixed() {
            Some(reason) if modes.contains(&Mode::Fixed) && !allow_uncontrolled => {
                bail!(Stop::HostNotFit(format!(
                    "--mode fixed: {reason}; run with --mode dynamic, or add --allow-uncontrolled to \
                     run anyway with every trial labelled so"
                )))
            }
            _ => Ok(()),
        }
    }
}

impl ControlFrequency for Frequency {
    fn enter(&mut self, mode: Mode) -> Result<FreqState> {
        Ok(match (mode, &self.driver) {
            (_, None) => FreqState::Uncontrolled,
            (Mode::Dynamic, Some(_)) => FreqState::Dynamic,
            (Mode::Fixed, Some(_)) => FreqState::FixedFailed,
        })
    }

    fn check(&mut self, _mode: Mode, state: FreqState) -> FreqState {
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_cpufreq_is_uncontrolled_and_refuses_fixed() {
        let root = tempfile::tempdir().unwrap();
        let mut frequency = Frequency::detect(root.path());
        assert_eq!(frequency.enter(Mode::Dynamic).unwrap(), FreqState::Uncontrolled);
        let error = frequency.check_modes(&[Mode::Dynamic, Mode::Fixed], false).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(Stop::HostNotFit(_))), "{error}");
        assert!(frequency.check_modes(&[Mode::Fixed], true).is_ok());
        assert!(frequency.check_modes(&[Mode::Dynamic], false).is_ok());
    }

    #[test]
    fn a_driver_without_a_recipe_is_refused_by_name() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/devices/system/cpu/cpu0/cpufreq");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("scaling_driver"), "made-up\n").unwrap();
        let mut frequency = Frequency::detect(root.path());
        assert!(frequency.reason_against_fixed().unwrap().contains("`made-up`"));
        assert_eq!(frequency.enter(Mode::Dynamic).unwrap(), FreqState::Dynamic);
        assert_eq!(frequency.enter(Mode::Fixed).unwrap(), FreqState::FixedFailed);
    }
}
