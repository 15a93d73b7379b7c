//! What each worker did when.

use std::time::Instant;

use crate::ThreadPool;

/// What a worker is doing.
///
/// ```
/// use rayon_core::instrument::{WorkerState, begin_timeline, end_timeline};
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// begin_timeline(&pool, 1000);
/// pool.broadcast(|_| ());
/// let timeline = end_timeline(&pool);
/// let active = timeline.spans().iter().filter(|span| span.state == WorkerState::Active);
/// assert!(active.count() >= 2); // each worker had a share to run
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkerState {
    /// It runs jobs, or takes them from its own queues. A thread that was made a worker by
    /// [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread) is active too while it
    /// does what has nothing to do with the pool.
    Active,
    /// It has nothing to run and looks for jobs everywhere.
    Searching,
    /// It has searched long enough, and sleeps after one more search unless news comes.
    Sleepy,
    /// It is blocked, or was woken and does not run yet.
    Asleep,
}

impl WorkerState {
    /// In lower case, for tables and traces.
    ///
    /// ```
    /// assert_eq!(rayon_core::instrument::WorkerState::Asleep.name(), "asleep");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Searching => "searching",
            Self::Sleepy => "sleepy",
            Self::Asleep => "asleep",
        }
    }
}

/// A time during which a worker's state did not change.
///
/// ```
/// use rayon_core::instrument::{Span, begin_timeline, end_timeline};
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// begin_timeline(&pool, 1000);
/// pool.install(|| ());
/// let lasted_ns = |span: &Span| span.end_ns - span.begin_ns;
/// let longest = end_timeline(&pool).spans().iter().max_by_key(|span| lasted_ns(span)).cloned();
/// println!("{longest:?}");
/// # assert!(longest.is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// The worker's index in its pool.
    pub worker: usize,
    /// What it did.
    pub state: WorkerState,
    /// When that began, in nanoseconds since [`begin_timeline`].
    pub begin_ns: u64,
    /// When that ended, in nanoseconds since [`begin_timeline`]; not before `begin_ns`.
    pub end_ns: u64,
}

/// What each worker of a pool did between [`begin_timeline`] and [`end_timeline`].
///
/// ```
/// use rayon_core::instrument::{Timeline, begin_timeline, end_timeline};
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// begin_timeline(&pool, 1000);
/// pool.broadcast(|_| ());
/// let timeline: Timeline = end_timeline(&pool);
/// let of_worker_1 = timeline.spans().iter().filter(|span| span.worker == 1);
/// assert!(of_worker_1.count() > 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    spans: Vec<Span>,
    dropped: Vec<u64>,
}

impl Timeline {
    /// By worker, and for each worker in the order of time. Two spans of one worker never overlap,
    /// and none lies between them, unless some were [dropped](Self::dropped).
    ///
    /// ```
    /// use rayon_core::instrument::{begin_timeline, end_timeline};
    ///
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// begin_timeline(&pool, 1000);
    /// pool.install(|| ());
    /// let timeline = end_timeline(&pool);
    /// assert!(timeline.spans().windows(2).all(|pair| pair[0].end_ns == pair[1].begin_ns));
    /// ```
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// For each worker, the number of spans that found no room: its last ones. Empty if no timeline
    /// was begun.
    ///
    /// ```
    /// use rayon_core::instrument::{begin_timeline, end_timeline};
    ///
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// begin_timeline(&pool, 0); // room for nothing
    /// pool.install(|| ());
    /// let timeline = end_timeline(&pool);
    /// assert!(timeline.spans().is_empty());
    /// assert!(timeline.dropped()[0] > 0);
    /// ```
    #[must_use]
    pub fn dropped(&self) -> &[u64] {
        &self.dropped
    }
}

/// Starts to record the states of all workers of `pool`, at most `spans_per_worker` changes for
/// each; room for them is made here. A timeline that was begun before is lost.
///
/// See [`end_timeline`].
///
/// ```
/// use rayon_core::instrument::{begin_timeline, end_timeline};
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// begin_timeline(&pool, 1000);
/// begin_timeline(&pool, 1000); // once more, from now
/// assert!(end_timeline(&pool).spans().len() >= 2); // each worker was in some state
/// ```
pub fn begin_timeline(pool: &ThreadPool, spans_per_worker: usize) {
    let records = pool.registry().records();
    let mut rooms = Vec::new();
    rooms.resize_with(records.workers().len(), || {
        Vec::with_capacity(spans_per_worker)
    });
    let begin = Instant::now();
    for (worker, (record, spans)) in records.workers().zip(rooms).enumerate() {
        let room = spans_per_worker;
        let recording = Recording {
            worker,
            begin,
            since_ns: 0,
            spans,
            room,
            dropped: 0,
        };
        record.track.lock().recording = Some(recording);
    }
}

/// Ends what [`begin_timeline`] began, and returns what was recorded; the states that last at this
/// moment end with it. Without a timeline that was begun, an empty one.
///
/// ```
/// use rayon_core::instrument::{WorkerState, begin_timeline, end_timeline};
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// begin_timeline(&pool, 1000);
/// pool.install(|| rayon_core::join(|| (), || ()));
/// let timeline = end_timeline(&pool);
/// assert!(timeline.spans().iter().any(|span| span.state == WorkerState::Active));
/// assert_eq!(timeline.dropped(), [0, 0]);
/// ```
pub fn end_timeline(pool: &ThreadPool) -> Timeline {
    let mut timeline = Timeline::default();
    for record in pool.registry().records().workers() {
        if let Some(recording) = record.track.lock().end() {
            timeline.spans.extend(recording.spans);
            timeline.dropped.push(recording.dropped);
        }
    }
    timeline
}

/// What one worker does now, and what it did since a timeline was begun.
pub(super) struct Track {
    state: WorkerState,
    recording: Option<Recording>,
}

impl Track {
    pub(super) fn new() -> Self {
        Self {
            state: WorkerState::Active,
            recording: None,
        }
    }

    /// The worker is in `state` from now on.
    pub(super) fn enter(&mut self, state: WorkerState) {
        if state != self.state {
            if let Some(recording) = &mut self.recording {
                recording.close(self.state);
            }
            self.state = state;
        }
    }

    fn end(&mut self) -> Option<Recording> {
        let mut recording = self.recording.take()?;
        recording.close(self.state);
        Some(recording)
    }
}

/// Spans of one worker.
struct Recording {
    worker: usize,
    begin: Instant,
    /// When the present state began.
    since_ns: u64,
    spans: Vec<Span>,
    /// More spans than this are dropped, so that `spans` never grows.
    room: usize,
    dropped: u64,
}

impl Recording {
    /// The present state is `state`, and ends now.
    fn close(&mut self, state: WorkerState) {
        let (worker, begin_ns) = (self.worker, self.since_ns);
        let end_ns = u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if self.spans.len() < self.room {
            self.spans.push(Span {
                worker,
                state,
                begin_ns,
                end_ns,
            });
        } else {
            self.dropped += 1;
        }
        self.since_ns = end_ns;
    }
}
