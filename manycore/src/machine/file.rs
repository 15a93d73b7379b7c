//! `machines/NAME.toml`: a machine as people write it, each cost parameter with its source.

use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use serde::Deserialize;
use serde_spanned::Spanned;

use super::costs::CostTables;
use super::fault::{MachineError, sourced};
use super::hardware_threads::{Derived, HardwareThreads};
use super::{Frequency, MAX_CORES, Machine, OwnInstructions, Topology};

/// The frequencies that a core may have, in MHz: a value outside means a wrong unit.
const MHZ: RangeInclusive<u32> = 100..=10_000;

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    title: String,
    topology: TopologyTable,
    frequency: FrequencyTable,
    price: CostTables,
    hardware_threads: Option<HardwareThreads>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TopologyTable {
    sockets: Spanned<usize>,
    clusters_per_socket: Spanned<usize>,
    cores_per_cluster: Spanned<usize>,
    source: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct FrequencyTable {
    reference: Spanned<u32>,
    fixed: Spanned<u32>,
    /// Rows of running cores and MHz.
    dynamic: Spanned<Vec<(usize, u32)>>,
    source: Spanned<String>,
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
    /// parameter is named by its key, or is [`SYSTEM`](super::SYSTEM).
    ///
    /// # Errors
    /// As [`Machine::read`], and if no parameter has that key.
    pub fn read_scaled(path: &Path, scaled: Option<(&str, f64)>) -> Result<Self, MachineError> {
        let file = path.display().to_string();
        let text = text_of(path).map_err(|error| MachineError {
            file: file.clone(),
            line: None,
            message: format!("cannot be read: {error}"),
        })?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match Derived::written(&file, &text)? {
            Some(like) => like.machine(&name, path, &file, &text, scaled),
            None => Self::parse(&name, &file, &text, scaled),
        }
    }

    /// [`Machine::read_scaled`] of `text`, which is called `file` in errors.
    ///
    /// # Errors
    /// As there.
    pub fn parse(
        name: &str,
        file: &str,
        text: &str,
        scaled: Option<(&str, f64)>,
    ) -> Result<Self, MachineError> {
        Self::parse_as(name, file, text, scaled, None)
    }

    /// [`Machine::parse`], with another topology than that of `text` if there is one.
    pub(super) fn parse_as(
        name: &str,
        file: &str,
        text: &str,
        scaled: Option<(&str, f64)>,
        other: Option<Topology>,
    ) -> Result<Self, MachineError> {
        let written: File = toml::from_str(text).map_err(MachineError::of_parser(file, text))?;
        let fault = MachineError::at(file, text);
        let own = topology(&written.topology, &fault)?;
        let topology = other.unwrap_or(own);
        ordered(&written.price, topology, &fault)?;
        let machine = Self {
            name: name.to_owned(),
            title: written.title,
            topology,
            frequency: frequency(&written.frequency, &fault)?,
            costs: written.price.read(scaled, &fault)?,
            own_instructions: OwnInstructions::default(),
        };
        match written.hardware_threads {
            Some(threads) => threads.given_to(machine, &fault),
            None => Ok(machine),
        }
    }
}

/// The text of a file of any kind: a pipe would wait for its other end, a device may have no end.
pub(super) fn text_of(path: &Path) -> io::Result<String> {
    if fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "not a regular file",
        ));
    }
    fs::read_to_string(path)
}

pub(super) fn topology(
    table: &TopologyTable,
    fault: &impl Fn(usize, String) -> MachineError,
) -> Result<Topology, MachineError> {
    sourced(&table.source, "the topology", fault)?;
    for (key, count) in [
        ("sockets", &table.sockets),
        ("clusters-per-socket", &table.clusters_per_socket),
        ("cores-per-cluster", &table.cores_per_cluster),
    ] {
        if *count.get_ref() == 0 || *count.get_ref() > MAX_CORES {
            return Err(fault(
                count.span().start,
                format!("{key} = {}: write 1 to {MAX_CORES}", count.get_ref()),
            ));
        }
    }
    let topology = Topology {
        sockets: *table.sockets.get_ref(),
        clusters_per_socket: *table.clusters_per_socket.get_ref(),
        cores_per_cluster: *table.cores_per_cluster.get_ref(),
        hardware_threads: 1,
    };
    if topology.cores() > MAX_CORES {
        return Err(fault(
            table.sockets.span().start,
            format!(
                "{} cores in all; a machine has at most {MAX_CORES}",
                topology.cores()
            ),
        ));
    }
    Ok(topology)
}

pub(super) fn frequency(
    table: &FrequencyTable,
    fault: &impl Fn(usize, String) -> MachineError,
) -> Result<Frequency, MachineError> {
    sourced(&table.source, "the frequencies", fault)?;
    for (key, mhz) in [("reference", &table.reference), ("fixed", &table.fixed)] {
        if !MHZ.contains(mhz.get_ref()) {
            return Err(fault(
                mhz.span().start,
                format!(
                    "{key} = {}: write MHz, {} to {}",
                    mhz.get_ref(),
                    MHZ.start(),
                    MHZ.end()
                ),
            ));
        }
    }
    let rows = table.dynamic.get_ref();
    let ascends = rows.is_sorted_by(|one, next| one.0 < next.0);
    if rows.is_empty()
        || !ascends
        || rows
            .iter()
            .any(|(cores, mhz)| *cores == 0 || !MHZ.contains(mhz))
    {
        return Err(fault(
            table.dynamic.span().start,
            format!(
                "dynamic: write rows [running cores of the socket, MHz], ascending in cores, with at least 1 core and {} to {} MHz",
                MHZ.start(),
                MHZ.end()
            ),
        ));
    }
    Ok(Frequency {
        reference_mhz: *table.reference.get_ref(),
        fixed_mhz: *table.fixed.get_ref(),
        dynamic_mhz: rows.clone(),
    })
}

/// Checks that a longer distance, or a deeper sleep, takes at least as much time. Only distances
/// that the machine has are compared.
fn ordered(
    tables: &CostTables,
    topology: Topology,
    fault: &impl Fn(usize, String) -> MachineError,
) -> Result<(), MachineError> {
    let mut transfers = Vec::new();
    for (key, price, is_there) in [
        (
            "transfer-cluster-ns",
            &tables.transfer_cluster,
            topology.cores_per_cluster > 1,
        ),
        (
            "transfer-socket-ns",
            &tables.transfer_socket,
            topology.clusters_per_socket > 1,
        ),
        (
            "transfer-far-ns",
            &tables.transfer_far,
            topology.sockets > 1,
        ),
    ] {
        transfers.extend(is_there.then_some((key, price)));
    }
    let resumes = [
        ("resume-ns", &tables.resume),
        ("deep-resume-ns", &tables.deep_resume),
    ];
    for pair in transfers.windows(2).chain(resumes.windows(2)) {
        let [(less, low), (key, high)] = pair else {
            continue;
        };
        let (low, value) = (low.value.get_ref(), high.value.get_ref());
        if value < low {
            return Err(fault(
                high.value.span().start,
                format!("{key} = {value}: less than {less} = {low}; write at least that"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Costs, SYSTEM};
    use super::*;

    fn machines() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap()
            .join("machines")
    }

    fn example() -> String {
        fs::read_to_string(machines().join("zen4-64.toml")).unwrap()
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
    fn a_fault_is_told_with_line_key_value_and_remedy() {
        let good = example();
        let with = |key: &str, new: &str| {
            let mut lines = good.lines().enumerate();
            let (at, line) = lines.find(|(_, line)| line.starts_with(key)).unwrap();
            let read = Machine::parse("m", "m.toml", &good.replacen(line, new, 1), None);
            (at + 1, read.map_err(|it| it.to_string()))
        };
        let priced = |key: &str, value: &str| {
            let new = format!("{key} = {{ value = {value}, source = \"guess\" }}");
            with(key, &new)
        };
        for (faulty, remedy) in [
            (priced("hit-ns", "-1"), "hit-ns = -1: write a number from 0"),
            (
                priced("hit-ns", "nan"),
                "hit-ns = NaN: write a number from 0",
            ),
            (
                with("hit-ns", "hit-ns = { value = 1.0, source = \" \" }"),
                "source of hit-ns is empty",
            ),
            (
                priced("store-buffer", "0"),
                "store-buffer = 0: write a whole number",
            ),
            (
                priced("store-buffer", "1.5"),
                "store-buffer = 1.5: write a whole number",
            ),
            (priced("run", "0"), "run = 0: write a whole number, 1 to"),
            (
                priced("own-instructions", "-1"),
                "own-instructions = -1: write a number from 0",
            ),
            (with("fixed", "fixed = 1"), "fixed = 1: write MHz, 100 to"),
            (
                with("dynamic", "dynamic = [[64, 3]]"),
                "at least 1 core and 100 to 10000 MHz",
            ),
            (
                priced("transfer-socket-ns", "22"),
                "less than transfer-cluster-ns = 23; write at least",
            ),
            (
                priced("deep-resume-ns", "2999"),
                "less than resume-ns = 3000; write at least",
            ),
        ] {
            let (line, read) = faulty;
            let message = read.unwrap_err();
            let begins = message.starts_with(&format!("m.toml:{line}: "));
            assert!(begins && message.contains(remedy), "{message}");
        }
        for (new, told) in [
            ("", "missing field `hit-ns`"),
            ("hit-ns = { value = 1.0 }", "missing field `source`"),
            ("hits-ns = 3", "unknown field `hits-ns`"),
        ] {
            let message = with("hit-ns", new).1.unwrap_err();
            assert!(message.contains(told), "{message}");
        }
        let far = priced("transfer-far-ns", "22").1;
        assert!(far.is_ok(), "it has one socket");
    }

    #[test]
    fn one_cost_is_scaled_as_far_as_it_may_go() {
        let read = |scaled| Machine::parse("m", "m.toml", &example(), scaled);
        let plain = read(None).unwrap().costs;
        let doubled = read(Some(("fence-ns", 2.0))).unwrap().costs;
        assert_eq!((doubled.fence, doubled.hit), (2 * plain.fence, plain.hit));
        let both = read(Some((SYSTEM, 2.0))).unwrap().costs;
        let of = |it: &Costs| {
            [
                it.block,
                it.wake,
                it.wake_polling,
                it.resume,
                it.resume_polling,
                it.yielding,
            ]
        };
        assert_eq!(
            (of(&both), both.hit),
            (of(&plain).map(|price| 2 * price), plain.hit)
        );
        let most = read(Some(("occupancy", 1e3))).unwrap().costs;
        assert!((most.occupancy - 1.0).abs() < f64::EPSILON);
        let message = read(Some(("fences-ns", 2.0))).unwrap_err().to_string();
        assert!(
            message.contains(
                "fences-ns: unknown cost parameter; known: hit-ns, read-modify-write-ns,"
            ),
            "{message}"
        );
    }
}
