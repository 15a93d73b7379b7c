use std::thread;

use crate::common::{Count, UNTIL_ASLEEP, in_time, pool};

struct SlowEnd<'a>(&'a Count);

impl SlowEnd<'_> {
    fn is_awaited(&self) -> bool {
        self.0.get() == 0
    }
}

impl Drop for SlowEnd<'_> {
    fn drop(&mut self) {
        thread::sleep(UNTIL_ASLEEP);
        self.0.add(1);
    }
}

#[test]
fn what_a_broadcast_captured_has_ended_when_the_scope_returns() {
    in_time(|| {
        let pool = pool(2);
        let ends = Count::new();
        let end = SlowEnd(&ends);
        pool.in_place_scope(|scope| {
            scope.spawn_broadcast(move |_, _| assert!(end.is_awaited()));
        });
        assert_eq!(ends.get(), 1);
    });
}
