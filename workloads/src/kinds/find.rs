//! `find`: a search that ends early.
//!
//! Each search has to stop the others as soon as one has found: what counts is how soon the rest of
//! a loop is given up, and how little was begun in vain.

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::kinds::one_number::{OneNumber, Problem};
use crate::machine::charge;
use crate::random::Random;
use crate::workload::{Instance, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "find",
    summary: "searches for numbers at random places of a shuffled slice, one after the other",
    stresses: "early exit: work that is thrown away, short parallel loops",
    work_unit: "searches",
    input: None,
    lasts: None,
    charge: Some("find"),
    parameters: &[
        Parameter::whole("elements", "length of the slice", (1, 1 << 30), "1000000"),
        Parameter::whole(
            "searches",
            "searches, one after the other",
            (1, 1_000_000),
            "10",
        ),
        Parameter::one_of(
            "which",
            "find any match, or the first (there is only one)",
            &["any", "first"],
            "any",
        ),
    ],
    sizes: &SizeOverrides::all(
        &[("elements", "10000")],
        &[("searches", "200")],
        &[("searches", "2000")],
        &[("searches", "20000")],
    ),
};

/// The workload `find`.
#[derive(Clone, Copy, Debug)]
pub struct Find;

impl Workload for Find {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let mut random = Random::new(setup.seed);
        let elements =
            u32::try_from(setup.values.whole("elements")).expect("at most 2^30 elements");
        let mut values: Vec<u32> = (0..elements).collect();
        random.shuffle(&mut values);
        let places = (0..setup.values.whole("searches"))
            .map(|_| usize::try_from(random.below(elements.into())).expect("an index"))
            .collect();
        let is_first = setup.values.word("which") == "first";
        Ok(Box::new(OneNumber::new(Searches {
            values,
            places,
            is_first,
        })))
    }
}

#[derive(Debug)]
struct Searches {
    /// Distinct numbers.
    values: Vec<u32>,
    /// Where the numbers to search for are.
    places: Vec<usize>,
    is_first: bool,
}

impl Searches {
    fn sum_of_places(&self, search: impl Fn(u32) -> Option<usize>) -> u64 {
        let found = self.places.iter().map(|&place| search(self.values[place]));
        found
            .map(|place| place.expect("the number is there") as u64)
            .sum()
    }
}

fn is_wanted(value: u32, wanted: u32) -> bool {
    charge(1);
    value == wanted
}

impl Problem for Searches {
    fn sequential(&self) -> u64 {
        self.sum_of_places(|wanted| {
            self.values
                .iter()
                .position(|&value| is_wanted(value, wanted))
        })
    }

    fn parallel(&self) -> u64 {
        if self.is_first {
            self.sum_of_places(|wanted| {
                self.values
                    .par_iter()
                    .position_first(|&value| is_wanted(value, wanted))
            })
        } else {
            self.sum_of_places(|wanted| {
                self.values
                    .par_iter()
                    .position_any(|&value| is_wanted(value, wanted))
            })
        }
    }

    fn work_units(&self) -> u64 {
        self.places.len() as u64
    }

    /// The sum of the places that were drawn.
    fn known(&self) -> u64 {
        self.places.iter().map(|&place| place as u64).sum()
    }
}
