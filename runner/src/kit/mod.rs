//! The record that `on-this-host` keeps of a host, and the one file in which it travels to other
//! checkouts.

pub mod archive;
pub mod contents;
pub mod parcel;
pub mod personal;
pub mod record;
pub mod threads;
