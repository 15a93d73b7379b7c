//! What a row of `branches.toml` claims before the sweep, so that a machine can check it afterwards.

use serde::{Deserialize, Serialize};
use serde_spanned::Spanned;

use super::{ConfigError, check::Place, wire};
use crate::catalogue;
use crate::pick::pick;

/// A hypothesis in a form that can be held, refuted or left open by trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What the branch is said to be.
    pub expect: Expectation,
    /// The branch that it is compared with; `None`: the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The workloads it is about; empty: all that were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// The thread counts it is about, for example `16..=cpus`; `None`: all that were measured. The words
    /// stand for what the measured host has, so the analysis resolves them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<String>,
    /// Which cost it is about.
    #[serde(default)]
    pub figure: Figure,
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let expect = match self.expect {
            Expectation::Faster => "faster than",
            Expectation::Slower => "slower than",
            Expectation::Equal => "equal to",
            Expectation::NoFaster => "no faster than",
            Expectation::NoSlower => "no slower than",
        };
        write!(f, "{expect} {}", self.against.as_deref().unwrap_or("the baseline"))?;
        if self.figure == Figure::Cpu {
            write!(f, " in CPU time")?;
        }
        if !self.workloads.is_empty() {
            let names = catalogue::names().into_iter();
            let others: Vec<&str> =
                names.filter(|name| !self.workloads.iter().any(|it| it == name)).collect();
            if others.len() < self.workloads.len() {
                write!(f, ", all workloads but {}", others.join(", "))?;
            } else {
                write!(f, ", workloads {}", self.workloads.join(", "))?;
            }
        }
        if let Some(threads) = &self.threads {
            write!(f, ", threads {threads}")?;
        }
        Ok(())
    }
}

/// What a branch may be expected to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// Less than the other branch.
    Faster,
    /// More than the other branch.
    Slower,
    /// Neither, within a margin that the analysis names.
    Equal,
    /// Equal or slower.
    NoFaster,
    /// Equal or faster.
    NoSlower,
}

/// The cost that is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Wall time per unit of work.
    #[default]
    Time,
    /// CPU time per unit of work.
    Cpu,
}

/// Checks the claims of one row; `branches` are all names of the file.
pub(super) fn check(
    place: &Place<'_>,
    branch: &str,
    claims: &[Spanned<wire::Claim>],
    branches: &[String],
) -> Result<Vec<Claim>, ConfigError> {
    let check = |written: &Spanned<wire::Claim>| {
        let claim = written.get_ref();
        let wrong = |at: usize, why: String| place.at(at, format!("branch `{branch}`: {why}"));
        if let Some(against) = &claim.against {
            let other = against.get_ref();
            if other == branch || !branches.contains(other) {
                let known: Vec<&str> =
                    branches.iter().map(String::as_str).filter(|name| *name != branch).collect();
                return Err(wrong(
                    against.span().start,
                    format!(
                        "`against = \"{other}\"` is no other branch; known: {}",
                        known.join(", ")
                    ),
                ));
            }
        }
        let workloads = match &claim.workloads {
            None => Vec::new(),
            Some(list) => {
                let known = catalogue::names();
                pick("`workloads`", "workload", list.get_ref(), &known)
                    .map_err(|error| wrong(list.span().start, error.to_string()))?
                    .into_iter()
                    .map(str::to_owned)
                    .collect()
            }
        };
        if let Some(threads) = &claim.threads {
            check_threads(threads.get_ref()).map_err(|why| wrong(threads.span().start, why))?;
        }
        Ok(Claim {
            expect: claim.expect,
            against: claim.against.as_ref().map(|name| name.get_ref().clone()),
            workloads,
            threads: claim.threads.as_ref().map(|range| range.get_ref().clone()),
            figure: claim.figure,
        })
    };
    claims.iter().map(check).collect()
}

/// One thread count or a range whose ends may be left out, each end a number, `cores` or `cpus`.
fn check_threads(range: &str) -> Result<(), String> {
    let wrong = || {
        format!(
            "`threads = \"{range}\"` is no range of thread counts; write for example \"8\", \"8..\", \
             \"..=cpus\" or \"16..=cores\""
        )
    };
    let number = |text: &str| match text {
        "cores" | "cpus" => Ok(None),
        _ => text.parse().ok().filter(|&count: &u32| count > 0).map(Some).ok_or_else(wrong),
    };
    let (first, last) = match range.split_once("..") {
        None => return number(range).map(drop),
        Some((first, "")) => return number(first).map(drop),
        Some((first, last)) => (first, last.strip_prefix('=').ok_or_else(wrong)?),
    };
    let first = if first.is_empty() { None } else { number(first)? };
    let last = number(last)?;
    match (first, last) {
        (Some(first), Some(last)) if first > last => Err(wrong()),
        _ => Ok(()),
    }
}
