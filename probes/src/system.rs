//! Costs of the operating system: blocking, waking, yielding, starting threads, heavy sides of
//! asymmetric fences.

use std::hint::spin_loop;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{MembarrierCommand, futex, membarrier};
use rustix::time::{ClockId, clock_gettime};

use crate::cost::{Cost, Cpu, each_ns, median_of, on, on_both, pair};

/// How long a thread sleeps until another thread wakes it, and how often. In the first [`SHORT`]
/// rows, the thread's core may still be polling when the other thread wakes it.
const SLEEPS: [(Duration, u32); 7] = [
    (Duration::from_micros(5), 100),
    (Duration::from_micros(20), 100),
    (Duration::from_micros(50), 100),
    (Duration::from_micros(200), 60),
    (Duration::from_millis(1), 40),
    (Duration::from_millis(5), 25),
    (Duration::from_millis(20), 15),
];
const SHORT: usize = 2;

/// A waker spins for this time, or for the whole sleep if that is shorter. So its own core is awake
/// when it wakes another thread.
const SPUN: Duration = Duration::from_micros(50);

const SPAWNS: usize = 51;

const FENCES: u32 = 200;

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
        // The call cannot fail, and no thread waits on the word.
        let _ = futex::wake(&word, futex::Flags::PRIVATE, 1);
    })
}

const YIELDS: u32 = 2_000;

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
        one.min(other.join().expect("the thread yields and ends"))
    })
}

fn spawned_ns() -> f64 {
    let times = (0..SPAWNS).map(|_| {
        let started = Instant::now();
        let thread = thread::spawn(|| ());
        let elapsed = started.elapsed().as_nanos() as f64;
        thread.join().expect("the thread does nothing");
        elapsed
    });
    median_of(times).unwrap_or(f64::NAN)
}

struct Woken {
    wake: f64,
    /// Quartiles of the time from the end of the waking call until the woken thread runs.
    resume: [f64; 3],
    block: f64,
}

fn sleeps(cpus: [usize; 2]) -> Option<Vec<Cost>> {
    let all = SLEEPS.map(|(sleep, times)| woken(cpus, sleep, times));
    let all: Vec<Woken> = all.into_iter().collect::<Option<_>>()?;
    let (short, seen) = all.split_at(SHORT);
    let (soon, shallow, deep) = (&short[0], &seen[0], &seen[seen.len() - 1]);
    // Chooses `resume-ns` and `jitter` so that the simulated latency has the measured median. It
    // also has the measured distance of the quartiles, if the jitter stays below its limit.
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
    let still = seen.iter().rposition(|woken| !is_deep(woken)).unwrap_or(0);
    let how = "latency of a thread that slept 50 µs in a futex call";
    // After a short sleep, the core still polls if the thread comes back sooner than after 50 µs.
    let polled = short
        .iter()
        .rposition(|woken| woken.resume[1] < 0.7 * middle);
    let poll = polled.map_or(0.0, |place| SLEEPS[place].0.as_nanos() as f64);
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
            "the longer of two sleeps, 5 and 20 µs, whose median latency is below 0.7 of that after 50 µs; 0 if neither is",
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
            SLEEPS[SHORT + still].0.as_nanos() as f64,
            "longest sleep from 50 µs to 20 ms whose latency is nearer to that after 50 µs than to that after 20 ms",
        ),
        Cost::new(
            "deep-resume-ns",
            least(deep.resume[1].max(middle)),
            "latency of a thread that slept 20 ms in a futex call",
        ),
    ])
}

fn woken(cpus: [usize; 2], sleep: Duration, times: u32) -> Option<Woken> {
    let (word, ready) = (AtomicU32::new(0), AtomicU32::new(0));
    let flags = futex::Flags::PRIVATE;
    // Relaxed, here and below: the words count rounds and carry no other data; a thread that reads
    // a stale value reads again.
    let wakes = || {
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
    };
    let sleeps = || {
        let (mut stamps, mut costs) = (Vec::new(), Vec::new());
        let mut before = thread_cpu_ns();
        for round in 0..times {
            ready.store(round + 1, Ordering::Relaxed);
            while word.load(Ordering::Relaxed) == round {
                // An error means that the word has changed or a signal came; the loop checks the
                // word.
                let _ = futex::wait(&word, flags, round, None);
            }
            stamps.push(Instant::now());
            let after = thread_cpu_ns();
            costs.push(after - before);
            before = after;
        }
        (stamps, costs)
    };
    let (calls, (stamps, costs)) = on_both(cpus, wakes, sleeps)?;
    let did_sleep = calls.iter().zip(&stamps).filter(|((.., slept), _)| *slept);
    let calling = did_sleep
        .clone()
        .map(|((begun, ended, _), _)| nanoseconds(*begun, *ended));
    let resumes = did_sleep.map(|((_, ended, _), ran)| nanoseconds(*ended, *ran));
    let mut resumes: Vec<f64> = resumes.collect();
    resumes.sort_by(f64::total_cmp);
    let quarter = |part: usize| resumes.get(resumes.len() * part / 4).copied();
    Some(Woken {
        wake: median_of(calling)?,
        resume: [quarter(1)?, quarter(2)?, quarter(3)?],
        block: median_of(costs.into_iter())?,
    })
}

/// The time from `from` to `to`; negative if `to` was earlier.
fn nanoseconds(from: Instant, to: Instant) -> f64 {
    let before = from.saturating_duration_since(to).as_nanos() as f64;
    to.saturating_duration_since(from).as_nanos() as f64 - before
}

fn thread_cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Returns the costs of `membarrier`; `None` if the kernel does not have it.
fn heavy_fences(cpus: [usize; 2]) -> Option<Vec<Cost>> {
    membarrier(MembarrierCommand::RegisterPrivateExpedited).ok()?;
    let fence = || {
        // The fence cannot fail after a registration that succeeded.
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
    let undisturbed = on(cpus[1], || median_of((0..15).map(|_| delayed())))??;
    let is_over = AtomicBool::new(false);
    let fences_beside = || {
        let time = each_ns(FENCES, fence);
        is_over.store(true, Ordering::Relaxed);
        time
    };
    let is_delayed = || {
        // Relaxed: the flag carries no other data; a stale value only lets this loop run once more.
        let begin = || (!is_over.load(Ordering::Relaxed)).then(delayed);
        median_of(std::iter::from_fn(begin))
    };
    let (beside, interrupted) = on_both(cpus, fences_beside, is_delayed)?;
    let interrupted = interrupted?;
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
