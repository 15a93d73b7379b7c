//! Tests the command as users run it. All tests are in one program, because each program links the
//! whole runner.

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
mod resume;
mod shards;
mod simulated;
mod table;
mod validate;
