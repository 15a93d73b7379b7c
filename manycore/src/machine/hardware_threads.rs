//! Two hardware threads per core: what a machine's file says about them. Also machines that are
//! based on another one, with such threads, or with other cores, frequencies or cost parameters.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_spanned::Spanned;

use super::costs::OwnCosts;
use super::fault::{MachineError, sourced};
use super::file::{FrequencyTable, TopologyTable, frequency, text_of, topology};
use super::{Costs, MAX_CORES, Machine, Topology};

/// The table `[hardware-threads]`, as written. Without it, a core has one hardware thread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct HardwareThreads {
    per_core: Spanned<usize>,
    shared_speed: Spanned<f64>,
    source: Spanned<String>,
}

impl HardwareThreads {
    /// `machine` with these.
    pub(super) fn given_to(
        &self,
        mut machine: Machine,
        fault: &impl Fn(usize, String) -> MachineError,
    ) -> Result<Machine, MachineError> {
        sourced(&self.source, "the hardware threads", fault)?;
        let at = self.per_core.span().start;
        let per_core = *self.per_core.get_ref();
        if per_core != 2 {
            return Err(fault(
                at,
                format!(
                    "per-core = {per_core}: write 2, the only number that is simulated; a machine with one thread per core has no \
                     [hardware-threads]"
                ),
            ));
        }
        let cores = machine.topology.cores();
        if per_core * cores > MAX_CORES {
            return Err(fault(
                at,
                format!(
                    "per-core = {per_core}: {cores} cores; at most {} can have two",
                    MAX_CORES / 2
                ),
            ));
        }
        let speed = *self.shared_speed.get_ref();
        if !(0.5..=1.0).contains(&speed) {
            return Err(fault(
                self.shared_speed.span().start,
                format!(
                    "shared-speed = {speed}: write 0.5 (two threads together are as fast as one alone) to 1 (each is as fast as alone)"
                ),
            ));
        }
        machine.topology.hardware_threads = per_core;
        machine.costs.shared_speed = speed;
        Ok(machine)
    }
}

/// A machine with the cost parameters of another one, except some, and tables of its own. Thus
/// shared cost parameters are in one file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Derived {
    title: String,
    /// The other's name: its file lies beside this one.
    like: Spanned<String>,
    topology: Option<TopologyTable>,
    frequency: Option<FrequencyTable>,
    price: Option<Spanned<OwnCosts>>,
    hardware_threads: Option<HardwareThreads>,
}

impl Derived {
    /// Parses `text`; `None` if it is of no such machine.
    pub(super) fn written(file: &str, text: &str) -> Result<Option<Self>, MachineError> {
        if name(text).is_none() {
            return Ok(None);
        }
        toml::from_str(text)
            .map(Some)
            .map_err(MachineError::of_parser(file, text))
    }

    /// The machine: its file is at `path`, and errors call it `file`.
    pub(super) fn machine(
        self,
        name: &str,
        path: &Path,
        file: &str,
        text: &str,
        scaled: Option<(&str, f64)>,
    ) -> Result<Machine, MachineError> {
        let fault = MachineError::at(file, text);
        let other = beside(path, self.like.get_ref());
        let other_file = other.display().to_string();
        let refused = |why: &str| {
            let message = format!("like = {:?}: {why}", self.like.get_ref());
            fault(self.like.span().start, message)
        };
        let other_text = text_of(&other)
            .map_err(|error| refused(&format!("{other_file} cannot be read: {error}")))?;
        if self::name(&other_text).is_some() {
            return Err(refused("has a `like` itself; name that machine"));
        }
        let of_own = self
            .topology
            .map(|own| topology(&own, &fault))
            .transpose()?;
        let mut machine = Machine::parse_as(name, &other_file, &other_text, scaled, of_own)?;
        machine.title = self.title;
        if let Some(own) = self.frequency {
            machine.frequency = frequency(&own, &fault)?;
        }
        if let Some(own) = self.price {
            own.get_ref().replace(&mut machine.costs, scaled, &fault)?;
            if let Some(why) = disorder(&machine.costs, machine.topology) {
                return Err(fault(own.span().start, why));
            }
        }
        if machine.topology.hardware_threads > 1 {
            return Err(refused("already has two hardware threads per core"));
        }
        match self.hardware_threads {
            Some(own) => own.given_to(machine, &fault),
            None => Ok(machine),
        }
    }
}

/// The first of `costs` that is less than that of a shorter distance, or of a lighter sleep.
fn disorder(costs: &Costs, topology: Topology) -> Option<String> {
    let mut transfers = Vec::new();
    for (key, price, is_there) in [
        (
            "transfer-cluster-ns",
            costs.transfer_cluster,
            topology.cores_per_cluster > 1,
        ),
        (
            "transfer-socket-ns",
            costs.transfer_socket,
            topology.clusters_per_socket > 1,
        ),
        ("transfer-far-ns", costs.transfer_far, topology.sockets > 1),
    ] {
        transfers.extend(is_there.then_some((key, price)));
    }
    let resumes = [
        ("resume-ns", costs.resume),
        ("deep-resume-ns", costs.deep_resume),
    ];
    let pairs = transfers.windows(2).chain(resumes.windows(2));
    pairs
        .map(|pair| (pair[0], pair[1]))
        .find(|((_, low), (_, high))| high < low)
        .map(|((less, _), (key, _))| format!("{key} is less than {less}; write at least that"))
}

/// The machine on which the one of `text` is based, if there is one.
fn name(text: &str) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    Some(table.get("like")?.as_str().unwrap_or_default().to_owned())
}

fn beside(path: &Path, name: &str) -> PathBuf {
    path.with_file_name(format!("{name}.toml"))
}

impl Machine {
    /// The file with the cost parameters of the machine at `path`: that file, or the file of the
    /// machine on which it is based.
    #[must_use]
    pub fn costs_file(path: &Path) -> PathBuf {
        let name = text_of(path).ok().and_then(|text| name(&text));
        name.map_or_else(|| path.to_owned(), |name| beside(path, &name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIKE: &str = "title = \"t\"\nlike = \"zen4-64\"\n\n[hardware-threads]\nper-core = 2\nshared-speed = 0.6\n\
                        source = \"guess\"\n";

    fn machines() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap()
            .join("machines")
    }

    /// Reads `text` as the file of a machine beside those of this checkout.
    fn read(text: &str) -> Result<Machine, MachineError> {
        let path = machines().join("m.toml");
        let like = Derived::written("m.toml", text)?.expect("it is like one");
        like.machine("m", &path, "m.toml", text, None)
    }

    #[test]
    fn a_machine_that_is_like_another_differs_in_its_hardware_threads_only() {
        let mut machine = read(LIKE).unwrap();
        assert_eq!(
            (machine.topology.cores(), machine.topology.cpus()),
            (64, 128)
        );
        assert!((machine.costs.shared_speed - 0.6).abs() < f64::EPSILON);
        let other = Machine::read(&machines().join("zen4-64.toml")).unwrap();
        machine.topology.hardware_threads = 1;
        machine.costs.shared_speed = 1.0;
        assert_eq!(
            machine,
            Machine {
                name: "m".to_owned(),
                title: "t".to_owned(),
                ..other
            }
        );
    }

    #[test]
    fn a_machine_that_is_like_another_may_have_its_own_cores_and_frequencies() {
        let tables = "\n\n[topology]\nsockets = 1\nclusters-per-socket = 2\ncores-per-cluster = 4\nsource = \"s\"\n\n\
                      [frequency]\nreference = 3700\nfixed = 2000\ndynamic = [[8, 2000]]\nsource = \"s\"\n";
        let (head, _) = LIKE.split_once("\n\n").unwrap();
        let own = format!("{head}{tables}");
        let machine = read(&own).unwrap();
        let other = Machine::read(&machines().join("zen4-64.toml")).unwrap();
        assert_eq!(
            (machine.topology.cpus(), machine.frequency.fixed_mhz),
            (8, 2000)
        );
        assert_eq!(machine.costs, other.costs);
        for (old, new, told) in [
            (
                "clusters-per-socket = 2",
                "clusters-per-socket = 0",
                "m.toml:6: clusters-per-socket = 0: write 1 to",
            ),
            (
                "fixed = 2000",
                "fixed = 2",
                "m.toml:12: fixed = 2: write MHz, 100 to",
            ),
        ] {
            let message = read(&own.replacen(old, new, 1)).unwrap_err().to_string();
            assert!(message.starts_with(told), "{message}");
        }
        // zen4-64 has one socket, but also has the cost of a transfer between two.
        let two = read(&own.replacen("sockets = 1", "sockets = 2", 1)).unwrap();
        assert_eq!(two.topology.cores(), 16);
    }

    #[test]
    fn a_machine_that_is_like_another_may_have_costs_of_its_own() {
        let own = |row: &str| read(&format!("{LIKE}\n[price]\n{row}\n"));
        let plain = read(LIKE).unwrap().costs;
        let priced = own("fence-ns = { value = 7, source = \"guess\" }")
            .unwrap()
            .costs;
        assert_eq!(priced.fence, 7_000);
        assert_eq!(
            Costs {
                fence: plain.fence,
                ..priced
            },
            plain
        );
        for (row, told) in [
            (
                "fence-ns = { value = -7, source = \"guess\" }",
                "m.toml:10: fence-ns = -7: write a number from 0",
            ),
            ("fence-ns = { value = 7 }", "missing field `source`"),
            ("fences-ns = 7", "unknown field `fences-ns`"),
            (
                "deep-resume-ns = { value = 2, source = \"guess\" }",
                "deep-resume-ns is less than resume-ns; write at least that",
            ),
        ] {
            let message = own(row).unwrap_err().to_string();
            assert!(
                message.starts_with("m.toml:") && message.contains(told),
                "{message}"
            );
        }
    }

    #[test]
    fn a_whole_file_says_the_same_about_hardware_threads() {
        let whole = std::fs::read_to_string(machines().join("zen4-64.toml")).unwrap();
        let table = LIKE.split_once("\n\n").unwrap().1;
        let machine = Machine::parse("m", "m.toml", &format!("{whole}\n{table}"), None).unwrap();
        let like = read(LIKE).unwrap();
        assert_eq!(
            machine,
            Machine {
                title: machine.title.clone(),
                ..like
            }
        );
    }

    #[test]
    fn hardware_threads_that_no_machine_has_are_refused_with_line_key_and_remedy() {
        for (line, old, new, told) in [
            (
                5,
                "per-core = 2",
                "per-core = 3",
                "per-core = 3: write 2, the only number",
            ),
            (
                5,
                "per-core = 2",
                "per-core = 1",
                "a machine with one thread per core has no [hardware-threads]",
            ),
            (6, "0.6", "0.4", "shared-speed = 0.4: write 0.5 "),
            (6, "0.6", "0", "shared-speed = 0: write 0.5 "),
            (6, "0.6", "1.1", "shared-speed = 1.1: write 0.5 "),
            (6, "0.6", "nan", "shared-speed = NaN: write 0.5 "),
            (
                7,
                "\"guess\"",
                "\"\"",
                "source of the hardware threads is empty",
            ),
            (2, "zen4-64", "zen4-46", "like = \"zen4-46\": "),
            (
                5,
                "per-core = 2",
                "per-cores = 2",
                "unknown field `per-cores`",
            ),
            (4, "shared-speed = 0.6", "", "missing field `shared-speed`"),
            (
                2,
                "zen4-64",
                "ice-lake-2x32-smt",
                "has a `like` itself; name that machine",
            ),
            (
                5,
                "zen4-64",
                "wide-1024",
                "per-core = 2: 1024 cores; at most 1023 can have two",
            ),
        ] {
            let message = read(&LIKE.replacen(old, new, 1)).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("m.toml:{line}: ")),
                "{message}"
            );
            assert!(message.contains(told), "{message}");
        }
    }

    #[test]
    fn a_fault_of_the_machine_that_it_is_like_is_reported_with_that_ones_file() {
        let folder = std::env::temp_dir().join(format!("machines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let whole = std::fs::read_to_string(machines().join("zen4-64.toml")).unwrap();
        std::fs::write(
            folder.join("zen4-64.toml"),
            whole.replacen("sockets = 1", "sockets = 0", 1),
        )
        .unwrap();
        std::fs::write(folder.join("m.toml"), LIKE).unwrap();
        let message = Machine::read(&folder.join("m.toml"))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("zen4-64.toml:4: sockets = 0: write 1 to "),
            "{message}"
        );
        assert_eq!(
            Machine::costs_file(&folder.join("m.toml")),
            folder.join("zen4-64.toml")
        );
        std::fs::remove_dir_all(folder).unwrap();
    }
}
