// Written by `cargo runner build`; changes here are overwritten.
use rayon_core::{ThreadPool, instrument};
use workloads::observer::{Counts, NamedCounts, Observer, Span, Timeline};

/// The fork, asked in the words of the workloads.
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

    fn begin_timeline(&self, pool: &ThreadPool, spans_per_worker: usize) {
        instrument::begin_timeline(pool, spans_per_worker);
    }

    fn end_timeline(&self, pool: &ThreadPool) -> Timeline {
        let timeline = instrument::end_timeline(pool);
        let span = |span: &instrument::Span| Span {
            worker: span.worker,
            state: span.state.name(),
            begin_ns: span.begin_ns,
            end_ns: span.end_ns,
        };
        Timeline {
            spans: timeline.spans().iter().map(span).collect(),
            dropped: timeline.dropped().to_vec(),
        }
    }
}

fn main() -> std::process::ExitCode {
    workloads::main_instrumented(rayon_core::rayon_fork_variant(), &Fork)
}
