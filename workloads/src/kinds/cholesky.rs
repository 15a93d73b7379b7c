//! `cholesky`: the Cholesky factor of a symmetric matrix, tile by tile.
//!
//! One tile is factored alone, then a column of tiles in parallel, then the triangle to the right
//! of it; and again with a smaller triangle. Wide loops at first, narrow ones at the end, and a
//! sequential piece between any two.

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::kinds::fingerprint::fingerprint;
use crate::machine::charge;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup, Workload};

/// Rows of a tile. Three tiles of 8 KiB fit the first cache.
const SIDE: usize = 32;

/// Multiplications of a product of two tiles; to factor one takes a sixth, to solve for one half.
const PRODUCT: u64 = (SIDE as u64).pow(3);

static DESCRIPTION: Description = Description {
    name: "cholesky",
    summary: "Cholesky factorisation of a dense matrix in square tiles",
    stresses: "loops that shrink from wide to narrow, sequential pieces between them",
    work_unit: "tile-operations",
    input: None,
    lasts: None,
    charge: Some("cholesky"),
    parameters: &[Parameter::whole(
        "tiles",
        "tiles in a row of the matrix, 32 numbers each",
        (1, 256),
        "2",
    )],
    sizes: &SizeOverrides::all(
        &[],
        &[("tiles", "28")],
        &[("tiles", "60")],
        &[("tiles", "130")],
    ),
};

/// The workload `cholesky`.
#[derive(Clone, Copy, Debug)]
pub struct Cholesky;

impl Workload for Cholesky {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let known = KnownFactor::random(setup.seed, setup.values.count("tiles") * SIDE);
        let original = known.product();
        Ok(Box::new(Factorisation {
            columns: original.clone(),
            original,
            known,
        }))
    }
}

/// A square of the matrix, row by row.
type Tile = Vec<f64>;

/// For each column of tiles those on and below the diagonal.
type Columns = Vec<Vec<Tile>>;

/// A factor that is known beforehand: row i, column j holds `rows[i] * columns[j]`. These are whole
/// numbers, so that every step of the factorisation is exact, in any order.
struct KnownFactor {
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl KnownFactor {
    fn random(seed: u64, side: usize) -> Self {
        let mut random = Random::new(seed);
        let (rows, columns) = (0..side)
            .map(|_| {
                // Of the same sign, since a diagonal is positive.
                let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
                (
                    sign * (random.below(2) + 1) as f64,
                    sign * (random.below(3) + 1) as f64,
                )
            })
            .unzip();
        Self { rows, columns }
    }

    /// The matrix with this factor. Row i of the factor times row j is a product of row numbers and
    /// a sum of squares.
    fn product(&self) -> Columns {
        let squares: Vec<f64> = self
            .columns
            .iter()
            .scan(0.0, |sum, column| {
                *sum += column * column;
                Some(*sum)
            })
            .collect();
        self.tiled(|row, column| self.rows[row] * self.rows[column] * squares[row.min(column)])
    }

    fn factor(&self) -> Columns {
        self.tiled(|row, column| {
            if column <= row {
                self.rows[row] * self.columns[column]
            } else {
                0.0
            }
        })
    }

    fn tiled(&self, element: impl Fn(usize, usize) -> f64) -> Columns {
        let tiles = self.rows.len() / SIDE;
        let tile = |tile_row: usize, tile_column: usize| {
            let place = |index: usize| {
                (
                    tile_row * SIDE + index / SIDE,
                    tile_column * SIDE + index % SIDE,
                )
            };
            (0..SIDE * SIDE)
                .map(place)
                .map(|(row, column)| element(row, column))
                .collect()
        };
        (0..tiles)
            .map(|column| (column..tiles).map(|row| tile(row, column)).collect())
            .collect()
    }
}

struct Factorisation {
    original: Columns,
    columns: Columns,
    known: KnownFactor,
}

impl Factorisation {
    /// Tiles that are factored, solved or updated, all together.
    fn tile_operations(&self) -> u64 {
        let tiles = self.columns.len() as u64;
        tiles * (tiles + 1) * (tiles + 2) / 6
    }
}

impl Instance for Factorisation {
    fn reset(&mut self) {
        for (column, original) in self.columns.iter_mut().zip(&self.original) {
            for (tile, original) in column.iter_mut().zip(original) {
                tile.copy_from_slice(original);
            }
        }
    }

    fn run_sequential(&mut self) -> u64 {
        let mut columns = self.columns.as_mut_slice();
        while let [column, right @ ..] = columns {
            let (diagonal, below) = column.split_first_mut().expect("it begins on the diagonal");
            factor(diagonal);
            for tile in below.iter_mut() {
                solve(tile, diagonal);
            }
            for (first, column) in right.iter_mut().enumerate() {
                let factors = &below[first..];
                for (tile, factor) in column.iter_mut().zip(factors) {
                    subtract_product(tile, factor, &factors[0]);
                }
            }
            columns = right;
        }
        self.tile_operations()
    }

    fn run_parallel(&mut self) -> u64 {
        let mut columns = self.columns.as_mut_slice();
        while let [column, right @ ..] = columns {
            let (diagonal, below) = column.split_first_mut().expect("it begins on the diagonal");
            factor(diagonal);
            below.par_iter_mut().for_each(|tile| solve(tile, diagonal));
            right
                .par_iter_mut()
                .enumerate()
                .for_each(|(first, column)| {
                    let factors = &below[first..];
                    column
                        .par_iter_mut()
                        .zip(factors)
                        .for_each(|(tile, factor)| {
                            subtract_product(tile, factor, &factors[0]);
                        });
                });
            columns = right;
        }
        self.tile_operations()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe = |columns: &Columns| {
            let elements = columns.iter().flatten().flatten();
            // Adding 0 makes a negative zero positive.
            format!(
                "factor {:016x}",
                fingerprint(elements.map(|x| (x + 0.0).to_bits()))
            )
        };
        // The fingerprint does not see where an element is, so they are compared as well.
        let expected = self.known.factor();
        let is_equal = expected == self.columns;
        let actual = describe(&self.columns);
        let actual = if is_equal {
            actual
        } else {
            format!("another matrix than the factor, {actual}")
        };
        Mismatch::unless_equal(&describe(&expected), &actual)
    }
}

/// Replaces a symmetric tile by its lower factor, with zeros above the diagonal.
fn factor(tile: &mut [f64]) {
    charge(PRODUCT / 6);
    for row in 0..SIDE {
        let (done, rest) = tile.split_at_mut(row * SIDE);
        let current = &mut rest[..SIDE];
        for column in 0..row {
            let other = &done[column * SIDE..][..SIDE];
            let sum: f64 = current[..column]
                .iter()
                .zip(other)
                .map(|(a, b)| a * b)
                .sum();
            current[column] = (current[column] - sum) / other[column];
        }
        let sum: f64 = current[..row].iter().map(|a| a * a).sum();
        current[row] = (current[row] - sum).sqrt();
        current[row + 1..].fill(0.0);
    }
}

/// Replaces a tile below a factored diagonal one by its part of the factor.
fn solve(tile: &mut [f64], diagonal: &[f64]) {
    charge(PRODUCT / 2);
    let columns_of_diagonal = transpose(diagonal);
    for row in tile.chunks_exact_mut(SIDE) {
        for (column, factors) in columns_of_diagonal.chunks_exact(SIDE).enumerate() {
            let solved = row[column] / factors[column];
            row[column] = solved;
            for (rest, factor) in row[column + 1..].iter_mut().zip(&factors[column + 1..]) {
                *rest -= solved * factor;
            }
        }
    }
}

/// Subtracts `left` times the transpose of `right`.
fn subtract_product(tile: &mut [f64], left: &[f64], right: &[f64]) {
    charge(PRODUCT);
    let right = transpose(right);
    for (row, lefts) in tile.chunks_exact_mut(SIDE).zip(left.chunks_exact(SIDE)) {
        for (left, rights) in lefts.iter().zip(right.chunks_exact(SIDE)) {
            for (element, right) in row.iter_mut().zip(rights) {
                *element -= left * right;
            }
        }
    }
}

/// Columns as rows, so that inner loops run along memory.
fn transpose(tile: &[f64]) -> [f64; SIDE * SIDE] {
    let mut transposed = [0.0; SIDE * SIDE];
    for (row, elements) in tile.chunks_exact(SIDE).enumerate() {
        for (column, element) in elements.iter().enumerate() {
            transposed[column * SIDE + row] = *element;
        }
    }
    transposed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factorisation(tiles: usize) -> Factorisation {
        let known = KnownFactor::random(1, tiles * SIDE);
        let original = known.product();
        Factorisation {
            columns: original.clone(),
            original,
            known,
        }
    }

    #[test]
    fn the_matrix_is_the_product_of_the_known_factor_and_its_transpose() {
        let known = KnownFactor::random(2, SIDE);
        let (product, factor) = (known.product(), known.factor());
        for (row, column) in [(0, 0), (5, 3), (31, 30), (31, 31)] {
            let dot: f64 = (0..SIDE)
                .map(|k| factor[0][0][row * SIDE + k] * factor[0][0][column * SIDE + k])
                .sum();
            assert_eq!(product[0][0][row * SIDE + column].to_bits(), dot.to_bits());
        }
    }

    #[test]
    fn a_matrix_that_is_not_factored_or_wrong_in_one_place_is_rejected() {
        let mut instance = factorisation(3);
        assert!(instance.check().is_err());
        instance.run_parallel();
        assert!(instance.check().is_ok());
        instance.columns[1][1][7] += 1.0;
        assert!(instance.check().is_err());
    }
}
