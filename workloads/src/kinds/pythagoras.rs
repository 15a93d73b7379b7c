//! `pythagoras`: right-angled triangles with whole sides, by trying all pairs of legs.
//!
//! Two nested parallel ranges, the inner one shorter and shorter: the splitting has to find out by
//! itself where the work is.

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::kinds::one_number::{OneNumber, Problem};
use crate::machine::charge;
use crate::workload::{Instance, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "pythagoras",
    summary: "counts pairs of whole legs up to a limit whose hypotenuse is whole too, nested ranges",
    stresses: "nested parallel loops of uneven length",
    work_unit: "pairs",
    input: None,
    lasts: None,
    // The squares of legs up to 2^25 add up to less than 2^53, what a float holds exactly.
    charge: Some("pythagoras"),
    parameters: &[Parameter::whole(
        "limit",
        "longest leg",
        (1, 1 << 25),
        "200",
    )],
    sizes: &SizeOverrides::all(
        &[],
        &[("limit", "4000")],
        &[("limit", "12000")],
        &[("limit", "40000")],
    ),
};

/// The workload `pythagoras`.
#[derive(Clone, Copy, Debug)]
pub struct Pythagoras;

impl Workload for Pythagoras {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let limit = u32::try_from(setup.values.whole("limit")).expect("declared to fit");
        Ok(Box::new(OneNumber::new(Triangles { limit })))
    }
}

#[derive(Debug)]
struct Triangles {
    limit: u32,
}

impl Problem for Triangles {
    fn sequential(&self) -> u64 {
        let legs = 1..=self.limit;
        let with = |a| {
            (a..=self.limit)
                .filter(|&b| is_hypotenuse_whole(a, b))
                .count() as u64
        };
        legs.map(with).sum()
    }

    fn parallel(&self) -> u64 {
        let legs = 1..self.limit + 1;
        let with = |a| {
            let others = (a..self.limit + 1).into_par_iter();
            others.filter(|&b| is_hypotenuse_whole(a, b)).count() as u64
        };
        legs.into_par_iter().map(with).sum()
    }

    fn work_units(&self) -> u64 {
        let limit = u64::from(self.limit);
        limit * (limit + 1) / 2
    }

    /// Euclid's formula: every triangle is a multiple of one with legs m² - n² and 2 m n, where m
    /// and n have no common divisor and are not both odd.
    fn known(&self) -> u64 {
        let limit = u64::from(self.limit);
        // As 2 m n is at most the limit, so is m.
        (2..=limit)
            .flat_map(|m| (1..m.min(limit / (2 * m) + 1)).map(move |n| (m, n)))
            .filter(|&(m, n)| (m - n) % 2 == 1 && greatest_common_divisor(m, n) == 1)
            .map(|(m, n)| limit / (m * m - n * n).max(2 * m * n))
            .sum()
    }
}

fn is_hypotenuse_whole(a: u32, b: u32) -> bool {
    charge(1);
    let (a, b) = (f64::from(a), f64::from(b));
    // Both the sum and the root of a square are exact.
    let root = (a * a + b * b).sqrt();
    root.fract() == 0.0
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::one_number::assert_solves;

    #[test]
    fn trying_all_pairs_finds_what_the_formula_counts() {
        for limit in (1..60).chain([1_000]) {
            assert_solves(&Triangles { limit });
        }
        // (3, 4), (6, 8), (5, 12), (9, 12), (8, 15), (12, 16), (15, 20)
        assert_eq!(Triangles { limit: 20 }.known(), 7);
    }
}
