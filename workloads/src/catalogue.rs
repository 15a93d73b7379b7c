//! The catalogue: every workload by name.

use protocol::Refusal;

use crate::kinds;
use crate::workload::Workload;

/// Workloads in the order in which they are listed.
pub type Catalogue = [&'static dyn Workload];

/// Every workload of this crate. A new one needs a line here.
pub static CATALOGUE: &Catalogue = &[
    &kinds::quicksort::Quicksort,
    &kinds::tsp::Tsp,
    &kinds::packets::Packets,
    &kinds::pcap_verify::PcapVerify,
    &kinds::fib_join::FibJoin,
    &kinds::mergesort::Mergesort,
    &kinds::par_sort::ParSort,
    &kinds::sum::Sum,
    &kinds::nqueens::Nqueens,
    &kinds::tree_sum::TreeSum,
    &kinds::scope_spawn::ScopeSpawn,
    &kinds::skynet::Skynet,
    &kinds::matmul::Matmul,
    &kinds::cholesky::Cholesky,
    &kinds::nbody::Nbody,
    &kinds::sieve::Sieve,
    &kinds::find::Find,
    &kinds::factorial::Factorial,
    &kinds::map_collect::MapCollect,
    &kinds::vec_collect::VecCollect,
    &kinds::str_split::StrSplit,
    &kinds::pythagoras::Pythagoras,
    &kinds::life::Life,
    &kinds::ticks::Ticks,
    &kinds::idle::Idle,
    &kinds::burst::Burst,
    &kinds::grain::Grain,
    &kinds::saturate::Saturate,
    &kinds::inject::Inject,
    &kinds::install::Install,
    &kinds::barrier_join::BarrierJoin,
    &kinds::two_long_tasks::TwoLongTasks,
    &kinds::injection_ping_pong::InjectionPingPong,
    &kinds::broadcast_dozing::BroadcastDozing,
];

/// The workload of `catalogue` called `name`.
///
/// # Errors
/// If there is none; the message lists the known names.
pub fn find(catalogue: &Catalogue, name: &str) -> Result<&'static dyn Workload, Refusal> {
    catalogue.iter().copied().find(|workload| workload.description().name == name).ok_or_else(
        || {
            let known: Vec<&str> = catalogue.iter().map(|it| it.description().name).collect();
            Refusal::new(format!("unknown workload `{name}`; known: {}", known.join(", ")))
        },
    )
}

/// What there is to know of each, as tools read it.
///
/// # Panics
/// Never: descriptions are plain data.
#[must_use]
pub fn as_json(catalogue: &Catalogue) -> String {
    let descriptions: Vec<_> = catalogue.iter().map(|workload| workload.description()).collect();
    serde_json::to_string_pretty(&descriptions).expect("descriptions are plain data") + "\n"
}
