//! `experiments.toml`: definitions of sweeps with a name: presets, and one for each table or figure.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use serde::Deserialize;
use serde_spanned::Spanned;

use crate::config::catalogue;
use crate::config::pick::{no_such, pick_grouped};
use crate::config::{ConfigError, FileText};
use crate::options::selection;
use crate::plan::{Definition, Load, Scalar};
use crate::stop::Stop;

const FILE: &str = "experiments.toml";

impl Definition {
    /// Returns the command that measures it.
    pub(crate) fn command(&self) -> String {
        format!("cargo runner sweep --experiment {}", self.name)
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
        // A parameter of a workload that the command line leaves out has no effect.
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
        if let Some(own) = self.workloads.as_deref().filter(|own| *own != workloads)
            && let Some(key) = keys.find(|key| is_own(key) && !is_known(key))
        {
            bail!(Stop::BadInput(format!(
                "--workloads {workloads}: none has `{key}`, which experiment `{}` is about; take some of its own: {own}",
                self.name
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

/// The rows of the file.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The rows from which a sweep starts if no experiment is named.
    pub(crate) presets: Vec<Definition>,
    /// For one table or figure each.
    pub(crate) experiments: Vec<Definition>,
}

/// Reads and checks the file of a checkout.
pub(crate) fn read(root: &Path) -> Result<Rows> {
    let path = root.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|error| ConfigError {
        file: path.display().to_string(),
        line: None,
        message: format!("cannot be read: {error}; it names the presets and experiments"),
    })?;
    parse(&text)
}

/// The row of a `kind` that is called `name`.
pub(crate) fn find(rows: Vec<Definition>, kind: &str, name: &str) -> Result<Definition> {
    let known: Vec<String> = rows.iter().map(|it| it.name.clone()).collect();
    let found = rows.into_iter().find(|it| it.name == name);
    let is_empty = known.is_empty();
    let known = known.iter().map(String::as_str);
    found.ok_or_else(|| {
        let no_such = no_such(&format!("--{kind}"), kind, name, known);
        if is_empty {
            anyhow!(Stop::BadInput(format!(
                "{no_such}; add a `[[{kind}]]` to {FILE}, or take the file of the repository"
            )))
        } else {
            no_such.into()
        }
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    preset: Vec<Spanned<Definition>>,
    #[serde(default)]
    experiment: Vec<Spanned<Definition>>,
}

fn parse(text: &str) -> Result<Rows> {
    let place = FileText { file: FILE, text };
    let file: File =
        toml::from_str(text).map_err(|error| ConfigError::of_parser(FILE, text, &error))?;
    Ok(Rows {
        presets: checked("preset", file.preset, &place)?,
        experiments: checked("experiment", file.experiment, &place)?,
    })
}

/// Checks rows of a `kind`, and makes their cells.
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
        for (what, count) in [
            ("trials", row.trials),
            ("iterations", row.iterations),
            // Without it, there are as many layouts as trials.
            ("layouts", row.layouts.or(Some(1))),
        ] {
            match count {
                Some(0) => {
                    return Err(
                        fault(format!("{what} = 0 measures nothing; write 1 or more")).into(),
                    );
                }
                None => return Err(fault(format!("missing key `{what}`")).into()),
                Some(_) => {}
            }
        }
        row.branches.get_or_insert_with(|| "all".to_owned());
        row.mode.get_or_insert_default();
        row.placement.get_or_insert_default();
        row.warmup_iterations.get_or_insert(1);
        row.twin.get_or_insert(true);
        row.cells = cells(&row, &fault)?;
        let text = |what: &str, value: &Option<String>| {
            let missing = || fault(format!("missing key `{what}`"));
            value.clone().ok_or_else(missing)
        };
        let (workloads, size) = (text("workloads", &row.workloads)?, text("size", &row.size)?);
        let threads = text("threads", &row.threads)?;
        // Told now, with the row's name, rather than when it is started.
        row.loads(&workloads, &size, &[], None)
            .and_then(|_| selection::threads(&threads, 1, 1))
            .map_err(|error| fault(format!("{error:#}")))?;
        checked.push(row);
    }
    Ok(checked)
}

/// Every combination of what is set, varies, and goes together.
fn cells(
    row: &Definition,
    fault: &impl Fn(String) -> ConfigError,
) -> Result<Vec<BTreeMap<String, String>>, ConfigError> {
    let mut cells = vec![BTreeMap::new()];
    let add = |cells: &mut Vec<BTreeMap<String, String>>, group: Vec<Vec<(&String, &Scalar)>>| {
        let mut product = Vec::new();
        for cell in cells.iter() {
            for addition in &group {
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
    fn cells_are_all_combinations_of_cases_and_what_varies() {
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
            assert_eq!(loads.len(), 4, "equal cells run once");
            assert!(loads.iter().all(|load| load.parameters["words"] == "77"));
        }
    }

    #[test]
    fn workloads_that_an_experiment_is_not_about_are_refused_without_words_that_nobody_typed() {
        let experiment = parse(&file("", "")).unwrap().experiments.remove(0);
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
    fn a_name_in_an_empty_file_is_told_what_the_file_lacks() {
        for kind in ["experiment", "preset"] {
            let error = find(parse("").unwrap().experiments, kind, "quick").unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "--{kind} quick: no such {kind}; there is no {kind} at all; add a `[[{kind}]]` to \
                     experiments.toml, or take the file of the repository"
                )
            );
            assert_eq!(crate::exit::exit_of(&error), crate::stop::Exit::BadInput);
        }
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
                "",
                "experiments.toml:2: experiment `one`: missing key `trials`",
            ),
            (
                "size = \"tiny\"",
                "",
                "experiments.toml:2: experiment `one`: missing key `size`",
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
