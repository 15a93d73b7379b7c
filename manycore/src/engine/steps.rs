//! What the code on a core can do. Outside a simulation each of these does nothing and takes no time.

use std::any::Any;
use std::panic::Location;
use std::time::Duration;

use super::attribution::{Spending, Spent, Wait};
use super::earliest::{LATEST, key};
use super::{Access, Blocked, Engine, IS_CORE, LINE_BYTES, Local, State, Value, running, scaled};
use crate::heap::{self, RunHeap};
use crate::machine::Picoseconds;

/// Runs `step` on the engine, if there is one.
///
/// `step` must not run code from outside this crate: it could come back here.
#[inline]
fn on_engine<R>(step: impl FnOnce(&mut Engine) -> R) -> Option<R> {
    let engine = running();
    if engine.is_null() {
        return None;
    }
    let was_core = IS_CORE.replace(false);
    // SAFETY: `running` is the engine of this thread of the host while it is alive. This thread runs the code of one
    // core at a time, and `step` neither suspends nor comes back here: what it allocates is the system's, since
    // `IS_CORE` is false. So this is the only reference.
    let result = step(unsafe { &mut *engine });
    IS_CORE.set(was_core);
    Some(result)
}

/// Lets every core go first whose clock is earlier, or equal and its number smaller.
#[inline]
pub(crate) fn turn() {
    let is_late = |engine: &mut Engine| {
        let own = key(engine.clock, engine.current);
        let is_late = own > engine.earliest.min();
        if is_late {
            engine.cores[engine.current].clock = engine.clock;
            engine.earliest.set(engine.current, own);
        }
        is_late
    };
    if on_engine(is_late) == Some(true) {
        suspend();
    }
}

/// Leaves the current core until the loop of the engine takes it up again.
fn suspend() {
    if let Some(yielder) = on_engine(|engine| engine.cores[engine.current].yielder) {
        // SAFETY: a core that runs has stored its own yielder, which lives on its stack as long as its thread.
        unsafe { (*yielder).suspend(()) };
    }
}

/// An access to shared memory, which takes effect when this returns.
#[inline]
pub(crate) fn access(address: usize, access: Access, at: &'static Location<'static>) {
    turn();
    if on_engine(|engine| engine.price(address, access, at)) == Some(true) {
        turn();
    }
}

/// Reads or writes `bytes` of plain memory from `address` on: each line of it once.
pub(crate) fn touch(
    address: usize,
    bytes: usize,
    is_written: bool,
    at: &'static Location<'static>,
) {
    if running().is_null() || bytes == 0 {
        return;
    }
    let kind = if is_written { Access::Store } else { Access::Load };
    for line in address / LINE_BYTES..=(address + bytes - 1) / LINE_BYTES {
        access(line * LINE_BYTES, kind, at);
    }
}

/// Reads `bytes` of plain memory from `address` on that the core wrote in whose stack they are, or if `is_boxed` in whose
/// arena, unless this is that core.
pub(crate) fn take_over(
    address: usize,
    bytes: usize,
    is_boxed: bool,
    at: &'static Location<'static>,
) {
    on_engine(|engine| {
        let arena = || is_boxed.then(|| heap::core_of(address)).flatten();
        let home = engine.stack_of(address).or_else(arena);
        let Some(home) = home.filter(|home| *home != engine.current) else { return };
        for line in address / LINE_BYTES..(address + bytes).div_ceil(LINE_BYTES) {
            let number = engine.lines.number(line * LINE_BYTES);
            engine.lines.give(number, home, Access::Store);
        }
    });
    touch(address, bytes, false, at);
}

/// A sequentially consistent fence: waits until the store buffer is empty.
pub(crate) fn fence(at: &'static Location<'static>) {
    on_engine(|engine| {
        engine.drain(0, at);
        engine.charge_own(engine.prices.fence);
    });
}

/// A fence for this core and for all that run.
pub(crate) fn heavy_fence(at: &'static Location<'static>) {
    turn();
    on_engine(|engine| {
        engine.drain(0, at);
        let prices = &engine.machine.prices;
        let (interrupt, per_core) = (prices.interrupt, prices.heavy_fence_per_core);
        let alone = prices.heavy_fence;
        let current = engine.current;
        let mut others = 0;
        for core in (0..engine.cores.len()).filter(|core| *core != current) {
            if engine.cores[core].state == State::Awake {
                others += 1;
                let interrupted = &mut engine.cores[core];
                interrupted.clock += interrupt;
                interrupted.spent.add(Spending::System, interrupt);
                let key = key(interrupted.clock, core);
                engine.earliest.set(core, key);
            }
        }
        let time = alone + others * per_core;
        engine.charge(Spending::System, time);
    });
}

/// A hint that the core spins.
pub(crate) fn pause() {
    on_engine(|engine| engine.charge_own(engine.prices.pause));
}

/// A yield to the operating system, which has nothing else to run on this core.
pub(crate) fn yield_now() {
    on_engine(|engine| engine.charge(Spending::System, engine.machine.prices.yielding));
}

/// Whether the code that runs is a core's, so that its allocations are.
#[inline]
pub(crate) fn is_core() -> bool {
    IS_CORE.get()
}

/// Calls `step` as the host: what it allocates is the system's and costs nothing.
pub(crate) fn on_host<R>(step: impl FnOnce() -> R) -> R {
    let was_core = IS_CORE.replace(false);
    let result = step();
    IS_CORE.set(was_core);
    result
}

/// Calls `step` with the heap of the run and the number of the core.
///
/// # Panics
/// Outside a core's code.
pub(crate) fn on_heap<R>(step: impl FnOnce(&mut RunHeap, usize) -> R) -> R {
    on_engine(|engine| step(&mut engine.heap, engine.current)).expect("a core's code runs")
}

/// Takes the lock of an arena and frees it again; what is done under it is done at once.
#[track_caller]
pub(crate) fn lock_line(address: usize) {
    access(address, Access::ReadModifyWrite, Location::caller());
}

/// An allocation, or freeing an object.
pub(crate) fn allocation() {
    on_engine(|engine| engine.charge_own(engine.prices.allocation));
}

/// Work of `time` at the reference frequency.
pub(crate) fn work(time: Picoseconds) {
    on_engine(|engine| {
        let speed = engine.prices.speed;
        engine.charge(Spending::Work, scaled(time, speed));
    });
}

/// Bytes that are moved at once.
pub const PIECE_BYTES: u64 = 4_096;

/// Work of `time` that moves `bytes` between the core and its socket's memory meanwhile.
pub(crate) fn work_moving(time: Picoseconds, bytes: u64) {
    let is_piece = on_engine(|engine| {
        let core = &mut engine.cores[engine.current];
        core.unmoved.0 += time;
        core.unmoved.1 += bytes;
        core.unmoved.1 >= PIECE_BYTES
    });
    if is_piece != Some(true) {
        return;
    }
    turn();
    on_engine(|engine| {
        let (time, bytes) = std::mem::take(&mut engine.cores[engine.current].unmoved);
        let prices = &engine.machine.prices;
        let time_of = |per_byte: f64| scaled(bytes, 1.0 / per_byte);
        let (own, shared) = (time_of(prices.byte), time_of(prices.socket_byte));
        let worked = scaled(time, engine.prices.speed);
        let socket = engine.machine.topology.socket_of(engine.current);
        let free_at = &mut engine.sockets[socket].memory_free_at;
        *free_at = engine.clock.max(*free_at) + shared;
        let until = (engine.clock + own.max(worked)).max(*free_at);
        engine.charge(Spending::Work, until - engine.clock);
    });
}

/// Blocks until woken at `address`, unless `is_due` says no when the core's turn has come.
pub(crate) fn block(address: usize, is_due: impl FnOnce() -> bool, at: &'static Location<'static>) {
    block_for(address, None, is_due, at);
}

/// [`block`] for so long at most; `false` if the time was up.
pub(crate) fn block_for(
    address: usize,
    time: Option<Duration>,
    is_due: impl FnOnce() -> bool,
    at: &'static Location<'static>,
) -> bool {
    on_engine(|engine| {
        engine.drain(0, at);
        engine.charge(Spending::System, engine.machine.prices.block);
    });
    turn();
    if !is_due() {
        return true;
    }
    on_engine(|engine| {
        let core = engine.current;
        engine.stop_running(State::Blocked);
        engine.cores[core].blocked = Some(Blocked { since: engine.clock, address, at });
        engine.queues.entry(address).or_default().push_back(core);
        if let Some(time) = time {
            let until = engine.clock.saturating_add(picoseconds(time)).min(LATEST);
            engine.cores[core].clock = until;
            engine.earliest.set(core, key(until, core));
        }
    });
    suspend();
    on_engine(|engine| !std::mem::take(&mut engine.cores[engine.current].is_late)).unwrap_or(true)
}

/// Wakes up to `most` of those who are blocked at `address`, in the order in which they came.
pub(crate) fn wake(address: usize, most: usize) {
    on_engine(|engine| engine.charge(Spending::System, engine.machine.prices.wake));
    turn();
    on_engine(|engine| {
        for _ in 0..most {
            let queue = engine.queues.get_mut(&address);
            let Some(core) = queue.and_then(std::collections::VecDeque::pop_front) else { return };
            engine.wake_core(core);
        }
    });
}

/// Sleeps for `time`; returns whether this is a simulation.
pub(crate) fn sleep(time: Duration) -> bool {
    let is_simulated = on_engine(|engine| {
        let time = picoseconds(time);
        engine.charge(Spending::System, engine.machine.prices.block);
        engine.stop_running(State::Waking);
        let resume = engine.resume_time(time);
        let core = engine.current;
        let sleeping = &mut engine.cores[core];
        sleeping.spent.add(Spending::Asleep, time);
        sleeping.spent.add(Spending::System, resume);
        sleeping.clock += time + resume;
        let key = key(sleeping.clock, core);
        engine.earliest.set(core, key);
    });
    if is_simulated.is_some() {
        suspend();
    }
    is_simulated.is_some()
}

/// Starts a thread on a free core; `None` if there is none.
pub(crate) fn spawn(name: Option<String>, body: Box<dyn FnOnce()>) -> Option<u64> {
    turn();
    let started = on_engine(|engine| {
        // The last core is kept for the thread that began.
        let pool = &engine.cores[..engine.cores.len() - 1];
        let core = pool.iter().position(|core| core.state == State::Free)?;
        engine.charge(Spending::System, engine.machine.prices.spawn);
        let resume = engine.resume_time(0);
        engine.cores[core].spent.add(Spending::System, resume);
        engine.begin_thread(core, engine.clock + resume, name, body);
        Some(engine.threads_started)
    });
    started.flatten()
}

/// The number of the thread that runs; none has 0.
pub(crate) fn thread_number() -> u64 {
    on_engine(|engine| engine.cores[engine.current].thread).unwrap_or(0)
}

/// The name of the thread that runs.
pub(crate) fn thread_name() -> Option<String> {
    on_engine(|engine| engine.cores[engine.current].name.clone()).flatten()
}

/// The core on which this runs.
pub(crate) fn current_core() -> Option<usize> {
    on_engine(|engine| engine.current)
}

/// Cores of the machine.
pub(crate) fn cores() -> Option<usize> {
    on_engine(|engine| engine.machine.topology.cores())
}

/// The current core's clock.
pub(crate) fn clock() -> Picoseconds {
    on_engine(|engine| engine.clock).unwrap_or(0)
}

/// A number by the run's seed, another one at each call.
pub(crate) fn random() -> u64 {
    on_engine(|engine| engine.random.u64(..)).unwrap_or(0)
}

/// The run's seed.
pub(crate) fn seed() -> u64 {
    on_engine(|engine| engine.seed).unwrap_or(0)
}

/// Whether what the current core does from now on belongs to a search for work; returns what it was.
pub(crate) fn set_searching(is_searching: bool) -> bool {
    on_engine(|engine| {
        std::mem::replace(&mut engine.cores[engine.current].is_searching, is_searching)
    })
    .unwrap_or(false)
}

/// The place of a thread-local value on the current core; what `make` makes, if it is not there yet. Nothing if the thread
/// ends and has dropped it.
pub(crate) fn local(number: usize, make: impl FnOnce() -> Value) -> Option<*const dyn Any> {
    let find = |engine: &mut Engine| {
        let locals = &engine.cores[engine.current].locals;
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
        let locals = &mut engine.cores[engine.current].locals;
        if locals.len() <= number {
            locals.resize_with(number + 1, Local::default);
        }
        locals[number] = Local::There(value);
    });
    on_engine(find).flatten().flatten()
}

/// Takes a thread-local value that is not just memory out of the current core, whose thread ends.
pub(crate) fn take_local() -> Option<Value> {
    let take = |engine: &mut Engine| {
        let locals = &mut engine.cores[engine.current].locals;
        let last =
            locals.iter_mut().rev().find(|local| matches!(local, Local::There((_, true))))?;
        match std::mem::replace(last, Local::Dropped) {
            Local::There(value) => Some(value),
            Local::Missing | Local::Dropped => None,
        }
    };
    on_engine(take).flatten()
}

/// What static `number` is in this run; what `make` makes, if nobody has asked before. `make` runs no code from outside
/// this crate.
pub(crate) fn of_run(
    number: usize,
    make: impl FnOnce() -> &'static dyn Any,
) -> Option<&'static dyn Any> {
    on_engine(|engine| *engine.statics.entry(number).or_insert_with(make))
}

/// Accesses so far.
pub(crate) fn accesses() -> u64 {
    on_engine(|engine| engine.accesses).unwrap_or(0)
}

/// What each core spent so far.
pub(crate) fn spent() -> Vec<Spent> {
    let spent = on_engine(|engine| {
        let clock = engine.clock;
        let of = |core: &super::Core| {
            let mut spent = core.spent;
            if let Some(blocked) = core.blocked {
                spent.add(Spending::Asleep, clock.saturating_sub(blocked.since));
            }
            spent
        };
        engine.cores.iter().map(of).collect()
    });
    spent.unwrap_or_default()
}

/// Waits for lines since the beginning, or since [`forget_waits`].
pub(crate) fn waits() -> Vec<Wait> {
    on_engine(|engine| engine.waits.sorted()).unwrap_or_default()
}

/// Forgets waits for lines.
pub(crate) fn forget_waits() {
    on_engine(|engine| engine.waits.clear());
}

/// A duration in the machine's unit; what does not fit is the longest.
pub(crate) fn picoseconds(time: Duration) -> Picoseconds {
    Picoseconds::try_from(time.as_nanos()).map_or(Picoseconds::MAX, |ns| ns.saturating_mul(1_000))
}
