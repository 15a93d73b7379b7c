//! `str-split`: a text is cut into words by the facade's string splitting.
//!
//! Where to cut is not known beforehand: a task gets a middle, looks for a space near it, and hands
//! on what it found. Texts split unevenly, and there are no indices to make up for it.

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::kinds::one_number::{OneNumber, Problem};
use crate::machine::charge;
use crate::random::{Random, mix};
use crate::workload::{Instance, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "str-split",
    summary: "splits a text of random words at spaces and sums up a function of their lengths",
    stresses: "splitting without indices, light work per item",
    work_unit: "words",
    input: None,
    lasts: None,
    charge: Some("str-split"),
    parameters: &[Parameter::whole(
        "words",
        "words of the text",
        (1, 1 << 28),
        "2000",
    )],
    sizes: &SizeOverrides::all(
        &[],
        &[("words", "1000000")],
        &[("words", "10000000")],
        &[("words", "100000000")],
    ),
};

/// Letters of one, two and three bytes, so that not every byte begins one.
const LETTERS: [char; 5] = ['a', 'n', 'e', 'é', '語'];

/// Longest word, in letters. Words of no letters occur: two spaces in a row.
const LONGEST: u64 = 12;

/// The workload `str-split`.
#[derive(Clone, Copy, Debug)]
pub struct StrSplit;

impl Workload for StrSplit {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(OneNumber::new(write(
            setup.seed,
            setup.values.whole("words"),
        ))))
    }
}

#[derive(Debug)]
struct Text {
    written: String,
    words: u64,
    /// What was written, summed up word by word.
    known: u64,
}

fn write(seed: u64, words: u64) -> Text {
    let mut random = Random::new(seed);
    let (mut text, mut known) = (String::new(), 0_u64);
    for word in 0..words {
        if word > 0 {
            text.push(' ');
        }
        let begin = text.len();
        for _ in 0..random.below(LONGEST + 1) {
            let letter = usize::try_from(random.below(LETTERS.len() as u64)).expect("an index");
            text.push(LETTERS[letter]);
        }
        known = known.wrapping_add(weight(text.len() - begin));
    }
    Text {
        written: text,
        words,
        known,
    }
}

/// What a word of so many bytes adds to the answer: not linear, so that a cut at a wrong place
/// shows.
fn weight(bytes: usize) -> u64 {
    // The space that ends it was looked at, too.
    charge(bytes as u64 + 1);
    mix(bytes as u64 + 1)
}

impl Problem for Text {
    fn sequential(&self) -> u64 {
        self.written
            .split(' ')
            .map(|word| weight(word.len()))
            .fold(0, u64::wrapping_add)
    }

    fn parallel(&self) -> u64 {
        self.written
            .par_split(' ')
            .map(|word| weight(word.len()))
            .reduce(|| 0, u64::wrapping_add)
    }

    fn work_units(&self) -> u64 {
        self.words
    }

    fn known(&self) -> u64 {
        self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_words_that_were_asked_for_and_a_missing_space_shows() {
        let text = write(1, 500);
        assert_eq!(text.written.split(' ').count(), 500);
        assert_eq!(text.sequential(), text.known());
        let joined = Text {
            written: text.written.replacen("  ", " ", 1),
            ..text
        };
        assert_ne!(joined.sequential(), joined.known());
    }
}
