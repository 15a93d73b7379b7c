//! `decode`: the matrix products by which a language model computes one token after the other.
//!
//! Each layer has seven products of a matrix of bytes and a vector. Each product is one flat
//! parallel loop over rows, so with 28 layers a token takes 196 small parallel regions. The shapes
//! are those of a model of 0.6 billion parameters, without attention and norms.

use std::collections::BTreeMap;
use std::time::Instant;

use protocol::{Metric, Refusal};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::kinds::fingerprint::fingerprint;
use crate::kinds::latency::Latencies;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup};

/// Rows and columns of the seven matrices of a layer, as multiples of the model's width. Four
/// matrices belong to attention, three to the feed-forward net.
const SHAPES: [(usize, usize); 7] = [(2, 1), (1, 1), (1, 1), (1, 2), (3, 1), (3, 1), (1, 3)];

/// The input of each matrix: the number of the product that gives this input, or 0 for the layer's
/// own input.
const INPUTS: [usize; 7] = [0, 0, 0, 1, 4, 4, 6];

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    let mut random = Random::new(setup.seed);
    let width = values.count("width");
    let layers = values.count("layers");
    let kept = values.count("layers-kept").min(layers);
    let first = (0..width).map(|_| byte(&mut random)).collect::<Vec<i8>>();
    let mut matrix = |(rows, columns): (usize, usize)| {
        Matrix::random(rows * width, columns * width, &mut random)
    };
    let weights = (0..kept).map(|_| SHAPES.map(&mut matrix)).collect();
    let model = Model {
        weights,
        layers,
        task_rows: values.count("task-rows"),
    };
    Ok(Box::new(Decoder {
        known: model.token(&first, Matrix::times_by_columns),
        model,
        is_inside: values.word("from") == "inside",
        tokens: values.count("tokens"),
        first,
        right: 0,
        took: Latencies::new("latency"),
    }))
}

/// A matrix of bytes, row after row.
struct Matrix {
    columns: usize,
    entries: Vec<i8>,
}

fn byte(random: &mut Random) -> i8 {
    narrow(i32::try_from(random.below(1 << 16)).expect("the word has 16 bits"))
}

fn narrow(sum: i32) -> i8 {
    i8::from_le_bytes([sum.to_le_bytes()[1]])
}

impl Matrix {
    fn random(rows: usize, columns: usize, random: &mut Random) -> Self {
        let entries = (0..rows * columns).map(|_| byte(random)).collect();
        Self { columns, entries }
    }

    fn row_times(&self, row: usize, vector: &[i8]) -> i8 {
        let entries = &self.entries[row * self.columns..][..self.columns];
        narrow(
            entries
                .iter()
                .zip(vector)
                .map(|(&a, &b)| i32::from(a) * i32::from(b))
                .sum(),
        )
    }

    fn rows(&self) -> usize {
        self.entries.len() / self.columns
    }

    fn times(&self, vector: &[i8]) -> Vec<i8> {
        (0..self.rows())
            .map(|row| self.row_times(row, vector))
            .collect()
    }

    fn times_by_columns(&self, vector: &[i8]) -> Vec<i8> {
        let mut sums = vec![0_i32; self.rows()];
        for (column, &factor) in vector.iter().enumerate() {
            for (row, sum) in sums.iter_mut().enumerate() {
                *sum += i32::from(self.entries[row * self.columns + column]) * i32::from(factor);
            }
        }
        sums.into_iter().map(narrow).collect()
    }

    fn times_in_parallel(&self, vector: &[i8], task_rows: usize) -> Vec<i8> {
        let mut product = vec![0; self.rows()];
        let tasks = product
            .par_chunks_mut(task_rows)
            .enumerate()
            .with_max_len(1);
        tasks.for_each(|(task, entries)| {
            for (row, entry) in entries.iter_mut().enumerate() {
                *entry = self.row_times(task * task_rows + row, vector);
            }
        });
        product
    }
}

struct Model {
    /// The matrices of each layer. If there are fewer sets of matrices than layers, the layers use
    /// the sets in rotation.
    weights: Vec<[Matrix; 7]>,
    layers: usize,
    task_rows: usize,
}

impl Model {
    fn token(&self, first: &[i8], times: impl Fn(&Matrix, &[i8]) -> Vec<i8>) -> u64 {
        let mut vector = first.to_vec();
        for layer in 0..self.layers {
            let mut made = vec![vector];
            for (matrix, input) in self.weights[layer % self.weights.len()].iter().zip(INPUTS) {
                made.push(times(matrix, &made[input]));
            }
            vector = made.pop().expect("a layer has seven products");
        }
        fingerprint(
            vector
                .into_iter()
                .map(|entry| u64::from(entry.to_le_bytes()[0])),
        )
    }
}

struct Decoder {
    model: Model,
    is_inside: bool,
    tokens: usize,
    first: Vec<i8>,
    known: u64,
    right: usize,
    took: Latencies,
}

impl Decoder {
    fn run(&mut self, token: impl Fn(&Model, &[i8]) -> u64) -> u64 {
        for _ in 0..self.tokens {
            let begun = Instant::now();
            let found = token(&self.model, &self.first);
            self.took.note(begun.elapsed());
            self.right += usize::from(found == self.known);
        }
        self.tokens as u64
    }
}

impl Instance for Decoder {
    fn reset(&mut self) {
        self.right = 0;
        self.took.begin_run(self.tokens);
    }

    fn forget_warmup(&mut self) {
        self.took.forget();
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(|model, first| model.token(first, Matrix::times))
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let inside = |model: &Model, first: &[i8]| {
            model.token(first, |matrix, vector| {
                matrix.times_in_parallel(vector, model.task_rows)
            })
        };
        if self.is_inside {
            return pool.install(|| self.run(inside));
        }
        self.run(|model, first| {
            model.token(first, |matrix, vector| {
                pool.install(|| matrix.times_in_parallel(vector, model.task_rows))
            })
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.took.end_run();
        let describe =
            |right: usize| format!("{right} of {} tokens are {:016x}", self.tokens, self.known);
        Mismatch::unless_equal(&describe(self.tokens), &describe(self.right))
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        self.took.metrics().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_entry_of_a_matrix_makes_another_token() {
        let mut random = Random::new(1);
        let weights =
            vec![SHAPES.map(|(rows, columns)| Matrix::random(8 * rows, 8 * columns, &mut random))];
        let mut model = Model {
            weights,
            layers: 2,
            task_rows: 3,
        };
        let first = [100; 8];
        let known = model.token(&first, Matrix::times_by_columns);
        assert_eq!(model.token(&first, Matrix::times), known);
        model.weights[0][6].entries[5] ^= 64;
        assert_ne!(model.token(&first, Matrix::times), known);
    }
}
