//! `machines/NAME.toml`: a machine as people write it, each cost parameter with its source.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;
use serde_spanned::Spanned;

use super::costs::{Costs, SYSTEM, is_meant, unknown};
use super::{Frequency, MAX_CORES, Machine, Topology};

/// The frequencies that a core may have, in MHz: a value outside means a wrong unit.
const MHZ: std::ops::RangeInclusive<u32> = 100..=10_000;

/// An error in a machine's file: its place and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message}", line.map_or(String::new(), |line| format!(":{line}")))]
pub struct MachineError {
    /// The file, as it was named.
    pub file: String,
    /// Its line, if a line is at fault.
    pub line: Option<usize>,
    /// Key, value and remedy.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    title: String,
    like: Option<Spanned<String>>,
    topology: Option<TopologyTable>,
    frequency: Option<FrequencyTable>,
    #[serde(default)]
    price: BTreeMap<String, Price>,
    hardware_threads: Option<ThreadsTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TopologyTable {
    sockets: Spanned<usize>,
    clusters_per_socket: Spanned<usize>,
    cores_per_cluster: Spanned<usize>,
    source: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FrequencyTable {
    reference: Spanned<u32>,
    fixed: Spanned<u32>,
    /// Rows of running cores and MHz.
    dynamic: Spanned<Vec<(usize, u32)>>,
    source: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    value: Spanned<f64>,
    source: Spanned<String>,
}

/// Without this table, a core has one hardware thread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ThreadsTable {
    per_core: Spanned<usize>,
    shared_speed: Spanned<f64>,
    source: Spanned<String>,
}

/// A file with its text, for the lines of errors.
struct Layer {
    file: String,
    text: String,
    written: Written,
}

impl Layer {
    fn read(path: &Path) -> Result<Self, MachineError> {
        let text = text_of(path).map_err(|error| MachineError {
            file: path.display().to_string(),
            line: None,
            message: format!("cannot be read: {error}"),
        })?;
        Self::parse(path, text)
    }

    fn parse(path: &Path, text: String) -> Result<Self, MachineError> {
        let file = path.display().to_string();
        let written = toml::from_str(&text).map_err(|error| MachineError {
            line: error.span().map(|span| line_of(&text, span.start)),
            message: error.message().to_owned(),
            file: file.clone(),
        })?;
        Ok(Self {
            file,
            text,
            written,
        })
    }

    fn fault<T>(&self, at: &Spanned<T>, message: String) -> MachineError {
        MachineError {
            file: self.file.clone(),
            line: Some(line_of(&self.text, at.span().start)),
            message,
        }
    }

    /// A value that is refused.
    fn refused<T: Display>(&self, key: &str, value: &Spanned<T>, remedy: &str) -> MachineError {
        self.fault(value, format!("{key} = {}: {remedy}", value.get_ref()))
    }

    fn sourced(&self, source: &Spanned<String>, of: &str) -> Result<(), MachineError> {
        if source.get_ref().trim().is_empty() {
            let why =
                format!("source of {of} is empty; write its source, or `measured`, or `guess`");
            return Err(self.fault(source, why));
        }
        Ok(())
    }
}

impl Machine {
    /// Reads and checks a machine's file. Its name is the file's, without `.toml`.
    ///
    /// # Errors
    /// If the file cannot be read, a key is unknown or missing, a value is out of range, or a
    /// source is empty.
    pub fn read(path: &Path) -> Result<Self, MachineError> {
        Self::read_scaled(path, None)
    }

    /// [`Machine::read`], with one cost parameter multiplied by a factor, up to its limit. The
    /// parameter is named by its key, or is [`SYSTEM`].
    ///
    /// # Errors
    /// As [`Machine::read`], and if no parameter has that key.
    pub fn read_scaled(path: &Path, scaled: Option<(&str, f64)>) -> Result<Self, MachineError> {
        Self::of(path, Layer::read(path)?, scaled)
    }

    fn of(path: &Path, own: Layer, scaled: Option<(&str, f64)>) -> Result<Self, MachineError> {
        let mut layers = Vec::new();
        if let Some(like) = &own.written.like {
            let beside = beside(path, like.get_ref());
            let shown = format!("{:?}", like.get_ref());
            let refused = |why: &str| own.fault(like, format!("like = {shown}: {why}"));
            let base = Layer::read(&beside).map_err(|error| match error.line {
                None => refused(&error.to_string()),
                Some(_) => error,
            })?;
            if base.written.like.is_some() {
                return Err(refused("has a `like` itself; name that machine"));
            }
            layers.push(base);
        }
        layers.push(own);
        let last = &layers[layers.len() - 1];
        let missing = |what: &str| MachineError {
            file: last.file.clone(),
            line: None,
            message: format!("{what} is missing; write it with its source"),
        };
        let mut machine = Self::free(1);
        machine.name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into();
        machine.title.clone_from(&last.written.title);
        let mut has_topology = false;
        let mut has_frequency = false;
        let mut prices = BTreeMap::new();
        for layer in &layers {
            let Written {
                topology,
                frequency,
                price,
                ..
            } = &layer.written;
            if let Some(table) = topology {
                machine.topology = layer.topology(table)?;
                has_topology = true;
            }
            if let Some(table) = frequency {
                machine.frequency = layer.frequency(table)?;
                has_frequency = true;
            }
            for (key, Price { value, source }) in price {
                layer.sourced(source, key)?;
                let factor = scaled.filter(|(name, _)| is_meant(name, key));
                let set = machine
                    .costs
                    .set(key, *value.get_ref(), factor.map_or(1.0, |it| it.1));
                set.map_err(|remedy| layer.refused(key, value, &remedy))?;
                prices.insert(key.as_str(), (layer, value));
            }
        }
        if !has_topology {
            return Err(missing("[topology]"));
        }
        if !has_frequency {
            return Err(missing("[frequency]"));
        }
        let keys = Costs::keys();
        if let Some(key) = keys.iter().find(|key| !prices.contains_key(**key)) {
            return Err(missing(key));
        }
        if let Some((name, _)) = scaled.filter(|(name, _)| *name != SYSTEM && !keys.contains(name))
        {
            return Err(MachineError {
                message: format!("{name}: {}", unknown()),
                ..missing(name)
            });
        }
        for pair in ordered(machine.topology) {
            let [(_, low), (layer, high)] = pair.map(|key| prices[key]);
            let [less, key] = pair;
            if high.get_ref() < low.get_ref() {
                let remedy = format!("less than {less} = {}; write at least that", low.get_ref());
                return Err(layer.refused(key, high, &remedy));
            }
        }
        for layer in &layers {
            if let Some(table) = &layer.written.hardware_threads {
                layer.hardware_threads(table, &mut machine)?;
            }
        }
        Ok(machine)
    }

    /// The file with the cost parameters of the machine at `path`: that file, or the file of the
    /// machine on which it is based.
    #[must_use]
    pub fn costs_file(path: &Path) -> PathBuf {
        let like = Layer::read(path).ok().and_then(|it| it.written.like);
        like.map_or_else(|| path.to_owned(), |like| beside(path, like.get_ref()))
    }
}

impl Layer {
    fn topology(&self, table: &TopologyTable) -> Result<Topology, MachineError> {
        self.sourced(&table.source, "the topology")?;
        let mut cores = 1;
        for (key, count) in [
            ("sockets", &table.sockets),
            ("clusters-per-socket", &table.clusters_per_socket),
            ("cores-per-cluster", &table.cores_per_cluster),
        ] {
            cores = count.get_ref().saturating_mul(cores);
            if !(1..=MAX_CORES).contains(&cores) {
                let remedy = format!("write 1 to {MAX_CORES}, and no more cores in all");
                return Err(self.refused(key, count, &remedy));
            }
        }
        Ok(Topology {
            sockets: *table.sockets.get_ref(),
            clusters_per_socket: *table.clusters_per_socket.get_ref(),
            cores_per_cluster: *table.cores_per_cluster.get_ref(),
            hardware_threads: 1,
        })
    }

    fn frequency(&self, table: &FrequencyTable) -> Result<Frequency, MachineError> {
        self.sourced(&table.source, "the frequencies")?;
        let limits = format!("{} to {} MHz", MHZ.start(), MHZ.end());
        for (key, mhz) in [("reference", &table.reference), ("fixed", &table.fixed)] {
            if !MHZ.contains(mhz.get_ref()) {
                return Err(self.refused(key, mhz, &format!("write {limits}")));
            }
        }
        let rows = table.dynamic.get_ref();
        let is_row = |(cores, mhz): &(usize, u32)| *cores > 0 && MHZ.contains(mhz);
        let ascends = rows.is_sorted_by(|one, next| one.0 < next.0);
        if rows.is_empty() || !ascends || !rows.iter().all(is_row) {
            let why = format!(
                "dynamic: write rows [running cores of the socket, MHz], ascending in cores, with at least 1 core \
                 and {limits}"
            );
            return Err(self.fault(&table.dynamic, why));
        }
        Ok(Frequency {
            reference_mhz: *table.reference.get_ref(),
            fixed_mhz: *table.fixed.get_ref(),
            dynamic_mhz: rows.clone(),
        })
    }

    fn hardware_threads(
        &self,
        table: &ThreadsTable,
        machine: &mut Machine,
    ) -> Result<(), MachineError> {
        self.sourced(&table.source, "the hardware threads")?;
        if *table.per_core.get_ref() != 2 || 2 * machine.topology.cores() > MAX_CORES {
            let remedy = format!(
                "write 2, for at most {} cores; without [hardware-threads], a core has one",
                MAX_CORES / 2
            );
            return Err(self.refused("per-core", &table.per_core, &remedy));
        }
        let speed = &table.shared_speed;
        if !(0.5..=1.0).contains(speed.get_ref()) {
            let remedy = "write 0.5 (two threads together are as fast as one alone) to 1 (each is as fast as alone)";
            return Err(self.refused("shared-speed", speed, remedy));
        }
        machine.topology.hardware_threads = 2;
        machine.costs.shared_speed = *speed.get_ref();
        Ok(())
    }
}

/// Pairs of keys of which the second must not cost less: a longer distance that the machine has,
/// or a deeper sleep.
fn ordered(topology: Topology) -> Vec<[&'static str; 2]> {
    let distances = [
        ("transfer-cluster-ns", topology.cores_per_cluster),
        ("transfer-socket-ns", topology.clusters_per_socket),
        ("transfer-far-ns", topology.sockets),
    ];
    let has = distances.into_iter().filter(|(_, parts)| *parts > 1);
    let keys: Vec<_> = has.map(|(key, _)| key).collect();
    let pairs = keys.windows(2).map(|pair| [pair[0], pair[1]]);
    pairs.chain([["resume-ns", "deep-resume-ns"]]).collect()
}

fn beside(path: &Path, name: &str) -> PathBuf {
    path.with_file_name(format!("{name}.toml"))
}

/// The text of a regular file: a pipe would wait for its other end, a device may have no end.
fn text_of(path: &Path) -> io::Result<String> {
    if fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Err(io::Error::other("not a regular file"));
    }
    fs::read_to_string(path)
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIKE: &str = "title = \"t\"\nlike = \"zen4-64\"\n\n[hardware-threads]\nper-core = 2\nshared-speed = 0.6\n\
                        source = \"guess\"\n";

    fn machines() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines")
    }

    fn example() -> String {
        fs::read_to_string(machines().join("zen4-64.toml")).unwrap()
    }

    /// Reads `text` as the file of a machine beside those of this checkout. An error begins with
    /// its line.
    fn read(text: &str, scaled: Option<(&str, f64)>) -> Result<Machine, String> {
        let path = machines().join("m.toml");
        let layer = Layer::parse(&path, text.to_owned());
        let machine = layer.and_then(|layer| Machine::of(&path, layer, scaled));
        machine.map_err(|error| {
            let text = error.to_string();
            let (_, place) = text.split_once("m.toml:").unwrap_or(("", &text));
            place.to_owned()
        })
    }

    #[test]
    fn every_machine_of_this_checkout_is_sound() {
        let files: Vec<_> = fs::read_dir(machines())
            .unwrap()
            .map(|it| it.unwrap().path())
            // A box consists of ranges, and is not a machine.
            .filter(|it| !it.ends_with("box.toml"))
            .collect();
        assert!(files.len() >= 5, "{files:?}");
        for file in files {
            Machine::read(&file).unwrap();
        }
    }

    #[test]
    fn a_machine_that_is_like_another_differs_only_in_its_own_tables() {
        let other = read(&example(), None).unwrap();
        let own = format!(
            "{LIKE}\n[topology]\nsockets = 2\nclusters-per-socket = 2\ncores-per-cluster = 4\nsource = \"s\"\n\
             [frequency]\nreference = 3700\nfixed = 2000\ndynamic = [[8, 2000]]\nsource = \"s\"\n\
             [price]\nfence-ns = {{ value = 7, source = \"guess\" }}\n"
        );
        let machine = read(&own, None).unwrap();
        assert_eq!(machine.topology.cpus(), 32);
        assert_eq!(machine.frequency.fixed_mhz, 2000);
        let expected = Costs {
            fence: 7_000,
            shared_speed: 0.6,
            ..other.costs
        };
        assert_eq!((machine.costs, &*machine.title), (expected, "t"));
        // A whole file says the same about hardware threads.
        let threads = LIKE.split_once("\n\n").unwrap().1;
        let whole = read(&format!("{}\n{threads}", example()), None).unwrap();
        assert_eq!(whole.costs, read(LIKE, None).unwrap().costs);
        assert_eq!(whole.topology.cpus(), 128);
    }

    #[test]
    fn a_fault_is_told_with_line_key_value_and_remedy() {
        let example = example();
        let price = |key: &str, value: &str| {
            (
                key.to_owned(),
                format!("{key} = {{ value = {value}, source = \"guess\" }}"),
            )
        };
        let line = |key: &str, new: &str| (key.to_owned(), new.to_owned());
        for (base, (key, new), told) in [
            (
                &*example,
                price("hit-ns", "-1"),
                "hit-ns = -1: write a number from 0",
            ),
            (
                &example,
                price("hit-ns", "nan"),
                "hit-ns = NaN: write a number from 0",
            ),
            (
                &example,
                line("hit-ns", "hit-ns = { value = 1, source = \" \" }"),
                "source of hit-ns is empty",
            ),
            (
                &example,
                price("store-buffer", "1.5"),
                "store-buffer = 1.5: write a whole number",
            ),
            (
                &example,
                price("run", "0"),
                "run = 0: write a whole number, 1 to",
            ),
            (
                &example,
                price("core-gigabytes-per-second", "0"),
                "no access to memory would ever end",
            ),
            (
                &example,
                line("sockets", "sockets = 0"),
                "sockets = 0: write 1 to",
            ),
            (
                &example,
                line("fixed", "fixed = 1"),
                "fixed = 1: write 100 to 10000 MHz",
            ),
            (
                &example,
                line("dynamic", "dynamic = [[64, 3]]"),
                "at least 1 core and 100 to 10000 MHz",
            ),
            (
                &example,
                price("transfer-socket-ns", "22"),
                "less than transfer-cluster-ns = 23; write at least",
            ),
            (
                &example,
                price("deep-resume-ns", "2999"),
                "less than resume-ns = 3000; write at least",
            ),
            (
                &example,
                line("hit-ns", "hits-ns = { value = 1, source = \"guess\" }"),
                "unknown cost parameter; known: ",
            ),
            (
                &example,
                line("hit-ns", "hit-ns = { value = 1.0 }"),
                "missing field `source`",
            ),
            (
                LIKE,
                line("per-core", "per-core = 3"),
                "per-core = 3: write 2",
            ),
            (
                LIKE,
                line("shared-speed", "shared-speed = 0.4"),
                "shared-speed = 0.4: write 0.5 ",
            ),
            (
                LIKE,
                line("source", "source = \"\""),
                "source of the hardware threads is empty",
            ),
            (
                LIKE,
                line("like", "like = \"zen4-46\""),
                "like = \"zen4-46\": ",
            ),
            (
                LIKE,
                line("like", "like = \"zen2-64\""),
                "has a `like` itself; name that machine",
            ),
        ] {
            let mut lines = base.lines().enumerate();
            let (at, old) = lines.find(|(_, line)| line.starts_with(&key)).unwrap();
            let message = read(&base.replacen(old, &new, 1), None).unwrap_err();
            let begins = message.starts_with(&format!("{}: ", at + 1));
            assert!(begins && message.contains(told), "{message}");
        }
        let hit = example.lines().find(|line| line.starts_with("hit-ns"));
        let without = example.replacen(hit.unwrap(), "", 1);
        assert!(
            read(&without, None)
                .unwrap_err()
                .contains("hit-ns is missing")
        );
        let far = example
            .lines()
            .find(|line| line.starts_with("transfer-far-ns"));
        let far = example.replacen(far.unwrap(), &price("transfer-far-ns", "1").1, 1);
        assert!(read(&far, None).is_ok(), "it has one socket");
        let wide = read(&LIKE.replace("zen4-64", "wide-1024"), None).unwrap_err();
        assert!(wide.contains("at most 1023 cores"), "{wide}");
    }

    #[test]
    fn one_cost_is_scaled_as_far_as_it_may_go() {
        let read = |scaled| read(&example(), scaled).map(|it| it.costs);
        let plain = read(None).unwrap();
        let expected = Costs {
            fence: 2 * plain.fence,
            ..plain.clone()
        };
        assert_eq!(read(Some(("fence-ns", 2.0))), Ok(expected));
        let expected = Costs {
            block: 2 * plain.block,
            wake: 2 * plain.wake,
            wake_polling: 2 * plain.wake_polling,
            resume: 2 * plain.resume,
            resume_polling: 2 * plain.resume_polling,
            yielding: 2 * plain.yielding,
            ..plain
        };
        assert_eq!(read(Some((SYSTEM, 2.0))), Ok(expected));
        let most = read(Some(("occupancy", 1e3))).unwrap();
        assert!((most.occupancy - 1.0).abs() < f64::EPSILON);
        let message = read(Some(("fences-ns", 2.0))).unwrap_err();
        assert!(
            message.contains("fences-ns: unknown cost parameter; known: "),
            "{message}"
        );
    }
}
