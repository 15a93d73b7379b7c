//! `machines/NAME.toml`: a machine as people write it, each price with its source.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::Path;

use serde::Deserialize;
use serde_spanned::Spanned;

use super::hardware_threads::{Derived, HardwareThreads};
use super::{Frequency, MAX_CORES, Machine, NANOSECOND, Picoseconds, Prices, Topology};

/// What a core may run at, in MHz: what is outside is a slip of the unit.
const MHZ: RangeInclusive<u32> = 100..=10_000;

/// Stands, where a price is scaled, for what blocking, waking and yielding cost, all together:
/// guesses that hang together, as all are ways through one scheduler.
pub const SYSTEM: &str = "system";

/// The prices of which [`SYSTEM`] stands for.
const SYSTEM_PRICES: [&str; 6] = [
    "block-ns",
    "wake-ns",
    "wake-polling-ns",
    "resume-ns",
    "resume-polling-ns",
    "yield-ns",
];

/// What is wrong with a machine's file: where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct MachineError {
    /// The file, as it was named.
    pub file: String,
    /// Its line, where one is to blame.
    pub line: Option<usize>,
    /// Key, value and remedy.
    pub message: String,
}

impl std::fmt::Display for MachineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// As written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    title: String,
    topology: TopologyTable,
    frequency: FrequencyTable,
    price: PriceTables,
    hardware_threads: Option<HardwareThreads>,
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

/// One price: its value, and where the value is from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    value: Spanned<f64>,
    source: Spanned<String>,
}

/// Every price by its key; the unit is in the key. A machine has them all: a default would be a
/// guess that nobody signed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PriceTables {
    hit_ns: Price,
    read_modify_write_ns: Price,
    fence_ns: Price,
    pause_ns: Price,
    allocation_ns: Price,
    transfer_cluster_ns: Price,
    transfer_socket_ns: Price,
    transfer_far_ns: Price,
    occupancy: Price,
    invalidation_ns: Price,
    memory_ns: Price,
    store_buffer: Price,
    call_ns: Price,
    block_ns: Price,
    wake_ns: Price,
    wake_polling_ns: Price,
    resume_ns: Price,
    poll_ns: Price,
    resume_polling_ns: Price,
    deep_after_ns: Price,
    deep_resume_ns: Price,
    switch_ns: Price,
    slice_ns: Price,
    jitter: Price,
    yield_ns: Price,
    spawn_ns: Price,
    heavy_fence_ns: Price,
    heavy_fence_per_core_ns: Price,
    interrupt_ns: Price,
    core_gigabytes_per_second: Price,
    socket_gigabytes_per_second: Price,
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

    /// [`Machine::read`], with one price, by its key, or [`SYSTEM`], so many times as high: as far
    /// as it may go.
    ///
    /// # Errors
    /// As [`Machine::read`], and if no price has that key.
    pub fn read_scaled(path: &Path, scaled: Option<(&str, f64)>) -> Result<Self, MachineError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| MachineError {
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
        let written: File = toml::from_str(text).map_err(MachineError::of_parser(file, text))?;
        let fault = MachineError::at(file, text);
        let topology = topology(&written.topology, &fault)?;
        ordered(&written.price, topology, &fault)?;
        let machine = Self {
            name: name.to_owned(),
            title: written.title,
            topology,
            frequency: frequency(&written.frequency, &fault)?,
            prices: prices(&written.price, scaled, &fault)?,
        };
        match written.hardware_threads {
            Some(threads) => threads.given_to(machine, &fault),
            None => Ok(machine),
        }
    }
}

impl MachineError {
    /// What the parser says about `text`, which is called `file`.
    pub(super) fn of_parser(file: &str, text: &str) -> impl Fn(toml::de::Error) -> Self {
        move |error| Self {
            file: file.to_owned(),
            line: error.span().map(|span| line_of(text, span.start)),
            message: error.message().to_owned(),
        }
    }

    /// A message about the place at an offset in `text`, which is called `file`.
    pub(super) fn at(file: &str, text: &str) -> impl Fn(usize, String) -> Self {
        move |offset, message| Self {
            file: file.to_owned(),
            line: Some(line_of(text, offset)),
            message,
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

pub(super) fn sourced(
    source: &Spanned<String>,
    of: &str,
    fault: &impl Fn(usize, String) -> MachineError,
) -> Result<(), MachineError> {
    if source.get_ref().trim().is_empty() {
        return Err(fault(
            source.span().start,
            format!("source of {of} is empty; write where it is from, or `measured`, or `guess`"),
        ));
    }
    Ok(())
}

fn topology(
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
                "{} cores in all; a machine has {MAX_CORES} at most",
                topology.cores()
            ),
        ));
    }
    Ok(topology)
}

fn frequency(
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
                "dynamic: write rows [running cores of the socket, MHz], ascending in cores, from 1 core on, at {} to {} MHz",
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

/// What is farther, or slept deeper, takes no less time. Of distances those count that the machine
/// has.
fn ordered(
    tables: &PriceTables,
    topology: Topology,
    fault: &impl Fn(usize, String) -> MachineError,
) -> Result<(), MachineError> {
    let mut transfers = Vec::new();
    for (key, price, is_there) in [
        (
            "transfer-cluster-ns",
            &tables.transfer_cluster_ns,
            topology.cores_per_cluster > 1,
        ),
        (
            "transfer-socket-ns",
            &tables.transfer_socket_ns,
            topology.clusters_per_socket > 1,
        ),
        (
            "transfer-far-ns",
            &tables.transfer_far_ns,
            topology.sockets > 1,
        ),
    ] {
        transfers.extend(is_there.then_some((key, price)));
    }
    let resumes = [
        ("resume-ns", &tables.resume_ns),
        ("deep-resume-ns", &tables.deep_resume_ns),
    ];
    for pair in transfers.windows(2).chain(resumes.windows(2)) {
        let [(less, low), (key, high)] = pair else {
            continue;
        };
        let (low, value) = (low.value.get_ref(), high.value.get_ref());
        if value < low {
            return Err(fault(
                high.value.span().start,
                format!("{key} = {value}: less than {less} = {low}; write as much or more"),
            ));
        }
    }
    Ok(())
}

fn prices(
    tables: &PriceTables,
    scaled: Option<(&str, f64)>,
    fault: &impl Fn(usize, String) -> MachineError,
) -> Result<Prices, MachineError> {
    let known = RefCell::new(Vec::new());
    // The largest price is a second: what is longer is a slip of the unit, and sums stay far from
    // overflow.
    let within = |key: &str, price: &Price, most: f64| {
        sourced(&price.source, key, fault)?;
        let value = *price.value.get_ref();
        if !(0.0..=most).contains(&value) {
            return Err(fault(
                price.value.span().start,
                format!("{key} = {value}: write a number from 0 to {most}"),
            ));
        }
        known.borrow_mut().push(key.to_owned());
        let is_meant =
            |wanted: &str| wanted == key || (wanted == SYSTEM && SYSTEM_PRICES.contains(&key));
        let factor = scaled
            .filter(|(wanted, _)| is_meant(wanted))
            .map_or(1.0, |(_, factor)| factor);
        Ok((value * factor).min(most))
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within 0 and a second"
    )]
    let time = |key: &str, price: &Price| -> Result<Picoseconds, MachineError> {
        within(key, price, 1e9).map(|ns| (ns * NANOSECOND as f64).round() as Picoseconds)
    };
    let picoseconds_per_byte = |key: &str, price: &Price| {
        let rate = within(key, price, 1e6)?;
        if rate == 0.0 {
            let at = price.value.span().start;
            return Err(fault(
                at,
                format!("{key} = 0: memory would never answer; write more"),
            ));
        }
        Ok(1e3 / rate)
    };
    let written = &tables.store_buffer.value;
    if written.get_ref().fract() != 0.0 || *written.get_ref() < 1.0 {
        let told = format!(
            "store-buffer = {}: write how many stores it holds, 1 to 1000",
            written.get_ref()
        );
        return Err(fault(written.span().start, told));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within 0 and 1000"
    )]
    let store_buffer = within("store-buffer", &tables.store_buffer, 1_000.0)?
        .round()
        .max(1.0) as usize;
    let prices = Prices {
        hit: time("hit-ns", &tables.hit_ns)?,
        read_modify_write: time("read-modify-write-ns", &tables.read_modify_write_ns)?,
        fence: time("fence-ns", &tables.fence_ns)?,
        pause: time("pause-ns", &tables.pause_ns)?,
        allocation: time("allocation-ns", &tables.allocation_ns)?,
        transfer: [
            0,
            time("transfer-cluster-ns", &tables.transfer_cluster_ns)?,
            time("transfer-socket-ns", &tables.transfer_socket_ns)?,
            time("transfer-far-ns", &tables.transfer_far_ns)?,
        ],
        occupancy: within("occupancy", &tables.occupancy, 1.0)?,
        invalidation: time("invalidation-ns", &tables.invalidation_ns)?,
        memory: time("memory-ns", &tables.memory_ns)?,
        store_buffer,
        call: time("call-ns", &tables.call_ns)?,
        block: time("block-ns", &tables.block_ns)?,
        wake: time("wake-ns", &tables.wake_ns)?,
        wake_polling: time("wake-polling-ns", &tables.wake_polling_ns)?,
        resume: time("resume-ns", &tables.resume_ns)?,
        poll: time("poll-ns", &tables.poll_ns)?,
        resume_polling: time("resume-polling-ns", &tables.resume_polling_ns)?,
        deep_after: time("deep-after-ns", &tables.deep_after_ns)?,
        deep_resume: time("deep-resume-ns", &tables.deep_resume_ns)?,
        switch: time("switch-ns", &tables.switch_ns)?,
        slice: time("slice-ns", &tables.slice_ns)?,
        jitter: within("jitter", &tables.jitter, 1.0)?,
        yielding: time("yield-ns", &tables.yield_ns)?,
        spawn: time("spawn-ns", &tables.spawn_ns)?,
        heavy_fence: time("heavy-fence-ns", &tables.heavy_fence_ns)?,
        heavy_fence_per_core: time("heavy-fence-per-core-ns", &tables.heavy_fence_per_core_ns)?,
        interrupt: time("interrupt-ns", &tables.interrupt_ns)?,
        shared_speed: 1.0,
        byte: picoseconds_per_byte(
            "core-gigabytes-per-second",
            &tables.core_gigabytes_per_second,
        )?,
        socket_byte: picoseconds_per_byte(
            "socket-gigabytes-per-second",
            &tables.socket_gigabytes_per_second,
        )?,
    };
    let known = known.into_inner();
    if let Some((key, _)) =
        scaled.filter(|(key, _)| *key != SYSTEM && !known.iter().any(|it| it == key))
    {
        let known = known.join(", ");
        return Err(fault(
            0,
            format!("{key}: no price has this key; known: {known}"),
        ));
    }
    Ok(prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap()
            .join("machines")
    }

    fn example() -> String {
        std::fs::read_to_string(machines().join("zen4-64.toml")).unwrap()
    }

    #[test]
    fn every_machine_of_this_checkout_is_sound() {
        let files: Vec<_> = std::fs::read_dir(machines())
            .unwrap()
            .map(|it| it.unwrap().path())
            .collect();
        assert!(files.len() >= 5, "{files:?}");
        for file in files {
            Machine::read(&file).unwrap();
        }
    }

    #[test]
    fn faults_are_told_with_line_key_value_and_remedy() {
        let good = example();
        Machine::parse("good", "good.toml", &good, None).unwrap();
        let line = good
            .lines()
            .find(|line| line.starts_with("hit-ns"))
            .unwrap();
        let number = good.lines().position(|it| it == line).unwrap() + 1;
        let faults = [
            (String::new(), "missing field `hit-ns`".to_owned()),
            (
                "hit-ns = { value = -1, source = \"guess\" }".to_owned(),
                format!("m.toml:{number}: hit-ns = -1: write a number from 0"),
            ),
            (
                "hit-ns = { value = 1.0, source = \" \" }".to_owned(),
                format!("m.toml:{number}: source of hit-ns is empty"),
            ),
            (
                "hit-ns = { value = 1.0 }".to_owned(),
                "missing field `source`".to_owned(),
            ),
            (
                "hit-ns = { value = nan, source = \"guess\" }".to_owned(),
                "hit-ns = NaN".to_owned(),
            ),
            (
                format!("{line}\nhits-ns = 3"),
                "unknown field `hits-ns`".to_owned(),
            ),
        ];
        for (replacement, expected) in faults {
            let text = good.replacen(line, &replacement, 1);
            let message = Machine::parse("m", "m.toml", &text, None)
                .unwrap_err()
                .to_string();
            assert!(message.contains(&expected), "{message}");
        }
    }

    #[test]
    fn what_no_machine_has_is_refused_with_line_key_and_remedy() {
        let good = example();
        let with = |key: &str, value: &str| {
            let (at, line) = good
                .lines()
                .enumerate()
                .find(|(_, line)| line.starts_with(key))
                .unwrap();
            let old = line.split_once("= ").unwrap().1;
            let new = if old.starts_with('{') {
                format!("{key} = {{ value = {value}, source = \"guess\" }}")
            } else {
                format!("{key} = {value}")
            };
            let text = good.replacen(line, &new, 1);
            (
                at + 1,
                Machine::parse("m", "m.toml", &text, None).map_err(|it| it.to_string()),
            )
        };
        for (key, value, remedy) in [
            ("store-buffer", "0", "store-buffer = 0: write how many"),
            ("store-buffer", "1.5", "store-buffer = 1.5: write how many"),
            ("fixed", "1", "fixed = 1: write MHz, 100 to 10000"),
            ("dynamic", "[[64, 3]]", "at 100 to 10000 MHz"),
            (
                "transfer-socket-ns",
                "22",
                "less than transfer-cluster-ns = 23; write as much",
            ),
            (
                "deep-resume-ns",
                "2999",
                "less than resume-ns = 3000; write as much",
            ),
        ] {
            let (line, read) = with(key, value);
            let message = read.unwrap_err();
            assert!(
                message.starts_with(&format!("m.toml:{line}: ")),
                "{message}"
            );
            assert!(message.contains(remedy), "{message}");
        }
        assert!(with("transfer-far-ns", "22").1.is_ok(), "it has one socket");
    }

    #[test]
    fn one_price_is_scaled_as_far_as_it_may_go() {
        let read = |scaled| Machine::parse("m", "m.toml", &example(), scaled);
        let plain = read(None).unwrap().prices;
        let doubled = read(Some(("fence-ns", 2.0))).unwrap().prices;
        assert_eq!((doubled.fence, doubled.hit), (2 * plain.fence, plain.hit));
        let both = read(Some((SYSTEM, 2.0))).unwrap().prices;
        let of = |it: &Prices| {
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
        assert!(
            SYSTEM_PRICES
                .iter()
                .all(|key| read(Some((key, 2.0))).is_ok())
        );
        let most = read(Some(("occupancy", 1e3))).unwrap().prices;
        assert!((most.occupancy - 1.0).abs() < f64::EPSILON);
        let message = read(Some(("fences-ns", 2.0))).unwrap_err().to_string();
        assert!(
            message.contains("fences-ns: no price has this key; known: store-buffer, hit-ns,"),
            "{message}"
        );
    }
}
