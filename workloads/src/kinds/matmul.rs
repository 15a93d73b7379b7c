//! `matmul`: product of two square matrices by recursive quartering, tiles in Z-order.
//!
//! A product consists of eight products of quarters, four at a time: a tree of joins with much
//! arithmetic per byte. In Z-order each quarter is one contiguous slice.

use std::array;

use protocol::Refusal;

use crate::kinds::fingerprint::fingerprint;
use crate::machine::add_cost;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup};

/// Side of a tile. Three plain loops multiply two tiles. Three tiles of 8 KiB fit the first cache.
const TILE_SIDE: usize = 32;

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let side = 1 << setup.values.count("log2-side");
    let mut random = Random::new(setup.seed);
    let mut matrix = || {
        (0..side * side)
            .map(|_| small_whole(&mut random))
            .collect::<Vec<_>>()
    };
    let (left, right) = (matrix(), matrix());
    let probes = (0..PROBES)
        .map(|_| (0..side).map(|_| probe(&mut random)).collect())
        .collect();
    Ok(Box::new(Product {
        side,
        left,
        right,
        probes,
        answer: vec![0.0; side * side],
    }))
}

/// A small whole number, so that sums and products are exact in any order.
fn small_whole(random: &mut Random) -> f64 {
    random.below(17) as f64 - 8.0
}

/// The number of random vectors that test the answer. One vector misses a wrong answer with a
/// probability of at most 2^-18.
const PROBES: usize = 3;

/// A random element of a test vector. No sum of 2^14 rows exceeds 2^52, so a float holds each sum
/// exactly.
fn probe(random: &mut Random) -> f64 {
    random.below(1 << 18) as f64
}

struct Product {
    side: usize,
    left: Vec<f64>,
    right: Vec<f64>,
    probes: Vec<Vec<f64>>,
    answer: Vec<f64>,
}

impl Product {
    fn multiplications(&self) -> u64 {
        (self.side as u64).pow(3)
    }
}

impl Instance for Product {
    fn reset(&mut self) {
        self.answer.fill(0.0);
    }

    fn run_sequential(&mut self) -> u64 {
        multiply(&mut self.answer, &self.left, &self.right, self.side);
        self.multiplications()
    }

    fn run_parallel(&mut self) -> u64 {
        multiply_with_join(&mut self.answer, &self.left, &self.right, self.side);
        self.multiplications()
    }

    /// Freivalds' check: (A B) v = A (B v) for random v, in quadratic time.
    fn check(&mut self) -> Result<String, Mismatch> {
        let describe = |fault: Option<usize>| {
            let contents = fingerprint(self.answer.iter().map(|element| element.to_bits()));
            match fault {
                None => format!("the product, contents {contents:016x}"),
                Some(probe) => {
                    format!("not the product by probe {probe}, contents {contents:016x}")
                }
            }
        };
        let is_wrong = |probe: &Vec<f64>| {
            let expected = apply(&self.left, &apply(&self.right, probe));
            apply(&self.answer, probe)
                .iter()
                .zip(&expected)
                .any(|(a, b)| a.to_bits() != b.to_bits())
        };
        Mismatch::unless_equal(
            &describe(None),
            &describe(self.probes.iter().position(is_wrong)),
        )
    }
}

fn apply(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    let mut result = vec![0.0; vector.len()];
    for (row, result) in result.iter_mut().enumerate() {
        for (column, element) in vector.iter().enumerate() {
            *result += matrix[place(row, column, vector.len())] * element;
        }
    }
    result
}

/// The index of an element: quarters are in Z-order down to tiles, whose elements are in row order.
fn place(row: usize, column: usize, side: usize) -> usize {
    if side <= TILE_SIDE {
        return row * side + column;
    }
    let half = side / 2;
    let quarter = row / half * 2 + column / half;
    quarter * half * half + place(row % half, column % half, half)
}

/// The quarters in the order upper left, upper right, lower left, lower right.
fn quarters(matrix: &[f64]) -> [&[f64]; 4] {
    let quarter = matrix.len() / 4;
    array::from_fn(|index| &matrix[index * quarter..][..quarter])
}

fn quarters_mut(matrix: &mut [f64]) -> [&mut [f64]; 4] {
    let mut quarters = matrix.chunks_exact_mut(matrix.len() / 4);
    array::from_fn(|_| quarters.next().expect("a matrix has four quarters"))
}

fn multiply(sum: &mut [f64], left: &[f64], right: &[f64], side: usize) {
    if side <= TILE_SIDE {
        return multiply_tile(sum, left, right, side);
    }
    let (left, right) = (quarters(left), quarters(right));
    for (index, sum) in quarters_mut(sum).into_iter().enumerate() {
        let (row, column) = (index / 2, index % 2);
        multiply(sum, left[2 * row], right[column], side / 2);
        multiply(sum, left[2 * row + 1], right[2 + column], side / 2);
    }
}

fn multiply_with_join(sum: &mut [f64], left: &[f64], right: &[f64], side: usize) {
    if side <= TILE_SIDE {
        return multiply_tile(sum, left, right, side);
    }
    let (left, right) = (quarters(left), quarters(right));
    let quarter = |sum: &mut [f64], row: usize, column: usize| {
        multiply_with_join(sum, left[2 * row], right[column], side / 2);
        multiply_with_join(sum, left[2 * row + 1], right[2 + column], side / 2);
    };
    let [upper_left, upper_right, lower_left, lower_right] = quarters_mut(sum);
    rayon::join(
        || rayon::join(|| quarter(upper_left, 0, 0), || quarter(upper_right, 0, 1)),
        || rayon::join(|| quarter(lower_left, 1, 0), || quarter(lower_right, 1, 1)),
    );
}

fn multiply_tile(sum: &mut [f64], left: &[f64], right: &[f64], side: usize) {
    add_cost((side as u64).pow(3));
    for (sums, lefts) in sum.chunks_exact_mut(side).zip(left.chunks_exact(side)) {
        for (factor, rights) in lefts.iter().zip(right.chunks_exact(side)) {
            for (sum, right) in sums.iter_mut().zip(rights) {
                *sum += factor * right;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_in_z_order() {
        let tile = TILE_SIDE * TILE_SIDE;
        let firsts = |side: usize| -> Vec<usize> {
            let starts = (0..side).step_by(TILE_SIDE);
            starts
                .clone()
                .flat_map(|row| {
                    starts
                        .clone()
                        .map(move |column| place(row, column, side) / tile)
                })
                .collect()
        };
        assert_eq!(firsts(2 * TILE_SIDE), [0, 1, 2, 3]);
        assert_eq!(
            firsts(4 * TILE_SIDE),
            [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
        );
    }

    #[test]
    fn one_wrong_element_is_noticed() {
        let side = 2;
        let (left, right) = (vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0, 7.0, 8.0]);
        let probes = vec![vec![3.0, 1_000.0]];
        let mut instance = Product {
            side,
            left,
            right,
            probes,
            answer: vec![19.0, 22.0, 43.0, 50.0],
        };
        assert!(instance.check().is_ok());
        instance.answer[2] = 44.0;
        assert!(
            instance
                .check()
                .unwrap_err()
                .actual
                .starts_with("not the product by probe 0")
        );
    }
}
