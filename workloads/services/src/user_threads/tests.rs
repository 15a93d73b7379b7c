//! Tests user-level threads and their locks, under schedules with yields at random places.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use workloads::random::{Random, mix};

/// The quantum of tests: so long that threads switch only at the yields of the test.
pub(super) const FOREVER: Duration = Duration::from_hours(1);

pub(super) fn run<B: FnOnce(&Current<'_>) + 'static>(
    quantum: Duration,
    bodies: impl IntoIterator<Item = B>,
) -> Report {
    let mut threads = UserThreads::new(quantum, None);
    for body in bodies {
        threads.spawn(body).unwrap();
    }
    threads.run()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn under_a_lock_no_increment_is_lost_however_threads_wait(
        seed: u64, threads in 1_u64..8, times in 0_u64..30,
    ) {
        let mutex = Rc::new(Mutex::<u64>::default());
        run(Duration::from_micros(2), (0..threads).map(|thread| {
            let mutex = Rc::clone(&mutex);
            move |me: &Current<'_>| {
                let random = RefCell::new(Random::new(mix(seed) ^ thread));
                let maybe_yield = || {
                    if random.borrow_mut().below(3) == 0 {
                        me.yield_now();
                    }
                };
                let add = |value: &mut u64| {
                    let before = *value;
                    maybe_yield();
                    *value = before + 1;
                };
                for _ in 0..times {
                    mutex.lock(me, add);
                    maybe_yield();
                    mutex.spin(me, add);
                    maybe_yield();
                }
            }
        }));
        prop_assert_eq!(Rc::into_inner(mutex).unwrap().into_inner(), 2 * threads * times);
    }
}

#[test]
fn a_mutex_is_handed_to_those_who_wait_in_the_order_in_which_they_came() {
    let mutex = Rc::new(Mutex::<Vec<u64>>::default());
    let report = run(
        FOREVER,
        (0..4).map(|thread| {
            let mutex = Rc::clone(&mutex);
            move |me: &Current<'_>| {
                for _ in 0..3 {
                    mutex.lock(me, |order| {
                        order.push(thread);
                        me.yield_now();
                    });
                }
            }
        }),
    );
    let order = Rc::into_inner(mutex).unwrap().into_inner();
    assert_eq!(order, [0, 1, 2, 3].repeat(3));
    assert_eq!(report.preemptions, 0);
}

#[test]
fn a_safepoint_ends_a_quantum_that_is_used_up_and_no_other() {
    for (quantum, preemptions) in [(Duration::ZERO, 10), (FOREVER, 0)] {
        let body = |me: &Current<'_>| (0..10).for_each(|_| me.safepoint());
        let report = run(quantum, [body]);
        assert_eq!(report.preemptions, preemptions);
        assert_eq!(report.switches, preemptions + 1);
    }
}

#[test]
fn threads_that_wait_for_each_other_are_a_panic_and_their_stacks_are_unwound() {
    let locks = Rc::new((Mutex::<()>::default(), Mutex::<()>::default()));
    let bodies = [false, true].map(|is_reversed| {
        let locks = Rc::clone(&locks);
        move |me: &Current<'_>| {
            let (first, second) = if is_reversed {
                (&locks.1, &locks.0)
            } else {
                (&locks.0, &locks.1)
            };
            first.lock(me, |()| {
                me.yield_now();
                second.lock(me, |()| ());
            });
        }
    });
    let panic = catch_unwind(AssertUnwindSafe(|| run(FOREVER, bodies))).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert_eq!(message, "deadlock: 2 user threads wait for each other");
    assert_eq!(Rc::strong_count(&locks), 1, "the stacks were not unwound");
}

#[test]
fn a_panic_reaches_the_caller_and_the_other_stacks_are_unwound() {
    let witness = Rc::new(());
    let bodies = [false, true].map(|panics| {
        let witness = Rc::clone(&witness);
        move |me: &Current<'_>| {
            let held = Rc::clone(&witness);
            me.yield_now();
            assert!(!panics, "the second thread is broken");
            me.yield_now();
            drop(held);
        }
    });
    let panic = catch_unwind(AssertUnwindSafe(|| run(FOREVER, bodies))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"the second thread is broken"));
    assert_eq!(Rc::strong_count(&witness), 1);
}

#[test]
fn threads_that_threads_spawn_run_to_their_end_and_take_over_their_numbers() {
    let ended = Rc::new(Cell::new(0));
    let count = Rc::clone(&ended);
    let mut threads = UserThreads::new(FOREVER, None);
    threads
        .spawn(move |me| {
            for _ in 0..100 {
                let count = Rc::clone(&count);
                let body = move |me: &Current<'_>| {
                    me.yield_now();
                    count.set(count.get() + 1);
                    assert!(me.number < 10, "numbers are used again");
                };
                me.spawn(body).unwrap();
                me.yield_now();
            }
        })
        .unwrap();
    threads.run();
    assert_eq!(ended.get(), 100);
}

#[test]
fn a_thread_that_waits_for_a_socket_goes_on_although_another_never_waits() {
    use std::net::{TcpListener, TcpStream};

    use nix::poll::PollFlags;

    let listener = Rc::new(TcpListener::bind(crate::net::LOOPBACK).unwrap());
    let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let has_accepted = Rc::new(Cell::new(false));
    let accepted = Rc::clone(&has_accepted);
    let mut threads = UserThreads::new(FOREVER, None);
    threads
        .spawn(move |me| {
            let due = Instant::now() + FOREVER;
            me.wait_for(listener.clone(), PollFlags::POLLIN, due);
            listener.accept().unwrap();
            accepted.set(true);
        })
        .unwrap();
    threads
        .spawn(move |me| {
            while !has_accepted.get() {
                me.yield_now();
            }
        })
        .unwrap();
    threads.run();
}
