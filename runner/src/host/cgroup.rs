//! The control groups that this process is in, and their limits: CPU time, CPUs, memory.

use super::{Fact, Host, start_of};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quota {
    pub(crate) cpus: f64,
    /// The quota as the kernel prints it, for example `50000 100000`: microseconds of CPU time in
    /// each period, and microseconds of a period.
    pub(crate) printed: String,
    pub(crate) file: String,
    pub(crate) counts: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThrottleCounts {
    pub(crate) periods: u64,
    pub(crate) ns: u64,
}

impl Host {
    /// Returns the CPU quotas of the groups that this process is in and can see, the tightest quota
    /// first.
    pub(crate) fn cpu_quotas(&self) -> Fact<Vec<Quota>> {
        let mut quotas = Vec::new();
        for folder in self.groups("cpu")? {
            let found = self.one_of(&folder, ["cpu.max", "cpu.cfs_quota_us"])?;
            let Some((file, mut printed)) = found else {
                continue;
            };
            let mut no_limit = "max";
            if file.ends_with("cfs_quota_us") {
                let period = self.read(&format!("{folder}/cpu.cfs_period_us"))?;
                (printed, no_limit) = (format!("{printed} {period}"), "-1");
            }
            let (quota, period) = printed.split_once(' ').unwrap_or((&printed, ""));
            if quota == no_limit {
                continue;
            }
            let us = |text: &str| text.parse::<u64>().ok().filter(|us| *us > 0);
            let Some((quota, period)) = us(quota).zip(us(period)) else {
                let printed = start_of(&printed);
                return Err(format!("/{file} says `{printed}`, which is not a quota"));
            };
            quotas.push(Quota {
                cpus: quota as f64 / period as f64,
                counts: format!("{folder}/cpu.stat"),
                printed,
                file,
            });
        }
        quotas.sort_by(|a, b| a.cpus.total_cmp(&b.cpus));
        Ok(quotas)
    }

    pub(crate) fn memory_limit(&self) -> Fact<Option<u64>> {
        let mut limits = Vec::new();
        for folder in self.groups("memory")? {
            let limit = self.one_of(&folder, ["memory.max", "memory.limit_in_bytes"])?;
            if let Some((file, _)) = limit.filter(|(_, printed)| printed != "max") {
                limits.push(self.number(&file)?);
            }
        }
        // The older interface prints a number near 2⁶³ if there is no limit.
        Ok(limits.into_iter().filter(|bytes| *bytes < 1 << 60).min())
    }

    pub(crate) fn group_cpus(&self) -> Fact<String> {
        let names = ["cpuset.cpus.effective", "cpuset.effective_cpus"];
        let mut folders = self.groups("cpuset")?.into_iter();
        let cpus = folders.find_map(|folder| self.one_of(&folder, names).ok().flatten());
        cpus.map(|(_, cpus)| cpus)
            .ok_or_else(|| format!("no control group has {}", names[0]))
    }

    /// Returns a file of a group under its newer or its older name, with its text. `None` if the
    /// group has neither file, because it is the outermost group or the controller is off.
    fn one_of(&self, group: &str, names: [&str; 2]) -> Fact<Option<(String, String)>> {
        for name in names {
            let file = format!("{group}/{name}");
            if let Some(text) = self.if_any(&file, Self::read)? {
                return Ok(Some((file, text)));
            }
        }
        Ok(None)
    }

    /// Returns the setting that keeps the scheduler from balancing threads over the CPUs of this
    /// process's group; `None` if there is no such setting.
    pub(crate) fn unbalanced_group(&self) -> Fact<Option<String>> {
        let groups = self.groups("cpuset")?;
        // Only the innermost valid partition counts, because a root partition may lie in an
        // isolated partition.
        for folder in &groups {
            let file = format!("{folder}/cpuset.cpus.partition");
            let kind = self.if_any(&file, |host, file| {
                host.parsed(file, "a kind of partition", |kind| match kind {
                    "isolated" => Some(Some(true)),
                    "root" => Some(Some(false)),
                    // The CPUs of an invalid partition belong to the partition around it.
                    kind if kind == "member" || kind.contains(" invalid") => Some(None),
                    _ => None,
                })
            })?;
            if let Some(Some(is_isolated)) = kind {
                return Ok(is_isolated.then(|| format!("/{file} = isolated")));
            }
        }
        // In the older interface, the scheduler balances threads over the CPUs if any group on the
        // path allows balancing.
        let mut own = None;
        for folder in groups {
            let file = format!("{folder}/cpuset.sched_load_balance");
            match self.if_any(&file, Self::number)? {
                None => {}
                Some(0) => drop(own.get_or_insert(format!("/{file} = 0"))),
                Some(_) => return Ok(None),
            }
        }
        Ok(own)
    }

    /// Returns the files that count how often the quotas of this process's groups were used up. If
    /// there is no quota, returns the file of the process's own group.
    pub(crate) fn throttle_files(&self) -> Fact<Vec<String>> {
        let quotas = self.cpu_quotas()?;
        if !quotas.is_empty() {
            return Ok(quotas.into_iter().map(|quota| quota.counts).collect());
        }
        let groups = self.groups("cpu")?.into_iter();
        let mut files = groups.map(|folder| format!("{folder}/cpu.stat"));
        let own = files.find(|file| self.throttled(file).is_ok());
        own.map(|file| vec![file])
            .ok_or_else(|| "no control group counts throttled periods in cpu.stat".to_owned())
    }

    pub(crate) fn throttled(&self, file: &str) -> Fact<ThrottleCounts> {
        self.parsed(
            file,
            "a count of throttled periods and their time",
            |text| {
                let field = |name: &str| -> Option<u64> {
                    let line = text.lines().find_map(|line| line.strip_prefix(name));
                    line?.trim().parse().ok()
                };
                let ns = match field("throttled_usec ") {
                    Some(us) => us.checked_mul(1000)?,
                    None => field("throttled_time ")?,
                };
                let periods = field("nr_throttled ")?;
                Some(ThrottleCounts { periods, ns })
            },
        )
    }

    /// Returns the folders of this process's group and of the groups around it, for one controller,
    /// the innermost first. Returns at least one folder.
    fn groups(&self, controller: &str) -> Fact<Vec<String>> {
        let text = self.read("proc/self/cgroup")?;
        let base = "sys/fs/cgroup";
        let lines = text
            .lines()
            .filter_map(|line| line.split_once(':')?.1.split_once(':'));
        // If the older interface has a controller, the newer interface does not show this
        // controller.
        let has_it = |of: &str| of.split(',').any(|name| name == controller);
        let mut older = lines.clone().filter(|(controllers, _)| has_it(controllers));
        let mut newer = lines.filter(|(controllers, _)| controllers.is_empty());
        let nothing = format!("/{base} shows no control group for `{controller}`");
        let (mounts, path) = match (older.next(), newer.next()) {
            (Some((controllers, path)), _) => ([controllers, controller], path),
            (None, Some((_, path))) => (["", "unified"], path),
            (None, None) => return Err(nothing),
        };
        if path.split('/').any(|it| it == "..") {
            return Err(format!(
                "/proc/self/cgroup names `{path}`, a control group above all that this process sees"
            ));
        }
        let mounts = mounts.iter().map(|it| format!("{base}/{it}"));
        let mut folders: Vec<String> = mounts.flat_map(|mount| up_from(&mount, path)).collect();
        folders.dedup();
        // In a container, this process may not see every folder of the path. A folder without any
        // of the files below is no control group.
        folders.retain(|folder| {
            let names = self.names_in(folder);
            let files = ["cgroup.", "cpu.", "cpuset.", "memory."];
            names
                .iter()
                .any(|name| files.iter().any(|it| name.starts_with(it)))
        });
        if folders.is_empty() {
            return Err(nothing);
        }
        Ok(folders)
    }
}

/// Returns `mount/a/b`, `mount/a` and `mount` for the path `a/b`.
fn up_from(mount: &str, path: &str) -> Vec<String> {
    let mount = mount.trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let inside = |count| format!("{mount}/{}", parts[..count].join("/"));
    let inside = (1..=parts.len()).rev().map(inside);
    inside.chain([mount.to_owned()]).collect()
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
                "5:memory:/job\n2:cpu,cpuacct:/job\n0::/",
            ),
            ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000"),
            ("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000"),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1048576"),
        ]);
        let none = MockRoot::new(&[
            ("proc/self/cgroup", "0::/\n1:cpu:/"),
            ("sys/fs/cgroup/memory.max", "9223372036854771712"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
        ]);
        for (root, quota, memory) in [
            (newer, Some((1.5, "150000 100000")), Some(4096)),
            (older, Some((0.5, "50000 100000")), Some(1 << 20)),
            (none, None, None),
        ] {
            let quotas = root.host().cpu_quotas().unwrap();
            let seen = quotas.first().map(|it| (it.cpus, &*it.printed));
            assert_eq!(seen, quota);
            assert_eq!(root.host().memory_limit(), Ok(memory));
        }
    }

    #[test]
    fn limits_that_cannot_be_read_are_unknown_and_not_absent() {
        let group = ("proc/self/cgroup", "0::/job");
        let root = MockRoot::new(&[group, ("sys/fs/cgroup/job/memory.max", "2G")]);
        assert!(root.host().memory_limit().is_err());
        // `cpu.max` becomes a link to itself, which this process cannot even look up.
        let root = MockRoot::new(&[group, ("sys/fs/cgroup/job/cgroup.procs", "1")]);
        let link = root.host().path("sys/fs/cgroup/job/cpu.max");
        std::os::unix::fs::symlink("cpu.max", link).unwrap();
        let said = root.host().cpu_quotas().unwrap_err();
        assert!(said.contains("cpu.max cannot be read"), "{said}");
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
        let [own, around] = ["team/job", "team"].map(|it| format!("sys/fs/cgroup/{it}/cpu.stat"));
        let host = root.host();
        assert_eq!(host.throttle_files().as_deref(), Ok(&[own.clone()][..]));
        let counts = ThrottleCounts { periods: 4, ns: 7 };
        assert_eq!(host.throttled(&own), Ok(counts));
        // If any group has used its quota up, this process waits.
        root.write("sys/fs/cgroup/team/cpu.max", "250000 100000");
        root.write("sys/fs/cgroup/team/job/cpu.max", "300000 100000");
        assert_eq!(host.throttle_files(), Ok(vec![around, own]));
    }
}
