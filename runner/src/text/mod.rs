//! Text for people: tables and messages.

pub mod table;
pub mod words;
