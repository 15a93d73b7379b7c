//! Joins two halves that wait for each other, again and again, until a join hangs.

use std::hint::{black_box, spin_loop};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst, fence};
use std::thread;
use std::time::{Duration, Instant};

/// Words that the program writes just before a join, each in a cache line of its own. A processor's
/// store buffer has room for about so many writes.
const WRITES: usize = 100;
/// The gap before a join is random, up to this limit. Some gaps must be as long as a worker needs
/// to fall asleep.
const LONGEST_GAP_NS: u32 = 40_000;
const DEADLINE: Duration = Duration::from_secs(2);
/// Words in a page of memory, and pages: 64 MiB in all, so that a random page is seldom in a core's
/// own caches.
const PAGE: usize = 512;
const PAGES: u32 = 1 << 14;

static ARRIVED: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
static IS_TIME_UP: AtomicBool = AtomicBool::new(false);
static IS_DONE: AtomicBool = AtomicBool::new(false);

fn meet(both: u64) {
    ARRIVED.fetch_add(1, Relaxed);
    let mut looks = 0_u32;
    while ARRIVED.load(Relaxed) < both {
        looks = looks.saturating_add(1);
        // If both workers run on one CPU, the other half may need this CPU.
        if looks < 1000 {
            spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

/// Runs the joins. With `fences`, the processor makes all writes visible before a join begins.
fn join_until_time_is_up(fences: bool) {
    let mut memory = vec![1_u64; PAGE * PAGES as usize];
    let mut random = 0x9E37_79B9_u32;
    let mut below = |bound: u32| {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        random % bound
    };
    for join in 1.. {
        // These reads translate the pages' addresses now, so that no translation delays the writes.
        let pages = [(); 4].map(|()| below(PAGES) as usize * PAGE);
        black_box(pages.iter().map(|&page| memory[page]).sum::<u64>());
        let (gap, begun) = (
            Duration::from_nanos(below(LONGEST_GAP_NS).into()),
            Instant::now(),
        );
        while begun.elapsed() < gap {
            spin_loop();
        }
        for write in 0..WRITES {
            // A cache prefetches neighbouring lines and regular strides, so these writes avoid
            // both.
            let line = 2 + write / 4 * 14 % 62;
            memory[pages[write % 4] + 8 * line] = join;
        }
        black_box(&mut memory);
        if fences {
            // ORDERING: SeqCst, so that the processor makes the writes visible before the join.
            fence(SeqCst);
        }
        rayon_core::join(|| meet(2 * join), || meet(2 * join));
        ENDED.store(join, Relaxed);
        if IS_TIME_UP.load(Relaxed) {
            return IS_DONE.store(true, Relaxed);
        }
    }
}

/// Keeps this thread on the first or the last CPU that it may use. Does nothing except on Linux.
#[cfg_attr(
    not(target_os = "linux"),
    expect(unused_variables, reason = "only Linux is asked")
)]
fn stay(worker: usize) {
    #[cfg(target_os = "linux")]
    {
        unsafe extern "C" {
            fn sched_getaffinity(thread: i32, bytes: usize, cpus: *mut u64) -> i32;
            fn sched_setaffinity(thread: i32, bytes: usize, cpus: *const u64) -> i32;
        }
        let (mut all, mut one) = ([0_u64; 16], [0_u64; 16]);
        // SAFETY: these functions of the C library write and read as many bytes as their second
        // argument says, which is the size of the mask.
        unsafe { sched_getaffinity(0, size_of_val(&all), all.as_mut_ptr()) };
        let mut cpus = (0..1024).filter(|cpu| all[cpu / 64] >> (cpu % 64) & 1 == 1);
        if let Some(cpu) = if worker == 0 {
            cpus.next()
        } else {
            cpus.next_back()
        } {
            one[cpu / 64] = 1 << (cpu % 64);
            // SAFETY: the function reads as many bytes as its second argument says: the size of the
            // mask.
            unsafe { sched_setaffinity(0, size_of_val(&one), one.as_ptr()) };
        }
    }
}

fn state(name: &str) -> Option<&'static str> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?.flatten();
    let texts = tasks.flat_map(|task| std::fs::read_to_string(task.path().join("stat")));
    let text = texts
        .into_iter()
        .find(|text| text.contains(&format!("({name}) ")))?;
    Some(if text.contains(") S ") {
        "asleep"
    } else {
        "running"
    })
}

fn main() -> ExitCode {
    let words = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let (number, fences) = words
        .strip_suffix(" fence")
        .map_or((&*words, false), |it| (it, true));
    let seconds = if number.is_empty() {
        Ok(120.0)
    } else {
        number.parse()
    };
    let Some(seconds) = seconds.ok().filter(|it| (0.1..1e6).contains(it)) else {
        eprintln!("usage: lost-wake-up [SECONDS [fence]], 0.1 or more");
        return ExitCode::from(2);
    };
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        eprintln!(
            "This program needs two CPUs. One CPU sees its own stores in order, so a worker cannot miss a job."
        );
        return ExitCode::from(4);
    }
    let pool = rayon_core::ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(stay);
    let pool = pool
        .thread_name(|worker| format!("worker {worker}"))
        .build()
        .expect("two threads");
    pool.spawn(move || join_until_time_is_up(fences));
    let begun = Instant::now();
    let (mut ended, mut since) = (0, begun);
    while !IS_DONE.load(Relaxed) && since.elapsed() < DEADLINE {
        thread::sleep(Duration::from_millis(20));
        IS_TIME_UP.store(begun.elapsed().as_secs_f64() > seconds, Relaxed);
        let now = ENDED.load(Relaxed);
        if now != ended {
            (ended, since) = (now, Instant::now());
        }
    }
    println!("joins that ended       {ended:>10}");
    println!(
        "within, s              {:>10.2}",
        (since - begun).as_secs_f64()
    );
    if IS_DONE.load(Relaxed) {
        println!("\nNot seen: every join ended.");
        return ExitCode::SUCCESS;
    }
    println!(
        "then no join for, s    {:>10.2}",
        since.elapsed().as_secs_f64()
    );
    for name in ["worker 0", "worker 1"] {
        println!(
            "{name} is            {:>10}",
            state(name).unwrap_or("unknown")
        );
    }
    let begun = Instant::now();
    IS_TIME_UP.store(true, Relaxed);
    pool.spawn(|| ());
    while !IS_DONE.load(Relaxed) && begun.elapsed() < DEADLINE {
        thread::sleep(Duration::from_micros(10));
    }
    if !IS_DONE.load(Relaxed) {
        println!("\nA join hangs, and a job from outside does not help: no lost wake-up.");
        return ExitCode::FAILURE;
    }
    println!(
        "woken, ended in, ms    {:>10.2}",
        begun.elapsed().as_secs_f64() * 1e3
    );
    println!("\nLost a wake-up: a join hung while a worker slept beside its second half,");
    println!("until an empty job from outside woke that worker.");
    ExitCode::from(10)
}
