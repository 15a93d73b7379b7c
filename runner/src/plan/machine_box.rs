//! A box: machines whose cost parameters lie within ranges, for signs that do not depend on one
//! guess. Each point of the box is an ordinary machine's file, and a value of the parameter [`BOX`]
//! of an ordinary sweep.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use manycore::Machine;
use serde::Deserialize;
use serde_spanned::Spanned;

use super::definition::{BOX, Point};
use super::{Load, MachineSpec, shuffle};
use crate::config::pick::{listed, nearest, plain};
use crate::config::{ConfigError, FileText};
use crate::stop::Stop;
use crate::system::{digest, whole_file};

/// The machine's name in a sweep over the box; no machine of a checkout may have it.
pub(crate) const NAME: &str = "box";

/// The file of the box in a checkout, for errors.
const FILE: &str = "machines/box.toml";

/// The factor of the workloads' units, which no machine's file has.
const WORK: &str = "work";

/// The most hardware threads of a core.
const MOST_PER_CORE: usize = 2;

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    /// The machine whose cost parameters hold for those without a range.
    like: Spanned<String>,
    seed: u64,
    price: BTreeMap<String, Spanned<Range>>,
    topology: Vec<Spanned<Shape>>,
}

/// The range of a cost parameter.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Range {
    low: f64,
    high: f64,
    /// A cost parameter that is a lower limit for this one: that of a shorter way, or of a lighter
    /// sleep.
    at_least: Option<String>,
    /// Whether the parameter is a whole number.
    #[serde(default)]
    whole: bool,
    source: String,
}

impl Range {
    /// The value at a position from 0 to 1, with three digits: no cost is known more precisely.
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
            format!("{value:.2e}").parse().unwrap_or(value)
        }
    }
}

/// A possible arrangement of the cores of a point.
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
    fn cores(&self) -> usize {
        let clusters = self.sockets.saturating_mul(self.clusters_per_socket);
        clusters.saturating_mul(self.cores_per_cluster)
    }

    fn cpus(&self) -> usize {
        self.cores().saturating_mul(self.threads_per_core)
    }
}

/// The box, checked.
struct Ranges {
    title: String,
    like: String,
    seed: u64,
    prices: BTreeMap<String, Range>,
    shapes: Vec<Shape>,
    /// MHz at which the cost parameters of `like` hold, and at which all points run.
    mhz: u32,
    /// The texts of the file, and of that of `like`.
    text: String,
    base: String,
}

impl Ranges {
    /// Reads and checks the file.
    fn read(root: &Path) -> Result<Self> {
        Self::parse(root, &whole_file::text_of_checkout(root, FILE)?)
    }

    fn parse(root: &Path, text: &str) -> Result<Self> {
        let written: Written =
            toml::from_str(text).map_err(|error| ConfigError::of_parser(FILE, text, &error))?;
        let file = FileText { file: FILE, text };
        let like = written.like.get_ref().clone();
        let base = base(root, &like);
        let refused = |why: String| file.at(written.like.span().start, why);
        let machine = Machine::read(&base)
            .map_err(|error| refused(format!("like = {like:?}: {}", plain(&error.message))))?;
        if Machine::costs_file(&base) != base {
            let why = "has a `like` itself; name that machine";
            return Err(refused(format!("like = {like:?}: {why}")).into());
        }
        let base =
            whole_file::read_text(&base).context("the machine's file cannot be read again")?;
        let known = keys(&base)?;
        for (key, range) in &written.price {
            let at = |why: String| file.at(range.span().start, format!("{key}: {why}"));
            let Range {
                low,
                high,
                at_least,
                source,
                ..
            } = range.get_ref();
            if !known.contains(key) {
                let near = nearest(key, known.iter().map(String::as_str));
                let hint = near
                    .map(|near| format!("did you mean `{near}`? "))
                    .unwrap_or_default();
                let known = listed("cost parameter", known.iter().map(String::as_str));
                return Err(at(format!("unknown cost parameter; {hint}{known}")).into());
            }
            if !(low.is_finite() && high.is_finite() && *low >= 0.0 && low <= high) {
                let why = format!(
                    "low = {low}, high = {high}: not a range; write two numbers of 0 or more, the lower one first"
                );
                return Err(at(why).into());
            }
            if source.trim().is_empty() {
                return Err(at("source is empty; write the source of the range".into()).into());
            }
            if let Some(other) = at_least
                .as_ref()
                .filter(|it| !written.price.contains_key(*it))
            {
                let why =
                    format!("at-least = {other:?}: the box has no range for that cost parameter");
                return Err(at(why).into());
            }
        }
        let mut shapes: Vec<Shape> = Vec::new();
        for shape in written.topology {
            let start = shape.span().start;
            let shape = shape.into_inner();
            let at = |why: &str| file.at(start, format!("topology `{}`: {why}", shape.name));
            let fits = (1..=manycore::MAX_CORES).contains(&shape.cpus())
                && shape.threads_per_core <= MOST_PER_CORE;
            if !fits {
                let why = format!(
                    "write at least 1 of each, at most {} CPUs, and 1 or 2 threads-per-core",
                    manycore::MAX_CORES
                );
                return Err(at(&why).into());
            }
            if shapes.iter().any(|other| other.name == shape.name) {
                return Err(at("the name is taken; give each topology its own").into());
            }
            shapes.push(shape);
        }
        Ok(Self {
            title: written.title,
            like,
            seed: written.seed,
            prices: written
                .price
                .into_iter()
                .map(|(key, it)| (key, it.into_inner()))
                .collect(),
            shapes,
            mhz: machine.frequency.reference_mhz,
            text: text.to_owned(),
            base,
        })
    }

    /// Digest of the files, and of the points that were made of them.
    fn sha256(&self, points: &[Point]) -> Result<String> {
        let mut all = format!("{}{}", self.text, self.base).into_bytes();
        all.extend(serde_json::to_vec(points)?);
        Ok(digest::of_bytes(&all))
    }

    /// Writes the machine's file of each point of `spec`, for the processes of trials, and reads
    /// it.
    ///
    /// # Errors
    /// [`Stop::BadInput`] if a point is not a valid machine; other errors if a file cannot be written.
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

    /// `count` points of a Latin hypercube, among machines that have a CPU for each of `threads`.
    fn points(&self, count: usize, threads: usize) -> Result<Vec<Point>> {
        let (fit, small): (Vec<&Shape>, Vec<&Shape>) =
            self.shapes.iter().partition(|it| it.cpus() >= threads);
        if fit.is_empty() {
            let most = self.shapes.iter().max_by_key(|it| it.cpus());
            let most = most.map_or_else(
                || "there is none".to_owned(),
                |it| format!("the largest, `{}`, has {}", it.name, it.cpus()),
            );
            return Err(Stop::BadInput(format!(
                "--threads {threads}: no topology of {FILE} has so many CPUs ({most}); request fewer, or add a \
                 [[topology]] there"
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
        let columns: BTreeMap<&String, Vec<f64>> = self
            .prices
            .keys()
            .map(|key| (key, self.places(key, count)))
            .collect();
        let point = |index: usize| {
            let shape = fit[part_of(topologies[index], fit.len())];
            let prices = self
                .prices
                .iter()
                .map(|(key, range)| (key.clone(), range.value_at(columns[key][index])));
            Point {
                topology: shape.name.clone(),
                cpus: shape.cpus(),
                prices: self.ordered(prices.collect()),
            }
        };
        Ok((0..count).map(point).collect())
    }

    /// One position from 0 to 1 in each of `count` equal parts, in random order. Each dimension has
    /// random numbers of its own, so that another range leaves the others unchanged.
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

    /// Returns `prices` with each value raised to its lower limit.
    fn ordered(&self, mut prices: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
        // A chain of limits is at most as long as the list.
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

    /// The text of a point's file.
    fn file_of(&self, number: usize, point: &Point) -> Result<String> {
        let shape = self.shapes.iter().find(|it| it.name == point.topology);
        let shape = shape.with_context(|| format!("{FILE} has no topology {}", point.topology))?;
        let mut text = format!(
            "title = \"point {number} of {FILE}\"\nlike = \"{}\"\n\n[topology]\nsockets = {}\nclusters-per-socket = {}\n\
             cores-per-cluster = {}\nsource = \"{FILE}\"\n\n[frequency]\nreference = {mhz}\nfixed = {mhz}\n\
             dynamic = [[1, {mhz}]]\nsource = \"{FILE}\"\n",
            self.like,
            shape.sockets,
            shape.clusters_per_socket,
            shape.cores_per_cluster,
            mhz = self.mhz
        );
        if shape.threads_per_core > 1 {
            _ = write!(
                text,
                "\n[hardware-threads]\nper-core = {}\nshared-speed = 0.6\nsource = \"guess: two do 1.2 times the work of one\"\n",
                shape.threads_per_core
            );
        }
        text += "\n[price]\n";
        for (key, value) in point.prices.iter().filter(|(key, _)| *key != WORK) {
            _ = writeln!(text, "{key} = {{ value = {value}, source = \"{FILE}\" }}");
        }
        Ok(text)
    }
}

/// The part, out of so many, in which a position from 0 to 1 lies.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to `parts`"
)]
fn part_of(place: f64, parts: usize) -> usize {
    (place * parts as f64) as usize % parts
}

/// Keys of the cost parameters that a point may have: those of the machine that it is like, and
/// `work`.
fn keys(base: &str) -> Result<Vec<String>> {
    let machine: toml::Table = base.parse().context("the machine's file is not TOML")?;
    let prices = machine.get("price").and_then(|it| it.as_table());
    let keys = prices.into_iter().flatten().map(|(key, _)| key.clone());
    Ok(keys.chain([WORK.to_owned()]).collect())
}

fn base(root: &Path, like: &str) -> PathBuf {
    root.join("machines").join(format!("{like}.toml"))
}

/// The box as the machine of a sweep: `count` points with a CPU for each of `threads`.
///
/// # Errors
/// [`Stop::BadInput`] with file, line, key and remedy.
pub(crate) fn find(root: &Path, count: usize, threads: usize) -> Result<MachineSpec> {
    let ranges = Ranges::read(root)?;
    let points = ranges.points(count, threads)?;
    let spec = MachineSpec {
        name: NAME.to_owned(),
        title: format!("{count} points of {FILE}, {}", ranges.title),
        // The size of the smallest machine, so that every machine of the box has a CPU for each
        // thread.
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

/// Writes the points of a sweep that was begun, unless the box has changed since. Returns whether
/// it is the same.
///
/// # Errors
/// As [`find`].
pub(crate) fn try_restore(root: &Path, spec: &MachineSpec) -> Result<bool> {
    let ranges = Ranges::read(root)?;
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

/// The file of a point.
pub(crate) fn file(root: &Path, spec: &MachineSpec, number: &str) -> PathBuf {
    folder(root, spec).join(format!("{number}.toml"))
}

/// Returns `loads` on each of `count` points.
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

/// The point of a load, and its file's number; `None` if the sweep is not over a box.
pub(crate) fn point_of<'a>(spec: &'a MachineSpec, load: &'a Load) -> Option<(&'a str, &'a Point)> {
    let number = load.parameters.get(BOX)?;
    let index = number.parse::<usize>().ok()?.checked_sub(1)?;
    Some((number, spec.points.get(index)?))
}

/// The factor by which the units of a workload take longer on `point`.
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
            for (
                key,
                Range {
                    low,
                    high,
                    at_least,
                    whole,
                    ..
                },
            ) in &ranges.prices
            {
                let place = |value: f64| {
                    if *low == 0.0 {
                        value / high
                    } else {
                        (value / low).ln() / (high / low).ln()
                    }
                };
                let mut of: Vec<f64> = points.iter().map(|it| place(it.prices[key])).collect();
                of.sort_by(f64::total_cmp);
                for (part, place) in of
                    .iter()
                    .enumerate()
                    .filter(|_| at_least.is_none() && !whole)
                {
                    let (from, to) = (part as f64 / count as f64, (part + 1) as f64 / count as f64);
                    assert!((from - 0.01..to + 0.01).contains(place), "{key}: {of:?}");
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
        let points = Ranges::parse(&root(), &text())
            .unwrap()
            .points(60, 64)
            .unwrap();
        for Point { prices, cpus, .. } in &points {
            assert!(prices["transfer-cluster-ns"] <= prices["transfer-socket-ns"]);
            assert!(prices["transfer-socket-ns"] <= prices["transfer-far-ns"]);
            assert!(*cpus >= 64);
        }
    }

    #[test]
    fn a_fault_is_told_with_line_key_value_and_remedy() {
        let hit = "hit-ns = { low = 0.3, high = 1.2";
        for (old, new, told) in [
            (
                hit,
                "hit-ns = { low = 1.2, high = 0.3",
                "hit-ns: low = 1.2, high = 0.3: not a range",
            ),
            (
                hit,
                "hit-ns = { low = -1, high = 0.3",
                "hit-ns: low = -1, high = 0.3: ",
            ),
            (
                hit,
                "hits-ns = { low = 0.3, high = 1.2",
                "hits-ns: unknown cost parameter; did you mean `hit-ns`? known: ",
            ),
            (hit, "hit-ns = { low = 0.3", "missing key `high`"),
            (
                "source = \"guess\" }",
                "source = \" \" }",
                "source is empty; write the source",
            ),
            (
                "at-least = \"wake-polling-ns\"",
                "at-least = \"poll-ns\"",
                "wake-ns: at-least = \"poll-ns\": the box has no range",
            ),
            (
                "like = \"zen4-64\"",
                "like = \"zen4-46\"",
                "like = \"zen4-46\": cannot be read",
            ),
            (
                "like = \"zen4-64\"",
                "like = \"zen2-64\"",
                "has a `like` itself; name that machine",
            ),
            (
                "threads-per-core = 2",
                "threads-per-core = 3",
                "topology `4x8-smt`: write at least 1 of each",
            ),
            (
                "cores-per-cluster = 64",
                "cores-per-cluster = 0",
                "topology `1x64`: write at least 1",
            ),
            (
                "name = \"2x8\"",
                "name = \"1x8\"",
                "topology `1x8`: the name is taken",
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

    #[test]
    fn a_topology_that_the_threads_cannot_have_is_reported_with_the_largest() {
        let ranges = Ranges::parse(&root(), &text()).unwrap();
        let said = ranges.points(5, 113).unwrap_err().to_string();
        assert!(
            said.starts_with("--threads 113: no topology of machines/box.toml has so many CPUs (the largest, `2x28-smt`, has 112)"),
            "{said}"
        );
    }
}
