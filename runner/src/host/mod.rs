//! The machine: its facts, read once per sweep (`facts`), the limits on the runner (`cgroup`), and
//! sensors, read around every trial. `doctor` checks whether the host is fit; `frequency` holds its
//! CPUs at one frequency.

pub mod cgroup;
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

use rustix::thread::{MembarrierCommand, membarrier_query};

use crate::affinity;
use crate::system::digest::Id;
use crate::system::whole_file;

/// A fact of the host, or the reason why it is unknown: a clause that names the file. Code that
/// cannot read a fact passes the reason on, and assumes no default.
pub(crate) type Fact<T> = Result<T, String>;

/// Reads facts below a root folder: `/` in a sweep, a mock host's folder in tests.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
}

/// Folder in which the kernel shows its CPUs.
pub(crate) const CPUS: &str = "sys/devices/system/cpu";

/// Position of the stolen time among the numbers of `/proc/stat`.
const STEAL: usize = 7;

/// Longest file that is read as a fact. `/proc/cpuinfo` of a thousand CPUs has about 2 MiB; a
/// longer file is not from the kernel.
pub(crate) const LONGEST: u64 = 16 << 20;

/// CPU numbers in lists are below this: more than any kernel supports.
const CPU_NUMBERS: usize = 1 << 16;

/// Vendors that firmware names on virtual machines.
const VIRTUAL_VENDORS: [&str; 15] = [
    "Amazon EC2",
    "Apple Virtualization",
    "Bochs",
    "BHYVE",
    "Google Compute Engine",
    "Hyper-V",
    "KubeVirt",
    "KVM",
    "OpenStack",
    "Parallels",
    "QEMU",
    "VirtualBox",
    "VMware",
    "Virtual Machine", // Hyper-V uses this product name
    "Xen",
];

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

    /// Whether files of the running system are read, and not those of a mock host.
    pub(crate) fn is_system(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The path of a file of this host.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Reads a file, without white space around its text.
    pub(crate) fn read(&self, path: &str) -> Fact<String> {
        read_text(&self.path(path)).map_err(|reason| format!("/{path} {reason}"))
    }

    /// Whether a file exists. If the kernel does not let this process look, that is unknown.
    pub(crate) fn is_there(&self, path: &str) -> Fact<bool> {
        is_there(&self.path(path)).map_err(|reason| format!("/{path} {reason}"))
    }

    /// A number in a file.
    pub(crate) fn number(&self, path: &str) -> Fact<u64> {
        let text = self.read(path)?;
        text.parse()
            .map_err(|_| format!("/{path} says `{}`, which is not a number", start_of(&text)))
    }

    /// A switch that a file shows as 0 or 1.
    pub(crate) fn flag(&self, path: &str) -> Fact<bool> {
        match &*self.read(path)? {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(format!("/{path} says neither 0 nor 1")),
        }
    }

    /// The CPUs that a file lists.
    pub(crate) fn cpus_in(&self, path: &str) -> Fact<Vec<usize>> {
        let text = self.read(path)?;
        cpu_list(&text).ok_or_else(|| {
            format!(
                "/{path} says `{}`, which is not a list of CPUs",
                start_of(&text)
            )
        })
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
    ///
    /// Unknown in a container that does not see the host's processes: only the host's process 2 is
    /// `kthreadd`.
    pub(crate) fn processes(&self) -> Fact<Vec<(String, String)>> {
        let file = "proc/2/comm";
        let second = self.read(file)?;
        if second != "kthreadd" {
            return Err(format!(
                "/{file} is `{}`, as in a container that does not see the host's processes",
                start_of(&second)
            ));
        }
        let numbers = self.names_in("proc").into_iter();
        Ok(numbers
            .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
            .filter_map(|number| {
                let name = self.read(&format!("proc/{number}/comm")).ok()?;
                Some((number, name))
            })
            .collect())
    }

    /// Returns the evidence of a hypervisor beneath; `None` if the CPU shows that there is none.
    pub(crate) fn hypervisor(&self) -> Fact<Option<String>> {
        let flags = self.cpu_field("flags");
        if flags
            .as_ref()
            .is_ok_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"))
        {
            return Ok(Some("/proc/cpuinfo: `flags` has `hypervisor`".to_owned()));
        }
        let product = "sys/class/dmi/id/product_name";
        // Clouds also rent machines without a hypervisor, and this name says so.
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
        // Only x86 has these flags, and there every hypervisor sets the one above.
        flags.map(|_| None).map_err(|_| {
            "/proc/cpuinfo has no `flags`, in which x86 shows it, and firmware names none"
                .to_owned()
        })
    }

    /// Whether a hypervisor runs beneath.
    pub(crate) fn is_virtual(&self) -> Fact<bool> {
        self.hypervisor().map(|sign| sign.is_some())
    }

    /// CPUs that are online and that the scheduler gives to this process.
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

    /// Short hash that identifies this machine in folder names, without revealing anything about
    /// it.
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

    /// Whether `/proc/cpuinfo` names the processor by a model name, as on x86, and not by numbers,
    /// as on ARM.
    fn is_named_as_on_x86(&self) -> bool {
        self.cpu_field("CPU implementer").is_err()
    }

    /// The fields of `/proc/cpuinfo` that say which processor this is.
    pub(crate) fn processor_fields(&self) -> &'static [&'static str] {
        if self.is_named_as_on_x86() {
            &[
                "vendor_id",
                "model name",
                "cpu family",
                "model",
                "stepping",
                "microcode",
                "flags",
            ]
        } else {
            &[
                "model name",
                "CPU implementer",
                "CPU architecture",
                "CPU variant",
                "CPU part",
                "CPU revision",
                "Features",
            ]
        }
    }

    /// CPUs this process may use, by affinity and CPU quota; at least 1.
    pub(crate) fn usable_cpus() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Whether a process may fence for all its threads, as pools with lazy job sharing do.
    /// Otherwise their fences are full ones.
    pub(crate) fn has_membarrier() -> bool {
        membarrier_query().contains_command(MembarrierCommand::PrivateExpedited)
    }

    /// Physical cores of the CPUs that may be used.
    pub(crate) fn cores(&self) -> Fact<usize> {
        let cpus = self.allowed_cpus()?.into_iter();
        let cores: Fact<BTreeSet<String>> = cpus.map(|cpu| self.core_of(cpu)).collect();
        cores.map(|cores| cores.len())
    }

    /// The physical core of a CPU: a text that its siblings share.
    pub(crate) fn core_of(&self, cpu: usize) -> Fact<String> {
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        // Core numbers may repeat from die to die; some kernels do not know them and show -1.
        for file in ["core_cpus_list", "thread_siblings_list"] {
            // A CPU is its own sibling, so a list without it is invalid.
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

    /// CPUs that are online.
    pub(crate) fn cpus(&self) -> Fact<Vec<usize>> {
        self.cpus_in(&format!("{CPUS}/online"))
    }

    /// One-minute load average.
    pub(crate) fn load(&self) -> Fact<f64> {
        let file = "proc/loadavg";
        let text = self.read(file)?;
        let mut words = text.split_whitespace();
        let load: Option<f64> = words.next().and_then(|word| word.parse().ok());
        // This process is a task, too, so a sandbox that shows 0 tasks does not count them.
        let tasks = words.nth(2).and_then(|tasks| tasks.split_once('/'));
        let has_task = tasks.is_some_and(|(_, all)| all.parse().is_ok_and(|all: u64| all > 0));
        load.filter(|load| load.is_finite() && *load >= 0.0 && has_task)
            .ok_or_else(|| format!("/{file} says `{}`, which is not a load", start_of(&text)))
    }

    /// Time stolen by the hypervisor from all CPUs since boot, in nanoseconds.
    pub(crate) fn steal_ns(&self) -> Fact<u64> {
        Ok(self.cpu_ns()?[STEAL])
    }

    /// Share of the CPUs' time since boot that the hypervisor gave to others.
    pub(crate) fn steal_share(&self) -> Fact<f64> {
        let ns = self.cpu_ns()?;
        let all: f64 = ns.iter().map(|ns| *ns as f64).sum();
        let share = ns[STEAL] as f64 / all;
        if share == 0.0 && self.is_virtual() != Ok(false) {
            return Err("/proc/stat counts none; some hypervisors do not report it".to_owned());
        }
        Ok(share)
    }

    /// user nice system idle iowait irq softirq steal of all CPUs since boot, in nanoseconds. The
    /// numbers after them are guests' time, which `user` and `nice` already contain.
    fn cpu_ns(&self) -> Fact<[u64; STEAL + 1]> {
        let file = "proc/stat";
        let text = self.read(file)?;
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
        let line = line.ok_or_else(|| format!("/{file} has no line `cpu`"))?;
        // The kernel adds nanoseconds in 64 bits, so a larger number is invalid. Counters that went
        // below zero look like that.
        let ns = |word: &str| word.parse::<u64>().ok()?.checked_mul(tick_ns);
        let counts: Option<Vec<u64>> = line.split_whitespace().take(STEAL + 1).map(ns).collect();
        let counts = counts.ok_or_else(|| {
            format!(
                "/{file} says `{}`, which counts no time",
                start_of(line.trim())
            )
        })?;
        if counts.iter().all(|count| *count == 0) {
            return Err(format!("/{file} counts no time at all"));
        }
        counts
            .try_into()
            .map_err(|_| format!("/{file} does not count stolen time"))
    }

    /// Whether the machine runs from its battery.
    pub(crate) fn is_on_battery(&self) -> Fact<bool> {
        let folder = "sys/class/power_supply";
        if !self.path(folder).is_dir() {
            return Err(format!("/{folder} is not there"));
        }
        let says = |name: &String, file: &str| {
            self.read(&format!("{folder}/{name}/{file}"))
                .unwrap_or_default()
        };
        let supplies = self.names_in(folder).into_iter();
        // A mouse also has a battery. A laptop may be powered by USB while its own supply is
        // unplugged.
        let (batteries, others): (Vec<String>, Vec<String>) = supplies
            .filter(|name| says(name, "scope") != "Device")
            .partition(|name| says(name, "type") == "Battery");
        if others.iter().any(|name| says(name, "online") == "1") {
            return Ok(false);
        }
        let status = |status| batteries.iter().any(|name| says(name, "status") == status);
        let is_unplugged = others
            .iter()
            .any(|name| says(name, "type") == "Mains" && says(name, "online") == "0");
        if is_unplugged || status("Discharging") {
            return Ok(true);
        }
        let is_fed = ["Charging", "Full", "Not charging"].into_iter().any(status);
        if is_fed || (batteries.is_empty() && others.is_empty()) {
            return Ok(false);
        }
        Err(format!("/{folder} does not show it"))
    }

    /// The value of a field of a file with lines as `name: value`, the first of that name.
    pub(crate) fn field(&self, path: &str, name: &str) -> Fact<String> {
        let text = self.read(path)?;
        let mut fields = text.lines().filter_map(|line| line.split_once(':'));
        let field = fields.find(|(key, _)| key.trim() == name);
        let value = field.map(|(_, value)| value.trim().to_owned());
        value
            .filter(|value| !value.is_empty())
            .ok_or_else(|| format!("/{path} has no `{name}`"))
    }

    /// A field of the first processor.
    pub(crate) fn cpu_field(&self, name: &str) -> Fact<String> {
        self.field("proc/cpuinfo", name)
    }
}

/// Whether a file exists; or the reason why that is unknown, as a clause that continues after the
/// file's name.
pub(crate) fn is_there(path: &Path) -> Fact<bool> {
    path.try_exists()
        .map_err(|error| format!("cannot be read: {error}"))
}

/// Reads a file, without white space around its text; or returns why it cannot be read, as a clause
/// that continues after the file's name.
pub(crate) fn read_text(path: &Path) -> Fact<String> {
    let cannot = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "is not there".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    let mut bytes = Vec::new();
    let file = whole_file::open(path, OpenOptions::new().read(true)).map_err(cannot)?;
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() as u64 > LONGEST {
        return Err("is too long for a file of the kernel".to_owned());
    }
    let text = String::from_utf8(bytes).ok();
    let is_text = |text: &String| !text.contains(|it: char| it.is_control() && !it.is_whitespace());
    let text = text.filter(is_text).ok_or("is not text")?;
    Ok(text.trim().to_owned())
}

/// The start of a file's text, short enough for a message.
pub(crate) fn start_of(text: &str) -> String {
    const ROOM: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    let mut start: String = line.chars().take(ROOM).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

/// `0-2,5` as numbers; `None` if it is anything else.
pub(crate) fn cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim) {
        if part.is_empty() && text.trim().is_empty() {
            break;
        }
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last >= CPU_NUMBERS {
            return None;
        }
        cpus.extend(first..=last);
        if cpus.len() > CPU_NUMBERS {
            return None;
        }
    }
    Some(cpus)
}

/// Numbers as `0-2,5`.
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

    /// Four CPUs of two cores.
    fn mock() -> MockRoot {
        let root = MockRoot::new(&[
            (
                "proc/stat",
                "cpu  1 2 3 4 5 6 7 250 0 0\ncpu0 0 0 0 0 0 0 0 9 0 0",
            ),
            ("proc/loadavg", "0.75 0.5 0.25 1/100 1234"),
            (
                "proc/cpuinfo",
                "model name\t: Mock 9000\nflags\t\t: fpu hypervisor",
            ),
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
    fn cores_are_those_of_the_cpus_that_may_be_used_and_are_online() {
        let of_all = |file: &str, says: fn(usize) -> String| {
            let root = mock();
            for cpu in 0..4 {
                root.write(&format!("{CPUS}/cpu{cpu}/topology/{file}"), &says(cpu));
            }
            root.host().cores()
        };
        assert_eq!(mock().host().cores(), Ok(2));
        // Core numbers repeat from die to die; a kernel may have only lists of siblings.
        assert_eq!(of_all("die_id", |cpu| (cpu % 2).to_string()), Ok(4));
        assert_eq!(of_all("thread_siblings_list", |cpu| cpu.to_string()), Ok(4));
        // Lists without the CPU itself are invalid.
        for file in ["core_cpus_list", "thread_siblings_list"] {
            assert_eq!(of_all(file, |_| String::new()), Ok(2));
            assert_eq!(of_all(file, |_| "9".to_owned()), Ok(2));
            assert_eq!(of_all(file, |_| "all".to_owned()), Ok(2));
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
        let root = mock();
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
            id("model name\t: AMD EPYC\ncpu family\t: 25"),
            id("model name\t: AMD EPYC\ncpu family\t: 26"),
            id("CPU implementer\t: 0x41\nCPU part\t: 0xd0c"),
            id("CPU implementer\t: 0x41\nCPU part\t: 0xd40"),
            MockRoot::new(&[]).host().id(),
        ];
        assert_eq!(BTreeSet::from(ids.clone()).len(), 5);
        assert!(ids.iter().all(|id| id.len() == 6));
        assert_eq!(id("model name\t: AMD EPYC\ncpu family\t: 25"), ids[0]);
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
        let reason = |bytes: &[u8]| {
            fs::write(root.host().path("proc/loadavg"), bytes).unwrap();
            root.host().read("proc/loadavg").unwrap_err()
        };
        assert_eq!(reason(b"\x1b[2J"), "/proc/loadavg is not text");
        assert_eq!(reason(&[0xff]), "/proc/loadavg is not text");
        let long = vec![b'1'; usize::try_from(LONGEST).unwrap() + 1];
        assert!(reason(&long).contains("too long"));
        // Reading a pipe must not wait.
        let path = root.host().path("proc/loadavg");
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let reason = root.host().read("proc/loadavg").unwrap_err();
        assert_eq!(reason, "/proc/loadavg cannot be read: not a regular file");
    }
}
