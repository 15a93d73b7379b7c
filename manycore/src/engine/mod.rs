//! The simulation itself: threads take turns in the order of their clocks, and each operation adds
//! its cost to a clock.
//!
//! All simulated threads run on one thread of the host. These threads reach the engine by a raw
//! pointer, because no reference to the engine may live while another simulated thread runs.

pub(crate) mod attribution;
mod earliest;
mod lines;
mod schedule;
mod steps;

pub use steps::*;

use std::any::Any;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::panic::Location;
use std::ptr;
use std::sync::Arc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use rustc_hash::FxHashMap;

use crate::heap::RunHeap;
use crate::machine::{FrequencyMode, Machine, Picoseconds};
use crate::stall::{self, Progress};
use crate::stuck::Stuck;
use attribution::{Spending, Spent, WaitedFor, Waits};
pub(crate) use earliest::MOST_THREADS;
use earliest::{Earliest, NEVER, thread_of};
pub(crate) use lines::{Access, LINE_BYTES};
use lines::{Lines, Miss};

/// The size of a thread's stack. Pages that the thread does not touch cost nothing.
const STACK_BYTES: usize = 2 << 20;

type Step = Coroutine<(), (), (), DefaultStack>;

thread_local! {
    static RUNNING: Cell<*mut Engine> = const { Cell::new(ptr::null_mut()) };
    /// Whether the code of a simulated thread runs, and not code of the engine.
    static IS_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// The engine that runs; null outside a simulation.
#[inline]
pub(crate) fn running() -> *mut Engine {
    RUNNING.get()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Awake,
    /// The thread is blocked until another thread wakes it. If the blocked thread has a key in the
    /// tournament, it is blocked for a limited time.
    Blocked,
    Sleeping,
    /// The thread has a core, and takes a turn when the simulation reaches its clock.
    Waking,
    Queued,
}

#[derive(Clone, Copy, Debug)]
struct Blocked {
    since: Picoseconds,
    address: usize,
    at: &'static Location<'static>,
}

/// A thread-local value, and whether it has a destructor.
pub(crate) type Value = (Box<dyn Any>, bool);

#[derive(Default)]
enum Local {
    #[default]
    Missing,
    There(Value),
    Dropped,
}

struct Thread {
    state: State,
    core: usize,
    /// The thread's clock while it does not run. If the thread waits for a core, this is the start
    /// of that wait.
    clock: Picoseconds,
    /// The thread's handle on its own coroutine; null before the first step.
    yielder: *const Yielder<(), ()>,
    spent: Spent,
    is_searching: bool,
    /// The time of the thread's next accesses that costs nothing, because the core overlaps these
    /// accesses with others.
    overlapped: Picoseconds,
    blocked: Option<Blocked>,
    /// Whether the thread stopped waiting because the time limit of the wait had passed.
    is_late: bool,
    locals: Vec<Local>,
    name: Option<String>,
    number: u64,
}

impl Thread {
    fn free() -> Self {
        Self {
            state: State::Free,
            core: 0,
            clock: 0,
            yielder: ptr::null(),
            spent: Spent::default(),
            is_searching: false,
            overlapped: 0,
            blocked: None,
            is_late: false,
            locals: Vec::new(),
            name: None,
            number: 0,
        }
    }
}

/// A core as the operating system sees it: each hardware thread of a physical core is a core of its
/// own, with its own number.
#[derive(Default)]
struct Core {
    thread: Option<usize>,
    queue: VecDeque<usize>,
    /// The time at which the core's thread got the core, or at which the core became free.
    since: Picoseconds,
    is_counted: bool,
    /// The times at which buffered stores will be done, oldest first.
    stores: VecDeque<Picoseconds>,
}

#[derive(Clone, Copy, Debug, Default)]
struct CoreCosts {
    hit: Picoseconds,
    read_modify_write: Picoseconds,
    fence: Picoseconds,
    pause: Picoseconds,
    allocation: Picoseconds,
    speed: f64,
}

struct Socket {
    running: usize,
    /// The costs of cores whose sibling does not run, and of cores whose sibling runs.
    costs: [CoreCosts; 2],
}

struct Transfer {
    number: usize,
    /// The ticket of the core's turn, if other cores may still go first.
    ticket: Option<u64>,
    done: Picoseconds,
    at: &'static Location<'static>,
    on: WaitedFor,
}

pub(crate) struct Engine {
    machine: Machine,
    mode: FrequencyMode,
    current: usize,
    core: usize,
    cache: usize,
    clock: Picoseconds,
    costs: CoreCosts,
    earliest: Earliest,
    cores: Vec<Core>,
    threads: Vec<Thread>,
    coroutines: Vec<Option<Box<Step>>>,
    queued: usize,
    alive: usize,
    /// The time when the next heavy side of an asymmetric fence can begin: the kernel executes one
    /// heavy side at a time.
    heavy_fence_free_at: Picoseconds,
    stacks: BTreeMap<usize, (usize, usize)>,
    sockets: Vec<Socket>,
    lines: Lines,
    pub(crate) heap: RunHeap,
    waits: Waits,
    queues: FxHashMap<usize, VecDeque<usize>>,
    statics: FxHashMap<usize, &'static dyn Any>,
    seed: u64,
    random: fastrand::Rng,
    progress: Arc<Progress>,
    threads_started: u64,
    steps: u64,
    accesses: u64,
    is_over: bool,
}

impl Engine {
    pub(crate) fn new(machine: &Machine, mode: FrequencyMode, seed: u64) -> Self {
        let cores = machine.topology.cpus();
        let mut engine = Self {
            machine: machine.clone(),
            mode,
            current: 0,
            core: 0,
            cache: 0,
            clock: 0,
            costs: CoreCosts::default(),
            earliest: Earliest::new(2 * cores),
            cores: (0..cores).map(|_| Core::default()).collect(),
            threads: Vec::new(),
            coroutines: Vec::new(),
            queued: 0,
            alive: 0,
            heavy_fence_free_at: 0,
            stacks: BTreeMap::new(),
            sockets: Vec::new(),
            lines: Lines::new(&machine.topology),
            heap: RunHeap::new(),
            waits: Waits::default(),
            queues: FxHashMap::default(),
            statics: FxHashMap::default(),
            seed,
            random: fastrand::Rng::with_seed(seed),
            progress: stall::progress(),
            threads_started: 0,
            steps: 0,
            accesses: 0,
            is_over: false,
        };
        for _ in 0..machine.topology.sockets {
            let costs = engine.core_costs(0);
            engine.sockets.push(Socket { running: 0, costs });
        }
        engine
    }

    pub(crate) fn run(mut self, main: Box<dyn FnOnce()>) -> Result<Self, Stuck> {
        assert!(running().is_null(), "this thread already runs a simulation");
        self.begin_thread(Some("main".to_owned()), main);
        let engine = ptr::from_mut(&mut self);
        RUNNING.set(engine);
        let _reset = Reset;
        loop {
            // SAFETY: no thread's code runs here, so no other reference to the engine exists; this
            // reference ends before the coroutine is resumed.
            let coroutine: *mut Step = unsafe {
                let engine = &mut *engine;
                let next = engine.earliest.min();
                if engine.is_over {
                    break;
                }
                if next == NEVER {
                    return Err(engine.stuck());
                }
                if !engine.begin_turn(thread_of(next)) {
                    continue;
                }
                &raw mut **engine.coroutines[engine.current]
                    .as_mut()
                    .expect("a thread with a key has a coroutine")
            };
            IS_THREAD.set(true);
            // SAFETY: the coroutine's box stays where it is while the program starts threads, and
            // only this loop takes the box out of its place. The code that runs now reaches the
            // engine, never the coroutines of threads that have begun.
            let is_done = unsafe { (*coroutine).resume(()).as_return().is_some() };
            IS_THREAD.set(false);
            if is_done {
                // SAFETY: no thread's code runs, so no other reference to the engine exists.
                unsafe { (*engine).end_thread() };
            }
        }
        Ok(self)
    }

    pub(crate) fn totals(&self) -> (Picoseconds, u64, u64) {
        (self.clock, self.accesses, self.steps)
    }

    fn core_costs(&self, running: usize) -> [CoreCosts; 2] {
        let frequency = &self.machine.frequency;
        let costs = &self.machine.costs;
        let alone =
            f64::from(frequency.mhz(self.mode, running)) / f64::from(frequency.reference_mhz);
        let at = |speed: f64| CoreCosts {
            hit: scaled(costs.hit, speed),
            read_modify_write: scaled(costs.read_modify_write, speed),
            fence: scaled(costs.fence, speed),
            pause: scaled(costs.pause, speed),
            allocation: scaled(costs.allocation, speed),
            speed,
        };
        [at(alone), at(alone * costs.shared_speed)]
    }

    #[inline]
    fn charge(&mut self, spending: Spending, time: Picoseconds) {
        self.clock += time;
        self.threads[self.current].spent.add(spending, time);
    }

    /// Adds the cost of a system call on this core.
    fn charge_system(&mut self, time: Picoseconds) {
        let time = self.on_this_core(time);
        self.charge(Spending::System, time);
    }

    /// The time of instructions of the operating system on this core, of which the part
    /// `system_clock` scales with the core's frequency.
    fn on_this_core(&self, time: Picoseconds) -> Picoseconds {
        let part = self.machine.costs.system_clock;
        scaled(time, 1.0 / (1.0 - part + part / self.costs.speed))
    }

    #[inline]
    fn charge_own(&mut self, time: Picoseconds) {
        let thread = &mut self.threads[self.current];
        let is_searching = thread.is_searching;
        let overlapped = thread.overlapped.min(time);
        thread.overlapped -= overlapped;
        let time = time - overlapped;
        let spending = if is_searching {
            Spending::Search
        } else {
            Spending::Jobs
        };
        self.charge(spending, time);
    }

    #[inline]
    fn wait_until(&mut self, until: Picoseconds) {
        self.charge(Spending::Lines, until.saturating_sub(self.clock));
    }

    fn transfer_time(&self, miss: Miss) -> Picoseconds {
        let costs = &self.machine.costs;
        let from = miss
            .from
            .map_or(costs.memory, |distance| costs.transfer(distance));
        from + costs.invalidation * miss.losers.saturating_sub(1)
    }

    fn fetch(
        &mut self,
        number: usize,
        access: Access,
        miss: Miss,
        from: Picoseconds,
    ) -> (Picoseconds, Option<u64>) {
        let costs = &self.machine.costs;
        let cache = self.cache;
        let kept = |time| scaled(time, 1.0 / costs.occupancy);
        let held = match access {
            Access::ReadModifyWrite => self.costs.read_modify_write,
            Access::Store | Access::Load => 0,
        };
        let has_order = miss.is_exclusive && costs.run > 1;
        if has_order {
            let near = costs.transfer_cluster;
            let times = (near, kept(near), held);
            let turn = self.lines.squeeze_in(number, cache, costs.run, from, times);
            if let Some((done, ticket)) = turn {
                return (done, Some(ticket));
            }
        }
        let time = self.transfer_time(miss);
        let line = self.lines.line(number);
        let start = from.max(line.free_at);
        if miss.is_exclusive {
            line.free_at = start + kept(time) + held;
        }
        let done = start + time;
        let ticket = has_order.then(|| self.lines.line_up(number, cache, done));
        self.lines.give(number, cache, access);
        (done, ticket)
    }

    /// Whether nearer cores have gone first since the current thread began to `wait`. If so, adds
    /// the time to wait for these cores, too.
    fn is_overtaken(&mut self, wait: &mut Transfer) -> bool {
        let done = wait
            .ticket
            .and_then(|ticket| self.lines.turn(wait.number, ticket));
        let Some(more) = done
            .and_then(|done| done.checked_sub(wait.done))
            .filter(|it| *it > 0)
        else {
            return false;
        };
        wait.done += more;
        self.waits.lengthen(wait.at, wait.on, more);
        self.charge(Spending::Lines, more);
        true
    }

    /// Lets stores whose time has come leave the buffer, and waits until at most `most` stores are
    /// left.
    fn drain(&mut self, most: usize, at: &'static Location<'static>) {
        let clock = self.clock;
        let stores = &mut self.cores[self.core].stores;
        while stores.front().is_some_and(|&done| done <= clock) {
            stores.pop_front();
        }
        let Some(excess) = stores.len().checked_sub(most).filter(|excess| *excess > 0) else {
            return;
        };
        let until = stores[excess - 1];
        stores.drain(..excess);
        self.waits.add(at, WaitedFor::Line(None), until - clock);
        self.wait_until(until);
    }

    /// Adds the cost of an access. If this returns a transfer, the access takes effect only after
    /// the transfer: the caller must take turns until [`Self::is_overtaken`] returns false.
    #[inline]
    fn cost(
        &mut self,
        address: usize,
        access: Access,
        at: &'static Location<'static>,
    ) -> Option<Transfer> {
        self.accesses += 1;
        self.progress.access(at);
        if access == Access::ReadModifyWrite {
            self.drain(0, at);
        }
        let number = self.lines.number(address);
        let miss = self.lines.miss(number, self.cache, access);
        let mut transfer = None;
        let begins = match (access, self.cores[self.core].stores.back()) {
            (Access::Store, Some(last)) => self.clock.max(*last),
            _ => self.clock,
        };
        let on = WaitedFor::Line(self.lines.line(number).written_at);
        let turn = match miss {
            Some(miss) => Some(self.fetch(number, access, miss, begins)),
            None => self
                .lines
                .on_its_way(number, self.cache, begins)
                .map(|(done, ticket)| (done, Some(ticket))),
        };
        match turn {
            Some((done, _)) if access == Access::Store => {
                self.cores[self.core].stores.push_back(done);
                self.waits.add(at, on, 0);
                self.drain(self.machine.costs.store_buffer, at);
            }
            Some((done, ticket)) => {
                self.waits.add(at, on, done - self.clock);
                self.wait_until(done);
                transfer = Some(Transfer {
                    number,
                    ticket,
                    done,
                    at,
                    on,
                });
            }
            None => {}
        }
        if access != Access::Load {
            self.lines.line(number).written_at = Some(at);
        }
        if access == Access::ReadModifyWrite {
            let cost = self.costs.read_modify_write;
            if miss.is_none() {
                let free_at = self.lines.line(number).free_at.max(self.clock) + cost;
                self.lines.keep(number, free_at);
            }
            self.charge_own(cost);
        }
        self.charge_own(self.costs.hit);
        transfer
    }

    fn stack_of(&self, address: usize) -> Option<usize> {
        let (_, (limit, thread)) = self.stacks.range(address + 1..).next()?;
        (*limit <= address).then(|| self.threads[*thread].core)
    }
}

impl Drop for Engine {
    /// Threads that still exist end with the program, as in a process. These threads neither
    /// continue nor unwind, because unwinding would run their code.
    fn drop(&mut self) {
        for coroutine in self.coroutines.iter_mut().flatten() {
            // SAFETY: no code reaches the values on these stacks again. Only the coroutines' own
            // code knows the addresses of these values, and that code no longer runs.
            unsafe { coroutine.force_reset() };
        }
    }
}

/// Removes the engine from this thread of the host, also if the run panics.
struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        RUNNING.set(ptr::null_mut());
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are far below 2^52 and not negative"
)]
fn scaled(cost: Picoseconds, speed: f64) -> Picoseconds {
    (cost as f64 / speed).round() as Picoseconds
}
