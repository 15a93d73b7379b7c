//! `machines/NAME.toml`: a machine as people write it, each cost parameter with its source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

use super::costs::Costs;
use super::{Frequency, MAX_CORES, Machine, Topology};

/// The presets that a machine's file can name in `wake-ups`, in the folder of that file: tables of
/// cost parameters.
pub const WAKE_UPS: &str = "wake-ups";

/// The frequencies that a core may have, in MHz: a value outside this range means a wrong unit.
const MHZ: std::ops::RangeInclusive<u32> = 100..=10_000;

/// An error in a machine's file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
pub struct MachineError {
    /// The file's path as the caller gave it, and the line of an error in its syntax.
    pub file: String,
    /// The key, the value and the remedy.
    pub message: String,
}

/// A file with `like` has only the differences from the machine of that name, whose file is in the
/// same folder.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    title: String,
    like: Option<String>,
    wake_ups: Option<String>,
    topology: Option<TopologyTable>,
    frequency: Option<FrequencyTable>,
    #[serde(default)]
    price: BTreeMap<String, Price>,
    hardware_threads: Option<ThreadsTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct TopologyTable {
    sockets: usize,
    clusters_per_socket: usize,
    cores_per_cluster: usize,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FrequencyTable {
    reference: u32,
    fixed: u32,
    /// Rows of a number of running cores and their frequency in MHz.
    dynamic: Vec<(usize, u32)>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    value: f64,
    source: String,
}

/// Without this table, a core has one hardware thread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ThreadsTable {
    per_core: usize,
    shared_speed: f64,
    source: String,
}

fn written(path: &Path) -> Result<Written, MachineError> {
    let text = text_of(path);
    let text = text.map_err(|error| in_file(path, format!("cannot be read: {error}")))?;
    parsed(path, &text)
}

fn parsed<T: serde::de::DeserializeOwned>(path: &Path, text: &str) -> Result<T, MachineError> {
    toml::from_str(text).map_err(|error| {
        let mut fault = in_file(path, error.message().to_owned());
        if let Some(before) = error.span().and_then(|span| text.get(..span.start)) {
            let line = before.matches('\n').count() + 1;
            fault.file = format!("{}:{line}", fault.file);
        }
        fault
    })
}

fn preset(file: &Path, name: &str) -> Result<BTreeMap<String, Price>, MachineError> {
    let text = text_of(file);
    let text = text.map_err(|error| in_file(file, format!("cannot be read: {error}")))?;
    let mut presets: BTreeMap<String, BTreeMap<String, Price>> = parsed(file, &text)?;
    let known = presets.keys().cloned().collect::<Vec<_>>().join(", ");
    let unknown = || {
        in_file(
            file,
            format!("wake-ups = {name:?}: no such preset; known: {known}"),
        )
    };
    presets.remove(name).ok_or_else(unknown)
}

fn in_file(path: &Path, message: String) -> MachineError {
    MachineError {
        file: path.display().to_string(),
        message,
    }
}

fn check(is_good: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if is_good { Ok(()) } else { Err(message()) }
}

fn sourced(source: &str, of: &str) -> Result<(), String> {
    check(!source.trim().is_empty(), || {
        format!("source of {of} is empty; write its source, or `measured`, or `guess`")
    })
}

impl Machine {
    /// Reads and checks a machine's file. The machine gets the file's name, without `.toml`.
    ///
    /// # Errors
    /// If the file cannot be read, a key is unknown or missing, a value is out of range, or a
    /// source is empty.
    pub fn read(path: &Path) -> Result<Self, MachineError> {
        Self::of(path, written(path)?)
    }

    fn of(path: &Path, own: Written) -> Result<Self, MachineError> {
        let mut machine = Self::free(1);
        let name = path.file_stem().unwrap_or_default();
        machine.name = name.to_string_lossy().into();
        machine.title.clone_from(&own.title);
        let mut values = BTreeMap::new();
        let mut has_tables = [false; 2];
        let mut layers = Vec::new();
        if let Some(like) = &own.like {
            let base = beside(path, like);
            let refused = |why| in_file(path, format!("like = {like:?}: {why}"));
            let found = base.is_file().then(|| written(&base));
            let found = found.ok_or_else(|| refused("there is no such file"))??;
            if found.like.is_some() {
                return Err(refused(
                    "that machine has a `like` itself; name the machine in that `like`",
                ));
            }
            layers.push((base, found));
        }
        layers.push((path.to_owned(), own));
        for (file, layer) in &layers {
            if let Some(name) = &layer.wake_ups {
                let preset = preset(&beside(file, WAKE_UPS), name)?;
                let added = machine.add_costs(&preset, &mut values);
                added
                    .map_err(|message| in_file(file, format!("wake-ups = {name:?}: {message}")))?;
            }
            let added = machine.add(layer, &mut values);
            added.map_err(|message| in_file(file, message))?;
            has_tables[0] |= layer.topology.is_some();
            has_tables[1] |= layer.frequency.is_some();
        }
        let whole = machine.check(&layers, has_tables, &values);
        whole.map_err(|message| in_file(path, message))?;
        Ok(machine)
    }

    fn add(&mut self, layer: &Written, values: &mut BTreeMap<String, f64>) -> Result<(), String> {
        if let Some(table) = &layer.topology {
            self.topology = table.checked()?;
        }
        if let Some(table) = &layer.frequency {
            self.frequency = table.checked()?;
        }
        self.add_costs(&layer.price, values)
    }

    fn add_costs(
        &mut self,
        costs: &BTreeMap<String, Price>,
        values: &mut BTreeMap<String, f64>,
    ) -> Result<(), String> {
        for (key, Price { value, source }) in costs {
            sourced(source, key)?;
            let set = self.costs.set(key, *value);
            set.map_err(|remedy| format!("{key} = {value}: {remedy}"))?;
            values.insert(key.clone(), *value);
        }
        Ok(())
    }

    fn check(
        &mut self,
        layers: &[(PathBuf, Written)],
        [has_topology, has_frequency]: [bool; 2],
        values: &BTreeMap<String, f64>,
    ) -> Result<(), String> {
        let is_missing =
            |key: &&&str| !values.contains_key(**key) && !Costs::OPTIONAL.contains(key);
        let price = Costs::KEYS.iter().find(is_missing);
        let table = [(has_topology, "[topology]"), (has_frequency, "[frequency]")];
        let table = table.into_iter().find(|(has, _)| !has).map(|it| it.1);
        if let Some(missing) = table.or(price.copied()) {
            return Err(format!("{missing} is missing; write it with its source"));
        }
        let deepest = ["deepest-after-ns", "deepest-resume-ns"];
        let has = deepest.map(|key| values.contains_key(key));
        check(has[0] == has[1], || {
            format!(
                "{} without the other; write both, or neither",
                deepest[usize::from(has[1])]
            )
        })?;
        for [less, key] in ordered(self.topology) {
            let (Some(low), Some(high)) = (values.get(less), values.get(key)) else {
                continue;
            };
            check(low <= high, || {
                format!("{key} = {high}: less than {less} = {low}; write at least {low}")
            })?;
        }
        for table in layers
            .iter()
            .filter_map(|(_, it)| it.hardware_threads.as_ref())
        {
            sourced(&table.source, "the hardware threads")?;
            let (per_core, speed) = (table.per_core, table.shared_speed);
            check(
                per_core == 2 && 2 * self.topology.cores() <= MAX_CORES,
                || {
                    let most = MAX_CORES / 2;
                    format!(
                        "per-core = {per_core}: write 2, for at most {most} cores; without [hardware-threads], a core has one"
                    )
                },
            )?;
            check((0.5..=1.0).contains(&speed), || {
                format!(
                    "shared-speed = {speed}: write 0.5 (two threads together are as fast as one alone) to 1"
                )
            })?;
            self.topology.hardware_threads = 2;
            self.costs.shared_speed = speed;
        }
        Ok(())
    }

    /// The other files from which the machine at `path` gets cost parameters: the file of the
    /// machine in `like`, and the file of presets.
    #[must_use]
    pub fn further_files(path: &Path) -> Vec<PathBuf> {
        let own = written(path).ok();
        let like = own.as_ref().and_then(|it| it.like.as_deref());
        let like = like.map(|like| beside(path, like));
        let base = like.as_ref().and_then(|like| written(like).ok());
        let has_preset = [own, base].iter().flatten().any(|it| it.wake_ups.is_some());
        let presets = has_preset.then(|| beside(path, WAKE_UPS));
        like.into_iter().chain(presets).collect()
    }
}

impl TopologyTable {
    fn checked(&self) -> Result<Topology, String> {
        sourced(&self.source, "the topology")?;
        let topology = Topology {
            sockets: self.sockets,
            clusters_per_socket: self.clusters_per_socket,
            cores_per_cluster: self.cores_per_cluster,
            hardware_threads: 1,
        };
        let cores = [
            self.sockets,
            self.clusters_per_socket,
            self.cores_per_cluster,
        ];
        let all = cores.into_iter().fold(1, usize::saturating_mul);
        check((1..=MAX_CORES).contains(&all), || {
            format!(
                "[sockets, clusters-per-socket, cores-per-cluster] = {cores:?}: write 1 to {MAX_CORES} cores in all"
            )
        })?;
        Ok(topology)
    }
}

impl FrequencyTable {
    fn checked(&self) -> Result<Frequency, String> {
        sourced(&self.source, "the frequencies")?;
        let limits = format!("{} to {} MHz", MHZ.start(), MHZ.end());
        for (key, mhz) in [("reference", self.reference), ("fixed", self.fixed)] {
            check(MHZ.contains(&mhz), || {
                format!("{key} = {mhz}: write {limits}")
            })?;
        }
        let rows = &self.dynamic;
        let is_row = |(cores, mhz): &(usize, u32)| *cores > 0 && MHZ.contains(mhz);
        let ascends = rows.is_sorted_by(|one, next| one.0 < next.0);
        check(
            !rows.is_empty() && ascends && rows.iter().all(is_row),
            || {
                format!(
                    "dynamic = {rows:?}: write rows [running cores of the socket, MHz], ascending in cores, with at least 1 core \
                 and {limits}"
                )
            },
        )?;
        Ok(Frequency {
            reference_mhz: self.reference,
            fixed_mhz: self.fixed,
            dynamic_mhz: rows.clone(),
        })
    }
}

/// Pairs of keys. The second key must not cost less than the first: it is for a longer distance on
/// this machine, or for a deeper sleep.
fn ordered(topology: Topology) -> Vec<[&'static str; 2]> {
    let distances = [
        ("transfer-cluster-ns", topology.cores_per_cluster),
        ("transfer-socket-ns", topology.clusters_per_socket),
        ("transfer-far-ns", topology.sockets),
    ];
    let has = distances.into_iter().filter(|(_, parts)| *parts > 1);
    let keys: Vec<_> = has.map(|(key, _)| key).collect();
    let pairs = keys.windows(2).map(|pair| [pair[0], pair[1]]);
    pairs
        .chain([
            ["resume-ns", "deep-resume-ns"],
            ["deep-resume-ns", "deepest-resume-ns"],
            ["deep-after-ns", "deepest-after-ns"],
        ])
        .collect()
}

fn beside(path: &Path, name: &str) -> PathBuf {
    path.with_file_name(format!("{name}.toml"))
}

/// The text of a regular file. Reading a pipe would wait for a writer, and a device may have no
/// end.
fn text_of(path: &Path) -> io::Result<String> {
    if fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Err(io::Error::other("not a regular file"));
    }
    fs::read_to_string(path)
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

    fn read(text: &str) -> Result<Machine, String> {
        let path = machines().join("m.toml");
        let written = parsed(&path, text);
        let machine = written.and_then(|written| Machine::of(&path, written));
        machine.map_err(|error| error.to_string())
    }

    #[test]
    fn every_machine_of_this_checkout_is_sound() {
        let files: Vec<_> = fs::read_dir(machines())
            .unwrap()
            .map(|it| it.unwrap().path())
            // A box consists of ranges, and presets are a part of a machine.
            .filter(|it| !it.ends_with("box.toml") && !it.ends_with("wake-ups.toml"))
            .collect();
        assert!(files.len() >= 5, "{files:?}");
        for file in files {
            Machine::read(&file).unwrap();
        }
    }

    #[test]
    fn a_machine_that_is_like_another_differs_only_in_its_own_tables() {
        let other = read(&example()).unwrap();
        let own = format!(
            "{LIKE}\n[topology]\nsockets = 2\nclusters-per-socket = 2\ncores-per-cluster = 4\nsource = \"s\"\n\
             [frequency]\nreference = 3700\nfixed = 2000\ndynamic = [[8, 2000]]\nsource = \"s\"\n\
             [price]\nfence-ns = {{ value = 7, source = \"guess\" }}\n"
        );
        let machine = read(&own).unwrap();
        assert_eq!(machine.topology.cpus(), 32);
        assert_eq!(machine.frequency.fixed_mhz, 2000);
        let expected = Costs {
            fence: 7_000,
            shared_speed: 0.6,
            ..other.costs
        };
        assert_eq!((machine.costs, &*machine.title), (expected, "t"));
        // The table of hardware threads means the same in a file without `like`.
        let threads = LIKE.split_once("\n\n").unwrap().1;
        let whole = read(&format!("{}\n{threads}", example())).unwrap();
        assert_eq!(whole.costs, read(LIKE).unwrap().costs);
        assert_eq!(whole.topology.cpus(), 128);
    }

    #[test]
    fn a_preset_of_wake_ups_replaces_costs_of_like_and_the_files_own_replace_those_of_the_preset() {
        let own = LIKE.replacen("\n\n", "\nwake-ups = \"virtual-polling\"\n\n", 1);
        let own = own + "[price]\nresume-ns = { value = 7000, source = \"guess\" }\n";
        let [other, machine] = [LIKE, &own].map(|text| read(text).unwrap().costs);
        let expected = Costs {
            wake: 9_218_000,
            resume: 7_000_000,
            block: 3_222_500,
            poll: 200_000_000,
            deep_after: 1_000_000_000,
            deep_resume: 68_065_000,
            ..other
        };
        assert_eq!(machine, expected);
    }

    #[test]
    fn every_preset_of_wake_ups_is_sound() {
        let file = machines().join("wake-ups.toml");
        let presets: toml::Table = toml::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert!(presets.len() >= 4, "{presets:?}");
        for name in presets.keys() {
            read(&LIKE.replacen("\n\n", &format!("\nwake-ups = \"{name}\"\n\n"), 1)).unwrap();
        }
    }

    #[test]
    fn a_fault_is_told_with_key_value_and_remedy() {
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
                line("sockets", "sockets = 0"),
                "= [0, 8, 8]: write 1 to",
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
                line(
                    "hit-ns",
                    "hit-ns = { value = 1, source = \"guess\" }\n\
                     deepest-after-ns = { value = 1e6, source = \"guess\" }",
                ),
                "deepest-after-ns without the other; write both, or neither",
            ),
            (
                &example,
                line("hit-ns", "hits-ns = { value = 1, source = \"guess\" }"),
                "unknown cost parameter; known: ",
            ),
            (
                &example,
                line("hit-ns", "hit-ns = { value = 1.0 }"),
                ":16: missing field `source`",
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
                line("like", "like = \"zen4-64\"\nwake-ups = \"bare\""),
                "wake-ups = \"bare\": no such preset; known: bare-mwait, macos, ",
            ),
            (
                LIKE,
                line("like", "like = \"zen2-64\""),
                "that machine has a `like` itself; name the machine in that `like`",
            ),
        ] {
            let old = base.lines().find(|line| line.starts_with(&key)).unwrap();
            let message = read(&base.replacen(old, &new, 1)).unwrap_err();
            assert!(message.contains(told), "{message}");
        }
        let hit = example.lines().find(|line| line.starts_with("hit-ns"));
        let without = example.replacen(hit.unwrap(), "", 1);
        assert!(read(&without).unwrap_err().contains("hit-ns is missing"));
        let far = example
            .lines()
            .find(|line| line.starts_with("transfer-far-ns"));
        let far = example.replacen(far.unwrap(), &price("transfer-far-ns", "1").1, 1);
        assert!(read(&far).is_ok(), "the machine has one socket");
        let wide = read(&LIKE.replace("zen4-64", "wide-1024")).unwrap_err();
        assert!(wide.contains("at most 1023 cores"), "{wide}");
    }
}
