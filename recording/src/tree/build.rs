//! From rows of events, one of each thread, to one tree.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use super::{NO_SCOPE, Root, State, Step, Task, ThreadFacts, Tree, What};
use crate::Error;
use crate::clocks::Clock;
use crate::file::{Recording, event_of};
use crate::layout::Event;

/// Less than this that a thread was on no CPU is the error of the clocks. A guess.
const LEAST_OFF_NS: u64 = 20_000;

/// The longest time between the end of a wait and the thread's next step, apart from time when it
/// was ready and had no CPU. A guess.
const LATEST_NS: u64 = 100_000;

/// Deeper trees are refused: the functions that walk them are recursive.
const DEEPEST: u32 = 1_000_000;

/// An open call of a thread.
#[derive(Debug)]
struct Entry {
    /// The task to which the running code belongs.
    task: u32,
    kind: Kind,
    /// It waits for jobs of others.
    waits: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Root,
    Job,
    Join {
        second: u32,
        job: u64,
    },
    /// Anything else that the thread closes.
    Frame,
}

#[derive(Debug, Default)]
struct Track {
    stack: Vec<Entry>,
    /// Up to when its time is accounted for, in ticks.
    since: u64,
    sleeps: bool,
    /// The scope of the next job that it spawns, by its address.
    into: u64,
    facts: ThreadFacts,
    interval: Interval,
}

/// The activity of a thread since it last compared its clocks.
#[derive(Debug, Default)]
struct Interval {
    clocks: Option<[u64; 3]>,
    reading: [u64; 3],
    waited_ns: u64,
    longest: Longest,
}

/// The longest stretch of work.
#[derive(Debug, Default)]
struct Longest {
    stretch: u32,
    ns: u64,
    /// From when to when, in ticks.
    span: (u64, u64),
}

impl Track {
    fn open(&mut self, task: u32, kind: Kind) {
        self.stack.push(Entry {
            task,
            kind,
            waits: false,
        });
    }
}

struct Builder {
    tree: Tree,
    clock: Clock,
    /// Jobs that wait in queues, by word 1 of their events.
    queued: HashMap<u64, VecDeque<u32>>,
    /// Numbers of scopes by their addresses.
    scopes: HashMap<u64, u32>,
    /// For each task, which root it is of, or whose jobs forked it.
    roots: Vec<u32>,
    /// For each root, which jobs of it ended since its thread compared its clocks, and when, in
    /// ticks.
    ended: Vec<Vec<(u32, u64)>>,
}

pub(super) fn tree(recording: &Recording) -> Result<Tree, Error> {
    let clock = Clock::of(recording)?;
    let nobody = Step {
        before: 0,
        next: 0,
        what: What::Install { job: 0 },
    };
    let mut builder = Builder {
        tree: Tree {
            steps: vec![nobody],
            ..Tree::default()
        },
        clock,
        queued: HashMap::new(),
        scopes: HashMap::new(),
        roots: Vec::new(),
        ended: Vec::new(),
    };
    let end = recording.full_at().unwrap_or(u64::MAX);
    let mut tracks: Vec<Track> = recording.threads.iter().map(|_| Track::default()).collect();
    let time_of = |thread: usize, event: usize| {
        let [word, _] = recording.threads[thread].events.get(event)?;
        event_of(*word)
            .map(|(_, time)| time)
            .filter(|time| *time <= end)
    };
    // The earliest first; of one moment, those that fork before those that begin, as threads that
    // fork were first.
    let mut next: BinaryHeap<Reverse<(u64, usize, usize)>> = (0..tracks.len())
        .filter_map(|thread| Some(Reverse((time_of(thread, 0)?, thread, 0))))
        .collect();
    while let Some(Reverse((_, thread, mut number))) = next.pop() {
        let bound = next.peek().map_or(u64::MAX, |Reverse((time, ..))| *time);
        // As far as no other thread is earlier.
        loop {
            let [first, word] = recording.threads[thread].events[number];
            let Some((event, time)) = event_of(first) else {
                break;
            };
            builder
                .take(&mut tracks[thread], event, time, word)
                .map_err(|what| Error::Contradiction {
                    thread,
                    event: number,
                    what,
                })?;
            number += 1;
            match time_of(thread, number) {
                Some(time) if time <= bound => {}
                Some(time) => break next.push(Reverse((time, thread, number))),
                None => break,
            }
        }
    }
    let mut tree = builder.tree;
    let open = tracks
        .iter()
        .flat_map(|track| &track.stack)
        .filter(|entry| entry.kind != Kind::Root);
    tree.unfinished = open.count() as u64
        + builder
            .queued
            .values()
            .map(|jobs| jobs.len() as u64)
            .sum::<u64>();
    tree.threads = tracks.into_iter().map(|track| track.facts).collect();
    Ok(tree)
}

/// The number of a task, step or stretch.
fn number(index: usize) -> u32 {
    u32::try_from(index)
        .expect("a recording has at most 2^27 events, of which each makes three at most")
}

/// Word 1 of a job's events, without the place of its code.
fn job_of(word: u64) -> u64 {
    word & ((1 << 35) - 1)
}

impl Builder {
    fn take(
        &mut self,
        track: &mut Track,
        event: Event,
        time: u64,
        word: u64,
    ) -> Result<(), String> {
        self.account(track, event, time, word);
        track.facts.events += 1;
        match event {
            Event::Worker => track.facts.worker = Some(word),
            Event::Wall => track.interval.reading[0] = time,
            Event::Cpu => track.interval.reading[1] = word,
            Event::Delay => {
                track.interval.reading[2] = word;
                self.compare_clocks(track);
            }
            Event::Into => track.into = word,
            Event::Sleep => track.sleeps = true,
            Event::Wake => track.sleeps = false,
            Event::Search | Event::Found | Event::Pause | Event::Full => {}
            Event::Join | Event::Split => {
                let parent = self.current(track, time);
                let [first, second] = [self.new_task(parent)?, self.new_task(parent)?];
                let site = (event == Event::Split).then_some((word >> 35) as u32);
                self.add_step(
                    parent,
                    What::Join {
                        first,
                        second,
                        site,
                    },
                );
                self.queued
                    .entry(job_of(word))
                    .or_default()
                    .push_back(second);
                track.open(
                    first,
                    Kind::Join {
                        second,
                        job: job_of(word),
                    },
                );
            }
            Event::Second => match track.stack.last_mut() {
                Some(Entry {
                    task,
                    kind: Kind::Join { second, job },
                    ..
                }) => {
                    *task = *second;
                    let (second, job) = (*second, *job);
                    self.unqueue(job, Some(second))?;
                }
                _ => return Err("the second half of a join begins outside of one".to_owned()),
            },
            Event::Scope | Event::Broadcast => {
                let parent = self.current(track, time);
                let body = self.new_task(parent)?;
                let scope = self.tree.scopes;
                self.tree.scopes += 1;
                self.scopes.insert(word, scope);
                self.add_step(
                    parent,
                    if event == Event::Scope {
                        What::Scope { body, scope }
                    } else {
                        What::Broadcast { body, scope }
                    },
                );
                track.open(body, Kind::Frame);
            }
            Event::Install => {
                let parent = self.current(track, time);
                let job = self.new_task(parent)?;
                self.add_step(parent, What::Install { job });
                self.queued.entry(job_of(word)).or_default().push_back(job);
                track.stack.push(Entry {
                    task: parent,
                    kind: Kind::Frame,
                    waits: true,
                });
            }
            Event::Spawn => {
                let parent = self.current(track, time);
                let job = self.new_task(parent)?;
                let scope = match track.into {
                    0 => NO_SCOPE,
                    address => *self
                        .scopes
                        .get(&address)
                        .ok_or("a job is spawned into a scope that was never opened")?,
                };
                self.add_step(parent, What::Spawn { job, scope });
                self.queued.entry(job_of(word)).or_default().push_back(job);
            }
            Event::Await => match track.stack.last_mut() {
                Some(entry) if entry.kind != Kind::Job && entry.kind != Kind::Root => {
                    entry.waits = true;
                }
                _ => return Err("a thread waits outside of everything".to_owned()),
            },
            Event::Close => match track.stack.last() {
                Some(entry) if entry.kind != Kind::Job && entry.kind != Kind::Root => {
                    track.stack.pop();
                }
                _ => return Err("something is closed that was not opened".to_owned()),
            },
            Event::Begin => {
                let task = self.unqueue(job_of(word), None)?;
                track.open(task, Kind::Job);
            }
            Event::End => match track.stack.last() {
                Some(entry) if entry.kind == Kind::Job => {
                    let task = entry.task;
                    self.ended[self.roots[task as usize] as usize].push((task, time));
                    track.stack.pop();
                }
                _ => return Err("a job ends that did not begin".to_owned()),
            },
        }
        Ok(())
    }

    /// Adds the time up to now to the thread's work, without the cost of its last event.
    fn account(&mut self, track: &mut Track, event: Event, time: u64, word: u64) {
        let lost = if event == Event::Pause { word } else { 0 };
        let ticks = time.saturating_sub(track.since).saturating_sub(lost);
        let passed = self.clock.ns(ticks.saturating_sub(self.clock.event_ticks));
        let known = track.since != 0;
        track.since = time;
        let top = track.stack.last();
        let state = match top {
            Some(entry) if !entry.waits => State::Running,
            _ if track.sleeps => State::Asleep,
            // A thread outside blocks where a worker searches.
            _ if track.facts.worker.is_none() => State::Asleep,
            _ => State::Searching,
        };
        if !known {
            return;
        }
        let begun = time - ticks;
        track.facts.in_state_ns[state as usize] += passed;
        match (state, top) {
            (State::Running, Some(entry)) => {
                let stretch = self.tree.tasks[entry.task as usize].after;
                let sum = &mut self.tree.work_ns[stretch as usize];
                *sum += passed;
                if passed > track.interval.longest.ns {
                    track.interval.longest = Longest {
                        stretch,
                        ns: passed,
                        span: (begun, time),
                    };
                }
            }
            (State::Asleep, _) => track.interval.waited_ns += passed,
            _ => {}
        }
    }

    /// Takes from the longest stretch since the last time what its thread was on no CPU.
    fn compare_clocks(&mut self, track: &mut Track) {
        let Interval {
            clocks,
            reading,
            waited_ns,
            longest,
        } = std::mem::take(&mut track.interval);
        track.interval.clocks = Some(reading);
        // A worker may wait for jobs, too, but a pool of fewer workers might then have none left to
        // run them.
        let outside = track.stack.first().filter(|_| track.facts.worker.is_none());
        let ended = outside.map_or_else(Vec::new, |entry| {
            std::mem::take(&mut self.ended[self.roots[entry.task as usize] as usize])
        });
        let Some(before) = clocks else { return };
        let [ticks, cpu, delay] = std::array::from_fn(|i| reading[i].saturating_sub(before[i]));
        let off = self
            .clock
            .ns(ticks)
            .saturating_sub(waited_ns.saturating_add(cpu))
            .min(longest.ns);
        if off < LEAST_OFF_NS {
            return;
        }
        let preempted = off.min(delay);
        let blocked = off - preempted;
        let work = &mut self.tree.work_ns[longest.stretch as usize];
        *work = work.saturating_sub(off);
        track.facts.preempted_ns += preempted;
        if blocked < LEAST_OFF_NS {
            return;
        }
        track.facts.blocked_ns += blocked;
        let (jobs, after_ns) = self.let_go_by(&ended, &longest, blocked, preempted);
        let wait = self.tree.waits.entry(longest.stretch).or_default();
        wait.ns += blocked;
        wait.jobs.extend(jobs);
        wait.after_ns = after_ns;
    }

    /// The jobs of a thread that ended while it waited in `stretch`, and its work after the last of
    /// them. None if the thread must have waited for something else.
    fn let_go_by(
        &self,
        ended: &[(u32, u64)],
        stretch: &Longest,
        blocked: u64,
        preempted: u64,
    ) -> (Vec<u32>, u64) {
        let (begun, end) = stretch.span;
        let within = ended
            .iter()
            .filter(|(_, time)| (begun..=end).contains(time));
        let Some(last) = within.clone().map(|(_, time)| *time).max() else {
            return Default::default();
        };
        let before = self.clock.ns(last - begun);
        let after = self.clock.ns(end - last);
        let worked = stretch.ns - blocked - preempted;
        // All that it waited fits before the job's end, and all that came after was work.
        if blocked > before + LATEST_NS || after > worked + preempted + LATEST_NS {
            return Default::default();
        }
        (within.map(|(job, _)| *job).collect(), after.min(worked))
    }

    /// The task whose code the thread runs.
    fn current(&mut self, track: &mut Track, time: u64) -> u32 {
        if let Some(entry) = track.stack.last() {
            return entry.task;
        }
        let root = number(self.tree.roots.len());
        let task = self.push_task(0, root);
        self.ended.push(Vec::new());
        self.tree.roots.push(Root {
            task,
            begin_ns: self.clock.ns(time),
        });
        track.open(task, Kind::Root);
        task
    }

    fn new_task(&mut self, parent: u32) -> Result<u32, String> {
        let depth = self.tree.tasks[parent as usize].depth + 1;
        if depth > DEEPEST {
            return Err(format!("more than {DEEPEST} jobs lie one in the other"));
        }
        Ok(self.push_task(depth, self.roots[parent as usize]))
    }

    fn push_task(&mut self, depth: u32, root: u32) -> u32 {
        self.roots.push(root);
        let number = number(self.tree.tasks.len());
        let after = self.new_stretch();
        self.tree.tasks.push(Task {
            first: 0,
            last: 0,
            after,
            depth,
        });
        number
    }

    fn new_stretch(&mut self) -> u32 {
        self.tree.work_ns.push(0);
        number(self.tree.work_ns.len()) - 1
    }

    fn add_step(&mut self, task: u32, what: What) {
        let number = number(self.tree.steps.len());
        let after = self.new_stretch();
        let task = &mut self.tree.tasks[task as usize];
        self.tree.steps.push(Step {
            before: task.after,
            next: 0,
            what,
        });
        task.after = after;
        if task.last == 0 {
            task.first = number;
        } else {
            self.tree.steps[task.last as usize].next = number;
        }
        task.last = number;
    }

    /// Takes a job out of the queues: this one, or the oldest at its address.
    fn unqueue(&mut self, job: u64, which: Option<u32>) -> Result<u32, String> {
        let jobs = self.queued.get_mut(&job);
        let found = jobs.and_then(|jobs| {
            let place = jobs
                .iter()
                .position(|it| which.is_none_or(|which| which == *it))?;
            jobs.remove(place)
        });
        found.ok_or_else(|| {
            "a job begins that was never pushed, or begins for the second time".to_owned()
        })
    }
}
