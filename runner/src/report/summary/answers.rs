//! Whether every cell gave the answer of the sequential program: the table of experiments about
//! correctness.

use std::fmt::Write as _;

use anyhow::Result;
use protocol::Program;
use serde::Serialize;

use super::Summary;
use crate::report::table::{Format, data};

/// The trials of one branch on one instance, all thread counts together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// Workload.
    pub workload: String,
    /// Parameters in which instances of the same sequential program differ.
    pub way: String,
    /// Parameters in which sequential programs differ.
    pub instance: String,
    /// The answer of the sequential program; `None` if no trial of it succeeded, or they disagree.
    pub expected: Option<String>,
    /// Branch.
    pub branch: String,
    /// Trials, failed ones included.
    pub trials: usize,
    /// Of which gave the expected answer.
    pub agreeing: usize,
    /// Of which hung: the program itself noticed that it got no further.
    pub hung: usize,
    /// Of which failed otherwise: crashed, ran out of time.
    pub failed: usize,
}

impl Agreement {
    /// Whether there is something to agree with, and all trials do.
    pub(crate) fn is_proven(&self) -> bool {
        self.expected.is_some() && self.trials > 0 && self.agreeing == self.trials
    }

    /// `3/4`, and what became of the others.
    fn share(&self) -> String {
        let Self {
            branch,
            trials,
            agreeing,
            hung,
            failed,
            ..
        } = self;
        let others = trials - agreeing - hung - failed;
        // Without a reference an answer cannot be judged.
        let wrong = if *trials == 0 || self.expected.is_none() || others > 0 {
            " WRONG"
        } else {
            ""
        };
        let told = [(*hung, "hung"), (*failed, "failed")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect::<Vec<_>>();
        let told = if told.is_empty() {
            String::new()
        } else {
            format!(" ({})", told.join(", "))
        };
        format!("{branch} {agreeing}/{trials}{wrong}{told}")
    }
}

impl Summary {
    /// One row for each instance and branch, in the order of the plan; only of experiments about
    /// answers.
    pub(crate) fn agreements(&self) -> Vec<Agreement> {
        let asked = &self.asked;
        let mut rows = Vec::new();
        for (index, load) in asked.workloads.iter().enumerate() {
            let reference = asked.sequential_load(index);
            let known = self.answers(reference, Program::Sequential, |_| true).good;
            let expected = (known.len() == 1)
                .then(|| known.into_keys().next())
                .flatten();
            let (ignored, kept): (Vec<_>, Vec<_>) = asked
                .differing_parameters(index)
                .into_iter()
                .partition(|(name, _)| asked.is_ignored_by_sequential(name));
            let words = |parameters: Vec<(&str, &str)>| {
                parameters
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect::<Vec<_>>()
            };
            let (way, instance) = (words(ignored).join(" "), words(kept).join(" "));
            for branch in &asked.branches {
                let is_own = |name: usize| self.names[name] == *branch;
                let own = self.answers(index, Program::Parallel, is_own);
                let agreeing = expected
                    .as_ref()
                    .and_then(|expected| own.good.get(expected));
                rows.push(Agreement {
                    workload: load.workload.clone(),
                    way: way.clone(),
                    instance: instance.clone(),
                    expected: expected.clone(),
                    branch: branch.clone(),
                    trials: own.trials,
                    agreeing: agreeing.copied().unwrap_or(0),
                    hung: own.hung,
                    failed: own.trials - own.hung - own.good.values().sum::<usize>(),
                });
            }
        }
        rows
    }
}

/// The rows as text that ends with a line end.
pub(crate) fn answers_table(rows: &[Agreement], format: Format) -> Result<String> {
    Ok(match data(rows, format)? {
        Some(text) => text,
        None => grouped(rows),
    })
}

/// So many branches have their shares on one line; more of them have one together if all are right,
/// else a line each.
const MOST_NAMED: usize = 2;

/// A heading for each sequential program, a line for each way, a share for each branch.
fn grouped(rows: &[Agreement]) -> String {
    let mut instances: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        let instance = (row.workload.as_str(), row.instance.as_str());
        if !instances.contains(&instance) {
            instances.push(instance);
        }
    }
    let width = rows.iter().map(|row| row.way.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (workload, instance) in instances {
        let own: Vec<&Agreement> = rows
            .iter()
            .filter(|row| row.workload == workload && row.instance == instance)
            .collect();
        let expected = own[0].expected.as_deref().unwrap_or("nothing certain");
        let _ = writeln!(
            text,
            "{workload} {instance}\nthe sequential program gives: {expected}\n"
        );
        for way in own.chunk_by(|a, b| a.way == b.way) {
            let _ = write!(text, "  {:width$}", way[0].way);
            if way.len() > MOST_NAMED && way.iter().all(|row| row.is_proven()) {
                let trials: usize = way.iter().map(|row| row.trials).sum();
                let _ = writeln!(text, "   {} branches {trials}/{trials}", way.len());
                continue;
            }
            let between = if way.len() > MOST_NAMED {
                format!("\n  {:width$}   ", "")
            } else {
                "   ".to_owned()
            };
            let shares: Vec<String> = way.iter().map(|row| row.share()).collect();
            let _ = writeln!(text, "   {}", shares.join(&between));
        }
        text.push('\n');
    }
    let proven = rows.iter().filter(|row| row.is_proven()).count();
    let trials: usize = rows.iter().map(|row| row.trials).sum();
    let agreeing: usize = rows.iter().map(|row| row.agreeing).sum();
    let _ = writeln!(
        text,
        "{agreeing} of {trials} trials give the sequential program's answer; {proven} of {} rows are \
         proven",
        rows.len()
    );
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{asked, record, summary};
    use super::*;
    use crate::plan::{Asked, Definition, Figure, Load};
    use crate::record::{Ending, Record};

    fn agreements(asked: &Asked, records: &[Record]) -> Vec<Agreement> {
        summary(asked, records).agreements()
    }

    fn experiment() -> Asked {
        let load = |depth: &str, generator: &str| Load {
            workload: "packets".to_owned(),
            size: "tiny".to_owned(),
            parameters: [("depth", depth), ("generator", generator)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            input: None,
        };
        Asked {
            branches: vec!["master".to_owned()],
            workloads: vec![
                load("8", "uniform"),
                load("32", "uniform"),
                load("8", "skewed"),
            ],
            experiment: Some(Definition {
                name: "made-up".to_owned(),
                shows: String::new(),
                source: String::new(),
                figure: Figure::Answers,
                sequential_ignores: vec!["depth".to_owned()],
                ..Definition::default()
            }),
            ..asked()
        }
    }

    fn answered(asked: &Asked, load: usize, program: Program, answer: &str) -> Record {
        let load = &asked.workloads[load];
        Record {
            workload: load.workload.clone(),
            size: load.size.clone(),
            parameters: load.parameters.clone(),
            answer: Some(answer.to_owned()),
            ..record("master", program, 1, 0, 1)
        }
    }

    #[test]
    fn one_sequential_run_is_the_reference_of_all_that_differ_in_ignored_parameters() {
        let asked = experiment();
        assert_eq!([0, 1, 2].map(|load| asked.sequential_load(load)), [0, 0, 2]);
        let records = [
            answered(&asked, 0, Program::Sequential, "five"),
            answered(&asked, 0, Program::Parallel, "five"),
            answered(&asked, 1, Program::Parallel, "five"),
            answered(&asked, 2, Program::Sequential, "six"),
            answered(&asked, 2, Program::Parallel, "six"),
        ];
        let rows = agreements(&asked, &records);
        assert!(rows.iter().all(Agreement::is_proven), "{rows:?}");
        assert_eq!(
            (rows[1].way.as_str(), rows[1].instance.as_str()),
            ("depth=32", "generator=uniform")
        );
    }

    #[test]
    fn another_answer_a_failed_trial_and_a_missing_reference_prove_nothing() {
        let asked = experiment();
        let good = answered(&asked, 0, Program::Sequential, "five");
        let wrong = answered(&asked, 0, Program::Parallel, "four");
        assert!(!agreements(&asked, &[good.clone(), wrong])[0].is_proven());
        let right = answered(&asked, 0, Program::Parallel, "five");
        let failed = Record {
            outcome: Ending::Timeout,
            answer: None,
            ..right.clone()
        };
        assert!(!agreements(&asked, &[good.clone(), right.clone(), failed])[0].is_proven());
        assert!(!agreements(&asked, &[right])[0].is_proven());
        let text = answers_table(&agreements(&asked, &[good]), Format::Table).unwrap();
        assert!(text.contains("master 0/0 WRONG"), "{text}");
    }

    #[test]
    fn many_branches_have_one_share_together_unless_one_of_them_is_wrong_or_fails() {
        let row = |branch: &str, agreeing, hung, failed| Agreement {
            expected: Some("five".to_owned()),
            branch: branch.to_owned(),
            trials: 4,
            agreeing,
            hung,
            failed,
            ..Agreement::default()
        };
        let table = |agreeing, hung, failed| {
            let last = row("split-counters", agreeing, hung, failed);
            let rows = [row("master", 4, 0, 0), row("packed", 4, 0, 0), last];
            answers_table(&rows, Format::Table).unwrap()
        };
        assert!(
            table(4, 0, 0).contains("   3 branches 12/12\n"),
            "{}",
            table(4, 0, 0)
        );
        let wrong = table(3, 0, 0);
        assert!(
            wrong.contains("   packed 4/4\n     split-counters 3/4 WRONG\n"),
            "{wrong}"
        );
        let failed = table(1, 2, 1);
        assert!(
            failed.contains("     split-counters 1/4 (2 hung, 1 failed)\n"),
            "{failed}"
        );
    }
}
