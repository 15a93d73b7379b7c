//! The cost parameters of a machine: one table of all of them, and how a machine's file gives them.

/// Time on a simulated machine, in picoseconds.
pub type Picoseconds = u64;

/// Picoseconds in a nanosecond.
pub const NANOSECOND: Picoseconds = 1_000;

/// Declares [`Costs`] from one list. A row has documentation, name, type and key of a parameter,
/// and the function that converts a written value. Last comes the value on a machine where
/// everything is free.
macro_rules! costs {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident: $type:ty = $key:literal, $convert:ident, $free:expr;
    )*) => {
        /// The cost parameters, in picoseconds if no other unit is named.
        ///
        /// The parameters of a core hold at the frequency
        /// [`Frequency::reference_mhz`](super::Frequency::reference_mhz), and scale with the
        /// frequency. The part `system_clock` of system calls also scales. The parameters of
        /// transfers and of idle cores do not scale.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Costs {
            $($(#[doc = $doc])* pub $name: $type,)*
            /// Of a core: the speed of each of its two hardware threads while both run, relative to
            /// a thread that runs alone. The key is in `[hardware-threads]` of a machine's file.
            pub shared_speed: f64,
        }

        impl Costs {
            /// Everything is free: for tests of results that follow from order alone.
            #[must_use]
            pub fn free() -> Self {
                Self { $($name: $free,)* shared_speed: 1.0 }
            }

            pub(super) fn set(&mut self, key: &str, value: f64) -> Result<(), String> {
                match key {
                    $($key => self.$name = $convert(value)?,)*
                    _ => {
                        let known = Self::KEYS.join(", ");
                        return Err(format!("unknown cost parameter; known: {known}"));
                    }
                }
                Ok(())
            }

            pub(super) const KEYS: &[&str] = &[$($key),*];

            /// A machine without one of these keys does not have that part of the simulation.
            pub(super) const OPTIONAL: &[&str] =
                &["system-clock", "deepest-after-ns", "deepest-resume-ns", "cold-after-ns"];
        }
    };
}

costs! {
    /// Of a core: an access without its transfer, and the instructions around that access.
    hit: Picoseconds = "hit-ns", time, 0;
    /// Of a core: a read-modify-write, in addition to a hit and a transfer.
    read_modify_write: Picoseconds = "read-modify-write-ns", time, 0;
    /// Of a core: a sequentially consistent fence whose store buffer is empty.
    fence: Picoseconds = "fence-ns", time, 0;
    /// Of a core: the cycles of a branch's own instructions on this core, divided by the cycles on
    /// the host that measured these instructions.
    own_instructions: f64 = "own-instructions", ratio, 1.0;
    /// Of a core: one spin hint.
    pause: Picoseconds = "pause-ns", time, 0;
    /// Of a core: an allocation or the freeing of an object, without the access to an arena's lock.
    allocation: Picoseconds = "allocation-ns", time, 0;
    /// The transfer of a line from another core of the cluster.
    transfer_cluster: Picoseconds = "transfer-cluster-ns", time, 0;
    /// The transfer of a line from another cluster of the socket.
    transfer_socket: Picoseconds = "transfer-socket-ns", time, 0;
    /// The transfer of a line from another socket.
    transfer_far: Picoseconds = "transfer-far-ns", time, 0;
    /// The part of a transfer during which no other core can have the line, from 0 to 1.
    occupancy: f64 = "occupancy", share, 1.0;
    /// How many operations of one core, or how many cores of one cluster, may follow each other on
    /// a line while other cores wait for it. The value 1 means first come, first served.
    run: usize = "run", count, 1;
    /// The time that each other core with a copy of a line, except the farthest, adds to a write of
    /// that line.
    invalidation: Picoseconds = "invalidation-ns", time, 0;
    /// The first access to a line that no cache has.
    memory: Picoseconds = "memory-ns", time, 0;
    /// How many stores a core's buffer holds.
    store_buffer: usize = "store-buffer", count, 56;
    /// The part of the time of system calls and switches that scales with the core's frequency,
    /// from 0 to 1.
    system_clock: f64 = "system-clock", share, 0.0;
    /// A system call that sleeps, blocks or wakes: its part before it blocks its caller or wakes a
    /// thread.
    call: Picoseconds = "call-ns", time, 0;
    /// Going to sleep: from the call until the core is idle.
    block: Picoseconds = "block-ns", time, 0;
    /// Waking a thread, in addition to the call, if the waking core must interrupt an idle core.
    wake: Picoseconds = "wake-ns", time, 0;
    /// Waking a thread, in addition to the call, if the core of the woken thread polls, or has
    /// another thread.
    wake_polling: Picoseconds = "wake-polling-ns", time, 0;
    /// From the end of waking until the thread runs on a core that neither polls nor is in deep
    /// idle.
    resume: Picoseconds = "resume-ns", time, 0;
    /// How long a core that becomes idle polls for a thread.
    poll: Picoseconds = "poll-ns", time, 0;
    /// From the end of waking until the thread runs on a core that polls.
    resume_polling: Picoseconds = "resume-polling-ns", time, 0;
    /// A core that has been idle for longer than this is in deep idle, unless its sibling is not.
    deep_after: Picoseconds = "deep-after-ns", time, Picoseconds::MAX;
    /// From the end of waking until the thread runs on a core in deep idle.
    deep_resume: Picoseconds = "deep-resume-ns", time, 0;
    /// A core that has been idle for longer than this is in the deepest idle state, unless its
    /// sibling is not.
    deepest_after: Picoseconds = "deepest-after-ns", time, Picoseconds::MAX;
    /// From the end of waking until the thread runs on a core in the deepest idle state.
    deepest_resume: Picoseconds = "deepest-resume-ns", time, 0;
    /// A core that wakes has lost its lines if it and its sibling were idle for longer than this.
    cold_after: Picoseconds = "cold-after-ns", time, Picoseconds::MAX;
    /// The switch from one thread to the next on a core.
    switch: Picoseconds = "switch-ns", time, 0;
    /// The time slice of a thread on a core for which another thread waits.
    slice: Picoseconds = "slice-ns", time, Picoseconds::MAX;
    /// The largest random delay of a resumption, as a part of the resumption's time, from 0 to 1.
    jitter: f64 = "jitter", share, 0.0;
    /// A yield, in addition to switching to another thread.
    yielding: Picoseconds = "yield-ns", time, 0;
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
}

impl Costs {
    /// Makes the transfer of a line from every other core cost `price`.
    pub fn set_transfers(&mut self, price: Picoseconds) {
        self.transfer_cluster = price;
        self.transfer_socket = price;
        self.transfer_far = price;
    }
}

fn within(value: f64, most: f64) -> Result<f64, String> {
    if (0.0..=most).contains(&value) {
        Ok(value)
    } else {
        Err(format!("write a number from 0 to {most}"))
    }
}

/// Converts nanoseconds to picoseconds. More than a second is an error, because it means a wrong
/// unit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is from 0 to a second"
)]
fn time(value: f64) -> Result<Picoseconds, String> {
    Ok((within(value, 1e9)? * NANOSECOND as f64).round() as Picoseconds)
}

fn share(value: f64) -> Result<f64, String> {
    within(value, 1.0)
}

fn ratio(value: f64) -> Result<f64, String> {
    within(value, 100.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within 1 and 1000"
)]
fn count(value: f64) -> Result<usize, String> {
    if (1.0..=1_000.0).contains(&value) && value.fract() == 0.0 {
        Ok(value as usize)
    } else {
        Err("write a whole number, 1 to 1000".to_owned())
    }
}
