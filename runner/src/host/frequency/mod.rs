//! The CPU frequency: fixed, verified, measured, and always restored (`runner/README.md`).

pub mod clock;
pub mod hold;
pub mod journal;
pub(crate) mod kinds;
pub mod recipe;
pub mod sysfs;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use self::clock::Clock;
use self::hold::Hold;
use self::journal::Journal;
use self::recipe::Recipe;
use self::sysfs::{Backend, BackendChoice};
use crate::affinity::allowed_cpus;
use crate::host::Host;
use crate::stop::Stop;

/// Maximum number of measurements of the clock after a fix, because some drivers need a moment. A
/// guess.
const CLOCK_ATTEMPTS: usize = 5;

/// The state of the CPU frequency during a trial, as far as a sweep knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreqState {
    /// The runner set the frequency and read it back after the trial. The measured clock was within
    /// 2 % of this frequency before and after the trial. Trials of mode `fixed` on a simulated
    /// machine have this state, too.
    FixedVerified,
    /// The host did not hold the requested frequency.
    FixedFailed,
    /// The runner leaves the frequency to the host, which has a frequency driver, or to the
    /// simulated machine.
    Dynamic,
    /// The host shows no frequency driver, so the frequency cannot be set.
    Uncontrolled,
    /// The runner set the frequency and read it back, but could not measure the clock.
    #[default]
    Unknown,
}

/// How the CPU frequency is treated.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The host decides the frequency.
    #[default]
    Dynamic,
    /// All CPUs that trials may use run at one frequency.
    Fixed,
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// Sets the frequency around trials, and measures the clock before and after each trial.
pub trait ControlFrequency {
    /// Called just before a trial: switches to the trial's mode if necessary, and measures the
    /// clock.
    ///
    /// # Errors
    /// If a promised mode cannot be entered, or the settings of the previous mode cannot be
    /// restored.
    fn before(&mut self, mode: Mode, threads: usize) -> Result<()>;

    /// Called just after the trial: measures the clock again, and returns whether the mode held.
    fn after(&mut self) -> ClockReading;

    /// Called after all trials: restores the old settings.
    ///
    /// # Errors
    /// If the old settings cannot be restored.
    fn leave(&mut self) -> Result<()>;
}

/// The frequency as read before and after a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockReading {
    /// The state of the frequency, which says whether the mode held.
    pub state: FreqState,
    /// Measured clock before the trial, in GHz: the mean over as many CPUs as the trial has
    /// threads.
    pub ghz_before: Option<f64>,
    /// Measured clock after the trial, in GHz: the mean over the same CPUs.
    pub ghz_after: Option<f64>,
}

/// Where and how the frequency is set.
#[derive(Clone, Debug)]
pub struct Setup {
    pub(crate) host: Host,
    backend: BackendChoice,
    pub(crate) journal: PathBuf,
}

impl Setup {
    /// A setup for fixes that set the files of `host`, and keep their old content in the file
    /// `journal`. By default, each host has its own journal.
    #[must_use]
    pub fn new(host: Host, backend: BackendChoice, journal: Option<&Path>) -> Self {
        let journal = journal.map_or_else(|| journal::default_path(&host), Path::to_owned);
        Self {
            host,
            backend,
            journal,
        }
    }

    fn prepare(&self) -> Result<(Recipe, Box<dyn Backend>)> {
        let recipe = recipe::recipe(&self.host)?;
        let backend = self.backend.open(&self.host, &recipe.policies)?;
        Ok((recipe, backend))
    }

    /// Fixes the frequency until the returned value is dropped.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] if the frequency cannot be fixed; all settings are then unchanged.
    pub fn fix(&self) -> Result<Hold> {
        let (recipe, backend) = self.prepare()?;
        Hold::begin(self.host.clone(), backend, recipe, &self.journal)
    }

    /// Undoes the fix of a runner that died, and prints a note. Returns whether there was such a
    /// fix.
    pub(crate) fn restore_leftover(&self) -> Result<bool> {
        let Some(journal) = Journal::open(&self.journal, &self.host)? else {
            return Ok(false);
        };
        let entry = journal.entry.clone();
        let (khz, since, process) = (entry.khz, &entry.since, entry.process);
        if entry.is_of_earlier_boot() {
            journal.delete()?;
            tell!(
                "note: the frequency was fixed at {khz} kHz on {since}, before this start of the system, which \
                 has undone it; its journal is deleted"
            );
        } else {
            let mut backend = self.backend.open(&self.host, &self.host.used_policies())?;
            hold::put_back(&self.host, &mut *backend, journal)?;
            tell!(
                "restored: the frequency was fixed at {khz} kHz since {since} by process {process}; all settings \
                 are the original ones"
            );
        }
        Ok(true)
    }

    pub(crate) fn fix_in_force(&self) -> Option<String> {
        match Journal::open(&self.journal, &self.host) {
            Ok(journal) => journal.map(|Journal { entry, .. }| {
                format!(
                    "{} kHz since {}, by process {}, which has ended; `cargo runner frequency restore` undoes it",
                    entry.khz, entry.since, entry.process
                )
            }),
            Err(error) => Some(format!("{error:#}")),
        }
    }

    pub(crate) fn fixable(&self) -> Result<String, String> {
        match self.prepare() {
            Ok((recipe, backend)) => Ok(format!("{} kHz, by {}", recipe.khz, backend.name())),
            Err(error) => Err(format!("{error:#}")),
        }
    }

    pub(crate) fn check_modes(&self, modes: &[Mode], allow_uncontrolled: bool) -> Result<()> {
        if !modes.contains(&Mode::Fixed) || allow_uncontrolled {
            return Ok(());
        }
        self.fixable().map(drop).map_err(|reason| {
            Stop::HostNotFit(format!(
                "--mode fixed: {reason}; run with --mode dynamic, or add --allow-uncontrolled to run anyway \
                 with labels that say so in every trial"
            ))
            .into()
        })
    }
}

/// Holds a fix around the trials of mode `fixed` and measures the clock around every trial.
pub struct Controller {
    setup: Setup,
    allow_uncontrolled: bool,
    cpus: Vec<usize>,
    held: Option<Hold>,
    /// Whether a fix has failed and trials run nevertheless; no other fix is then tried.
    has_failed: bool,
    mode: Mode,
    threads: usize,
    before: Option<Clock>,
}

impl Controller {
    /// A controller that fixes the frequency by `setup` before trials of mode `fixed`. If that
    /// fails and `allow_uncontrolled` is set, trials run nevertheless.
    #[must_use]
    pub fn new(setup: Setup, allow_uncontrolled: bool) -> Self {
        Self {
            setup,
            allow_uncontrolled,
            cpus: allowed_cpus(),
            held: None,
            has_failed: false,
            mode: Mode::Dynamic,
            threads: 1,
            before: None,
        }
    }

    fn fix(&mut self) -> Result<()> {
        if let Some(held) = &self.held {
            let Err(error) = held.verify() else {
                return Ok(());
            };
            tell!("note: the frequency is fixed again: {error:#}");
            self.leave()?;
        }
        let fixed = self.setup.fix();
        let fixed = fixed.and_then(|held| self.check_clock(&held).map(|()| held));
        match fixed {
            Err(error) if self.allow_uncontrolled => {
                tell!("note: the frequency is not fixed: {error:#}");
                self.has_failed = true;
            }
            fixed => self.held = Some(fixed?),
        }
        Ok(())
    }

    fn check_clock(&self, held: &Hold) -> Result<()> {
        if !self.setup.host.is_system() {
            return Ok(());
        }
        let mut seen = None;
        for _ in 0..CLOCK_ATTEMPTS {
            seen = clock::measure(&self.cpus);
            if seen.is_some_and(|clock| clock.is_at(held.khz())) {
                return Ok(());
            }
        }
        let seen = seen.map_or_else(
            || "their clock cannot be measured: the two methods disagree".to_owned(),
            |clock| format!("run at {clock}"),
        );
        bail!(Stop::HostNotFit(format!(
            "all CPUs that trials may use were set to {} kHz, and the files confirm it, but {seen} \
             (the backend cpufreq-set cannot forbid boost)",
            held.khz()
        )))
    }

    fn clock(&self) -> Option<Clock> {
        let busy = self.threads.min(self.cpus.len());
        clock::measure(&self.cpus[..busy])
    }

    fn state(&self, clocks: [Option<Clock>; 2]) -> FreqState {
        if self.setup.host.used_policies().is_empty() {
            return FreqState::Uncontrolled;
        }
        if self.mode == Mode::Dynamic {
            return FreqState::Dynamic;
        }
        let held = self.held.as_ref().filter(|held| held.verify().is_ok());
        let Some(held) = held else {
            return FreqState::FixedFailed;
        };
        if !self.setup.host.is_system() {
            return FreqState::FixedVerified;
        }
        match clocks {
            [Some(before), Some(after)] if before.is_at(held.khz()) && after.is_at(held.khz()) => {
                FreqState::FixedVerified
            }
            [Some(_), Some(_)] => FreqState::FixedFailed,
            _ => FreqState::Unknown,
        }
    }
}

impl ControlFrequency for Controller {
    fn before(&mut self, mode: Mode, threads: usize) -> Result<()> {
        match mode {
            Mode::Fixed if self.has_failed => {}
            Mode::Fixed => self.fix()?,
            Mode::Dynamic => self.leave()?,
        }
        self.mode = mode;
        self.threads = threads;
        self.before = self.clock();
        Ok(())
    }

    fn after(&mut self) -> ClockReading {
        let after = self.clock();
        let before = self.before.take();
        ClockReading {
            state: self.state([before, after]),
            ghz_before: before.map(|clock| clock.ghz),
            ghz_after: after.map(|clock| clock.ghz),
        }
    }

    fn leave(&mut self) -> Result<()> {
        self.held.take().map_or(Ok(()), Hold::restore)
    }
}
