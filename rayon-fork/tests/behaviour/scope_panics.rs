use crate::common::{AddsWhenDropped, Count, in_time, panic_text, pool};

#[test]
fn the_panic_observed_first_comes_out() {
    in_time(|| {
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
fn payloads_that_do_not_come_out_are_dropped() {
    static DROPPED: Count = Count::new();
    in_time(|| {
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
