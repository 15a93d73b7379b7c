//! Tests how runs proceed and end: runs are repeatable, panics are reported, deadlocks are located,
//! and a thousand cores can run.

use std::sync::Arc;
use std::time::Duration;

use manycore::atomic::{AtomicUsize, Ordering};
use manycore::lock::{Condvar, Mutex, OnceLock};
use manycore::{FrequencyMode, Machine, WaitedFor, core_local, run, thread};

#[global_allocator]
static HEAP: manycore::Heap = manycore::Heap;

fn simulate<R: 'static>(cores: usize, main: impl FnOnce() -> R + 'static) -> R {
    run(&Machine::free(cores), FrequencyMode::Fixed, 1, main)
        .unwrap()
        .result
}

#[derive(Default)]
#[repr(align(128))]
struct Padded(AtomicUsize);

fn a_busy_run(seed: u64, hardware_threads: usize) -> String {
    let mut machine = Machine::free(32 / hardware_threads);
    machine.topology.hardware_threads = hardware_threads;
    machine.costs.shared_speed = 0.6;
    machine.costs.hit = 1_000;
    machine.costs.set_transfers(20_000);
    machine.costs.resume = 2_000_000;
    machine.costs.jitter = 0.5;
    let finished = run(&machine, FrequencyMode::Dynamic, seed, || {
        let words: Arc<Vec<Padded>> = Arc::new((0..5).map(|_| Padded::default()).collect());
        let body = |words: Arc<Vec<Padded>>| {
            move || {
                for _ in 0..200 {
                    let word = usize::try_from(manycore::random() % 5).unwrap();
                    let before = words[word].0.fetch_add(1, Ordering::Relaxed);
                    if before.is_multiple_of(7) {
                        thread::sleep(Duration::from_nanos(before as u64));
                    }
                }
            }
        };
        let threads: Vec<_> = (0..32)
            .map(|_| thread::spawn(body(Arc::clone(&words))))
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        format!("{:?}\n{:?}", manycore::spent(), manycore::waits())
    });
    let finished = finished.unwrap();
    format!(
        "{} {} {}",
        finished.elapsed, finished.turns, finished.result
    )
}

#[test]
fn one_seed_gives_one_result_and_another_seed_another() {
    for hardware_threads in [1, 2] {
        let first = a_busy_run(1, hardware_threads);
        assert_eq!(first, a_busy_run(1, hardware_threads));
        assert_ne!(first, a_busy_run(2, hardware_threads));
    }
    assert_ne!(a_busy_run(1, 1), a_busy_run(1, 2));
}

#[test]
fn waits_name_the_line_of_source_and_the_one_that_wrote() {
    let mut machine = Machine::free(2);
    machine.costs.set_transfers(20_000);
    let waits = run(&machine, FrequencyMode::Fixed, 1, || {
        let word = Arc::new(Padded::default());
        let reader = Arc::clone(&word);
        word.0.store(1, Ordering::Relaxed);
        let read = thread::spawn(move || reader.0.load(Ordering::Relaxed));
        read.join().unwrap();
        manycore::waits()
    });
    let waits = waits.unwrap().result;
    let (reads, writes) = (line!() - 5, line!() - 6);
    let wait = waits.iter().find(|wait| wait.at.line() == reads).unwrap();
    let is_written = matches!(wait.on, WaitedFor::Line(Some(at)) if at.line() == writes);
    assert!(is_written, "{wait:?}");
    assert_eq!((wait.times, wait.waited), (1, 20_000));
}

#[test]
fn a_panic_may_unwind_across_turns_of_other_cores_and_that_of_main_is_the_callers() {
    struct Releases(Arc<Padded>);
    impl Drop for Releases {
        fn drop(&mut self) {
            // Other threads run here, while this thread panics.
            thread::sleep(Duration::from_micros(5));
            self.0.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let released = simulate(8, || {
        let word = Arc::new(Padded::default());
        let panics = |word: Arc<Padded>| {
            move || {
                let _releases = Releases(word);
                panic!("on purpose");
            }
        };
        let threads: Vec<_> = (0..8)
            .map(|_| thread::spawn(panics(Arc::clone(&word))))
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().is_err()));
        word.0.load(Ordering::Relaxed)
    });
    assert_eq!(released, 8);
    let of_main = std::panic::catch_unwind(|| simulate(1, || panic!("of the main thread")));
    assert_eq!(
        *of_main.unwrap_err().downcast::<&str>().unwrap(),
        "of the main thread"
    );
}

#[test]
fn a_deadlock_is_an_error_with_every_cores_place() {
    let stuck = run(&Machine::free(4), FrequencyMode::Fixed, 1, || {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let both = Arc::clone(&locks);
        let other = thread::Builder::new().name("other".to_owned());
        let other = other.spawn(move || {
            let _one = both.1.lock();
            thread::sleep(Duration::from_micros(1));
            let _two = both.0.lock();
        });
        let _one = locks.0.lock();
        thread::sleep(Duration::from_micros(1));
        let _two = locks.1.lock();
        other.unwrap().join().unwrap();
    });
    let text = stuck.unwrap_err().to_string();
    let place = format!("{}:{}", file!(), line!() - 8);
    for part in [
        "deadlock: every thread is blocked",
        "other",
        "main",
        &place,
        "core    0",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn a_lock_of_the_standard_library_that_is_held_over_a_turn_is_told_and_ends_the_process() {
    const MARK: &str = "MANYCORE_TEST_STALLS";
    if std::env::var_os(MARK).is_none() {
        let name =
            "a_lock_of_the_standard_library_that_is_held_over_a_turn_is_told_and_ends_the_process";
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let output = again
            .args([name, "--exact"])
            .env(MARK, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(manycore::STALLED), "{said}");
        let stands_still = format!("the simulation on thread `{name}` is stalled");
        assert!(said.contains(&stands_still), "{said}");
        assert!(
            said.contains("the last access to shared memory: manycore/"),
            "{said}"
        );
        return;
    }
    let limit = Duration::from_millis(200);
    let body = || {
        let shared = Arc::new((std::sync::Mutex::new(()), Padded::default()));
        let body = |shared: Arc<(std::sync::Mutex<()>, Padded)>| {
            move || {
                let _guard = shared.0.lock().unwrap();
                thread::sleep(Duration::from_micros(1));
                shared.1.0.fetch_add(1, Ordering::Relaxed);
            }
        };
        let threads = [(); 2].map(|()| thread::spawn(body(Arc::clone(&shared))));
        for thread in threads {
            thread.join().unwrap();
        }
    };
    drop(manycore::run_watched(
        &Machine::free(2),
        FrequencyMode::Fixed,
        1,
        limit,
        body,
    ));
}

#[test]
fn thousands_of_threads_are_refused() {
    let error = simulate(2, || {
        let wait = || thread::sleep(Duration::from_secs(1));
        let mut started = (0..10_000).map(|_| thread::Builder::new().spawn(wait));
        started.find_map(Result::err).unwrap().to_string()
    });
    assert!(
        error.contains("at most 8192 threads at a time; start fewer"),
        "{error}"
    );
}

#[test]
fn every_thread_has_its_own_locals_and_drops_them_at_its_end() {
    struct Counted(AtomicUsize);
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    core_local!(static OWN: Counted = Counted(AtomicUsize::new(0)));
    let add = || OWN.with(|own| own.0.fetch_add(1, Ordering::Relaxed));
    let (in_threads, in_main) = simulate(4, move || {
        let body = move || {
            add();
            thread::yield_now();
            add()
        };
        let threads: Vec<_> = (0..3).map(|_| thread::spawn(body)).collect();
        let of_threads: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
        (of_threads, add())
    });
    assert_eq!((in_threads, in_main), (vec![1, 1, 1], 0));
    assert_eq!(DROPPED.load(Ordering::Relaxed), 4);
    assert_eq!(
        (add(), add()),
        (0, 1),
        "outside a simulation, the host's thread has its own value"
    );
}

#[test]
fn a_cell_is_made_once_however_many_come_at_once() {
    let made = simulate(16, || {
        let cell = Arc::new((OnceLock::new(), Padded::default()));
        let get = |cell: Arc<(OnceLock<usize>, Padded)>| {
            move || {
                *cell.0.get_or_init(|| {
                    thread::sleep(Duration::from_micros(50));
                    cell.1.0.fetch_add(1, Ordering::Relaxed) + 1
                })
            }
        };
        let threads: Vec<_> = (0..16)
            .map(|_| thread::spawn(get(Arc::clone(&cell))))
            .collect();
        threads
            .into_iter()
            .map(|it| it.join().unwrap())
            .sum::<usize>()
    });
    assert_eq!(made, 16);
}

#[test]
fn a_notification_wakes_those_who_wait_and_is_not_kept_for_others() {
    let order = simulate(3, || {
        let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let waiter = |name: &'static str| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let guard = shared.0.lock().unwrap();
                let mut guard = shared.1.wait(guard).unwrap();
                guard.push(name);
            })
        };
        shared.1.notify_all();
        let (first, second) = (waiter("first"), waiter("second"));
        thread::sleep(Duration::from_micros(10));
        shared.1.notify_one();
        thread::sleep(Duration::from_micros(10));
        shared.0.lock().unwrap().push("between");
        shared.1.notify_one();
        first.join().unwrap();
        second.join().unwrap();
        shared.0.lock().unwrap().clone()
    });
    assert_eq!(order, ["first", "between", "second"]);
}

#[test]
fn a_thousand_cores_pass_a_baton_around() {
    let cores = 1024;
    let rounds = simulate(cores, move || {
        let turn = Arc::new(Padded::default());
        let body = |i: usize, turn: Arc<Padded>| {
            move || {
                while turn.0.load(Ordering::Acquire) != i {
                    manycore::spin_loop();
                    thread::sleep(Duration::from_micros(1));
                }
                turn.0.fetch_add(1, Ordering::Release);
            }
        };
        let threads: Vec<_> = (0..cores)
            .map(|i| thread::spawn(body(i, Arc::clone(&turn))))
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        turn.0.load(Ordering::Relaxed)
    });
    assert_eq!(rounds, cores);
}
