//! The control groups that this process is in, and what they allow it: CPU time, CPUs, memory.

use super::{Fact, Host, start_of};

/// A limit of the CPU time of a group of processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// How many CPUs' time the group may use.
    pub cpus: f64,
    /// As the system prints it: `50000 100000`, microseconds of each period.
    pub printed: String,
    /// File that says so, without the leading slash.
    pub file: String,
    /// File that counts how often it was used up.
    pub counts: String,
}

/// How often and how long a group was kept from running because its quota was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// Periods in which that happened.
    pub periods: u64,
    /// Time that its threads waited, in nanoseconds.
    pub ns: u64,
}

impl Host {
    /// The CPU quotas of the groups that this process is in, as far as it can see them, the
    /// tightest first.
    pub(crate) fn cpu_quotas(&self) -> Fact<Vec<Quota>> {
        let mut quotas = Vec::new();
        for folder in self.groups("cpu")? {
            let (new, old) = (
                format!("{folder}/cpu.max"),
                format!("{folder}/cpu.cfs_quota_us"),
            );
            let (file, printed, none) = if self.is_there(&new)? {
                let printed = self.read(&new)?;
                (new, printed, "max")
            } else if self.is_there(&old)? {
                let period = self.read(&format!("{folder}/cpu.cfs_period_us"))?;
                let printed = format!("{} {period}", self.read(&old)?);
                (old, printed, "-1")
            } else {
                // The outermost group has neither, nor has one without the controller.
                continue;
            };
            let cpus = quota(&file, &printed, none)?;
            quotas.extend(cpus.map(|cpus| Quota {
                cpus,
                printed,
                file,
                counts: format!("{folder}/cpu.stat"),
            }));
        }
        quotas.sort_by(|a, b| a.cpus.total_cmp(&b.cpus));
        Ok(quotas)
    }

    /// The tightest limit of memory in bytes; `None` if no group has one.
    pub(crate) fn memory_limit(&self) -> Fact<Option<u64>> {
        let mut tightest = None;
        for folder in self.groups("memory")? {
            let [new, old] =
                ["memory.max", "memory.limit_in_bytes"].map(|it| format!("{folder}/{it}"));
            let file = if self.is_there(&new)? {
                new
            } else if self.is_there(&old)? {
                old
            } else {
                // The outermost group has neither, nor has one without the controller.
                continue;
            };
            if self.read(&file)? == "max" {
                continue;
            }
            // The older interface prints a number near 2⁶³ where there is no limit.
            let limit = Some(self.number(&file)?).filter(|bytes| *bytes < 1 << 60);
            tightest = tightest.into_iter().chain(limit).min();
        }
        Ok(tightest)
    }

    /// The CPUs that this process's group may use, as the system prints them.
    pub(crate) fn group_cpus(&self) -> Fact<String> {
        let names = ["cpuset.cpus.effective", "cpuset.effective_cpus"];
        let mut folders = self.groups("cpuset")?.into_iter();
        let cpus = folders.find_map(|folder| {
            names
                .iter()
                .find_map(|it| self.read(&format!("{folder}/{it}")).ok())
        });
        cpus.ok_or_else(|| format!("no control group has {}", names[0]))
    }

    /// Returns the setting that keeps the scheduler from balancing threads over the CPUs of this
    /// process's group; `None` if there is no such setting.
    pub(crate) fn unbalanced_group(&self) -> Fact<Option<String>> {
        let groups = self.groups("cpuset")?;
        // Only the innermost partition counts: a root partition may lie in an isolated one. One that
        // is `root invalid (…)` or `isolated invalid (…)` is a member of the one around it.
        for folder in &groups {
            let file = format!("{folder}/cpuset.cpus.partition");
            // The outermost group has none, nor has one without the controller.
            if !self.is_there(&file)? {
                continue;
            }
            match &*self.read(&file)? {
                "isolated" => return Ok(Some(format!("/{file} = isolated"))),
                "root" => return Ok(None),
                kind if kind == "member" || kind.contains(" invalid") => {}
                kind => {
                    return Err(format!(
                        "/{file} says `{}`, which is no kind of partition",
                        start_of(kind)
                    ));
                }
            }
        }
        // In the older interface CPUs are balanced as soon as one group around says so.
        let mut own = None;
        for folder in groups {
            let file = format!("{folder}/cpuset.sched_load_balance");
            if !self.is_there(&file)? {
                continue;
            }
            if self.number(&file)? != 0 {
                return Ok(None);
            }
            own.get_or_insert(format!("/{file} = 0"));
        }
        Ok(own)
    }

    /// Files that count how often the quotas of this process's groups were used up; that of its own
    /// group where there is no quota yet.
    pub(crate) fn throttle_files(&self) -> Fact<Vec<String>> {
        let quotas = self.cpu_quotas()?;
        if !quotas.is_empty() {
            return Ok(quotas.into_iter().map(|quota| quota.counts).collect());
        }
        let groups = self.groups("cpu")?.into_iter();
        let mut files = groups.map(|folder| format!("{folder}/cpu.stat"));
        let own = files.find(|file| self.throttled(file).is_ok());
        own.map(|file| vec![file])
            .ok_or_else(|| "no control group counts it in cpu.stat".to_owned())
    }

    /// Returns the counts of such a file, since the group exists.
    pub(crate) fn throttled(&self, file: &str) -> Fact<Throttled> {
        let text = self.read(file)?;
        let field = |name: &str| -> Fact<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|number| number.trim().parse().ok());
            number.ok_or_else(|| format!("/{file} has no number `{}`", name.trim()))
        };
        let us = field("throttled_usec ").and_then(|us| {
            us.checked_mul(1000)
                .ok_or_else(|| format!("/{file} says {us} us, which is no time"))
        });
        Ok(Throttled {
            periods: field("nr_throttled ")?,
            ns: us.or_else(|_| field("throttled_time "))?,
        })
    }

    /// Folders of this process's group and of those around it, for one controller, innermost first;
    /// at least one.
    fn groups(&self, controller: &str) -> Fact<Vec<String>> {
        let text = self.read("proc/self/cgroup")?;
        let base = "sys/fs/cgroup";
        let lines: Vec<(&str, &str)> = text
            .lines()
            .filter_map(|line| line.split_once(':')?.1.split_once(':'))
            .collect();
        let has_it = |controllers: &str| controllers.split(',').any(|name| name == controller);
        // A controller is in one hierarchy: where the older interface has it, the newer one says
        // nothing of it.
        let is_older = lines.iter().any(|(controllers, _)| has_it(controllers));
        let own = lines.into_iter().filter(|(controllers, _)| {
            if is_older {
                has_it(controllers)
            } else {
                controllers.is_empty()
            }
        });
        let own: Vec<(&str, &str)> = own.collect();
        let is_above = |path: &str| path.split('/').any(|it| it == "..");
        if let Some((_, path)) = own.first().filter(|(_, path)| is_above(path)) {
            return Err(format!(
                "/proc/self/cgroup names `{path}`, a control group above all that this process sees"
            ));
        }
        let folders = own.into_iter().flat_map(|(controllers, path)| {
            let mounts = if is_older {
                [
                    format!("{base}/{controllers}"),
                    format!("{base}/{controller}"),
                ]
            } else {
                [base.to_owned(), format!("{base}/unified")]
            };
            let around = mounts.into_iter().map(move |mount| up_from(&mount, path));
            around.flatten().collect::<Vec<String>>()
        });
        // A path may be one that this process cannot see, as in a container; and a folder is no
        // group because it has the name of one.
        let is_group = |folder: &String| {
            let files = ["cgroup.", "cpu.", "cpuset.", "memory."];
            let names = self.names_in(folder);
            let is_of_group = |name: &String| files.iter().any(|start| name.starts_with(start));
            names.iter().any(is_of_group)
        };
        let seen: Vec<String> = folders.filter(is_group).collect();
        if seen.is_empty() {
            return Err(format!("/{base} shows no control group for `{controller}`"));
        }
        Ok(seen)
    }
}

/// `mount/a/b`, `mount/a`, `mount`.
fn up_from(mount: &str, path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    // A group outside of what a container sees.
    let depth = if parts.contains(&"..") {
        0
    } else {
        parts.len()
    };
    let inside = |count| format!("{mount}/{}", parts[..count].join("/"));
    (1..=depth)
        .rev()
        .map(inside)
        .chain([mount.to_owned()])
        .collect()
}

/// CPUs' time: `50000 100000` is half a CPU's; `none`, and a period, are no limit.
fn quota(file: &str, printed: &str, none: &str) -> Fact<Option<f64>> {
    let (quota, period) = printed.split_once(' ').unwrap_or((printed, ""));
    if quota == none {
        return Ok(None);
    }
    let us = |text: &str| text.parse::<u64>().ok().filter(|us| *us > 0);
    let cpus = us(quota)
        .zip(us(period))
        .map(|(quota, period)| quota as f64 / period as f64);
    cpus.map(Some)
        .ok_or_else(|| format!("/{file} says `{}`, which is no quota", start_of(printed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::testing::MadeUp;

    #[test]
    fn the_tightest_quota_of_all_groups_around_counts() {
        let root = MadeUp::new(&[
            ("proc/self/cgroup", "0::/user/session"),
            ("sys/fs/cgroup/user/session/cpu.max", "max 100000"),
            ("sys/fs/cgroup/user/cpu.max", "150000 100000"),
            ("sys/fs/cgroup/cpu.max", "400000 100000"),
        ]);
        let quota = root.host().cpu_quotas().unwrap().remove(0);
        assert_eq!((quota.cpus, quota.printed.as_str()), (1.5, "150000 100000"));
        assert_eq!(quota.file, "sys/fs/cgroup/user/cpu.max");
    }

    #[test]
    fn groups_of_the_older_interface_are_read_too() {
        let root = MadeUp::new(&[
            (
                "proc/self/cgroup",
                "5:memory:/job\n2:cpu,cpuacct:/job\n3:cpuset:/\n0::/",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000"),
            ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000"),
            (
                "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat",
                "nr_periods 9\nnr_throttled 4\nthrottled_time 7",
            ),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1048576"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712",
            ),
            ("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-3"),
        ]);
        let host = root.host();
        assert_eq!(host.cpu_quotas().unwrap()[0].printed, "50000 100000");
        assert_eq!(host.memory_limit(), Ok(Some(1 << 20)));
        assert_eq!(host.group_cpus().as_deref(), Ok("0-3"));
        let files = host.throttle_files().unwrap();
        let own = "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat";
        assert_eq!(files, [own]);
        assert_eq!(host.throttled(own), Ok(Throttled { periods: 4, ns: 7 }));
    }

    #[test]
    fn a_group_above_all_that_is_seen_has_no_known_limits() {
        let root = MadeUp::new(&[
            ("proc/self/cgroup", "0::/../../x"),
            ("sys/fs/cgroup/cpu.max", "max 100000"),
        ]);
        let reason = root.host().cpu_quotas().unwrap_err();
        assert!(reason.contains("names `/../../x`"), "{reason}");
        assert!(root.host().memory_limit().is_err());
    }

    #[test]
    fn no_limit_is_none() {
        let root = MadeUp::new(&[
            ("proc/self/cgroup", "0::/\n1:cpu:/"),
            ("sys/fs/cgroup/cpu.max", "max 100000"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
        ]);
        assert_eq!(
            (root.host().cpu_quotas(), root.host().memory_limit()),
            (Ok(Vec::new()), Ok(None))
        );
    }

    #[test]
    fn a_limit_of_memory_that_cannot_be_read_is_unknown_and_not_absent() {
        let root = MadeUp::new(&[("proc/self/cgroup", "0::/job")]);
        root.write("sys/fs/cgroup/memory.max", "max");
        assert_eq!(root.host().memory_limit(), Ok(None));
        root.write("sys/fs/cgroup/memory.max", "4096");
        for text in ["", "2G", "-1"] {
            root.write("sys/fs/cgroup/job/memory.max", text);
            assert!(root.host().memory_limit().is_err(), "{text}");
        }
        root.write("sys/fs/cgroup/job/memory.max", "max");
        assert_eq!(root.host().memory_limit(), Ok(Some(4096)));
    }

    #[test]
    fn a_quota_that_cannot_be_read_is_unknown_and_not_absent() {
        let reason = |files: &[(&str, &str)]| MadeUp::new(files).host().cpu_quotas().unwrap_err();
        assert_eq!(reason(&[]), "/proc/self/cgroup is not there");
        let group = ("proc/self/cgroup", "0::/");
        assert_eq!(
            reason(&[group]),
            "/sys/fs/cgroup shows no control group for `cpu`"
        );
        for text in ["", "garbage", "-5 100000", "-1", "50000 0", "50000"] {
            let reason = reason(&[group, ("sys/fs/cgroup/cpu.max", text)]);
            assert!(
                reason.starts_with("/sys/fs/cgroup/cpu.max says "),
                "{reason}"
            );
        }
        let old = ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000");
        let reason = reason(&[("proc/self/cgroup", "1:cpu:/"), old]);
        assert!(
            reason.contains("cpu.cfs_period_us is not there"),
            "{reason}"
        );
    }

    #[test]
    fn quotas_are_unknown_where_the_folders_of_groups_are_no_groups() {
        let reason = |files: &[(&str, &str)]| MadeUp::new(files).host().cpu_quotas().unwrap_err();
        let none = "/sys/fs/cgroup shows no control group for `cpu`";
        let group = ("proc/self/cgroup", "0::/job");
        assert_eq!(reason(&[group, ("sys/fs/cgroup/job/notes", "")]), none);
        // A controller of the older interface ignores what the newer one shows.
        let both = ("proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/job");
        let unified = ("sys/fs/cgroup/unified/job/cgroup.procs", "1");
        assert_eq!(reason(&[both, unified]), none);
    }

    #[test]
    fn limits_whose_files_cannot_be_looked_for_are_unknown() {
        let root = MadeUp::new(&[("proc/self/cgroup", "0::/job")]);
        root.write("sys/fs/cgroup/job/cgroup.procs", "1");
        for name in ["cpu.max", "memory.max", "cpuset.cpus.partition"] {
            let link = root.host().path(&format!("sys/fs/cgroup/job/{name}"));
            std::os::unix::fs::symlink(name, link).unwrap();
        }
        let host = root.host();
        assert!(
            host.cpu_quotas()
                .unwrap_err()
                .contains("cpu.max cannot be read")
        );
        assert!(host.memory_limit().is_err());
        assert!(host.unbalanced_group().is_err());
    }

    #[test]
    fn the_group_that_has_the_quota_counts_how_often_it_was_used_up() {
        let root = MadeUp::new(&[
            ("proc/self/cgroup", "0::/team/run:1.scope"),
            ("sys/fs/cgroup/team/run:1.scope/cpu.max", "max 100000"),
            (
                "sys/fs/cgroup/team/run:1.scope/cpu.stat",
                "nr_throttled 0\nthrottled_usec 0",
            ),
            ("sys/fs/cgroup/team/cpu.max", "250000 100000"),
            (
                "sys/fs/cgroup/team/cpu.stat",
                "nr_throttled 8\nthrottled_usec 9",
            ),
        ]);
        let host = root.host();
        assert_eq!(
            host.throttle_files().unwrap(),
            ["sys/fs/cgroup/team/cpu.stat"]
        );
        // The wait of every group with a quota is this process's.
        root.write("sys/fs/cgroup/team/run:1.scope/cpu.max", "300000 100000");
        assert_eq!(host.throttle_files().unwrap().len(), 2);
    }

    #[test]
    fn only_an_isolated_partition_that_is_valid_turns_balancing_off() {
        let root = MadeUp::new(&[("proc/self/cgroup", "0::/bench/inner")]);
        let partition = |folder: &str, kind: &str| {
            root.write(
                &format!("sys/fs/cgroup/{folder}/cpuset.cpus.partition"),
                kind,
            );
        };
        partition("bench/inner", "member");
        partition("bench", "isolated");
        let seen = root.host().unbalanced_group().unwrap().unwrap();
        assert_eq!(
            seen,
            "/sys/fs/cgroup/bench/cpuset.cpus.partition = isolated"
        );
        partition(
            "bench",
            "isolated invalid (Cpu list in cpuset.cpus not exclusive)",
        );
        assert_eq!(root.host().unbalanced_group(), Ok(None));
        partition("bench", "isolated");
        for invalid in [
            "root invalid (Parent is an invalid partition root)",
            "isolated invalid (No online CPU)",
        ] {
            partition("bench/inner", invalid);
            assert!(root.host().unbalanced_group().unwrap().is_some());
        }
        for unknown in ["", "isolate", "ROOT"] {
            partition("bench/inner", unknown);
            assert!(root.host().unbalanced_group().is_err(), "{unknown}");
        }
        partition("bench/inner", "root");
        assert_eq!(root.host().unbalanced_group(), Ok(None));
        let old = MadeUp::new(&[
            ("proc/self/cgroup", "4:cpuset:/a"),
            ("sys/fs/cgroup/cpuset/a/cpuset.sched_load_balance", "0"),
            ("sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "1"),
        ]);
        assert_eq!(old.host().unbalanced_group(), Ok(None));
        old.write("sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "0");
        assert!(old.host().unbalanced_group().unwrap().is_some());
        old.write("sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "?");
        assert!(old.host().unbalanced_group().is_err());
    }
}
