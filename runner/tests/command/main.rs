//! The command as its users meet it: one program, as each would link the whole runner.

mod answers;
mod boxes;
mod cli;
mod common;
mod compare;
mod doctor;
mod frequency;
mod instrument;
mod namespace;
mod on_this_host;
mod order;
mod record;
mod resume;
mod shards;
mod simulated;
mod table;
mod validate;
