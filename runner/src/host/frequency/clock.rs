//! Measures the frequency at which CPUs really run, by the time of a chain of instructions. Each
//! instruction needs the result of the instruction before it, so the CPU cannot run two
//! instructions at once. A CPU may shorten one kind of chain, so a chain of additions and a chain
//! of multiplications must agree.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::affinity::pin_to;

/// Largest relative difference that counts as agreement, between the chains and between a clock and
/// the requested frequency. `runner/README.md` names this value.
pub const TOLERANCE: f64 = 0.02;

/// Number of windows of each chain in a measurement. The fastest window counts: interrupts and
/// other programs only slow a window down. A guess; a measurement takes some 2 ms at 3 GHz.
const WINDOWS: usize = 10;

/// Maximum number of attempts of a measurement. The chains disagree if a CPU changes its clock or
/// another program takes cycles from it. A guess.
const ATTEMPTS: usize = 3;

/// The clock that several CPUs delivered at the same time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// The mean clock of the CPUs, in GHz.
    pub ghz: f64,
    /// The clock of the slowest CPU, in GHz.
    pub slowest_ghz: f64,
    /// The clock of the fastest CPU, in GHz.
    pub fastest_ghz: f64,
}

impl Clock {
    pub(crate) fn is_at(&self, khz: u64) -> bool {
        let ghz = khz as f64 / 1e6;
        [self.slowest_ghz, self.fastest_ghz]
            .iter()
            .all(|seen| agrees(*seen, ghz))
    }
}

impl std::fmt::Display for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            ghz,
            slowest_ghz,
            fastest_ghz,
        } = self;
        write!(f, "{ghz:.3} GHz ({slowest_ghz:.3} to {fastest_ghz:.3})")
    }
}

/// Measures the clock of all `cpus` at once. `None` if the chains do not agree, this process may
/// not use one of the CPUs, or there are no chains for this architecture.
pub(crate) fn measure(cpus: &[usize]) -> Option<Clock> {
    (0..ATTEMPTS).find_map(|_| measure_once(cpus))
}

fn measure_once(cpus: &[usize]) -> Option<Clock> {
    let start = Barrier::new(cpus.len());
    let seen: Option<Vec<f64>> = thread::scope(|scope| {
        let start = &start;
        let threads: Vec<_> = cpus
            .iter()
            .map(|&cpu| scope.spawn(move || measure_cpu(cpu, start)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().ok().flatten())
            .collect()
    });
    let seen = seen.filter(|seen| !seen.is_empty())?;
    Some(Clock {
        ghz: seen.iter().sum::<f64>() / seen.len() as f64,
        slowest_ghz: seen.iter().copied().fold(f64::INFINITY, f64::min),
        fastest_ghz: seen.iter().copied().fold(0.0, f64::max),
    })
}

fn measure_cpu(cpu: usize, start: &Barrier) -> Option<f64> {
    let is_pinned = pin_to(cpu);
    // A thread that could not be pinned also reaches the barrier, or the other threads would wait
    // for ever.
    start.wait();
    if !is_pinned {
        return None;
    }
    let (mut adds, mut multiplies) = (Duration::MAX, Duration::MAX);
    for _ in 0..WINDOWS {
        adds = adds.min(timed(chains::adds)?);
        multiplies = multiplies.min(timed(chains::multiplies)?);
    }
    judge(adds, multiplies)
}

fn timed(chain: fn() -> Option<()>) -> Option<Duration> {
    let start = Instant::now();
    chain()?;
    Some(start.elapsed())
}

fn judge(adds: Duration, multiplies: Duration) -> Option<f64> {
    let ns = |time: Duration| time.as_secs_f64() * 1e9;
    let ghz = f64::from(chains::ADDS) / ns(adds); // an addition takes one cycle
    let cycles = ns(multiplies) * ghz / f64::from(chains::MULTIPLIES);
    chains::MULTIPLY_CYCLES
        .into_iter()
        .any(|known| agrees(cycles, f64::from(known)))
        .then_some(ghz)
}

fn agrees(seen: f64, expected: f64) -> bool {
    (seen / expected - 1.0).abs() <= TOLERANCE
}

/// Additions and multiplications of two registers. Every known CPU needs at least a cycle for such
/// an addition; additions of a constant may be faster.
mod chains {
    use std::ops::RangeInclusive;

    /// A chain takes about 0.1 ms at 3 GHz, much longer than reading the time.
    pub(super) const ADDS: u32 = UNROLLED * ADD_ROUNDS;
    pub(super) const MULTIPLIES: u32 = UNROLLED * MULTIPLY_ROUNDS;
    const UNROLLED: u32 = 64;
    const ADD_ROUNDS: u32 = 4800;
    const MULTIPLY_ROUNDS: u32 = 1600;

    /// Cycles of a 64-bit multiplication: 3 on x86-64 processors of the last decade, and a whole
    /// number that differs between the cores of 64-bit ARM.
    pub(super) const MULTIPLY_CYCLES: RangeInclusive<u8> = if cfg!(target_arch = "aarch64") {
        2..=5
    } else {
        3..=3
    };

    /// Runs a chain of one instruction; `None` if there is no chain for this architecture.
    macro_rules! chain {
        ($name:ident, $rounds:ident, $x86_64:literal, $aarch64:literal) => {
            pub(super) fn $name() -> Option<()> {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the loop works on the named registers and the flags alone, and touches no
                // memory. The loop ends when the count, which is above 0, reaches 0.
                unsafe {
                    std::arch::asm!(
                        "2:", ".rept 64", $x86_64, ".endr", "dec {rounds}", "jnz 2b",
                        x = inout(reg) 1_u64 => _, y = in(reg) 3_u64,
                        rounds = inout(reg) u64::from($rounds) => _,
                        options(nomem, nostack),
                    );
                }
                #[cfg(target_arch = "aarch64")]
                // SAFETY: like the loop for x86-64, this loop works on the named registers and the
                // flags alone, and touches no memory. The loop ends when the count, which is above
                // 0, reaches 0.
                unsafe {
                    std::arch::asm!(
                        "2:", ".rept 64", $aarch64, ".endr", "subs {rounds}, {rounds}, #1", "b.ne 2b",
                        x = inout(reg) 1_u64 => _, y = in(reg) 3_u64,
                        rounds = inout(reg) u64::from($rounds) => _,
                        options(nomem, nostack),
                    );
                }
                cfg!(any(target_arch = "x86_64", target_arch = "aarch64")).then_some(())
            }
        };
    }

    chain!(adds, ADD_ROUNDS, "add {x}, {y}", "add {x}, {x}, {y}");
    chain!(
        multiplies,
        MULTIPLY_ROUNDS,
        "imul {x}, {y}",
        "mul {x}, {x}, {y}"
    );
}

#[cfg(test)]
mod tests {
    use rustix::thread::CpuSet;

    use super::*;
    use crate::affinity::allowed_cpus;

    fn times(ghz: f64, cycles: f64) -> (Duration, Duration) {
        let time = |operations: u32, cycles: f64| {
            Duration::from_secs_f64(f64::from(operations) * cycles / ghz / 1e9)
        };
        (time(chains::ADDS, 1.0), time(chains::MULTIPLIES, cycles))
    }

    #[test]
    fn chains_give_a_clock_only_if_they_agree_within_the_tolerance() {
        for (cycles, is_known) in [(3.0, true), (3.05, true), (2.9, false), (3.1, false)] {
            let (adds, multiplies) = times(2.5, cycles);
            let ghz = judge(adds, multiplies);
            let is_right = ghz.is_some_and(|ghz| (ghz - 2.5).abs() < 1e-3);
            assert_eq!(is_right, is_known, "{cycles}: {ghz:?}");
            // A CPU that did two additions in a cycle would appear twice as fast.
            assert_eq!(judge(adds / 2, multiplies), None);
        }
    }

    #[test]
    fn a_clock_is_at_a_frequency_only_if_every_cpu_is() {
        let clock = |slowest_ghz, fastest_ghz| Clock {
            ghz: 2.0,
            slowest_ghz,
            fastest_ghz,
        };
        assert!(clock(1.97, 2.03).is_at(2_000_000));
        assert!(!clock(1.95, 2.0).is_at(2_000_000));
        assert!(!clock(2.0, 2.05).is_at(2_000_000));
    }

    #[test]
    fn a_cpu_that_does_not_exist_has_no_clock() {
        assert_eq!(measure(&[CpuSet::MAX_CPU - 1]), None);
        assert_eq!(measure(&[]), None);
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn a_measured_clock_is_one_that_a_cpu_can_have() {
        // On a busy host the chains may disagree in one measurement, but not in a hundred.
        let clock = (0..100)
            .find_map(|_| measure(&allowed_cpus()[..1]))
            .unwrap();
        assert!((0.2..10.0).contains(&clock.ghz), "{clock}");
    }
}
