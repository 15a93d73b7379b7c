//! `scope` and `scope_fifo`: what they wait for, and what jobs may borrow.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use rayon_core::{Scope, ScopeFifo, ThreadPool, current_thread_index, join, scope, scope_fifo};

use crate::common::{Count, patiently, pool, rounds};

#[test]
fn an_empty_scope_returns_the_value_of_its_closure() {
    patiently("empty scopes", || {
        assert_eq!(scope(|_| 22), 22);
        assert_eq!(scope_fifo(|_| 23), 23);
    });
}

#[test]
fn the_closure_runs_on_a_worker_also_if_the_caller_is_none() {
    patiently("scopes from outside", || {
        assert_eq!(current_thread_index(), None);
        assert!(scope(|_| current_thread_index()).is_some());
        assert!(scope_fifo(|_| current_thread_index()).is_some());
    });
}

#[test]
fn the_scopes_of_a_pool_run_their_closures_and_jobs_on_its_workers() {
    patiently("the scopes of a pool", || {
        let pool = pool(2);
        let is_inside = || assert!(pool.current_thread_index().is_some());
        pool.scope(|scope| {
            is_inside();
            scope.spawn(|_| is_inside());
        });
        pool.scope_fifo(|scope| {
            is_inside();
            scope.spawn_fifo(|_| is_inside());
        });
    });
}

#[test]
fn a_scope_returns_after_all_of_its_jobs() {
    patiently("a scope of many jobs", || {
        let pool = pool(2);
        let count = Count::new();
        let add_one = || count.add(1);
        for _ in 0..rounds(50, 2) {
            count.take();
            pool.scope(|scope| (0..20).for_each(|_| scope.spawn(|_| add_one())));
            assert_eq!(count.get(), 20);
            pool.scope_fifo(|scope| (0..20).for_each(|_| scope.spawn_fifo(|_| add_one())));
            assert_eq!(count.get(), 40);
        }
    });
}

#[test]
fn idle_workers_run_the_jobs_behind_a_long_one() {
    patiently("jobs behind a long one", || {
        let pool = pool(2);
        // The other worker is asleep, or runs a job of its own while the jobs are spawned.
        for is_busy in [false, true] {
            let (started, count) = (&Count::new(), &Count::new());
            pool.scope(|scope| {
                let place = current_thread_index();
                scope.spawn_broadcast(move |_, context| {
                    if is_busy && Some(context.index()) != place {
                        started.add(1);
                        thread::sleep(Duration::from_millis(100));
                    }
                });
                while is_busy && started.get() == 0 {
                    thread::yield_now();
                }
                (0..100).for_each(|_| scope.spawn(|_| count.add(1)));
                // A long job that neither pushes nor pops, and ends when the others have.
                while count.get() < 100 {
                    thread::yield_now();
                }
            });
        }
    });
}

#[test]
fn a_scope_returns_after_the_jobs_of_its_jobs() {
    fn tree<'s>(scope: &Scope<'s>, depth: usize, count: &'s Count) {
        count.add(1);
        if depth > 0 {
            scope.spawn(move |scope| tree(scope, depth - 1, count));
            scope.spawn(move |scope| tree(scope, depth - 1, count));
        }
    }
    fn tree_fifo<'s>(scope: &ScopeFifo<'s>, depth: usize, count: &'s Count) {
        count.add(1);
        if depth > 0 {
            scope.spawn_fifo(move |scope| tree_fifo(scope, depth - 1, count));
            scope.spawn_fifo(move |scope| tree_fifo(scope, depth - 1, count));
        }
    }
    patiently("trees of scope jobs", || {
        let depth = rounds(9, 3);
        let nodes = (2 << depth) - 1;
        let count = Count::new();
        scope(|scope| tree(scope, depth, &count));
        assert_eq!(count.get(), nodes);
        scope_fifo(|scope| tree_fifo(scope, depth, &count));
        assert_eq!(count.get(), 2 * nodes);
    });
}

#[test]
fn jobs_update_what_they_borrow_mutably() {
    struct Node {
        value: usize,
        children: Vec<Node>,
    }
    fn grow(depth: usize) -> Node {
        let children = (0..depth).map(|_| grow(depth - 1)).collect();
        Node {
            value: depth,
            children,
        }
    }
    fn double<'t>(node: &'t mut Node, scope: &Scope<'t>) {
        let Node { value, children } = node;
        scope.spawn(move |scope| {
            *value *= 2;
            for child in children {
                double(child, scope);
            }
        });
    }
    fn sum(node: &Node) -> usize {
        node.value + node.children.iter().map(sum).sum::<usize>()
    }
    patiently("a tree update", || {
        let mut tree = grow(5);
        let before = sum(&tree);
        scope(|scope| double(&mut tree, scope));
        assert_eq!(sum(&tree), 2 * before);
    });
}

/// How far apart on the stack the jobs of a chain run, each spawned by the one before, in bytes.
fn stack_of_chain(pool: &ThreadPool, links: usize) -> usize {
    fn link<'s>(scope: &Scope<'s>, links: usize, addresses: &'s Mutex<Vec<usize>>) {
        let here = 0_u8;
        addresses
            .lock()
            .unwrap()
            .push(std::ptr::from_ref(&here).addr());
        if links > 1 {
            scope.spawn(move |scope| link(scope, links - 1, addresses));
        }
    }
    let addresses = Mutex::new(Vec::new());
    pool.scope(|scope| {
        let addresses = &addresses;
        scope.spawn(move |scope| link(scope, links, addresses));
    });
    let addresses = addresses.into_inner().unwrap();
    assert_eq!(addresses.len(), links);
    addresses.iter().max().unwrap() - addresses.iter().min().unwrap()
}

#[test]
fn a_long_chain_of_jobs_uses_no_more_stack_than_a_short_one() {
    patiently("chains of scope jobs", || {
        let pool = pool(1);
        // Some unevenness may come from the first job; growth would come with every link.
        assert!(stack_of_chain(&pool, 500) <= stack_of_chain(&pool, 5) + 1024);
    });
}

#[test]
fn a_static_scope_may_borrow_locals_in_its_closure() {
    patiently("a 'static scope", || {
        static COUNT: Count = Count::new();
        let numbers = [1, 2, 3];
        let mut borrowed = numbers.iter();
        scope::<'static>(|scope| {
            for &number in borrowed.by_ref() {
                scope.spawn(move |_: &Scope<'static>| COUNT.add(number));
            }
        });
        assert_eq!(COUNT.take(), 6);
    });
}

#[test]
fn a_scope_may_outlive_what_its_closure_borrows() {
    /// Spawns into a scope that knows nothing of the slice.
    fn add<'s>(numbers: &[usize], sum: &'s Count) {
        scope(|scope: &Scope<'s>| {
            for &number in numbers {
                scope.spawn(move |_| sum.add(number));
            }
        });
        scope_fifo(|scope: &ScopeFifo<'s>| {
            for &number in numbers {
                scope.spawn_fifo(move |_| sum.add(number));
            }
        });
    }
    patiently("scopes longer than a borrow", || {
        let sum = Count::new();
        add(&[1, 2, 3, 4], &sum);
        assert_eq!(sum.get(), 20);
    });
}

#[test]
fn a_scope_takes_jobs_from_threads_that_are_no_workers() {
    patiently("a scope that a foreign thread spawns into", || {
        let pool = pool(1);
        let count = Count::new();
        let job = || {
            assert_eq!(pool.current_thread_index(), Some(0));
            count.add(1);
        };
        pool.scope(|scope| {
            thread::scope(|threads| {
                threads.spawn(|| scope.spawn(|_| job()));
            });
        });
        pool.scope_fifo(|scope| {
            thread::scope(|threads| {
                threads.spawn(|| scope.spawn_fifo(|_| job()));
            });
        });
        assert_eq!(count.get(), 2);
    });
}

#[test]
fn nested_scopes_of_many_pools_take_jobs_from_the_innermost_closure() {
    fn nest<'s>(pools: &'s [ThreadPool], outer: Vec<&Scope<'s>>, count: &'s Count) {
        if let Some((first, rest)) = pools.split_first() {
            first.scope(move |scope| {
                let mut scopes: Vec<&Scope<'s>> = outer;
                scopes.push(scope);
                nest(rest, scopes, count);
            });
        } else {
            for (index, scope) in outer.into_iter().enumerate() {
                scope.spawn(move |_| count.add(1 << index));
            }
        }
    }
    patiently("ten scopes in ten pools", || {
        let pools: Vec<_> = (0..10).map(|_| pool(1)).collect();
        let count = Count::new();
        nest(&pools, Vec::new(), &count);
        assert_eq!(count.get(), (1 << pools.len()) - 1);
    });
}

#[test]
fn scopes_and_joins_nest_in_each_other() {
    patiently("scopes in joins in scopes", || {
        let pool = pool(3);
        let count = Count::new();
        let add_one = |_: &Scope<'_>| count.add(1);
        let two_jobs = || {
            scope(|scope| {
                scope.spawn(add_one);
                scope.spawn(add_one);
            });
        };
        pool.scope(|scope| {
            for _ in 0..rounds(200, 5) {
                scope.spawn(|_| {
                    join(two_jobs, two_jobs);
                });
            }
        });
        assert_eq!(count.get(), rounds(200, 5) * 4);
    });
}
