//! The cost parameters of a machine: one table of all of them, and how a machine's file gives them.

use serde::Deserialize;
use serde_spanned::Spanned;

use super::fault::{MachineError, sourced};

/// Time on a simulated machine, in picoseconds.
pub type Picoseconds = u64;

/// Picoseconds in a nanosecond.
pub const NANOSECOND: Picoseconds = 1_000;

/// The name by which one factor scales the costs of blocking, waking and yielding together. These
/// guesses depend on each other, as all are paths through one scheduler.
pub const SYSTEM: &str = "system";

/// The largest cost in nanoseconds, a second: a longer one means a wrong unit, and sums stay far
/// from overflow.
const MOST_NS: f64 = 1e9;

/// One cost parameter as written: its value and its source.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Price {
    pub(super) value: Spanned<f64>,
    source: Spanned<String>,
}

/// Declares [`Costs`] and the table `[price]` of a machine's file from one list. A row has the
/// parameter's documentation, its name and type, and its key (with the unit). Then come the method
/// of [`Reader`] that reads a written value, and the value on a machine where everything is free.
/// `system` marks a parameter that is part of [`SYSTEM`].
macro_rules! costs {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $type:ty = $key:literal, $read:ident, $free:expr $(, $system:ident)?;
    )*) => {
        /// The cost parameters, in picoseconds if no other unit is named.
        ///
        /// Those of a core hold at [`Frequency::reference_mhz`](super::Frequency::reference_mhz)
        /// and scale with the frequency; transfers and work of the operating system do not.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Costs {
            $($(#[doc = $doc])* pub $name: $type,)*
            /// Of a core: the speed of each of its two hardware threads while both run, as a part
            /// of its speed alone. It is not a parameter of `[price]` in a machine's file.
            pub shared_speed: f64,
        }

        impl Costs {
            /// Everything is free: for tests of results that follow from order alone.
            #[must_use]
            pub fn free() -> Self {
                Self { $($name: $free,)* shared_speed: 1.0 }
            }
        }

        /// Every cost parameter as written. A machine's file has all of them: a default would be a
        /// guess without a source.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct CostTables {
            $(#[serde(rename = $key)] pub(super) $name: Price,)*
        }

        /// The own cost parameters of a machine that is based on another one.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct OwnCosts {
            $(#[serde(rename = $key)] $name: Option<Price>,)*
        }

        impl OwnCosts {
            /// Replaces those in `costs` by these, after a check.
            pub(super) fn replace(
                &self,
                costs: &mut Costs,
                scaled: Option<(&str, f64)>,
                fault: &impl Fn(usize, String) -> MachineError,
            ) -> Result<(), MachineError> {
                let reader = Reader { scaled, fault };
                $(if let Some(own) = &self.$name {
                    costs.$name = reader.$read($key, own)?;
                })*
                Ok(())
            }
        }

        /// Each parameter's key, and whether it is part of [`SYSTEM`].
        const KEYS: &[(&str, bool)] = &[$(($key, costs!(@is_system $($system)?))),*];

        impl CostTables {
            /// The cost parameters, checked.
            pub(super) fn read(
                &self,
                scaled: Option<(&str, f64)>,
                fault: &impl Fn(usize, String) -> MachineError,
            ) -> Result<Costs, MachineError> {
                if let Some((wanted, _)) = scaled {
                    known(wanted).map_err(|message| fault(0, message))?;
                }
                let reader = Reader { scaled, fault };
                Ok(Costs {
                    $($name: reader.$read($key, &self.$name)?,)*
                    shared_speed: 1.0,
                })
            }
        }
    };
    (@is_system system) => { true };
    (@is_system) => { false };
}

costs! {
    /// Of a core: a read of a line that it has, or a store, and the instructions around it.
    hit: Picoseconds = "hit-ns", time, 0;
    /// Of a core: a read-modify-write of a line that it owns, in addition to a hit.
    read_modify_write: Picoseconds = "read-modify-write-ns", time, 0;
    /// Of a core: a sequentially consistent fence whose store buffer is empty.
    fence: Picoseconds = "fence-ns", time, 0;
    /// Of a core: the factor of a branch's own instructions, relative to the cycles on the host
    /// that measured them.
    own_instructions: f64 = "own-instructions", factor, 1.0;
    /// Of a core: one spin hint.
    pause: Picoseconds = "pause-ns", time, 0;
    /// Of a core: an allocation, or freeing what it allocated itself.
    allocation: Picoseconds = "allocation-ns", time, 0;
    /// A line from another core of the cluster.
    transfer_cluster: Picoseconds = "transfer-cluster-ns", time, 0;
    /// A line from another cluster of the socket.
    transfer_socket: Picoseconds = "transfer-socket-ns", time, 0;
    /// A line from another socket.
    transfer_far: Picoseconds = "transfer-far-ns", time, 0;
    /// The part of a transfer during which no other core can have the line, from 0 to 1.
    occupancy: f64 = "occupancy", share, 1.0;
    /// How often operations of one core, or cores of one cluster, follow each other on a line for
    /// which others wait. 1 means first come, first served.
    run: usize = "run", count, 1;
    /// For a write: each sharer of the line except the farthest.
    invalidation: Picoseconds = "invalidation-ns", time, 0;
    /// The first access to a line that no cache has.
    memory: Picoseconds = "memory-ns", time, 0;
    /// Stores that a core's buffer holds.
    store_buffer: usize = "store-buffer", count, 56;
    /// A system call that finds no thread to wake, or that need not block.
    call: Picoseconds = "call-ns", time, 0;
    /// Going to sleep: from the call until the core is idle.
    block: Picoseconds = "block-ns", time, 0, system;
    /// Waking a thread, in addition to the call, if an idle core must be interrupted for it.
    wake: Picoseconds = "wake-ns", time, 0, system;
    /// Waking a thread, in addition to the call, if its core polls, or has another thread.
    wake_polling: Picoseconds = "wake-polling-ns", time, 0, system;
    /// From the end of waking until the thread runs on a core that was idle for a short time.
    resume: Picoseconds = "resume-ns", time, 0, system;
    /// How long a core that becomes idle polls for a thread.
    poll: Picoseconds = "poll-ns", time, 0;
    /// From the end of waking until the thread runs on a core that polls.
    resume_polling: Picoseconds = "resume-polling-ns", time, 0, system;
    /// A core that has been idle for longer than this is in deep idle.
    deep_after: Picoseconds = "deep-after-ns", time, Picoseconds::MAX;
    /// From the end of waking until the thread runs on a core in deep idle.
    deep_resume: Picoseconds = "deep-resume-ns", time, 0;
    /// The switch from one thread to the next on a core.
    switch: Picoseconds = "switch-ns", time, 0;
    /// The time slice of a thread on a core for which another thread waits.
    slice: Picoseconds = "slice-ns", time, Picoseconds::MAX;
    /// Resuming takes longer by up to this part, chosen by the seed, from 0 to 1.
    jitter: f64 = "jitter", share, 0.0;
    /// A yield, in addition to switching to another thread.
    yielding: Picoseconds = "yield-ns", time, 0, system;
    /// Starting a thread, for the thread that starts it; the new thread runs after the latency of
    /// resuming.
    spawn: Picoseconds = "spawn-ns", time, 0;
    /// The heavy side of an asymmetric fence, for the core that executes it, if no other core runs.
    heavy_fence: Picoseconds = "heavy-fence-ns", time, 0;
    /// The heavy side of an asymmetric fence: its additional time on the executing core for each
    /// other running core.
    heavy_fence_per_core: Picoseconds = "heavy-fence-per-core-ns", time, 0;
    /// The heavy side of an asymmetric fence, for each core that it interrupts.
    interrupt: Picoseconds = "interrupt-ns", time, 0;
    /// One byte to or from memory by one core.
    byte: f64 = "core-gigabytes-per-second", picoseconds_per_byte, 0.0;
    /// One byte to or from a socket's memory by all of its cores together.
    socket_byte: f64 = "socket-gigabytes-per-second", picoseconds_per_byte, 0.0;
}

impl Costs {
    /// Makes a line from every other core cost the same.
    pub fn set_transfers(&mut self, price: Picoseconds) {
        self.transfer_cluster = price;
        self.transfer_socket = price;
        self.transfer_far = price;
    }
}

/// Refuses a key that does not name a cost parameter or a group of them.
fn known(wanted: &str) -> Result<(), String> {
    if wanted == SYSTEM || KEYS.iter().any(|(key, _)| *key == wanted) {
        return Ok(());
    }
    let known: Vec<_> = KEYS.iter().map(|(key, _)| *key).collect();
    Err(format!(
        "{wanted}: unknown cost parameter; known: {}",
        known.join(", ")
    ))
}

/// Reads written values, and scales the selected ones.
struct Reader<'a, F> {
    scaled: Option<(&'a str, f64)>,
    fault: &'a F,
}

impl<F: Fn(usize, String) -> MachineError> Reader<'_, F> {
    /// A number from 0 to `most`, scaled up to that limit.
    fn within(&self, key: &str, price: &Price, most: f64) -> Result<f64, MachineError> {
        sourced(&price.source, key, self.fault)?;
        let value = *price.value.get_ref();
        if !(0.0..=most).contains(&value) {
            return Err((self.fault)(
                price.value.span().start,
                format!("{key} = {value}: write a number from 0 to {most}"),
            ));
        }
        let is_meant =
            |wanted: &str| wanted == key || (wanted == SYSTEM && KEYS.contains(&(key, true)));
        let factor = self
            .scaled
            .filter(|(wanted, _)| is_meant(wanted))
            .map_or(1.0, |(_, factor)| factor);
        Ok((value * factor).min(most))
    }

    /// Nanoseconds, as picoseconds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within 0 and a second"
    )]
    fn time(&self, key: &str, price: &Price) -> Result<Picoseconds, MachineError> {
        let ns = self.within(key, price, MOST_NS)?;
        Ok((ns * NANOSECOND as f64).round() as Picoseconds)
    }

    /// A share, from 0 to 1.
    fn share(&self, key: &str, price: &Price) -> Result<f64, MachineError> {
        self.within(key, price, 1.0)
    }

    /// A whole number, at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within 0 and 1000"
    )]
    fn count(&self, key: &str, price: &Price) -> Result<usize, MachineError> {
        let value = *price.value.get_ref();
        if value.fract() != 0.0 || value < 1.0 {
            return Err((self.fault)(
                price.value.span().start,
                format!("{key} = {value}: write a whole number, 1 to 1000"),
            ));
        }
        Ok(self.within(key, price, 1_000.0)?.round().max(1.0) as usize)
    }

    /// A factor.
    fn factor(&self, key: &str, price: &Price) -> Result<f64, MachineError> {
        self.within(key, price, 100.0)
    }

    /// Gigabytes a second, as picoseconds for a byte.
    fn picoseconds_per_byte(&self, key: &str, price: &Price) -> Result<f64, MachineError> {
        let rate = self.within(key, price, 1e6)?;
        if rate == 0.0 {
            return Err((self.fault)(
                price.value.span().start,
                format!("{key} = 0: no access to memory would ever end; write more"),
            ));
        }
        Ok(1e3 / rate)
    }
}
