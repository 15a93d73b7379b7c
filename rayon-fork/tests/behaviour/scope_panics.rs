//! Panics in scopes: one comes out, and nothing is left out for it.

use rayon_core::{scope, scope_fifo};

use crate::common::{AddsWhenDropped, Count, panic_text, patiently, pool, rounds};

#[test]
fn a_panic_of_the_closure_comes_out() {
    patiently("scopes whose closure panics", || {
        assert_eq!(panic_text(|| scope(|_| panic!("closure"))), "closure");
        assert_eq!(panic_text(|| scope_fifo(|_| panic!("closure"))), "closure");
    });
}

#[test]
fn a_panic_of_a_job_comes_out() {
    patiently("scopes whose job panics", || {
        assert_eq!(
            panic_text(|| scope(|scope| scope.spawn(|_| panic!("job")))),
            "job"
        );
        let text = panic_text(|| scope_fifo(|scope| scope.spawn_fifo(|_| panic!("job"))));
        assert_eq!(text, "job");
    });
}

#[test]
fn a_panic_of_a_job_of_a_job_comes_out() {
    patiently("a scope whose nested job panics", || {
        let text = panic_text(|| {
            scope(|scope| {
                scope.spawn(|scope| scope.spawn(|scope| scope.spawn(|_| panic!("deep"))));
            });
        });
        assert_eq!(text, "deep");
    });
}

#[test]
fn a_panic_in_a_nested_scope_comes_out_of_the_outer_one() {
    patiently("a scope in a job that panics", || {
        let text = panic_text(|| {
            scope(|outer| outer.spawn(|_| scope(|inner| inner.spawn(|_| panic!("inner")))));
        });
        assert_eq!(text, "inner");
    });
}

#[test]
fn a_job_runs_although_the_closure_panics_after_it() {
    patiently("a scope whose closure panics", || {
        let count = Count::new();
        panic_text(|| {
            scope(|scope| {
                scope.spawn(|_| count.add(1));
                panic!("closure");
            });
        });
        assert_eq!(count.get(), 1);
    });
}

#[test]
fn a_job_runs_although_an_earlier_job_panics() {
    patiently("a scope whose first job panics", || {
        for workers in 1..=2 {
            let count = Count::new();
            panic_text(|| {
                pool(workers).scope_fifo(|scope| {
                    scope.spawn_fifo(|_| panic!("job"));
                    scope.spawn_fifo(|_| count.add(1));
                });
            });
            assert_eq!(count.get(), 1, "{workers} workers");
        }
    });
}

#[test]
fn a_job_of_a_job_runs_although_its_parent_panics() {
    patiently("a scope whose job spawns and panics", || {
        let count = Count::new();
        panic_text(|| {
            scope(|scope| {
                scope.spawn(|scope| {
                    scope.spawn(|_| count.add(1));
                    panic!("parent");
                });
            });
        });
        assert_eq!(count.get(), 1);
    });
}

#[test]
fn a_nested_scope_runs_its_jobs_although_its_closure_panics() {
    patiently("a nested scope that panics", || {
        let count = Count::new();
        panic_text(|| {
            scope(|outer| {
                outer.spawn(|_| {
                    scope(|inner| {
                        inner.spawn(|_| count.add(1));
                        panic!("inner");
                    });
                });
            });
        });
        assert_eq!(count.get(), 1);
    });
}

#[test]
fn of_many_panics_one_comes_out_and_all_jobs_run() {
    patiently("a scope of panicking jobs", || {
        let pool = pool(3);
        for _ in 0..rounds(20, 1) {
            let count = Count::new();
            let text = panic_text(|| {
                pool.scope(|scope| {
                    for _ in 0..10 {
                        scope.spawn(|_| {
                            count.add(1);
                            panic!("one of ten");
                        });
                    }
                });
            });
            assert_eq!((text.as_str(), count.get()), ("one of ten", 10));
        }
    });
}

#[test]
fn the_panic_observed_first_comes_out() {
    patiently("a scope of panics in a known order", || {
        // The only worker runs the closure first, then the jobs last in, first out.
        let text = panic_text(|| {
            pool(1).scope(|scope| {
                scope.spawn(|_| panic!("second to run"));
                scope.spawn(|_| panic!("first to run"));
            });
        });
        assert_eq!(text, "first to run");
        let text = panic_text(|| {
            pool(1).scope(|scope| {
                scope.spawn(|_| panic!("job"));
                panic!("closure");
            });
        });
        assert_eq!(text, "closure");
    });
}

#[test]
fn the_value_of_the_closure_is_dropped_once_if_a_job_panics() {
    patiently("a scope whose value is lost", || {
        let dropped = Count::new();
        panic_text(|| {
            pool(1).scope(|scope| {
                scope.spawn(|_| panic!("job"));
                AddsWhenDropped(&dropped)
            });
        });
        assert_eq!(dropped.get(), 1);
    });
}

#[test]
fn the_value_of_the_closure_is_dropped_while_the_panic_of_a_job_unwinds() {
    struct SaysHow<'c>(&'c Count);
    impl Drop for SaysHow<'_> {
        fn drop(&mut self) {
            self.0.add(usize::from(std::thread::panicking()));
        }
    }
    patiently("a scope whose value is lost", || {
        let dropped = Count::new();
        panic_text(|| {
            pool(1).scope(|scope| {
                scope.spawn(|_| panic!("job"));
                SaysHow(&dropped)
            });
        });
        assert_eq!(dropped.get(), 1);
    });
}

#[test]
fn payloads_that_do_not_come_out_are_dropped() {
    static DROPPED: Count = Count::new();
    patiently("a scope of many payloads", || {
        let outcome = std::panic::catch_unwind(|| {
            pool(2).scope(|scope| {
                (0..5).for_each(|_| {
                    scope.spawn(|_| std::panic::panic_any(AddsWhenDropped(&DROPPED)));
                });
            });
        });
        assert!(outcome.is_err_and(|payload| payload.is::<AddsWhenDropped<'static>>()));
        assert_eq!(DROPPED.take(), 5);
    });
}
