//! `factorial`: a factorial in full length, as a tree of products of big integers.
//!
//! Each product is made by one thread, and the last ones are the longest: however many threads
//! there are, most of them wait for the few products near the root.

use num_bigint::BigUint;
use protocol::{Description, Parameter, Refusal, SizeOverrides};

use crate::workload::{Instance, Mismatch, Setup, Workload};

/// So many factors are multiplied one after the other. A guess: their product has some 1000 bits.
const LEAF_FACTORS: u64 = 64;

static DESCRIPTION: Description = Description {
    name: "factorial",
    summary: "n! as a big integer by a tree of products, join per product",
    stresses: "parallelism below three: a few long tasks at the end, heap allocation",
    work_unit: "factors",
    input: None,
    lasts: None,
    charge: None,
    parameters: &[Parameter::whole(
        "n",
        "which factorial",
        (1, 100_000_000),
        "1000",
    )],
    sizes: &SizeOverrides::all(
        &[],
        &[("n", "80000")],
        &[("n", "400000")],
        &[("n", "1600000")],
    ),
};

/// The workload `factorial`.
#[derive(Clone, Copy, Debug)]
pub struct Factorial;

impl Workload for Factorial {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Product {
            n: setup.values.whole("n"),
            answer: None,
        }))
    }
}

struct Product {
    n: u64,
    answer: Option<BigUint>,
}

impl Instance for Product {
    fn reset(&mut self) {
        self.answer = None;
    }

    fn run_sequential(&mut self) -> u64 {
        self.answer = Some(multiply(1, self.n));
        self.n
    }

    fn run_parallel(&mut self) -> u64 {
        self.answer = Some(multiply_with_join(1, self.n));
        self.n
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe = |zeros: u64, remainders: [u64; 2]| {
            format!("{zeros} binary zeros at the end, {remainders:?} modulo {MODULI:?}")
        };
        let expected = describe(
            trailing_zeros(self.n),
            MODULI.map(|modulus| remainder(self.n, modulus)),
        );
        let actual = self.answer.as_ref().map_or_else(
            || "none".to_owned(),
            |answer| {
                describe(
                    answer.trailing_zeros().unwrap_or(0),
                    MODULI.map(|modulus| small(&(answer % modulus))),
                )
            },
        );
        Mismatch::unless_equal(&expected, &actual)
    }
}

/// Product of the whole numbers from `first` to `last`, both included.
fn multiply(first: u64, last: u64) -> BigUint {
    if last - first < LEAF_FACTORS {
        return (first..=last).map(BigUint::from).product();
    }
    let middle = first.midpoint(last);
    multiply(first, middle) * multiply(middle + 1, last)
}

fn multiply_with_join(first: u64, last: u64) -> BigUint {
    if last - first < LEAF_FACTORS {
        return multiply(first, last);
    }
    let middle = first.midpoint(last);
    let (low, high) = rayon::join(
        || multiply_with_join(first, middle),
        || multiply_with_join(middle + 1, last),
    );
    low * high
}

/// The largest prime below 2^61 and the largest below 2^62: no n! of a permitted n is 0 modulo
/// these.
const MODULI: [u64; 2] = [(1 << 61) - 1, (1 << 62) - 57];

/// n! modulo `modulus`, in small numbers.
fn remainder(n: u64, modulus: u64) -> u64 {
    let product = |product: u64, factor: u64| {
        let product = u128::from(product) * u128::from(factor) % u128::from(modulus);
        u64::try_from(product).expect("smaller than the modulus")
    };
    (1..=n).fold(1, product)
}

/// Legendre's formula: how often 2 divides n!.
fn trailing_zeros(n: u64) -> u64 {
    n - u64::from(n.count_ones())
}

fn small(number: &BigUint) -> u64 {
    u64::try_from(number).expect("smaller than the modulus")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_give_the_published_factorials() {
        let published = "30414093201713378043612608166064768844377641568960512000000000000";
        assert_eq!(multiply(1, 50).to_string(), published);
        let one_more_level = 2 * LEAF_FACTORS + 5;
        let plain: BigUint = (1..=one_more_level).map(BigUint::from).product();
        assert_eq!(multiply(1, one_more_level), plain);
        assert_eq!(multiply_with_join(1, one_more_level), plain);
    }

    #[test]
    fn an_answer_that_lacks_a_factor_or_is_missing_is_rejected() {
        let check = |answer| Product { n: 300, answer }.check();
        assert!(check(Some(multiply(1, 300))).is_ok());
        assert!(check(Some(multiply(1, 299))).is_err());
        assert!(check(Some(multiply(2, 301))).is_err());
        assert!(check(None).is_err());
    }
}
