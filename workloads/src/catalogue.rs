//! The catalogue: every workload by name.

use protocol::Refusal;

use crate::kinds;
use crate::workload::Workload;

/// Workloads in the order in which they are listed.
pub type Catalogue = [&'static dyn Workload];

/// Every workload that is compiled: those of the original study, and with the feature `further` all
/// others. A new one needs a line here.
pub static CATALOGUE: &Catalogue = &[
    &kinds::quicksort::Quicksort,
    &kinds::tsp::Tsp,
    &kinds::packets::Packets,
    #[cfg(feature = "further")]
    &kinds::pcap_verify::PcapVerify,
    #[cfg(feature = "further")]
    &kinds::fib_join::FibJoin,
    #[cfg(feature = "further")]
    &kinds::mergesort::Mergesort,
    #[cfg(feature = "further")]
    &kinds::par_sort::ParSort,
    #[cfg(feature = "further")]
    &kinds::sum::Sum,
    #[cfg(feature = "further")]
    &kinds::nqueens::Nqueens,
    #[cfg(feature = "further")]
    &kinds::tree_sum::TreeSum,
    #[cfg(feature = "further")]
    &kinds::scope_spawn::ScopeSpawn,
    #[cfg(feature = "further")]
    &kinds::skynet::Skynet,
    #[cfg(feature = "further")]
    &kinds::uts::Uts,
    #[cfg(feature = "further")]
    &kinds::matmul::Matmul,
    #[cfg(feature = "further")]
    &kinds::nbody::Nbody,
    #[cfg(feature = "further")]
    &kinds::map_collect::MapCollect,
    #[cfg(feature = "further")]
    &kinds::life::Life,
    #[cfg(feature = "further")]
    &kinds::sumcheck::Sumcheck,
    #[cfg(feature = "further")]
    &kinds::decode::Decode,
    #[cfg(feature = "further")]
    &kinds::replay::Replay,
    #[cfg(feature = "further")]
    &kinds::regions::Regions,
    #[cfg(feature = "further")]
    &kinds::ticks::Ticks,
    #[cfg(feature = "further")]
    &kinds::idle::Idle,
    #[cfg(feature = "further")]
    &kinds::burst::Burst,
    #[cfg(feature = "further")]
    &kinds::grain::Grain,
    #[cfg(feature = "further")]
    &kinds::saturate::Saturate,
    #[cfg(feature = "further")]
    &kinds::inject::Inject,
    #[cfg(feature = "further")]
    &kinds::install::Install,
    #[cfg(feature = "further")]
    &kinds::crowded::Crowded,
    #[cfg(feature = "further")]
    &kinds::barrier_join::BarrierJoin,
    #[cfg(feature = "further")]
    &kinds::two_long_tasks::TwoLongTasks,
    #[cfg(feature = "further")]
    &kinds::injection_ping_pong::InjectionPingPong,
    #[cfg(feature = "further")]
    &kinds::broadcast_dozing::BroadcastDozing,
];

/// The workload of `catalogue` called `name`.
///
/// # Errors
/// If there is none; the message lists the known names.
pub fn find(catalogue: &Catalogue, name: &str) -> Result<&'static dyn Workload, Refusal> {
    catalogue
        .iter()
        .copied()
        .find(|workload| workload.description().name == name)
        .ok_or_else(|| {
            let known: Vec<&str> = catalogue.iter().map(|it| it.description().name).collect();
            Refusal::new(format!(
                "unknown workload `{name}`; known: {}",
                known.join(", ")
            ))
        })
}

/// What there is to know of each, as tools read it.
///
/// # Panics
/// Never: descriptions are plain data.
#[must_use]
pub fn as_json(catalogue: &Catalogue) -> String {
    let descriptions: Vec<_> = catalogue
        .iter()
        .map(|workload| workload.description())
        .collect();
    serde_json::to_string_pretty(&descriptions).expect("descriptions are plain data") + "\n"
}
