//! `life`: Conway's game of life on a torus.
//!
//! Each generation is one short parallel loop over rows, with a barrier at its end. With a frame
//! rate, an external thread calls the pool once per frame, as a game does.

use std::mem;
use std::time::{Duration, Instant};

use protocol::Refusal;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::kinds::fingerprint::fingerprint;
use crate::kinds::pacing::sleep_until;
use crate::machine::add_cost;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    let (rows, columns) = (values.count("rows"), values.count("columns"));
    let mut random = Random::new(setup.seed);
    // At first, 30 % of the cells are alive: with fewer or more, most cells would die at once.
    let initial: Vec<u8> = (0..rows * columns)
        .map(|_| u8::from(random.below(10) < 3))
        .collect();
    let generations = values.whole("generations");
    let last = (0..generations).fold(initial.clone(), |cells, _| next_by_boxes(&cells, columns));
    Ok(Box::new(Torus {
        known: describe(&last),
        cells: initial.clone(),
        next: vec![0; initial.len()],
        initial,
        columns,
        generations,
        frame: Duration::from_micros(values.whole("frame-us")),
    }))
}

struct Torus {
    initial: Vec<u8>,
    /// The cells, row by row: 1 is alive, 0 is dead.
    cells: Vec<u8>,
    next: Vec<u8>,
    columns: usize,
    generations: u64,
    /// The time from one frame to the next; zero if each generation follows at once.
    frame: Duration,
    known: String,
}

impl Torus {
    fn advance(&mut self) {
        for (row, next) in self.next.chunks_exact_mut(self.columns).enumerate() {
            next_row(&self.cells, row, next);
        }
        mem::swap(&mut self.cells, &mut self.next);
    }

    fn advance_in_parallel(&mut self) {
        self.next
            .par_chunks_exact_mut(self.columns)
            .enumerate()
            .for_each(|(row, next)| next_row(&self.cells, row, next));
        mem::swap(&mut self.cells, &mut self.next);
    }

    fn generations(&mut self, advance: impl Fn(&mut Self)) -> u64 {
        let mut begin = Instant::now();
        for _ in 0..self.generations {
            sleep_until(begin);
            advance(self);
            begin += self.frame;
        }
        self.generations * self.cells.len() as u64
    }
}

impl Instance for Torus {
    fn reset(&mut self) {
        self.cells.copy_from_slice(&self.initial);
    }

    fn run_sequential(&mut self) -> u64 {
        self.generations(Self::advance)
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        if self.frame.is_zero() {
            pool.install(|| self.generations(Self::advance_in_parallel))
        } else {
            self.generations(|torus| pool.install(|| torus.advance_in_parallel()))
        }
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        Mismatch::unless_equal(&self.known, &describe(&self.cells))
    }
}

fn describe(cells: &[u8]) -> String {
    let alive = (0_u64..)
        .zip(cells)
        .filter(|(_, cell)| **cell == 1)
        .map(|(place, _)| place);
    format!(
        "{} alive, places {:016x}",
        alive.clone().count(),
        fingerprint(alive)
    )
}

fn next_row(cells: &[u8], row: usize, next: &mut [u8]) {
    add_cost(next.len() as u64);
    let (columns, rows) = (next.len(), cells.len() / next.len());
    let line = |row: usize| &cells[row % rows * columns..][..columns];
    let lines = [line(row + rows - 1), line(row), line(row + 1)];
    let at = |left: usize, column: usize, right: usize| {
        let [above, here, below] = lines;
        let neighbours = above[left]
            + above[column]
            + above[right]
            + here[left]
            + here[right]
            + below[left]
            + below[column]
            + below[right];
        rule(neighbours, here[column])
    };
    let last = columns - 1;
    // Computes the edges separately, so that the compiler can vectorise the rest.
    next[0] = at(last, 0, 1 % columns);
    next[last] = at((last + columns - 1) % columns, last, 0);
    if columns > 2 {
        let [above, here, below] = lines;
        let around = above.windows(3).zip(here.windows(3)).zip(below.windows(3));
        for (next, ((above, here), below)) in next[1..last].iter_mut().zip(around) {
            let neighbours =
                above[0] + above[1] + above[2] + here[0] + here[2] + below[0] + below[1] + below[2];
            *next = rule(neighbours, here[1]);
        }
    }
}

/// With three living neighbours a cell lives, with two it stays as it is, otherwise it is dead.
fn rule(neighbours: u8, cell: u8) -> u8 {
    u8::from((neighbours | cell) == 3)
}

/// Computes the next generation in another way: sums of 3 × 3 squares, first along rows, then along
/// columns. If the sum is 3, the centre lives; if it is 4, the centre stays as it is.
fn next_by_boxes(cells: &[u8], columns: usize) -> Vec<u8> {
    let mut along_rows = Vec::with_capacity(cells.len());
    for row in cells.chunks_exact(columns) {
        let closed: Vec<u8> = [&row[columns - 1..], row, &row[..1]].concat();
        along_rows.extend(
            closed
                .windows(3)
                .map(|three| three[0] + three[1] + three[2]),
        );
    }
    let (mut above, mut below) = (along_rows.clone(), along_rows.clone());
    above.rotate_right(columns);
    below.rotate_left(columns);
    let along_columns = above
        .iter()
        .zip(&along_rows)
        .zip(&below)
        .map(|((a, b), c)| a + b + c);
    let keeps = |(sum, cell): (u8, &u8)| u8::from(sum == 3) | (u8::from(sum == 4) & cell);
    along_columns.zip(cells).map(keeps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn torus(columns: usize, picture: &str) -> Torus {
        let initial: Vec<u8> = picture.bytes().map(|cell| u8::from(cell == b'#')).collect();
        Torus {
            known: String::new(),
            cells: initial.clone(),
            next: vec![0; initial.len()],
            initial,
            columns,
            generations: 1,
            frame: Duration::ZERO,
        }
    }

    #[test]
    fn a_glider_is_one_cell_further_along_the_diagonal_after_four_generations() {
        let glider = concat!(".#....", "..#...", "###...", "......", "......", "......");
        let moved = concat!("......", "..#...", "...#..", ".###..", "......", "......");
        let mut torus = torus(6, glider);
        let by_boxes = (0..4).fold(torus.cells.clone(), |cells, _| next_by_boxes(&cells, 6));
        (0..4).for_each(|_| torus.advance());
        assert_eq!(torus.cells, self::torus(6, moved).cells);
        assert_eq!(by_boxes, torus.cells);
    }

    #[test]
    fn narrow_tori_count_a_neighbour_as_often_as_it_is_met() {
        for columns in 1..5 {
            for rows in 1..5 {
                for seed in 0..20 {
                    let mut random = Random::new(seed);
                    let cells: String = (0..rows * columns)
                        .map(|_| if random.below(2) == 0 { '#' } else { '.' })
                        .collect();
                    let mut torus = torus(columns, &cells);
                    let expected = next_by_boxes(&torus.cells, columns);
                    torus.advance_in_parallel();
                    assert_eq!(torus.cells, expected, "{rows} rows of {columns}: {cells}");
                }
            }
        }
    }

    #[test]
    fn a_generation_too_few_is_rejected() {
        let mut torus = torus(4, ".....###........");
        torus.known = describe(&next_by_boxes(&torus.cells, 4));
        assert!(torus.check().is_err());
        torus.run_sequential();
        assert!(torus.check().is_ok());
    }
}
