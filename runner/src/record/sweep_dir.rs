//! A sweep's folder: the manifest is written atomically, and trials are only appended.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};

use crate::config::checkout::Checkout;
use crate::config::pick::plain;
use crate::record::manifest::Manifest;
use crate::record::trials_file::{self, Appender, Records};
use crate::stop::Stop;
use crate::system::whole_file::{self, write_json};

#[derive(Clone, Debug)]
pub(crate) struct SweepDir {
    path: PathBuf,
}

impl SweepDir {
    /// Makes the folder `parent/<manifest.name>` with manifest, host facts and no trials. Until the
    /// folder is complete, its name is `<name>.partial`; `fill` adds further files.
    pub(crate) fn create(
        parent: &Path,
        manifest: &Manifest,
        host: &Value,
        fill: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Self> {
        let path = parent.join(&manifest.name);
        if path.exists() {
            bail!(Stop::BadInput(format!(
                "{} exists already; choose another --output",
                path.display()
            )));
        }
        let partial = Self {
            path: parent.join(format!("{}.partial", manifest.name)),
        };
        let make = || -> Result<()> {
            fs::create_dir_all(&partial.path)?;
            write_json(&partial.path.join("host.json"), host)?;
            trials_file::create(&partial.path)?;
            fill(&partial.path)?;
            write_json(&partial.path.join("manifest.json"), manifest)?;
            fs::rename(&partial.path, &path)?;
            whole_file::sync_folder(parent)?;
            Ok(())
        };
        make().with_context(|| format!("the sweep's folder {} cannot be made", path.display()))?;
        Ok(Self { path })
    }

    /// Finds an existing sweep: `latest`, a name in `parent`, the beginning of such a name, or a
    /// path.
    pub(crate) fn find(checkout: &Checkout, parent: &Path, which: &str) -> Result<Self> {
        if which == "latest" {
            // The last name is the newest sweep, because names begin with the time of creation.
            return Self::all(parent).pop().ok_or_else(|| {
                let parent = checkout.shown(parent);
                Stop::BadInput(format!(
                    "no sweep in {parent}; `cargo runner sweep` makes one"
                ))
                .into()
            });
        }
        for path in [parent.join(which), PathBuf::from(which)] {
            let sweep = Self { path };
            if sweep.has_manifest() {
                return Ok(sweep);
            }
            if sweep.trials().is_file() {
                bail!(Stop::BadInput(format!(
                    "{} has trials, but no manifest.json, which describes them; restore a copy of \
                     it; the trials are unchanged",
                    checkout.shown(&sweep.path)
                )));
            }
        }
        let all = Self::all(parent);
        let mut begun = all.iter().filter(|sweep| sweep.name().starts_with(which));
        match (begun.next(), begun.next()) {
            (Some(only), None) => {
                return Ok(Self {
                    path: only.path.clone(),
                });
            }
            (Some(one), Some(other)) => bail!(Stop::BadInput(format!(
                "several sweeps in {} begin with `{which}`, such as {} and {}; write more of the name",
                checkout.shown(parent),
                one.name(),
                other.name(),
            ))),
            (None, _) => {}
        }
        let known: Vec<String> = all.iter().rev().take(5).map(Self::name).collect();
        bail!(Stop::BadInput(format!(
            "no sweep called `{which}` in {}; {}",
            checkout.shown(parent),
            if known.is_empty() {
                "there is none yet".to_owned()
            } else {
                format!("the newest are {}", known.join(", "))
            }
        )))
    }

    pub(crate) fn newest_unfinished(parent: &Path, host: &str) -> Option<Self> {
        Self::newest(parent, |manifest| {
            let is_ours = manifest.host == host || manifest.asked.machine.is_some();
            is_ours && !manifest.is_finished()
        })
    }

    pub(crate) fn newest(parent: &Path, is_it: impl Fn(&Manifest) -> bool) -> Option<Self> {
        let is_it = |sweep: &Self| sweep.manifest().is_ok_and(|manifest| is_it(&manifest));
        Self::all(parent).into_iter().rev().find(is_it)
    }

    pub(crate) fn all(parent: &Path) -> Vec<Self> {
        let folders = folders_in(parent).into_iter().map(|path| Self { path });
        folders.filter(Self::has_manifest).collect()
    }

    #[must_use]
    pub(crate) fn below(folder: &Path) -> Vec<Self> {
        let own = Self {
            path: folder.to_owned(),
        };
        if own.has_manifest() {
            return vec![own];
        }
        folders_in(folder)
            .iter()
            .flat_map(|folder| Self::below(folder))
            .collect()
    }

    fn has_manifest(&self) -> bool {
        self.path.join("manifest.json").is_file()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn name(&self) -> String {
        self.path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    pub(crate) fn trials(&self) -> PathBuf {
        trials_file::of(&self.path)
    }

    pub(crate) fn manifest(&self) -> Result<Manifest> {
        let path = self.path.join("manifest.json");
        let text = whole_file::read_text(&path)
            .map_err(|error| trials_file::unopened(&path, "read", &error))?;
        Manifest::parse(&text, &path.display().to_string())
    }

    pub(crate) fn host(&self) -> Result<Value> {
        let path = self.path.join("host.json");
        let text = whole_file::read_text(&path)
            .map_err(|error| trials_file::unopened(&path, "read", &error))?;
        let facts: serde_json::Result<Map<String, Value>> = serde_json::from_str(&text);
        facts.map(Value::Object).map_err(|error| {
            Stop::BadInput(format!(
                "{}: {}; the file is damaged; restore a copy of it; the trials beside it are unchanged",
                path.display(),
                plain(&error.to_string())
            ))
            .into()
        })
    }

    pub(crate) fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        let path = self.path.join("manifest.json");
        write_json(&path, manifest).with_context(|| format!("{} cannot be written", path.display()))
    }

    pub(crate) fn records(&self) -> Result<Records> {
        Records::open(self.trials())
    }

    pub(crate) fn appender(&self) -> Result<Appender> {
        Appender::open(&self.path)
    }

    pub(crate) fn pack(&self) -> Result<()> {
        if trials_file::is_packed(&self.trials()) {
            Ok(())
        } else {
            self.appender()?.pack()
        }
    }

    /// Checks that trials can be added to the sweep. Callers check this before the builds, which
    /// take minutes.
    pub(crate) fn check_writable(&self) -> Result<()> {
        let opened = whole_file::open(&self.trials(), OpenOptions::new().append(true));
        let probed = opened.and_then(|_| tempfile::NamedTempFile::new_in(&self.path));
        probed.map(drop).map_err(|error| {
            Stop::HostNotFit(format!(
                "{0}: no trial can be added to this sweep: {1}; mend that (permissions? disk full? read-only?), \
                 then resume {0} again: its records are unchanged",
                self.path.display(),
                without_path(&error)
            ))
            .into()
        })
    }
}

fn folders_in(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_whole =
        |path: &PathBuf| path.is_dir() && path.extension().is_none_or(|it| it != "partial");
    let mut folders: Vec<PathBuf> = entries.filter(is_whole).collect();
    folders.sort();
    folders
}

/// Checks that sweeps can be made in a folder. Callers check this before the builds, which take
/// minutes.
pub(crate) fn check_parent(parent: &Path) -> Result<()> {
    let probe = || {
        fs::create_dir_all(parent)?;
        tempfile::NamedTempFile::new_in(parent).map(drop)
    };
    probe().map_err(|error| {
        Stop::HostNotFit(format!(
            "{}: no sweep can be written there: {}; mend that, or choose a folder with --output",
            parent.display(),
            without_path(&error)
        ))
        .into()
    })
}

/// Removes the random name of a temporary file from an error, since such a name helps no reader.
fn without_path(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" at path ")
        .map_or(text.as_str(), |(reason, _)| reason)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_unfinished_sweep_is_of_this_host_and_has_no_finished_last_run() {
        let sweeps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/sweeps");
        let committed = SweepDir::all(&sweeps).remove(0).manifest().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let add = |name: &str, host: &str, end: &str| {
            let mut manifest = Manifest {
                name: name.to_owned(),
                ..committed.clone()
            };
            host.clone_into(&mut manifest.host);
            end.clone_into(&mut manifest.runs.last_mut().unwrap().end);
            SweepDir::create(folder.path(), &manifest, &Value::Null, |_| Ok(())).unwrap();
        };
        add("1", "here", "interrupted");
        add("2", "here", "killed");
        add("3", "elsewhere", "killed");
        add("4", "here", "finished");
        let found = |host| SweepDir::newest_unfinished(folder.path(), host).map(|it| it.name());
        assert_eq!(found("here").as_deref(), Some("2"));
        assert_eq!(found("nowhere"), None);
    }

    #[test]
    fn facts_of_a_host_are_an_object_and_anything_else_is_bad_input_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let sweep = SweepDir {
            path: folder.path().to_owned(),
        };
        let path = folder.path().join("host.json");
        let nested = "[".repeat(100_000);
        for text in ["[]", "null", "", "{", &nested] {
            fs::write(&path, text).unwrap();
            let error = sweep.host().unwrap_err();
            let said = error.to_string();
            assert!(said.contains("host.json: "), "{said}");
            assert!(said.contains("restore a copy"), "{said}");
            assert_eq!(crate::exit::exit_of(&error), crate::stop::Exit::BadInput);
        }
        fs::write(&path, "{\"cpu\": {}}").unwrap();
        assert!(sweep.host().unwrap()["cpu"].is_object());
    }
}
