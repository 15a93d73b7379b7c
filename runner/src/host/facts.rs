//! The facts of `host.json`, as the system prints them; no fact identifies the machine's owner.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{CPUS, Fact, Host, kernel_options};

/// Collects facts. A fact that the system does not show is `null`, with the reason in `missing`.
struct Facts<'a> {
    host: &'a Host,
    missing: Map<String, Value>,
}

impl Host {
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

    fn named(&mut self, group: &str, files: &[(&str, &str)]) -> Value {
        let fact = |(key, path): &(&str, &str)| {
            let fact = self.file(&format!("{group}.{key}"), path);
            ((*key).to_owned(), fact)
        };
        Value::Object(files.iter().map(fact).collect())
    }

    fn files(&mut self, group: &str, folder: &str, names: &[&str]) -> Value {
        let paths: Vec<String> = names.iter().map(|it| format!("{folder}/{it}")).collect();
        let files = names.iter().copied().zip(paths.iter().map(String::as_str));
        self.named(group, &files.collect::<Vec<_>>())
    }

    fn all_in(&self, folder: &str, place: &str) -> Value {
        let text = |name: String| {
            let text = self.host.read(&format!("{folder}/{name}{place}"));
            Some((name, text.ok()?.into()))
        };
        let names = self.host.names_in(folder).into_iter();
        Value::Object(names.filter_map(text).collect())
    }

    fn first_cpu(&self) -> usize {
        let online = self.host.cpus().unwrap_or_default();
        online.first().copied().unwrap_or(0)
    }

    fn cpu(&mut self) -> Value {
        let mut cpu = self.named(
            "cpu",
            &[
                ("system_vendor", "sys/class/dmi/id/sys_vendor"),
                ("system_product", "sys/class/dmi/id/product_name"),
                ("hypervisor", "sys/hypervisor/type"),
            ],
        );
        let fields = if self.host.is_named_as_on_x86() {
            OF_X86
        } else {
            OF_ARM
        };
        for name in fields {
            let key = name.to_lowercase().replace(' ', "_");
            cpu[&key] = self.note(&format!("cpu.{key}"), self.host.cpu_field(name));
        }
        cpu["is_virtual"] = self.note("cpu.is_virtual", self.host.is_virtual());
        cpu
    }

    fn topology(&mut self) -> Value {
        let names = ["online", "possible", "isolated", "nohz_full"];
        let mut topology = self.files("topology", CPUS, &names);
        let smt = format!("{CPUS}/smt");
        topology["smt"] = self.files("topology.smt", &smt, &["control", "active"]);
        let mut cpus = Map::new();
        for cpu in self.host.cpus().unwrap_or_default() {
            let folder = format!("{CPUS}/cpu{cpu}");
            let names = [
                "physical_package_id",
                "die_id",
                "cluster_id",
                "core_id",
                "thread_siblings_list",
                "core_cpus_list",
            ];
            // If a fact is missing, `missing` has one entry for all CPUs: the reason of the last
            // CPU.
            let mut facts = self.files("topology.cpus", &format!("{folder}/topology"), &names);
            let capacity = format!("{folder}/cpu_capacity");
            facts["capacity"] = self.file("topology.cpus.capacity", &capacity);
            let shared = self.all_in(&format!("{folder}/cache"), "/shared_cpu_list");
            let shared = shared.as_object().and_then(|shared| {
                let mut of_last = shared.iter().rev();
                of_last.find(|(name, _)| name.starts_with("index"))
            });
            facts["last_cache_shared_by"] = json!(shared.map(|(_, cpus)| cpus));
            cpus.insert(cpu.to_string(), facts);
        }
        topology["cpus"] = Value::Object(cpus);
        let mut caches = Map::new();
        let first = self.first_cpu();
        for index in 0..8 {
            let folder = format!("{CPUS}/cpu{first}/cache/index{index}");
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
            let cache = self.files("topology.cache", &folder, &names);
            caches.insert(index.to_string(), cache);
        }
        topology[format!("caches_of_cpu{first}")] = Value::Object(caches);
        topology["numa_nodes"] = self.file("topology.numa", "sys/devices/system/node/online");
        topology["numa_distances"] = self.all_in("sys/devices/system/node", "/distance");
        topology
    }

    fn frequency(&mut self) -> Value {
        let policy = format!("{CPUS}/cpu{}/cpufreq", self.first_cpu());
        if !self.host.path(&policy).exists() {
            let reason = format!("/{policy} does not exist: the host shows no frequency control");
            return self.note("frequency", Fact::<String>::Err(reason));
        }
        let mut frequency = self.files("frequency", &policy, &OF_POLICY);
        frequency["policies"] = self.policies();
        frequency["boost"] = self.file("frequency.boost", &format!("{CPUS}/cpufreq/boost"));
        for (driver, names) in [
            (
                "intel_pstate",
                &[
                    "status",
                    "no_turbo",
                    "hwp_dynamic_boost",
                    "min_perf_pct",
                    "max_perf_pct",
                ][..],
            ),
            ("amd_pstate", &["status", "prefcore"]),
        ] {
            let (group, folder) = (format!("frequency.{driver}"), format!("{CPUS}/{driver}"));
            frequency[driver] = self.files(&group, &folder, names);
        }
        frequency
    }

    fn policies(&self) -> Value {
        let base = format!("{CPUS}/cpufreq");
        let mut alike: BTreeMap<[Option<String>; 11], Vec<String>> = BTreeMap::new();
        for policy in self.host.names_in(&base) {
            let read = |name: &str| self.host.read(&format!("{base}/{policy}/{name}")).ok();
            if let Some(cpus) = read("affected_cpus") {
                alike.entry(OF_POLICY.map(read)).or_default().push(cpus);
            }
        }
        let groups = alike.into_iter().map(|(values, cpus)| {
            let names = OF_POLICY.iter().map(|name| (*name).to_owned());
            let mut group: Map<String, Value> =
                names.zip(values.into_iter().map(Value::from)).collect();
            group.insert("cpus_of_each".to_owned(), json!(cpus));
            Value::Object(group)
        });
        groups.collect()
    }

    fn idle(&mut self) -> Value {
        let names = ["current_driver", "current_governor"];
        let mut idle = self.files("idle", &format!("{CPUS}/cpuidle"), &names);
        let mut states = Map::new();
        let first = self.first_cpu();
        for state in 0..16 {
            let folder = format!("{CPUS}/cpu{first}/cpuidle/state{state}");
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
        let mut memory = self.named(
            "memory",
            &[
                (
                    "transparent_hugepage",
                    "sys/kernel/mm/transparent_hugepage/enabled",
                ),
                (
                    "transparent_hugepage_defrag",
                    "sys/kernel/mm/transparent_hugepage/defrag",
                ),
                ("overcommit", "proc/sys/vm/overcommit_memory"),
                ("numa_balancing", "proc/sys/kernel/numa_balancing"),
                ("swappiness", "proc/sys/vm/swappiness"),
            ],
        );
        for (key, field) in [("total", "MemTotal"), ("swap", "SwapTotal")] {
            let size = self.host.field("proc/meminfo", field);
            memory[key] = self.note(&format!("memory.{key}"), size);
        }
        memory["page_bytes"] = rustix::param::page_size().into();
        memory
    }

    fn kernel(&mut self) -> Value {
        let clock = "sys/devices/system/clocksource/clocksource0";
        let mut kernel = self.named(
            "kernel",
            &[
                ("osrelease", "proc/sys/kernel/osrelease"),
                ("version", "proc/sys/kernel/version"),
                ("randomize_va_space", "proc/sys/kernel/randomize_va_space"),
                ("nmi_watchdog", "proc/sys/kernel/nmi_watchdog"),
                ("sched_ext", "sys/kernel/sched_ext/state"),
                ("autogroup", "proc/sys/kernel/sched_autogroup_enabled"),
                ("clocksource", &format!("{clock}/current_clocksource")),
                ("clocksources", &format!("{clock}/available_clocksource")),
            ],
        );
        kernel["timer_slack_ns"] = self.file("kernel.timer_slack", "proc/self/timerslack_ns");
        kernel["membarrier"] = Value::Bool(Host::has_membarrier());
        let line = self.host.read("proc/cmdline");
        let options = line.map(|line| kernel_options::timing(&line));
        kernel["command_line"] = self.note("kernel.command_line", options);
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
            let tightest = files
                .first()
                .ok_or("no control group counts throttled periods")?;
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

const OF_X86: [&str; 7] = [
    "vendor_id",
    "model name",
    "cpu family",
    "model",
    "stepping",
    "microcode",
    "flags",
];
const OF_ARM: [&str; 7] = [
    "model name",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "CPU revision",
    "Features",
];

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

fn libc_version() -> Fact<String> {
    let mut getconf = std::process::Command::new("getconf");
    let output = getconf.arg("GNU_LIBC_VERSION").output();
    let output = output.map_err(|error| format!("getconf: {error}"))?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "" => Err("getconf names no GNU libc".to_owned()),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::testing::MockRoot;

    #[test]
    fn facts_that_cannot_be_read_are_null_with_the_reason() {
        let root = MockRoot::new(&[("proc/cpuinfo", "processor\t: 0\nFeatures\t: fp")]);
        let facts = root.host().facts();
        for (place, reason) in [
            ("/cores", "/proc/self/status is not there"),
            ("/cpu/is_virtual", "/proc/cpuinfo has no `flags`"),
            ("/frequency", "no frequency control"),
            ("/limits/throttled_ns", "cgroup is not there"),
        ] {
            assert!(facts.pointer(place).unwrap().is_null(), "{place}: {facts}");
            let name = place[1..].replace('/', ".");
            let said = facts["missing"][&name].as_str().unwrap();
            assert!(said.contains(reason), "{name}: {said}");
        }
    }

    #[test]
    fn facts_have_the_places_where_results_keep_them() {
        // CPU 0 is offline.
        let cpu = |cpu: usize, file: &str| format!("{CPUS}/cpu{cpu}/{file}");
        let policy = |number: usize, file: &str| format!("{CPUS}/cpufreq/policy{number}/{file}");
        let root = MockRoot::new(&[
            ("proc/cmdline", "root=UUID=12-34 mitigations=off host=mine"),
            ("proc/cpuinfo", "model name\t: X\nflags\t: hypervisor"),
            ("proc/self/cgroup", "0::/job"),
            ("proc/self/status", "Cpus_allowed_list:\t0,2"),
            ("sys/fs/cgroup/job/cpu.max", "150000 100000"),
            ("sys/fs/cgroup/job/cpuset.cpus.effective", "0-3"),
            ("sys/devices/system/cpu/online", "2-4"),
            ("sys/devices/system/node/node0/distance", "10 21"),
            (&cpu(2, "cpufreq/scaling_driver"), "acpi-cpufreq"),
            (&cpu(2, "cache/index0/level"), "1"),
            (&cpu(2, "cache/index3/shared_cpu_list"), "2-3"),
            (&cpu(2, "cpuidle/state0/name"), "POLL"),
            (&cpu(3, "topology/core_id"), "7"),
            // Policies with the same content share one entry, with all their CPUs.
            (&policy(2, "affected_cpus"), "2"),
            (&policy(2, "scaling_governor"), "powersave"),
            (&policy(3, "affected_cpus"), "3"),
            (&policy(3, "scaling_governor"), "powersave"),
        ]);
        let facts = root.host().facts();
        for (place, fact) in [
            ("/kernel/command_line", json!("mitigations=off")),
            ("/cpu/model_name", json!("X")),
            ("/cpu/is_virtual", json!(true)),
            ("/limits/cpu_max", json!("150000 100000")),
            ("/limits/quota_cpus", json!(1.5)),
            ("/limits/cpuset", json!("0-3")),
            ("/limits/cpus_allowed", json!([2])),
            ("/frequency/scaling_driver", json!("acpi-cpufreq")),
            ("/frequency/policies/0/cpus_of_each", json!(["2", "3"])),
            ("/topology/caches_of_cpu2/0/level", json!("1")),
            ("/topology/cpus/2/last_cache_shared_by", json!("2-3")),
            ("/topology/cpus/3/core_id", json!("7")),
            ("/topology/numa_distances/node0", json!("10 21")),
            ("/idle/states_of_cpu2/POLL/desc", Value::Null),
        ] {
            assert_eq!(facts.pointer(place), Some(&fact), "{place}: {facts}");
        }
    }
}
