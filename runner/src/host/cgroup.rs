//! The control groups that this process is in, and what they allow it: CPU time, CPUs, memory.

use super::Host;

/// A limit of the CPU time of a group of processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Quota {
    /// How many CPUs' time the group may use.
    pub cpus: f64,
    /// As the system prints it: `50000 100000`, microseconds of each period.
    pub printed: String,
    /// File that says so, without the leading slash.
    pub file: String,
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
    /// The tightest CPU quota of the groups that this process is in; `None` if none has one.
    pub(crate) fn cpu_quota(&self) -> Option<Quota> {
        let quotas = self.groups("cpu").into_iter().filter_map(|folder| {
            let file = format!("{folder}/cpu.max");
            if let Ok(printed) = self.read(&file) {
                return quota(printed, file);
            }
            let file = format!("{folder}/cpu.cfs_quota_us");
            let period = self.read(&format!("{folder}/cpu.cfs_period_us")).ok()?;
            quota(format!("{} {period}", self.read(&file).ok()?), file)
        });
        quotas.min_by(|a, b| a.cpus.total_cmp(&b.cpus))
    }

    /// The tightest limit of memory in bytes; `None` if no group has one.
    pub(crate) fn memory_limit(&self) -> Option<u64> {
        let limits = self.groups("memory").into_iter().filter_map(|folder| {
            let new = self.number(&format!("{folder}/memory.max"));
            new.or_else(|| self.number(&format!("{folder}/memory.limit_in_bytes")))
        });
        // The older interface prints a number near 2⁶³ where there is no limit.
        limits.filter(|bytes| *bytes < 1 << 60).min()
    }

    /// The CPUs that this process's group may use, as the system prints them.
    pub(crate) fn group_cpus(&self) -> Option<String> {
        let names = ["cpuset.cpus.effective", "cpuset.effective_cpus"];
        let mut folders = self.groups("cpuset").into_iter();
        folders.find_map(|folder| {
            names
                .iter()
                .find_map(|it| self.read(&format!("{folder}/{it}")).ok())
        })
    }

    /// File that counts how often this process's group used its quota up.
    pub(crate) fn throttle_file(&self) -> Option<String> {
        let mut files = self
            .groups("cpu")
            .into_iter()
            .map(|folder| format!("{folder}/cpu.stat"));
        files.find(|file| self.throttled(file).is_some())
    }

    /// What such a file counts, since the group exists.
    pub(crate) fn throttled(&self, file: &str) -> Option<Throttled> {
        let text = self.read(file).ok()?;
        let field = |name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line?.trim().parse().ok()
        };
        let ns = field("throttled_usec ")
            .map(|us| us * 1000)
            .or(field("throttled_time "))?;
        Some(Throttled {
            periods: field("nr_throttled ")?,
            ns,
        })
    }

    /// Folders of this process's group and of those around it, for one controller, innermost first.
    fn groups(&self, controller: &str) -> Vec<String> {
        let text = self.read("proc/self/cgroup").unwrap_or_default();
        let base = "sys/fs/cgroup";
        let folders = text.lines().filter_map(|line| {
            let (_, line) = line.split_once(':')?;
            let (controllers, path) = line.split_once(':')?;
            let mounts = match controllers {
                "" => vec![base.to_owned(), format!("{base}/unified")],
                several if several.split(',').any(|name| name == controller) => {
                    vec![format!("{base}/{several}"), format!("{base}/{controller}")]
                }
                _ => return None,
            };
            Some(
                mounts
                    .into_iter()
                    .flat_map(move |mount| up_from(&mount, path)),
            )
        });
        // A path may be one that this process cannot see, as in a container.
        folders
            .flatten()
            .filter(|folder| self.path(folder).is_dir())
            .collect()
    }
}

/// `mount/a/b`, `mount/a`, `mount`.
fn up_from(mount: &str, path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let inside = |count| format!("{mount}/{}", parts[..count].join("/"));
    (1..=parts.len())
        .rev()
        .map(inside)
        .chain([mount.to_owned()])
        .collect()
}

/// `50000 100000` is half a CPU; `max 100000` and `-1 100000` are no limit.
fn quota(printed: String, file: String) -> Option<Quota> {
    let (quota, period) = printed.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0 && period > 0.0).then(|| Quota {
        cpus: quota / period,
        printed,
        file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::MadeUp;

    #[test]
    fn the_tightest_quota_of_all_groups_around_counts() {
        let root = MadeUp::new(&[
            ("proc/self/cgroup", "0::/user/session"),
            ("sys/fs/cgroup/user/session/cpu.max", "max 100000"),
            ("sys/fs/cgroup/user/cpu.max", "150000 100000"),
            ("sys/fs/cgroup/cpu.max", "400000 100000"),
        ]);
        let quota = root.host().cpu_quota().unwrap();
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
        assert_eq!(host.cpu_quota().unwrap().printed, "50000 100000");
        assert_eq!(host.memory_limit(), Some(1 << 20));
        assert_eq!(host.group_cpus().as_deref(), Some("0-3"));
        let file = host.throttle_file().unwrap();
        assert_eq!(host.throttled(&file), Some(Throttled { periods: 4, ns: 7 }));
    }

    #[test]
    fn no_limit_is_none() {
        let root = MadeUp::new(&[
            ("proc/self/cgroup", "0::/../..\n1:cpu:/"),
            ("sys/fs/cgroup/cpu.max", "max 100000"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
        ]);
        assert_eq!(
            (root.host().cpu_quota(), root.host().memory_limit()),
            (None, None)
        );
    }
}
