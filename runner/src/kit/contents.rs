//! Checks the files of a bundle before one of them is put anywhere: its sender may have invented
//! them.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use manycore::Machine;
use serde_json::Value;
use toml::Table;

use super::parcel::{self, Files, OF_HOST};
use super::record::Record as OfHost;
use crate::host::doctor::Diagnosis;
use crate::plan::machines;
use crate::record::Record;
use crate::record::manifest::Manifest;
use crate::record::trials_file::{is_packed, unpacked};
use crate::stop::Stop;

/// Longer than any line that is written, in bytes.
const MOST_LINE: u64 = 1 << 20;

/// More text than records of a host have, in bytes.
const MOST_TEXT: u64 = 1 << 30;

/// Shows every line of a file of results, unpacked if its name ends so, however much comes out of
/// it.
///
/// # Errors
/// [`Stop::BadInput`] for what is no text, too long, or changes what a terminal shows; those of
/// `see`.
pub fn lines(path: &str, content: &[u8], mut see: impl FnMut(&str) -> Result<()>) -> Result<()> {
    let mut text =
        BufReader::new(unpacked(Path::new(path), content).context("no memory to unpack it")?);
    let (mut number, mut bytes, mut line) = (0_u64, 0, Vec::new());
    loop {
        number += 1;
        line.clear();
        let refused = |why: String| Stop::BadInput(format!("{path}:{number}: {why}"));
        let read = (&mut text).take(MOST_LINE + 1).read_until(b'\n', &mut line);
        bytes += read.map_err(|error| refused(format!("cannot be read: {error}")))? as u64;
        if line.is_empty() {
            return Ok(());
        }
        if line.len() as u64 > MOST_LINE || bytes > MOST_TEXT {
            bail!(refused(
                "is longer than anything that this runner writes".to_owned()
            ));
        }
        let line = str::from_utf8(&line).map_err(|error| refused(format!("no text: {error}")))?;
        if let Some(mark) = unprintable(line) {
            let mark = mark.escape_unicode();
            bail!(refused(format!(
                "has the character {mark}, which changes what a terminal shows"
            )));
        }
        see(line)?;
    }
}

/// The first character, written as it is or as JSON escapes it, that is none to be read.
fn unprintable(line: &str) -> Option<char> {
    let is_one = |mark: &char| {
        let turns = matches!(mark, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        turns || mark.is_control() && !"\n\r\t".contains(*mark)
    };
    let escaped = line.match_indices("\\u").filter_map(|(at, _)| {
        let slashes = line[..at]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count();
        let code = u32::from_str_radix(line.get(at + 2..at + 6)?, 16).ok()?;
        char::from_u32(code).filter(|_| slashes % 2 == 0)
    });
    line.chars().chain(escaped).find(is_one)
}

/// Checks all files of the kit called `name`, whose paths are those of its record.
///
/// # Errors
/// [`Stop::BadInput`] with file, place and what is wrong.
pub fn check(name: &str, files: &Files, record: &OfHost) -> Result<()> {
    for (path, content) in files.iter().filter(|(path, _)| !is_packed(Path::new(path))) {
        lines(&format!("{name}: {path}"), content, |_| Ok(()))?;
    }
    let refused = |path: &str, why: String| {
        Stop::BadInput(format!("{name}: {path}: {why}; nothing was unpacked"))
    };
    let text = |path: &str| String::from_utf8_lossy(&files[path]);
    let [_, doctor, here, charges] = OF_HOST.map(|file| format!("hosts/{}/{file}", record.host));
    serde_json::from_str::<Diagnosis>(&text(&doctor))
        .map_err(|error| refused(&doctor, format!("not what the doctor says: {error}")))?;
    let machine = Machine::parse("here", &here, &text(&here), None).or_else(|error| {
        let completed = with_later_prices(&text(&here)).unwrap_or_default();
        Machine::parse("here", &here, &completed, None).map_err(|_| error)
    });
    let machine = machine.map_err(|error| refused(&error.to_string(), "no machine".to_owned()))?;
    if !machine.title.contains(&record.host) {
        bail!(refused(
            &here,
            format!("its `title` does not name host {}", record.host)
        ));
    }
    if machines::charges(&format!("{name}: {charges}"), &text(&charges))?.is_empty() {
        bail!(refused(&charges, "has no unit's price".to_owned()));
    }
    for sweep in record.sweeps() {
        let of = parcel::of_sweep(sweep);
        let manifest = Manifest::parse(&text(&of[0]), &format!("{name}: {}", of[0]))?;
        let is_here = manifest
            .asked
            .machine
            .as_ref()
            .is_some_and(|it| it.title.contains(&record.host));
        if manifest.name != sweep || !(manifest.host == record.host || is_here) {
            bail!(refused(
                &of[0],
                format!(
                    "calls itself {} of host {}, which it is not",
                    manifest.name, manifest.host
                )
            ));
        }
        let host: Value = serde_json::from_str(&text(&of[1])).unwrap_or_default();
        if host.get("id").and_then(Value::as_str) != Some(&manifest.host) {
            bail!(refused(&of[1], format!("is not about `{}`", manifest.host)));
        }
        check_records(&format!("{name}: {}", of[2]), &files[&of[2]], &manifest)?;
    }
    Ok(())
}

/// A machine's file with the prices that it lacks as a shipped machine has them: a host that was
/// measured before a price was thought of is on record all the same. The result is only checked,
/// and never used for a simulation.
fn with_later_prices(text: &str) -> Option<String> {
    let shipped: Table = include_str!("../../../machines/zen4-64.toml")
        .parse()
        .ok()?;
    let mut written: Table = text.parse().ok()?;
    let prices = written.get_mut("price")?.as_table_mut()?;
    for (price, value) in shipped.get("price")?.as_table()? {
        prices.entry(price).or_insert_with(|| value.clone());
    }
    Some(written.to_string())
}

/// Refuses records that are not exactly those of the plan.
fn check_records(place: &str, content: &[u8], manifest: &Manifest) -> Result<()> {
    let Some(mut missing) = manifest.planned() else {
        bail!(Stop::BadInput(format!(
            "{place}: it was begun by runner {}, which orders trials differently; merge it with that version",
            manifest.runner
        )));
    };
    let planned = missing.len();
    lines(place, content, |line| {
        let number = planned - missing.len() + 1;
        let wrong = |why: String| Stop::BadInput(format!("{place}: line {number}: {why}"));
        let record: Record = serde_json::from_str(line)
            .map_err(|error| wrong(format!("no trial record: {error}")))?;
        if !missing.remove(&record.trial) || !manifest.knows(&record) {
            bail!(wrong(format!(
                "trial {} is there twice or was not planned",
                record.trial
            )));
        }
        Ok(())
    })?;
    if !missing.is_empty() || manifest.trials_planned != planned {
        bail!(Stop::BadInput(format!(
            "{place}: has {} of {planned} trials; only finished sweeps are taken",
            planned - missing.len()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;

    use super::super::parcel;
    use super::super::record::Step;
    use super::*;

    /// A host of this checkout with its study, as it was sent.
    fn sent() -> (OfHost, Files) {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results");
        let mut hosts = fs::read_dir(results.join("hosts")).unwrap();
        let host = hosts.next().unwrap().unwrap().path();
        let mut record = OfHost::read(&host).unwrap().unwrap();
        record
            .steps
            .retain(|done| !done.step.is_sweep() || done.step == Step::Study);
        let read = |path: String| (path.clone(), fs::read(results.join(path)).unwrap());
        let files = parcel::paths(&record).into_iter().map(read).collect();
        (record, files)
    }

    fn packed(text: impl Read) -> Vec<u8> {
        zstd::encode_all(text, 1).unwrap()
    }

    /// Returns the error about a host whose file with this ending has another content.
    fn refused(ending: &str, change: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
        let (record, mut files) = sent();
        let path = files
            .keys()
            .find(|path| path.ends_with(ending))
            .unwrap()
            .clone();
        let changed = change(&files[&path]);
        files.insert(path, changed);
        let error = format!("{:#}", check("a.tar.zst", &files, &record).unwrap_err());
        assert!(
            error.starts_with("a.tar.zst: ") && error.contains(ending),
            "{error}"
        );
        assert!(!error.contains("repair") && error.len() < 500, "{error}");
        error
    }

    fn records(change: impl FnOnce(Vec<&str>) -> Vec<&str>) -> String {
        refused("trials.jsonl.zst", |content| {
            let text = String::from_utf8(zstd::decode_all(content).unwrap()).unwrap();
            let lines = change(text.split_inclusive('\n').collect()).concat();
            packed(lines.as_bytes())
        })
    }

    fn replaced<'a>(from: &'a str, to: &'a str) -> impl Fn(&[u8]) -> Vec<u8> + 'a {
        move |content| {
            let text = str::from_utf8(content).unwrap();
            assert!(text.contains(from), "{text}");
            text.replacen(from, to, 1).into_bytes()
        }
    }

    #[test]
    fn what_a_host_of_this_checkout_sent_is_taken() {
        let (record, files) = sent();
        check("a.tar.zst", &files, &record).unwrap();
    }

    #[test]
    fn files_that_say_nothing_of_the_host_are_refused_by_name() {
        for file in [
            "doctor.json",
            "/here.toml",
            "charges-here.toml",
            "manifest.json",
            "/host.json",
        ] {
            for garbage in ["", "{}", "[1]", "garbage", "\u{fffd}"] {
                refused(file, |_| garbage.as_bytes().to_vec());
            }
        }
        let (record, _) = sent();
        refused("/here.toml", replaced(&record.host, "another"));
        refused("/host.json", replaced(&record.host, "another"));
        refused("manifest.json", replaced(&record.host, "another"));
    }

    #[test]
    fn records_are_those_of_the_plan_all_of_them_and_each_once() {
        assert!(records(|_| Vec::new()).contains("has 0 of "));
        assert!(records(|mut all| all.split_off(1)).contains("only finished sweeps"));
        assert!(records(|all| [&all[..1], &all[..]].concat()).contains("line 2: trial "));
        assert!(records(|all| [&all[..], &["{}\n"]].concat()).contains("no trial record"));
    }

    #[test]
    fn a_manifest_that_promises_fewer_trials_or_another_plan_is_refused() {
        for key in [
            "\"trials_planned\": ",
            "\"trials\": ",
            "\"seed\": ",
            "\"layouts\": ",
        ] {
            let zero = |content: &[u8]| {
                let text = str::from_utf8(content).unwrap();
                let (before, rest) = text.split_once(key).unwrap();
                let end = rest.find([',', '\n']).unwrap();
                format!("{before}{key}0{}", &rest[end..]).into_bytes()
            };
            let (record, mut files) = sent();
            let path = files
                .keys()
                .find(|path| path.ends_with("manifest.json"))
                .unwrap()
                .clone();
            let changed = zero(&files[&path]);
            files.insert(path, changed);
            check("a.tar.zst", &files, &record).unwrap_err();
        }
        let huge = refused(
            "manifest.json",
            replaced("\"trials\": ", "\"trials\": 42949672"),
        );
        assert!(huge.contains("more than 10000000 trials"), "{huge}");
        let baseline = refused(
            "manifest.json",
            replaced("\"baseline\": \"", "\"baseline\": \"no-"),
        );
        assert!(baseline.contains("none of `branches`"), "{baseline}");
    }

    #[test]
    fn however_much_comes_out_of_records_little_of_it_is_in_memory() {
        let long = packed(std::io::repeat(b' ').take(1 << 27));
        assert!(long.len() < 1 << 20);
        let error = refused("trials.jsonl.zst", |_| long);
        assert!(
            error.contains("trials.jsonl.zst:1: is longer than anything"),
            "{error}"
        );
    }

    #[test]
    fn characters_that_change_what_a_terminal_shows_are_refused_written_or_escaped() {
        for (text, told) in [
            ("\u{1b}[2J", Some("\\u{1b}")),
            (r#"{"cpu": "\u001b[2J"}"#, Some("\\u{1b}")),
            (r#"{"cpu": "\\\u0007"}"#, Some("\\u{7}")),
            ("\u{9b}2J", Some("\\u{9b}")),
            ("\u{202e}", Some("\\u{202e}")),
            (
                r#"{"text": "\\u001b is escape, \t\n \u000a fine: é"}"#,
                None,
            ),
            (r"\u12", None),
        ] {
            let seen = lines("host.json", text.as_bytes(), |_| Ok(()));
            let said = seen.err().map(|error| error.to_string());
            assert_eq!(said.is_some(), told.is_some(), "{text}: {said:?}");
            assert!(said.is_none_or(|said| said.contains(told.unwrap())));
        }
        let error = refused(
            "doctor.json",
            replaced("\"seen\": \"", "\"seen\": \"\\u001b[2J"),
        );
        assert!(error.contains("changes what a terminal shows"), "{error}");
    }
}
