//! The machine: what it is, once per sweep (`facts`), what confines the runner (`cgroup`), and what
//! can change from trial to trial (`gauges`). Whether it is fit, `doctor` says; `frequency` holds
//! its CPUs at one frequency.

pub mod cgroup;
pub mod doctor;
mod facts;
pub mod frequency;
pub mod gauges;
pub(crate) mod here;
pub(crate) mod stacking;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::thread::{MembarrierCommand, membarrier_query};

use crate::plan::id::Id;

/// Reads facts below a root folder: `/` in a sweep, a made-up tree in tests.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
}

/// Folder of what the kernel shows of CPUs.
pub(crate) const CPUS: &str = "sys/devices/system/cpu";

/// Place of the stolen time among those of `/proc/stat`.
const STEAL: usize = 7;

impl Default for Host {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
        }
    }
}

impl Host {
    /// A host whose files lie below `root`.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Whether files are read of the running system, and not of a made-up tree.
    pub(crate) fn is_system(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Where a file of this host lies.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// What a file says, without white space around it; else a message with its path.
    pub(crate) fn read(&self, path: &str) -> Result<String, String> {
        match fs::read_to_string(self.path(path)) {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(error) => Err(format!("/{path}: {error}")),
        }
    }

    /// A number that a file says; `None` if it says none.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        self.read(path).ok()?.parse().ok()
    }

    /// Names in a folder, sorted; none if it does not exist.
    pub(crate) fn names_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder))
            .into_iter()
            .flatten()
            .flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Numbers and names of all processes; the kernel shows fifteen characters of a name.
    pub(crate) fn processes(&self) -> impl Iterator<Item = (String, String)> {
        let numbers = self.names_in("proc").into_iter();
        numbers
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            .filter_map(|number| {
                let name = self.read(&format!("proc/{number}/comm")).ok()?;
                Some((number, name))
            })
    }

    /// Whether a hypervisor runs beneath.
    pub(crate) fn is_virtual(&self) -> bool {
        let flags = self.cpu_field("flags").unwrap_or_default();
        flags.split(' ').any(|flag| flag == "hypervisor")
    }

    /// CPUs that the scheduler gives to this process.
    pub(crate) fn allowed_cpus(&self) -> Vec<usize> {
        let status = self.read("proc/self/status").unwrap_or_default();
        let list = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        list.map(cpu_list).unwrap_or_default()
    }

    /// Short hash that stands for this machine in folder names; tells nothing about it.
    pub(crate) fn id(&self) -> String {
        let machine = self
            .read("etc/machine-id")
            .or_else(|_| self.read("proc/sys/kernel/hostname"))
            .unwrap_or_default();
        // A virtual machine may be moved to another generation of processors that bear the same
        // name.
        let processor = ["model name", "cpu family", "model"]
            .map(|field| self.cpu_field(field).unwrap_or_default());
        Id::of(&("sweep-host", machine, processor)).to_string()[..6].to_owned()
    }

    /// CPUs this process may use, by affinity and CPU quota; at least 1.
    pub(crate) fn usable_cpus() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Whether a process may fence for all its threads, as pools that share jobs lazily do. Where
    /// it may not, their fences are full ones.
    pub(crate) fn has_membarrier() -> bool {
        membarrier_query().contains_command(MembarrierCommand::PrivateExpedited)
    }

    /// Physical cores; the number of usable CPUs where the topology is not shown.
    pub(crate) fn cores(&self) -> usize {
        let cores: BTreeSet<(String, String)> = self
            .cpus()
            .into_iter()
            .filter_map(|cpu| {
                let topology = format!("{CPUS}/cpu{cpu}/topology");
                let package = self.read(&format!("{topology}/physical_package_id")).ok()?;
                Some((package, self.read(&format!("{topology}/core_id")).ok()?))
            })
            .collect();
        if cores.is_empty() {
            Self::usable_cpus()
        } else {
            cores.len()
        }
    }

    /// CPUs that are online.
    pub(crate) fn cpus(&self) -> Vec<usize> {
        let online = self.read(&format!("{CPUS}/online")).unwrap_or_default();
        cpu_list(&online)
    }

    /// One-minute load average.
    pub(crate) fn load(&self) -> Option<f64> {
        self.read("proc/loadavg")
            .ok()?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    }

    /// Time stolen by the hypervisor from all CPUs since boot, in nanoseconds.
    pub(crate) fn steal_ns(&self) -> Option<u64> {
        let ticks = *self.cpu_ticks()?.get(STEAL)?;
        Some(ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second()))
    }

    /// Share of the CPUs' time since boot that the hypervisor gave to others.
    pub(crate) fn steal_share(&self) -> Option<f64> {
        let ticks = self.cpu_ticks()?;
        // What follows is guests' time, which `user` and `nice` contain already.
        let all: u64 = ticks.get(..=STEAL)?.iter().sum();
        (all > 0).then(|| ticks[STEAL] as f64 / all as f64)
    }

    /// user nice system idle iowait irq softirq steal …, of all CPUs since boot, in clock ticks.
    fn cpu_ticks(&self) -> Option<Vec<u64>> {
        let stat = self.read("proc/stat").ok()?;
        let words = stat
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace();
        words.map(|word| word.parse().ok()).collect()
    }

    /// Whether the machine runs from its battery; `None` if it shows no power supply.
    pub(crate) fn is_on_battery(&self) -> Option<bool> {
        let folder = "sys/class/power_supply";
        let says = |name: &String, file: &str, what: &str| {
            self.read(&format!("{folder}/{name}/{file}"))
                .is_ok_and(|text| text == what)
        };
        let supplies = self.names_in(folder);
        // A mouse has a battery, too.
        let of_machine = |name: &&String| !says(name, "scope", "Device");
        let mains: Vec<&String> = supplies
            .iter()
            .filter(|name| says(name, "type", "Mains"))
            .collect();
        if !mains.is_empty() {
            return Some(!mains.into_iter().any(|name| says(name, "online", "1")));
        }
        let mut batteries = supplies
            .iter()
            .filter(of_machine)
            .filter(|name| says(name, "type", "Battery"))
            .peekable();
        batteries.peek()?;
        Some(batteries.any(|name| says(name, "status", "Discharging")))
    }

    pub(crate) fn cpu_field(&self, name: &str) -> Result<String, String> {
        let text = self.read("proc/cpuinfo")?;
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find_map(|(key, value)| (key.trim() == name).then(|| value.trim().to_owned()))
            .ok_or_else(|| format!("/proc/cpuinfo has no `{name}`"))
    }
}

/// `0-2,5` as numbers; what cannot be read is left out.
pub(crate) fn cpu_list(text: &str) -> Vec<usize> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse::<usize>()) {
            cpus.extend(first..=last);
        }
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::MadeUp;

    fn made_up() -> MadeUp {
        let root = MadeUp::new(&[
            (
                "proc/stat",
                "cpu  1 2 3 4 5 6 7 250 0 0\ncpu0 0 0 0 0 0 0 0 9 0 0",
            ),
            ("proc/loadavg", "0.75 0.5 0.25 1/100 1234"),
            (
                "proc/cpuinfo",
                "model name\t: Made Up 9000\nflags\t\t: fpu hypervisor",
            ),
            ("proc/17/comm", "tuned"),
            ("sys/devices/system/cpu/online", "0-3"),
        ]);
        for cpu in 0..4 {
            let folder = format!("{CPUS}/cpu{cpu}/topology");
            root.write(&format!("{folder}/physical_package_id"), "0");
            root.write(&format!("{folder}/core_id"), &(cpu / 2).to_string());
        }
        root
    }

    #[test]
    fn siblings_count_as_one_core() {
        assert_eq!(made_up().host().cores(), 2);
    }

    #[test]
    fn load_and_steal_are_read_in_their_units() {
        let root = made_up();
        let host = root.host();
        assert_eq!(host.load(), Some(0.75));
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!(host.steal_ns(), Some(250 * tick_ns));
        assert_eq!(host.steal_share(), Some(250.0 / 278.0));
    }

    #[test]
    fn what_is_not_shown_is_null_with_the_reason() {
        let facts = made_up().host().facts();
        assert_eq!(facts["cpu"]["model_name"], "Made Up 9000");
        assert_eq!(facts["cpu"]["is_virtual"], true);
        assert!(facts["frequency"].is_null());
        assert!(
            facts["missing"]["frequency"]
                .as_str()
                .unwrap()
                .contains("no frequency control")
        );
        assert!(facts["cpu"]["microcode"].is_null());
        assert_eq!(
            facts["missing"]["cpu.microcode"],
            "/proc/cpuinfo has no `microcode`"
        );
    }

    #[test]
    fn a_host_without_files_still_has_an_identity_and_cpus() {
        let empty = MadeUp::new(&[]);
        let host = empty.host();
        assert_eq!(host.id().len(), 6);
        assert!(host.cores() >= 1);
        assert_eq!((host.load(), host.steal_ns()), (None, None));
    }

    #[test]
    fn another_generation_of_processors_is_another_host_though_it_bears_the_same_name() {
        let of_family = |family: &str| {
            let root = made_up();
            root.write(
                "proc/cpuinfo",
                &format!("model name\t: AMD EPYC\ncpu family\t: {family}"),
            );
            root.host().id()
        };
        assert_ne!(of_family("25"), of_family("26"));
        assert_eq!(of_family("25"), of_family("25"));
    }

    #[test]
    fn cpu_lists_have_ranges_and_single_numbers() {
        assert_eq!(cpu_list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(cpu_list(""), [0; 0]);
    }
}
