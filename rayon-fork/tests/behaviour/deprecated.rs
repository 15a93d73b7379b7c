#![expect(deprecated, reason = "the deprecated items are what is tested")]

use std::thread;

use rayon_core::Configuration;

use crate::common::{Tally, in_time};

#[test]
fn every_setter_of_a_configuration_reaches_the_pool() {
    in_time(|| {
        let (starts, exits, panics) = (Tally::new(), Tally::new(), Tally::new());
        let (on_start, on_exit, on_panic) = (starts.clone(), exits.clone(), panics.clone());
        let pool = Configuration::new()
            .num_threads(2)
            .thread_name(|index| format!("old {index}"))
            .stack_size(1 << 20)
            .breadth_first()
            .start_handler(move |_| on_start.add_one())
            .exit_handler(move |_| on_exit.add_one())
            .panic_handler(move |_| on_panic.add_one())
            .build()
            .unwrap();
        starts.wait_for(2);
        let names = pool.broadcast(|_| thread::current().name().map(str::to_owned));
        assert_eq!(names, [Some("old 0".to_owned()), Some("old 1".to_owned())]);
        pool.spawn(|| panic!("job"));
        panics.wait_for(1);
        drop(pool);
        exits.wait_for(2);
    });
}
