//! Takes packets from the sources in rotation until the trial's stop condition holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use super::traffic::{Packet, Tally, Traffic};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The dispatcher stops after this many packets from each source.
    AfterPackets(u64),
    AfterTime(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) done: Tally,
    pub(super) dispatched: u64,
}

pub(super) trait HandOn: Send {
    /// Dispatches and processes packets until `stop`, on the pool to which the calling thread
    /// belongs.
    fn run(self: Box<Self>, traffic: &Traffic, stop: Stop) -> Report;
}

/// Passes every packet, with the number of its source, to `deliver`. Returns the number of packets.
pub(super) fn dispatch(
    traffic: &Traffic,
    stop: Stop,
    mut deliver: impl FnMut(usize, Packet),
) -> u64 {
    let mut number = 0;
    let mut deliver_next = || {
        let (source, packet) = traffic.in_turn(number);
        deliver(source, packet);
        number += 1;
    };
    match stop {
        Stop::AfterPackets(per_source) => {
            for _ in 0..per_source * traffic.sources() as u64 {
                deliver_next();
            }
        }
        Stop::AfterTime(duration) => {
            let alarm = Alarm::after(duration);
            while !alarm.is_raised() {
                deliver_next();
            }
        }
    }
    number
}

/// A flag that a sleeping thread sets after the given time. Reading the flag is cheaper than
/// reading a clock.
struct Alarm(Arc<AtomicBool>);

impl Alarm {
    fn after(duration: Duration) -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let raised = Arc::clone(&flag);
        thread::spawn(move || {
            thread::sleep(duration);
            raised.store(true, Relaxed);
        });
        Self(flag)
    }

    fn is_raised(&self) -> bool {
        // Relaxed: a late read only costs one packet more.
        self.0.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::traffic::Generator;
    use super::*;

    #[test]
    fn every_source_gives_the_same_number_of_packets_in_order() {
        let traffic = Traffic::new(1, 3, Generator::Uniform, 10);
        let mut delivered = Vec::new();
        let count = dispatch(&traffic, Stop::AfterPackets(2), |source, packet| {
            delivered.push((source, packet));
        });
        let order = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)];
        assert_eq!(count, 6);
        assert_eq!(
            delivered,
            order.map(|(source, index)| (source, traffic.packet(source, index)))
        );
    }

    #[test]
    fn the_alarm_ends_the_dispatch_not_before_its_time() {
        let traffic = Traffic::new(1, 3, Generator::Uniform, 10);
        let started = Instant::now();
        let count = dispatch(
            &traffic,
            Stop::AfterTime(Duration::from_millis(20)),
            |_, _| {},
        );
        assert!(started.elapsed() >= Duration::from_millis(20));
        assert!(count > 0);
    }
}
