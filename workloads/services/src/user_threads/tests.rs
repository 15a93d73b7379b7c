//! User-level threads, locks and condition variables keep their promises with yields at random
//! places. Each seed gives another schedule.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use workloads::random::Random;

/// A quantum so long that only the yields of a test switch threads.
pub(super) const FOREVER: Duration = Duration::from_hours(1);

/// Runs these bodies, one thread each.
pub(super) fn run<B: FnOnce(&Current<'_>) + 'static>(
    quantum: Duration,
    bodies: impl IntoIterator<Item = B>,
) -> Result<Report, Deadlock> {
    let mut threads = UserThreads::new(quantum);
    for body in bodies {
        threads.spawn(body).unwrap();
    }
    threads.run()
}

/// Yields at random, as decided by its seed.
struct Whim(RefCell<Random>);

impl Whim {
    fn new(seed: u64, thread: u64) -> Self {
        Self(RefCell::new(Random::new(
            workloads::random::mix(seed) ^ thread,
        )))
    }

    fn maybe_yield(&self, me: &Current<'_>) {
        let is_in_the_mood = self.0.borrow_mut().below(3) == 0;
        if is_in_the_mood {
            me.yield_now();
        }
    }
}

/// Adds 1 many times, with a yield between reading and writing, under the lock that `with` takes.
fn count_up(
    seed: u64,
    thread: u64,
    times: u64,
    me: &Current<'_>,
    with: impl Fn(&dyn Fn(&mut u64)),
) {
    let whim = Whim::new(seed, thread);
    for _ in 0..times {
        with(&|value| {
            let before = *value;
            whim.maybe_yield(me);
            *value = before + 1;
        });
        whim.maybe_yield(me);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn under_a_lock_no_increment_is_lost_however_threads_wait(seed: u64, threads in 1_u64..8, times in 0_u64..30) {
        let mutex = Rc::new(Mutex::new(0));
        run(Duration::from_micros(2), (0..threads).map(|thread| {
            let mutex = Rc::clone(&mutex);
            move |me: &Current<'_>| {
                count_up(seed, thread, times, me, |add| add(&mut mutex.lock(me)));
                count_up(seed, thread, times, me, |add| add(&mut mutex.spin(me)));
            }
        })).unwrap();
        prop_assert_eq!(Rc::into_inner(mutex).unwrap().into_inner(), 2 * threads * times);
    }

    #[test]
    fn a_bounded_buffer_passes_every_item_on_once_and_in_order_and_never_overflows(
        seed: u64,
        places in 1_usize..5,
        producers in 1_u64..5,
        consumers in 1_u64..5,
        items in 0_u64..20,
    ) {
        let buffer = Rc::new(Buffer::new(places));
        let producing = Rc::new(Cell::new(producers));
        let taken = Rc::new(RefCell::new(Vec::new()));
        let mut threads = UserThreads::new(FOREVER);
        for producer in 0..producers {
            let (buffer, producing) = (Rc::clone(&buffer), Rc::clone(&producing));
            threads.spawn(move |me| {
                let whim = Whim::new(seed, producer);
                for item in 0..items {
                    buffer.put(me, &whim, Some((producer, item)));
                }
                producing.set(producing.get() - 1);
                if producing.get() == 0 {
                    (0..consumers).for_each(|_| buffer.put(me, &whim, None));
                }
            }).unwrap();
        }
        for consumer in 0..consumers {
            let (buffer, taken) = (Rc::clone(&buffer), Rc::clone(&taken));
            threads.spawn(move |me| {
                let whim = Whim::new(seed, 1_000 + consumer);
                while let Some(item) = buffer.take(me, &whim) {
                    taken.borrow_mut().push((consumer, item));
                }
            }).unwrap();
        }
        threads.run().unwrap();
        let taken = taken.borrow();
        for producer in 0..producers {
            let of_producer = |consumer| taken.iter().filter(move |(by, (from, _))| {
                *from == producer && *by == consumer
            }).map(|(_, (_, item))| *item);
            let mut all: Vec<u64> = (0..consumers).flat_map(of_producer).collect();
            for consumer in 0..consumers {
                prop_assert!(of_producer(consumer).is_sorted(), "{taken:?}");
            }
            all.sort_unstable();
            prop_assert_eq!(all, (0..items).collect::<Vec<_>>());
        }
    }
}

/// A bounded buffer of items, with two condition variables: not full, and not empty. `None` ends a
/// consumer.
struct Buffer {
    places: usize,
    items: Mutex<VecDeque<Option<(u64, u64)>>>,
    has_room: Condvar,
    has_items: Condvar,
}

impl Buffer {
    fn new(places: usize) -> Self {
        Self {
            places,
            items: Mutex::default(),
            has_room: Condvar::new(),
            has_items: Condvar::new(),
        }
    }

    fn put(&self, me: &Current<'_>, whim: &Whim, item: Option<(u64, u64)>) {
        let items = self.items.lock(me);
        whim.maybe_yield(me);
        let mut items = self
            .has_room
            .wait_while(items, |items| items.len() == self.places);
        whim.maybe_yield(me);
        items.push_back(item);
        assert!(items.len() <= self.places);
        self.has_items.notify_one(me);
    }

    fn take(&self, me: &Current<'_>, whim: &Whim) -> Option<(u64, u64)> {
        let items = self.items.lock(me);
        whim.maybe_yield(me);
        let mut items = self.has_items.wait_while(items, |items| items.is_empty());
        whim.maybe_yield(me);
        let item = items.pop_front().expect("it was waited for");
        self.has_room.notify_one(me);
        item
    }
}

#[test]
fn a_mutex_is_handed_to_those_who_wait_in_the_order_in_which_they_came() {
    let mutex = Rc::new(Mutex::new(Vec::new()));
    run(
        FOREVER,
        (0..4).map(|thread| {
            let mutex = Rc::clone(&mutex);
            move |me: &Current<'_>| {
                for _ in 0..3 {
                    let mut order = mutex.lock(me);
                    order.push(thread);
                    me.yield_now();
                }
            }
        }),
    )
    .unwrap();
    assert_eq!(
        Rc::into_inner(mutex).unwrap().into_inner(),
        [0, 1, 2, 3].repeat(3)
    );
}

#[test]
fn threads_that_yield_take_turns() {
    let order = Rc::new(RefCell::new(Vec::new()));
    let report = run(
        FOREVER,
        (0..3).map(|thread| {
            let order = Rc::clone(&order);
            move |me: &Current<'_>| {
                for _ in 0..2 {
                    order.borrow_mut().push(thread);
                    me.yield_now();
                }
            }
        }),
    )
    .unwrap();
    assert_eq!(*order.borrow(), [0, 1, 2, 0, 1, 2]);
    assert_eq!(
        report,
        Report {
            switches: 9,
            preemptions: 0
        }
    );
}

#[test]
fn a_safepoint_ends_a_quantum_that_is_used_up_and_no_other() {
    for (quantum, preemptions) in [(Duration::ZERO, 10), (FOREVER, 0)] {
        let report = run(
            quantum,
            [|me: &Current<'_>| (0..10).for_each(|_| me.safepoint())],
        );
        assert_eq!(report.unwrap().preemptions, preemptions);
    }
}

#[test]
fn threads_that_wait_for_each_other_are_an_error_that_names_them() {
    type Locks = (Mutex<()>, Mutex<()>);
    let take = |locks: &Rc<Locks>, is_reversed: bool| {
        let locks = Rc::clone(locks);
        move |me: &Current<'_>| {
            let (first, second) = if is_reversed {
                (&locks.1, &locks.0)
            } else {
                (&locks.0, &locks.1)
            };
            let _first = first.lock(me);
            me.yield_now();
            let _second = second.lock(me);
        }
    };
    let locks = Rc::new(Locks::default());
    let outcome = run(FOREVER, [take(&locks, false), take(&locks, true)]);
    assert_eq!(
        outcome,
        Err(Deadlock {
            blocked: vec![0, 1]
        })
    );
    assert_eq!(Rc::strong_count(&locks), 1, "the stacks were not unwound");
    let locks = Rc::new(Locks::default());
    assert!(run(FOREVER, [take(&locks, false), take(&locks, false)]).is_ok());
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
fn threads_that_threads_spawn_run_to_their_end_however_many_and_take_over_their_numbers() {
    let mut threads = UserThreads::new(FOREVER);
    let ended = Rc::new(Cell::new(0));
    let count = Rc::clone(&ended);
    threads
        .spawn(move |me| {
            for _ in 0..100 {
                let count = Rc::clone(&count);
                me.spawn(move |me| {
                    me.yield_now();
                    count.set(count.get() + 1);
                })
                .unwrap();
                me.yield_now();
            }
        })
        .unwrap();
    threads.run().unwrap();
    assert_eq!(ended.get(), 100);
    assert!(threads.vacant.capacity() < 100, "numbers are used again");
}

#[test]
fn a_thread_that_waits_for_a_socket_goes_on_although_another_never_waits() {
    use std::net::{TcpListener, TcpStream};

    use nix::poll::PollFlags;

    let listener = Rc::new(TcpListener::bind(crate::net::LOOPBACK).unwrap());
    let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let has_accepted = Rc::new(Cell::new(false));
    let accepted = Rc::clone(&has_accepted);
    let mut threads = UserThreads::new(FOREVER);
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
    threads.run().unwrap();
}
