//! Simulated machines: the files in `machines/`, and the costs of the workloads' units of work on
//! these machines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use manycore::machine::WAKE_UPS;
use manycore::{Call, Machine};
use protocol::{Description, MachineRequest};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::catalogue;
use crate::config::pick::{no_such, pick_grouped, plain};
use crate::config::{Branch, ConfigError};
use crate::host::Host;
use crate::host::here;
use crate::plan::{Load, MachineSpec, Mode, SweepRequest, Trial, machine_box};
use crate::stop::Stop;
use crate::system::{digest, whole_file};

const FOLDER: &str = "machines";

const CHARGES: &str = "workloads/charges.toml";

const CHARGES_HERE: &str = "workloads/charges-here.toml";

const OWN: &str = "workloads/own-instructions.toml";

const OWN_HERE: &str = "workloads/own-instructions-here.toml";

/// The branch whose own instructions stand for those of a branch that was not measured.
const MEASURED: &str = "master";

/// Maximum number of cycles of a call. A larger number means that the file uses a wrong unit.
const MOST_CYCLES: f64 = 100_000.0;

/// Environment variable that names a folder for this host's files. Tests set the variable, because
/// tests must not touch the files of a checkout.
pub const HERE_FOLDER: &str = "WORK_STEALING_HERE";

/// The branch with which units of work are measured: the published crate's counterpart in the fork.
pub(crate) const BASELINE: &str = "packed";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Charge {
    ns: f64,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnCycles {
    cycles: f64,
    source: String,
}

pub(crate) fn file(root: &Path, name: &str) -> PathBuf {
    let path = Path::new(FOLDER).join(format!("{name}.toml"));
    if name == here::NAME {
        of_this_host(root, &path)
    } else {
        root.join(path)
    }
}

pub(crate) fn charges_here(root: &Path) -> PathBuf {
    of_this_host(root, CHARGES_HERE.as_ref())
}

pub(crate) fn own_here(root: &Path) -> PathBuf {
    of_this_host(root, OWN_HERE.as_ref())
}

fn of_this_host(root: &Path, path: &Path) -> PathBuf {
    match (std::env::var_os(HERE_FOLDER), path.file_name()) {
        (Some(folder), Some(name)) => Path::new(&folder).join(name),
        _ => root.join(path),
    }
}

pub(crate) fn all(root: &Path) -> Result<Vec<Machine>> {
    names(root)?.iter().map(|name| read(root, name)).collect()
}

fn read(root: &Path, name: &str) -> Result<Machine> {
    let path = file(root, name);
    Machine::read(&path).map_err(|error| {
        let of = Path::new(&error.file);
        let shown = of.strip_prefix(root).unwrap_or(of).display().to_string();
        Stop::BadInput(format!("{shown}: {}", plain(&error.message))).into()
    })
}

fn names(root: &Path) -> Result<Vec<String>> {
    let folder = root.join(FOLDER);
    let entries =
        std::fs::read_dir(&folder).map_err(|error| whole_file::not_in_checkout(FOLDER, &error))?;
    let name = |file: std::ffi::OsString| Some(file.to_str()?.strip_suffix(".toml")?.to_owned());
    let mut names: Vec<String> = entries
        .filter_map(|entry| name(entry.ok()?.file_name()))
        .collect();
    // The file of this host may be in another folder. A box and presets are not machines.
    names.retain(|name| {
        let is_machine = name != machine_box::NAME && name != WAKE_UPS;
        is_machine && (name != here::NAME || file(root, name).is_file())
    });
    names.sort();
    Ok(names)
}

/// Returns the machine that the user named.
pub(super) fn named(root: &Path, name: &str) -> Result<Machine> {
    let known = names(root)?;
    let is_here = name == here::NAME;
    if is_here && !(file(root, name).is_file() && charges_here(root).is_file()) {
        bail!(Stop::BadInput(format!(
            "--machine {name}: this host was not measured; `cargo runner calibrate` writes {FOLDER}/{name}.toml and \
             {CHARGES_HERE}"
        )));
    }
    if !is_here && !known.iter().any(|it| it == name) {
        bail!(no_such(
            "--machine",
            "machine",
            name,
            known.iter().map(String::as_str)
        ));
    }
    read(root, name)
}

pub(crate) fn find(
    root: &Path,
    name: &str,
    loads: &[Load],
    branches: &[Branch],
) -> Result<MachineSpec> {
    let machine = named(root, name)?;
    let is_here = name == here::NAME;
    Ok(MachineSpec {
        name: name.to_owned(),
        title: machine.title.clone(),
        cores: machine.topology.cores(),
        hardware_threads: Some(machine.topology.hardware_threads).filter(|it| *it > 1),
        sha256: sha256(&file(root, name)).context("a machine's file cannot be read")?,
        charges_ns: charges_of(root, loads, is_here)?,
        own_cycles: own_cycles(root, is_here, branches)?,
        points: Vec::new(),
    })
}

pub(crate) fn charges_of(
    root: &Path,
    loads: &[Load],
    is_here: bool,
) -> Result<BTreeMap<String, f64>> {
    let charges = if is_here {
        charges(CHARGES_HERE, &text_of(CHARGES_HERE, &charges_here(root))?)
    } else {
        charges(CHARGES, &whole_file::text_of_checkout(root, CHARGES)?)
    }?;
    let workloads: BTreeSet<&str> = loads.iter().map(|load| load.workload.as_str()).collect();
    let price = |workload: &str| -> Result<(String, f64)> {
        let unit = catalogue::find(workload).and_then(|it| it.charge.as_deref());
        let unit = unit.with_context(|| format!("`{workload}` has no unit of work"))?;
        let charge = charges.get(unit).ok_or_else(|| {
            Stop::BadInput(format!(
                "{}: `{unit}`, the unit of `{workload}`, has no cost; `cargo runner calibrate` measures it",
                if is_here { CHARGES_HERE } else { CHARGES }
            ))
        })?;
        Ok((workload.to_owned(), charge.ns))
    };
    workloads.into_iter().map(price).collect()
}

fn text_of(from: &str, path: &Path) -> Result<String, Stop> {
    whole_file::read_text(path).map_err(|error| {
        Stop::BadInput(format!(
            "{from}: cannot be read: {error}; `cargo runner calibrate` writes it anew"
        ))
    })
}

/// Returns the cycles of the own instructions of each of `branches`. A branch without a measurement
/// gets the cycles of [`MEASURED`], and a note says so.
pub(crate) fn own_cycles(
    root: &Path,
    is_here: bool,
    branches: &[Branch],
) -> Result<BTreeMap<String, BTreeMap<String, f64>>> {
    let (from, text) = if is_here && own_here(root).is_file() {
        (OWN_HERE, text_of(OWN_HERE, &own_here(root))?)
    } else {
        (OWN, whole_file::text_of_checkout(root, OWN)?)
    };
    let measured = measured_cycles(from, &text)?;
    let unmeasured: Vec<&str> = branches
        .iter()
        .map(|branch| branch.name.as_str())
        .filter(|name| !measured.contains_key(*name))
        .collect();
    if !unmeasured.is_empty() {
        tell!(
            "note: {from} has no own instructions of {}; those of {MEASURED} are used; `cargo runner \
             calibrate --own-instructions` measures them",
            unmeasured.join(", ")
        );
    }
    let of = |branch: &Branch| {
        let name = branch.name.as_str();
        let cycles = measured.get(name).or_else(|| measured.get(MEASURED))?;
        let cycles = cycles.iter().map(|(call, it)| (call.clone(), it.cycles));
        Some((name.to_owned(), cycles.collect()))
    };
    Ok(branches.iter().filter_map(of).collect())
}

fn measured_cycles(
    from: &str,
    text: &str,
) -> Result<BTreeMap<String, BTreeMap<String, OwnCycles>>> {
    let branches: BTreeMap<String, BTreeMap<String, OwnCycles>> =
        toml::from_str(text).map_err(|error| ConfigError::of_parser(from, text, &error))?;
    for (branch, calls) in &branches {
        for (call, OwnCycles { cycles, source }) in calls {
            let is_sound =
                (-MOST_CYCLES..=MOST_CYCLES).contains(cycles) && !source.trim().is_empty();
            if Call::named(call).is_none() || !is_sound {
                bail!(Stop::BadInput(format!(
                    "{from}: {branch}.{call}: cycles = {cycles}, source = {source:?}: write the calls {}, each with at most \
                     {MOST_CYCLES} cycles and their source",
                    Call::ALL.map(Call::name).join(" and ")
                )));
            }
        }
    }
    Ok(branches)
}

pub(super) fn sha256(path: &Path) -> std::io::Result<String> {
    let mut all = digest::of_file(path)?;
    for file in Machine::further_files(path) {
        all = digest::of_bytes(format!("{all}{}", digest::of_file(&file)?).as_bytes());
    }
    Ok(all)
}

fn charges(from: &str, text: &str) -> Result<BTreeMap<String, Charge>> {
    let charges: BTreeMap<String, Charge> =
        toml::from_str(text).map_err(|error| ConfigError::of_parser(from, text, &error))?;
    for (unit, charge) in &charges {
        if !(charge.ns > 0.0 && charge.ns.is_finite()) || charge.source.trim().is_empty() {
            bail!(Stop::BadInput(format!(
                "{from}: {unit}: ns = {}, source = {:?}: write a time above 0 and its source",
                charge.ns, charge.source
            )));
        }
    }
    Ok(charges)
}

pub(crate) fn supported() -> impl Iterator<Item = &'static Description> {
    catalogue::all().iter().filter(|it| it.charge.is_some())
}

/// Returns the workloads in `list` that run on simulated machines. Other workloads are left out
/// with a note, but naming such a workload individually is an error. So is a list that leaves no
/// workload.
pub(crate) fn workloads(list: &str) -> Result<String> {
    let named: Vec<&str> = list.split(',').map(str::trim).collect();
    let picked = pick_grouped("--workloads", "workload", list, &catalogue::known())?;
    let is_marked = |name: &&str| supported().any(|it| it.name == *name);
    let (kept, left): (Vec<&str>, Vec<&str>) = picked.into_iter().partition(is_marked);
    let is_refused = kept.is_empty() || left.iter().any(|name| named.contains(name));
    let left = left.join(", ");
    if is_refused {
        let supported: Vec<&str> = supported().map(|it| it.name.as_str()).collect();
        bail!(Stop::BadInput(format!(
            "--workloads {list}: {left} cannot run on simulated machines; these can: {}",
            supported.join(", ")
        )));
    }
    if !left.is_empty() {
        tell!("note: left out, because they do not run on simulated machines: {left}");
    }
    Ok(kept.join(","))
}

pub(crate) fn request(
    root: &Path,
    asked: &SweepRequest,
    trial: &Trial<'_>,
) -> Option<MachineRequest> {
    let machine = asked.machine.as_ref()?;
    let is_twin = asked.twin_name().as_deref() == Some(trial.branch);
    let load = &asked.workloads[trial.kind.load];
    let point = machine_box::point_of(machine, load);
    let work = point.map_or(1.0, |(_, point)| machine_box::work(point));
    Some(MachineRequest {
        file: point.map_or_else(
            || file(root, &machine.name),
            |(number, _)| machine_box::file(root, machine, number),
        ),
        is_fixed: trial.condition.mode == Mode::Fixed,
        // Branches share a replicate's seed. The A/A control has its own seeds; otherwise its
        // results would be identical to the baseline's.
        seed: asked.seed * 1_000_000 + u64::from(trial.replicate) * 2 + u64::from(is_twin),
        charge_ns: machine.charges_ns[&load.workload] * work,
        // The A/A control and instrumented builds have the baseline's cycles.
        own_cycles: machine
            .own_cycles
            .get(trial.branch)
            .or_else(|| machine.own_cycles.get(&asked.baseline))
            .cloned()
            .unwrap_or_default(),
    })
}

pub(crate) fn first_request(root: &Path, asked: &SweepRequest) -> Option<MachineRequest> {
    let machine = asked.machine.as_ref()?;
    Some(plain_request(if asked.is_box() {
        machine_box::file(root, machine, "1")
    } else {
        file(root, &machine.name)
    }))
}

/// Returns a request for the machine of a file, with the file's values. Each unit of work takes a
/// nanosecond.
pub(crate) fn plain_request(file: PathBuf) -> MachineRequest {
    MachineRequest {
        file,
        is_fixed: true,
        seed: 1,
        charge_ns: 1.0,
        own_cycles: BTreeMap::new(),
    }
}

/// Returns binaries by branch and link order. On a simulated machine, the same binary stands at
/// every index, because replicates differ by their seeds, not by link orders.
pub(crate) fn binaries(
    asked: &SweepRequest,
    mut binaries: BTreeMap<String, Vec<PathBuf>>,
) -> BTreeMap<String, Vec<PathBuf>> {
    if asked.machine.is_some() {
        for paths in binaries.values_mut() {
            *paths = paths
                .iter()
                .cycle()
                .take(asked.layouts as usize)
                .cloned()
                .collect();
        }
    }
    binaries
}

/// Returns the machine's part of folder names: a simulated machine's name, or the host's hash.
pub(crate) fn host_id(asked: &SweepRequest) -> String {
    asked
        .machine
        .as_ref()
        .map_or_else(|| Host::default().id(), |machine| machine.name.clone())
}

pub(crate) fn host_facts(asked: &SweepRequest) -> Value {
    match &asked.machine {
        None => Host::default().facts(),
        Some(machine) => json!({
            "id": machine.name,
            "cpus_usable": machine.cpus(),
            "cores": machine.cores,
            "cpu": { "model_name": format!("simulated: {}, {}", machine.name, machine.title), "is_virtual": false },
            "simulated": MachineSpec { points: Vec::new(), ..machine.clone() },
        }),
    }
}

/// Checks that the machine's file has not changed since the sweep began, and writes the files of a
/// box again.
pub(crate) fn restore(root: &Path, machine: &MachineSpec) -> Result<()> {
    let is_same = if machine.points.is_empty() {
        sha256(&file(root, &machine.name)).is_ok_and(|now| now == machine.sha256)
    } else {
        machine_box::try_restore(root, machine)?
    };
    if !is_same {
        bail!(Stop::BadInput(format!(
            "{FOLDER}/{}.toml is not the file that the sweep began with; restore that file, or begin another sweep",
            machine.name
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{all, charges, charges_of, machine_box, measured_cycles, own_cycles, sha256};
    use crate::exit::exit_of;
    use crate::options::selection;
    use crate::stop::Exit;

    #[test]
    fn a_file_of_the_repository_that_is_gone_is_bad_input_with_its_name_and_the_remedy() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for (file, read) in [
            ("machines", all(root).map(drop)),
            (
                "machines/box.toml",
                machine_box::find(root, 5, 1, None).map(drop),
            ),
            (
                "workloads/charges.toml",
                charges_of(root, &[], false).map(drop),
            ),
            (
                "workloads/own-instructions.toml",
                own_cycles(root, false, &[]).map(drop),
            ),
            ("experiments.toml", selection::read(root).map(drop)),
        ] {
            let error = read.unwrap_err();
            let said = format!("{error:#}");
            assert!(
                said.starts_with(&format!("{file}: cannot be read: ")),
                "{said}"
            );
            assert!(said.contains(&format!("`git restore {file}`")), "{said}");
            assert_eq!(exit_of(&error), Exit::BadInput, "{said}");
        }
    }

    #[test]
    fn the_hash_of_a_machine_changes_with_the_machine_in_like_and_with_the_presets() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str| root.path().join(format!("{name}.toml"));
        std::fs::write(file("a"), "title = \"a\"\nlike = \"b\"\nwake-ups = \"c\"").unwrap();
        let hash = |base: &str, presets: &str| {
            std::fs::write(file("b"), format!("title = \"{base}\"")).unwrap();
            std::fs::write(file("wake-ups"), presets).unwrap();
            sha256(&file("a")).unwrap()
        };
        let hashes =
            [("b", ""), ("b", "[c]"), ("d", "")].map(|(base, presets)| hash(base, presets));
        assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2]);
        assert_eq!(hash("b", ""), hashes[0]);
    }

    #[test]
    fn a_fault_in_costs_of_work_or_own_instructions_is_reported_with_its_place_and_remedy() {
        let said = |text| charges("c.toml", text).unwrap_err().to_string();
        let text = "[steps]\nns = \"a\"\nsource = \"a guess\"";
        assert_eq!(said(text), "c.toml:2: string \"a\"; write a number");
        assert!(said("[steps]\nns = -1.0\nsource = \"s\"").starts_with("c.toml: steps: ns = -1, "));
        for (call, cycles, source) in [("joins", 1e0, "s"), ("join", 1e6, "s"), ("join", 1e0, " ")]
        {
            let text = format!("[master.{call}]\ncycles = {cycles}\nsource = {source:?}");
            let said = measured_cycles("o.toml", &text).unwrap_err().to_string();
            let place =
                format!("o.toml: master.{call}: cycles = {cycles}, source = {source:?}: write");
            assert!(said.starts_with(&place), "{said}");
        }
    }
}
