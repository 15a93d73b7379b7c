//! Puts the sweeps and the record that another host sent where this checkout has its own.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::kit::parcel::Files;
use crate::kit::{archive, contents};
use crate::options::project::Project;
use crate::stop::{Exit, Stop};
use crate::system::whole_file;
use crate::text::table::print;
use crate::text::words::count;

/// A folder of an archive.
struct Part {
    /// Below the folder of results.
    path: String,
    /// By name.
    files: Files,
    is_there: bool,
}

/// Takes archives that `on-this-host` wrote into a folder of results.
pub(super) fn run(project: &Project, archives: &[PathBuf], output: Option<&Path>) -> Result<Exit> {
    let default = project.checkout.root().join("results");
    let results = output.unwrap_or(&default);
    for path in archives {
        let (record, files) = archive::read(path)?;
        let name = path.display();
        if record.is_quick && output.is_none() {
            bail!(Stop::BadInput(format!(
                "{name}: it was made with --quick, so its times mean nothing; name a folder of its own with --output"
            )));
        }
        contents::check(&name.to_string(), &files, &record)?;
        let mut parts = parts(files);
        for part in &mut parts {
            part.is_there = is_there(&results.join(&part.path), &part.files)
                .with_context(|| Stop::BadInput(format!("{name}: nothing was unpacked")))?;
        }
        place(results, &parts)
            .with_context(|| Stop::BadInput(format!("{name}: not all of it was unpacked")))?;
        let new = parts.iter().filter(|part| !part.is_there).count();
        tell!(
            "host {}: {}, {}, {}: {}",
            record.host,
            record.cpu,
            count(record.cores, "core", "cores"),
            count(record.sweeps().count(), "sweep", "sweeps"),
            if new == 0 {
                "all of it was there already"
            } else {
                "taken"
            }
        );
        for part in parts.iter().filter(|part| !part.is_there) {
            let taken = project.checkout.shown(&results.join(&part.path));
            print(&format!("{taken}\n"))?;
        }
    }
    Ok(Exit::Good)
}

/// The folders of an archive; the host's own comes last, since with it the host is known.
fn parts(files: Files) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (path, content) in files.into_iter().rev() {
        let Some((folder, name)) = path.rsplit_once('/') else {
            continue;
        };
        match parts.last_mut().filter(|part| part.path == folder) {
            Some(part) => _ = part.files.insert(name.to_owned(), content),
            None => parts.push(Part {
                path: folder.to_owned(),
                files: Files::from([(name.to_owned(), content)]),
                is_there: false,
            }),
        }
    }
    parts
}

/// Whether a folder is there and has these files; refuses to touch one that has others under their
/// names.
fn is_there(folder: &Path, files: &Files) -> Result<bool> {
    if !folder.exists() {
        return Ok(false);
    }
    for (name, content) in files {
        if fs::read(folder.join(name)).ok().as_ref() != Some(content) {
            bail!(Stop::BadInput(format!(
                "{} is there already, and its {name} is another; remove the folder if this one is to take its place",
                folder.display()
            )));
        }
    }
    Ok(true)
}

/// Makes the folders that are not there, each whole or not at all.
fn place(results: &Path, parts: &[Part]) -> Result<()> {
    for part in parts.iter().filter(|part| !part.is_there) {
        let folder = results.join(&part.path);
        let partial = PathBuf::from(format!("{}.partial", folder.display()));
        if partial.exists() {
            fs::remove_dir_all(&partial)?;
        }
        fs::create_dir_all(&partial)?;
        for (name, content) in &part.files {
            whole_file::write(&partial.join(name), |file| file.write_all(content))?;
        }
        fs::rename(&partial, &folder)?;
        whole_file::sync_folder(folder.parent().unwrap_or(results))?;
    }
    Ok(())
}
