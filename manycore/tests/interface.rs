//! Replacements of the standard library's types behave like the originals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use manycore::atomic::{AtomicUsize, Ordering};
use manycore::channel::{RecvError, RecvTimeoutError, SendError, TryRecvError, channel};
use manycore::lock::OnceLock;
use manycore::{FrequencyMode, Machine, run, thread};

#[global_allocator]
static HEAP: manycore::Heap = manycore::Heap;

fn simulate<R: 'static>(cores: usize, main: impl FnOnce() -> R + 'static) -> R {
    let mut machine = Machine::free(cores);
    machine.costs.set_transfers(20_000);
    machine.costs.hit = 1_000;
    run(&machine, FrequencyMode::Fixed, 1, main).unwrap().result
}

#[test]
fn threads_of_a_scope_borrow_and_give_back_what_they_return_or_panic_with() {
    struct Counts<'c>(&'c AtomicUsize);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            thread::sleep(Duration::from_micros(5));
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (sum, panic, dropped) = simulate(3, || {
        let numbers = [1, 2, 3];
        let dropped = AtomicUsize::new(0);
        let (sum, panic) = thread::scope(|threads| {
            let halves =
                [0..1, 1..3].map(|part| threads.spawn(|| numbers[part].iter().sum::<i32>()));
            let panics = threads.spawn(|| panic!("on purpose"));
            // No thread joins this thread, but its result is dropped before the scope returns.
            drop(threads.spawn(|| Counts(&dropped)));
            let sum: i32 = halves.into_iter().map(|half| half.join().unwrap()).sum();
            (sum, *panics.join().unwrap_err().downcast::<&str>().unwrap())
        });
        (sum, panic, dropped.into_inner())
    });
    assert_eq!((sum, panic, dropped), (6, "on purpose", 1));
}

#[test]
fn messages_arrive_in_order_until_an_end_of_the_channel_is_gone_or_the_time_is_up() {
    simulate(2, || {
        let (sender, receiver) = channel();
        let soon = Duration::from_micros(4);
        assert_eq!(receiver.recv_timeout(soon), Err(RecvTimeoutError::Timeout));
        let again = sender.clone();
        thread::spawn(move || (0..3).for_each(|i| sender.send(i).unwrap()));
        thread::spawn(move || {
            thread::sleep(Duration::from_micros(50));
            again.send(3).unwrap();
        });
        assert_eq!(receiver.recv(), Ok(0));
        thread::sleep(Duration::from_micros(10));
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [3]);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(receiver.recv(), Err(RecvError));

        let (sender, receiver) = channel();
        let message = Arc::new(());
        sender.send(Arc::clone(&message)).unwrap();
        drop(receiver);
        assert_eq!(Arc::strong_count(&message), 1);
        assert!(matches!(sender.send(message), Err(SendError(_))));
    });
}

static CELL: OnceLock<usize> = OnceLock::new();

#[test]
fn a_cell_that_is_a_static_is_empty_in_every_run_also_of_several_at_once() {
    let visit = |value: usize| {
        simulate(1, move || {
            assert_eq!(CELL.get(), None);
            for _ in 0..100 {
                assert_eq!(*CELL.get_or_init(|| value), value);
                thread::sleep(Duration::from_micros(1));
            }
            CELL.get().copied()
        })
    };
    std::thread::scope(|threads| {
        for value in 0..4 {
            threads.spawn(move || (0..5).for_each(|_| assert_eq!(visit(value), Some(value))));
        }
    });
    assert_eq!(CELL.get(), None, "no simulation runs");
}

#[test]
fn cores_that_panic_at_the_same_time_do_not_end_the_process() {
    let are_own = simulate(8, || {
        let body = |i: usize| {
            move || {
                let is_own = |round| {
                    // The panic hook formats this text, which allocates.
                    let body = || panic!("thread {i} round {round} {}", "long ".repeat(20));
                    let panic = catch_unwind(AssertUnwindSafe(|| -> () { body() })).unwrap_err();
                    let text = panic.downcast::<String>().unwrap();
                    text.starts_with(&format!("thread {i} "))
                };
                (0..20).all(is_own)
            }
        };
        let threads: Vec<_> = (0..8).map(|i| thread::spawn(body(i))).collect();
        threads.into_iter().all(|thread| thread.join().unwrap())
    });
    assert!(are_own);
}
