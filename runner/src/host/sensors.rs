//! Sensors, read around every trial: load, stolen time, temperature, throttling.

use probes::core_to_core;

use super::{CPUS, Fact, Host};
use crate::affinity::allowed_cpus;

/// The files that are read around every trial. The files are found once, because a reading must be
/// fast.
#[derive(Clone, Debug)]
pub struct Sensors {
    host: Host,
    temperatures: Vec<String>,
    /// Counts of how often heat slowed a CPU or a package down; empty if a CPU has no count.
    throttles: Vec<String>,
    /// Files in which control groups count how long a used-up quota kept the group from running.
    quotas: Vec<String>,
    first_and_last: Option<[usize; 2]>,
}

/// The sensors' values at one moment; `None` if the host does not show the value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Readings {
    /// One-minute load average.
    pub load: Option<f64>,
    /// Time stolen by the hypervisor from all CPUs since boot, in nanoseconds.
    pub steal_ns: Option<u64>,
    /// The hottest sensor, in degrees Celsius.
    pub celsius: Option<f64>,
    /// How often heat slowed a CPU or a package down since boot.
    pub throttles: Option<u64>,
    /// Time that a used-up CPU quota kept this process's group from running, in nanoseconds.
    pub quota_throttled_ns: Option<u64>,
}

impl Sensors {
    /// Finds the sensors of this host.
    #[must_use]
    pub fn of(host: &Host) -> Self {
        Self {
            temperatures: host.temperature_files(),
            throttles: host.throttle_counts().unwrap_or_default(),
            quotas: host.throttle_files().unwrap_or_default(),
            first_and_last: match allowed_cpus()[..] {
                [first, .., last] => Some([first, last]),
                _ => None,
            },
            host: host.clone(),
        }
    }

    /// Measures the transfer time of a cache line from the first CPU to the last, in nanoseconds;
    /// `None` if there is only one CPU. Keeps both CPUs busy for about a millisecond.
    pub(crate) fn core_to_core_ns(&self) -> Option<f64> {
        self.first_and_last.and_then(core_to_core::measure)
    }

    pub(crate) fn look(&self) -> Readings {
        let host = &self.host;
        let celsius = self.temperatures.iter();
        let celsius = celsius.filter_map(|file| host.celsius(file));
        Readings {
            load: host.load().ok(),
            steal_ns: host.steal_ns().ok(),
            celsius: celsius.reduce(f64::max),
            throttles: sum(&self.throttles, |file| host.number(file)),
            quota_throttled_ns: sum(&self.quotas, |file| Ok(host.throttled(file)?.ns)),
        }
    }
}

fn sum(files: &[String], count: impl Fn(&str) -> Fact<u64>) -> Option<u64> {
    let add = |sum: u64, file: &String| sum.checked_add(count(file).ok()?);
    let sum = files.iter().try_fold(0, add);
    sum.filter(|_| !files.is_empty())
}

/// Returns the difference of two readings; `None` if the count decreased, since a count that
/// decreases has no meaning.
pub(crate) fn since(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

impl Host {
    /// Returns the files of the CPU's temperature sensors. If no sensor is known to be the CPU's,
    /// returns the files of the thermal zones.
    fn temperature_files(&self) -> Vec<String> {
        const OF_CPUS: [&str; 5] = [
            "coretemp",
            "k10temp",
            "zenpower",
            "cpu_thermal",
            "scpi_sensors",
        ];
        let mut files = Vec::new();
        for sensor in self.names_in("sys/class/hwmon") {
            let folder = format!("sys/class/hwmon/{sensor}");
            let name = self.read(&format!("{folder}/name"));
            if name.is_ok_and(|name| OF_CPUS.contains(&&*name)) {
                let inputs = self.names_in(&folder).into_iter();
                let inputs =
                    inputs.filter(|name| name.starts_with("temp") && name.ends_with("_input"));
                files.extend(inputs.map(|name| format!("{folder}/{name}")));
            }
        }
        if files.is_empty() {
            let zones = self.names_in("sys/class/thermal").into_iter();
            let zones = zones.filter(|name| name.starts_with("thermal_zone"));
            files.extend(zones.map(|name| format!("sys/class/thermal/{name}/temp")));
        }
        files
    }

    /// Reads a sensor, which counts thousandths of a degree. A value that no CPU survives means a
    /// broken sensor.
    fn celsius(&self, file: &str) -> Option<f64> {
        let celsius = f64::from(self.read(file).ok()?.parse::<i32>().ok()?) / 1e3;
        (-100.0..200.0).contains(&celsius).then_some(celsius)
    }

    /// Returns the files that count how often heat slowed a CPU or a package down since boot. The
    /// fact is unknown if a CPU has no count.
    pub(crate) fn throttle_counts(&self) -> Fact<Vec<String>> {
        let mut files = Vec::new();
        for cpu in self.cpus()? {
            let folder = format!("{CPUS}/cpu{cpu}/thermal_throttle");
            let of_cpu = ["core", "package"].map(|what| format!("{folder}/{what}_throttle_count"));
            let before = files.len();
            files.extend(of_cpu.into_iter().filter(|file| self.path(file).exists()));
            if files.len() == before {
                return Err(format!("/{folder} is not there"));
            }
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::testing::MockRoot;

    fn look(files: &[(&str, &str)]) -> Readings {
        Sensors::of(&MockRoot::new(files).host()).look()
    }

    #[test]
    fn the_hottest_sound_sensor_of_a_cpu_counts_or_else_that_of_a_thermal_zone() {
        let hwmon = |number: usize, file: &str| format!("sys/class/hwmon/hwmon{number}/{file}");
        let of_disk = [
            (&*hwmon(0, "name"), "nvme"),
            (&*hwmon(0, "temp1_input"), "90000"),
        ];
        let zone = ("sys/class/thermal/thermal_zone0/temp", "50000");
        let of_cpu = [
            (&*hwmon(1, "name"), "coretemp"),
            (&*hwmon(1, "temp1_input"), "41500"),
            (&*hwmon(1, "temp2_input"), "-2500"),
            (&*hwmon(1, "temp3_input"), "2147483647"), // a broken sensor
            (&*hwmon(1, "temp3_max"), "99000"),
        ];
        let all = [&of_disk[..], &[zone], &of_cpu].concat();
        assert_eq!(look(&all).celsius, Some(41.5));
        assert_eq!(look(&all[..3]).celsius, Some(50.0));
        assert_eq!(look(&all[..2]).celsius, None);
    }

    #[test]
    fn throttling_by_heat_and_by_quota_is_counted_over_all_cpus() {
        let cpu = |cpu: usize, what: &str| {
            format!("{CPUS}/cpu{cpu}/thermal_throttle/{what}_throttle_count")
        };
        let root = MockRoot::new(&[
            ("sys/devices/system/cpu/online", "0-1"),
            (&cpu(0, "core"), "1"),
            (&cpu(1, "core"), "2"),
            (&cpu(1, "package"), "4"),
            ("proc/self/cgroup", "0::/"),
            ("sys/fs/cgroup/cpu.stat", "nr_throttled 1\nthrottled_usec 5"),
        ]);
        let sensors = Sensors::of(&root.host());
        let before = sensors.look();
        assert_eq!(before.throttles, Some(7));
        assert_eq!(before.quota_throttled_ns, Some(5000));
        root.write(&cpu(0, "core"), "3");
        assert_eq!(since(before.throttles, sensors.look().throttles), Some(2));
    }

    #[test]
    fn what_is_not_shown_or_cannot_be_a_count_is_unknown_and_not_zero() {
        assert_eq!(look(&[]), Readings::default());
        assert_eq!(since(None, Some(1)), None);
        assert_eq!(since(Some(5), Some(4)), None);
    }
}
