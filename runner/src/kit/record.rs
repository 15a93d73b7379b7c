//! `record.json`: which steps of `on-this-host` are done, and what each made. A second call goes on
//! from it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::config::checkout::Commit;
use crate::record::schema::check_schema;
use crate::stop::Stop;
use crate::system::whole_file;

/// Name of the file in a host's folder.
pub const RECORD: &str = "record.json";

/// A step of the work on a host, in the order of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The doctor's findings, which make times on this host doubtful: `doctor.json`.
    Doctor,
    /// The host's prices, for the machine `here`: `here.toml` and `charges-here.toml`.
    Calibrate,
    /// A sweep of the experiment `validation` on the machine `here`, finished before anything is
    /// measured.
    Predict,
    /// A sweep of the experiment `study`.
    Study,
    /// A sweep of the experiment `host-classics`.
    Classics,
    /// A sweep that measures what was predicted.
    Validate,
    /// Pages of the sweeps; not sent.
    Report,
}

impl Step {
    /// All of them, in order.
    pub(crate) const ALL: [Self; 7] = [
        Self::Doctor,
        Self::Calibrate,
        Self::Predict,
        Self::Study,
        Self::Classics,
        Self::Validate,
        Self::Report,
    ];

    /// Its name, as in the file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Doctor => "doctor",
            Self::Calibrate => "calibrate",
            Self::Predict => "predict",
            Self::Study => "study",
            Self::Classics => "classics",
            Self::Validate => "validate",
            Self::Report => "report",
        }
    }

    /// Whether it leaves a sweep, under whose name it is kept.
    pub(crate) fn is_sweep(self) -> bool {
        matches!(
            self,
            Self::Predict | Self::Study | Self::Classics | Self::Validate
        )
    }
}

/// A step that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    /// Which.
    pub step: Step,
    /// Name of the sweep or of the files that it made.
    pub made: String,
    /// How long it took in the call that ended it.
    pub seconds: u64,
}

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Version of the format.
    pub schema: u32,
    /// Short hash that stands for the machine.
    pub host: String,
    /// The model of its CPUs.
    pub cpu: String,
    /// Cores that trials may use.
    pub cores: usize,
    /// CPUs that they may use.
    pub cpus: usize,
    /// Whether a hypervisor runs beneath; null if the host does not show it.
    pub is_virtual: Option<bool>,
    /// Whether all was made tiny, to try the command out: times mean nothing.
    pub is_quick: bool,
    /// RFC 3339, UTC.
    pub begun_at: String,
    /// Commit of the checkout.
    pub checkout: Commit,
    /// The duration that older runners estimated, in seconds.
    #[serde(default, skip_serializing)]
    pub announced_s: Option<u64>,
    /// Steps that are done, in their order.
    pub steps: Vec<Done>,
}

impl Record {
    /// The record in a host's folder; `None` if there is none yet.
    ///
    /// # Errors
    /// [`Stop::BadInput`] if it is damaged or of another version.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(RECORD);
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, &path.display().to_string()).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
        }
    }

    /// A record from its text; `place` names it in errors.
    ///
    /// # Errors
    /// As [`Record::read`].
    pub fn parse(text: &str, place: &str) -> Result<Self> {
        check_schema(text, || place.to_owned())?;
        serde_json::from_str(text).map_err(|error| {
            Stop::BadInput(format!(
                "{place}: {error}; it is no record of `cargo runner on-this-host`, or one of another version"
            ))
            .into()
        })
    }

    /// Replaces the file as a whole.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(RECORD);
        let write = || {
            fs::create_dir_all(folder)?;
            whole_file::write_json(&path, self)
        };
        write().with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Returns the name of what a step made, if it is done.
    pub(crate) fn made(&self, step: Step) -> Option<&str> {
        self.steps
            .iter()
            .find(|done| done.step == step)
            .map(|done| done.made.as_str())
    }

    /// Names of the sweeps, in order.
    pub fn sweeps(&self) -> impl Iterator<Item = &str> {
        self.steps
            .iter()
            .filter(|done| done.step.is_sweep())
            .map(|done| done.made.as_str())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn record(steps: &[(Step, &str)]) -> Record {
        let done = |(step, made): &(Step, &str)| Done {
            step: *step,
            made: (*made).to_owned(),
            seconds: 1,
        };
        Record {
            schema: protocol::SCHEMA,
            host: "1a2b3c".to_owned(),
            cpu: "Made Up 9000".to_owned(),
            cores: 2,
            cpus: 4,
            is_virtual: Some(false),
            is_quick: false,
            begun_at: "2026-03-01T12:00:00Z".to_owned(),
            checkout: Commit {
                commit: Some("0123456789ab".to_owned()),
                dirty: Some(false),
            },
            announced_s: None,
            steps: steps.iter().map(done).collect(),
        }
    }

    #[test]
    fn what_is_written_is_read_again_and_no_file_is_no_record() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("1a2b3c");
        assert_eq!(Record::read(&own).unwrap(), None);
        let written = record(&[(Step::Doctor, "doctor.json"), (Step::Study, "a-sweep")]);
        written.write(&own).unwrap();
        let read = Record::read(&own).unwrap().unwrap();
        assert_eq!(read, written);
        assert_eq!(read.made(Step::Study), Some("a-sweep"));
        assert_eq!(read.sweeps().collect::<Vec<_>>(), ["a-sweep"]);
    }

    #[test]
    fn a_record_of_another_version_and_a_damaged_one_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["{\"schema\": 99}", "{\"schema\": 1, \"host\": 3}", "{"] {
            fs::write(folder.path().join(RECORD), text).unwrap();
            let error = format!("{:#}", Record::read(folder.path()).unwrap_err());
            assert!(error.contains(RECORD), "{error}");
        }
    }
}
