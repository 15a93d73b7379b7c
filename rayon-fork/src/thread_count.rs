//! How many workers a pool gets: by its builder, by the environment, or by the machine.

use std::env;

use crate::sleep::MAX_WORKERS;
use crate::sync::{AtomicUsize, Ordering, thread};

/// Returns the number of workers for a builder that requested `requested` (0: unspecified).
pub(crate) fn workers_of(requested: usize) -> usize {
    let workers = match requested {
        0 => num_threads_from(|name| env::var(name).ok()).unwrap_or_else(cpus),
        requested => requested,
    };
    workers.min(MAX_WORKERS)
}

fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the number of threads that could run at once when this function was first called. The
/// function keeps the number, because asking the system takes some file accesses. There is no lock,
/// for which a child of `fork` could wait for ever. Several threads that make the first call at
/// once all ask the system.
pub(crate) fn cpus_at_first() -> usize {
    const UNKNOWN: usize = 0;
    static CPUS: AtomicUsize = AtomicUsize::new(UNKNOWN);
    // Relaxed: no other data depends on the number.
    let known = CPUS.load(Ordering::Relaxed);
    if known != UNKNOWN {
        return known;
    }
    let asked = cpus();
    match CPUS.compare_exchange(UNKNOWN, asked, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => asked,
        Err(first) => first,
    }
}

fn num_threads_from(environment: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let number = |name| environment(name)?.parse::<usize>().ok();
    match number("RAYON_NUM_THREADS") {
        // A value of 0, which asks for the default, also overrides the old variable.
        Some(0) => None,
        Some(workers) => Some(workers),
        None => number("RAYON_RS_NUM_CPUS").filter(|&workers| workers > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::num_threads_from;

    fn from(new: Option<&str>, old: Option<&str>) -> Option<usize> {
        num_threads_from(|name| match name {
            "RAYON_NUM_THREADS" => new.map(str::to_owned),
            "RAYON_RS_NUM_CPUS" => old.map(str::to_owned),
            other => panic!("{other} is no variable of the fork"),
        })
    }

    #[test]
    fn the_new_variable_wins_over_the_old() {
        assert_eq!(from(Some("3"), Some("5")), Some(3));
        assert_eq!(from(None, Some("5")), Some(5));
    }

    #[test]
    fn zero_in_the_new_variable_means_default_whatever_the_old_says() {
        assert_eq!(from(Some("0"), Some("5")), None);
    }

    #[test]
    fn what_is_no_number_counts_as_unset() {
        assert_eq!(from(Some(" 3"), Some("5")), Some(5));
        assert_eq!(from(Some("three"), Some("0")), None);
        assert_eq!(from(None, Some("-1")), None);
    }
}
