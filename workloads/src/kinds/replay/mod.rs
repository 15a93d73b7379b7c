//! `replay`: repeats another program's use of its pool, from a recording, on any pool and machine.
//!
//! The file that `cargo runner record` writes says which job forked which, and how long each ran by
//! itself. In a replay the same jobs fork each other in the same way, and each works for as long.
//! On the host a job makes dependent steps; on a simulated machine it adds its time. So a recording
//! from one host shows the effect of another scheduler, or of more cores, on the program.
//! `recording/README.md` lists the limits of such a replay.
//!
//! Without a file, the workload replays a tree of joins.

use std::collections::HashMap;
use std::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use protocol::Refusal;
use rayon::{Scope, ThreadPool};
use recording::{Iterators, Recording, Tree, What};

use crate::kinds::pacing::sleep_until;
use crate::machine::{IS_SIMULATED, add_cost};
use crate::random::mix;
use crate::runs::Runs;
use crate::workload::{Instance, Mismatch, Setup};

/// The most tasks that may nest: the replay is recursive, on a worker's stack of 2 MiB.
const DEEPEST: u32 = 1_000;

/// The time of a leaf in the tree that is replayed without a file, in nanoseconds.
const LEAF_NS: u64 = 1_000;

/// Prepares the workload `replay`.
///
/// # Errors
/// If the workload cannot run with these parameters.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let recording = match setup.input {
        None => Recording::of_joins(setup.values.whole("levels"), LEAF_NS),
        Some(path) => Recording::read(path)
            .map_err(|error| Refusal::new(format!("input {}: {error}", path.display())))?,
    };
    let refuse = |what: String| {
        let name = setup
            .input
            .map(|path| path.display().to_string())
            .unwrap_or_default();
        Refusal::new(format!("input {name}: {what}"))
    };
    let tree = Tree::of(&recording).map_err(|error| refuse(error.to_string()))?;
    let deepest = tree.tasks().iter().map(|task| task.depth).max();
    match deepest {
        None => {
            return Err(refuse(
                "the program gave no job to a pool; record another run".to_owned(),
            ));
        }
        Some(depth) if depth > DEEPEST => {
            return Err(refuse(format!(
                "{depth} tasks are nested, and at most {DEEPEST} fit a stack; record less of the program"
            )));
        }
        Some(_) => {}
    }
    Ok(Box::new(Arc::new(Program::new(
        tree,
        recording.head.split,
        setup.threads,
    ))))
}

/// A recorded program, ready to be replayed.
struct Program {
    tree: Tree,
    iterators: Iterators,
    /// The number of threads for which the recorded parallel iterators split.
    recorded_for: u64,
    /// The number of threads of the pool that replays the program.
    threads: u64,
    /// How many steps of [`Program::work`] this host makes in a nanosecond.
    steps_per_ns: f64,
    /// How often each task ran.
    ran: Runs,
    /// Jobs that no scope waits for.
    detached: Awaited,
    /// The jobs for which external threads wait without a call of the pool, by the stretch that
    /// waits.
    awaited: HashMap<u32, Awaited>,
    /// By these jobs, the stretch in which a thread waits for each.
    awaited_in: HashMap<u32, u32>,
}

/// Jobs that a thread waits for without a call of the pool.
#[derive(Default)]
struct Awaited {
    /// How many have not ended.
    left: AtomicUsize,
    waiter: Mutex<Option<Thread>>,
}

impl Program {
    fn new(tree: Tree, split: u64, threads: usize) -> Self {
        let workers = tree
            .threads()
            .iter()
            .filter_map(|thread| thread.worker)
            .max();
        let waits = || tree.waits().filter(|(_, wait)| !wait.jobs.is_empty());
        let program = Self {
            awaited: waits()
                .map(|(stretch, _)| (stretch, Awaited::default()))
                .collect(),
            awaited_in: waits()
                .flat_map(|(stretch, wait)| wait.jobs.iter().map(move |job| (*job, stretch)))
                .collect(),
            iterators: Iterators::of(&tree),
            recorded_for: if split > 0 {
                split
            } else {
                workers.map_or(1, |last| last + 1)
            },
            threads: threads as u64,
            steps_per_ns: steps_per_ns(),
            ran: Runs::of(tree.tasks().len()),
            tree,
            detached: Awaited::default(),
        };
        program.await_all();
        program
    }

    /// None of the jobs that threads wait for has ended.
    fn await_all(&self) {
        for (stretch, awaited) in &self.awaited {
            let jobs = self.tree.wait(*stretch).map_or(0, |wait| wait.jobs.len());
            awaited.left.store(jobs, Relaxed);
        }
    }

    /// Works and waits for as long as the recorded thread did in a stretch between two forks. Waits
    /// for jobs until they have ended.
    #[inline]
    fn work(&self, stretch: u32) {
        let ns = self.tree.work_ns()[stretch as usize];
        let Some(wait) = self.tree.wait(stretch) else {
            return self.spend(ns);
        };
        if let Some(awaited) = self.awaited.get(&stretch) {
            self.spend(ns.saturating_sub(wait.after_ns));
            awaited.wait();
            self.spend(wait.after_ns);
        } else {
            self.spend(ns);
            thread::sleep(Duration::from_nanos(wait.ns));
        }
    }

    #[inline]
    fn spend(&self, ns: u64) {
        add_cost(ns);
        if !IS_SIMULATED {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "small and positive"
            )]
            let steps = (ns as f64 * self.steps_per_ns) as u64;
            chain(steps);
        }
    }

    /// A job has ended. If it was the last job that a thread waits for, wakes that thread.
    fn end(&self, task: u32) {
        if self.awaited_in.is_empty() {
            return;
        }
        let stretch = self.awaited_in.get(&task);
        if let Some(awaited) = stretch.and_then(|stretch| self.awaited.get(stretch)) {
            awaited.end_one();
        }
    }

    fn begin(&self, task: u32) {
        self.ran.count(task as usize);
    }

    /// Runs `task` and all tasks below it one after the other, so no thread waits for jobs.
    fn alone(&self, task: u32) {
        self.begin(task);
        for (_, step) in self.tree.steps(task) {
            self.work(step.before);
            match step.what {
                What::Join { first, second, .. } => {
                    self.alone(first);
                    self.alone(second);
                }
                What::Scope { body: inner, .. }
                | What::Broadcast { body: inner, .. }
                | What::Spawn { job: inner, .. }
                | What::Install { job: inner } => self.alone(inner),
            }
        }
        self.work(self.tree.tasks()[task as usize].after);
        self.end(task);
    }
}

impl Awaited {
    fn end_one(&self) {
        // ORDERING: release, pairs with the acquire in `wait`.
        if self.left.fetch_sub(1, AcqRel) == 1 {
            let waiter = self.waiter.lock().unwrap_or_else(PoisonError::into_inner);
            waiter.iter().for_each(Thread::unpark);
        }
    }

    fn wait(&self) {
        // Stored before the first read of the count. So either the last job sees this thread, or
        // this thread sees that the job has ended.
        *self.waiter.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
        // ORDERING: acquire, pairs with the release in `end_one`: a thread that waited for the jobs
        // sees their writes.
        while self.left.load(Acquire) > 0 {
            thread::park();
        }
    }
}

fn chain(steps: u64) {
    std::hint::black_box((0..steps).fold(std::hint::black_box(1), |word, _| mix(word)));
}

/// Measured: the fastest of some tries.
fn steps_per_ns() -> f64 {
    const STEPS: u64 = 100_000;
    if IS_SIMULATED {
        return 0.0;
    }
    let tries = (0..8).map(|_| {
        let begun = Instant::now();
        chain(STEPS);
        begun.elapsed()
    });
    STEPS as f64 / (tries.min().unwrap_or_default().as_nanos() as f64).max(1.0)
}

/// Scopes that a task can spawn into.
trait Scopes: Sync {
    /// Spawns `job` into the scope of this number. Returns `false` if no scope here has that
    /// number.
    fn spawn(&self, scope: u32, job: u32) -> bool;
}

/// A scope and those around it.
struct Open<'a, 'scope> {
    number: u32,
    scope: &'a Scope<'scope>,
    program: &'scope Arc<Program>,
    around: Option<&'scope dyn Scopes>,
}

impl Scopes for Open<'_, '_> {
    fn spawn(&self, scope: u32, job: u32) -> bool {
        let &Self {
            number,
            program,
            around,
            ..
        } = self;
        if scope != number {
            return around.is_some_and(|around| around.spawn(scope, job));
        }
        self.scope.spawn(move |scope| {
            let open = Open {
                number,
                scope,
                program,
                around,
            };
            Place {
                program,
                outside: None,
                scopes: Some(&open),
            }
            .run(job, None);
        });
        true
    }
}

/// The splits that a parallel iterator has left.
#[derive(Clone, Copy)]
struct Splits {
    site: u32,
    left: u64,
    migrated: bool,
}

impl Splits {
    /// Returns the splits that each half has left if the iterator splits now, on a pool of
    /// `threads` threads. An iterator splits as often as there are threads, and again after each
    /// piece that was stolen.
    fn halved(self, threads: u64) -> Option<u64> {
        match (self.migrated, self.left / 2) {
            (true, half) => Some(half.max(threads)),
            (false, half) => (self.left > 0).then_some(half),
        }
    }
}

/// Where a task runs.
#[derive(Clone, Copy)]
struct Place<'a> {
    program: &'a Arc<Program>,
    /// The pool, if the thread is none of its workers.
    outside: Option<&'a ThreadPool>,
    scopes: Option<&'a dyn Scopes>,
}

impl<'a> Place<'a> {
    /// Runs `task`, a piece of a parallel iterator or something else.
    fn run(self, task: u32, splits: Option<Splits>) {
        let program = self.program;
        program.begin(task);
        let mut splits = splits;
        for (number, step) in program.tree.steps(task) {
            program.work(step.before);
            // The first thing that a piece of an iterator does is to split.
            let splits = splits.take();
            match step.what {
                What::Join {
                    first,
                    second,
                    site,
                } => {
                    let splits = site.map(|site| self.splits(number, site, splits));
                    match self.outside {
                        None => self.join(first, second, splits),
                        Some(pool) => pool.install(|| self.inside().join(first, second, splits)),
                    }
                }
                What::Scope { body, scope } => self.scope(body, scope),
                What::Broadcast { body, scope } => self.broadcast(body, scope),
                What::Spawn { job, scope } => {
                    if !self.scopes.is_some_and(|scopes| scopes.spawn(scope, job)) {
                        self.detach(job);
                    }
                }
                What::Install { job } => match self.outside {
                    // A recording does not say which of several pools it was.
                    None => self.run(job, None),
                    Some(pool) => pool.install(|| self.inside().run(job, None)),
                },
            }
        }
        program.work(program.tree.tasks()[task as usize].after);
        program.end(task);
    }

    fn inside(self) -> Self {
        Self {
            outside: None,
            ..self
        }
    }

    /// Returns the splits that the iterator has left at this step; `before` are those that it had
    /// above.
    fn splits(self, step: u32, site: u32, before: Option<Splits>) -> Splits {
        before
            .filter(|before| before.site == site)
            .unwrap_or_else(|| {
                let Program {
                    iterators,
                    threads,
                    recorded_for,
                    ..
                } = &**self.program;
                let left = iterators.first_splits(step, *threads, *recorded_for);
                Splits {
                    site,
                    left,
                    migrated: false,
                }
            })
    }

    /// Both halves of a join. Pieces of an iterator run in parallel only if it would split on this
    /// pool, and never split farther than recorded.
    fn join(self, first: u32, second: u32, splits: Option<Splits>) {
        let Some(splits) = splits else {
            rayon::join(|| self.run(first, None), || self.run(second, None));
            return;
        };
        let piece = |left, migrated| {
            Some(Splits {
                left,
                migrated,
                ..splits
            })
        };
        if let Some(left) = splits.halved(self.program.threads) {
            rayon::join_context(
                |context| self.run(first, piece(left, context.migrated())),
                |context| self.run(second, piece(left, context.migrated())),
            );
        } else {
            self.run(first, piece(0, false));
            self.run(second, piece(0, false));
        }
    }

    fn scope(self, body: u32, number: u32) {
        let Self {
            program,
            outside,
            scopes: around,
        } = self;
        let call = move |scope: &Scope<'a>| {
            let open = Open {
                number,
                scope,
                program,
                around,
            };
            Place {
                program,
                outside,
                scopes: Some(&open),
            }
            .run(body, None);
        };
        match outside {
            None => rayon::scope(call),
            Some(pool) => pool.in_place_scope(call),
        }
    }

    /// Each worker runs every n-th share, if there are n workers.
    fn broadcast(self, body: u32, number: u32) {
        let program = self.program;
        program.begin(body);
        let mut shares = Vec::new();
        for (_, step) in program.tree.steps(body) {
            program.work(step.before);
            match step.what {
                What::Spawn { job, scope } if scope == number => shares.push(job),
                // A broadcast contains no other recorded step.
                _ => {}
            }
        }
        let share = |worker: usize, workers: usize| {
            for job in shares.iter().skip(worker).step_by(workers) {
                self.inside().run(*job, None);
            }
        };
        match self.outside {
            None => {
                rayon::broadcast(|context| share(context.index(), context.num_threads()));
            }
            Some(pool) => {
                pool.broadcast(|context| share(context.index(), context.num_threads()));
            }
        }
        program.work(program.tree.tasks()[body as usize].after);
    }

    /// Spawns a job that no scope waits for.
    fn detach(self, job: u32) {
        let program = Arc::clone(self.program);
        // Relaxed: the thread that waits for the number to be 0 increased it itself, or waits for a
        // job that did.
        program.detached.left.fetch_add(1, Relaxed);
        let call = move || {
            Place {
                program: &program,
                outside: None,
                scopes: None,
            }
            .run(job, None);
            program.detached.end_one();
        };
        match self.outside {
            None => rayon::spawn(call),
            Some(pool) => pool.spawn(call),
        }
    }
}

impl Instance for Arc<Program> {
    fn reset(&mut self) {
        self.ran.forget();
        self.await_all();
    }

    fn run_sequential(&mut self) -> u64 {
        self.tree
            .roots()
            .iter()
            .for_each(|root| self.alone(root.task));
        self.ran.jobs() as u64
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let program = &*self;
        let begun = Instant::now();
        let place = Place {
            program,
            outside: Some(pool),
            scopes: None,
        };
        let [first, others @ ..] = program.tree.roots() else {
            return 0;
        };
        if others.is_empty() {
            place.run(first.task, None);
        } else {
            // Each external thread begins at its recorded time.
            thread::scope(|scope| {
                for root in others {
                    scope.spawn(move || {
                        let gap = root.begin_ns.saturating_sub(first.begin_ns);
                        sleep_until(begun + Duration::from_nanos(gap));
                        place.run(root.task, None);
                    });
                }
                place.run(first.task, None);
            });
        }
        program.detached.wait();
        program.ran.jobs() as u64
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let answer = |ran: usize| format!("{ran} tasks once");
        Mismatch::unless_equal(&answer(self.ran.jobs()), &answer(self.ran.once()))
    }
}

#[cfg(test)]
mod tests;
