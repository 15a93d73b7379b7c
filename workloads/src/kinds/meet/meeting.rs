//! What every way to meet has, and the loop that they share.

use std::collections::BTreeMap;

use protocol::Metric;
use rayon::ThreadPool;

use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{Gaps, call_after_gaps};
use crate::workload::{Instance, Mismatch};

/// A way to meet.
pub(super) trait Meeting: Send {
    /// Whether the thread that calls the meetings is one of the pool's.
    const IS_INSIDE: bool;

    /// Forgets the last run.
    fn begin_run(&mut self);

    /// Does on the calling thread what those do that meet.
    fn alone(&mut self, number: usize);

    /// Meets.
    fn together(&mut self, pool: &ThreadPool, number: usize);

    /// Checks a run of `meetings`.
    fn check(&mut self, meetings: usize) -> Result<String, Mismatch>;

    /// The warm-up is over.
    fn forget_warmup(&mut self) {}

    /// Quantities beside latencies.
    fn metrics(&self) -> Vec<(String, Metric)> {
        Vec::new()
    }
}

/// Meetings of one kind, each after a gap.
pub(super) struct Meetings<M> {
    count: usize,
    gaps: Gaps,
    latencies: Latencies,
    meeting: M,
}

impl<M: Meeting> Meetings<M> {
    pub(super) fn new(count: usize, gaps: Gaps, meeting: M) -> Self {
        Self {
            count,
            gaps,
            latencies: Latencies::new("latency"),
            meeting,
        }
    }

    fn run(&mut self, meet: impl Fn(&mut M, usize)) -> u64 {
        let Self {
            count,
            gaps,
            latencies,
            meeting,
        } = self;
        call_after_gaps(*count, gaps, latencies, |number| meet(meeting, number))
    }
}

impl<M: Meeting> Instance for Meetings<M> {
    fn reset(&mut self) {
        self.meeting.begin_run();
        self.latencies.begin_run(self.count);
    }

    fn forget_warmup(&mut self) {
        self.latencies.forget();
        self.meeting.forget_warmup();
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(M::alone)
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let mut run = || self.run(|meeting, number| meeting.together(pool, number));
        if M::IS_INSIDE {
            pool.install(run)
        } else {
            run()
        }
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.latencies.end_run();
        self.meeting.check(self.count)
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let own = self.meeting.metrics();
        self.latencies.metrics().into_iter().chain(own).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;

    /// Meetings without gaps, whose answer is right after a run and wrong after each `damage`.
    pub(in super::super) fn rejects<M: Meeting>(meeting: M, damages: &[&dyn Fn(&mut M)]) {
        let mut meetings = Meetings::new(3, Gaps::up_to(1, Duration::ZERO), meeting);
        for damage in damages {
            meetings.reset();
            meetings.run_sequential();
            assert!(meetings.check().is_ok());
            damage(&mut meetings.meeting);
            assert!(meetings.check().is_err());
        }
    }
}
