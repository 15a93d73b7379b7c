//! The files of one host, by their paths below `results/`, and what such a collection must be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Result, bail};

use super::record::{RECORD, Record};
use crate::record::trials_file::PACKED;
use crate::stop::Stop;
use crate::system::digest;

/// Name of the list of checksums; `sha256sum --check` reads it, too.
pub const SUMS: &str = "SHA256SUMS";

/// Files of a sweep that travel.
const OF_SWEEP: [&str; 3] = ["manifest.json", "host.json", PACKED];

/// Files of a host that travel.
pub const OF_HOST: [&str; 4] = [RECORD, "doctor.json", "here.toml", "charges-here.toml"];

/// Contents by path below `results/`, such as `hosts/1a2b3c/record.json`.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Paths of a sweep's files.
#[must_use]
pub fn of_sweep(sweep: &str) -> [String; 3] {
    OF_SWEEP.map(|file| format!("sweeps/{sweep}/{file}"))
}

/// Paths that the archive of a host has, and no others.
pub fn paths(record: &Record) -> BTreeSet<String> {
    let of_host = OF_HOST
        .iter()
        .map(|file| format!("hosts/{}/{file}", record.host));
    of_host.chain(record.sweeps().flat_map(of_sweep)).collect()
}

/// The list of checksums.
pub(crate) fn sums(files: &Files) -> String {
    files
        .iter()
        .fold(String::new(), |mut text, (path, content)| {
            let _ = writeln!(text, "{}  {path}", digest::of_bytes(content)); // writing to a String cannot fail
            text
        })
}

/// Checks what came out of an archive called `name` against its checksums and its record.
///
/// # Errors
/// [`Stop::BadInput`] with what is wrong.
pub fn check(name: &str, files: &Files, sums: &str) -> Result<Record> {
    let refused = |why: String| Stop::BadInput(format!("{name}: {why}; nothing was unpacked"));
    let mut listed = BTreeSet::new();
    for line in sums.lines() {
        let Some((sum, path)) = line.split_once("  ") else {
            bail!(refused(format!("{SUMS} has a line that is none: `{line}`")));
        };
        let Some(content) = files.get(path) else {
            bail!(refused(format!(
                "`{path}` is missing; ask for the file again"
            )));
        };
        if digest::of_bytes(content) != sum {
            bail!(refused(format!(
                "`{path}` is damaged (its checksum differs); ask for the file again"
            )));
        }
        listed.insert(path.to_owned());
    }
    if let Some(extra) = files.keys().find(|path| !listed.contains(*path)) {
        bail!(refused(format!("`{extra}` is not in {SUMS}")));
    }
    let is_record =
        |path: &&String| path.starts_with("hosts/") && path.ends_with(&format!("/{RECORD}"));
    let Some(path) = files.keys().find(is_record) else {
        bail!(refused(format!(
            "it has no {RECORD}, so it is not of `cargo runner on-this-host`"
        )));
    };
    let record = Record::parse(
        &String::from_utf8_lossy(&files[path]),
        &format!("{name}: {path}"),
    )?;
    if !is_word(&record.host) || !record.sweeps().all(is_word) {
        bail!(refused(format!(
            "{path} names a host or a sweep that is no plain name"
        )));
    }
    let expected = paths(&record);
    if let Some(foreign) = files.keys().find(|path| !expected.contains(*path)) {
        bail!(refused(format!(
            "`{foreign}` does not belong to host {}",
            record.host
        )));
    }
    if let Some(missing) = expected.iter().find(|path| !files.contains_key(*path)) {
        bail!(refused(format!(
            "`{missing}` is missing; ask for the file again"
        )));
    }
    Ok(record)
}

/// Whether a name can be that of a file or folder, and leads nowhere else.
pub(crate) fn is_word(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::kit::record::Step;
    use crate::kit::record::tests::record;

    /// The files of a mock host that measured one sweep.
    pub(crate) fn files() -> Files {
        let record = record(&[(Step::Doctor, "doctor.json"), (Step::Study, "2026-a-sweep")]);
        let mut files: Files = paths(&record)
            .into_iter()
            .map(|path| (path, b"{}".to_vec()))
            .collect();
        let text = serde_json::to_vec(&record).unwrap();
        files.insert("hosts/1a2b3c/record.json".to_owned(), text);
        files
    }

    fn refused(files: &Files, sums: &str) -> String {
        format!("{:#}", check("a.tar.zst", files, sums).unwrap_err())
    }

    #[test]
    fn a_changed_byte_is_damage() {
        let mut files = files();
        let sums = sums(&files);
        files.insert("sweeps/2026-a-sweep/host.json".to_owned(), b"[]".to_vec());
        let error = refused(&files, &sums);
        assert!(
            error.contains("`sweeps/2026-a-sweep/host.json` is damaged"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_missing_is_told() {
        let mut files = files();
        files.remove("sweeps/2026-a-sweep/host.json");
        let error = refused(&files, &sums(&files));
        assert!(
            error.contains("`sweeps/2026-a-sweep/host.json` is missing"),
            "{error}"
        );
    }

    #[test]
    fn files_of_another_host_or_sweep_are_refused_although_their_checksums_are_right() {
        for foreign in [
            "hosts/ffffff/doctor.json",
            "sweeps/other/manifest.json",
            "FINDINGS.md",
        ] {
            let mut files = files();
            files.insert(foreign.to_owned(), Vec::new());
            let error = refused(&files, &sums(&files));
            assert!(
                error.contains(&format!("`{foreign}` does not belong to host 1a2b3c")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_record_that_names_a_place_elsewhere_is_refused() {
        let record = record(&[(Step::Study, "../../elsewhere")]);
        let text = serde_json::to_vec(&record).unwrap();
        let files = Files::from([("hosts/1a2b3c/record.json".to_owned(), text)]);
        assert!(refused(&files, &sums(&files)).contains("no plain name"));
    }

    #[test]
    fn something_else_than_a_host_is_told_so() {
        let files = Files::from([("hello.txt".to_owned(), Vec::new())]);
        assert!(refused(&files, &sums(&files)).contains("not of `cargo runner on-this-host`"));
    }
}
