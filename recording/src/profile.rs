//! The facts that a tree of jobs gives without a pool: work, span, and how much could run at once.

use std::collections::HashMap;

use crate::tree::{NO_SCOPE, Tree, What};

/// Parts into which the span is cut to show parallelism over time.
const PARTS: usize = 20;

/// Something that a thread outside the pool gave to it and waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// The thread's own work before, in nanoseconds.
    pub gap_ns: u64,
    /// Time of all its jobs, in nanoseconds.
    pub work_ns: u64,
    /// The least time it can take, on as many cores as it likes, in nanoseconds.
    pub span_ns: u64,
}

/// The profile of a tree. All times are in nanoseconds, without the costs of a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The work of all tasks.
    pub work_ns: u64,
    /// The time of waits for something outside the pool that is no job.
    pub blocked_ns: u64,
    /// The least time of the whole on any number of cores.
    pub span_ns: u64,
    /// How many tasks run at once in each part of the span, in the mean, if each runs as soon as it
    /// can.
    pub parallelism: [f64; PARTS],
    /// How many stretches of work take less than 10^(i+1) ns and not less than 10^i, and their time
    /// in all.
    pub grains: [(u64, u64); 10],
    /// The work that external threads gave to the pool, one after the other.
    pub regions: Vec<Region>,
    /// Times of forks: joins, scopes, broadcasts, spawned jobs, and installs.
    pub steps: [u64; 5],
}

impl Profile {
    /// The profile of `tree`.
    ///
    /// # Panics
    /// If the system gives no thread.
    #[must_use]
    pub fn of(tree: &Tree) -> Self {
        let deepest = tree
            .tasks()
            .iter()
            .map(|task| task.depth)
            .max()
            .unwrap_or(0) as usize;
        // A call takes less than that, also in debug builds.
        let stack = (deepest + 100) * 1000 + (1 << 20);
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(stack);
            let walk = thread
                .spawn_scoped(scope, || Self::walked(tree))
                .expect("the system gives a thread");
            walk.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn walked(tree: &Tree) -> Self {
        let mut profile = Self::default();
        let mut walk = Walk {
            tree,
            ends: vec![0; tree.scopes() as usize],
            awaited: tree
                .waits()
                .flat_map(|(_, wait)| wait.jobs.iter().map(|job| (*job, 0)))
                .collect(),
            latest: 0,
            span: None,
            profile: &mut profile,
        };
        for root in tree.roots() {
            walk.root(root.task, root.begin_ns - tree.roots()[0].begin_ns);
        }
        let span = walk.latest;
        walk.span = Some(span);
        for root in tree.roots() {
            let end = walk.task(root.task, root.begin_ns - tree.roots()[0].begin_ns);
            debug_assert!(end <= span);
        }
        profile.span_ns = span;
        profile
    }
}

/// Each task runs as soon as it can.
struct Walk<'a> {
    tree: &'a Tree,
    /// When the jobs of each scope have ended.
    ends: Vec<u64>,
    /// When each job has ended that a thread outside the pool waits for without a call of it.
    awaited: HashMap<u32, u64>,
    /// When everything so far has ended.
    latest: u64,
    /// Known the second time.
    span: Option<u64>,
    profile: &'a mut Profile,
}

impl Walk<'_> {
    /// A task that gives regions to the pool.
    fn root(&mut self, task: u32, start: u64) {
        let (mut now, mut gap_ns) = (start, 0);
        let tree = self.tree;
        for (_, step) in tree.steps(task) {
            let before = self.profile.work_ns;
            now = self.stretch(step.before, now);
            gap_ns += self.profile.work_ns - before;
            let (begun, before) = (now, self.profile.work_ns);
            now = self.step(&step.what, now);
            if !matches!(step.what, What::Spawn { .. }) {
                let work_ns = self.profile.work_ns - before;
                self.profile.regions.push(Region {
                    gap_ns,
                    work_ns,
                    span_ns: now - begun,
                });
                gap_ns = 0;
            }
        }
        let end = self.stretch(tree.tasks()[task as usize].after, now);
        self.latest = self.latest.max(end);
    }

    /// Returns when it has ended if it begins at `now`.
    fn task(&mut self, task: u32, mut now: u64) -> u64 {
        let tree = self.tree;
        for (_, step) in tree.steps(task) {
            now = self.stretch(step.before, now);
            now = self.step(&step.what, now);
        }
        let end = self.stretch(tree.tasks()[task as usize].after, now);
        self.latest = self.latest.max(end);
        if let Some(known) = self.awaited.get_mut(&task) {
            *known = end;
        }
        end
    }

    fn step(&mut self, what: &What, now: u64) -> u64 {
        let kind = match what {
            What::Join { .. } => 0,
            What::Scope { .. } => 1,
            What::Broadcast { .. } => 2,
            What::Spawn { .. } => 3,
            What::Install { .. } => 4,
        };
        if self.span.is_none() {
            self.profile.steps[kind] += 1;
        }
        match *what {
            What::Join { first, second, .. } => self.task(first, now).max(self.task(second, now)),
            What::Install { job } => self.task(job, now),
            What::Scope { body, scope } | What::Broadcast { body, scope } => {
                self.ends[scope as usize] = 0;
                self.task(body, now).max(self.ends[scope as usize])
            }
            What::Spawn { job, scope } => {
                let end = self.task(job, now);
                if scope != NO_SCOPE {
                    let known = &mut self.ends[scope as usize];
                    *known = end.max(*known);
                }
                now
            }
        }
    }

    fn stretch(&mut self, number: u32, now: u64) -> u64 {
        let work = self.tree.work_ns()[number as usize];
        let wait = self.tree.wait(number);
        let (before, blocked) = match wait {
            Some(wait) if wait.jobs.is_empty() => (work, wait.ns),
            Some(wait) => {
                let before = work.saturating_sub(wait.after_ns);
                let last = wait
                    .jobs
                    .iter()
                    .map(|job| self.awaited[job])
                    .max()
                    .unwrap_or(0);
                (before, last.saturating_sub(now + before))
            }
            None => (work, 0),
        };
        let goes_on = now + before + blocked;
        let end = goes_on + work - before;
        match self.span {
            None => {
                self.profile.work_ns += work;
                if wait.is_some_and(|wait| wait.jobs.is_empty()) {
                    self.profile.blocked_ns += blocked;
                }
                let grain = (work.max(1).ilog10() as usize).min(self.profile.grains.len() - 1);
                let (count, sum) = &mut self.profile.grains[grain];
                *count += 1;
                *sum += work;
            }
            Some(span) => {
                self.spread(now, now + before, span);
                self.spread(goes_on, end, span);
            }
        }
        end
    }

    /// Adds a stretch to each part of the span that it lies in.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most PARTS"
    )]
    fn spread(&mut self, begin: u64, end: u64, span: u64) {
        let part = span as f64 / PARTS as f64;
        let place = |time: u64| ((time as f64 / part) as usize).min(PARTS - 1);
        if end == begin {
            return;
        }
        for index in place(begin)..=place(end) {
            let from = (begin as f64).max(index as f64 * part);
            let to = (end as f64).min((index + 1) as f64 * part);
            self.profile.parallelism[index] += (to - from).max(0.0) / part;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Event::{
        Await, Begin, Broadcast, Close, End, Install, Into, Scope, Spawn, Worker,
    };
    use crate::synthetic;

    fn profile(recording: &crate::Recording) -> Profile {
        Profile::of(&Tree::of(recording).unwrap())
    }

    #[test]
    fn a_tree_of_joins_has_the_work_of_all_its_halves_and_the_span_of_the_longest_way() {
        let found = profile(&synthetic::joins(3));
        // 8 leaves of 100 ns; on each of 7 joins 10 ns before the first half's end and the
        // second's, and before the inner ones.
        assert_eq!(found.steps, [7, 0, 0, 0, 0]);
        assert_eq!(found.work_ns, 8 * 100 + 7 * 20 + 6 * 10);
        // The first half of each join is the shorter one by its own way down.
        assert_eq!(found.span_ns, 100 + 10 + 2 * 20);
        let mean = found.parallelism.iter().sum::<f64>() / PARTS as f64;
        assert!(
            (mean - found.work_ns as f64 / found.span_ns as f64).abs() < 1e-9,
            "{mean}"
        );
    }

    #[test]
    fn jobs_of_a_scope_run_beside_it_and_beside_each_other_and_it_ends_with_the_last() {
        let recording = synthetic::recording(&[
            &[
                (Scope, 100, 7),
                (Into, 110, 7),
                (Spawn, 110, 1),
                (Into, 120, 7),
                (Spawn, 120, 2),
                (Await, 150, 0),
                (Close, 1000, 0),
                (Install, 1100, 3),
                (Close, 1900, 0),
                (Broadcast, 2000, 9),
                (Into, 2000, 9),
                (Spawn, 2000, 4),
                (Await, 2000, 0),
                (Close, 2600, 0),
            ],
            &[
                (Worker, 1, 0),
                (Begin, 200, 1),
                (End, 500, 0),
                (Begin, 500, 2),
                (End, 900, 0),
                (Begin, 1200, 3),
                (End, 1800, 0),
                (Begin, 2100, 4),
                (End, 2500, 0),
            ],
        ]);
        let found = profile(&recording);
        assert_eq!(found.steps, [0, 1, 1, 3, 1]);
        let region = |gap_ns, work_ns, span_ns| Region {
            gap_ns,
            work_ns,
            span_ns,
        };
        // The second job begins 20 ns after the scope, and takes 400.
        assert_eq!(
            found.regions,
            [
                region(0, 50 + 300 + 400, 420),
                region(100, 600, 600),
                region(100, 400, 400)
            ]
        );
        assert_eq!(
            (found.work_ns, found.span_ns),
            (750 + 100 + 600 + 100 + 400, 420 + 100 + 600 + 100 + 400)
        );
    }

    #[test]
    fn a_thread_that_waits_for_its_jobs_by_a_channel_goes_on_when_the_last_has_ended() {
        let found = profile(&synthetic::waiting_for_jobs(3_030_000));
        assert_eq!(
            (found.work_ns, found.blocked_ns),
            (3 * 1_000_000 + 20_000 + 500_000, 0)
        );
        // The last is spawned after 20 us.
        assert_eq!(found.span_ns, 20_000 + 1_000_000 + 500_000);
    }
}
