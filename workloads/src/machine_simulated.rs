//! The machine on which workloads run: a simulated machine, which a request names. `machine.rs` has
//! the same names for the host.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use manycore::{Call, FrequencyMode, Machine, Spending, Spent, Wait, WaitedFor};
use protocol::{Failure, LineWait, Outcome, Refusal, Request, Simulated};

use crate::usage::{UsageSample, nanoseconds};

pub(crate) use manycore::time::Instant;

pub(crate) const IS_SIMULATED: bool = true;

/// How many lines of source the report names. The report names the lines whose waits took longest.
const WAITS_REPORTED: usize = 40;

/// The current iteration, for the report of a deadlock.
static ITERATION: AtomicU32 = AtomicU32::new(0);

/// The cost of a unit in picoseconds, as the bits of an `f64`. [`run`] sets this cost before the
/// machine starts.
static UNIT_COST: AtomicU64 = AtomicU64::new(0);

/// Adds the cost of `units` units of work; the request gives the cost of a unit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are small"
)]
pub fn add_cost(units: u64) {
    let unit = f64::from_bits(UNIT_COST.load(Relaxed));
    manycore::work((units as f64 * unit).round() as u64);
}

/// Adds the time for which the thread spins.
pub fn add_time(time: Duration) {
    manycore::work(1_000 * nanoseconds(time));
}

/// Calls `serve` on the machine that `request` names; fails if every thread is blocked.
pub(crate) fn run(
    request: Request,
    serve: impl FnOnce(&Request) -> Result<Outcome, Failure> + 'static,
) -> Result<Outcome, Failure> {
    let refuse = |message: String| Failure::from(Refusal::new(message));
    let Some(asked) = &request.machine else {
        return Err(refuse(
            "machine: this build runs on simulated machines; name a machine".to_owned(),
        ));
    };
    let mut machine = Machine::read(&asked.file).map_err(|error| refuse(error.to_string()))?;
    if !(asked.charge_ns > 0.0 && asked.charge_ns.is_finite()) {
        return Err(refuse(format!(
            "charge_ns = {}: write a number above 0",
            asked.charge_ns
        )));
    }
    for (name, cycles) in &asked.own_cycles {
        let Some(call) = Call::named(name) else {
            return Err(refuse(format!(
                "own_cycles: {name}: no such call; known: join, spawn"
            )));
        };
        if !cycles.is_finite() {
            return Err(refuse(format!(
                "own_cycles: {name} = {cycles}: write a number"
            )));
        }
        machine.set_own_cycles(call, *cycles);
    }
    UNIT_COST.store((asked.charge_ns * 1e3).to_bits(), Relaxed);
    let mode = if asked.is_fixed {
        FrequencyMode::Fixed
    } else {
        FrequencyMode::Dynamic
    };
    let stalled_after = Duration::from_millis(request.hang_after_ms.unwrap_or(300_000));
    let seed = asked.seed;
    let finished =
        manycore::run_watched(&machine, mode, seed, stalled_after, move || serve(&request));
    match finished {
        Ok(finished) => finished.result,
        Err(stuck) => {
            eprintln!("hang: {stuck}");
            Err(Failure::Hang {
                iteration: ITERATION.load(Relaxed),
                waited_ms: 0,
            })
        }
    }
}

/// Returns the CPU time of all threads together; the machine has no other counts.
pub(crate) fn used() -> UsageSample {
    let spent = manycore::spent();
    let system = |spent: &Spent| spent.on(Spending::System);
    let time = |part: &dyn Fn(&Spent) -> u64| {
        Duration::from_nanos(spent.iter().map(part).sum::<u64>() / 1_000)
    };
    UsageSample {
        user: time(&|core| core.cpu() - system(core)),
        system: time(&system),
        counts: protocol::Usage::default(),
    }
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    spent_ps: BTreeMap<&'static str, u64>,
    before: Vec<Spent>,
}

impl Ledger {
    /// The first timed iteration discards everything recorded before.
    pub(crate) fn begin(&mut self, iteration: u32, is_first_timed: bool) {
        ITERATION.store(iteration, Relaxed);
        if is_first_timed {
            manycore::forget_waits();
            self.spent_ps.clear();
        }
        self.before = manycore::spent();
    }

    pub(crate) fn end(&mut self) {
        for (number, thread) in manycore::spent().iter().enumerate() {
            // A thread that started during the region had spent no time before the region.
            let before = self
                .before
                .get(number)
                .copied()
                .unwrap_or_else(Spent::default);
            let spent = thread.since(&before);
            for spending in Spending::ALL {
                *self.spent_ps.entry(spending.name()).or_default() += spent.on(spending);
            }
        }
    }

    pub(crate) fn report(self) -> Option<Simulated> {
        let spent = self.spent_ps.into_iter();
        Some(Simulated {
            accesses: manycore::accesses(),
            spent_ns: spent
                .map(|(name, ps)| (name.to_owned(), ps / 1_000))
                .collect(),
            waits: manycore::waits()
                .iter()
                .take(WAITS_REPORTED)
                .map(report)
                .collect(),
        })
    }
}

fn report(wait: &Wait) -> LineWait {
    LineWait {
        at: wait.at.to_string(),
        written_at: match wait.on {
            WaitedFor::Line(place_of) => place_of.map(ToString::to_string),
            WaitedFor::Lock => Some("(a lock)".to_owned()),
            WaitedFor::Wake => Some("(waking others)".to_owned()),
        },
        transfers: wait.times,
        waited_ns: wait.waited / 1_000,
    }
}
