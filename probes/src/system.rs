//! Costs of the operating system: blocking, waking, yielding, starting threads, heavy sides of
//! asymmetric fences.

use std::hint::spin_loop;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{MembarrierCommand, futex, membarrier};
use rustix::time::{ClockId, clock_gettime};

use crate::affinity::pin_to;
use crate::cost::{Cost, Cpu, each_ns, on, pair};
use crate::stats::median;

/// How long a thread sleeps until it is woken, and how often.
const SLEEPS: [(Duration, u32); 5] = [
    (Duration::from_micros(50), 100),
    (Duration::from_micros(200), 60),
    (Duration::from_millis(1), 40),
    (Duration::from_millis(5), 25),
    (Duration::from_millis(20), 15),
];

/// How long a thread sleeps if its core may still be polling, and how often.
const SHORT: [Duration; 2] = [Duration::from_micros(5), Duration::from_micros(20)];
const SHORT_TIMES: u32 = 100;

/// A waker spins at least this long, so that its own core is awake when it wakes another thread.
const SPUN: Duration = Duration::from_micros(50);

/// Number of threads that are started.
const SPAWNS: usize = 51;

/// Number of heavy fences in a window.
const FENCES: u32 = 200;

/// Number of spin hints on which the delay by heavy fences is measured.
const DELAYED: u32 = 20_000;

pub(crate) fn costs(cpus: &[Cpu]) -> Vec<Cost> {
    let Some(first) = cpus.first() else {
        return Vec::new();
    };
    let mut costs = on(first.number, || {
        vec![
            Cost::new(
                "yield-ns",
                each_ns(1_000, thread::yield_now),
                "yields without another thread on the CPU",
            ),
            Cost::new(
                "switch-ns",
                switched_ns(),
                "two threads of one CPU that yield alternately, each yield",
            ),
            Cost::new(
                "call-ns",
                called_ns(),
                "a futex call that finds no thread to wake",
            ),
            Cost::new(
                "spawn-ns",
                spawned_ns(),
                "starting a thread, until the call returns",
            ),
        ]
    })
    .unwrap_or_default();
    if let Some(pair) = pair(cpus) {
        costs.extend(sleeps(pair).unwrap_or_default());
        costs.extend(heavy_fences(pair).unwrap_or_default());
    }
    costs
}

fn called_ns() -> f64 {
    let word = AtomicU32::new(0);
    each_ns(1_000, || {
        // This cannot fail, and no thread waits.
        let _ = futex::wake(&word, futex::Flags::PRIVATE, 1);
    })
}

/// How often two threads of one CPU yield.
const YIELDS: u32 = 2_000;

/// The caller is pinned, and so are the threads that it starts.
fn switched_ns() -> f64 {
    let both = Barrier::new(2);
    let yields = || {
        both.wait();
        let started = Instant::now();
        for _ in 0..YIELDS {
            thread::yield_now();
        }
        started.elapsed().as_nanos() as f64 / f64::from(2 * YIELDS)
    };
    thread::scope(|scope| {
        let other = scope.spawn(yields);
        let one = yields();
        one.min(other.join().expect("it yields and ends"))
    })
}

fn spawned_ns() -> f64 {
    let times = (0..SPAWNS).map(|_| {
        let started = Instant::now();
        let thread = thread::spawn(|| ());
        let elapsed = started.elapsed().as_nanos() as f64;
        thread.join().expect("it does nothing");
        elapsed
    });
    median(&mut times.collect::<Vec<f64>>()).unwrap_or(f64::NAN)
}

/// Measurements of sleeps of one length, in nanoseconds.
struct Woken {
    /// The call that wakes.
    wake: f64,
    /// From the end of that call until the woken thread runs: the quartiles.
    resume: [f64; 3],
    /// CPU time of the woken thread for one sleep.
    block: f64,
}

fn sleeps(cpus: [usize; 2]) -> Option<Vec<Cost>> {
    let seen: Vec<Woken> = SLEEPS
        .iter()
        .map(|(sleep, times)| woken(cpus, *sleep, *times))
        .collect::<Option<_>>()?;
    let (shallow, deep) = (&seen[0], &seen[seen.len() - 1]);
    // The parameter and its jitter have the measured median and quartiles, up to the limit of the
    // jitter.
    let spread = shallow.resume[2] - shallow.resume[0];
    let [_, middle, _] = shallow.resume;
    let jitter = if spread < middle / 3.0 {
        2.0 * spread / (middle - spread)
    } else {
        1.0
    };
    let least = |middle: f64| middle / (1.0 + jitter / 2.0);
    let between = (shallow.resume[1].max(1.0) * deep.resume[1].max(1.0)).sqrt();
    let is_deep = |woken: &Woken| woken.resume[1] > between;
    // The last length after which threads still came back soon.
    let still = seen.iter().rposition(|woken| !is_deep(woken)).unwrap_or(0);
    let how = "latency of a thread that slept 50 µs in a futex call";
    // The core polls during a sleep if threads come back sooner from that sleep.
    let short: Vec<(Duration, Woken)> = SHORT
        .iter()
        .map(|sleep| Some((*sleep, woken(cpus, *sleep, SHORT_TIMES)?)))
        .collect::<Option<_>>()?;
    let polled = short
        .iter()
        .rfind(|(_, woken)| woken.resume[1] < 0.7 * middle);
    let poll = polled.map_or(0.0, |(sleep, _)| sleep.as_nanos() as f64);
    let soon = &short[0].1;
    Some(vec![
        Cost::new(
            "block-ns",
            shallow.block,
            "CPU time of a thread for one sleep in a futex call",
        ),
        Cost::new("wake-ns", shallow.wake, "a futex call that wakes a thread"),
        Cost::new(
            "wake-polling-ns",
            soon.wake,
            "a futex call that wakes a thread after 5 µs",
        ),
        Cost::new("resume-ns", least(middle), how),
        Cost::new(
            "poll-ns",
            poll,
            "longest of sleeps of 5 and 20 µs after which threads come back sooner",
        ),
        Cost::new(
            "resume-polling-ns",
            least(soon.resume[1].min(middle)),
            "latency of a thread that slept 5 µs in a futex call",
        ),
        Cost::new(
            "jitter",
            jitter.clamp(0.0, 1.0),
            "quartiles of the latency after sleeps of 50 µs",
        ),
        Cost::new(
            "deep-after-ns",
            SLEEPS[still].0.as_nanos() as f64,
            "longest of sleeps of 50 µs to 20 ms after which threads still come back soon",
        ),
        Cost::new(
            "deep-resume-ns",
            least(deep.resume[1].max(middle)),
            "latency of a thread that slept 20 ms in a futex call",
        ),
    ])
}

/// Wakes a thread on the second CPU from the first, again and again.
fn woken(cpus: [usize; 2], sleep: Duration, times: u32) -> Option<Woken> {
    let (word, ready) = (AtomicU32::new(0), AtomicU32::new(0));
    let both = Barrier::new(2);
    let are_pinned = AtomicBool::new(true);
    let may_start = |cpu| {
        if !pin_to(cpu) {
            are_pinned.store(false, Ordering::Relaxed);
        }
        // Also after a failure, or the other would wait for ever.
        both.wait();
        are_pinned.load(Ordering::Relaxed)
    };
    let flags = futex::Flags::PRIVATE;
    // Relaxed, here and below: the words count rounds and carry no other data; a stale value is
    // read again.
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            may_start(cpus[1]).then(|| {
                let mut stamps = Vec::new();
                let mut costs = Vec::new();
                let mut before = thread_cpu_ns();
                for round in 0..times {
                    ready.store(round + 1, Ordering::Relaxed);
                    while word.load(Ordering::Relaxed) == round {
                        // An error means that it need not sleep, which the loop sees.
                        let _ = futex::wait(&word, flags, round, None);
                    }
                    stamps.push(Instant::now());
                    let after = thread_cpu_ns();
                    costs.push(after - before);
                    before = after;
                }
                (stamps, costs)
            })
        });
        let waker = scope.spawn(|| {
            may_start(cpus[0]).then(|| {
                let mut stamps = Vec::new();
                for round in 0..times {
                    while ready.load(Ordering::Relaxed) <= round {
                        spin_loop();
                    }
                    let until = Instant::now() + sleep;
                    thread::sleep(sleep.saturating_sub(2 * SPUN));
                    let until = until.max(Instant::now() + SPUN.min(sleep));
                    while Instant::now() < until {
                        spin_loop();
                    }
                    let begun = Instant::now();
                    word.store(round + 1, Ordering::Relaxed);
                    let woken = futex::wake(&word, flags, 1);
                    stamps.push((begun, Instant::now(), woken == Ok(1)));
                }
                stamps
            })
        });
        let (stamps, mut costs) = sleeper.join().ok()??;
        let calls = waker.join().ok()??;
        let slept = || {
            calls
                .iter()
                .zip(&stamps)
                .filter(|((.., did_sleep), _)| *did_sleep)
        };
        let calling = slept().map(|((begun, ended, _), _)| nanoseconds(*begun, *ended));
        let mut resumes: Vec<f64> = slept()
            .map(|((_, ended, _), ran)| nanoseconds(*ended, *ran))
            .collect();
        resumes.sort_by(f64::total_cmp);
        let quarter = |part: usize| resumes.get(resumes.len() * part / 4).copied();
        Some(Woken {
            wake: median(&mut calling.collect::<Vec<f64>>())?,
            resume: [quarter(1)?, quarter(2)?, quarter(3)?],
            block: median(&mut costs)?,
        })
    })
}

/// The time from one moment to another; negative if the other was earlier.
fn nanoseconds(from: Instant, to: Instant) -> f64 {
    let before = from.saturating_duration_since(to).as_nanos() as f64;
    to.saturating_duration_since(from).as_nanos() as f64 - before
}

fn thread_cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// `None` if the kernel has no such fence.
fn heavy_fences(cpus: [usize; 2]) -> Option<Vec<Cost>> {
    membarrier(MembarrierCommand::RegisterPrivateExpedited).ok()?;
    let fence = || {
        // An error would already have come from the registration.
        let _ = membarrier(MembarrierCommand::PrivateExpedited);
    };
    let alone = on(cpus[0], || each_ns(FENCES, fence))?;
    let delayed = || {
        let started = Instant::now();
        for _ in 0..DELAYED {
            spin_loop();
        }
        started.elapsed().as_nanos() as f64
    };
    let undisturbed = on(cpus[1], || median(&mut [0; 15].map(|_| delayed())))??;
    let is_over = AtomicBool::new(false);
    let both = Barrier::new(2);
    let (beside, interrupted) = thread::scope(|scope| {
        let other = scope.spawn(|| {
            let is_pinned = pin_to(cpus[1]);
            both.wait();
            let mut times = Vec::new();
            // Relaxed: it carries no other data; a stale value is read again.
            while !is_over.load(Ordering::Relaxed) {
                times.push(delayed());
            }
            is_pinned.then_some(times)
        });
        let beside = scope.spawn(|| {
            let is_pinned = pin_to(cpus[0]);
            both.wait();
            let time = each_ns(FENCES, fence);
            is_over.store(true, Ordering::Relaxed);
            is_pinned.then_some(time)
        });
        Some((beside.join().ok()??, median(&mut other.join().ok()??)?))
    })?;
    // So many fences came while the other was delayed.
    let fences = interrupted / beside.max(1.0);
    Some(vec![
        Cost::new(
            "heavy-fence-ns",
            alone,
            "membarrier while no other thread runs",
        ),
        Cost::new(
            "heavy-fence-per-core-ns",
            beside - alone,
            "membarrier beside a running thread, minus membarrier without one",
        ),
        Cost::new(
            "interrupt-ns",
            (interrupted - undisturbed) / fences.max(1.0),
            "time that each membarrier takes from a running thread",
        ),
    ])
}
