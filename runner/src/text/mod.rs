//! Text for people: tables and messages.

pub(crate) mod table;
pub mod words;
