//! The selection of a sweep: rows of `experiments.toml`, and the arguments of the command line that
//! name branches, workloads and thread counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use protocol::{Description, Refusal, Size};
use serde::Deserialize;
use serde_spanned::Spanned;

use crate::config::pick::{hint, listed, no_such, pick_grouped};
use crate::config::{Branch, Config, ConfigError, FileText, catalogue};
use crate::plan::{Definition, Input, Load, Scalar};
use crate::stop::Stop;
use crate::system::{digest, whole_file};

const FILE: &str = "experiments.toml";

impl Definition {
    /// Returns the instances that the sweep runs. `overriding`, the parameters of the command line,
    /// replace the parameters of the definition. Instances that become equal run once.
    pub(crate) fn loads(
        &self,
        workloads: &str,
        size: &str,
        overriding: &[String],
        input: Option<&Path>,
    ) -> Result<Vec<Load>> {
        let names = catalogue::names();
        let picked = pick_grouped("--workloads", "workload", workloads, &catalogue::known())?;
        // If `workloads` leaves a workload out, the row's parameters of this workload have no
        // effect.
        let is_left_out = |key: &str| {
            let of = key.split_once('.').map(|(workload, _)| workload);
            of.is_some_and(|of| names.contains(&of) && !picked.contains(&of))
        };
        let overridden: Vec<&str> = overriding
            .iter()
            .filter_map(|text| text.split_once('='))
            .map(|(key, _)| key)
            .collect();
        let is_own =
            |key: &str| !overridden.iter().any(|it| replaces(it, key)) && !is_left_out(key);
        let is_known = |key: &str| {
            let mut of = picked.iter().filter_map(|name| catalogue::find(name));
            of.any(|workload| workload.parameter(bare(key)).is_some())
        };
        let mut keys = self.cells.iter().flat_map(|cell| cell.keys());
        if let Some(own) = self.workloads.as_deref().filter(|own| *own != workloads)
            && let Some(key) = keys.find(|key| is_own(key) && !is_known(key))
        {
            bail!(Stop::BadInput(format!(
                "--workloads {workloads}: none has the parameter `{key}` of experiment `{}`; choose some of its own: {own}",
                self.name
            )));
        }
        let mut loads: Vec<Load> = Vec::new();
        for cell in &self.cells {
            let own = cell.iter().filter(|(key, _)| is_own(key));
            let mut parameters: Vec<String> =
                own.map(|(key, value)| format!("{key}={value}")).collect();
            parameters.extend(overriding.iter().cloned());
            for load in self::loads(workloads, size, &parameters, input)? {
                if !loads.contains(&load) {
                    loads.push(load);
                }
            }
        }
        Ok(loads)
    }
}

fn bare(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Returns whether the parameter `given` of the command line takes the place of a row's `own`. Two
/// workloads may have parameters of one name.
fn replaces(given: &str, own: &str) -> bool {
    if given.contains('.') && own.contains('.') {
        given == own
    } else {
        bare(given) == bare(own)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) presets: Vec<Definition>,
    pub(crate) experiments: Vec<Definition>,
}

pub(crate) fn read(root: &Path) -> Result<Rows> {
    parse(&whole_file::text_of_checkout(root, FILE)?)
}

pub(crate) fn find(rows: Vec<Definition>, kind: &str, name: &str) -> Result<Definition> {
    let known: Vec<String> = rows.iter().map(|it| it.name.clone()).collect();
    let found = rows.into_iter().find(|it| it.name == name);
    let known = known.iter().map(String::as_str);
    Ok(found.ok_or_else(|| no_such(&format!("--{kind}"), kind, name, known))?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    preset: Vec<Spanned<Definition>>,
    #[serde(default)]
    experiment: Vec<Spanned<Definition>>,
}

fn parse(text: &str) -> Result<Rows> {
    let place = FileText { file: FILE, text };
    let file: Written =
        toml::from_str(text).map_err(|error| ConfigError::of_parser(FILE, text, &error))?;
    Ok(Rows {
        presets: checked("preset", file.preset, &place)?,
        experiments: checked("experiment", file.experiment, &place)?,
    })
}

fn checked(
    kind: &str,
    rows: Vec<Spanned<Definition>>,
    place: &FileText<'_>,
) -> Result<Vec<Definition>> {
    let mut checked: Vec<Definition> = Vec::new();
    for row in rows {
        let start = row.span().start;
        let mut row = row.into_inner();
        let name = row.name.clone();
        let fault = |message: String| place.at(start, format!("{kind} `{name}`: {message}"));
        if checked.iter().any(|other| other.name == name) {
            return Err(fault(format!("the name is taken; give every {kind} its own")).into());
        }
        for (what, is_missing) in [
            ("workloads", row.workloads.is_none()),
            ("threads", row.threads.is_none()),
            ("trials", row.trials.is_none()),
            ("iterations", row.iterations.is_none()),
        ] {
            if is_missing {
                return Err(fault(format!("missing key `{what}`")).into());
            }
        }
        for (what, count) in [
            ("trials", row.trials),
            ("iterations", row.iterations),
            ("layouts", row.layouts),
        ] {
            if count == Some(0) {
                return Err(fault(format!("{what} = 0 measures nothing; write 1 or more")).into());
            }
        }
        row.branches.get_or_insert_with(|| "all".to_owned());
        row.size.get_or_insert_with(|| "small".to_owned());
        row.mode.get_or_insert_default();
        row.placement.get_or_insert_default();
        row.warmup_iterations.get_or_insert(1);
        row.twin.get_or_insert(true);
        row.cells = cells(&row, &fault)?;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let (workloads, size) = (text(&row.workloads), text(&row.size));
        // A fault is reported here, with the row's name, even if no sweep uses the row.
        row.loads(&workloads, &size, &[], None)
            .and_then(|_| threads(&text(&row.threads), 1, 1))
            .map_err(|error| fault(format!("{error:#}")))?;
        checked.push(row);
    }
    Ok(checked)
}

fn cells(
    row: &Definition,
    fault: &impl Fn(String) -> ConfigError,
) -> Result<Vec<BTreeMap<String, String>>, ConfigError> {
    let mut groups: Vec<Vec<Vec<(&String, &Scalar)>>> = vec![vec![row.set.iter().collect()]];
    for (key, values) in &row.vary {
        if values.is_empty() {
            return Err(fault(format!("vary.{key} is empty; write its values")));
        }
        groups.push(values.iter().map(|value| vec![(key, value)]).collect());
    }
    if !row.cases.is_empty() {
        groups.push(row.cases.iter().map(|case| case.iter().collect()).collect());
    }
    let mut cells = vec![BTreeMap::new()];
    for group in groups {
        let mut product = Vec::new();
        for (cell, addition) in cells
            .iter()
            .flat_map(|it| group.iter().map(move |more| (it, more)))
        {
            let mut cell: BTreeMap<String, String> = cell.clone();
            for (key, value) in addition {
                if cell.insert((*key).clone(), value.to_string()).is_some() {
                    return Err(fault(format!(
                        "parameter `{key}` stands in two of `set`, `vary` and `cases`; keep one"
                    )));
                }
            }
            product.push(cell);
        }
        cells = product;
    }
    Ok(cells)
}

/// Picks branches. The baseline is always among the picked branches, since the other branches are
/// compared with it. The flag says whether the list lacked the baseline.
pub(crate) fn branches(config: &Config, list: &str) -> Result<(Vec<Branch>, bool)> {
    let picked = config.pick("--branches", list)?;
    let is_added = !picked.contains(&config.baseline().name.as_str());
    let chosen = |branch: &&Branch| branch.baseline || picked.contains(&branch.name.as_str());
    Ok((
        config.branches.iter().filter(chosen).cloned().collect(),
        is_added,
    ))
}

/// Reads a list of thread counts: numbers, ranges `A..=B`, `cores`, `cpus`.
pub(crate) fn threads(list: &str, cores: usize, cpus: usize) -> Result<Vec<usize>> {
    /// More threads would measure the kernel's scheduler. Rayon's own limit is 2^16 - 1.
    const MAX: usize = 4096;
    let mut counts = BTreeSet::new();
    for part in list.split(',').map(str::trim) {
        let number = |text: &str| -> Result<usize> {
            let wrong = || {
                Stop::BadInput(format!(
                    "--threads: `{part}` is not a thread count; write numbers (1 to {MAX}), ranges (1..=8), \
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

/// Picks workloads, and checks size, parameters and instance file against the catalogue. A parameter
/// is `NAME=VALUE` for all picked workloads that know it, or `WORKLOAD.NAME=VALUE`.
pub(crate) fn loads(
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
            let of = |it: &&Description| {
                let own = it.parameters.iter();
                own.map(|known| format!("{}.{}", it.name, known.name))
                    .collect::<Vec<_>>()
            };
            let known: Vec<String> = picked.iter().flat_map(of).collect();
            let own = known
                .iter()
                .filter_map(|it| it.split_once('.'))
                .map(|(_, own)| own);
            bail!(Stop::BadInput(format!(
                "--parameter {text}: no picked workload has `{key}`; {}{}",
                hint(name, own),
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
    let sha256 = digest_of(path)?;
    let place = path
        .canonicalize()
        .with_context(|| format!("--input {}: cannot be resolved", path.display()))?;
    Ok(Input {
        path: path.display().to_string(),
        sha256,
        place: Some(place),
    })
}

fn digest_of(path: &Path) -> Result<String> {
    let wrong = |why: String| Stop::BadInput(format!("--input {}: {why}", path.display()));
    // A pipe gives its content only to its first reader, and reading an empty pipe never ends.
    if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
        let why = "is not a regular file, but every trial reads it again; save it to a file";
        bail!(wrong(why.to_owned()));
    }
    let remedy = "name its current path with --input FILE";
    digest::of_file(path)
        .map_err(|error| wrong(format!("cannot be read: {error}; {remedy}")).into())
}

/// Returns the absolute path of an instance file. The instance file of a resumed sweep lies below
/// the checkout at `root`, or the command line gives its path again (`given`).
pub(crate) fn input_for_trials(
    input: &Input,
    root: &Path,
    given: Option<&Path>,
) -> Result<PathBuf> {
    let recorded = root.join(&input.path);
    let path = given.or(input.place.as_deref()).unwrap_or(&recorded);
    let sha256 = digest_of(path)?;
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
mod row_tests {
    use super::*;

    fn file(old: &str, new: &str) -> String {
        let text = r#"
[[experiment]]
name = "one"
shows = "something"
source = "somewhere"
workloads = "packets"
size = "tiny"
threads = "2,3"
trials = 2
iterations = 1
figure = "speedup-by-words"
sequential-ignores = ["strategy", "lock"]
set = { generator = "uniform" }
vary = { words = [10, 20], depth = [8, 32] }
cases = [{ strategy = "lock-free" }, { strategy = "awesome", lock = "mcs" }]
"#;
        assert!(text.contains(old));
        text.replacen(old, new, 1)
    }

    fn message(text: &str) -> String {
        format!("{:#}", parse(text).unwrap_err())
    }

    #[test]
    fn what_is_set_for_a_workload_that_is_left_out_is_left_out() {
        let text = file("set = { generator", "set = { \"tsp.cities\" = 9, generator");
        let text = text.replacen("workloads = \"packets\"", "workloads = \"packets,tsp\"", 1);
        let experiment = parse(&text.replace(", depth = [8, 32]", ""))
            .unwrap()
            .experiments
            .remove(0);
        let loads = |workloads| experiment.loads(workloads, "tiny", &[], None);
        assert!(
            loads("packets")
                .unwrap()
                .iter()
                .all(|load| load.workload == "packets")
        );
        let both = loads("packets,tsp").unwrap();
        assert!(
            both.iter()
                .any(|load| load.parameters.get("cities").is_some_and(|it| it == "9"))
        );
    }

    #[test]
    fn configurations_are_all_combinations_of_cases_and_what_varies() {
        let experiment = parse(&file("", "")).unwrap().experiments.remove(0);
        let loads = experiment.loads("packets", "tiny", &[], None).unwrap();
        assert_eq!(loads.len(), 2 * 2 * 2);
        let of = |name: &str| -> Vec<&str> {
            loads
                .iter()
                .map(|load| load.parameters[name].as_str())
                .collect()
        };
        assert!(of("generator").iter().all(|value| *value == "uniform"));
        for (name, value) in [("words", "20"), ("depth", "8"), ("lock", "mcs")] {
            assert_eq!(
                of(name).iter().filter(|it| **it == value).count(),
                4,
                "{name}"
            );
        }
    }

    #[test]
    fn a_parameter_of_the_command_line_takes_the_place_of_the_experiments() {
        let experiment = parse(&file("", "")).unwrap().experiments.remove(0);
        for given in ["words=77", "packets.words=77"] {
            let loads = experiment
                .loads("packets", "tiny", &[given.to_owned()], None)
                .unwrap();
            assert_eq!(loads.len(), 4, "equal configurations run once");
            assert!(loads.iter().all(|load| load.parameters["words"] == "77"));
        }
    }

    #[test]
    fn a_parameter_of_one_workload_leaves_those_of_other_workloads_alone() {
        assert!(replaces("tsp.cities", "tsp.cities"));
        assert!(replaces("cities", "tsp.cities") && replaces("tsp.cities", "cities"));
        assert!(!replaces("sort.cities", "tsp.cities") && !replaces("tsp.depth", "tsp.cities"));
    }

    #[test]
    fn workloads_that_an_experiment_is_not_about_are_refused_without_words_that_were_not_typed() {
        let experiment = parse(&file("", "")).unwrap().experiments.remove(0);
        let error = experiment
            .loads("quicksort", "tiny", &[], None)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("--workloads quicksort: none has the parameter `depth`"),
            "{error}"
        );
        assert!(
            error.ends_with("choose some of its own: packets"),
            "{error}"
        );
    }

    #[test]
    fn faults_are_reported_with_line_experiment_and_remedy() {
        let faults = [
            (
                "trials = 2",
                "trials = 0",
                "experiments.toml:2: experiment `one`: trials = 0",
            ),
            (
                "iterations = 1",
                "",
                "experiments.toml:2: experiment `one`: missing key `iterations`",
            ),
            (
                "trials = 2",
                "trails = 2",
                "experiments.toml:9: unknown key `trails`",
            ),
            ("words = [10, 20]", "words = []", "vary.words is empty"),
            (
                "words = [10, 20]",
                "generator = [\"uniform\"]",
                "`generator` stands in two of",
            ),
            (
                "words = [10, 20]",
                "wrods = [10]",
                "no picked workload has `wrods`",
            ),
            ("\"tiny\"", "\"huge\"", "unknown size `huge`"),
            ("\"2,3\"", "\"two\"", "`two` is not a thread count"),
            (
                "lock = \"mcs\"",
                "lock = \"spin\"",
                "parameter `lock` = `spin`",
            ),
        ];
        for (old, new, expected) in faults {
            let message = message(&file(old, new));
            assert!(message.contains(expected), "{message}");
        }
        let twice = file("", "").repeat(2);
        assert!(
            message(&twice).contains("the name is taken"),
            "{}",
            message(&twice)
        );
    }
}

#[cfg(test)]
#[path = "selection_tests.rs"]
mod tests;
