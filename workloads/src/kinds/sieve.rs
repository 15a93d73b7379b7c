//! `sieve`: primes by the sieve of Eratosthenes, chunk by chunk.
//!
//! The primes up to the root are found first, alone; then every chunk is sieved by itself in a
//! buffer that fits the first cache. One flat parallel loop over chunks that take nearly equal
//! times.

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::kinds::one_number::{OneNumber, Problem};
use crate::machine::charge;
use crate::workload::{Instance, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "sieve",
    summary: "counts primes by the sieve of Eratosthenes in chunks",
    stresses: "one flat loop of even tasks with a buffer per task",
    work_unit: "numbers",
    input: None,
    lasts: None,
    charge: Some("sieve"),
    parameters: &[
        Parameter::whole(
            "limit",
            "primes up to this number are counted",
            (1, 1 << 36),
            "30000",
        ),
        Parameter::whole(
            "chunk",
            "odd numbers per chunk, a byte each",
            (1, 1 << 30),
            // A guess: fills the first cache of common processors.
            "32768",
        ),
    ],
    sizes: &SizeOverrides::all(
        &[("chunk", "1000")],
        &[("limit", "40000000")],
        &[("limit", "400000000")],
        &[("limit", "4000000000")],
    ),
};

/// The workload `sieve`.
#[derive(Clone, Copy, Debug)]
pub struct Sieve;

impl Workload for Sieve {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(OneNumber::new(Primes {
            limit: setup.values.count("limit"),
            chunk: setup.values.count("chunk"),
        })))
    }
}

#[derive(Debug)]
struct Primes {
    limit: usize,
    chunk: usize,
}

impl Primes {
    /// Odd numbers from 3 to the limit. The one with index i is 2 i + 3.
    fn odd_numbers(&self) -> usize {
        self.limit.saturating_sub(1) / 2
    }

    /// Index of the first number of each chunk.
    fn chunks(&self) -> usize {
        self.odd_numbers().div_ceil(self.chunk)
    }

    /// Primes in a chunk; `is_composite` is any buffer.
    fn count(&self, chunk: usize, small_primes: &[usize], is_composite: &mut Vec<bool>) -> u64 {
        let first = chunk * self.chunk;
        is_composite.clear();
        is_composite.resize(self.chunk.min(self.odd_numbers() - first), false);
        charge(is_composite.len() as u64);
        for &prime in small_primes {
            cross_out(prime, first, is_composite);
        }
        is_composite
            .iter()
            .map(|&is_composite| u64::from(!is_composite))
            .sum()
    }

    /// 2 is the one even prime.
    fn even_primes(&self) -> u64 {
        u64::from(self.limit >= 2)
    }
}

impl Problem for Primes {
    fn sequential(&self) -> u64 {
        let small_primes = odd_primes_to(self.limit.isqrt());
        let mut buffer = Vec::new();
        let odd: u64 = (0..self.chunks())
            .map(|chunk| self.count(chunk, &small_primes, &mut buffer))
            .sum();
        odd + self.even_primes()
    }

    fn parallel(&self) -> u64 {
        let small_primes = odd_primes_to(self.limit.isqrt());
        let odd: u64 = (0..self.chunks())
            .into_par_iter()
            .map_init(Vec::new, |buffer, chunk| {
                self.count(chunk, &small_primes, buffer)
            })
            .sum();
        odd + self.even_primes()
    }

    fn work_units(&self) -> u64 {
        self.limit as u64
    }

    fn known(&self) -> u64 {
        count_by_quotients(self.limit)
    }
}

/// Marks the odd multiples of `prime` from its square on among the numbers whose first has this
/// index.
fn cross_out(prime: usize, first: usize, is_composite: &mut [bool]) {
    let square = (prime * prime - 3) / 2;
    // Neighbours among the odd multiples are `prime` indices apart.
    let start = if square >= first {
        square - first
    } else {
        (prime - (first - square) % prime) % prime
    };
    charge((is_composite.len().saturating_sub(start) / prime) as u64);
    for flag in is_composite.iter_mut().skip(start).step_by(prime) {
        *flag = true;
    }
}

/// The odd primes up to `limit`.
fn odd_primes_to(limit: usize) -> Vec<usize> {
    let mut is_composite = vec![false; limit.saturating_sub(1) / 2];
    for index in 0..is_composite.len() {
        let number = 2 * index + 3;
        if number * number > limit {
            break;
        }
        if !is_composite[index] {
            cross_out(number, 0, &mut is_composite);
        }
    }
    (0..)
        .zip(is_composite)
        .filter(|(_, flag)| !flag)
        .map(|(index, _)| 2 * index + 3)
        .collect()
}

/// Counts primes without finding them: how many numbers up to `limit / k`, for every `k`, survive
/// crossing out by one prime after the other. Needs memory for the root of `limit` only.
fn count_by_quotients(limit: usize) -> u64 {
    let root = limit.isqrt();
    // Survivors up to v for small v, and up to limit / k for small k; 1 is none.
    let mut up_to: Vec<usize> = (0..=root).map(|v| v.saturating_sub(1)).collect();
    let mut up_to_quotient: Vec<usize> = (0..=root)
        .map(|k| limit.checked_div(k).map_or(0, |v| v - 1))
        .collect();
    for prime in 2..=root {
        let smaller_primes = up_to[prime - 1];
        if up_to[prime] == smaller_primes {
            continue;
        }
        for k in 1..=root.min(limit / (prime * prime)) {
            let quotient = k * prime;
            let survivors = if quotient <= root {
                up_to_quotient[quotient]
            } else {
                up_to[limit / quotient]
            };
            up_to_quotient[k] -= survivors - smaller_primes;
        }
        for v in (prime * prime..=root).rev() {
            up_to[v] -= up_to[v / prime] - smaller_primes;
        }
    }
    up_to_quotient.get(1).map_or(0, |&primes| primes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::one_number::assert_solves;

    #[test]
    fn counting_by_quotients_gives_the_published_numbers_of_primes() {
        for (exponent, primes) in [
            (1, 4),
            (2, 25),
            (3, 168),
            (4, 1_229),
            (6, 78_498),
            (8, 5_761_455),
        ] {
            assert_eq!(count_by_quotients(10_usize.pow(exponent)), primes);
        }
    }

    #[test]
    fn both_programs_count_right_for_every_small_limit_and_chunk() {
        for limit in 1..130 {
            for chunk in [1, 2, 7, 1_000] {
                assert_solves(&Primes { limit, chunk });
            }
        }
    }
}
