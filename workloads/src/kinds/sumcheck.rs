//! `sumcheck`: the prover of a sum-check, the heart of many proof systems.
//!
//! The prover proves the sum of the products of two tables. In each round, the prover sums over
//! pairs of entries, gets a challenge, and folds each pair into one entry. A round has two parallel
//! loops, half as long as the loops of the previous round, down to a single entry. So the last
//! rounds consist of overhead only.

use protocol::Refusal;
use rayon::prelude::*;

use crate::random::{Random, mix};
use crate::workload::{Instance, Mismatch, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let mut random = Random::new(setup.seed);
    let length = 1 << setup.values.whole("rounds");
    let mut table = || {
        (0..length)
            .map(|_| Field::new(random.below(PRIME)))
            .collect()
    };
    Ok(Box::new(Prover::new(
        [table(), table()],
        setup.values.count("proofs"),
    )))
}

const PRIME: u64 = (1 << 61) - 1;

/// A number modulo [`PRIME`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field(u64);

impl Field {
    const ZERO: Self = Self(0);

    fn new(word: u64) -> Self {
        let folded = (word & PRIME) + (word >> 61);
        Self(if folded >= PRIME {
            folded - PRIME
        } else {
            folded
        })
    }
}

impl std::ops::Add for Field {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.0 + other.0)
    }
}

impl std::ops::Sub for Field {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.0 + PRIME - other.0)
    }
}

impl std::ops::Mul for Field {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let product = u128::from(self.0) * u128::from(other.0);
        let [low, high] = [product & u128::from(PRIME), product >> 61];
        Self::new(
            [low, high]
                .iter()
                .map(|&part| u64::try_from(part).expect("a part has 61 bits"))
                .sum(),
        )
    }
}

/// The values at 0, 1 and 2 of a round's polynomial, which is of degree two.
type Values = [Field; 3];

fn sum(one: Values, other: Values) -> Values {
    [0, 1, 2].map(|at| one[at] + other[at])
}

/// The values that one pair of entries from each table adds to the polynomial's values.
fn values((one, other): (&[Field], &[Field])) -> Values {
    let at_two = |pair: &[Field]| pair[1] + pair[1] - pair[0];
    [
        one[0] * other[0],
        one[1] * other[1],
        at_two(one) * at_two(other),
    ]
}

/// Interpolates between the two values of a pair: `challenge` 0 gives the first value, 1 the
/// second.
fn fold(pair: &[Field], challenge: Field) -> Field {
    pair[0] + challenge * (pair[1] - pair[0])
}

/// The next challenge of a verifier: a hash of all values that the verifier has received.
fn challenge(last: Field, values: Values) -> Field {
    Field::new(
        values
            .iter()
            .fold(last.0, |word, value| mix(word ^ value.0)),
    )
}

fn at(values: Values, at: Field) -> Field {
    // The inverse of 2.
    let half = Field(1 << 60);
    let slope = values[1] - values[0];
    let bend = (values[2] - values[1] - slope) * half;
    values[0] + at * slope + at * (at - Field(1)) * bend
}

/// The values that the prover sends in each round, and the last entry of each table.
struct Proof {
    rounds: Vec<Values>,
    rest: [Field; 2],
}

impl Proof {
    fn proved(&self) -> Option<Field> {
        let claim = |values: &Values| values[0] + values[1];
        let mut asked = Field::ZERO;
        for (number, values) in self.rounds.iter().enumerate() {
            asked = challenge(asked, *values);
            let next = self
                .rounds
                .get(number + 1)
                .map_or(self.rest[0] * self.rest[1], claim);
            if at(*values, asked) != next {
                return None;
            }
        }
        self.rounds.first().map(claim)
    }
}

trait Loops {
    fn values(tables: &[Vec<Field>; 2]) -> Values;
    fn folded(table: &[Field], challenge: Field) -> Vec<Field>;
}

struct OneByOne;

impl Loops for OneByOne {
    fn values([one, other]: &[Vec<Field>; 2]) -> Values {
        let pairs = one.chunks_exact(2).zip(other.chunks_exact(2));
        pairs.map(values).fold([Field::ZERO; 3], sum)
    }

    fn folded(table: &[Field], challenge: Field) -> Vec<Field> {
        table
            .chunks_exact(2)
            .map(|pair| fold(pair, challenge))
            .collect()
    }
}

struct InParallel;

impl Loops for InParallel {
    fn values([one, other]: &[Vec<Field>; 2]) -> Values {
        let pairs = one.par_chunks_exact(2).zip(other.par_chunks_exact(2));
        pairs.map(values).reduce(|| [Field::ZERO; 3], sum)
    }

    fn folded(table: &[Field], challenge: Field) -> Vec<Field> {
        table
            .par_chunks_exact(2)
            .map(|pair| fold(pair, challenge))
            .collect()
    }
}

fn prove<L: Loops>(tables: &[Vec<Field>; 2]) -> Proof {
    let (mut rounds, mut asked) = (Vec::new(), Field::ZERO);
    let mut folded: Option<[Vec<Field>; 2]> = None;
    loop {
        let tables = folded.as_ref().unwrap_or(tables);
        if let [[one], [other]] = tables.each_ref().map(Vec::as_slice) {
            return Proof {
                rest: [*one, *other],
                rounds,
            };
        }
        let values = L::values(tables);
        asked = challenge(asked, values);
        rounds.push(values);
        folded = Some(tables.each_ref().map(|table| L::folded(table, asked)));
    }
}

struct Prover {
    tables: [Vec<Field>; 2],
    proofs: usize,
    known: Field,
    made: Vec<Proof>,
}

impl Prover {
    fn new(tables: [Vec<Field>; 2], proofs: usize) -> Self {
        let products = tables[0].iter().zip(&tables[1]).map(|(&a, &b)| a * b);
        let known = products.fold(Field::ZERO, |sum, product| sum + product);
        Self {
            tables,
            proofs,
            known,
            made: Vec::new(),
        }
    }

    fn run<L: Loops>(&mut self) -> u64 {
        self.made
            .extend((0..self.proofs).map(|_| prove::<L>(&self.tables)));
        (self.proofs * self.tables[0].len()) as u64
    }
}

impl Instance for Prover {
    fn reset(&mut self) {
        self.made.clear();
        self.made.reserve(self.proofs);
    }

    fn run_sequential(&mut self) -> u64 {
        self.run::<OneByOne>()
    }

    fn run_parallel(&mut self) -> u64 {
        self.run::<InParallel>()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let right = self
            .made
            .iter()
            .filter(|proof| proof.proved() == Some(self.known))
            .count();
        let describe = |right: usize| {
            format!(
                "{right} of {} proofs show {:016x}",
                self.proofs, self.known.0
            )
        };
        Mismatch::unless_equal(&describe(self.proofs), &describe(right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prover() -> Prover {
        let table = |seed: u64| (0..8).map(|entry| Field::new(mix(seed + entry))).collect();
        Prover::new([table(1), table(100)], 1)
    }

    #[test]
    fn a_proof_of_another_sum_and_a_changed_round_are_rejected() {
        let mut prover = prover();
        prover.run_sequential();
        assert!(prover.check().is_ok());
        prover.made[0].rounds[1][2] = Field(5);
        assert_eq!(prover.made[0].proved(), None);
        prover.reset();
        prover.tables[0][3] = Field(1);
        prover.run_sequential();
        assert!(prover.check().is_err());
    }

    #[test]
    fn a_polynomial_of_degree_two_is_known_by_three_values() {
        let polynomial = |x: u64| Field(3 + 5 * x + 7 * x * x);
        let values = [0, 1, 2].map(polynomial);
        assert!((0..9).all(|x| at(values, Field(x)) == polynomial(x)));
    }

    #[test]
    fn the_field_wraps_at_its_prime() {
        let last = Field(PRIME - 1);
        assert_eq!(last + Field(1), Field::ZERO);
        assert_eq!(Field::ZERO - Field(1), last);
        assert_eq!(last * last, Field(1));
    }
}
