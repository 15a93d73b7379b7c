//! With how many threads a host is measured, from how many cores and CPUs it has.

/// Up to so many CPUs, pools with twice as many threads run, too: on larger hosts no user needs
/// them.
const SMALL: usize = 4;

/// From so many cores on, short lists have a number between one thread and all cores.
const HAS_MIDDLE: usize = 6;

/// A simulated pool of more threads takes seconds for each iteration on any host.
const MOST_SIMULATED: usize = 64;

/// Thread counts of the sweeps of one host, each list sorted and without repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threads {
    /// For a curve: powers of two, cores, CPUs.
    pub many: Vec<usize>,
    /// For many programs: one thread, a number between, cores, CPUs.
    pub few: Vec<usize>,
    /// Those of `few` that the machine `here` can simulate, which has as many cores as the host.
    pub simulated: Vec<usize>,
}

impl Threads {
    /// For a host with so many cores and CPUs that trials may use; a quota may leave fewer CPUs
    /// than cores.
    pub(crate) fn of(cores: usize, cpus: usize) -> Self {
        let cpus = cpus.max(1);
        let cores = cores.clamp(1, cpus);
        let crowded = (cpus <= SMALL).then_some(2 * cpus);
        let ends = || [cores, cpus].into_iter().chain(crowded);
        let middle = (cores >= HAS_MIDDLE).then(|| power_of_two_near(cores.isqrt()));
        let doubled = std::iter::successors(Some(1), |count| Some(2 * count));
        let many = sorted(doubled.take_while(|&count| count < cpus).chain(ends()));
        let few = sorted(std::iter::once(1).chain(middle).chain(ends()));
        let most = cores.min(MOST_SIMULATED);
        let fitting = few.iter().copied().filter(|&count| count <= most);
        let simulated = sorted(fitting.chain([most]));
        Self {
            many,
            few,
            simulated,
        }
    }
}

/// The power of two that is nearest, the larger one of two.
fn power_of_two_near(count: usize) -> usize {
    let above = count.next_power_of_two();
    let below = (above / 2).max(1);
    if above - count <= count - below {
        above
    } else {
        below
    }
}

fn sorted(counts: impl Iterator<Item = usize>) -> Vec<usize> {
    counts
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// A list as `--threads` takes it.
pub(crate) fn list(counts: &[usize]) -> String {
    counts
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_from_one_cpu_to_256_get_few_counts_that_fit_them() {
        for (cores, cpus, many, few, simulated) in [
            (1, 1, vec![1, 2], vec![1, 2], vec![1]),
            (2, 2, vec![1, 2, 4], vec![1, 2, 4], vec![1, 2]),
            (1, 2, vec![1, 2, 4], vec![1, 2, 4], vec![1]),
            (6, 6, vec![1, 2, 4, 6], vec![1, 2, 6], vec![1, 2, 6]),
            (
                6,
                12,
                vec![1, 2, 4, 6, 8, 12],
                vec![1, 2, 6, 12],
                vec![1, 2, 6],
            ),
            (
                64,
                64,
                vec![1, 2, 4, 8, 16, 32, 64],
                vec![1, 8, 64],
                vec![1, 8, 64],
            ),
            (
                48,
                96,
                vec![1, 2, 4, 8, 16, 32, 48, 64, 96],
                vec![1, 8, 48, 96],
                vec![1, 8, 48],
            ),
            (
                128,
                256,
                vec![1, 2, 4, 8, 16, 32, 64, 128, 256],
                vec![1, 8, 128, 256],
                vec![1, 8, 64],
            ),
            (
                256,
                256,
                vec![1, 2, 4, 8, 16, 32, 64, 128, 256],
                vec![1, 16, 256],
                vec![1, 16, 64],
            ),
        ] {
            assert_eq!(
                Threads::of(cores, cpus),
                Threads {
                    many,
                    few,
                    simulated
                },
                "{cores}, {cpus}"
            );
        }
    }

    #[test]
    fn a_quota_that_leaves_fewer_cpus_than_cores_counts() {
        assert_eq!(Threads::of(64, 3), Threads::of(3, 3));
        assert_eq!(Threads::of(64, 3).many, [1, 2, 3, 6]);
    }
}
