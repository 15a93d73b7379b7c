//! The description of a machine: the arrangement of its cores, their costs in picoseconds, and
//! their frequencies.

mod costs;
mod file;

pub use costs::{Costs, NANOSECOND, Picoseconds};
pub use file::{MachineError, WAKE_UPS};

/// Maximum number of CPUs of a machine, so that a run can have four threads for each CPU: a
/// thread's number has 13 bits.
pub const MAX_CORES: usize = 2_047;

/// A machine to simulate: its topology, cost parameters and frequencies, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// The machine's name, as in `machines/NAME.toml`.
    pub name: String,
    /// The machine that this simulated machine stands for, in one line.
    pub title: String,
    /// The arrangement of the machine's cores.
    pub topology: Topology,
    /// The cost parameters.
    pub costs: Costs,
    /// The frequencies of the machine's cores.
    pub frequency: Frequency,
    /// The time of the own instructions of each [`Call`] of the pool that runs, in picoseconds at
    /// the reference frequency. The time is negative if the core overlaps accesses of the call
    /// whose costs the simulation adds one after the other.
    pub own_instructions: [i64; 2],
}

/// A call of a pool's interface whose own instructions have a cost. Own instructions are those that
/// access no shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `join` and `join_context`, with the execution of both closures.
    Join,
    /// The methods and functions called `spawn` and `spawn_fifo`, with the execution of the job.
    Spawn,
}

impl Call {
    /// All calls.
    pub const ALL: [Self; 2] = [Self::Join, Self::Spawn];

    /// Returns the call with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|call| call.name() == name)
    }

    /// The call's name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Spawn => "spawn",
        }
    }
}

/// The arrangement of cores in clusters, which share a cache, and of clusters in sockets. Core
/// numbers run through all sockets, from the first cluster of the first socket on. CPUs are the
/// hardware threads of the cores. They are numbered as by Linux on x86: first one of each core,
/// then their siblings in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Number of sockets of the machine.
    pub sockets: usize,
    /// Number of clusters of a socket.
    pub clusters_per_socket: usize,
    /// Number of cores of a cluster.
    pub cores_per_cluster: usize,
    /// Number of hardware threads of a core: 1, or 2 that are siblings.
    pub hardware_threads: usize,
}

impl Topology {
    /// Number of cores.
    #[must_use]
    pub fn cores(&self) -> usize {
        self.sockets * self.cores_per_socket()
    }

    /// Number of CPUs: as many as cores, or twice as many.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.cores() * self.hardware_threads
    }

    /// The core of which `cpu` is a hardware thread.
    #[must_use]
    pub fn core_of(&self, cpu: usize) -> usize {
        cpu % self.cores()
    }

    /// The other hardware thread of the core of `cpu`, if there is one.
    #[must_use]
    pub fn sibling_of(&self, cpu: usize) -> Option<usize> {
        (self.hardware_threads == 2).then(|| (cpu + self.cores()) % self.cpus())
    }

    /// Number of cores of one socket.
    #[must_use]
    pub fn cores_per_socket(&self) -> usize {
        self.clusters_per_socket * self.cores_per_cluster
    }

    /// The socket on which `cpu` is.
    #[must_use]
    pub fn socket_of(&self, cpu: usize) -> usize {
        self.core_of(cpu) / self.cores_per_socket()
    }

    /// The distance of two CPUs.
    #[must_use]
    pub fn distance(&self, one: usize, other: usize) -> Distance {
        let [one, other] = [one, other].map(|cpu| self.core_of(cpu));
        if one == other {
            Distance::Own
        } else if one / self.cores_per_cluster == other / self.cores_per_cluster {
            Distance::Cluster
        } else if self.socket_of(one) == self.socket_of(other) {
            Distance::Socket
        } else {
            Distance::Far
        }
    }
}

/// The distance of two cores, in the classes that have cost parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// The same core: siblings have one cache.
    Own,
    /// Another core of the cluster.
    Cluster,
    /// Another cluster of the socket.
    Socket,
    /// Another socket.
    Far,
}

impl Costs {
    /// The cost of the transfer of a line from a core at this distance; 0 if both cores are the
    /// same.
    #[must_use]
    pub fn transfer(&self, distance: Distance) -> Picoseconds {
        match distance {
            Distance::Own => 0,
            Distance::Cluster => self.transfer_cluster,
            Distance::Socket => self.transfer_socket,
            Distance::Far => self.transfer_far,
        }
    }
}

/// The frequencies of cores.
#[derive(Clone, Debug, PartialEq)]
pub struct Frequency {
    /// The frequency at which the cost parameters of a core hold, in MHz.
    pub reference_mhz: u32,
    /// The frequency in the mode `fixed`, in MHz.
    pub fixed_mhz: u32,
    /// The mode `dynamic`: ascending numbers of running cores of a socket, each with the frequency
    /// in MHz up to that number. If more cores run, they have the frequency of the last row.
    pub dynamic_mhz: Vec<(usize, u32)>,
}

/// The mode of the cores' frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrequencyMode {
    /// All cores have the same frequency at all times.
    #[default]
    Fixed,
    /// The fewer cores of a socket run, the higher is their frequency.
    Dynamic,
}

impl Frequency {
    /// The frequency of a core while `running` cores of its socket run, in MHz.
    #[must_use]
    pub fn mhz(&self, mode: FrequencyMode, running: usize) -> u32 {
        match mode {
            FrequencyMode::Fixed => self.fixed_mhz,
            FrequencyMode::Dynamic => {
                let row = self.dynamic_mhz.iter().find(|(cores, _)| running <= *cores);
                row.or(self.dynamic_mhz.last())
                    .map_or(self.fixed_mhz, |(_, mhz)| *mhz)
            }
        }
    }
}

impl Machine {
    /// A machine on which nothing costs anything, with cores that are all in one cluster.
    #[must_use]
    pub fn free(cores: usize) -> Self {
        Self {
            name: "free".to_owned(),
            title: "nothing costs anything".to_owned(),
            topology: Topology {
                sockets: 1,
                clusters_per_socket: 1,
                cores_per_cluster: cores,
                hardware_threads: 1,
            },
            costs: Costs::free(),
            frequency: Frequency {
                reference_mhz: 1_000,
                fixed_mhz: 1_000,
                dynamic_mhz: Vec::new(),
            },
            own_instructions: [0; 2],
        }
    }

    /// Sets the time of the own instructions of `call` in the pool that runs. The time is `cycles`
    /// at the reference frequency, multiplied by the machine's factor `own-instructions`.
    #[expect(clippy::cast_possible_truncation, reason = "cycles are few")]
    pub fn set_own_cycles(&mut self, call: Call, cycles: f64) {
        let picoseconds = cycles * 1e6 / f64::from(self.frequency.reference_mhz);
        self.own_instructions[call as usize] =
            (picoseconds * self.costs.own_instructions).round() as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_follows_clusters_and_sockets_and_siblings_are_numbered_after_all_cores() {
        let topology = Topology {
            sockets: 2,
            clusters_per_socket: 2,
            cores_per_cluster: 4,
            hardware_threads: 2,
        };
        assert_eq!([topology.cores(), topology.cpus()], [16, 32]);
        let siblings = [2, 18].map(|cpu| topology.sibling_of(cpu));
        assert_eq!(siblings, [Some(18), Some(2)]);
        assert_eq!([2, 18, 31].map(|cpu| topology.socket_of(cpu)), [0, 0, 1]);
        let from_zero = [16, 3, 4, 24].map(|cpu| topology.distance(0, cpu));
        let all = [
            Distance::Own,
            Distance::Cluster,
            Distance::Socket,
            Distance::Far,
        ];
        assert_eq!(from_zero, all);
        assert_eq!(topology.distance(15, 12), Distance::Cluster);
    }

    #[test]
    fn the_more_cores_run_the_slower_they_are_in_dynamic_mode() {
        let frequency = Frequency {
            reference_mhz: 3_000,
            fixed_mhz: 2_000,
            dynamic_mhz: vec![(2, 3_500), (8, 3_000)],
        };
        let dynamic = [1, 2, 3, 60].map(|cores| frequency.mhz(FrequencyMode::Dynamic, cores));
        assert_eq!(dynamic, [3_500, 3_500, 3_000, 3_000]);
        assert_eq!(frequency.mhz(FrequencyMode::Fixed, 1), 2_000);
    }
}
