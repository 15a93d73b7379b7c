//! A host's results in one file: the host's folder of `results/hosts`, and the sweeps that the
//! host's record names. The code that unpacks a bundle trusts nothing in it, because anybody can
//! make such a file by hand.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use tar::{Archive, Builder, EntryType, Header};

use crate::config::checkout::Commit;
use crate::record::check_schema;
use crate::record::trials_file::{self, PACKED};
use crate::stop::Stop;
use crate::system::whole_file;

pub(crate) const ENDING: &str = ".tar.zst";

const RECORD: &str = "record.json";

const OF_HOST: [&str; 4] = [RECORD, "doctor.json", "here.toml", "charges-here.toml"];

const OF_SWEEP: [&str; 3] = ["manifest.json", "host.json", PACKED];

/// Limit of the unpacked size in bytes, far above that of one host's results.
const MOST_BYTES: u64 = 1 << 28;

/// Limit of the number of files, far above the number of one host's files.
const MOST_FILES: usize = 100;

/// Longest name of a sweep or a host, in bytes: well below the 255 that file systems accept.
const LONGEST_NAME: usize = 128;

/// Compression level: records are compressed already, so a higher level gains nothing.
const LEVEL: i32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Step {
    Doctor,
    Calibrate,
    /// A sweep of the experiment `validation` on the machine `here`.
    Predict,
    Study,
    Classics,
    /// A sweep of the experiment `predictions`, on hosts with enough cores.
    Predictions,
    /// A sweep of the experiment `validation` on the host.
    Validate,
    /// Pages that runners before 2026-12 drew.
    Report,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Done {
    pub step: Step,
    /// Name of the sweep or of the files that the step made.
    pub made: String,
    /// Duration of the step in the call that finished it.
    pub seconds: u64,
}

/// `record.json`: the steps of `on-this-host` that are done. A second call of the command continues
/// after these steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub schema: u32,
    /// Short hash that stands for the machine.
    pub host: String,
    pub cpu: String,
    /// Cores that trials may use.
    pub cores: usize,
    pub cpus: usize,
    /// Whether the host is a virtual machine; null if the host does not show this.
    pub is_virtual: Option<bool>,
    /// Whether all sizes were tiny, so that times mean nothing.
    pub is_quick: bool,
    /// When the first call of the command began (RFC 3339, UTC).
    pub begun_at: String,
    pub checkout: Commit,
    pub steps: Vec<Done>,
}

impl Record {
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(RECORD);
        let text = match whole_file::read_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("{} cannot be read", path.display()));
            }
        };
        check_schema(&text, || path.display().to_string())?;
        let record: Self = serde_json::from_str(&text).map_err(|error| {
            Stop::BadInput(format!(
                "{}: {error}; it is not a record of `cargo runner on-this-host`, or one of another version",
                path.display()
            ))
        })?;
        Ok(Some(record))
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(RECORD);
        fs::create_dir_all(folder)
            .and_then(|()| whole_file::write_json(&path, self))
            .with_context(|| format!("{} cannot be written", path.display()))
    }

    pub(crate) fn made(&self, step: Step) -> Option<&str> {
        let done = self.steps.iter().find(|done| done.step == step);
        done.map(|done| done.made.as_str())
    }

    pub(crate) fn sweeps(&self) -> impl Iterator<Item = &str> {
        let has_no_sweep = |step| matches!(step, Step::Doctor | Step::Calibrate | Step::Report);
        let sweeps = self.steps.iter().filter(move |it| !has_no_sweep(it.step));
        sweeps.map(|done| done.made.as_str())
    }

    /// Folders of the bundle, relative to the folder of results: the host's own folder, then the
    /// sweeps' folders.
    pub(crate) fn folders(&self) -> BTreeSet<PathBuf> {
        let sweeps = self.sweeps().map(|name| Path::new("sweeps").join(name));
        sweeps
            .chain([Path::new("hosts").join(&self.host)])
            .collect()
    }
}

/// A file of a bundle: its path, relative to the folder of results, and its size in bytes.
pub(crate) type BundleFile = (PathBuf, u64);

pub(crate) fn files(results: &Path, record: &Record) -> Result<Vec<BundleFile>> {
    let mut files = Vec::new();
    for folder in record.folders() {
        for name in OF_HOST.iter().chain(&OF_SWEEP) {
            let path = folder.join(name);
            match fs::metadata(results.join(&path)) {
                Ok(facts) => files.push((path, facts.len())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("{} cannot be read", path.display()));
                }
            }
        }
    }
    Ok(files)
}

pub(crate) fn listed(files: &[BundleFile]) -> String {
    let line = |(path, bytes): &BundleFile| format!("{bytes:>9} bytes  {}\n", path.display());
    files.iter().map(line).collect()
}

pub(crate) fn write(output: &Path, results: &Path, files: &[BundleFile]) -> Result<()> {
    let write = |out: &mut dyn io::Write| {
        let mut packer = zstd::Encoder::new(out, LEVEL)?;
        packer.include_checksum(true)?;
        let mut tar = Builder::new(packer);
        for (path, size) in files {
            let mut header = Header::new_gnu();
            header.set_size(*size);
            header.set_mode(0o644);
            let file = whole_file::open(&results.join(path), OpenOptions::new().read(true))?;
            tar.append_data(&mut header, path, file)?;
        }
        tar.into_inner()?.finish()?.flush()
    };
    whole_file::write(output, |out| write(out))
        .with_context(|| format!("{} cannot be written", output.display()))
}

/// Unpacks a bundle into an empty folder, and returns its record. Refuses a bundle that is damaged,
/// too large, or has anything but the files of one host and of its sweeps.
pub(crate) fn unpack(bundle: &Path, folder: &Path) -> Result<Record> {
    let name = bundle.display();
    let refused = |why: String| Stop::BadInput(format!("{name}: {why}; nothing was taken from it"));
    let damaged = |error: io::Error| {
        let why = error.to_string().escape_debug().to_string();
        refused(format!("it is damaged, or is not a {ENDING} file: {why}"))
    };
    let file = whole_file::open(bundle, OpenOptions::new().read(true))
        .map_err(|error| Stop::BadInput(format!("{name} cannot be read: {error}")))?;
    let text = zstd::Decoder::new(file).map_err(damaged)?;
    let mut tar = Archive::new(text.take(MOST_BYTES + 1));
    let mut found = BTreeSet::new();
    for (number, entry) in tar.entries().map_err(damaged)?.enumerate() {
        let mut entry = entry.map_err(damaged)?;
        let path = entry.path().map_err(damaged)?.into_owned();
        let shown = path.display().to_string().escape_debug().to_string();
        if entry.header().entry_type() != EntryType::Regular {
            bail!(refused(format!("`{shown}` is a link or no file")));
        }
        if number >= MOST_FILES {
            bail!(refused(format!("it has more than {MOST_FILES} files")));
        }
        if !is_known(&path) {
            bail!(refused(format!(
                "`{shown}` is not one of the files that `cargo runner on-this-host` packs"
            )));
        }
        let place = folder.join(&path);
        found.extend(path.parent().map(Path::to_owned));
        fs::create_dir_all(place.parent().unwrap_or(folder))?;
        let mut file = File::create_new(&place)
            .map_err(|error| refused(format!("`{shown}` is there twice: {error}")))?;
        io::copy(&mut entry, &mut file).map_err(damaged)?;
    }
    // The checksum of the compressed data follows the end of the archive.
    let mut rest = tar.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(damaged)?;
    if rest.limit() == 0 {
        bail!(refused(format!(
            "it has more than {} MiB",
            MOST_BYTES >> 20
        )));
    }
    let mut hosts = found.iter().filter(|it| it.starts_with("hosts"));
    let record = match (hosts.next(), hosts.next()) {
        (Some(own), None) => Record::read(&folder.join(own)).map_err(|error| {
            let place = format!("{}/", folder.display());
            refused(format!("{error:#}").replace(&place, ""))
        })?,
        _ => None,
    };
    let Some(record) = record else {
        bail!(refused(format!(
            "it does not have exactly one host with its {RECORD}, so `cargo runner on-this-host` did not make it"
        )));
    };
    // Names in a record are as untrusted as the rest of the bundle.
    if let Some(other) = record.folders().symmetric_difference(&found).next() {
        let other = other.display().to_string();
        bail!(refused(format!(
            "`{}` is only in the {RECORD} of host {}, or only among the files",
            other.escape_debug(),
            record.host.escape_debug()
        )));
    }
    Ok(record)
}

fn is_known(path: &Path) -> bool {
    let parts: Option<Vec<&str>> = path
        .components()
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = |name: &str| {
        !name.starts_with('.') && name.chars().all(is_plain) && name.len() <= LONGEST_NAME
    };
    match parts.as_deref() {
        Some(["hosts", name, file]) => is_name(name) && OF_HOST.contains(file),
        Some(["sweeps", name, file]) => is_name(name) && OF_SWEEP.contains(file),
        _ => false,
    }
}

/// Refuses a file that unpacks to more than [`MOST_BYTES`], or that has control characters, which
/// could change what a terminal shows.
pub(crate) fn check_text(file: &Path) -> Result<(), String> {
    let mut text = String::new();
    let opened = trials_file::Text::open(file);
    let read = opened.and_then(|it| it.take(MOST_BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("more than {} MiB come out of it", MOST_BYTES >> 20));
    }
    // JSON spells control characters as four digits, the first two of which are zeros.
    let is_control = |c: char| c.is_control() && !"\n\r\t".contains(c);
    if text.contains(is_control) || text.contains("\\u00") {
        return Err("it has control characters".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> (tempfile::TempDir, Record) {
        let folder = tempfile::tempdir().unwrap();
        let done = |step, made: &str| Done {
            step,
            made: made.to_owned(),
            seconds: 1,
        };
        let record = Record {
            schema: protocol::SCHEMA,
            host: "1a2b3c".to_owned(),
            cpu: "Mock 9000".to_owned(),
            cores: 2,
            cpus: 4,
            is_virtual: Some(false),
            is_quick: false,
            begun_at: "2026-03-01T12:00:00Z".to_owned(),
            checkout: Commit::default(),
            steps: vec![
                done(Step::Doctor, "doctor.json"),
                done(Step::Study, "2026-a-sweep"),
            ],
        };
        record.write(&folder.path().join("hosts/1a2b3c")).unwrap();
        let sweep = folder.path().join("sweeps/2026-a-sweep");
        fs::create_dir_all(&sweep).unwrap();
        for file in ["manifest.json", "host.json", PACKED, "notes-of-mine.txt"] {
            fs::write(sweep.join(file), file).unwrap();
        }
        (folder, record)
    }

    fn unpacked(bundle: &Path) -> Result<(tempfile::TempDir, Record), String> {
        let folder = tempfile::tempdir().unwrap();
        match unpack(bundle, folder.path()) {
            Ok(record) => Ok((folder, record)),
            Err(error) => Err(format!("{error:#}")),
        }
    }

    fn refused(entries: &[(&str, EntryType, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let mut tar = Builder::new(Vec::new());
        for (path, kind, content) in entries {
            let mut header = Header::new_gnu();
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_cksum();
            tar.append(&header, content.as_bytes()).unwrap();
        }
        let bundle = folder.path().join("hostile.tar.zst");
        let bytes = tar.into_inner().unwrap();
        fs::write(&bundle, zstd::encode_all(&*bytes, 1).unwrap()).unwrap();
        unpacked(&bundle).unwrap_err()
    }

    #[test]
    fn a_host_and_its_sweeps_are_unpacked_as_they_were_and_nothing_else_of_the_folders() {
        let (folder, record) = results();
        let bundles = ["one", "other"].map(|name| folder.path().join(name));
        let listed = files(folder.path(), &record).unwrap();
        for bundle in &bundles {
            write(bundle, folder.path(), &listed).unwrap();
        }
        assert_eq!(
            fs::read(&bundles[0]).unwrap(),
            fs::read(&bundles[1]).unwrap(),
            "no times, no owners"
        );
        let (to, read) = unpacked(&bundles[0]).unwrap();
        assert_eq!(read, record);
        assert_eq!(files(to.path(), &read).unwrap(), listed);
        assert_eq!(listed.len(), 4, "{listed:?}");
        let manifest = to.path().join("sweeps/2026-a-sweep/manifest.json");
        assert_eq!(fs::read_to_string(manifest).unwrap(), "manifest.json");
    }

    #[test]
    fn a_bundle_that_is_cut_off_or_changed_is_damaged() {
        let (folder, record) = results();
        let bundle = folder.path().join("it");
        let listed = files(folder.path(), &record).unwrap();
        write(&bundle, folder.path(), &listed).unwrap();
        let whole = fs::read(&bundle).unwrap();
        let mut changed = whole.clone();
        changed[whole.len() - 1] ^= 0x55;
        for content in [
            &b""[..],
            b"no archive",
            &whole[..whole.len() / 2],
            &whole[..whole.len() - 1],
            &changed,
        ] {
            fs::write(&bundle, content).unwrap();
            let error = unpacked(&bundle).unwrap_err();
            assert!(error.contains("nothing was taken"), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn what_is_no_file_of_one_host_is_refused_by_name() {
        let (folder, _) = results();
        let record = fs::read_to_string(folder.path().join("hosts/1a2b3c/record.json")).unwrap();
        let own = ("hosts/1a2b3c/record.json", EntryType::Regular, &*record);
        let elsewhere = record.replace("2026-a-sweep", "../../up");
        for path in [
            "../up/record.json",
            "/etc/passwd",
            "hosts/.hidden/record.json",
            "hosts/a b/record.json",
            "results/FINDINGS.md",
            "sweeps/a/trials.jsonl",
        ] {
            let error = refused(&[(path, EntryType::Regular, "")]);
            assert!(
                error.contains(&format!("`{path}` is not one of")),
                "{error}"
            );
        }
        let error = refused(&[(own.0, EntryType::Symlink, "")]);
        assert!(error.contains("is a link or no file"), "{error}");
        let many: Vec<String> = (0..=MOST_FILES)
            .map(|number| format!("sweeps/{number}/host.json"))
            .collect();
        let many = many.iter().map(|path| (path.as_str(), own.1, ""));
        for (entries, expected) in [
            (vec![own, own], "is there twice"),
            (many.collect(), "more than"),
            (vec![(own.0, own.1, "{}")], ": hosts/1a2b3c/record.json: "),
            (
                vec![("sweeps/a/host.json", own.1, "")],
                "not have exactly one host",
            ),
            (
                vec![own, ("hosts/b/here.toml", own.1, "")],
                "not have exactly one host",
            ),
            (
                vec![own, ("sweeps/other/host.json", own.1, "")],
                "`sweeps/2026-a-sweep` is only in",
            ),
            (
                vec![
                    (own.0, own.1, &*elsewhere),
                    ("sweeps/up/host.json", own.1, ""),
                ],
                "`sweeps/../../up` is only in",
            ),
        ] {
            let error = refused(&entries);
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn a_bundle_that_unpacks_to_more_than_a_host_has_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("bomb");
        let zeros = zstd::encode_all(io::repeat(0).take(MOST_BYTES + 1024), 1).unwrap();
        fs::write(&bundle, zeros).unwrap();
        assert!(unpacked(&bundle).unwrap_err().contains("more than 256 MiB"));
        let trials = folder.path().join(PACKED);
        fs::copy(&bundle, &trials).unwrap();
        let error = check_text(&trials).unwrap_err();
        assert!(error.contains("more than 256 MiB come out"), "{error}");
    }

    #[test]
    fn text_that_changes_what_a_terminal_shows_is_refused_written_or_escaped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("doctor.json");
        for (text, is_good) in [
            ("{\"seen\": \"a µ\\n\"}\n", true),
            ("\u{1b}[2J", false),
            ("{\"seen\": \"\\u001b[2J\"}", false),
            ("\u{9b}2J", false),
        ] {
            fs::write(&file, text).unwrap();
            assert_eq!(check_text(&file).is_ok(), is_good, "{text}");
        }
        fs::write(&file, b"\xff").unwrap();
        assert!(check_text(&file).unwrap_err().contains("cannot be read"));
    }
}
