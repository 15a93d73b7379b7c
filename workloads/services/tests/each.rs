//! Tests properties of each workload of this crate, by the same tests as for the crate `workloads`.

#[path = "../../tests/each/agreement.rs"]
mod agreement;
#[path = "../../tests/each/answers.rs"]
mod answers;
#[path = "../../tests/each/catalogue.rs"]
mod catalogue;
#[path = "../../tests/common/mod.rs"]
mod common;

use protocol::Part;
use services::SERVICES as CATALOGUE;

const IS_OURS: fn(Part) -> bool = |part| part == Part::Services;
