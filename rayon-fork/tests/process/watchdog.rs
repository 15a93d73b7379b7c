use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::Duration;

use crate::child::ending;
use crate::common::{pool, within_or};

const SIGABRT: i32 = 6;

#[test]
fn a_hang_ends_the_process_with_a_message() {
    let what = "a job that never ends";
    let hang = || {
        let state = || "It was asleep.".to_owned();
        within_or(Duration::from_millis(50), what, state, || {
            pool(1).install(thread::park);
        });
        panic!("the job has ended");
    };
    let Some(ending) = ending(&[], hang) else {
        return;
    };
    assert_eq!(ending.status.signal(), Some(SIGABRT), "{}", ending.status);
    for part in ["hung: `a job that never ends`", "It was asleep."] {
        assert!(
            ending.stderr.contains(part),
            "{part:?} is not in {}",
            ending.stderr
        );
    }
}
