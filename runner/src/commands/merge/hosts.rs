//! Adds the results that other hosts sent: unpacks them, checks every sweep as other commands do,
//! and prints what was added.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use toml::Table;

use crate::bundle::{self, BundleFile, Record};
use crate::host::doctor::Diagnosis;
use crate::options::Project;
use crate::record::summary::Summary;
use crate::record::sweep_dir::{self, SweepDir};
use crate::stop::{Exit, Stop};
use crate::system::whole_file;
use crate::text::output::{plain, print};
use crate::text::words::count;

pub(super) fn run(project: &Project, bundles: &[PathBuf], output: Option<&Path>) -> Result<Exit> {
    let default = project.checkout.root().join("results");
    let results = output.unwrap_or(&default);
    for path in bundles {
        sweep_dir::check_parent(results)?;
        // Folders are unpacked beside the target and then moved, so a folder that is at its final
        // place is complete.
        let temporary = tempfile::Builder::new()
            .prefix(".bundle-")
            .tempdir_in(results);
        let temporary =
            temporary.context("no temporary folder can be created to unpack the bundle")?;
        let name = path.display();
        let record = bundle::unpack(path, temporary.path())?;
        if record.is_quick && output.is_none() {
            bail!(Stop::BadInput(format!(
                "{name}: it was made with --quick, so its times mean nothing; name a separate folder with --output"
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
                "sweeps/{name} calls itself {} of host {}, or its host.json is of another host",
                manifest.name,
                manifest.host
            );
        }
        let planned = manifest.planned().with_context(|| {
            format!(
                "sweeps/{name} was begun by runner {}, which orders trials differently; merge it with that version",
                manifest.runner
            )
        })?;
        let (mut summary, _) = Summary::read(&sweep, &manifest)?;
        if let Some(error) = summary.broken.pop() {
            return Err(error);
        }
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

/// Moves new folders to their final places, and returns the new folders. If a folder exists with
/// other files, moves nothing.
fn place(
    from: &Path,
    results: &Path,
    record: &Record,
    files: &[BundleFile],
) -> Result<Vec<PathBuf>> {
    // A symbolic link without a target also occupies the place of a folder.
    let is_new = |folder: &PathBuf| results.join(folder).symlink_metadata().is_err();
    let new: Vec<PathBuf> = record.folders().into_iter().filter(is_new).collect();
    for (file, _) in files {
        let is_there = !new.iter().any(|folder| file.starts_with(folder));
        if is_there && fs::read(results.join(file)).ok() != Some(fs::read(from.join(file))?) {
            bail!(Stop::BadInput(format!(
                "{} already exists with other content; remove its folder to replace it",
                results.join(file).display()
            )));
        }
    }
    // The host's own folder is moved last: once it exists, the analysis reads the sweeps.
    for folder in new.iter().rev() {
        let to = results.join(folder);
        let parent = to.parent().unwrap_or(results);
        fs::create_dir_all(parent)
            .and_then(|()| fs::rename(from.join(folder), &to))
            .and_then(|()| whole_file::sync_folder(parent))
            .map_err(|error| {
                Stop::HostNotFit(format!(
                    "{}: cannot be moved there: {error}; mend that, then merge again",
                    to.display()
                ))
            })?;
    }
    Ok(new)
}
