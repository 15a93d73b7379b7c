//! Assigns threads to cores, as an operating system does.
//!
//! A thread that becomes able to run gets its previous core if that is free, otherwise the nearest
//! free core. If no core is free, the thread waits for its previous core. The previous core of a
//! new thread is a free core, or otherwise the core with the shortest queue. A core that loses its
//! thread takes the first thread of its own queue, otherwise the first of the longest queue. A
//! thread gives up its core when it blocks, sleeps or ends. A thread that yields, or that has used
//! its time slice, gives its core to the first thread that waits for that core.
//!
//! Each hardware thread counts as a core in this file. A thread that must move prefers a core whose
//! sibling is free. The simulation moves no thread away from a busy sibling afterwards.

use corosensei::stack::{DefaultStack, Stack as _};

use super::attribution::Spending;
use super::earliest::{MOST_THREADS, NEVER, key};
use super::{Blocked, Engine, STACK_BYTES, State, Step, Thread, running, scaled};
use crate::machine::{FrequencyMode, Picoseconds};
use crate::stuck::Stuck;

impl Engine {
    fn count_running(&mut self, core: usize, is_running: bool) {
        if self.cores[core].is_counted == is_running {
            return;
        }
        self.cores[core].is_counted = is_running;
        let sibling = self.machine.topology.sibling_of(core);
        if sibling.is_some_and(|sibling| self.cores[sibling].is_counted) {
            return;
        }
        let socket = self.machine.topology.socket_of(core);
        let running = &mut self.sockets[socket].running;
        if is_running {
            *running += 1;
        } else {
            *running -= 1;
        }
        let running = *running;
        if self.mode == FrequencyMode::Dynamic {
            self.sockets[socket].costs = self.core_costs(running);
        }
    }

    pub(super) fn begin_thread(
        &mut self,
        name: Option<String>,
        body: Box<dyn FnOnce()>,
    ) -> Option<u64> {
        let place = match self
            .threads
            .iter()
            .position(|thread| thread.state == State::Free)
        {
            Some(place) => place,
            None if self.threads.len() == MOST_THREADS => return None,
            None => {
                self.threads.push(Thread::free());
                self.coroutines.push(None);
                self.heap.add_thread();
                self.threads.len() - 1
            }
        };
        self.alive += 1;
        self.threads_started += 1;
        let spent = self.threads[place].spent;
        let number = self.threads_started;
        let core = self.core_for_a_new_thread();
        self.threads[place] = Thread {
            core,
            spent,
            name,
            number,
            ..Thread::free()
        };
        let stack = DefaultStack::new(STACK_BYTES).expect("there is address space for a stack");
        self.stacks.retain(|_, (_, other)| *other != place);
        self.stacks
            .insert(stack.base().get(), (stack.limit().get(), place));
        let coroutine = Step::with_stack(stack, move |yielder, ()| {
            // SAFETY: the engine outlives its coroutines, and no reference to the engine is alive:
            // the reference in the loop of `run` has just ended.
            unsafe {
                let engine = &mut *running();
                engine.threads[engine.current].yielder = yielder;
            }
            body();
        });
        self.coroutines[place] = Some(Box::new(coroutine));
        self.make_ready(place, self.clock);
        Some(number)
    }

    fn core_for_a_new_thread(&self) -> usize {
        let cores = self.cores.iter().enumerate();
        let fewest = cores.min_by_key(|(number, core)| {
            (
                core.thread.is_some(),
                self.is_sibling_taken(*number),
                core.queue.len(),
            )
        });
        fewest.map_or(0, |(number, _)| number)
    }

    fn is_sibling_taken(&self, core: usize) -> bool {
        let sibling = self.machine.topology.sibling_of(core);
        sibling.is_some_and(|sibling| self.cores[sibling].thread.is_some())
    }

    /// Whether a thread runs on the sibling of `core`. A spinning thread counts, because it slows
    /// the core as much as a working thread.
    fn does_sibling_run(&self, core: usize) -> bool {
        let sibling = self.machine.topology.sibling_of(core);
        let thread = sibling.and_then(|sibling| self.cores[sibling].thread);
        thread.is_some_and(|thread| self.threads[thread].state == State::Awake)
    }

    pub(super) fn make_ready(&mut self, thread: usize, at: Picoseconds) {
        let core = self.core_for(thread);
        self.threads[thread].core = core;
        self.threads[thread].clock = at;
        if self.cores[core].thread.is_some() {
            self.threads[thread].state = State::Queued;
            self.cores[core].queue.push_back(thread);
            self.queued += 1;
            self.earliest.set(thread, NEVER);
            return;
        }
        let begins = at.max(self.cores[core].since);
        let until = begins + self.resume_time(core, begins);
        self.give(core, thread, until);
    }

    fn core_for(&self, thread: usize) -> usize {
        let last = self.threads[thread].core;
        if self.cores[last].thread.is_none() {
            return last;
        }
        let free = (0..self.cores.len()).filter(|core| self.cores[*core].thread.is_none());
        let nearest = free.min_by_key(|core| {
            (
                self.is_sibling_taken(*core),
                self.machine.topology.distance(last, *core),
            )
        });
        nearest.unwrap_or(last)
    }

    fn give(&mut self, core: usize, thread: usize, until: Picoseconds) {
        self.cores[core].thread = Some(thread);
        self.cores[core].since = until;
        let given = &mut self.threads[thread];
        given.core = core;
        given.state = State::Waking;
        given
            .spent
            .add(Spending::Waking, until.saturating_sub(given.clock));
        given.clock = until;
        self.earliest.set(thread, key(until, thread));
    }

    fn release(&mut self) {
        let core = self.core;
        self.cores[core].thread = None;
        self.cores[core].since = self.clock;
        let Some(next) = self.next_for(core) else {
            self.count_running(core, false);
            return;
        };
        self.queued -= 1;
        let from = self.clock.max(self.threads[next].clock);
        let switch = self.on_this_core(self.machine.costs.switch);
        self.give(core, next, from);
        let given = &mut self.threads[next];
        given.clock += switch;
        given.spent.add(Spending::System, switch);
        let key = key(given.clock, next);
        self.earliest.set(next, key);
    }

    fn next_for(&mut self, core: usize) -> Option<usize> {
        if self.queued == 0 {
            return None;
        }
        let longest = |core: &usize| std::cmp::Reverse(self.cores[*core].queue.len());
        let from = if self.cores[core].queue.is_empty() {
            (0..self.cores.len()).min_by_key(longest)?
        } else {
            core
        };
        self.cores[from].queue.pop_front()
    }

    /// Begins the turn of `thread`, which has the earliest clock. Returns `false` if the thread
    /// only became able to run.
    pub(super) fn begin_turn(&mut self, thread: usize) -> bool {
        self.steps += 1;
        self.progress.turn(self.steps);
        self.earliest.set(thread, NEVER);
        let clock = self.threads[thread].clock;
        if let Some(Blocked { since, address, .. }) = self.threads[thread].blocked.take() {
            self.queues
                .entry(address)
                .or_default()
                .retain(|waiting| *waiting != thread);
            self.threads[thread].is_late = true;
            self.threads[thread]
                .spent
                .add(Spending::Asleep, clock.saturating_sub(since));
            self.make_ready(thread, clock);
            return false;
        }
        if self.threads[thread].state == State::Sleeping {
            self.make_ready(thread, clock);
            return false;
        }
        self.current = thread;
        self.core = self.threads[thread].core;
        self.clock = clock;
        if self.threads[thread].state == State::Waking {
            self.threads[thread].state = State::Awake;
            self.count_running(self.core, true);
        }
        let topology = &self.machine.topology;
        self.cache = topology.core_of(self.core);
        // The sibling starts or stops only in turns of other threads, after which this code runs
        // again.
        let is_shared = self.does_sibling_run(self.core);
        self.costs = self.sockets[topology.socket_of(self.core)].costs[usize::from(is_shared)];
        true
    }

    pub(super) fn end_thread(&mut self) {
        self.coroutines[self.current] = None;
        self.alive -= 1;
        self.is_over = self.current == 0;
        self.leave(State::Free);
    }

    pub(super) fn leave(&mut self, state: State) {
        self.threads[self.current].state = state;
        self.threads[self.current].clock = self.clock;
        self.release();
    }

    /// Puts the current thread behind the threads that wait for its core, if there are any. If the
    /// current thread does not yield, it must also have used its time slice. Returns whether the
    /// thread gave up the core.
    pub(super) fn make_way(&mut self, yields: bool) -> bool {
        let core = &self.cores[self.core];
        let is_over = self.clock.saturating_sub(core.since) >= self.machine.costs.slice;
        if core.queue.is_empty() || !(yields || is_over) {
            return false;
        }
        self.empty_buffer();
        self.cores[self.core].queue.push_back(self.current);
        self.queued += 1;
        self.leave(State::Queued);
        true
    }

    fn empty_buffer(&mut self) {
        let last = self.cores[self.core].stores.drain(..).next_back();
        if let Some(until) = last {
            self.wait_until(until);
        }
    }

    pub(super) fn stuck(&self) -> Stuck {
        let line = |thread: &Thread| {
            let blocked = thread.blocked.filter(|_| thread.state == State::Blocked)?;
            let name = thread.name.as_deref().unwrap_or("unnamed");
            let since = blocked.since as f64 / 1e6;
            let (core, at) = (thread.core, blocked.at);
            Some(format!(
                "\n  core {core:>4}  {name:<20} since {since:.3} µs at {at}"
            ))
        };
        Stuck(self.threads.iter().filter_map(line).collect())
    }

    fn resume_time(&mut self, core: usize, begins: Picoseconds) -> Picoseconds {
        let costs = &self.machine.costs;
        let idle = begins - self.cores[core].since;
        let sibling = self.machine.topology.sibling_of(core);
        let of_sibling = |sibling: usize| match &self.cores[sibling] {
            sibling if sibling.thread.is_some() => 0,
            sibling => begins.saturating_sub(sibling.since),
        };
        // The deep idle states need both hardware threads of a core.
        let both_idle = sibling.map_or(idle, of_sibling).min(idle);
        if both_idle > costs.cold_after {
            self.lines.empty(self.machine.topology.core_of(core));
        }
        let time = if idle <= costs.poll {
            costs.resume_polling
        } else if both_idle <= costs.deep_after {
            costs.resume
        } else if both_idle <= costs.deepest_after {
            costs.deep_resume
        } else {
            costs.deepest_resume
        };
        let jitter = costs.jitter * self.random.f64();
        time + scaled(time, 1.0 / jitter)
    }

    /// Returns the time that the waking thread spends to wake `thread`: less if the waking thread
    /// interrupts no core.
    pub(super) fn wake_cost(&self, thread: usize) -> Picoseconds {
        let core = &self.cores[self.core_for(thread)];
        let polls = self.clock.saturating_sub(core.since) <= self.machine.costs.poll;
        let costs = &self.machine.costs;
        if core.thread.is_some() || polls {
            costs.wake_polling
        } else {
            costs.wake
        }
    }

    pub(super) fn wake_thread(&mut self, thread: usize) {
        let blocked = self.threads[thread].blocked.take();
        let since = blocked.expect("only a blocked thread is in a queue").since;
        let slept = self.clock.saturating_sub(since);
        self.threads[thread].spent.add(Spending::Asleep, slept);
        self.make_ready(thread, since.max(self.clock));
    }
}
