//! Adds the results that other hosts sent: unpacks them, checks every sweep as any sweep is read,
//! and prints what was added.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use toml::Table;

use crate::bundle::{self, BundleFile, Record};
use crate::host::doctor::Diagnosis;
use crate::options::Project;
use crate::record::summary::{BrokenLines, Summary};
use crate::record::sweep_dir::{self, SweepDir};
use crate::stop::{Exit, Stop};
use crate::system::whole_file;
use crate::text::table::{plain, print};
use crate::text::words::count;

/// Adds bundles that `on-this-host` wrote to a folder of results.
pub(super) fn run(project: &Project, bundles: &[PathBuf], output: Option<&Path>) -> Result<Exit> {
    let default = project.checkout.root().join("results");
    let results = output.unwrap_or(&default);
    for path in bundles {
        sweep_dir::check_parent(results)?;
        // Unpacks into a temporary folder beside the target, and then moves folders. So a folder at
        // its place is always complete.
        let temporary = tempfile::Builder::new()
            .prefix(".bundle-")
            .tempdir_in(results);
        let temporary = temporary.context("no folder to unpack to")?;
        let name = path.display();
        let record = bundle::unpack(path, temporary.path())?;
        if record.is_quick && output.is_none() {
            bail!(Stop::BadInput(format!(
                "{name}: it was made with --quick, so its times mean nothing; name a folder of its own with --output"
            )));
        }
        let files = bundle::files(temporary.path(), &record)?;
        check(temporary.path(), &record, &files).map_err(|error| {
            let place = format!("{}/", temporary.path().display());
            let why = format!("{error:#}").replace(&place, "");
            Stop::BadInput(format!("{name}: {why}; nothing was taken from it"))
        })?;
        let new = place(temporary.path(), results, &record, &files)
            .with_context(|| format!("{name}: not taken"))?;
        let (cores, sweeps) = (record.cores, record.sweeps().count());
        tell!(
            "host {}: {}, {}, {}: {}",
            record.host,
            plain(&record.cpu).replace('\n', " "),
            count(cores, "core", "cores"),
            count(sweeps, "sweep", "sweeps"),
            if new.is_empty() {
                "all of it was already there"
            } else {
                "taken"
            }
        );
        let is_new = |(file, _): &&BundleFile| new.iter().any(|folder| file.starts_with(folder));
        let taken: Vec<BundleFile> = files.iter().filter(is_new).cloned().collect();
        print(&bundle::listed(&taken))?;
    }
    Ok(Exit::Good)
}

/// Checks that the unpacked files are text, that each has the format of its name, and that `show`
/// can read each sweep.
fn check(folder: &Path, record: &Record, files: &[BundleFile]) -> Result<()> {
    for (file, _) in files {
        let bad = |why: String| Stop::BadInput(format!("{}: {why}", file.display()));
        let place = folder.join(file);
        bundle::check_text(&place).map_err(bad)?;
        let is = |name: &str| file.ends_with(name);
        let text = || fs::read_to_string(&place).unwrap_or_default();
        if is("doctor.json") {
            serde_json::from_str::<Diagnosis>(&text()).map_err(|it| bad(it.to_string()))?;
        } else if is("here.toml") || is("charges-here.toml") {
            text().parse::<Table>().map_err(|it| bad(it.to_string()))?;
        }
    }
    for name in record.sweeps() {
        let place = folder.join("sweeps").join(name);
        let sweep = SweepDir::below(&place).pop();
        let sweep = sweep.with_context(|| format!("sweeps/{name} has no manifest.json"))?;
        let (manifest, facts) = (sweep.manifest()?, sweep.host()?);
        let is_of_host = manifest.host == record.host || manifest.asked.machine.is_some();
        if manifest.name != name || !is_of_host || facts["id"] != *manifest.host {
            bail!(
                "sweeps/{name} calls itself {} of host {}, or its host.json is of another",
                manifest.name,
                manifest.host
            );
        }
        // The number of trials alone would prove nothing without the plan.
        let planned = manifest.planned().with_context(|| {
            format!(
                "sweeps/{name} was begun by runner {}, which orders trials differently; merge it with that version",
                manifest.runner
            )
        })?;
        let (summary, _) = Summary::read(&sweep, &manifest, BrokenLines::Refused)?;
        if summary.trials != planned.len() || manifest.trials_planned != planned.len() {
            bail!(
                "sweeps/{name} has {} of {} trials; only finished sweeps can be added",
                summary.trials,
                planned.len()
            );
        }
    }
    Ok(())
}

/// Moves new folders to their places, and returns them. If a folder exists with other files, moves
/// nothing.
fn place(
    from: &Path,
    results: &Path,
    record: &Record,
    files: &[BundleFile],
) -> Result<Vec<PathBuf>> {
    let mut new = record.folders();
    // A link without a target also occupies the place.
    new.retain(|folder| results.join(folder).symlink_metadata().is_err());
    for (file, _) in files {
        let is_there = !new.iter().any(|folder| file.starts_with(folder));
        if is_there && fs::read(results.join(file)).ok() != Some(fs::read(from.join(file))?) {
            bail!(Stop::BadInput(format!(
                "{} already exists with other content; remove its folder to replace it",
                results.join(file).display()
            )));
        }
    }
    for (number, folder) in new.iter().enumerate() {
        let to = results.join(folder);
        let parent = to.parent().unwrap_or(results);
        let moved = fs::create_dir_all(parent)
            .and_then(|()| fs::rename(from.join(folder), &to))
            .and_then(|()| whole_file::sync_folder(parent));
        if let Err(error) = moved {
            // All or nothing: moves the folders back into the temporary folder.
            for folder in &new[..=number] {
                let _ = fs::rename(results.join(folder), from.join(folder)); // the first error says more
            }
            bail!(Stop::HostNotFit(format!(
                "{}: cannot be moved there: {error}; mend that, or choose a folder with --output",
                to.display()
            )));
        }
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::exit_of;

    /// A record of one sweep, whose folder and the host's are in both folders.
    fn mock(from: &Path) -> (Record, Vec<BundleFile>) {
        let text = r#"{"schema": 1, "host": "h", "cpu": "x", "cores": 1, "cpus": 1, "is_virtual": null,
            "is_quick": false, "begun_at": "", "checkout": {"commit": null, "dirty": false},
            "steps": [{"step": "study", "made": "s", "seconds": 1}]}"#;
        let own = from.join("hosts/h");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("record.json"), text).unwrap();
        fs::create_dir_all(from.join("sweeps/s")).unwrap();
        fs::write(from.join("sweeps/s/host.json"), "{}").unwrap();
        let record = Record::read(&own).unwrap().unwrap();
        let files = bundle::files(from, &record).unwrap();
        (record, files)
    }

    /// Creates an obstacle in the target folder.
    type InTheWay<'a> = &'a dyn Fn(&Path);

    #[test]
    fn where_one_folder_cannot_be_put_none_is() {
        // The host's folder is moved last: a link, and a file in place of its parent.
        let link = |to: &Path| {
            fs::create_dir(to.join("hosts")).unwrap();
            std::os::unix::fs::symlink("nowhere", to.join("hosts/h")).unwrap();
        };
        let file = |to: &Path| fs::write(to.join("hosts"), "mine").unwrap();
        let cases: [(InTheWay<'_>, _, _); 2] = [
            (&link, Exit::BadInput, "already exists with other content"),
            (&file, Exit::HostNotFit, "hosts/h: cannot be moved there: "),
        ];
        for (in_the_way, exit, says) in cases {
            let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
            let [from, to] = folders.each_ref().map(tempfile::TempDir::path);
            let (record, files) = mock(from);
            in_the_way(to);
            let error = place(from, to, &record, &files).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert_eq!(exit_of(&error), exit);
            assert!(!to.join("sweeps/s").exists(), "{error}");
        }
    }
}
