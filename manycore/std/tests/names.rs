//! The standard library's names, in a rewritten crate, do on a simulated machine what they do in
//! the standard library.

use std::time::Duration;

use cores_std::cell::UnsafeCell;
use cores_std::fs;
use cores_std::os::unix::fs::MetadataExt as _;
use cores_std::rustix::thread::{MembarrierCommand, membarrier};
use cores_std::sync::atomic::{AtomicUsize, Ordering};
use cores_std::sync::{Arc, Condvar, Mutex, Once, OnceLock, RwLock, mpsc};
use cores_std::thread;
use cores_std::time::Instant;
use manycore::{FrequencyMode, Machine, run};

/// Returns the result of `main` on a machine of four cores, on which only `sleep` and blocking take
/// time.
fn on_four<R: 'static>(main: impl FnOnce() -> R + 'static) -> R {
    run(&Machine::free(4), FrequencyMode::Fixed, 1, main)
        .unwrap()
        .result
}

#[test]
fn many_read_a_lock_at_once_and_who_writes_is_alone() {
    let most = on_four(|| {
        let lock = Arc::new((RwLock::new(0), AtomicUsize::new(0), AtomicUsize::new(0)));
        let threads = [false, false, true].map(|is_writer| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                let (value, inside, most) = &*lock;
                if is_writer {
                    thread::sleep(Duration::from_micros(1));
                    let mut value = value.write().unwrap();
                    *value = inside.load(Ordering::Relaxed) + 1;
                } else {
                    let _guard = value.read().unwrap();
                    most.fetch_max(
                        inside.fetch_add(1, Ordering::Relaxed) + 1,
                        Ordering::Relaxed,
                    );
                    thread::sleep(Duration::from_micros(5));
                    inside.fetch_sub(1, Ordering::Relaxed);
                }
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let written = *lock.0.read().unwrap();
        (lock.2.load(Ordering::Relaxed), written)
    });
    assert_eq!(most, (2, 1), "two read at once, and nobody while one wrote");
}

#[test]
fn a_parked_thread_goes_on_by_leave_or_when_its_time_is_up() {
    let (slept, is_early) = on_four(|| {
        let start = Instant::now();
        thread::park_timeout(Duration::from_micros(7));
        let slept = start.elapsed();
        thread::current().unpark();
        thread::park();
        let other = thread::spawn(|| {
            let start = Instant::now();
            thread::park();
            start.elapsed()
        });
        thread::sleep(Duration::from_micros(3));
        other.thread().unpark();
        (slept, other.join().unwrap() >= Duration::from_micros(2))
    });
    assert!(slept >= Duration::from_micros(7) && is_early, "{slept:?}");
}

#[test]
fn a_wait_for_a_condition_ends_when_its_time_is_up_and_says_so() {
    let (is_late, is_woken) = on_four(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let guard = pair.0.lock().unwrap();
        let (guard, first) = pair
            .1
            .wait_timeout(guard, Duration::from_micros(4))
            .unwrap();
        let of_other = Arc::clone(&pair);
        let other = thread::spawn(move || {
            *of_other.0.lock().unwrap() = true;
            of_other.1.notify_one();
        });
        let (guard, second) = pair.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
        let is_woken = *guard && !second.timed_out();
        drop(guard);
        other.join().unwrap();
        (first.timed_out(), is_woken)
    });
    assert!(is_late && is_woken);
}

#[test]
fn a_wait_for_a_message_ends_when_its_time_is_up() {
    let (late, there, over) = on_four(|| {
        let (sender, receiver) = mpsc::channel();
        let late = receiver.recv_timeout(Duration::from_micros(4));
        let other = thread::spawn(move || sender.send(1).unwrap());
        let there = receiver.recv_timeout(Duration::from_secs(1));
        other.join().unwrap();
        (late, there, receiver.recv_timeout(Duration::from_secs(1)))
    });
    assert_eq!(late, Err(mpsc::RecvTimeoutError::Timeout));
    assert_eq!(
        (there, over),
        (Ok(1), Err(mpsc::RecvTimeoutError::Disconnected))
    );
}

#[test]
fn a_wait_until_a_condition_holds_ends_when_its_time_is_up() {
    let (took, is_late) = on_four(|| {
        let (lock, nobody) = (Mutex::new(()), Condvar::new());
        let start = Instant::now();
        let time = Duration::from_micros(5);
        let (_guard, told) = nobody
            .wait_timeout_while(lock.lock().unwrap(), time, |()| true)
            .unwrap();
        (start.elapsed(), told.timed_out())
    });
    assert!(is_late && took >= Duration::from_micros(5), "{took:?}");
}

#[test]
fn a_barrier_of_all_cores_costs_what_the_machine_says_and_threads_are_folders() {
    let mut machine = Machine::free(2);
    machine.prices.heavy_fence = 7_000_000;
    let body = || {
        let links = || fs::metadata("/proc/self/task").unwrap().nlink();
        let alone = links();
        let (end, ends) = mpsc::channel::<()>();
        let other = thread::spawn(move || ends.recv().is_err());
        let beside = links();
        drop(end);
        other.join().unwrap();
        let start = Instant::now();
        membarrier(MembarrierCommand::PrivateExpedited).unwrap();
        (alone, beside, start.elapsed())
    };
    let (alone, beside, took) = run(&machine, FrequencyMode::Fixed, 1, body).unwrap().result;
    assert_eq!((alone, beside), (3, 4));
    assert!(took >= Duration::from_micros(7), "{took:?}");
    assert!(fs::metadata("Cargo.toml").is_err());
}

#[test]
fn a_static_is_made_once_in_each_run() {
    static STEP: Once = Once::new();
    static VALUE: OnceLock<usize> = OnceLock::new();
    let made = || {
        on_four(|| {
            let made = Arc::new(AtomicUsize::new(0));
            let threads: Vec<_> = (0..3)
                .map(|i| {
                    let made = Arc::clone(&made);
                    thread::spawn(move || {
                        STEP.call_once(|| {
                            made.fetch_add(1, Ordering::Relaxed);
                        });
                        *VALUE.get_or_init(|| i)
                    })
                })
                .collect();
            let seen: Vec<_> = threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect();
            assert!(seen.iter().all(|it| *it == seen[0]), "{seen:?}");
            made.load(Ordering::Relaxed)
        })
    };
    assert_eq!((made(), made()), (1, 1));
}

#[test]
fn shared_values_are_dropped_with_the_last_owner_and_weak_ones_then_find_nothing() {
    let (before, after) = on_four(|| {
        let one = Arc::new(5);
        let weak = Arc::downgrade(&one);
        let of_other = Arc::clone(&one);
        thread::spawn(move || drop(of_other)).join().unwrap();
        let before = (Arc::strong_count(&one), weak.upgrade().map(|it| *it));
        drop(one);
        (before, weak.upgrade())
    });
    assert_eq!((before, after), ((1, Some(5)), None));
}

#[test]
fn a_value_of_a_thread_is_its_own_and_dropped_at_its_end() {
    struct Told(Option<Arc<AtomicUsize>>);
    impl Drop for Told {
        fn drop(&mut self) {
            if let Some(drops) = &self.0 {
                drops.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    cores_std::thread_local! {
        static OWN: std::cell::RefCell<Told> = const { std::cell::RefCell::new(Told(None)) };
    }
    let drops = on_four(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let of_other = Arc::clone(&drops);
        let other = thread::spawn(move || OWN.with(|own| own.borrow_mut().0 = Some(of_other)));
        other.join().unwrap();
        assert!(
            OWN.with(|own| own.borrow().0.is_none()),
            "the other thread's"
        );
        drops.load(Ordering::Relaxed)
    });
    assert_eq!(drops, 1);
}

#[test]
fn a_visit_to_a_cell_that_another_core_wrote_pays_for_the_transfer() {
    let mut machine = Machine::free(2);
    machine.prices.set_transfers(50_000);
    let visits = |is_other: bool| {
        let body = move || {
            let cell = Box::leak(Box::new(UnsafeCell::new([0u64; 8])));
            let address = std::ptr::from_ref(cell) as usize;
            let visit = move || {
                // SAFETY: the cell is never freed, and nobody makes a reference to what is in it.
                let _place = unsafe { &*(address as *const UnsafeCell<[u64; 8]>) }.get();
            };
            visit();
            let start = Instant::now();
            if is_other {
                thread::spawn(visit).join().unwrap();
            } else {
                visit();
            }
            start.elapsed()
        };
        run(&machine, FrequencyMode::Fixed, 1, body).unwrap().result
    };
    assert!(visits(true) >= visits(false) + Duration::from_nanos(50));
}
