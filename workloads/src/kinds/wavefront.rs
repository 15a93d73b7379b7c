//! `wavefront`: the longest common subsequence of two texts, by blocks of a grid that need their
//! neighbours.
//!
//! A block can begin when the one above and the one to the left are done, so what is ready is a
//! diagonal, which grows and shrinks again. Dynamic programmes and solvers on grids have this
//! shape. Either each block counts down what its successors wait for, and spawns those that are
//! ready, or every diagonal is a parallel loop, with a barrier after it.

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::Scope;
use rayon::prelude::*;

use crate::kinds::one_number::{OneNumber, Problem};
use crate::machine::atomic::{AtomicU32, Ordering::AcqRel};
use crate::machine::{Mutex, charge};
use crate::random::Random;
use crate::workload::{Instance, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "wavefront",
    summary: "longest common subsequence of two texts, block by block, each after the ones above and to the left",
    stresses: "tasks that become ready one by one, parallelism that grows and shrinks",
    work_unit: "cells",
    input: None,
    lasts: None,
    charge: Some("wavefront"),
    parameters: &[
        Parameter::whole(
            "letters",
            "letters of each text; the grid has their square",
            (1, 1 << 20),
            "400",
        ),
        // A guess: some 20 us a block.
        Parameter::whole("block", "rows and columns of a block", (1, 1 << 20), "128"),
        Parameter::one_of(
            "order",
            "blocks are spawned when the two before them are done, or diagonals are loops with barriers",
            &["counted", "diagonals"],
            "counted",
        ),
    ],
    sizes: &SizeOverrides::all(
        &[("block", "40")],
        &[("letters", "4500")],
        &[("letters", "15000")],
        &[("letters", "45000")],
    ),
};

/// The workload `wavefront`.
#[derive(Clone, Copy, Debug)]
pub struct Wavefront;

impl Workload for Wavefront {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let letters = setup.values.count("letters");
        let mut random = Random::new(setup.seed);
        let mut text = || (0..letters).map(|_| letter(&mut random)).collect();
        Ok(Box::new(OneNumber::new(Texts {
            down: text(),
            across: text(),
            block: setup.values.count("block"),
            are_counted: setup.values.word("order") == "counted",
        })))
    }
}

/// Different letters. With few, nearly every row has matches.
const ALPHABET: usize = 4;

fn letter(random: &mut Random) -> u8 {
    u8::try_from(random.index_below(ALPHABET)).expect("a small alphabet")
}

#[derive(Debug)]
struct Texts {
    /// A letter for each row of the grid.
    down: Vec<u8>,
    /// A letter for each column.
    across: Vec<u8>,
    block: usize,
    are_counted: bool,
}

/// What is known of the grid's cells between blocks that are done and blocks that are not.
struct Front<'a> {
    rows: Vec<Strip<'a>>,
    columns: Vec<Strip<'a>>,
    /// Of how many neighbours each block still needs the end, row by row.
    missing: Vec<AtomicU32>,
}

/// A row or a column of blocks.
struct Strip<'a> {
    letters: &'a [u8],
    /// Of a row, the cells to the left of its next block. Of a column, the cells above its next
    /// block, and before them the one to the left of those. One block at a time wants them, so
    /// nobody ever waits.
    cells: Mutex<Vec<u32>>,
}

impl<'a> Strip<'a> {
    fn cut(text: &'a [u8], block: usize, more: usize) -> Vec<Self> {
        let new = |letters: &'a [u8]| Self {
            letters,
            cells: Mutex::new(vec![0; letters.len() + more]),
        };
        text.chunks(block).map(new).collect()
    }
}

impl<'a> Front<'a> {
    fn new(texts: &'a Texts) -> Self {
        let rows = Strip::cut(&texts.down, texts.block, 0);
        let columns = Strip::cut(&texts.across, texts.block, 1);
        let places = (0..rows.len()).flat_map(|row| (0..columns.len()).map(move |it| (row, it)));
        let missing = places.map(|(row, column)| u32::from(row > 0) + u32::from(column > 0));
        Self {
            missing: missing.map(AtomicU32::new).collect(),
            rows,
            columns,
        }
    }

    fn fill(&self, row: usize, column: usize) {
        let (row, column) = (&self.rows[row], &self.columns[column]);
        let mut left = row.cells.lock().expect("no block panics");
        let mut above = column.cells.lock().expect("no block panics");
        fill(row.letters, column.letters, &mut left, &mut above);
    }

    fn fill_and_spawn<'scope>(&'scope self, row: usize, column: usize, scope: &Scope<'scope>) {
        self.fill(row, column);
        for (row, column) in [(row + 1, column), (row, column + 1)] {
            if row == self.rows.len() || column == self.columns.len() {
                continue;
            }
            let missing = &self.missing[row * self.columns.len() + column];
            // ORDERING: AcqRel, pairs with the one of the block's other neighbour: whoever comes
            // second spawns the block, and it must find the cells of both. Relaxed could let it
            // take the cells before the first was done.
            if missing.fetch_sub(1, AcqRel) == 1 {
                scope.spawn(move |scope| self.fill_and_spawn(row, column, scope));
            }
        }
    }

    fn fill_diagonal(&self, diagonal: usize) {
        let first = (diagonal + 1).saturating_sub(self.columns.len());
        let rows = first..self.rows.len().min(diagonal + 1);
        rows.into_par_iter()
            .with_max_len(1)
            .for_each(|row| self.fill(row, diagonal - row));
    }

    /// The last cell of the last row.
    fn answer(&self) -> u64 {
        let last = self.rows[self.rows.len() - 1]
            .cells
            .lock()
            .expect("no block panics");
        u64::from(last[last.len() - 1])
    }
}

/// Fills the cells of these rows and columns. On return `left` and `above` are the last column and
/// the last row.
fn fill(down: &[u8], across: &[u8], left: &mut [u32], above: &mut [u32]) {
    charge((down.len() * across.len()) as u64);
    for (letter, left) in down.iter().zip(left) {
        let mut diagonal = std::mem::replace(&mut above[0], *left);
        for (other, place) in across.iter().zip(&mut above[1..]) {
            let up = *place;
            *left = if letter == other {
                diagonal + 1
            } else {
                up.max(*left)
            };
            *place = *left;
            diagonal = up;
        }
    }
}

impl Problem for Texts {
    fn sequential(&self) -> u64 {
        let mut left = vec![0; self.down.len()];
        fill(
            &self.down,
            &self.across,
            &mut left,
            &mut vec![0; self.across.len() + 1],
        );
        left[left.len() - 1].into()
    }

    fn parallel(&self) -> u64 {
        let front = Front::new(self);
        if self.are_counted {
            rayon::scope(|scope| front.fill_and_spawn(0, 0, scope));
        } else {
            let diagonals = front.rows.len() + front.columns.len() - 1;
            (0..diagonals).for_each(|diagonal| front.fill_diagonal(diagonal));
        }
        front.answer()
    }

    fn work_units(&self) -> u64 {
        (self.down.len() * self.across.len()) as u64
    }

    fn known(&self) -> u64 {
        common_by_bits(&self.down, &self.across)
    }
}

/// The same length without a grid: a word of bits tells in which columns a row's values do not
/// grow, and an addition makes the next row's (Crochemore and others 2001).
fn common_by_bits(down: &[u8], across: &[u8]) -> u64 {
    let words = across.len().div_ceil(64);
    let mut places = vec![vec![0_u64; words]; ALPHABET];
    for (column, &letter) in across.iter().enumerate() {
        places[usize::from(letter)][column / 64] |= 1 << (column % 64);
    }
    let mut level = vec![u64::MAX; words];
    for &letter in down {
        let mut carry = false;
        for (level, places) in level.iter_mut().zip(&places[usize::from(letter)]) {
            let matches = *level & places;
            let (sum, first) = level.overflowing_add(matches);
            let (sum, second) = sum.overflowing_add(carry.into());
            carry = first || second;
            *level = sum | (*level & !places);
        }
    }
    level
        .iter()
        .map(|level| u64::from(level.count_zeros()))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::one_number::assert_solves;

    #[test]
    fn the_length_is_that_which_one_finds_by_hand() {
        // 1 2 1 0 is in both, and nothing longer.
        assert_eq!(
            common_by_bits(&[0, 1, 2, 1, 3, 0, 1], &[1, 3, 2, 0, 1, 0]),
            4
        );
        assert_eq!(common_by_bits(&[0, 1, 2], &[3, 3, 3]), 0);
        assert_eq!(common_by_bits(&[2; 100], &[2; 70]), 70);
    }

    #[test]
    fn blocks_of_any_size_and_both_orders_give_the_length_that_bits_give() {
        for (down, across, block) in [
            (1, 1, 1),
            (1, 9, 2),
            (40, 40, 7),
            (64, 65, 64),
            (130, 40, 8),
            (33, 200, 500),
        ] {
            for are_counted in [true, false] {
                let mut random = Random::new(block as u64);
                let mut text = |letters| (0..letters).map(|_| letter(&mut random)).collect();
                assert_solves(&Texts {
                    down: text(down),
                    across: text(across),
                    block,
                    are_counted,
                });
            }
        }
    }

    #[test]
    fn a_block_that_begins_before_its_neighbour_is_done_changes_the_answer() {
        let text = vec![0; 8];
        let texts = Texts {
            down: text.clone(),
            across: text,
            block: 4,
            are_counted: true,
        };
        let front = Front::new(&texts);
        for (row, column) in [(0, 0), (1, 1), (0, 1), (1, 0)] {
            front.fill(row, column);
        }
        assert_ne!(front.answer(), texts.known());
    }
}
