//! The machine: what it is, once per sweep, and what can change from trial to trial.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::digest;

/// Reads facts below a root folder: `/` in a sweep, a made-up tree in tests.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
}

/// Facts as they are collected; what the system does not show is `null`, with the reason beside it.
struct Facts<'a> {
    host: &'a Host,
    missing: Map<String, Value>,
}

impl Default for Host {
    fn default() -> Self {
        Self { root: PathBuf::from("/") }
    }
}

impl Host {
    /// A host whose files lie below `root`.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn read(&self, path: &str) -> Result<String, String> {
        match fs::read_to_string(self.root.join(path)) {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(error) => Err(format!("/{path}: {error}")),
        }
    }

    /// Short hash that stands for this machine in folder names; tells nothing about it.
    #[must_use]
    pub fn id(&self) -> String {
        let machine = self
            .read("etc/machine-id")
            .or_else(|_| self.read("proc/sys/kernel/hostname"))
            .unwrap_or_default();
        let model = self.cpu_field("model name").unwrap_or_default();
        digest::identity(&("sweep-host", machine, model))[..6].to_owned()
    }

    /// CPUs this process may use, by affinity and CPU quota; at least 1.
    #[must_use]
    pub fn usable_cpus() -> usize {
        std::thread::available_parallelism().map_or(1, usize::from)
    }

    /// Physical cores; the number of usable CPUs where the topology is not shown.
    #[must_use]
    pub fn cores(&self) -> usize {
        let cores: BTreeSet<(String, String)> = self
            .cpus()
            .into_iter()
            .filter_map(|cpu| {
                let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
                let package = self.read(&format!("{topology}/physical_package_id")).ok()?;
                Some((package, self.read(&format!("{topology}/core_id")).ok()?))
            })
            .collect();
        if cores.is_empty() { Self::usable_cpus() } else { cores.len() }
    }

    fn cpus(&self) -> Vec<usize> {
        let online = self.read("sys/devices/system/cpu/online").unwrap_or_default();
        cpu_list(&online)
    }

    /// One-minute load average.
    #[must_use]
    pub fn load(&self) -> Option<f64> {
        self.read("proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
    }

    /// Time stolen by the hypervisor from all CPUs since boot, in nanoseconds.
    #[must_use]
    pub fn steal_ns(&self) -> Option<u64> {
        let stat = self.read("proc/stat").ok()?;
        // cpu user nice system idle iowait irq softirq steal …, in clock ticks
        let ticks: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
        Some(ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second()))
    }

    fn cpu_field(&self, name: &str) -> Result<String, String> {
        let text = self.read("proc/cpuinfo")?;
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find_map(|(key, value)| (key.trim() == name).then(|| value.trim().to_owned()))
            .ok_or_else(|| format!("/proc/cpuinfo has no `{name}`"))
    }

    /// All facts, for `host.json`.
    #[must_use]
    pub fn facts(&self) -> Value {
        let mut facts = Facts { host: self, missing: Map::new() };
        let mut all = json!({
            "id": self.id(),
            "cpus_usable": Self::usable_cpus(),
            "cores": self.cores(),
            "cpu": facts.cpu(),
            "topology": facts.topology(),
            "frequency": facts.frequency(),
            "idle": facts.idle(),
            "memory": facts.memory(),
            "kernel": facts.kernel(),
            "limits": facts.limits(),
        });
        all["missing"] = Value::Object(facts.missing);
        all
    }
}

impl Facts<'_> {
    /// The fact, or `null` and a note why.
    fn note(&mut self, name: &str, fact: Result<String, String>) -> Value {
        match fact {
            Ok(text) => Value::String(text),
            Err(reason) => {
                self.missing.insert(name.to_owned(), Value::String(reason));
                Value::Null
            }
        }
    }

    fn file(&mut self, name: &str, path: &str) -> Value {
        let fact = self.host.read(path);
        self.note(name, fact)
    }

    /// Several files of one folder, by name.
    fn files(&mut self, group: &str, folder: &str, names: &[&str]) -> Value {
        let pairs = names.iter().map(|name| {
            let fact = self.file(&format!("{group}.{name}"), &format!("{folder}/{name}"));
            ((*name).to_owned(), fact)
        });
        Value::Object(pairs.collect())
    }

    fn cpu(&mut self) -> Value {
        let mut cpu = Map::new();
        for name in
            ["vendor_id", "model name", "cpu family", "model", "stepping", "microcode", "flags"]
        {
            let fact = self.host.cpu_field(name);
            let key = name.replace(' ', "_");
            let fact = self.note(&format!("cpu.{key}"), fact);
            cpu.insert(key, fact);
        }
        let flags = cpu.get("flags").and_then(Value::as_str).unwrap_or_default();
        let is_virtual = flags.split(' ').any(|flag| flag == "hypervisor");
        cpu.insert("is_virtual".to_owned(), Value::Bool(is_virtual));
        let hypervisor = self.file("cpu.hypervisor", "sys/class/dmi/id/sys_vendor");
        cpu.insert("system_vendor".to_owned(), hypervisor);
        Value::Object(cpu)
    }

    fn topology(&mut self) -> Value {
        let base = "sys/devices/system/cpu";
        let mut topology = self.files("topology", base, &["online", "possible", "isolated"]);
        topology["smt"] =
            self.files("topology.smt", &format!("{base}/smt"), &["control", "active"]);
        let mut cpus = Map::new();
        for cpu in self.host.cpus() {
            let folder = format!("{base}/cpu{cpu}/topology");
            let names = ["physical_package_id", "die_id", "core_id", "thread_siblings_list"];
            cpus.insert(
                cpu.to_string(),
                self.files(&format!("topology.cpu{cpu}"), &folder, &names),
            );
        }
        topology["cpus"] = Value::Object(cpus);
        let mut caches = Map::new();
        for index in 0..8 {
            let folder = format!("{base}/cpu0/cache/index{index}");
            if self.host.read(&format!("{folder}/level")).is_err() {
                break; // the caches are numbered without gaps
            }
            let names = ["level", "type", "size", "coherency_line_size", "shared_cpu_list"];
            caches.insert(index.to_string(), self.files("topology.cache", &folder, &names));
        }
        topology["caches_of_cpu0"] = Value::Object(caches);
        topology["numa_nodes"] = self.file("topology.numa", "sys/devices/system/node/online");
        topology
    }

    fn frequency(&mut self) -> Value {
        let base = "sys/devices/system/cpu";
        let policy = format!("{base}/cpu0/cpufreq");
        if !self.host.root.join(&policy).exists() {
            let reason = format!("/{policy} does not exist: the host shows no frequency control");
            return self.note("frequency", Err(reason));
        }
        let names = [
            "scaling_driver",
            "scaling_governor",
            "scaling_available_governors",
            "scaling_min_freq",
            "scaling_max_freq",
            "cpuinfo_min_freq",
            "cpuinfo_max_freq",
            "base_frequency",
            "energy_performance_preference",
        ];
        let mut frequency = self.files("frequency", &policy, &names);
        frequency["boost"] = self.file("frequency.boost", &format!("{base}/cpufreq/boost"));
        let pstate = ["status", "no_turbo", "hwp_dynamic_boost"];
        frequency["intel_pstate"] =
            self.files("frequency.intel_pstate", &format!("{base}/intel_pstate"), &pstate);
        frequency
    }

    fn idle(&mut self) -> Value {
        let base = "sys/devices/system/cpu";
        let names = ["current_driver", "current_governor"];
        let mut idle = self.files("idle", &format!("{base}/cpuidle"), &names);
        let mut states = Map::new();
        for state in 0..16 {
            let folder = format!("{base}/cpu0/cpuidle/state{state}");
            let Ok(name) = self.host.read(&format!("{folder}/name")) else { break };
            states.insert(name, self.files("idle.state", &folder, &["latency", "disable"]));
        }
        idle["states_of_cpu0"] = Value::Object(states);
        idle
    }

    fn memory(&mut self) -> Value {
        let total = self.host.read("proc/meminfo").and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
            line.map(|size| size.trim().to_owned()).ok_or_else(|| "no MemTotal".to_owned())
        });
        json!({
            "total": self.note("memory.total", total),
            "transparent_hugepage":
                self.file("memory.transparent_hugepage", "sys/kernel/mm/transparent_hugepage/enabled"),
            "numa_balancing": self.file("memory.numa_balancing", "proc/sys/kernel/numa_balancing"),
            "swappiness": self.file("memory.swappiness", "proc/sys/vm/swappiness"),
        })
    }

    fn kernel(&mut self) -> Value {
        let mut kernel = self.files(
            "kernel",
            "proc/sys/kernel",
            &["osrelease", "version", "randomize_va_space"],
        );
        kernel["autogroup"] =
            self.file("kernel.autogroup", "proc/sys/kernel/sched_autogroup_enabled");
        let command_line = self.host.read("proc/cmdline").map(|line| kernel_arguments(&line));
        kernel["command_line"] = self.note("kernel.command_line", command_line);
        let clock = "sys/devices/system/clocksource/clocksource0";
        kernel["clocksource"] =
            self.file("kernel.clocksource", &format!("{clock}/current_clocksource"));
        let mut mitigations = Map::new();
        let folder = self.host.root.join("sys/devices/system/cpu/vulnerabilities");
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if let Ok(text) = fs::read_to_string(entry.path()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                mitigations.insert(name, Value::String(text.trim().to_owned()));
            }
        }
        kernel["mitigations"] = Value::Object(mitigations);
        kernel
    }

    fn limits(&mut self) -> Value {
        json!({
            "cpu_max": self.file("limits.cpu_max", "sys/fs/cgroup/cpu.max"),
            "memory_max": self.file("limits.memory_max", "sys/fs/cgroup/memory.max"),
            "cpuset": self.file("limits.cpuset", "sys/fs/cgroup/cpuset.cpus.effective"),
            "load_average": self.file("limits.load_average", "proc/loadavg"),
            "uptime": self.file("limits.uptime", "proc/uptime"),
            "libc": self.note("limits.libc", libc_version()),
        })
    }
}

fn libc_version() -> Result<String, String> {
    let output = std::process::Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .map_err(|error| format!("getconf: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if text.is_empty() { Err("getconf names no GNU libc".to_owned()) } else { Ok(text) }
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

/// The kernel's own words of its command line: which program it starts first, and with what
/// arguments, says nothing about time and may be nobody's business.
fn kernel_arguments(command_line: &str) -> String {
    let words = command_line.split_whitespace().take_while(|word| *word != "--");
    let own = words.filter(|word| !word.starts_with("init=") && !word.starts_with("rdinit="));
    own.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/stat", "cpu  1 2 3 4 5 6 7 250 0 0\ncpu0 0 0 0 0 0 0 0 9 0 0\n");
        write("proc/loadavg", "0.75 0.5 0.25 1/100 1234\n");
        write("proc/cpuinfo", "model name\t: Made Up 9000\nflags\t\t: fpu hypervisor\n");
        write("sys/devices/system/cpu/online", "0-3\n");
        for cpu in 0..4 {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            write(&format!("{folder}/physical_package_id"), "0\n");
            write(&format!("{folder}/core_id"), &format!("{}\n", cpu / 2));
        }
        root
    }

    #[test]
    fn the_first_program_and_its_arguments_are_not_recorded() {
        let line = "quiet mitigations=off init=/sbin/start -- --token secret";
        assert_eq!(kernel_arguments(line), "quiet mitigations=off");
    }

    #[test]
    fn siblings_count_as_one_core() {
        assert_eq!(Host::at(made_up().path()).cores(), 2);
    }

    #[test]
    fn load_and_steal_are_read_in_their_units() {
        let root = made_up();
        let host = Host::at(root.path());
        assert_eq!(host.load(), Some(0.75));
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!(host.steal_ns(), Some(250 * tick_ns));
    }

    #[test]
    fn what_is_not_shown_is_null_with_the_reason() {
        let root = made_up();
        let facts = Host::at(root.path()).facts();
        assert_eq!(facts["cpu"]["model_name"], "Made Up 9000");
        assert_eq!(facts["cpu"]["is_virtual"], true);
        assert!(facts["frequency"].is_null());
        assert!(facts["missing"]["frequency"].as_str().unwrap().contains("no frequency control"));
        assert!(facts["cpu"]["microcode"].is_null());
        assert_eq!(facts["missing"]["cpu.microcode"], "/proc/cpuinfo has no `microcode`");
    }

    #[test]
    fn a_host_without_files_still_has_an_identity_and_cpus() {
        let empty = tempfile::tempdir().unwrap();
        let host = Host::at(empty.path());
        assert_eq!(host.id().len(), 6);
        assert!(host.cores() >= 1);
        assert_eq!((host.load(), host.steal_ns()), (None, None));
    }

    #[test]
    fn cpu_lists_have_ranges_and_single_numbers() {
        assert_eq!(cpu_list("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(cpu_list(""), [0; 0]);
    }
}
