//! Options that several commands share, and the folder in which a command works.

pub(crate) mod meaning;
pub(crate) mod selection;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use serde::Serialize;

use crate::config::checkout::Checkout;
use crate::config::spec::Reader;
use crate::config::{Config, folder_of};
use crate::host::Host;
use crate::host::frequency::Setup;
use crate::host::frequency::sysfs::BackendChoice;
use crate::plan::{Definition, FREQUENCY_HEADING as HEADING, Shard, SweepRequest, machine_box};
use crate::record::sweep_dir::SweepDir;
use crate::stop::Stop;
use crate::text::output::{json, print};

#[derive(Debug, Args)]
pub(crate) struct Globals {
    /// The checkout [default: the nearest folder upwards with branches.toml and workloads/]
    #[arg(long, global = true, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The file of branches under comparison [default: branches.toml of the checkout]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Globals {
    pub(crate) fn place(&self) -> Result<Project> {
        let checkout = Checkout::find(self.root.as_deref())?;
        let config = self
            .config
            .clone()
            .unwrap_or_else(|| checkout.root().join("branches.toml"));
        Ok(Project { checkout, config })
    }
}

/// Reads the path of a folder that replaces a folder of the system. The path must exist, since
/// missing files would look like unknown facts.
pub(crate) fn host_folder(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    if path.is_dir() {
        return Ok(path);
    }
    Err("no such folder; name one that holds the files of a host".to_owned())
}

pub(crate) fn host_root(path: &str) -> Result<PathBuf, String> {
    let root = host_folder(path)?;
    if ["proc", "sys"].iter().any(|it| root.join(it).is_dir()) {
        return Ok(root);
    }
    Err("neither `proc` nor `sys` is there; name the root of a host".to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ListFormat {
    Table,
    Json,
}

impl ListFormat {
    pub(crate) fn print(self, it: &(impl Serialize + Display)) -> Result<()> {
        let text = if self == Self::Json {
            json(it)?
        } else {
            it.to_string()
        };
        print(&text)
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Selection {
    /// Starting point: smoke, quick, full, simulated or box; options override it [default: quick;
    /// with --machine: simulated; with --box: box]
    #[arg(long, value_name = "NAME", conflicts_with = "experiment")]
    pub(crate) preset: Option<String>,
    /// Named starting point for one table or figure; see `list experiments`
    #[arg(long, value_name = "NAME")]
    pub(crate) experiment: Option<String>,
    #[command(flatten)]
    pub(crate) definition: Definition,
    /// NAME=VALUE or WORKLOAD.NAME=VALUE; may be repeated; see `list workloads`
    #[arg(long = "parameter", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Instance file, for workloads that read such a file
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Run on a simulated machine: a name in `list machines`
    #[arg(long, value_name = "NAME",
          conflicts_with_all = ["allow_uncontrolled", "frequency_backend", "frequency_journal", "host"])]
    pub(crate) machine: Option<String>,
    /// Simulate MACHINES machines, whose cost parameters are drawn from the ranges in
    /// machines/box.toml. Shows whether a branch is faster, or slower, on at least 90 % of such
    /// machines. With --machine, all have its topology and frequencies [without a number: 60]
    #[arg(id = "box", long, value_name = "MACHINES", num_args = 0..=1, require_equals = true,
          default_missing_value = "60", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) points: Option<u32>,
    /// Seed of the order of trials and of the workloads' inputs [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Seconds after which the runner kills a trial and records a failure; CPU time on a simulated
    /// machine [default: 60; with `compare --program`: 600]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = positive_seconds)]
    pub(crate) timeout: Option<f64>,
    /// Run one part of the plan, such as 2/4, while identical machines run the other parts; see
    /// `merge`
    #[arg(long, value_name = "NUMBER/COUNT")]
    pub(crate) shard: Option<Shard>,
    /// Omit the A/A control of the baseline; without this control the noise floor is unknown
    #[arg(long)]
    pub(crate) no_twin: bool,
    /// Also run instrumented builds of the fork's branches: TRIALS trials per configuration that
    /// count scheduler events and are never timed [default: 2]
    #[arg(long, value_name = "TRIALS", num_args = 0..=1, require_equals = true,
          default_missing_value = "2", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) instrument: Option<u32>,
    /// Run `--mode fixed` even if this host cannot hold a frequency; the label of every trial says
    /// so
    #[arg(long, help_heading = HEADING)]
    pub(crate) allow_uncontrolled: bool,
    #[command(flatten)]
    pub(crate) frequency: FrequencyOptions,
}

impl Selection {
    pub(crate) fn machine(&self) -> Option<&str> {
        let points = self.points.map(|_| machine_box::NAME);
        points.or(self.machine.as_deref())
    }
}

pub(crate) fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(seconds),
        _ => Err(
            "write a positive number of seconds, at most 1000000, for example 60 or 0.5".to_owned(),
        ),
    }
}

/// Folder and backend of the frequency settings.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FrequencyOptions {
    /// Backend that writes the settings; `auto` takes the first backend that is permitted [default:
    /// auto]
    #[arg(long, value_enum, value_name = "BACKEND", help_heading = HEADING)]
    frequency_backend: Option<BackendChoice>,
    /// File that keeps the original settings until they are restored [default: one per host in
    /// /var/tmp]
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    frequency_journal: Option<PathBuf>,
    /// Folder to use instead of /, for tests; the runner then does not compare the measured clock
    /// with the set frequency
    #[arg(long, value_name = "DIR", hide = true, value_parser = host_root)]
    host: Option<PathBuf>,
}

impl FrequencyOptions {
    pub(crate) fn setup(&self) -> Setup {
        let host = self.host.as_deref().map_or_else(Host::default, Host::at);
        let journal = self.frequency_journal.as_deref();
        Setup::new(host, self.frequency_backend.unwrap_or_default(), journal)
    }
}

#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) checkout: Checkout,
    pub(crate) config: PathBuf,
}

impl Project {
    pub(crate) fn config(&self) -> Result<Config> {
        Ok(Config::read(&self.config)?)
    }

    pub(crate) fn named(&self, words: &[String]) -> Result<Config> {
        let reader = Reader {
            config: &self.config()?,
            here: &std::env::current_dir().context("the current folder cannot be read")?,
            config_folder: &self.config_folder()?,
        };
        Ok(reader.config(words).map_err(Stop::BadInput)?)
    }

    pub(crate) fn config_folder(&self) -> Result<PathBuf> {
        folder_of(&self.config)
            .with_context(|| format!("the folder of {} cannot be found", self.config.display()))
    }

    pub(crate) fn reference_to(&self, sweep: &SweepDir) -> String {
        let is_at_home = sweep
            .path()
            .parent()
            .and_then(|parent| parent.canonicalize().ok())
            == self.checkout.sweeps().canonicalize().ok();
        if is_at_home {
            sweep.name()
        } else {
            self.checkout.shown(sweep.path())
        }
    }

    /// Returns the instance file of each workload. `given` is the current path of the instance file
    /// of a resumed sweep.
    pub(crate) fn inputs(
        &self,
        asked: &SweepRequest,
        given: Option<&Path>,
    ) -> Result<Vec<Option<PathBuf>>> {
        let find = |input| selection::input_for_trials(input, self.checkout.root(), given);
        asked
            .workloads
            .iter()
            .map(|load| load.input.as_ref().map(find).transpose())
            .collect()
    }

    pub(crate) fn sweeps(&self, explicit: Option<&Path>) -> PathBuf {
        explicit.map_or_else(|| self.checkout.sweeps(), Path::to_owned)
    }
}
