//! The interface of a workload.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use protocol::{Description, Metric, Refusal, Values};
use rayon::ThreadPool;

/// A program with a sequential version and a known answer.
pub trait Workload: Send + Sync {
    /// The workload's row of `workloads.toml`.
    fn description(&self) -> &Description;

    /// Builds the input and the known answer. This call is not timed.
    ///
    /// # Errors
    /// If the input file or a parameter's value cannot be used.
    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal>;
}

/// One input, ready for any number of runs.
///
/// A workload implements [`Instance::run_parallel`], or [`Instance::run_on`] if the workload itself
/// enters the pool.
pub trait Instance: Send {
    /// Restores the input and makes room for the answer. This call is not timed.
    fn reset(&mut self);

    /// Discards all data for [`Instance::metrics`], because the warm-up is over.
    fn forget_warmup(&mut self) {}

    /// Does the work on the calling thread alone; returns the units of work done. This call is
    /// timed.
    fn run_sequential(&mut self) -> u64;

    /// Does the work on the pool that the calling thread belongs to; returns the units of work
    /// done. This call is timed.
    ///
    /// # Panics
    ///
    /// If the workload implements [`Instance::run_on`] instead of this method.
    fn run_parallel(&mut self) -> u64 {
        unreachable!("this workload has `run_on` in place of `run_parallel`")
    }

    /// Does the work on `pool`, from an external thread; returns the units of work done. This call
    /// is timed.
    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        pool.install(|| self.run_parallel())
    }

    /// Compares the answer of the last run with the known answer. Returns the answer in a short
    /// printable form.
    ///
    /// # Errors
    ///
    /// If the answer is wrong.
    fn check(&mut self) -> Result<String, Mismatch>;

    /// Measured quantities other than time, work and throughput.
    fn metrics(&self) -> BTreeMap<String, Metric> {
        BTreeMap::new()
    }
}

/// The input of [`Workload::prepare`].
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Seed of all random choices.
    pub seed: u64,
    /// The parameters in force.
    pub values: &'a Values,
    /// The instance file.
    pub input: Option<&'a Path>,
    /// Threads of the pool on which the parallel program will run.
    pub threads: usize,
}

/// A wrong answer, with the known answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The known answer.
    pub expected: String,
    /// The answer of the program.
    pub actual: String,
}

impl Mismatch {
    /// Returns the answer if `expected` and `actual` are the same.
    ///
    /// # Errors
    /// If the two answers differ.
    pub fn unless_equal<T: PartialEq + fmt::Display>(
        expected: &T,
        actual: &T,
    ) -> Result<String, Self> {
        if expected == actual {
            Ok(actual.to_string())
        } else {
            Err(Self {
                expected: expected.to_string(),
                actual: actual.to_string(),
            })
        }
    }
}
