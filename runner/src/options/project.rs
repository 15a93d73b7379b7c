//! Where a command works: a checkout and a file of branches.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::config::checkout::Checkout;
use crate::config::pick::GROUP;
use crate::config::spec::Reader;
use crate::config::{Config, folder_of};
use crate::options::selection;
use crate::plan::Asked;
use crate::record::sweep_dir::SweepDir;
use crate::stop::Stop;

/// Where a command works.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) checkout: Checkout,
    /// The file of branches.
    pub(crate) config: PathBuf,
}

impl Project {
    pub(crate) fn config(&self) -> Result<Config> {
        Ok(Config::read(&self.config)?)
    }

    /// The branches that words of the command line name, the first being the baseline.
    pub(crate) fn named(&self, words: &[String]) -> Result<Config> {
        let reader = Reader {
            config: &self.config()?,
            here: &std::env::current_dir().context("the current folder cannot be read")?,
            config_folder: &self.config_folder()?,
        };
        Ok(reader.config(words).map_err(Stop::BadInput)?)
    }

    /// The branches of a list in which one is in no file, as `compare` takes them: the first is the
    /// baseline.
    pub(crate) fn elsewhere(&self, list: Option<&str>) -> Result<Option<Config>> {
        let words: Vec<&str> = list.unwrap_or_default().split(',').map(str::trim).collect();
        let is_spec =
            |word: &&str| word.contains(':') && !word.trim_start_matches('!').starts_with(GROUP);
        let words = words
            .iter()
            .any(is_spec)
            .then(|| words.into_iter().map(str::to_owned).collect());
        words
            .map(|words: Vec<String>| self.named(&words))
            .transpose()
    }

    /// Folder that relative paths in the file of branches start from.
    pub(crate) fn config_folder(&self) -> Result<PathBuf> {
        folder_of(&self.config)
            .with_context(|| format!("the folder of {} cannot be found", self.config.display()))
    }

    /// Returns the word by which a command finds this sweep: its name, or its path where it lies
    /// elsewhere than in the checkout's folder of sweeps.
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

    /// Instance files, one for each of the workloads; `given` is where a resumed sweep's lies now.
    pub(crate) fn inputs(
        &self,
        asked: &Asked,
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
