//! The pre-registered hypotheses of a row of `branches.toml`, in a form that the analysis checks
//! after the sweep.

use serde::{Deserialize, Serialize};

use crate::config::catalogue;

/// A hypothesis in a form that trials can confirm, falsify or leave open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// How the branch is expected to compare.
    pub expect: Expectation,
    /// The branch that it is compared with; `None`: the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The workloads it is about; empty: all that were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// The thread counts it is about, for example `16..=cpus`; `None`: all that were measured. The
    /// words stand for what the measured host has, so the analysis resolves them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<String>,
    /// Which cost it is about.
    #[serde(default, alias = "figure")]
    pub quantity: Quantity,
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
        write!(
            f,
            "{expect} {}",
            self.against.as_deref().unwrap_or("the baseline")
        )?;
        if self.quantity == Quantity::Cpu {
            write!(f, " in CPU time")?;
        }
        if !self.workloads.is_empty() {
            let names = catalogue::names().into_iter();
            let others: Vec<&str> = names
                .filter(|name| !self.workloads.iter().any(|it| it == name))
                .collect();
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

/// The outcomes that a hypothesis may expect of a branch.
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
pub enum Quantity {
    /// Wall time per unit of work.
    #[default]
    Time,
    /// CPU time per unit of work.
    Cpu,
}
