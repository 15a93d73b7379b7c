// Written by `cargo runner`; changes here are overwritten.
use rayon_core::{ThreadPool, instrument};
use workloads::observer::{Counts, NamedCounts, Observer};

/// Converts the fork's counts of events to the types of the crate `workloads`.
struct Fork;

impl Observer for Fork {
    fn counts(&self, pool: &ThreadPool) -> Counts {
        let named = |counts: &instrument::EventCounts| -> NamedCounts { counts.named().collect() };
        let snapshot = instrument::snapshot(pool);
        Counts {
            workers: snapshot.workers.iter().map(named).collect(),
            outside: named(&snapshot.outside),
        }
    }
}

fn main() -> std::process::ExitCode {
    workloads::main_instrumented(rayon_core::rayon_fork_variant(), &Fork)
}
