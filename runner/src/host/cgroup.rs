//! The control groups that this process is in, and their limits: CPU time, CPUs, memory.

use super::{Fact, Host, start_of};

/// A limit of the CPU time of a group of processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// The number of CPUs whose time the group may use.
    pub cpus: f64,
    /// As the system prints it: `50000 100000`, microseconds of each period.
    pub printed: String,
    /// File with the limit, without the leading slash.
    pub file: String,
    /// File that counts how often the limit was reached.
    pub counts: String,
}

/// How often and how long a group was kept from running because its quota was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleCounts {
    /// Periods in which the quota was used up.
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
            let Some((file, mut printed)) =
                self.one_of(&folder, ["cpu.max", "cpu.cfs_quota_us"])?
            else {
                continue;
            };
            let mut none = "max";
            if file.ends_with("cfs_quota_us") {
                let period = self.read(&format!("{folder}/cpu.cfs_period_us"))?;
                (printed, none) = (format!("{printed} {period}"), "-1");
            }
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
            let limit = self.one_of(&folder, ["memory.max", "memory.limit_in_bytes"])?;
            if let Some((file, _)) = limit.filter(|(_, printed)| printed != "max") {
                // The older interface prints a number near 2⁶³ if there is no limit.
                let limit = Some(self.number(&file)?).filter(|bytes| *bytes < 1 << 60);
                tightest = tightest.into_iter().chain(limit).min();
            }
        }
        Ok(tightest)
    }

    /// The CPUs that this process's group may use, as the system prints them.
    pub(crate) fn group_cpus(&self) -> Fact<String> {
        let names = ["cpuset.cpus.effective", "cpuset.effective_cpus"];
        let mut folders = self.groups("cpuset")?.into_iter();
        let cpus = folders.find_map(|folder| self.one_of(&folder, names).ok().flatten());
        cpus.map(|(_, cpus)| cpus)
            .ok_or_else(|| format!("no control group has {}", names[0]))
    }

    /// A file of a group under its newer or its older name, with its text. `None` if the group has
    /// neither: it is the outermost group, or the controller is off.
    fn one_of(&self, group: &str, names: [&str; 2]) -> Fact<Option<(String, String)>> {
        for name in names {
            let file = format!("{group}/{name}");
            if self.is_there(&file)? {
                let text = self.read(&file)?;
                return Ok(Some((file, text)));
            }
        }
        Ok(None)
    }

    /// Returns the setting that keeps the scheduler from balancing threads over the CPUs of this
    /// process's group; `None` if there is no such setting.
    pub(crate) fn unbalanced_group(&self) -> Fact<Option<String>> {
        let groups = self.groups("cpuset")?;
        // Only the innermost partition counts: a root partition may lie in an isolated one. A
        // partition that is `root invalid (…)` or `isolated invalid (…)` is a member of the one
        // around it.
        for folder in &groups {
            let file = format!("{folder}/cpuset.cpus.partition");
            // The outermost group has no such file, nor has a group without the controller.
            if !self.is_there(&file)? {
                continue;
            }
            match &*self.read(&file)? {
                "isolated" => return Ok(Some(format!("/{file} = isolated"))),
                "root" => return Ok(None),
                kind if kind == "member" || kind.contains(" invalid") => {}
                kind => {
                    return Err(format!(
                        "/{file} says `{}`, which is not a kind of partition",
                        start_of(kind)
                    ));
                }
            }
        }
        // In the older interface, CPUs are balanced as soon as one group around says so.
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

    /// Files that count how often the quotas of this process's groups were used up. Without a
    /// quota, the file of its own group.
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

    /// Returns the counts of such a file since the group was made.
    pub(crate) fn throttled(&self, file: &str) -> Fact<ThrottleCounts> {
        let text = self.read(file)?;
        let field = |name: &str| -> Fact<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|number| number.trim().parse().ok());
            number.ok_or_else(|| format!("/{file} has no number `{}`", name.trim()))
        };
        let us = field("throttled_usec ").and_then(|us| {
            us.checked_mul(1000)
                .ok_or_else(|| format!("/{file} says {us} us, which is not a time"))
        });
        Ok(ThrottleCounts {
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
        // A controller is in one hierarchy: if the older interface has it, the newer one does not
        // show it.
        let has_it = |of: &str| of.split(',').any(|name| name == controller);
        let older = lines.iter().find(|(controllers, _)| has_it(controllers));
        let newer = lines.iter().find(|(controllers, _)| controllers.is_empty());
        let mut folders = Vec::new();
        if let Some((controllers, path)) = older.or(newer) {
            if path.split('/').any(|it| it == "..") {
                return Err(format!(
                    "/proc/self/cgroup names `{path}`, a control group above all that this process sees"
                ));
            }
            let mut mounts = match older {
                Some(_) => vec![controllers, controller],
                None => vec!["", "unified"],
            };
            mounts.dedup();
            let mounts = mounts.iter().map(|it| format!("{base}/{it}"));
            folders.extend(mounts.flat_map(|mount| up_from(&mount, path)));
        }
        // In a container, this process may not see the folder of a path. A folder may also have the
        // name of a group without being one.
        let is_group = |folder: &String| {
            let files = ["cgroup.", "cpu.", "cpuset.", "memory."];
            let names = self.names_in(folder);
            let is_of_group = |name: &String| files.iter().any(|start| name.starts_with(start));
            names.iter().any(is_of_group)
        };
        folders.retain(is_group);
        if folders.is_empty() {
            return Err(format!("/{base} shows no control group for `{controller}`"));
        }
        Ok(folders)
    }
}

/// `mount/a/b`, `mount/a`, `mount`.
fn up_from(mount: &str, path: &str) -> Vec<String> {
    let mount = mount.trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let inside = |count| format!("{mount}/{}", parts[..count].join("/"));
    let inside = (1..=parts.len()).rev().map(inside);
    inside.chain([mount.to_owned()]).collect()
}

/// The share as a number of CPUs: `50000 100000` is half a CPU; `none`, and a period alone, are no
/// limit.
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
        .ok_or_else(|| format!("/{file} says `{}`, which is not a quota", start_of(printed)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::testing::MockRoot;

    #[test]
    fn the_tightest_limits_of_all_groups_around_count_in_the_older_interface_too() {
        let newer = MockRoot::new(&[
            ("proc/self/cgroup", "0::/team/run:1.scope"),
            ("sys/fs/cgroup/team/run:1.scope/cpu.max", "max 100000"),
            ("sys/fs/cgroup/team/run:1.scope/memory.max", "max"),
            ("sys/fs/cgroup/team/cpu.max", "150000 100000"),
            ("sys/fs/cgroup/team/memory.max", "4096"),
            ("sys/fs/cgroup/cpu.max", "400000 100000"),
        ]);
        let older = MockRoot::new(&[
            (
                "proc/self/cgroup",
                "5:memory:/job\n2:cpu,cpuacct:/job\n3:cpuset:/\n0::/",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000"),
            ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000"),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1048576"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712",
            ),
            ("sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-3"),
        ]);
        let none = MockRoot::new(&[
            ("proc/self/cgroup", "0::/\n1:cpu:/"),
            ("sys/fs/cgroup/memory.max", "max"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
        ]);
        for (root, file, quota, memory) in [
            (
                newer,
                "sys/fs/cgroup/team/cpu.max",
                Some((1.5, "150000 100000")),
                Some(4096),
            ),
            (
                older,
                "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us",
                Some((0.5, "50000 100000")),
                Some(1 << 20),
            ),
            (none, "", None, None),
        ] {
            let quotas = root.host().cpu_quotas().unwrap();
            let seen = quotas.first().map(|it| (it.cpus, &*it.printed));
            assert_eq!(seen, quota, "{file}");
            assert!(quotas.first().is_none_or(|it| it.file == file), "{file}");
            assert_eq!(root.host().memory_limit(), Ok(memory), "{file}");
        }
    }

    #[test]
    fn limits_that_cannot_be_read_are_unknown_and_not_absent() {
        let group = ("proc/self/cgroup", "0::/job");
        let none = "/sys/fs/cgroup shows no control group for `cpu`";
        for (files, reason) in [
            (&[][..], "/proc/self/cgroup is not there"),
            (&[group], none),
            (&[group, ("sys/fs/cgroup/job/notes", "")], none),
        ] {
            let said = MockRoot::new(files).host().cpu_quotas().unwrap_err();
            assert_eq!(said, reason);
        }
        for text in ["", "2G", "-1"] {
            let limit = ("sys/fs/cgroup/job/memory.max", text);
            let root = MockRoot::new(&[group, limit]);
            assert!(root.host().memory_limit().is_err(), "{text}");
        }
        // Files that this process may not even look up.
        let root = MockRoot::new(&[group, ("sys/fs/cgroup/job/cgroup.procs", "1")]);
        for name in ["cpu.max", "memory.max", "cpuset.cpus.partition"] {
            let link = root.host().path(&format!("sys/fs/cgroup/job/{name}"));
            std::os::unix::fs::symlink(name, link).unwrap();
        }
        let (host, says) = (root.host(), "cpu.max cannot be read");
        assert!(host.cpu_quotas().unwrap_err().contains(says));
        assert!(host.memory_limit().is_err() && host.unbalanced_group().is_err());
    }

    #[test]
    fn the_groups_that_have_a_quota_count_how_often_it_was_used_up() {
        let root = MockRoot::new(&[
            ("proc/self/cgroup", "0::/team/job"),
            ("sys/fs/cgroup/team/job/cpu.max", "max 100000"),
            (
                "sys/fs/cgroup/team/job/cpu.stat",
                "nr_throttled 4\nthrottled_time 7",
            ),
        ]);
        let (own, around) = (
            "sys/fs/cgroup/team/job/cpu.stat",
            "sys/fs/cgroup/team/cpu.stat",
        );
        let host = root.host();
        assert_eq!(host.throttle_files().unwrap(), [own]);
        assert_eq!(
            host.throttled(own),
            Ok(ThrottleCounts { periods: 4, ns: 7 })
        );
        root.write("sys/fs/cgroup/team/cpu.max", "250000 100000");
        assert_eq!(host.throttle_files().unwrap(), [around]);
        // The waiting time of every group with a quota is this process's.
        root.write("sys/fs/cgroup/team/job/cpu.max", "300000 100000");
        assert_eq!(host.throttle_files().unwrap(), [around, own]);
        let older = MockRoot::new(&[
            ("proc/self/cgroup", "1:cpu:/job"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000"),
            ("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000"),
        ]);
        let once = ["sys/fs/cgroup/cpu/job/cpu.stat"];
        assert_eq!(older.host().throttle_files().unwrap(), once);
    }
}
