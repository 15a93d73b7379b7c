//! `nqueens`: in how many ways n queens stand on a board without attacking each other.
//!
//! The subtrees of the search are independent, and differ a lot in size.

use protocol::Refusal;
use rayon::prelude::*;

use crate::kinds::one_number::{OneNumber, Problem};
use crate::machine::add_cost;
use crate::workload::{Instance, Setup};

/// Number of solutions for 1, 2, … queens (sequence A000170 of the OEIS).
const SOLUTIONS: [u64; 18] = [
    1,
    0,
    0,
    2,
    10,
    4,
    40,
    92,
    352,
    724,
    2_680,
    14_200,
    73_712,
    365_596,
    2_279_184,
    14_772_512,
    95_815_104,
    666_090_624,
];

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let number =
        |name| u32::try_from(setup.values.whole(name)).expect("the row allows 18 queens at most");
    let (queens, parallel_rows) = (number("queens"), number("parallel-rows"));
    Ok(Box::new(OneNumber::new(Board {
        queens,
        parallel_rows,
    })))
}

struct Board {
    queens: u32,
    parallel_rows: u32,
}

impl Board {
    fn empty(&self) -> Position {
        Position {
            all: (1 << self.queens) - 1,
            columns: 0,
            falling: 0,
            rising: 0,
        }
    }
}

impl Problem for Board {
    fn sequential(&self) -> u64 {
        self.empty().solutions()
    }

    fn parallel(&self) -> u64 {
        self.empty().solutions_in_parallel(self.parallel_rows)
    }

    fn work_units(&self) -> u64 {
        1
    }

    fn known(&self) -> u64 {
        SOLUTIONS[self.queens as usize - 1]
    }
}

/// A board with queens in its upper rows; each field is a set with a bit per column.
#[derive(Clone, Copy)]
struct Position {
    all: u32,
    columns: u32,
    /// Columns of the next row that a queen attacks along a falling diagonal.
    falling: u32,
    /// Columns of the next row that a queen attacks along a rising diagonal.
    rising: u32,
}

impl Position {
    fn free(self) -> u32 {
        self.all & !(self.columns | self.falling | self.rising)
    }

    fn with(self, bit: u32) -> Self {
        Self {
            all: self.all,
            columns: self.columns | bit,
            falling: (self.falling | bit) << 1,
            rising: (self.rising | bit) >> 1,
        }
    }

    fn solutions(self) -> u64 {
        add_cost(1);
        if self.columns == self.all {
            return 1;
        }
        let mut free = self.free();
        let mut solutions = 0;
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free ^= bit;
            solutions += self.with(bit).solutions();
        }
        solutions
    }

    fn solutions_in_parallel(self, parallel_rows: u32) -> u64 {
        if parallel_rows == 0 || self.columns == self.all {
            return self.solutions();
        }
        add_cost(1);
        let free = self.free();
        (0..u32::BITS - self.all.leading_zeros())
            .into_par_iter()
            .map(|column| 1 << column)
            .filter(|bit| free & bit != 0)
            .map(|bit| self.with(bit).solutions_in_parallel(parallel_rows - 1))
            .sum()
    }
}
