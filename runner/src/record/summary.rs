//! Progress of a sweep: counts of its trials, and whether their answers are as expected. The
//! analysis computes the results.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::{Result, bail};
use protocol::Program;

use crate::plan::SweepRequest;
use crate::record::manifest::Manifest;
use crate::record::sweep_dir::SweepDir;
use crate::record::trials_file::BrokenLine;
use crate::record::{Ending, Record};
use crate::stop::Stop;
use crate::system::digest::Id;
use crate::text::words::count;

/// The counts of a sweep's records that the runner needs for its exit code and its last lines.
/// Records are added one after the other and not kept.
#[derive(Debug)]
pub struct Summary {
    asked: SweepRequest,
    /// Number of trials.
    pub trials: usize,
    /// Failed trials among them.
    pub failed: usize,
    /// Trials that count events and have no times.
    pub counted: usize,
    /// For an experiment about answers: the answers of good trials.
    answers: BTreeMap<Place, BTreeSet<Option<String>>>,
}

/// An index into [`SweepRequest::workloads`], and the branch; the sequential program has none.
type Place = (usize, Option<String>);

/// The treatment of lines that are not records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BrokenLines {
    /// Leave them out and show the others.
    LeftOut,
    /// Refuse them: records that are added later would leave them in the middle of the file.
    Refused,
}

/// The error for a record that its sweep's manifest does not plan.
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
    /// The summary of a sweep without trials.
    #[must_use]
    pub fn new(asked: &SweepRequest) -> Self {
        Self {
            asked: asked.clone(),
            trials: 0,
            failed: 0,
            counted: 0,
            answers: BTreeMap::new(),
        }
    }

    /// Reads the records of a sweep; returns their counts and the identities of their trials.
    pub(crate) fn read(
        sweep: &SweepDir,
        manifest: &Manifest,
        which: BrokenLines,
    ) -> Result<(Self, HashSet<Id>)> {
        /// At most this many broken lines are reported one by one.
        const MOST_REPORTED: usize = 3;
        let mut summary = Self::new(&manifest.asked);
        let mut trials = HashSet::new();
        let planned = manifest.planned();
        let mut broken = 0;
        for record in sweep.records()? {
            let record = match record {
                Err(error) if error.is::<BrokenLine>() => {
                    if which == BrokenLines::Refused {
                        bail!(Stop::BadInput(format!(
                            "{error}; `cargo runner repair {}` sets such lines aside, then resume",
                            sweep.path().display()
                        )));
                    }
                    broken += 1;
                    if broken <= MOST_REPORTED {
                        tell!("warning: {error}");
                    }
                    continue;
                }
                other => other?,
            };
            if !manifest.knows(&record)
                || planned
                    .as_ref()
                    .is_some_and(|ids| !ids.contains(&record.trial))
            {
                bail!(not_planned(sweep, &record));
            }
            summary.add(&record);
            trials.insert(record.trial);
        }
        if broken > 0 {
            tell!(
                "WARNING: {} of {} {} invalid and left out; `cargo runner repair {}` sets such lines aside",
                count(broken, "line", "lines"),
                sweep.trials().display(),
                if broken == 1 { "is" } else { "are" },
                sweep.path().display()
            );
        }
        Ok((summary, trials))
    }

    /// Adds a record's values.
    pub fn add(&mut self, record: &Record) {
        self.trials += 1;
        self.failed += usize::from(record.outcome != Ending::Ok);
        self.counted += usize::from(record.events.is_some());
        // Other experiments may have as many answers as trials, for example with a program that
        // does as much as it can in a given time.
        if self.asked.is_about_answers()
            && record.outcome == Ending::Ok
            && let Some(load) = record.load(&self.asked)
        {
            let branch = (record.program == Program::Parallel).then(|| record.branch.clone());
            let answers = self.answers.entry((load, branch)).or_default();
            answers.insert(record.answer.clone());
        }
    }

    /// Says how to see the event counts of a sweep, if it has any: its table has only times.
    pub(crate) fn tell_counted(&self) {
        if self.counted > 0 {
            tell!(
                "note: {} trials of instrumented builds counted events and were not timed; the report draws the counts, \
                 `cargo runner analysis table SWEEP events` prints them",
                self.counted
            );
        }
    }

    /// Whether no trial failed and, in an experiment about answers, each branch gave the sequential
    /// program's answer for each load.
    pub(crate) fn is_good(&self) -> bool {
        let is_proven = |load: usize| {
            let known = self
                .answers
                .get(&(self.asked.sequential_load(load), None))
                .filter(|known| known.len() == 1 && !known.contains(&None));
            let given = |branch: &String| self.answers.get(&(load, Some(branch.clone())));
            known.is_some() && self.asked.branches.iter().all(|it| given(it) == known)
        };
        self.failed == 0
            && (!self.asked.is_about_answers() || (0..self.asked.workloads.len()).all(is_proven))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Definition, Figure, Load};

    fn experiment() -> SweepRequest {
        let load = |depth: &str, generator: &str| Load {
            workload: "packets".to_owned(),
            size: "tiny".to_owned(),
            parameters: [("depth", depth), ("generator", generator)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            input: None,
        };
        SweepRequest {
            branches: vec!["master".to_owned()],
            workloads: vec![load("8", "uniform"), load("32", "uniform")],
            experiment: Some(Definition {
                figure: Figure::Answers,
                sequential_ignores: vec!["depth".to_owned()],
                ..Definition::default()
            }),
            ..crate::plan::tests::asked()
        }
    }

    fn answered(load: usize, program: Program, answer: &str) -> Record {
        let load = &experiment().workloads[load];
        Record {
            workload: load.workload.clone(),
            size: load.size.clone(),
            parameters: load.parameters.clone(),
            branch: "master".to_owned(),
            program,
            answer: Some(answer.to_owned()),
            ..Record::default()
        }
    }

    fn is_good(asked: &SweepRequest, records: &[Record]) -> bool {
        let mut summary = Summary::new(asked);
        for record in records {
            summary.add(record);
        }
        summary.is_good()
    }

    #[test]
    fn one_sequential_run_is_the_reference_of_all_that_differ_in_ignored_parameters() {
        let asked = experiment();
        assert_eq!([0, 1].map(|load| asked.sequential_load(load)), [0, 0]);
        let reference = answered(0, Program::Sequential, "five");
        let right = [0, 1].map(|load| answered(load, Program::Parallel, "five"));
        let [first, second] = right;
        assert!(is_good(&asked, &[reference.clone(), first.clone(), second]));
        assert!(
            !is_good(&asked, &[reference, first]),
            "of one load no trial"
        );
    }

    #[test]
    fn another_answer_a_failed_trial_and_a_missing_reference_are_not_good() {
        let asked = experiment();
        let reference = answered(0, Program::Sequential, "five");
        let [first, second] = [0, 1].map(|load| answered(load, Program::Parallel, "five"));
        let wrong = answered(1, Program::Parallel, "four");
        let failed = Record {
            outcome: Ending::Timeout,
            answer: None,
            ..second.clone()
        };
        let with = |more: &[Record]| {
            let mut all = vec![first.clone()];
            all.extend_from_slice(more);
            is_good(&asked, &all)
        };
        assert!(with(&[reference.clone(), second.clone()]));
        assert!(!with(&[reference.clone(), second.clone(), wrong]));
        assert!(!with(&[reference.clone(), second.clone(), failed]));
        assert!(!with(std::slice::from_ref(&second)));
        let other = answered(0, Program::Sequential, "six");
        assert!(!with(&[reference, other, second]), "two references");
    }

    #[test]
    fn elsewhere_answers_may_differ() {
        let asked = SweepRequest {
            experiment: None,
            ..experiment()
        };
        let records = ["five", "six"].map(|answer| answered(0, Program::Parallel, answer));
        assert!(is_good(&asked, &records));
    }
}
