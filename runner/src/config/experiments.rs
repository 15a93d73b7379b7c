//! `experiments.toml`: sweeps with a name, each for one table or figure.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use serde_spanned::Spanned;

use crate::config::catalogue;
use crate::config::pick::{no_such, pick_grouped};
use crate::config::{ConfigError, FileText};
use crate::options::selection::{self, PlacementChoice};
use crate::plan::{AskedExperiment, Figure, Load};
use crate::stop::Stop;

const FILE: &str = "experiments.toml";

/// A row of the file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub(crate) struct Experiment {
    /// Its name on the command line.
    pub name: String,
    /// What it is for, in one line.
    pub shows: String,
    /// Where it was published.
    pub source: String,
    /// As for `--workloads`.
    pub workloads: String,
    /// As for `--size`.
    pub size: String,
    /// As for `--branches`.
    #[serde(default = "all")]
    pub branches: String,
    /// As for `--threads`.
    pub threads: String,
    /// As for `--trials`.
    pub trials: u32,
    /// As for `--iterations`.
    pub iterations: u32,
    /// Untimed iterations at the start of a trial.
    #[serde(default = "one")]
    pub warmup_iterations: u32,
    /// Whether the baseline's A/A twin runs.
    #[serde(default = "yes")]
    pub twin: bool,
    /// As for `--placement`.
    #[serde(default)]
    pub placement: PlacementChoice,
    /// As for `--prices`.
    pub prices: Option<String>,
    /// What is drawn.
    pub figure: Figure,
    /// Parameters that mean nothing to the sequential program.
    #[serde(default)]
    pub sequential_ignores: Vec<String>,
    /// Parameters of all cell sets.
    #[serde(default, skip_serializing)]
    pub set: BTreeMap<String, Scalar>,
    /// Parameters of which every value meets every other.
    #[serde(default, skip_serializing)]
    pub vary: BTreeMap<String, Vec<Scalar>>,
    /// Parameters that go together.
    #[serde(default, skip_serializing)]
    pub cases: Vec<BTreeMap<String, Scalar>>,
    /// Parameters of each cell set, as `--parameter` takes them: what the three before make.
    #[serde(skip_deserializing)]
    pub cells: Vec<BTreeMap<String, String>>,
}

impl Experiment {
    /// What measures it.
    pub(crate) fn command(&self) -> String {
        format!("cargo runner sweep --experiment {}", self.name)
    }

    /// What a sweep keeps of it.
    pub(crate) fn asked(&self) -> AskedExperiment {
        AskedExperiment {
            name: self.name.clone(),
            shows: self.shows.clone(),
            source: self.source.clone(),
            figure: self.figure,
            sequential_ignores: self.sequential_ignores.clone(),
        }
    }

    /// The instances that it runs, after `overriding` parameters of the command line have taken the
    /// place of its own; what becomes equal thereby runs once.
    pub(crate) fn loads(
        &self,
        workloads: &str,
        size: &str,
        overriding: &[String],
        input: Option<&Path>,
    ) -> Result<Vec<Load>> {
        let names = catalogue::names();
        let picked = pick_grouped("--workloads", "workload", workloads, &catalogue::known())?;
        // What is set for a workload that the command line leaves out means nothing.
        let is_left_out = |key: &str| {
            let of = key.split_once('.').map(|(workload, _)| workload);
            of.is_some_and(|of| names.contains(&of) && !picked.contains(&of))
        };
        let overridden: Vec<&str> = overriding
            .iter()
            .filter_map(|text| text.split_once('='))
            .map(|(key, _)| bare(key))
            .collect();
        let is_own = |key: &str| !overridden.contains(&bare(key)) && !is_left_out(key);
        let is_known = |key: &str| {
            let mut of = picked.iter().filter_map(|name| catalogue::find(name));
            of.any(|workload| workload.parameter(bare(key)).is_some())
        };
        let mut keys = self.cells.iter().flat_map(|cell| cell.keys());
        if workloads != self.workloads
            && let Some(key) = keys.find(|key| is_own(key) && !is_known(key))
        {
            bail!(Stop::BadInput(format!(
                "--workloads {workloads}: none has `{key}`, which experiment `{}` is about; take some of its own: {}",
                self.name, self.workloads
            )));
        }
        let mut loads: Vec<Load> = Vec::new();
        for cell in &self.cells {
            let own = cell.iter().filter(|(key, _)| is_own(key));
            let mut parameters: Vec<String> =
                own.map(|(key, value)| format!("{key}={value}")).collect();
            parameters.extend(overriding.iter().cloned());
            for load in selection::loads(workloads, size, &parameters, input)? {
                if !loads.contains(&load) {
                    loads.push(load);
                }
            }
        }
        Ok(loads)
    }
}

/// The parameter's name without the workload before it.
fn bare(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Reads and checks the file of a checkout.
pub(crate) fn read(root: &Path) -> Result<Vec<Experiment>> {
    let path = root.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|error| ConfigError {
        file: path.display().to_string(),
        line: None,
        message: format!("cannot be read: {error}; it names the experiments"),
    })?;
    parse(&text)
}

/// The experiment called `name`.
pub(crate) fn find(experiments: Vec<Experiment>, name: &str) -> Result<Experiment> {
    let known: Vec<String> = experiments.iter().map(|it| it.name.clone()).collect();
    let found = experiments.into_iter().find(|it| it.name == name);
    let known = known.iter().map(String::as_str);
    found.ok_or_else(|| no_such("--experiment", "experiment", name, known).into())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    experiment: Vec<Spanned<Experiment>>,
}

fn all() -> String {
    "all".to_owned()
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// A parameter's value: people write numbers without quotation marks.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Scalar {
    Whole(u64),
    Word(String),
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Self::Whole(number) => number.to_string(),
            Self::Word(word) => word.clone(),
        }
    }
}

fn parse(text: &str) -> Result<Vec<Experiment>> {
    let place = FileText { file: FILE, text };
    let file: File =
        toml::from_str(text).map_err(|error| ConfigError::of_parser(FILE, text, &error))?;
    let mut experiments: Vec<Experiment> = Vec::new();
    for row in file.experiment {
        let start = row.span().start;
        let mut experiment = row.into_inner();
        let name = experiment.name.clone();
        let fault = |message: String| place.at(start, format!("experiment `{name}`: {message}"));
        if experiments.iter().any(|other| other.name == name) {
            return Err(
                fault("the name is taken; give every experiment its own".to_owned()).into(),
            );
        }
        for (what, count) in [
            ("trials", experiment.trials),
            ("iterations", experiment.iterations),
        ] {
            if count == 0 {
                return Err(fault(format!("{what} = 0 measures nothing; write 1 or more")).into());
            }
        }
        experiment.cells = cells(&experiment, &fault)?;
        // Told now, with the experiment's name, rather than when it is started.
        experiment
            .loads(&experiment.workloads, &experiment.size, &[], None)
            .and_then(|_| selection::threads(&experiment.threads, 1, 1))
            .map_err(|error| fault(format!("{error:#}")))?;
        experiments.push(experiment);
    }
    Ok(experiments)
}

/// Every combination of what is set, varies, and goes together.
fn cells(
    row: &Experiment,
    fault: &impl Fn(String) -> ConfigError,
) -> Result<Vec<BTreeMap<String, String>>, ConfigError> {
    let mut cells = vec![BTreeMap::new()];
    let add = |cells: &mut Vec<BTreeMap<String, String>>, group: Vec<Vec<(&String, &Scalar)>>| {
        let mut product = Vec::new();
        for cell in cells.iter() {
            for addition in &group {
                let mut cell: BTreeMap<String, String> = cell.clone();
                for (key, value) in addition {
                    if cell.insert((*key).clone(), value.text()).is_some() {
                        return Err(fault(format!(
                            "parameter `{key}` stands in two of `set`, `vary` and `cases`; keep one"
                        )));
                    }
                }
                product.push(cell);
            }
        }
        *cells = product;
        Ok(())
    };
    add(&mut cells, vec![row.set.iter().collect()])?;
    for (key, values) in &row.vary {
        if values.is_empty() {
            return Err(fault(format!("vary.{key} is empty; write its values")));
        }
        add(
            &mut cells,
            values.iter().map(|value| vec![(key, value)]).collect(),
        )?;
    }
    if !row.cases.is_empty() {
        add(
            &mut cells,
            row.cases.iter().map(|case| case.iter().collect()).collect(),
        )?;
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A good file, with one text in it replaced by another.
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
    fn cells_are_all_combinations_of_cases_and_what_varies() {
        let experiment = parse(&file("", "")).unwrap().remove(0);
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
        let experiment = parse(&file("", "")).unwrap().remove(0);
        for given in ["words=77", "packets.words=77"] {
            let loads = experiment
                .loads("packets", "tiny", &[given.to_owned()], None)
                .unwrap();
            assert_eq!(loads.len(), 4, "equal cells run once");
            assert!(loads.iter().all(|load| load.parameters["words"] == "77"));
        }
    }

    #[test]
    fn workloads_that_an_experiment_is_not_about_are_refused_without_words_that_nobody_typed() {
        let experiment = parse(&file("", "")).unwrap().remove(0);
        let error = experiment
            .loads("quicksort", "tiny", &[], None)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("--workloads quicksort: none has `depth`"),
            "{error}"
        );
        assert!(error.ends_with("take some of its own: packets"), "{error}");
    }

    #[test]
    fn faults_are_told_with_line_experiment_and_remedy() {
        let faults = [
            (
                "trials = 2",
                "trials = 0",
                "experiments.toml:2: experiment `one`: trials = 0",
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
            ("\"2,3\"", "\"two\"", "`two` is no thread count"),
            (
                "lock = \"mcs\"",
                "lock = \"spin\"",
                "parameter `lock` = `spin`",
            ),
            ("\"speedup-by-words\"", "\"pie\"", "unknown word `pie`"),
            (
                "trials = 2",
                "trials = 2\nplacement = \"sideways\"",
                "unknown word `sideways`",
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
