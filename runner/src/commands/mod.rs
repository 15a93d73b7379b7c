//! One file or folder per command: its arguments, its help text, and the order of its steps.
//! `page.rs` is a part of `compare`.

pub(crate) mod analysis;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod frequency;
pub(crate) mod list;
pub(crate) mod merge;
pub(crate) mod on_this_host;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod show;
pub(crate) mod sweep;
pub(crate) mod validate;
