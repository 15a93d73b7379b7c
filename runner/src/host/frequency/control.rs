//! Controls the frequency of a sweep, trial by trial.

use anyhow::{Result, bail};

use super::clock::{self, Clock};
use super::hold::Hold;
use super::{ClockReading, ControlFrequency, FreqState, Mode, Setup};
use crate::affinity::allowed_cpus;
use crate::stop::Stop;

/// How often the clock is measured after a fix before the runner gives up: some drivers need a
/// moment. A guess.
const CLOCK_ATTEMPTS: usize = 5;

/// Holds a fix around the trials of mode `fixed` and measures the clock around every trial.
pub struct Controller {
    setup: Setup,
    allow_uncontrolled: bool,
    cpus: Vec<usize>,
    held: Option<Hold>,
    /// The mode requests a fix, but there is none, and trials run nevertheless.
    has_failed: bool,
    mode: Mode,
    threads: usize,
    before: Option<Clock>,
}

impl Controller {
    /// Fixes by way of `setup`. If that fails and `allow_uncontrolled` is set, trials run
    /// nevertheless.
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

    /// False on a mock tree, since the measured clock is the real host's.
    fn compares_clock(&self) -> bool {
        self.setup.tree.is_system()
    }

    fn check_clock(&self, held: &Hold) -> Result<()> {
        if !self.compares_clock() {
            return Ok(());
        }
        let mut seen = None;
        for _ in 0..CLOCK_ATTEMPTS {
            seen = clock::measure(&self.cpus);
            if seen.is_some_and(|clock| clock.is_at(held.khz())) {
                return Ok(());
            }
        }
        let left = held.boost_left_on().map_or(String::new(), |knob| {
            let path = self.setup.tree.path(knob);
            let path = path.display();
            format!("; {path} allows boost, and this backend cannot forbid it")
        });
        let seen = seen.map_or_else(
            || "their clock cannot be measured: the two methods disagree".to_owned(),
            |clock| format!("run at {clock}"),
        );
        bail!(Stop::HostNotFit(format!(
            "all CPUs that trials may use were set to {} kHz, and the files confirm it, but {seen}{left}",
            held.khz()
        )))
    }

    fn clock(&self) -> Option<Clock> {
        let busy = self.threads.min(self.cpus.len());
        clock::measure(&self.cpus[..busy])
    }

    fn state(&self, clocks: [Option<Clock>; 2]) -> FreqState {
        if self.setup.policies().is_empty() {
            return FreqState::Uncontrolled;
        }
        if self.mode == Mode::Dynamic {
            return FreqState::Dynamic;
        }
        let held = self.held.as_ref().filter(|held| held.verify().is_ok());
        let Some(held) = held else {
            return FreqState::FixedFailed;
        };
        if !self.compares_clock() {
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
