//! What an instrumented rayon-core is asked, and when: right before and right after each timed
//! region, never inside.
//!
//! This package knows no instrumented rayon-core, since a published one has nothing to tell. The
//! program of an instrumented build implements [`Observer`] and hands it to
//! [`crate::main_instrumented`].

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use protocol::{Events, Metric, Program, Refusal, Request, TraceRequest};
use rayon::ThreadPool;

use crate::trace::{self, Header};
use crate::usage::nanoseconds;

/// Room for this many spans per worker in a trace. A guess: some MiB each, and about as much as a
/// viewer shows at ease; what finds no room is counted.
const SPANS_PER_WORKER: usize = 1 << 16;

/// What an instrumented rayon-core can tell of a pool.
pub trait Observer {
    /// Everything counted since the pool was built.
    fn counts(&self, pool: &ThreadPool) -> Counts;

    /// Begins to record what each worker does, with room for so many spans each.
    fn begin_timeline(&self, pool: &ThreadPool, spans_per_worker: usize);

    /// Ends the recording and returns it.
    fn end_timeline(&self, pool: &ThreadPool) -> Timeline;
}

/// Event names and how often each happened, the same names in the same order at every call.
pub type NamedCounts = Vec<(&'static str, u64)>;

/// What was counted up to some moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// By each worker of the pool, in order of their indices.
    pub workers: Vec<NamedCounts>,
    /// By all other threads.
    pub outside: NamedCounts,
}

/// A stretch of time in which a worker did one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Index of the worker.
    pub worker: usize,
    /// What it did, for example `searching`.
    pub state: &'static str,
    /// Begin, in nanoseconds since the recording began.
    pub begin_ns: u64,
    /// End, likewise.
    pub end_ns: u64,
}

/// What the workers did over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Spans of all workers; those of one worker are in order and do not overlap.
    pub spans: Vec<Span>,
    /// Spans for which there was no room, by worker; its track ends early then.
    pub dropped: Vec<u64>,
}

/// Looks on while a trial runs.
pub(crate) trait Watch {
    /// Refuses what this build cannot do.
    fn check(&self, request: &Request) -> Result<(), Refusal>;
    /// A timed region is about to begin.
    fn begin(&mut self, request: &Request, pool: &ThreadPool);
    /// It has ended, after `elapsed` and so many units of work.
    fn end(&mut self, pool: &ThreadPool, elapsed: Duration, work_units: u64);
    /// All regions have ended.
    fn finish(
        self,
        variant: &str,
        request: &Request,
        pool: Option<&ThreadPool>,
    ) -> Result<Observed, Refusal>;
}

/// What a [`Watch`] adds to an [`Outcome`].
#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) events: Option<Events>,
    pub(crate) metrics: BTreeMap<String, Metric>,
}

/// Timed builds: nothing is asked.
pub(crate) struct Nobody;

impl Watch for Nobody {
    fn check(&self, request: &Request) -> Result<(), Refusal> {
        match &request.trace {
            None => Ok(()),
            Some(trace) => Err(Refusal::new(format!(
                "trace = {}: this build records nothing; ask an instrumented build of the fork",
                trace.path.display()
            ))),
        }
    }

    fn begin(&mut self, _: &Request, _: &ThreadPool) {}

    fn end(&mut self, _: &ThreadPool, _: Duration, _: u64) {}

    fn finish(self, _: &str, _: &Request, _: Option<&ThreadPool>) -> Result<Observed, Refusal> {
        Ok(Observed::default())
    }
}

/// Instrumented builds: counts around every timed region, and a timeline if a trace is asked for.
pub(crate) struct Observing<'a> {
    observer: &'a dyn Observer,
    before: Option<Counts>,
    events: Option<Events>,
    recording: Option<Recording>,
}

/// A timeline under way.
struct Recording {
    started: Instant,
    /// Begin and end of the timed regions, in nanoseconds since `started`.
    iterations: Vec<(u64, u64)>,
}

impl<'a> Observing<'a> {
    pub(crate) fn new(observer: &'a dyn Observer) -> Self {
        Self {
            observer,
            before: None,
            events: None,
            recording: None,
        }
    }

    fn write_trace(
        &self,
        asked: &TraceRequest,
        variant: &str,
        request: &Request,
        pool: &ThreadPool,
    ) -> Result<BTreeMap<String, Metric>, Refusal> {
        let timeline = self.observer.end_timeline(pool);
        let iterations = self.recording.as_ref().map_or(&[][..], |it| &it.iterations);
        let header = Header {
            branch: &asked.branch,
            variant,
            request,
        };
        trace::write(&asked.path, &header, &timeline, iterations).map_err(|error| {
            let path = asked.path.display();
            Refusal::new(format!(
                "trace = {path}: {error}; name a file that can be written"
            ))
        })?;
        let spans = |count: u64| Metric {
            value: count as f64,
            unit: "spans".to_owned(),
        };
        Ok(BTreeMap::from([
            ("trace_spans".to_owned(), spans(timeline.spans.len() as u64)),
            (
                "trace_dropped".to_owned(),
                spans(timeline.dropped.iter().sum()),
            ),
        ]))
    }
}

impl Watch for Observing<'_> {
    fn check(&self, request: &Request) -> Result<(), Refusal> {
        match (&request.trace, request.program) {
            (Some(trace), Program::Sequential) => Err(Refusal::new(format!(
                "trace = {}: the sequential program has no workers; ask for the parallel one",
                trace.path.display()
            ))),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, request: &Request, pool: &ThreadPool) {
        if request.trace.is_some() && self.recording.is_none() {
            self.observer.begin_timeline(pool, SPANS_PER_WORKER);
            self.recording = Some(Recording {
                started: Instant::now(),
                iterations: Vec::new(),
            });
        }
        self.before = Some(self.observer.counts(pool));
        if let Some(recording) = &mut self.recording {
            let begin = nanoseconds(recording.started.elapsed());
            recording.iterations.push((begin, begin));
        }
    }

    fn end(&mut self, pool: &ThreadPool, elapsed: Duration, work_units: u64) {
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
        if let Some((begin, end)) = self
            .recording
            .as_mut()
            .and_then(|it| it.iterations.last_mut())
        {
            *end = *begin + nanoseconds(elapsed);
        }
    }

    fn finish(
        self,
        variant: &str,
        request: &Request,
        pool: Option<&ThreadPool>,
    ) -> Result<Observed, Refusal> {
        let metrics = match request.trace.as_ref().zip(pool) {
            Some((asked, pool)) => self.write_trace(asked, variant, request, pool)?,
            None => BTreeMap::new(),
        };
        Ok(Observed {
            events: self.events,
            metrics,
        })
    }
}

/// Adds to each name's sum what was counted between two moments. A count is read while others write
/// it, so that it may seem to fall by what was then under way; that is no reason to panic.
fn add_difference(sum: &mut BTreeMap<String, u64>, before: &NamedCounts, after: &NamedCounts) {
    for ((name, earlier), (_, later)) in before.iter().zip(after) {
        *sum.entry((*name).to_owned()).or_default() += later.saturating_sub(*earlier);
    }
}
