//! The facts of `host.json`, as the system prints them: nothing here tells whose machine it is.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{CPUS, Fact, Host, kernel_options};

/// Facts as they are collected; what the system does not show is `null`, with the reason beside it.
struct Facts<'a> {
    host: &'a Host,
    missing: Map<String, Value>,
}

impl Host {
    /// All facts, for `host.json`.
    pub(crate) fn facts(&self) -> Value {
        let mut facts = Facts {
            host: self,
            missing: Map::new(),
        };
        let mut all = json!({
            "id": self.id(),
            "cpus_usable": Self::usable_cpus(),
            "cores": facts.note("cores", self.cores()),
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
    fn note<T: Into<Value>>(&mut self, name: &str, fact: Fact<T>) -> Value {
        match fact {
            Ok(fact) => fact.into(),
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

    /// Reads the file `place` below each name in a folder, by name, as far as it can be read.
    fn all_in(&self, folder: &str, place: &str) -> Value {
        let names = self.host.names_in(folder).into_iter();
        let text = |name: String| {
            Some((
                name.clone(),
                self.host
                    .read(&format!("{folder}/{name}{place}"))
                    .ok()?
                    .into(),
            ))
        };
        Value::Object(names.filter_map(text).collect())
    }

    /// A CPU that stands for all in what is the same for all: the first that is online.
    fn first_cpu(&self) -> usize {
        let online = self.host.cpus().unwrap_or_default();
        online.first().copied().unwrap_or(0)
    }

    fn cpu(&mut self) -> Value {
        let mut cpu = Map::new();
        for name in self.host.processor_fields() {
            let fact = self.host.cpu_field(name);
            let key = name.to_lowercase().replace(' ', "_");
            let fact = self.note(&format!("cpu.{key}"), fact);
            cpu.insert(key, fact);
        }
        let is_virtual = self.note("cpu.is_virtual", self.host.is_virtual());
        cpu.insert("is_virtual".to_owned(), is_virtual);
        for (key, path) in [
            ("system_vendor", "sys/class/dmi/id/sys_vendor"),
            ("system_product", "sys/class/dmi/id/product_name"),
            ("hypervisor", "sys/hypervisor/type"),
        ] {
            let fact = self.file(&format!("cpu.{key}"), path);
            cpu.insert(key.to_owned(), fact);
        }
        Value::Object(cpu)
    }

    fn topology(&mut self) -> Value {
        let base = CPUS;
        let mut topology = self.files(
            "topology",
            base,
            &["online", "possible", "isolated", "nohz_full"],
        );
        topology["smt"] = self.files(
            "topology.smt",
            &format!("{base}/smt"),
            &["control", "active"],
        );
        let mut cpus = Map::new();
        for cpu in self.host.cpus().unwrap_or_default() {
            let folder = format!("{base}/cpu{cpu}");
            let names = [
                "physical_package_id",
                "die_id",
                "cluster_id",
                "core_id",
                "thread_siblings_list",
                "core_cpus_list",
            ];
            // The reasons are the same for all CPUs.
            let mut facts = self.files("topology.cpus", &format!("{folder}/topology"), &names);
            let capacity = format!("{folder}/cpu_capacity");
            facts["capacity"] = self.file("topology.cpus.capacity", &capacity);
            let last_cache = self
                .host
                .names_in(&format!("{folder}/cache"))
                .into_iter()
                .rev();
            let shared = last_cache
                .filter(|name| name.starts_with("index"))
                .find_map(|name| {
                    self.host
                        .read(&format!("{folder}/cache/{name}/shared_cpu_list"))
                        .ok()
                });
            facts["last_cache_shared_by"] = json!(shared);
            cpus.insert(cpu.to_string(), facts);
        }
        topology["cpus"] = Value::Object(cpus);
        let mut caches = Map::new();
        let first = self.first_cpu();
        for index in 0..8 {
            let folder = format!("{base}/cpu{first}/cache/index{index}");
            if self.host.read(&format!("{folder}/level")).is_err() {
                break; // the caches are numbered without gaps
            }
            let names = [
                "level",
                "type",
                "size",
                "coherency_line_size",
                "shared_cpu_list",
            ];
            caches.insert(
                index.to_string(),
                self.files("topology.cache", &folder, &names),
            );
        }
        topology[format!("caches_of_cpu{first}")] = Value::Object(caches);
        topology["numa_nodes"] = self.file("topology.numa", "sys/devices/system/node/online");
        topology["numa_distances"] = self.all_in("sys/devices/system/node", "/distance");
        topology
    }

    fn frequency(&mut self) -> Value {
        let base = CPUS;
        let policy = format!("{base}/cpu{}/cpufreq", self.first_cpu());
        if !self.host.path(&policy).exists() {
            let reason = format!("/{policy} does not exist: the host shows no frequency control");
            return self.note("frequency", Fact::<String>::Err(reason));
        }
        let mut frequency = self.files("frequency", &policy, &OF_POLICY);
        frequency["policies"] = self.policies();
        frequency["boost"] = self.file("frequency.boost", &format!("{base}/cpufreq/boost"));
        let pstate = [
            "status",
            "no_turbo",
            "hwp_dynamic_boost",
            "min_perf_pct",
            "max_perf_pct",
        ];
        frequency["intel_pstate"] = self.files(
            "frequency.intel_pstate",
            &format!("{base}/intel_pstate"),
            &pstate,
        );
        frequency["amd_pstate"] = self.files(
            "frequency.amd_pstate",
            &format!("{base}/amd_pstate"),
            &["status", "prefcore"],
        );
        frequency
    }

    /// All policies; equal ones share one entry, with the CPUs of each.
    fn policies(&self) -> Value {
        let base = format!("{CPUS}/cpufreq");
        let mut alike: BTreeMap<Vec<Option<String>>, Vec<String>> = BTreeMap::new();
        for policy in self.host.names_in(&base) {
            let read = |name: &str| self.host.read(&format!("{base}/{policy}/{name}")).ok();
            let Some(cpus) = read("affected_cpus") else {
                continue;
            };
            alike
                .entry(OF_POLICY.map(read).to_vec())
                .or_default()
                .push(cpus);
        }
        let groups = alike.into_iter().map(|(values, cpus)| {
            let mut group: Map<String, Value> = OF_POLICY
                .iter()
                .map(|name| (*name).to_owned())
                .zip(values.into_iter().map(Value::from))
                .collect();
            group.insert("cpus_of_each".to_owned(), json!(cpus));
            Value::Object(group)
        });
        groups.collect()
    }

    fn idle(&mut self) -> Value {
        let base = CPUS;
        let names = ["current_driver", "current_governor"];
        let mut idle = self.files("idle", &format!("{base}/cpuidle"), &names);
        let mut states = Map::new();
        let first = self.first_cpu();
        for state in 0..16 {
            let folder = format!("{base}/cpu{first}/cpuidle/state{state}");
            let Ok(name) = self.host.read(&format!("{folder}/name")) else {
                break;
            };
            let names = ["desc", "latency", "residency", "disable"];
            states.insert(name, self.files("idle.state", &folder, &names));
        }
        idle[format!("states_of_cpu{first}")] = Value::Object(states);
        idle
    }

    fn memory(&mut self) -> Value {
        let field = |name: &str| {
            let text = self.host.read("proc/meminfo")?;
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(|size| size.trim().to_owned())
                .ok_or_else(|| format!("no {name}"))
        };
        let (total, swap) = (field("MemTotal"), field("SwapTotal"));
        let pages = "sys/kernel/mm/transparent_hugepage";
        json!({
            "total": self.note("memory.total", total),
            "swap": self.note("memory.swap", swap),
            "page_bytes": rustix::param::page_size(),
            "transparent_hugepage":
                self.file("memory.transparent_hugepage", &format!("{pages}/enabled")),
            "transparent_hugepage_defrag":
                self.file("memory.transparent_hugepage_defrag", &format!("{pages}/defrag")),
            "overcommit": self.file("memory.overcommit", "proc/sys/vm/overcommit_memory"),
            "numa_balancing": self.file("memory.numa_balancing", "proc/sys/kernel/numa_balancing"),
            "swappiness": self.file("memory.swappiness", "proc/sys/vm/swappiness"),
        })
    }

    fn kernel(&mut self) -> Value {
        let mut kernel = self.files(
            "kernel",
            "proc/sys/kernel",
            &["osrelease", "version", "randomize_va_space", "nmi_watchdog"],
        );
        kernel["membarrier"] = Value::Bool(Host::has_membarrier());
        kernel["sched_ext"] = self.file("kernel.sched_ext", "sys/kernel/sched_ext/state");
        kernel["timer_slack_ns"] = self.file("kernel.timer_slack", "proc/self/timerslack_ns");
        kernel["autogroup"] = self.file(
            "kernel.autogroup",
            "proc/sys/kernel/sched_autogroup_enabled",
        );
        let command_line = self
            .host
            .read("proc/cmdline")
            .map(|line| kernel_options::timing(&line));
        kernel["command_line"] = self.note("kernel.command_line", command_line);
        let clock = "sys/devices/system/clocksource/clocksource0";
        kernel["clocksource"] = self.file(
            "kernel.clocksource",
            &format!("{clock}/current_clocksource"),
        );
        kernel["clocksources"] = self.file(
            "kernel.clocksources",
            &format!("{clock}/available_clocksource"),
        );
        kernel["mitigations"] = self.all_in(&format!("{CPUS}/vulnerabilities"), "");
        kernel
    }

    fn limits(&mut self) -> Value {
        let host = self.host;
        let quota = host.cpu_quotas().and_then(|quotas| {
            let none = || "no control group that this process can see limits it".to_owned();
            quotas.into_iter().next().ok_or_else(none)
        });
        let throttled = host.throttle_files().and_then(|files| {
            let tightest = files.first().ok_or("no control group counts it")?;
            host.throttled(tightest)
        });
        json!({
            "cpu_max": self.note("limits.cpu_max", quota.clone().map(|it| it.printed)),
            "quota_cpus": quota.ok().map(|it| it.cpus),
            "throttled_periods": throttled.as_ref().ok().map(|it| it.periods),
            "throttled_ns": self.note("limits.throttled_ns", throttled.map(|it| it.ns)),
            "memory_max": self.note("limits.memory_max", host.memory_limit()),
            "cpuset": self.note("limits.cpuset", host.group_cpus()),
            "cpus_allowed": self.note("limits.cpus_allowed", host.allowed_cpus()),
            "load_average": self.file("limits.load_average", "proc/loadavg"),
            "uptime": self.file("limits.uptime", "proc/uptime"),
            "steal_share": self.note("limits.steal_share", host.steal_share()),
            "on_battery": self.note("limits.on_battery", host.is_on_battery()),
            "libc": self.note("limits.libc", libc_version()),
        })
    }
}

/// The files of a policy that describe its CPUs' frequency.
const OF_POLICY: [&str; 11] = [
    "scaling_driver",
    "scaling_governor",
    "scaling_available_governors",
    "scaling_min_freq",
    "scaling_max_freq",
    "cpuinfo_min_freq",
    "cpuinfo_max_freq",
    "cpuinfo_transition_latency",
    "base_frequency",
    "energy_performance_preference",
    "boost",
];

fn libc_version() -> Result<String, String> {
    let output = std::process::Command::new("getconf")
        .arg("GNU_LIBC_VERSION")
        .output()
        .map_err(|error| format!("getconf: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if text.is_empty() {
        Err("getconf names no GNU libc".to_owned())
    } else {
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::testing::MadeUp;

    #[test]
    fn whose_machine_it_is_is_not_recorded() {
        let root = MadeUp::new(&[("proc/cmdline", "root=UUID=12-34 quiet mitigations=off")]);
        let kernel = root.host().facts()["kernel"].take();
        assert_eq!(kernel["command_line"], "mitigations=off");
    }

    #[test]
    fn facts_that_cannot_be_read_are_null_with_the_reason() {
        let root = MadeUp::new(&[
            ("proc/self/status", "Name:\tx"),
            ("proc/stat", "cpu  1 0 1 1 0 0 0 18446744073709551610 0 0"),
            ("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp"),
        ]);
        let facts = root.host().facts();
        for place in [
            "/cores",
            "/cpu/is_virtual",
            "/limits/cpus_allowed",
            "/limits/steal_share",
            "/limits/on_battery",
            "/limits/throttled_ns",
            "/limits/cpu_max",
        ] {
            assert!(facts.pointer(place).unwrap().is_null(), "{place}: {facts}");
            let name = place[1..].replace('/', ".");
            assert!(facts["missing"][&name].is_string(), "{name}: {facts}");
        }
    }

    #[test]
    fn a_host_whose_cpu_0_is_offline_shows_what_another_cpu_shows() {
        let cpu = |file: &str| format!("sys/devices/system/cpu/cpu2/{file}");
        let root = MadeUp::new(&[
            ("sys/devices/system/cpu/online", "2-3"),
            (&cpu("cpufreq/scaling_driver"), "acpi-cpufreq"),
            (&cpu("cache/index0/level"), "1"),
            (&cpu("cpuidle/state0/name"), "POLL"),
        ]);
        let facts = root.host().facts();
        assert_eq!(facts["frequency"]["scaling_driver"], "acpi-cpufreq");
        assert_eq!(facts["topology"]["caches_of_cpu2"]["0"]["level"], "1");
        assert!(facts["idle"]["states_of_cpu2"]["POLL"].is_object());
    }

    #[test]
    fn policies_that_say_the_same_are_told_once_with_all_their_cpus() {
        let policy = |number: usize, file: &str| {
            format!("sys/devices/system/cpu/cpufreq/policy{number}/{file}")
        };
        let root = MadeUp::new(&[
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                "powersave",
            ),
            (&policy(0, "affected_cpus"), "0"),
            (&policy(0, "scaling_governor"), "powersave"),
            (&policy(1, "affected_cpus"), "1"),
            (&policy(1, "scaling_governor"), "powersave"),
            (&policy(4, "affected_cpus"), "4 5"),
            (&policy(4, "scaling_governor"), "performance"),
        ]);
        let policies = root.host().facts()["frequency"]["policies"].take();
        assert_eq!(policies.as_array().unwrap().len(), 2);
        assert_eq!(policies[0]["cpus_of_each"], json!(["4 5"]));
        assert_eq!(policies[0]["scaling_governor"], "performance");
        assert_eq!(policies[1]["cpus_of_each"], json!(["0", "1"]));
    }

    #[test]
    fn caches_and_siblings_are_told_for_every_cpu() {
        let cpu = |cpu: usize, file: &str| format!("sys/devices/system/cpu/cpu{cpu}/{file}");
        let root = MadeUp::new(&[
            ("sys/devices/system/cpu/online", "0-1"),
            (&cpu(0, "cache/index0/shared_cpu_list"), "0"),
            (&cpu(0, "cache/index3/shared_cpu_list"), "0-1"),
            (&cpu(1, "topology/core_id"), "7"),
            ("sys/devices/system/node/node0/distance", "10 21"),
        ]);
        let topology = root.host().facts()["topology"].take();
        assert_eq!(topology["cpus"]["0"]["last_cache_shared_by"], "0-1");
        assert_eq!(topology["cpus"]["1"]["core_id"], "7");
        assert_eq!(topology["numa_distances"]["node0"], "10 21");
    }

    #[test]
    fn limits_of_the_groups_around_the_runner_are_recorded() {
        let root = MadeUp::new(&[
            ("proc/self/cgroup", "0::/job"),
            ("sys/fs/cgroup/job/cpu.max", "150000 100000"),
            ("sys/fs/cgroup/job/cpuset.cpus.effective", "0-3"),
            ("proc/self/status", "Cpus_allowed_list:\t0,2"),
            ("sys/devices/system/cpu/online", "0-2"),
        ]);
        let limits = root.host().facts()["limits"].take();
        assert_eq!(
            (&limits["cpu_max"], &limits["quota_cpus"]),
            (&json!("150000 100000"), &json!(1.5))
        );
        assert_eq!(
            (&limits["cpuset"], &limits["cpus_allowed"]),
            (&json!("0-3"), &json!([0, 2]))
        );
    }
}
