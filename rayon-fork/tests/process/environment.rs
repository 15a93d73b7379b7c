//! How many threads a pool gets when the program does not say: the environment, then the machine.

use std::thread::available_parallelism;

use rayon_core::ThreadPoolBuilder;

use crate::child::{self, is_child};
use crate::common::patiently;

const NEW: &str = "RAYON_NUM_THREADS";
const OLD: &str = "RAYON_RS_NUM_CPUS";

fn default_size(variables: &[(&str, &str)]) -> usize {
    child::answer_of("environment::default_size_child", variables)
        .parse()
        .unwrap()
}

#[test]
#[ignore = "run in a process of its own by the tests here"]
fn default_size_child() {
    if is_child() {
        patiently("a default pool", || {
            let pool = ThreadPoolBuilder::new().build().unwrap();
            assert_eq!(pool.broadcast(|_| ()).len(), pool.current_num_threads());
            child::answer(pool.current_num_threads());
        });
    }
}

fn of_machine() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// A size that is surely not the machine's own.
fn other_than_machine() -> (usize, String) {
    let size = of_machine() + 1;
    (size, size.to_string())
}

#[test]
fn without_variables_the_machine_decides() {
    assert_eq!(default_size(&[]), of_machine());
}

#[test]
fn the_new_variable_decides() {
    let (size, text) = other_than_machine();
    assert_eq!(default_size(&[(NEW, &text)]), size);
}

#[test]
fn the_old_variable_decides_where_the_new_one_is_unset() {
    let (size, text) = other_than_machine();
    assert_eq!(default_size(&[(OLD, &text)]), size);
}

#[test]
fn the_new_variable_wins_over_the_old() {
    let (size, text) = other_than_machine();
    assert_eq!(default_size(&[(NEW, &text), (OLD, "9")]), size);
}

#[test]
fn zero_in_the_new_variable_means_the_machine_whatever_the_old_one_says() {
    let (_, text) = other_than_machine();
    assert_eq!(default_size(&[(NEW, "0"), (OLD, &text)]), of_machine());
}

#[test]
fn zero_in_the_old_variable_means_the_machine() {
    assert_eq!(default_size(&[(OLD, "0")]), of_machine());
}

#[test]
fn a_new_variable_that_is_no_number_counts_as_unset() {
    let (size, text) = other_than_machine();
    for nonsense in [
        "",
        "many",
        "-1",
        "1.5",
        " 1",
        "1 ",
        "99999999999999999999999",
    ] {
        assert_eq!(
            default_size(&[(NEW, nonsense), (OLD, &text)]),
            size,
            "{nonsense:?}"
        );
    }
}

#[test]
fn an_old_variable_that_is_no_number_counts_as_unset() {
    assert_eq!(default_size(&[(OLD, "many")]), of_machine());
}

#[test]
fn the_global_pool_follows_the_environment() {
    let (size, text) = other_than_machine();
    let answer = child::answer_of("environment::global_size_child", &[(NEW, &text)]);
    assert_eq!(answer, size.to_string());
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn global_size_child() {
    if is_child() {
        child::answer(rayon_core::current_num_threads());
    }
}

#[test]
fn an_explicit_number_wins_over_the_environment() {
    let answer = child::answer_of(
        "environment::explicit_size_child",
        &[(NEW, "3"), (OLD, "4")],
    );
    assert_eq!(answer, "2");
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn explicit_size_child() {
    if is_child() {
        child::answer(
            ThreadPoolBuilder::new()
                .num_threads(2)
                .build()
                .unwrap()
                .current_num_threads(),
        );
    }
}

#[test]
fn the_environment_is_read_at_every_build() {
    child::run_well("environment::changing_environment_child", &[(NEW, "2")]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn changing_environment_child() {
    if is_child() {
        // An explicit zero is no explicit number.
        let size = || {
            ThreadPoolBuilder::new()
                .num_threads(0)
                .build()
                .unwrap()
                .current_num_threads()
        };
        assert_eq!(size(), 2);
        // SAFETY: this process runs one test, and the workers of the pool above read no
        // environment.
        unsafe { std::env::set_var(NEW, "3") };
        assert_eq!(size(), 3);
    }
}

#[test]
fn an_environment_that_asks_for_too_many_gets_the_most() {
    let most = rayon_core::max_num_threads();
    let text = (most + 1).to_string();
    child::run_well("environment::far_too_many_child", &[(NEW, &text)]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn far_too_many_child() {
    if is_child() {
        patiently("a pool of as many threads as there may be", || {
            let mut kept = Vec::new();
            let builder = ThreadPoolBuilder::new().spawn_handler(|thread| {
                // Never run, so that the test needs no thread at all.
                kept.push(thread);
                Ok(())
            });
            let pool = builder.build().unwrap();
            assert_eq!(pool.current_num_threads(), rayon_core::max_num_threads());
        });
    }
}
