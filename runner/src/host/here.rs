//! `machines/here.toml`: this host as a simulated machine.
//!
//! The file takes values that the host cannot measure from a shipped machine of the same vendor or
//! architecture, and labels these values as guesses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use probes::{Cost, Cpu};
use toml::{Table, Value};

use crate::host::frequency::clock;
use crate::host::{CPUS, Host};
use crate::system::whole_file;

pub(crate) const NAME: &str = "here";

/// The clock in MHz that the file has if the host's clock cannot be measured. Any value would do,
/// because the file gives all costs at this clock.
const UNKNOWN_MHZ: f64 = 1_000.0;

const DIGITS: usize = 3;

/// Measures the host for some seconds, and returns the content of the file. `file_of` finds a
/// shipped machine.
pub(crate) fn measured(
    file_of: impl Fn(&str) -> PathBuf,
    host: &Host,
    while_busy: &str,
) -> Result<String> {
    let cpus = cpus(host);
    let numbers: Vec<usize> = cpus.iter().map(|cpu| cpu.number).collect();
    let like = like(host);
    let file = file_of(like);
    let shipped = whole_file::read_text(&file)
        .map_err(|error| whole_file::not_in_checkout(&format!("machines/{like}.toml"), &error))?;
    let shipped: Table = shipped
        .parse()
        .with_context(|| format!("{} is not TOML", file.display()))?;
    let shipped = shipped.get("price").and_then(Value::as_table);
    let shipped = shipped.with_context(|| format!("{} has no [price]", file.display()))?;
    let mhz = clock::measure(&numbers).map(|clock| (clock.ghz * 1e3).round());
    let (title, costs) = (title(host, &cpus), probes::all(&cpus));
    let shipped = (like, shipped);
    Ok(text(&title, &cpus, mhz, &costs, shipped, while_busy))
}

/// Returns a title that names the host, so that nobody mistakes its costs for those of another
/// host.
pub(crate) fn title(host: &Host, cpus: &[Cpu]) -> String {
    let model = host
        .cpu_field("model name")
        .unwrap_or_else(|_| "an unknown processor".to_owned());
    let is_virtual = match host.is_virtual() {
        Ok(true) => ", virtual",
        Ok(false) | Err(_) => "",
    };
    format!(
        "host {}: {} cores of {model}{is_virtual}",
        host.id(),
        cpus.len()
    )
}

/// Returns one CPU of each core that trials may use, up to the quota.
pub(crate) fn cpus(host: &Host) -> Vec<Cpu> {
    let mut seen = BTreeSet::new();
    let mut cpus = Vec::new();
    for number in host.allowed_cpus().unwrap_or_default() {
        let folder = format!("{CPUS}/cpu{number}");
        let socket = host
            .number(&format!("{folder}/topology/physical_package_id"))
            .unwrap_or(0);
        let core = host.core_of(number).unwrap_or_else(|_| number.to_string());
        if seen.insert(core) {
            let cluster = last_cache(host, &folder).unwrap_or(0);
            cpus.push(Cpu {
                number,
                cluster,
                socket: usize::try_from(socket).unwrap_or(0),
            });
        }
    }
    if host.is_system() {
        cpus.truncate(Host::usable_cpus());
    }
    cpus
}

fn last_cache(host: &Host, folder: &str) -> Option<usize> {
    let caches = host.names_in(&format!("{folder}/cache")).into_iter();
    let caches = caches.filter(|name| name.starts_with("index"));
    let level = |name: &String| host.number(&format!("{folder}/cache/{name}/level")).ok();
    let last = caches.max_by_key(level)?;
    let shared = host.cpus_in(&format!("{folder}/cache/{last}/shared_cpu_list"));
    shared.ok()?.into_iter().min()
}

/// Returns the name of the shipped machine whose cost parameters replace those that the host cannot
/// measure.
fn like(host: &Host) -> &'static str {
    match host.cpu_field("vendor_id").as_deref() {
        Ok("GenuineIntel") => "ice-lake-2x32",
        Ok(_) => "zen4-64",
        Err(_) => "graviton3-64",
    }
}

/// Numbers of sockets, of clusters in each socket, and of cores in each cluster; `None` if sizes
/// differ.
fn shape(cpus: &[Cpu]) -> Option<[usize; 3]> {
    let mut clusters: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut sockets: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for cpu in cpus {
        *clusters.entry((cpu.socket, cpu.cluster)).or_default() += 1;
        sockets.entry(cpu.socket).or_default().insert(cpu.cluster);
    }
    let cores = *clusters.values().next()?;
    let of_socket = sockets.values().next()?.len();
    let is_even = clusters.values().all(|it| *it == cores)
        && sockets.values().all(|it| it.len() == of_socket);
    is_even.then_some([sockets.len(), of_socket, cores])
}

fn text(
    title: &str,
    cpus: &[Cpu],
    mhz: Option<f64>,
    costs: &[Cost],
    (like, shipped): (&str, &Table),
    while_busy: &str,
) -> String {
    let even = shape(cpus);
    let [sockets, clusters, cores] = even.unwrap_or([1, 1, cpus.len().max(1)]);
    let shape_from = if even.is_some() {
        "the kernel: sockets, last caches, one CPU of each core that may be used"
    } else {
        "guess: the host's sockets or clusters are not of one size"
    };
    let clock_from = if mhz.is_some() {
        format!("measured: chains of dependent instructions{while_busy}; the only known frequency")
    } else {
        "guess: the clock cannot be measured; all costs hold at this value".to_owned()
    };
    let mhz = mhz.unwrap_or(UNKNOWN_MHZ);
    let mut text = format!(
        "# The host that wrote this, as a simulated machine: `cargo runner calibrate`. Not in the repository.\n\
         title = {title:?}\n\n\
         [topology]\nsockets = {sockets}\nclusters-per-socket = {clusters}\ncores-per-cluster = {cores}\n\
         source = {shape_from:?}\n\n\
         [frequency]\nreference = {mhz}\nfixed = {mhz}\ndynamic = [[{}, {mhz}]]\nsource = {clock_from:?}\n\n\
         [price]\n",
        clusters * cores
    );
    let measured = |key: &str| costs.iter().find(|cost| cost.key == key);
    // On a host without a deep idle state, both parameters measure the same latency.
    let resume = measured("resume-ns").map_or(0.0, |cost| cost.value);
    for (key, guess) in shipped {
        let least = if key == "deep-resume-ns" { resume } else { 0.0 };
        let (value, source) = if let Some(cost) = measured(key) {
            let value = format!("{:.DIGITS$}", cost.value.max(least));
            (value, format!("measured: {}{while_busy}", cost.how))
        } else {
            let value = guess.get("value").map(ToString::to_string);
            (value.unwrap_or_default(), format!("guess: as {like}"))
        };
        let _ = writeln!(text, "{key} = {{ value = {value}, source = {source:?} }}");
    }
    text
}

#[cfg(test)]
mod tests {
    use manycore::Machine;

    use super::*;
    use crate::system::testing::MockRoot;

    #[test]
    fn what_is_not_measured_is_a_guess_and_the_machine_is_sound() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../machines/zen4-64.toml");
        let shipped: Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
        let shipped = ("zen4-64", shipped["price"].as_table().unwrap());
        let cost = Cost {
            key: "fence-ns",
            value: 12.345_67,
            how: "so",
        };
        let cpu = Cpu {
            number: 0,
            cluster: 0,
            socket: 0,
        };
        let text = text("t", &[cpu], None, &[cost], shipped, ", in haste");
        let folder = MockRoot::new(&[("here.toml", &text)]);
        let machine = Machine::read(&folder.host().path("here.toml")).unwrap();
        assert_eq!(machine.costs.fence, 12_346);
        assert_eq!(machine.topology.cores(), 1);
        assert_eq!(machine.frequency.fixed_mhz, 1_000);
        for line in [
            "fence-ns = { value = 12.346, source = \"measured: so, in haste\" }",
            "pause-ns = { value = 17.0, source = \"guess: as zen4-64\" }",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn cores_are_counted_once_and_clusters_are_those_that_share_the_last_cache() {
        let root = MockRoot::new(&[
            ("proc/self/status", "Cpus_allowed_list:\t0-7"),
            ("sys/devices/system/cpu/online", "0-7"),
        ]);
        for cpu in 0..8 {
            let shared = format!("{}-{}", cpu / 4 * 4, cpu / 4 * 4 + 3);
            for (file, content) in [
                ("topology/physical_package_id", (cpu / 4).to_string()),
                // Each core has two CPUs, and each socket has two cores.
                ("topology/core_id", (cpu / 2 % 2).to_string()),
                ("cache/index0/level", "1".to_owned()),
                ("cache/index0/shared_cpu_list", cpu.to_string()),
                ("cache/index3/level", "3".to_owned()),
                ("cache/index3/shared_cpu_list", shared),
            ] {
                root.write(&format!("{CPUS}/cpu{cpu}/{file}"), &content);
            }
        }
        let cpus = cpus(&root.host());
        let numbers: Vec<usize> = cpus.iter().map(|cpu| cpu.number).collect();
        assert_eq!(numbers, [0, 2, 4, 6]);
        assert_eq!(shape(&cpus), Some([2, 1, 2]));
        assert_eq!(shape(&cpus[..3]), None);
    }
}
