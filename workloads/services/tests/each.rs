//! Properties of each workload of this crate, as of the others.

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

/// Whether the rows of `part` are this crate's.
const IS_OURS: fn(Part) -> bool = |part| part == Part::Services;
