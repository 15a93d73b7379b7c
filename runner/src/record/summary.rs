//! Progress of a sweep: counts of the sweep's trials, for the exit code and the last lines of
//! output. The analysis computes the results.

use std::collections::HashSet;

use anyhow::{Error, Result, bail};

use crate::record::manifest::Manifest;
use crate::record::sweep_dir::SweepDir;
use crate::record::trials_file::BrokenLine;
use crate::record::{Done, Ending, Record};
use crate::stop::{Exit, Stop};
use crate::system::digest::Id;
use crate::text::words::count;

/// The counts of a sweep's records. A record is counted and then dropped.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub trials: usize,
    /// Number of failed trials, which `trials` includes.
    pub failed: usize,
    /// Number of trials that did not run, because their branches were dropped.
    pub dropped: usize,
    /// Number of trials that count events and have no times.
    counted: usize,
    /// For each line of the file that is not a record, the reason. The other lines are read
    /// nevertheless.
    pub(crate) broken: Vec<Error>,
}

pub(crate) fn not_planned(sweep: &SweepDir, record: &Record) -> Stop {
    Stop::BadInput(format!(
        "{}: trial {} of branch `{}` on {} is not part of the plan in manifest.json; trials of other \
         sweeps cannot be added by hand",
        sweep.trials().display(),
        record.trial,
        record.branch,
        record.workload
    ))
}

impl Summary {
    pub(crate) fn read(sweep: &SweepDir, manifest: &Manifest) -> Result<(Self, Done)> {
        let mut summary = Self::default();
        let mut trials = Done::new();
        let planned = manifest.planned();
        for record in sweep.records()? {
            let record = match record {
                Err(error) if error.is::<BrokenLine>() => {
                    summary.broken.push(error);
                    continue;
                }
                other => other?,
            };
            let is_planned = |ids: &HashSet<Id>| ids.contains(&record.trial);
            if !manifest.knows(&record) || !planned.as_ref().is_none_or(is_planned) {
                bail!(not_planned(sweep, &record));
            }
            summary.add(&record);
            trials.insert(record.trial, record.elapsed_ns());
        }
        Ok((summary, trials))
    }

    pub(crate) fn add(&mut self, record: &Record) {
        self.trials += 1;
        self.failed += usize::from(record.outcome.is_failure());
        self.dropped += usize::from(record.outcome == Ending::Dropped);
        self.counted += usize::from(record.events.is_some());
    }

    pub(crate) fn tell_broken(&self, sweep: &SweepDir) {
        const MOST_REPORTED: usize = 3;
        for error in self.broken.iter().take(MOST_REPORTED) {
            tell!("warning: {error}");
        }
        if !self.broken.is_empty() {
            tell!(
                "WARNING: {} of {} left out; `cargo runner sweep --resume {}` sets such lines aside and runs the missing \
                 trials",
                count(self.broken.len(), "line", "lines"),
                sweep.trials().display(),
                sweep.path().display()
            );
        }
    }

    /// Prints how to see the event counts of a sweep, if the sweep has any, because the sweep's
    /// table has only times.
    pub(crate) fn tell_counted(&self) {
        if self.counted > 0 {
            tell!(
                "note: {} trials of instrumented builds counted events and were not timed; the report draws the counts, \
                 `cargo runner analysis table SWEEP events` prints them",
                self.counted
            );
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        if self.failed == 0 {
            Exit::Good
        } else {
            Exit::TrialsFailed
        }
    }
}
