//! What is told of records: how far a sweep got, pages, and what the analysis makes of them.

pub(crate) mod page;
pub mod summary;
