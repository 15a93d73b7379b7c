//! What is told of records: tables, pages, and the judgement, which the analysis makes.

pub(crate) mod judgement;
pub(crate) mod page;
pub mod python;
pub mod summary;
pub mod table;
