//! Text for people: tables, and what is told.

pub mod table;
pub mod words;
