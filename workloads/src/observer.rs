//! Reads the event counts of an instrumented rayon-core right before and right after each timed
//! region. The program of an instrumented build implements [`Observer`], because this package does
//! not depend on an instrumented rayon-core.

use std::collections::BTreeMap;

use protocol::Events;
use rayon::ThreadPool;

/// Reads the event counts of an instrumented rayon-core.
pub trait Observer {
    /// Returns the counts since `pool` was built.
    fn counts(&self, pool: &ThreadPool) -> Counts;
}

/// How often each event happened: the same names in the same order at every call.
pub type NamedCounts = Vec<(&'static str, u64)>;

/// The counts up to some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The counts of each worker of the pool, in the order of indices.
    pub workers: Vec<NamedCounts>,
    /// The counts of all other threads together.
    pub outside: NamedCounts,
}

pub(crate) struct Observing<'a> {
    observer: &'a dyn Observer,
    before: Option<Counts>,
    events: Option<Events>,
}

impl<'a> Observing<'a> {
    pub(crate) fn new(observer: &'a dyn Observer) -> Self {
        Self {
            observer,
            before: None,
            events: None,
        }
    }

    /// Call this right before a timed region.
    pub(crate) fn begin(&mut self, pool: &ThreadPool) {
        self.before = Some(self.observer.counts(pool));
    }

    /// Call this right after a timed region, which did `work_units` units of work.
    pub(crate) fn end(&mut self, pool: &ThreadPool, work_units: u64) {
        let after = self.observer.counts(pool);
        let before = self
            .before
            .take()
            .expect("every region that ends has begun");
        let events = self.events.get_or_insert_with(|| Events {
            iterations: 0,
            work_units: 0,
            workers: vec![BTreeMap::new(); after.workers.len()],
            outside: BTreeMap::new(),
        });
        events.iterations += 1;
        events.work_units += work_units;
        for (sum, (before, after)) in events
            .workers
            .iter_mut()
            .zip(before.workers.iter().zip(&after.workers))
        {
            add_difference(sum, before, after);
        }
        add_difference(&mut events.outside, &before.outside, &after.outside);
    }

    pub(crate) fn events(self) -> Option<Events> {
        self.events
    }
}

/// Adds to each name's sum the count between two moments. Other threads may write a count while
/// this thread reads it, so the count may seem to fall by a few events.
fn add_difference(sum: &mut BTreeMap<String, u64>, before: &NamedCounts, after: &NamedCounts) {
    for ((name, earlier), (_, later)) in before.iter().zip(after) {
        *sum.entry((*name).to_owned()).or_default() += later.saturating_sub(*earlier);
    }
}
