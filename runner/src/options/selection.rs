//! Turns words on the command line into a sweep's request: branches, workloads, thread counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use protocol::{Description, Refusal, Size, packed};

use crate::config::catalogue;
use crate::config::pick::{listed, nearest, pick_grouped};
use crate::config::{Branch, Config};
use crate::options::recording;
use crate::plan::{Input, Load};
use crate::stop::Stop;
use crate::system::digest;

/// Picks branches. The baseline is always among them, since everything is compared with it; the
/// flag says whether it had to be added.
pub(crate) fn branches(config: &Config, list: &str) -> Result<(Vec<Branch>, bool)> {
    let baseline = config.baseline().name.as_str();
    if list
        .split(',')
        .any(|word| word.trim().strip_prefix('!') == Some(baseline))
    {
        bail!(Stop::BadInput(format!(
            "--branches: `!{baseline}`: the baseline cannot be excluded, since the others are compared with it; \
             move `baseline = true` in branches.toml to compare with another"
        )));
    }
    let picked = config.pick("--branches", list)?;
    let is_added = !picked.contains(&baseline);
    let chosen = |branch: &&Branch| branch.baseline || picked.contains(&branch.name.as_str());
    Ok((
        config.branches.iter().filter(chosen).cloned().collect(),
        is_added,
    ))
}

/// Reads a list of thread counts: numbers, ranges `A..=B` and `A..B`, `cores`, `cpus`.
pub(crate) fn threads(list: &str, cores: usize, cpus: usize) -> Result<Vec<usize>> {
    /// More would measure the kernel's scheduler, and rayon's own limit is 2^16 - 1.
    const MAX: usize = 4096;
    let mut counts = BTreeSet::new();
    for part in list.split(',').map(str::trim) {
        let number = |text: &str| -> Result<usize> {
            let wrong = || {
                Stop::BadInput(format!(
                    "--threads: `{part}` is no thread count; write numbers (1 to {MAX}), ranges (1..=8), \
                     `cores` or `cpus`, with commas between"
                ))
            };
            let count: usize = text.trim().parse().map_err(|_| wrong())?;
            if (1..=MAX).contains(&count) {
                Ok(count)
            } else {
                Err(wrong().into())
            }
        };
        match part {
            "cores" => _ = counts.insert(cores),
            "cpus" => _ = counts.insert(cpus),
            _ => {
                if let Some((first, last)) = part.split_once("..=") {
                    counts.extend(number(first)?..=number(last)?);
                } else if let Some((first, end)) = part.split_once("..") {
                    counts.extend(number(first)?..number(end)?);
                } else {
                    counts.insert(number(part)?);
                }
            }
        }
    }
    if counts.is_empty() {
        bail!(Stop::BadInput(format!(
            "--threads: `{list}` is empty; write for example 1,2,4"
        )));
    }
    Ok(counts.into_iter().collect())
}

/// Picks workloads and checks size, parameters and instance file against the catalogue, so that a
/// slip is reported before anything is built.
///
/// A parameter is `NAME=VALUE` for all picked workloads that know it, or `WORKLOAD.NAME=VALUE`.
///
/// # Errors
/// [`Stop::BadInput`] that names the word.
pub fn loads(
    list: &str,
    size: &str,
    parameters: &[String],
    input: Option<&Path>,
) -> Result<Vec<Load>> {
    let picked: Vec<&'static Description> =
        pick_grouped("--workloads", "workload", list, &catalogue::known())?
            .into_iter()
            .filter_map(catalogue::find)
            .collect();
    let explicit = assign(parameters, &picked)?;
    let input = input.map(|path| read_input(path, &picked)).transpose()?;
    let size = Size::find(size).map_err(refused)?;
    picked
        .into_iter()
        .map(|description| {
            let none = BTreeMap::new();
            let given = explicit.get(description.name.as_str()).unwrap_or(&none);
            let input = input.clone().filter(|_| description.input.is_some());
            let values = description
                .resolve(size, given, input.is_some())
                .map_err(refused)?;
            Ok(Load {
                workload: description.name.clone(),
                size: size.name().to_owned(),
                parameters: values.as_map().clone(),
                input,
            })
        })
        .collect()
}

#[expect(clippy::needless_pass_by_value, reason = "used with map_err")]
fn refused(refusal: Refusal) -> Stop {
    Stop::BadInput(refusal.to_string())
}

/// Explicit parameters by workload.
fn assign(
    parameters: &[String],
    picked: &[&'static Description],
) -> Result<BTreeMap<&'static str, BTreeMap<String, String>>> {
    let mut explicit: BTreeMap<&'static str, BTreeMap<String, String>> = BTreeMap::new();
    for text in parameters {
        let Some((key, value)) = text.split_once('=') else {
            bail!(Stop::BadInput(format!(
                "--parameter {text}: write NAME=VALUE or WORKLOAD.NAME=VALUE"
            )));
        };
        let (workload, name) = match key.split_once('.') {
            Some((workload, name)) => (Some(workload), name),
            None => (None, key),
        };
        let takers: Vec<&'static Description> = picked
            .iter()
            .copied()
            .filter(|it| workload.is_none_or(|wanted| wanted == it.name))
            .filter(|it| it.parameter(name).is_some())
            .collect();
        if takers.is_empty() {
            // Of the workload that was named, if it was picked; else of all.
            let named: Vec<&Description> = picked
                .iter()
                .copied()
                .filter(|it| workload == Some(it.name.as_str()))
                .collect();
            let among = if named.is_empty() {
                picked.to_vec()
            } else {
                named
            };
            let known: Vec<String> = among
                .iter()
                .flat_map(|it| {
                    it.parameters
                        .iter()
                        .map(|known| format!("{}.{}", it.name, known.name))
                })
                .collect();
            let own = known
                .iter()
                .filter_map(|it| it.split_once('.'))
                .map(|(_, own)| own);
            let hint = nearest(name, own)
                .map(|near| format!("did you mean `{near}`? "))
                .unwrap_or_default();
            bail!(Stop::BadInput(format!(
                "--parameter {text}: no picked workload has `{key}`; {hint}{}",
                listed("parameter", known.iter().map(String::as_str))
            )));
        }
        for taker in takers {
            let assigned = explicit.entry(taker.name.as_str()).or_default();
            if let Some(earlier) = assigned.insert(name.to_owned(), value.to_owned()) {
                bail!(Stop::BadInput(format!(
                    "--parameter {text}: `{}.{name}` is already {earlier}; give each parameter once",
                    taker.name
                )));
            }
        }
    }
    Ok(explicit)
}

/// The workload whose instance files are recordings.
const REPLAY: &str = "replay";

fn read_input(path: &Path, picked: &[&Description]) -> Result<Input> {
    if !picked.iter().any(|description| description.input.is_some()) {
        let readers: Vec<&str> = catalogue::all()
            .iter()
            .filter(|description| description.input.is_some())
            .map(|description| description.name.as_str())
            .collect();
        bail!(Stop::BadInput(format!(
            "--input {}: no picked workload reads a file; these do: {}",
            path.display(),
            readers.join(", ")
        )));
    }
    check_regular(path)?;
    let sha256 = digest::of_file(path).map_err(|error| {
        Stop::BadInput(format!(
            "--input {}: cannot be read: {error}",
            path.display()
        ))
    })?;
    // Other kinds of files are read by the programs, once they are built. A file that no program
    // reads is recognised by its first bytes.
    if picked.iter().any(|description| description.name == REPLAY) {
        recording::read(path, &format!("--input {}", path.display()))?;
    } else {
        check_beginning(path)?;
    }
    let place = path
        .canonicalize()
        .with_context(|| format!("--input {}: cannot be resolved", path.display()))?;
    Ok(Input {
        path: path.display().to_string(),
        sha256,
        place: Some(place),
    })
}

/// A pipe gives its content once, to its first reader; reading an empty one never ends.
fn check_regular(path: &Path) -> Result<()> {
    if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
        bail!(Stop::BadInput(format!(
            "--input {}: is no regular file, and every trial reads it anew; write it to a file",
            path.display()
        )));
    }
    Ok(())
}

/// Refuses a file that is empty or compressed.
fn check_beginning(path: &Path) -> Result<()> {
    let refused =
        |what: &dyn Display| Stop::BadInput(format!("--input {}: {what}", path.display()));
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut beginning));
    read.map_err(|error| refused(&format_args!("cannot be read: {error}")))?;
    if let Some(packer) = packed::by(&beginning) {
        bail!(refused(&format_args!(
            "is compressed ({packer}); unpack it and name the result"
        )));
    }
    if beginning.is_empty() {
        bail!(refused(&"is empty; name the file of an instance"));
    }
    Ok(())
}

/// Returns the path of the instance file for a trial's process, wherever the runner was started.
/// The file of an earlier run lies below the checkout at `root`, or is `given` again.
pub(crate) fn input_for_trials(
    input: &Input,
    root: &Path,
    given: Option<&Path>,
) -> Result<PathBuf> {
    let recorded = root.join(&input.path);
    let path = given.or(input.place.as_deref()).unwrap_or(&recorded);
    check_regular(path)?;
    let sha256 = digest::of_file(path).map_err(|error| {
        Stop::BadInput(format!(
            "--input {}: cannot be read: {error}; say where it lies now with --input FILE",
            path.display()
        ))
    })?;
    if sha256 != input.sha256 {
        bail!(Stop::BadInput(format!(
            "--input {}: is not the file that the sweep began with (SHA-256 {}…); put that one back, or \
             begin another sweep",
            path.display(),
            input.sha256.get(..12).unwrap_or_default()
        )));
    }
    path.canonicalize()
        .with_context(|| format!("--input {}", path.display()))
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
