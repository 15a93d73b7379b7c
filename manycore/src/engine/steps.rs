//! The operations that a thread's code can call. Outside a simulation, an operation adds no cost.

use std::any::Any;
use std::panic::Location;
use std::time::Duration;

use super::attribution::{Spending, Spent, Wait, WaitedFor};
use super::earliest::{LATEST, key};
use super::{Access, Blocked, Engine, IS_THREAD, LINE_BYTES, Local, State, Value, running, scaled};
use crate::heap::{self, RunHeap};
use crate::machine::{Call, Picoseconds};

/// `step` must not run code from outside this crate: that code could call this function again.
#[inline]
fn on_engine<R>(step: impl FnOnce(&mut Engine) -> R) -> Option<R> {
    let engine = running();
    if engine.is_null() {
        return None;
    }
    let was_thread = IS_THREAD.replace(false);
    // SAFETY: `running` is the engine of this thread of the host while it is alive. This thread
    // runs the code of one simulated thread at a time, and `step` neither suspends nor calls this
    // function. Allocations of `step` use the system's allocator, since `IS_THREAD` is false. So
    // this reference to the engine is the only one.
    let result = step(unsafe { &mut *engine });
    IS_THREAD.set(was_thread);
    Some(result)
}

/// Lets threads with earlier clocks go first, and threads with an equal clock and a smaller number.
/// If the current thread has used its time slice, a thread that waits for the core also goes first.
#[inline]
pub(crate) fn turn() {
    let is_late = |engine: &mut Engine| {
        if engine.queued > 0 && engine.make_way(false) {
            return true;
        }
        let own = key(engine.clock, engine.current);
        let is_late = own > engine.earliest.min();
        if is_late {
            engine.threads[engine.current].clock = engine.clock;
            engine.earliest.set(engine.current, own);
        }
        is_late
    };
    if on_engine(is_late) == Some(true) {
        suspend();
    }
}

fn suspend() {
    if let Some(yielder) = on_engine(|engine| engine.threads[engine.current].yielder) {
        // SAFETY: the running thread has stored its own yielder, which lives on the thread's stack
        // as long as the thread.
        unsafe { (*yielder).suspend(()) };
    }
}

#[inline]
pub(crate) fn access(address: usize, access: Access, at: &'static Location<'static>) {
    turn();
    let transfer = on_engine(|engine| engine.cost(address, access, at)).flatten();
    if let Some(mut transfer) = transfer {
        turn();
        while on_engine(|engine| engine.is_overtaken(&mut transfer)) == Some(true) {
            turn();
        }
    }
}

/// Adds the cost of reading or writing `bytes` of plain memory from `address` on: one access for
/// each cache line.
#[track_caller]
pub fn touch(address: usize, bytes: usize, is_written: bool) {
    if running().is_null() || bytes == 0 {
        return;
    }
    let kind = if is_written {
        Access::Store
    } else {
        Access::Load
    };
    for line in address / LINE_BYTES..=(address + bytes - 1) / LINE_BYTES {
        access(line * LINE_BYTES, kind, Location::caller());
    }
}

/// Adds the cost of reading and writing the word at `address` in one step.
#[track_caller]
pub fn read_modify_write(address: usize) {
    access(address, Access::ReadModifyWrite, Location::caller());
}

/// Adds the cost of taking over `bytes` of plain memory from `address` on, whose writes the program
/// did not report. If the bytes lie on a thread's stack, they come from that thread's core. If they
/// are a box, they come from the core of the thread that allocated the box.
#[track_caller]
pub fn take_over(address: usize, bytes: usize, is_boxed: bool) {
    on_engine(|engine| {
        let arena = || is_boxed.then(|| heap::thread_of(address)).flatten();
        let core_of = |thread: usize| engine.threads.get(thread).map(|thread| thread.core);
        let home = engine
            .stack_of(address)
            .or_else(|| arena().and_then(core_of));
        let home = home.map(|home| engine.machine.topology.core_of(home));
        let Some(home) = home.filter(|home| *home != engine.cache) else {
            return;
        };
        for line in address / LINE_BYTES..(address + bytes).div_ceil(LINE_BYTES) {
            let number = engine.lines.number(line * LINE_BYTES);
            engine.lines.give(number, home, Access::Store);
        }
    });
    touch(address, bytes, false);
}

#[track_caller]
pub(crate) fn fence() {
    let at = Location::caller();
    on_engine(|engine| {
        engine.drain(0, at);
        engine.charge_own(engine.costs.fence);
    });
}

/// The heavy side of an asymmetric fence: a fence for this core and for all running cores, as
/// `membarrier` makes. The kernel executes one heavy side at a time.
#[track_caller]
pub fn heavy_fence() {
    let at = Location::caller();
    turn();
    on_engine(|engine| {
        engine.drain(0, at);
        let wait = engine.heavy_fence_free_at.saturating_sub(engine.clock);
        engine.charge(Spending::System, wait);
        let costs = &engine.machine.costs;
        let (interrupt, per_core) = (costs.interrupt, costs.heavy_fence_per_core);
        let alone = costs.heavy_fence;
        let current = engine.current;
        let mut others = 0;
        for thread in (0..engine.threads.len()).filter(|thread| *thread != current) {
            if engine.threads[thread].state == State::Awake {
                others += 1;
                let interrupted = &mut engine.threads[thread];
                interrupted.clock += interrupt;
                interrupted.spent.add(Spending::System, interrupt);
                let key = key(interrupted.clock, thread);
                engine.earliest.set(thread, key);
            }
        }
        let time = alone + others * per_core;
        engine.charge_system(time);
        engine.heavy_fence_free_at = engine.clock;
    });
}

/// Adds the cost of the own instructions of `call`. A pool calls this at the start of `call`.
/// Discards the overlap that an earlier call left.
#[inline]
pub fn own_instructions(call: Call) {
    on_engine(|engine| {
        let time = engine.machine.own_instructions[call as usize];
        let magnitude = scaled(time.unsigned_abs(), engine.costs.speed);
        let is_overlap = time < 0;
        engine.threads[engine.current].overlapped = if is_overlap { magnitude } else { 0 };
        if !is_overlap {
            engine.charge_own(magnitude);
        }
    });
}

pub(crate) fn pause() {
    on_engine(|engine| engine.charge_own(engine.costs.pause));
}

/// A hint that the core spins. Until the thread adds the cost of work, its time counts as search.
pub fn spin_loop() {
    begin_search();
    pause();
}

pub(crate) fn yield_now() {
    let charge = |engine: &mut Engine| {
        engine.charge_system(engine.machine.costs.yielding);
        engine.queued > 0
    };
    if on_engine(charge) == Some(true) {
        turn();
        if on_engine(|engine| engine.make_way(true)) == Some(true) {
            suspend();
        }
    }
}

#[inline]
pub(crate) fn is_thread() -> bool {
    IS_THREAD.get()
}

/// Calls `step` as a part of the simulation itself: allocations of `step` use the host's allocator
/// and cost nothing. `step` must not access memory that cores share, and must not panic.
pub fn on_host<R>(step: impl FnOnce() -> R) -> R {
    let was_thread = IS_THREAD.replace(false);
    let result = step();
    IS_THREAD.set(was_thread);
    result
}

pub(crate) fn on_heap<R>(step: impl FnOnce(&mut RunHeap, usize) -> R) -> R {
    on_engine(|engine| step(&mut engine.heap, engine.current)).expect("a thread's code runs")
}

pub(crate) fn allocation() {
    on_engine(|engine| engine.charge_own(engine.costs.allocation));
}

/// Number of pieces of work in a time slice, if there are more threads than cores. After each piece
/// another thread may get the core.
const PIECES: Picoseconds = 4;

/// A piece of work on a core with two hardware threads. The cost of a piece depends on whether the
/// sibling runs when the piece begins. The length is a guess.
const SHARED_PIECE: Picoseconds = 1_000_000;

/// Adds the cost of work that takes `time` at the machine's reference frequency, if the thread is
/// alone on its core.
pub fn work(time: Picoseconds) {
    let mut left = time;
    loop {
        let is_done = on_engine(|engine| {
            engine.threads[engine.current].is_searching = false;
            let mut now = left;
            if engine.alive > engine.cores.len() {
                now = now.min((engine.machine.costs.slice / PIECES).max(1));
            }
            if engine.machine.topology.hardware_threads > 1 {
                now = now.min(SHARED_PIECE);
            }
            left -= now;
            let speed = engine.costs.speed;
            engine.charge(Spending::Work, scaled(now, speed));
            left == 0
        });
        if is_done != Some(false) {
            return;
        }
        turn();
    }
}

/// Blocks the current thread until another thread wakes it at `address`, or until `time` has
/// passed. Does not block if `is_due` returns false when the current thread's turn comes. Returns
/// `false` if `time` has passed.
pub(crate) fn block(
    address: usize,
    time: Option<Duration>,
    is_due: impl FnOnce() -> bool,
    at: &'static Location<'static>,
) -> bool {
    on_engine(|engine| {
        engine.drain(0, at);
        engine.charge_system(engine.machine.costs.call);
    });
    turn();
    if !is_due() {
        return true;
    }
    on_engine(|engine| {
        let thread = engine.current;
        // From here on, other threads can wake this thread, even before it sleeps.
        engine.charge_system(engine.machine.costs.block);
        engine.threads[thread].blocked = Some(Blocked {
            since: engine.clock,
            address,
            at,
        });
        engine.queues.entry(address).or_default().push_back(thread);
        engine.leave(State::Blocked);
        if let Some(time) = time {
            let until = engine.clock.saturating_add(picoseconds(time)).min(LATEST);
            engine.threads[thread].clock = until;
            engine.earliest.set(thread, key(until, thread));
        }
    });
    suspend();
    on_engine(|engine| !std::mem::take(&mut engine.threads[engine.current].is_late)).unwrap_or(true)
}

pub(crate) fn waited_for_a_lock(before: Picoseconds, at: &'static Location<'static>) {
    on_engine(|engine| {
        let waited = engine.clock - before;
        engine.waits.add(at, WaitedFor::Lock, waited);
    });
}

pub(crate) fn wake(address: usize, most: usize, at: &'static Location<'static>) {
    let before = clock();
    on_engine(|engine| engine.charge_system(engine.machine.costs.call));
    for _ in 0..most {
        turn();
        let is_one = on_engine(|engine| {
            let first = engine
                .queues
                .get(&address)
                .and_then(|queue| queue.front().copied())?;
            let cost = engine.wake_cost(first);
            engine.charge_system(cost);
            Some(())
        });
        if is_one.flatten().is_none() {
            break;
        }
        turn();
        on_engine(|engine| {
            let queue = engine.queues.get_mut(&address);
            if let Some(thread) = queue.and_then(std::collections::VecDeque::pop_front) {
                engine.wake_thread(thread);
            }
        });
    }
    on_engine(|engine| {
        let waited = engine.clock - before;
        engine.waits.add(at, WaitedFor::Wake, waited);
    });
}

/// Sleeps for `time`, but only in a simulation. Returns whether a simulation runs.
pub(crate) fn sleep(time: Duration) -> bool {
    let is_simulated = on_engine(|engine| {
        let time = picoseconds(time);
        engine.charge_system(engine.machine.costs.call);
        engine.charge_system(engine.machine.costs.block);
        engine.leave(State::Sleeping);
        let thread = engine.current;
        let sleeping = &mut engine.threads[thread];
        sleeping.spent.add(Spending::Asleep, time);
        sleeping.clock = sleeping.clock.saturating_add(time).min(LATEST);
        let key = key(sleeping.clock, thread);
        engine.earliest.set(thread, key);
    });
    if is_simulated.is_some() {
        suspend();
    }
    is_simulated.is_some()
}

pub(crate) fn spawn(name: Option<String>, body: Box<dyn FnOnce()>) -> Option<u64> {
    turn();
    let started = on_engine(|engine| {
        engine.charge_system(engine.machine.costs.spawn);
        engine.begin_thread(name, body)
    });
    started.flatten()
}

/// The number and the name of the thread that runs; no thread has the number 0.
pub(crate) fn thread_identity() -> (u64, Option<String>) {
    let identity = |engine: &mut Engine| {
        let thread = &engine.threads[engine.current];
        (thread.number, thread.name.clone())
    };
    on_engine(identity).unwrap_or_default()
}

/// The number of the core on which the caller runs; `None` outside a simulation.
#[must_use]
pub fn current_core() -> Option<usize> {
    on_engine(|engine| engine.core)
}

/// Number of the simulated machine's CPUs: each hardware thread counts. `None` outside a
/// simulation.
#[must_use]
pub fn cores() -> Option<usize> {
    on_engine(|engine| engine.cores.len())
}

pub(crate) fn clock() -> Picoseconds {
    on_engine(|engine| engine.clock).unwrap_or(0)
}

/// The next random number of a sequence that follows from the run's seed; 0 outside a simulation.
#[must_use]
pub fn random() -> u64 {
    on_engine(|engine| engine.random.u64(..)).unwrap_or(0)
}

/// The run's seed; 0 outside a simulation.
#[must_use]
pub fn seed() -> u64 {
    on_engine(|engine| engine.seed).unwrap_or(0)
}

pub(crate) fn begin_search() {
    on_engine(|engine| engine.threads[engine.current].is_searching = true);
}

/// Threads that have not ended; `None` outside a simulation.
#[must_use]
pub fn threads() -> Option<usize> {
    on_engine(|engine| engine.alive)
}

/// The address of a thread-local value of the current thread, which `make` creates at the first
/// call. `None` if the thread is ending and has dropped the value.
pub(crate) fn local(number: usize, make: impl FnOnce() -> Value) -> Option<*const dyn Any> {
    let find = |engine: &mut Engine| {
        let locals = &engine.threads[engine.current].locals;
        match locals.get(number) {
            Some(Local::There((value, _))) => Some(Some(std::ptr::from_ref(&**value))),
            Some(Local::Dropped) => Some(None),
            Some(Local::Missing) | None => None,
        }
    };
    if let Some(found) = on_engine(find)? {
        return found;
    }
    let value = make();
    on_engine(|engine| {
        let locals = &mut engine.threads[engine.current].locals;
        if locals.len() <= number {
            locals.resize_with(number + 1, Local::default);
        }
        locals[number] = Local::There(value);
    });
    on_engine(find).flatten().flatten()
}

pub(crate) fn take_local() -> Option<Value> {
    let take = |engine: &mut Engine| {
        let locals = &mut engine.threads[engine.current].locals;
        let last = locals
            .iter_mut()
            .rev()
            .find(|local| matches!(local, Local::There((_, true))))?;
        match std::mem::replace(last, Local::Dropped) {
            Local::There(value) => Some(value),
            Local::Missing | Local::Dropped => None,
        }
    };
    on_engine(take).flatten()
}

/// Returns the value of static `number` in this run. The first call creates it with `make`, which
/// must run no code from outside this crate.
pub(crate) fn of_run(
    number: usize,
    make: impl FnOnce() -> &'static dyn Any,
) -> Option<&'static dyn Any> {
    on_engine(|engine| *engine.statics.entry(number).or_insert_with(make))
}

/// Number of accesses to shared memory with a cost so far; 0 outside a simulation.
#[must_use]
pub fn accesses() -> u64 {
    on_engine(|engine| engine.accesses).unwrap_or(0)
}

/// Returns the time that each thread spent so far; empty outside a simulation. A new thread can
/// reuse the index of a thread that ended. Then its entry includes the time of the ended thread.
#[must_use]
pub fn spent() -> Vec<Spent> {
    let spent = on_engine(|engine| {
        let clock = engine.clock;
        let of = |thread: &super::Thread| {
            let mut spent = thread.spent;
            if let Some(blocked) = thread.blocked {
                spent.add(Spending::Asleep, clock.saturating_sub(blocked.since));
            }
            if thread.state == State::Queued {
                spent.add(Spending::Waking, clock.saturating_sub(thread.clock));
            }
            spent
        };
        engine.threads.iter().map(of).collect()
    });
    spent.unwrap_or_default()
}

/// Lines of source that waited since the run began, or since [`forget_waits`], the longest total
/// wait first; empty outside a simulation.
#[must_use]
pub fn waits() -> Vec<Wait> {
    on_engine(|engine| engine.waits.sorted()).unwrap_or_default()
}

/// Forgets earlier [`waits`].
pub fn forget_waits() {
    on_engine(|engine| engine.waits.clear());
}

pub(crate) fn picoseconds(time: Duration) -> Picoseconds {
    Picoseconds::try_from(time.as_nanos()).map_or(Picoseconds::MAX, |ns| ns.saturating_mul(1_000))
}
