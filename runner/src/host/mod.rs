//! The machine: its facts, its sensors, its CPU frequency, and whether the machine is fit for a
//! sweep.

mod cgroup;
pub mod doctor;
mod facts;
pub mod frequency;
pub(crate) mod here;
mod kernel_options;
pub mod sensors;
pub(crate) mod stacking;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::thread::{MembarrierCommand, membarrier_query};

use crate::affinity;
use crate::system::digest::Id;
use crate::system::whole_file;

/// A fact of the host. An error is the reason why the fact is unknown, such as `/proc/stat counts no
/// stolen time`.
pub(crate) type Fact<T> = Result<T, String>;

/// Reads facts below a root folder: `/` in a sweep, a mock host's folder in tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    root: PathBuf,
}

pub(crate) const CPUS: &str = "sys/devices/system/cpu";

/// Position of the stolen time among the numbers of `/proc/stat`.
const STEAL: usize = 7;

/// The longest file that is read as a fact, in bytes. `/proc/cpuinfo` of a thousand CPUs has about
/// 2 MiB.
const LONGEST: u64 = 16 << 20;

/// CPU numbers in lists must be below this limit, which is above the limit of any kernel.
const CPU_NUMBERS: usize = 1 << 16;

/// Parts of the vendors' and products' names that firmware gives to virtual machines.
const VIRTUAL_VENDORS: [&str; 13] = [
    "Amazon EC2",
    "BHYVE",
    "Bochs",
    "Google Compute Engine",
    "Hyper-V",
    "KVM",
    "KubeVirt",
    "OpenStack",
    "Parallels",
    "QEMU",
    "VMware",
    "Virtual", // in names that Apple, Microsoft and Oracle give
    "Xen",
];

impl Default for Host {
    fn default() -> Self {
        Self::at(Path::new("/"))
    }
}

impl Host {
    /// Returns the host whose files lie below `root`.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    pub(crate) fn is_system(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The path of a file of this host.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(crate) fn read(&self, path: &str) -> Fact<String> {
        read_text(&self.path(path)).map_err(|reason| format!("/{path} {reason}"))
    }

    pub(crate) fn is_there(&self, path: &str) -> Fact<bool> {
        let exists = self.path(path).try_exists();
        exists.map_err(|error| format!("/{path} cannot be read: {error}"))
    }

    pub(crate) fn if_any<T>(
        &self,
        path: &str,
        read: impl Fn(&Self, &str) -> Fact<T>,
    ) -> Fact<Option<T>> {
        if self.is_there(path)? {
            return read(self, path).map(Some);
        }
        Ok(None)
    }

    pub(crate) fn parsed<T>(
        &self,
        path: &str,
        what: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Fact<T> {
        let text = self.read(path)?;
        let wrong = || format!("/{path} says `{}`, which is not {what}", start_of(&text));
        parse(&text).ok_or_else(wrong)
    }

    pub(crate) fn number(&self, path: &str) -> Fact<u64> {
        self.parsed(path, "a number", |text| text.parse().ok())
    }

    pub(crate) fn flag(&self, path: &str) -> Fact<bool> {
        self.parsed(path, "0 or 1", |text| match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    pub(crate) fn cpus_in(&self, path: &str) -> Fact<Vec<usize>> {
        self.parsed(path, "a list of CPUs", cpu_list)
    }

    pub(crate) fn names_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder));
        let names = entries.into_iter().flatten().flatten();
        let mut names: Vec<String> = names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Returns the numbers and names of all processes; the kernel shows fifteen characters of a
    /// name. The names are unknown in a container: process 2 is `kthreadd` only on the host.
    pub(crate) fn processes(&self) -> Fact<Vec<(String, String)>> {
        let of_host = |name: &str| (name == "kthreadd").then_some(());
        let what = "`kthreadd`: a container does not see the host's processes";
        self.parsed("proc/2/comm", what, of_host)?;
        let numbers = self.names_in("proc").into_iter();
        Ok(numbers
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            .filter_map(|number| {
                let name = self.read(&format!("proc/{number}/comm")).ok()?;
                Some((number, name))
            })
            .collect())
    }

    /// Returns the evidence that this host runs on a hypervisor; `None` if the CPU shows that there
    /// is no hypervisor.
    pub(crate) fn hypervisor(&self) -> Fact<Option<String>> {
        let flags = self.cpu_field("flags");
        let has_flag = |flags: &String| flags.split(' ').any(|flag| flag == "hypervisor");
        if flags.as_ref().is_ok_and(has_flag) {
            return Ok(Some("/proc/cpuinfo: `flags` has `hypervisor`".to_owned()));
        }
        let product = "sys/class/dmi/id/product_name";
        // Clouds call machines without a hypervisor `metal`.
        let is_metal = self.read(product).is_ok_and(|name| name.contains("metal"));
        for file in ["sys/class/dmi/id/sys_vendor", product] {
            if let Ok(name) = self.read(file)
                && !is_metal
                && VIRTUAL_VENDORS.iter().any(|vendor| name.contains(vendor))
            {
                return Ok(Some(format!("/{file} = {name}")));
            }
        }
        let file = "sys/hypervisor/type";
        if let Ok(name) = self.read(file)
            && !name.is_empty()
        {
            return Ok(Some(format!("/{file} = {name}")));
        }
        let folder = "sys/firmware/devicetree/base/hypervisor";
        if self.path(folder).is_dir() {
            return Ok(Some(format!("/{folder} is there")));
        }
        self.read("proc/cpuinfo")?;
        // Only x86 has `flags`, and on x86 a hypervisor sets the flag `hypervisor`.
        flags.map(|_| None).map_err(|_| {
            "/proc/cpuinfo has no `flags`, in which x86 shows it, and firmware names none"
                .to_owned()
        })
    }

    pub(crate) fn is_virtual(&self) -> Fact<bool> {
        self.hypervisor().map(|sign| sign.is_some())
    }

    pub(crate) fn allowed_cpus(&self) -> Fact<Vec<usize>> {
        if self.is_system() {
            let allowed = affinity::allowed_cpus();
            if !allowed.is_empty() {
                return Ok(allowed);
            }
        }
        let (file, field) = ("proc/self/status", "Cpus_allowed_list");
        let list = self.field(file, field)?;
        let shown = format!("/{file}: `{field}: {}`", start_of(&list));
        let mut allowed =
            cpu_list(&list).ok_or_else(|| format!("{shown}, which is not a list of CPUs"))?;
        // The list may name CPUs that are offline, or that this machine does not have.
        let online = self.cpus()?;
        allowed.retain(|cpu| online.contains(cpu));
        if allowed.is_empty() {
            return Err(format!("{shown} names no CPU that is online"));
        }
        Ok(allowed)
    }

    /// Returns a short hash that identifies this machine in folder names, and reveals nothing else
    /// about the machine.
    pub(crate) fn id(&self) -> String {
        let machine = self
            .read("etc/machine-id")
            .or_else(|_| self.read("proc/sys/kernel/hostname"))
            .unwrap_or_default();
        // A virtual machine may move to another generation of processors with the same model name.
        let fields = if self.is_named_as_on_x86() {
            ["model name", "cpu family", "model"]
        } else {
            ["CPU implementer", "CPU part", "CPU variant"]
        };
        let processor = fields.map(|field| self.cpu_field(field).unwrap_or_default());
        Id::of(&("sweep-host", machine, processor)).to_string()[..6].to_owned()
    }

    /// Whether `/proc/cpuinfo` names the processor by a model name, as on x86. On ARM, the file
    /// names the processor by numbers.
    fn is_named_as_on_x86(&self) -> bool {
        self.cpu_field("CPU implementer").is_err()
    }

    /// Returns the number of CPUs that this process may use, by affinity and CPU quota; at least 1.
    pub(crate) fn usable_cpus() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Whether a process may fence for all its threads, as pools with lazy job sharing do.
    pub(crate) fn has_membarrier() -> bool {
        membarrier_query().contains_command(MembarrierCommand::PrivateExpedited)
    }

    pub(crate) fn cores(&self) -> Fact<usize> {
        let cpus = self.allowed_cpus()?.into_iter();
        let cores: Fact<BTreeSet<String>> = cpus.map(|cpu| self.core_of(cpu)).collect();
        cores.map(|cores| cores.len())
    }

    /// Returns a name of the CPU's physical core: a text that is equal for all CPUs of the core.
    pub(crate) fn core_of(&self, cpu: usize) -> Fact<String> {
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        // Lists of siblings come first, because core numbers may repeat from die to die, and some
        // kernels show -1 for an unknown core number.
        for file in ["core_cpus_list", "thread_siblings_list"] {
            // A CPU is its own sibling, so a list without this CPU is invalid.
            if let Ok(list) = self.read(&format!("{topology}/{file}"))
                && cpu_list(&list).is_some_and(|cpus| cpus.contains(&cpu))
            {
                return Ok(list);
            }
        }
        let number = |file| self.number(&format!("{topology}/{file}"));
        let package = number("physical_package_id")?;
        // Older kernels do not number dies.
        let die = number("die_id").unwrap_or(0);
        Ok(format!("{package}: {die}: {}", number("core_id")?))
    }

    pub(crate) fn cpus(&self) -> Fact<Vec<usize>> {
        self.cpus_in(&format!("{CPUS}/online"))
    }

    pub(crate) fn load(&self) -> Fact<f64> {
        self.parsed("proc/loadavg", "a load", |text| {
            let mut words = text.split_whitespace();
            let load: f64 = words.next()?.parse().ok()?;
            // This process is a task, too, so a sandbox that shows 0 tasks does not count tasks.
            let (_, tasks) = words.nth(2)?.split_once('/')?;
            let has_task = tasks.parse::<u64>().ok()? > 0;
            (load.is_finite() && load >= 0.0 && has_task).then_some(load)
        })
    }

    pub(crate) fn steal_ns(&self) -> Fact<u64> {
        Ok(self.cpu_ns()?[STEAL])
    }

    pub(crate) fn steal_share(&self) -> Fact<f64> {
        let ns = self.cpu_ns()?;
        let all: f64 = ns.iter().map(|ns| *ns as f64).sum();
        let share = ns[STEAL] as f64 / all;
        if share == 0.0 && self.is_virtual() != Ok(false) {
            return Err(
                "/proc/stat counts no stolen time; some hypervisors do not report it".to_owned(),
            );
        }
        Ok(share)
    }

    /// The share of all CPUs' time that is not idle, from now on for as long as `during`. An error if no
    /// time passes, as in the files of another host.
    pub(crate) fn busy_share(&self, during: Duration) -> Fact<f64> {
        const IDLE_AND_WAITING: std::ops::Range<usize> = 3..5;
        let before = self.cpu_ns()?;
        std::thread::sleep(during);
        let after = self.cpu_ns()?;
        let passed = |place: usize| after[place].saturating_sub(before[place]) as f64;
        let all: f64 = (0..after.len()).map(passed).sum();
        let idle: f64 = IDLE_AND_WAITING.map(passed).sum();
        if all == 0.0 {
            return Err("/proc/stat does not change".to_owned());
        }
        Ok(1.0 - idle / all)
    }

    /// Returns the times `user nice system idle iowait irq softirq steal` of all CPUs since boot,
    /// in nanoseconds. The later numbers of the line are guests' time, which `user` and `nice`
    /// already contain.
    fn cpu_ns(&self) -> Fact<[u64; STEAL + 1]> {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        self.parsed("proc/stat", "a count of the CPUs' time", |text| {
            let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
            // The kernel adds nanoseconds in 64 bits, so a number that does not fit is a counter
            // that went below zero.
            let ns = |word: &str| word.parse::<u64>().ok()?.checked_mul(tick_ns);
            let counts: Option<Vec<u64>> =
                line.split_whitespace().take(STEAL + 1).map(ns).collect();
            let counts = counts.filter(|counts| counts.iter().any(|count| *count > 0));
            counts?.try_into().ok()
        })
    }

    pub(crate) fn is_on_battery(&self) -> Fact<bool> {
        let folder = "sys/class/power_supply";
        if !self.path(folder).is_dir() {
            return Err(format!("/{folder} is not there"));
        }
        let says = |name: &String, file: &str| {
            let text = self.read(&format!("{folder}/{name}/{file}"));
            text.unwrap_or_default()
        };
        // A mouse also has a battery, of scope `Device`.
        let supplies = self.names_in(folder).into_iter();
        let supplies = supplies.filter(|name| says(name, "scope") != "Device");
        let (batteries, others): (Vec<String>, Vec<String>) =
            supplies.partition(|name| says(name, "type") == "Battery");
        // A laptop may be powered by USB while its own supply is unplugged.
        if others.iter().any(|name| says(name, "online") == "1") {
            return Ok(false);
        }
        let status = |status| batteries.iter().any(|name| says(name, "status") == status);
        let is_unplugged = |name| says(name, "type") == "Mains" && says(name, "online") == "0";
        if others.iter().any(is_unplugged) || status("Discharging") {
            return Ok(true);
        }
        let is_fed = ["Charging", "Full", "Not charging"].into_iter().any(status);
        if is_fed || (batteries.is_empty() && others.is_empty()) {
            return Ok(false);
        }
        Err(format!("/{folder} does not show it"))
    }

    pub(crate) fn field(&self, path: &str, name: &str) -> Fact<String> {
        let text = self.read(path)?;
        let mut fields = text.lines().filter_map(|line| line.split_once(':'));
        let field = fields.find(|(key, _)| key.trim() == name);
        field
            .map(|(_, value)| value.trim().to_owned())
            .filter(|value| !value.is_empty())
            .ok_or_else(|| format!("/{path} has no `{name}`"))
    }

    pub(crate) fn cpu_field(&self, name: &str) -> Fact<String> {
        self.field("proc/cpuinfo", name)
    }
}

/// Returns the text of a file without white space around it, or the reason why the file cannot be
/// read. The reason is a clause that follows the file's name.
fn read_text(path: &Path) -> Fact<String> {
    let cannot = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "is not there".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    let mut bytes = Vec::new();
    let file = whole_file::open(path, OpenOptions::new().read(true)).map_err(cannot)?;
    let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
    if read.map_err(cannot)? as u64 > LONGEST {
        return Err("is too long for a file of the kernel".to_owned());
    }
    let text = String::from_utf8(bytes).ok();
    let is_text = |text: &String| !text.contains(|it: char| it.is_control() && !it.is_whitespace());
    let text = text.filter(is_text).ok_or("is not text")?;
    Ok(text.trim().to_owned())
}

pub(crate) fn start_of(text: &str) -> String {
    const ROOM: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    let mut start: String = line.chars().take(ROOM).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

/// Reads a list of CPUs such as `0-2,5`; `None` if the text is anything else.
pub(crate) fn cpu_list(text: &str) -> Option<Vec<usize>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        cpus.extend((first <= last && last < CPU_NUMBERS).then_some(first..=last)?);
        if cpus.len() > CPU_NUMBERS {
            return None;
        }
    }
    Some(cpus)
}

pub(crate) fn show_cpus(cpus: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let runs = runs.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::testing::MockRoot;

    fn mock() -> MockRoot {
        let root = MockRoot::new(&[
            ("proc/self/status", "Cpus_allowed_list:\t0-3"),
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
    fn a_busy_share_is_between_idle_and_busy_and_unknown_where_no_time_passes() {
        let during = Duration::from_millis(50);
        let share = Host::default().busy_share(during).unwrap();
        assert!((0.0..=1.0).contains(&share), "{share}");
        let root = mock();
        root.write("proc/stat", "cpu  10 0 10 100 0 0 0 0 0 0\n");
        assert!(root.host().busy_share(during).is_err());
    }

    #[test]
    fn cores_are_those_of_the_cpus_that_may_be_used_and_are_online() {
        type Says = fn(usize) -> String;
        let of_all = |file: &str, says: Says| {
            let root = mock();
            for cpu in 0..4 {
                root.write(&format!("{CPUS}/cpu{cpu}/topology/{file}"), &says(cpu));
            }
            root.host().cores()
        };
        let siblings = "thread_siblings_list";
        for (file, says, cores) in [
            ("unused", (|_| String::new()) as Says, 2),
            // Core numbers repeat from die to die; a kernel may have only lists of siblings.
            ("die_id", |cpu| (cpu % 2).to_string(), 4),
            (siblings, |cpu| cpu.to_string(), 4),
            // Lists without the CPU itself are invalid.
            (siblings, |_| "9".to_owned(), 2),
            ("core_cpus_list", |_| "all".to_owned(), 2),
        ] {
            assert_eq!(of_all(file, says), Ok(cores), "{file}");
        }
        let unknown = of_all("core_id", |_| "-1".to_owned());
        assert!(unknown.unwrap_err().contains("says `-1`"));
        let root = mock();
        root.write("proc/self/status", "Cpus_allowed_list:\t2-63");
        assert_eq!(root.host().allowed_cpus(), Ok(vec![2, 3]));
        assert_eq!(root.host().cores(), Ok(1));
    }

    #[test]
    fn load_and_steal_are_read_in_their_units() {
        let root = MockRoot::new(&[
            (
                "proc/stat",
                "cpu  1 2 3 4 5 6 7 250 0 0\ncpu0 0 0 0 0 0 0 0 9 0 0",
            ),
            ("proc/loadavg", "0.75 0.5 0.25 1/100 1234"),
        ]);
        let host = root.host();
        assert_eq!(host.load(), Ok(0.75));
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!(host.steal_ns(), Ok(250 * tick_ns));
        assert_eq!(host.steal_share(), Ok(250.0 / 278.0));
    }

    #[test]
    fn processors_tell_hosts_apart_by_family_too_and_on_arm_by_numbers() {
        let id = |processor: &str| MockRoot::new(&[("proc/cpuinfo", processor)]).host().id();
        let ids = [
            "",
            "model name\t: AMD EPYC\ncpu family\t: 25",
            "model name\t: AMD EPYC\ncpu family\t: 26",
            "CPU implementer\t: 0x41\nCPU part\t: 0xd0c",
            "CPU implementer\t: 0x41\nCPU part\t: 0xd40",
        ];
        assert_eq!(BTreeSet::from(ids.map(id)).len(), 5);
        assert!(ids.iter().all(|it| id(it).len() == 6));
        assert_eq!(id(ids[1]), id(ids[1]));
    }

    #[test]
    fn cpu_lists_have_ranges_and_single_numbers_and_nothing_else() {
        assert_eq!(cpu_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cpu_list(""), Some(vec![]));
        assert_eq!(show_cpus(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(show_cpus(&[]), "");
        let endless = "0-18446744073709551615";
        for text in [endless, "3-1", "-1", "0,,2", "0-", "all", "0;1"] {
            assert_eq!(cpu_list(text), None, "{text}");
        }
    }

    #[test]
    fn files_that_no_kernel_has_are_refused_with_their_path() {
        let root = mock();
        let reason = || root.host().read("proc/loadavg").unwrap_err();
        let path = root.host().path("proc/loadavg");
        let long = vec![b'1'; usize::try_from(LONGEST).unwrap() + 1];
        fs::write(&path, long).unwrap();
        assert_eq!(
            reason(),
            "/proc/loadavg is too long for a file of the kernel"
        );
        // Reading a pipe must return an error and not wait for a writer.
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        assert_eq!(reason(), "/proc/loadavg cannot be read: not a regular file");
    }
}
