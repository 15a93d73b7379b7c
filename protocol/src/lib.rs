//! The messages between the runner and the programs that it measures, and the descriptions of
//! workloads, which tools read without running them.
//!
//! Apart from the simulator, the runner and the programs share only this crate, and this crate
//! depends on no pool. So a tool that reads descriptions and writes requests works even if no
//! rayon-core compiles.

mod description;
pub mod lines;
mod messages;
pub mod packed;
mod parameters;
mod whole;

pub use description::{Description, Part, RunsFor, workload, workloads};
pub use messages::{
    Events, Failure, Iteration, LineWait, MachineRequest, Metric, Outcome, Placement, Program,
    Refusal, Request, SCHEMA, Simulated, Usage,
};
pub use parameters::{Accepts, Parameter, Size, Values};
pub use whole::{WholeBuilds, WholeInput, WholeProgram, WholePrograms};
