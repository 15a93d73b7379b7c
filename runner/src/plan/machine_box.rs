//! A box: machines whose cost parameters lie within ranges. A difference that has the same sign on
//! all machines of the box does not depend on one guess. Each point of the box is an ordinary
//! machine's file, and a value of the parameter [`BOX`] in an ordinary sweep.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use manycore::Machine;
use manycore::machine::Frequency;
use serde::Deserialize;
use serde_spanned::Spanned;

use super::definition::{BOX, Point};
use super::{Load, MachineSpec, machines, shuffle};
use crate::config::pick::plain;
use crate::config::{ConfigError, FileText};
use crate::stop::Stop;
use crate::system::{digest, whole_file};

pub(crate) const NAME: &str = "box";

const FILE: &str = "machines/box.toml";

/// The key of a factor of the costs of the workloads' units of work. A machine's file has no such
/// key.
const WORK: &str = "work";

/// Guess: two hardware threads do 1.2 times the work of one.
const SHARED_SPEED: f64 = 0.6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    /// The machine from which a point takes the cost parameters without a range.
    like: Spanned<String>,
    seed: u64,
    price: BTreeMap<String, Spanned<Range>>,
    topology: Vec<Shape>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Range {
    low: f64,
    high: f64,
    /// Another cost parameter, whose value is a lower limit of this one: for example the cost of a
    /// shorter way, or of a lighter sleep.
    at_least: Option<String>,
    #[serde(default)]
    whole: bool,
    source: String,
}

impl Range {
    /// Returns the value at a position from 0 to 1, rounded to a whole number or to three digits.
    /// No cost is known more precisely.
    fn value_at(&self, place: f64) -> f64 {
        let Self { low, high, .. } = *self;
        let value = if low == 0.0 {
            high * place
        } else {
            low * (high / low).powf(place)
        };
        if self.whole {
            value.round()
        } else {
            three_digits(value)
        }
    }
}

fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Shape {
    name: String,
    #[serde(default = "one")]
    sockets: usize,
    #[serde(default = "one")]
    clusters_per_socket: usize,
    cores_per_cluster: usize,
    #[serde(default = "one")]
    threads_per_core: usize,
}

fn one() -> usize {
    1
}

impl Shape {
    fn cpus(&self) -> usize {
        [
            self.clusters_per_socket,
            self.cores_per_cluster,
            self.threads_per_core,
        ]
        .into_iter()
        .fold(self.sockets, usize::saturating_mul)
    }
}

struct Ranges {
    title: String,
    like: String,
    seed: u64,
    prices: BTreeMap<String, Range>,
    shapes: Vec<Shape>,
    /// The reference is that of `like`.
    frequency: Frequency,
    shared_speed: f64,
    /// The value of [`WORK`] of all points, if it is not drawn from a range.
    work: Option<f64>,
    text: String,
    base: String,
}

impl Ranges {
    fn read(root: &Path, on: Option<&str>) -> Result<Self> {
        let ranges = Self::parse(root, &whole_file::text_of_checkout(root, FILE)?)?;
        match on {
            Some(name) => ranges.on(root, name),
            None => Ok(ranges),
        }
    }

    /// Gives all points the topology, the frequencies and the cost of work of the machine `name`:
    /// of a host these are known, while its cost parameters are not. Costs of a core scale with
    /// the frequency, as on every machine.
    fn on(mut self, root: &Path, name: &str) -> Result<Self> {
        let machine = machines::named(root, name)?;
        let file = machines::file(root, name);
        self.text += &machines::sha256(&file).context("a machine's file cannot be read")?;
        self.shapes = vec![Shape {
            name: name.to_owned(),
            sockets: machine.topology.sockets,
            clusters_per_socket: machine.topology.clusters_per_socket,
            cores_per_cluster: machine.topology.cores_per_cluster,
            threads_per_core: machine.topology.hardware_threads,
        }];
        let reference = self.frequency.reference_mhz;
        self.work = Some(three_digits(
            f64::from(machine.frequency.reference_mhz) / f64::from(reference),
        ));
        self.frequency = Frequency {
            reference_mhz: reference,
            ..machine.frequency
        };
        self.shared_speed = machine.costs.shared_speed;
        self.title = format!("on {name}");
        Ok(self)
    }

    /// Reads the file of the box, and checks `like` and the ranges. Other faults, such as an
    /// unknown key, show when `write_points` reads the points' files.
    fn parse(root: &Path, text: &str) -> Result<Self> {
        let written: Written =
            toml::from_str(text).map_err(|error| ConfigError::of_parser(FILE, text, &error))?;
        let file = FileText { file: FILE, text };
        let like = written.like.get_ref().clone();
        let base = root.join("machines").join(format!("{like}.toml"));
        let machine = Machine::read(&base).map_err(|error| {
            let why = format!("like = {like:?}: {}", plain(&error.message));
            file.at(written.like.span().start, why)
        })?;
        let base =
            whole_file::read_text(&base).context("the machine's file cannot be read again")?;
        for (key, range) in &written.price {
            let Range {
                low,
                high,
                at_least,
                source,
                ..
            } = range.get_ref();
            let has_limit = |limit: &String| written.price.contains_key(limit);
            let is_range = *low >= 0.0 && low <= high && high.is_finite();
            if !is_range || source.trim().is_empty() || !at_least.iter().all(has_limit) {
                let why = format!(
                    "{key}: low = {low}, high = {high}, at-least = {at_least:?}, source = {source:?}: write two numbers \
                     of 0 or more, the lower one first, their source, and for `at-least` a parameter that has a range"
                );
                return Err(file.at(range.span().start, why).into());
            }
        }
        let prices = written.price.into_iter();
        let mhz = machine.frequency.reference_mhz;
        Ok(Self {
            title: written.title,
            like,
            seed: written.seed,
            prices: prices.map(|(key, it)| (key, it.into_inner())).collect(),
            shapes: written.topology,
            frequency: Frequency {
                reference_mhz: mhz,
                fixed_mhz: mhz,
                dynamic_mhz: vec![(1, mhz)],
            },
            shared_speed: SHARED_SPEED,
            work: None,
            text: text.to_owned(),
            base,
        })
    }

    fn sha256(&self, points: &[Point]) -> Result<String> {
        let mut all = format!("{}{}", self.text, self.base).into_bytes();
        all.extend(serde_json::to_vec(points)?);
        Ok(digest::of_bytes(&all))
    }

    fn write_points(&self, root: &Path, spec: &MachineSpec) -> Result<()> {
        let folder = folder(root, spec);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("{}.toml", self.like)), &self.base)?;
        for (number, point) in (1..).zip(&spec.points) {
            let path = file(root, spec, &number.to_string());
            std::fs::write(&path, self.file_of(number, point)?)?;
            Machine::read(&path).map_err(|error| {
                Stop::BadInput(format!(
                    "{FILE}: point {number} is not a valid machine: {}",
                    plain(&error.message)
                ))
            })?;
        }
        Ok(())
    }

    /// Returns `count` points of a Latin hypercube, among machines that have at least `threads`
    /// CPUs.
    fn points(&self, count: usize, threads: usize) -> Result<Vec<Point>> {
        let (fit, small): (Vec<&Shape>, Vec<&Shape>) =
            self.shapes.iter().partition(|it| it.cpus() >= threads);
        if fit.is_empty() {
            let all = self.shapes.iter().map(|it| (it.cpus(), &it.name));
            let (cpus, name) = all.max().context("machines/box.toml has no [[topology]]")?;
            return Err(Stop::BadInput(format!(
                "--threads {threads}: no topology of the box has so many CPUs (the largest, `{name}`, has {cpus}); request \
                 fewer, or without --machine add a [[topology]] to {FILE}"
            ))
            .into());
        }
        if !small.is_empty() {
            let names: Vec<&str> = small.iter().map(|it| it.name.as_str()).collect();
            tell!(
                "note: topologies with fewer CPUs than {threads} threads are left out: {}",
                names.join(", ")
            );
        }
        let topologies = self.places("topology", count);
        let prices = self.prices.iter();
        let columns = prices.map(|(key, range)| (key, range, self.places(key, count)));
        let columns: Vec<_> = columns.collect();
        let work = || self.work.map(|work| (WORK.to_owned(), work));
        let point = |index: usize| {
            let shape = fit[part_of(topologies[index], fit.len())];
            let price = |(key, range, places): &(&String, &Range, Vec<f64>)| {
                ((*key).clone(), range.value_at(places[index]))
            };
            Point {
                topology: shape.name.clone(),
                cpus: shape.cpus(),
                prices: self.ordered(columns.iter().map(price).chain(work()).collect()),
            }
        };
        Ok((0..count).map(point).collect())
    }

    /// Returns one position from 0 to 1 in each of `count` equal parts, in random order. Each
    /// dimension has its own random numbers, so that a change of one range leaves the positions in
    /// the other ranges unchanged.
    #[expect(clippy::cast_precision_loss, reason = "53 bits of 64, as meant")]
    fn places(&self, dimension: &str, count: usize) -> Vec<f64> {
        let name = digest::of_bytes(format!("{} {dimension}", self.seed).as_bytes());
        let seed = u64::from_str_radix(&name[..16], 16).expect("a digest is hexadecimal");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut parts: Vec<usize> = (0..count).collect();
        shuffle(&mut parts, &mut random);
        let mut place = |part: usize| {
            let inside = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            (part as f64 + inside) / count as f64
        };
        parts.into_iter().map(&mut place).collect()
    }

    fn ordered(&self, mut prices: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
        for _ in 0..self.prices.len() {
            for (key, range) in &self.prices {
                if let Some(least) = range.at_least.as_ref().map(|other| prices[other]) {
                    prices
                        .entry(key.clone())
                        .and_modify(|it| *it = it.max(least));
                }
            }
        }
        prices
    }

    fn file_of(&self, number: usize, point: &Point) -> Result<String> {
        let shape = self.shapes.iter().find(|it| it.name == point.topology);
        let shape = shape.with_context(|| format!("{FILE} has no topology {}", point.topology))?;
        let rows = self.frequency.dynamic_mhz.iter();
        let dynamic: Vec<_> = rows
            .map(|(running, mhz)| [*running, *mhz as usize])
            .collect();
        let mut text = format!(
            "title = \"point {number} of {FILE}\"\nlike = \"{}\"\n\n[topology]\nsockets = {}\nclusters-per-socket = {}\n\
             cores-per-cluster = {}\nsource = \"{FILE}\"\n\n[frequency]\nreference = {}\nfixed = {}\n\
             dynamic = {:?}\nsource = \"{FILE}\"\n",
            self.like,
            shape.sockets,
            shape.clusters_per_socket,
            shape.cores_per_cluster,
            self.frequency.reference_mhz,
            self.frequency.fixed_mhz,
            dynamic,
        );
        if shape.threads_per_core > 1 {
            _ = write!(
                text,
                "\n[hardware-threads]\nper-core = {}\nshared-speed = {}\nsource = \"{FILE}\"\n",
                shape.threads_per_core, self.shared_speed
            );
        }
        text += "\n[price]\n";
        for (key, value) in point.prices.iter().filter(|(key, _)| *key != WORK) {
            _ = writeln!(text, "{key} = {{ value = {value}, source = \"{FILE}\" }}");
        }
        Ok(text)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to `parts`"
)]
fn part_of(place: f64, parts: usize) -> usize {
    (place * parts as f64) as usize % parts
}

/// Returns a box of `count` machines. With `on`, the name of a machine, every point has the topology
/// and the frequencies of that machine.
pub(crate) fn find(
    root: &Path,
    count: usize,
    threads: usize,
    on: Option<&str>,
) -> Result<MachineSpec> {
    let ranges = Ranges::read(root, on)?;
    let points = ranges.points(count, threads)?;
    let spec = MachineSpec {
        name: NAME.to_owned(),
        title: format!("{count} points of {FILE}, {}", ranges.title),
        // This is the number of CPUs of the smallest machine: every machine of the box has a CPU
        // for each thread.
        cores: points.iter().map(|it| it.cpus).min().unwrap_or(threads),
        hardware_threads: None,
        sha256: ranges.sha256(&points)?,
        charges_ns: BTreeMap::new(),
        own_cycles: BTreeMap::new(),
        points,
    };
    ranges.write_points(root, &spec)?;
    Ok(spec)
}

/// Writes the points of a sweep that was begun earlier, unless the box has changed since then.
/// Returns whether the box is unchanged.
pub(crate) fn try_restore(root: &Path, spec: &MachineSpec) -> Result<bool> {
    let ranges = Ranges::read(root, None)?;
    // A topology that the box does not have is that of a machine.
    let of = spec.points.first().map(|it| it.topology.as_str());
    let on = of.filter(|of| !ranges.shapes.iter().any(|it| it.name == **of));
    let ranges = match on.map(|on| Ranges::read(root, Some(on))) {
        None => ranges,
        Some(Ok(ranges)) => ranges,
        Some(Err(_)) => return Ok(false),
    };
    let is_same = ranges.sha256(&spec.points)? == spec.sha256;
    if is_same {
        ranges.write_points(root, spec)?;
    }
    Ok(is_same)
}

fn folder(root: &Path, spec: &MachineSpec) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let digest = spec.sha256.get(..12).unwrap_or(&spec.sha256);
    root.join(target).join("boxes").join(digest)
}

pub(crate) fn file(root: &Path, spec: &MachineSpec, number: &str) -> PathBuf {
    folder(root, spec).join(format!("{number}.toml"))
}

pub(crate) fn with_points(loads: &[Load], count: usize) -> Vec<Load> {
    let with = |load: &Load, number: usize| {
        let mut load = load.clone();
        load.parameters.insert(BOX.to_owned(), number.to_string());
        load
    };
    loads
        .iter()
        .flat_map(|load| (1..=count).map(move |number| with(load, number)))
        .collect()
}

pub(crate) fn point_of<'a>(spec: &'a MachineSpec, load: &'a Load) -> Option<(&'a str, &'a Point)> {
    let number = load.parameters.get(BOX)?;
    let index = number.parse::<usize>().ok()?.checked_sub(1)?;
    Some((number, spec.points.get(index)?))
}

pub(crate) fn work(point: &Point) -> f64 {
    point.prices.get(WORK).copied().unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .unwrap()
            .to_owned()
    }

    fn text() -> String {
        std::fs::read_to_string(root().join(FILE)).unwrap()
    }

    #[test]
    fn each_cost_has_one_point_in_each_part_of_its_range() {
        let ranges = Ranges::parse(&root(), &text()).unwrap();
        for count in [5, 60] {
            let points = ranges.points(count, 8).unwrap();
            for (key, range) in &ranges.prices {
                // Rounding or a lower limit may move such a value within its part of the range, or
                // into another part.
                if range.whole || range.at_least.is_some() {
                    continue;
                }
                let (low, high) = (range.low, range.high);
                let place = |value: f64| {
                    if low == 0.0 {
                        value / high
                    } else {
                        (value / low).ln() / (high / low).ln()
                    }
                };
                let mut of: Vec<f64> = points.iter().map(|it| place(it.prices[key])).collect();
                of.sort_by(f64::total_cmp);
                for (part, place) in of.iter().enumerate() {
                    let place = place * count as f64 - part as f64;
                    let slack = 0.01 * count as f64;
                    assert!((-slack..1.0 + slack).contains(&place), "{key}: {of:?}");
                }
            }
            let shapes: std::collections::BTreeSet<&str> =
                points.iter().map(|it| it.topology.as_str()).collect();
            assert!(
                count < 60 || shapes.len() == ranges.shapes.len(),
                "{shapes:?}"
            );
        }
    }

    #[test]
    fn points_are_the_same_each_time_and_a_range_more_leaves_the_others_where_they_are() {
        let points = |text: &str| Ranges::parse(&root(), text).unwrap().points(7, 16).unwrap();
        let before = points(&text());
        assert_eq!(before, points(&text()));
        let more = text().replacen(
            "[price]\n",
            "[price]\nmemory-ns = { low = 60, high = 120, source = \"guess\" }\n",
            1,
        );
        for (mut after, before) in points(&more).into_iter().zip(before) {
            assert!((60.0..=120.0).contains(&after.prices.remove("memory-ns").unwrap()));
            assert_eq!(after, before);
        }
    }

    #[test]
    fn a_longer_way_costs_no_less() {
        let ranges = Ranges::parse(&root(), &text()).unwrap();
        for Point { prices, cpus, .. } in &ranges.points(60, 64).unwrap() {
            assert!(prices["transfer-cluster-ns"] <= prices["transfer-socket-ns"]);
            assert!(prices["transfer-socket-ns"] <= prices["transfer-far-ns"]);
            assert!(*cpus >= 64);
        }
        let said = ranges.points(5, 113).unwrap_err().to_string();
        let largest = "(the largest, `2x28-smt`, has 112)";
        assert!(said.starts_with("--threads 113: no topology of ") && said.contains(largest));
    }

    #[test]
    fn on_a_machine_each_point_keeps_its_costs_and_gets_the_topology_clock_and_work_of_it() {
        let folder = tempfile::tempdir().unwrap();
        for entry in [
            "box",
            "wake-ups",
            "zen4-64",
            "zen2-64",
            "zen2-8",
            "zen2-8-smt",
        ] {
            let path = format!("machines/{entry}.toml");
            std::fs::create_dir_all(folder.path().join("machines")).unwrap();
            std::fs::copy(root().join(&path), folder.path().join(&path)).unwrap();
        }
        let free = find(folder.path(), 7, 8, None).unwrap();
        for (name, of_core) in [("zen2-64", 3.7 / 2.0), ("zen2-8-smt", 3.7 / 3.9)] {
            let spec = find(folder.path(), 7, 8, Some(name)).unwrap();
            let machine = machines::named(folder.path(), name).unwrap();
            for (number, (own, point)) in (1..).zip(free.points.iter().zip(&spec.points)) {
                let path = file(folder.path(), &spec, &format!("{number}"));
                let made = Machine::read(&path).unwrap();
                assert_eq!(made.topology, machine.topology);
                let shared = [&made, &machine].map(|it| it.costs.shared_speed.to_bits());
                assert_eq!(shared[0], shared[1]);
                let running = 8;
                let dynamic = manycore::FrequencyMode::Dynamic;
                let mhz = [&made, &machine].map(|it| it.frequency.mhz(dynamic, running));
                assert_eq!(mhz[0], mhz[1]);
                let mhz = f64::from(mhz[0]);
                let slower = f64::from(made.frequency.reference_mhz) / mhz;
                assert!((slower - of_core).abs() < 0.01, "{name}: {slower}");
                // A unit of work takes as long as on the machine itself, within the rounding.
                let itself = f64::from(machine.frequency.reference_mhz) / mhz;
                assert!((slower * work(point) / itself - 1.0).abs() < 0.005);
                let without = |it: &Point| {
                    let mut prices = it.prices.clone();
                    prices.remove(WORK);
                    prices
                };
                assert_eq!(without(point), without(own));
            }
            assert!(try_restore(folder.path(), &spec).unwrap());
            let machine = folder.path().join(format!("machines/{name}.toml"));
            let text = std::fs::read_to_string(&machine).unwrap();
            std::fs::write(&machine, text + "# changed\n").unwrap();
            assert!(!try_restore(folder.path(), &spec).unwrap());
        }
    }

    #[test]
    fn a_fault_is_told_with_line_key_value_and_remedy() {
        let hit = "hit-ns = { low = 0.3, high = 1.2";
        let reversed = "hit-ns = { low = 1.2, high = 0.3";
        for (old, new, told) in [
            (hit, reversed, "hit-ns: low = 1.2, high = 0.3, "),
            (hit, "hit-ns = { low = 0.3", "missing key `high`"),
            (
                "source = \"guess\" }",
                "source = \" \" }",
                "source = \" \": write ",
            ),
            (
                "at-least = \"wake-polling-ns\"",
                "at-least = \"poll-ns\"",
                "wake-ns: ",
            ),
            (
                "like = \"zen4-64\"",
                "like = \"zen4-46\"",
                "like = \"zen4-46\": cannot be read",
            ),
        ] {
            assert!(text().contains(old), "{old}");
            let error = Ranges::parse(&root(), &text().replacen(old, new, 1))
                .err()
                .unwrap();
            let said = format!("{error:#}");
            assert!(
                said.starts_with("machines/box.toml:") && said.contains(told),
                "{said}"
            );
            assert_eq!(crate::exit::exit_of(&error), crate::stop::Exit::BadInput);
        }
    }
}
