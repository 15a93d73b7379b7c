//! Reports on records: how far a sweep got, pages, and the results of the analysis.

pub(crate) mod page;
pub mod summary;
