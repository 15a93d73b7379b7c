use std::thread::available_parallelism;

use rayon_core::{ThreadPoolBuilder, current_num_threads};

use crate::child::alone;

const NEW: &str = "RAYON_NUM_THREADS";
const OLD: &str = "RAYON_RS_NUM_CPUS";

fn size(requested: usize) -> usize {
    let builder = ThreadPoolBuilder::new().num_threads(requested);
    builder.build().unwrap().current_num_threads()
}

#[test]
fn without_variables_the_machine_decides() {
    alone(&[], || {
        let of_machine = available_parallelism().map_or(1, usize::from);
        assert_eq!((size(0), current_num_threads()), (of_machine, of_machine));
    });
}

#[test]
fn a_variable_decides_for_every_pool_unless_its_builder_does() {
    for variable in [NEW, OLD] {
        alone(&[(variable, "5")], || {
            assert_eq!((size(0), current_num_threads(), size(2)), (5, 5, 2));
        });
    }
}

#[test]
fn the_environment_is_read_at_every_build() {
    alone(&[(NEW, "2"), (OLD, "9")], || {
        assert_eq!(size(0), 2);
        // SAFETY: this process runs one test, and the workers of the pool read no environment.
        unsafe { std::env::set_var(NEW, "3") };
        assert_eq!(size(0), 3);
    });
}
