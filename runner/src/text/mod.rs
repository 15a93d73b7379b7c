//! Text for people: output and messages.

pub(crate) mod output;
pub mod words;
