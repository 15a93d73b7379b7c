//! Tests properties of each workload of this crate.

mod agreement;
mod answers;
mod catalogue;
#[path = "../common/mod.rs"]
mod common;

use protocol::Part;
use workloads::CATALOGUE;

const IS_OURS: fn(Part) -> bool = |part| matches!(part, Part::Study | Part::Further);
