//! Building pools: options, errors, and the state after a failed build.

use std::error::Error;
use std::io;
use std::thread;

use rayon_core::ThreadPoolBuilder;

use crate::common::{Log, Tally, in_time, panic_text};

#[test]
fn an_error_of_the_spawn_handler_comes_back_and_started_workers_end() {
    in_time(|| {
        let exits = Tally::new();
        let on_exit = exits.clone();
        let log = Log::new();
        let outcome = ThreadPoolBuilder::new()
            .num_threads(5)
            .exit_handler(move |_| on_exit.add_one())
            .spawn_handler(|thread| {
                log.add(thread.index());
                if thread.index() == 3 {
                    return Err(io::Error::other("no fourth thread"));
                }
                thread::spawn(|| thread.run());
                Ok(())
            })
            .build();
        let error = outcome.unwrap_err();
        assert_eq!(error.to_string(), "no fourth thread");
        let source = error
            .source()
            .and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(
            source.map(ToString::to_string).as_deref(),
            Some("no fourth thread")
        );
        assert_eq!(log.take(), [0, 1, 2, 3]);
        exits.wait_for(3);
    });
}

#[test]
fn a_panic_of_the_spawn_handler_comes_out_and_started_workers_end() {
    in_time(|| {
        let exits = Tally::new();
        let on_exit = exits.clone();
        let builder = ThreadPoolBuilder::new()
            .num_threads(5)
            .exit_handler(move |_| on_exit.add_one())
            .spawn_handler(|thread| {
                assert!(thread.index() < 2, "no third thread");
                thread::spawn(|| thread.run());
                Ok(())
            });
        assert_eq!(panic_text(|| builder.build()), "no third thread");
        exits.wait_for(2);
    });
}

#[test]
fn more_threads_than_there_may_be_are_silently_fewer() {
    // A pool creates the queues of all its workers, which takes hours under Miri.
    if cfg!(miri) {
        return;
    }
    in_time(|| {
        let mut kept = Vec::new();
        let pool = ThreadPoolBuilder::new()
            .num_threads(usize::MAX)
            .spawn_handler(|thread| {
                // The workers are never run, so the test needs no thread at all.
                kept.push(thread);
                Ok(())
            })
            .build()
            .unwrap();
        let most = rayon_core::max_num_threads();
        assert_eq!(pool.current_num_threads(), most);
        drop(pool);
        assert_eq!(kept.len(), most);
    });
}

/// The texts of errors must not change, because users' log files contain them.
#[test]
fn a_build_error_shows_the_same_words_as_in_the_published_crate() {
    let refuse = |error: fn() -> io::Error| {
        let error = ThreadPoolBuilder::new()
            .spawn_handler(|_| Err(error()))
            .build()
            .unwrap_err();
        format!("{error:?}")
    };
    assert_eq!(
        refuse(|| io::ErrorKind::WouldBlock.into()),
        "ThreadPoolBuildError { kind: IOError(Kind(WouldBlock)) }"
    );
    assert_eq!(
        refuse(|| io::Error::other("no thread")),
        "ThreadPoolBuildError { kind: IOError(Custom { kind: Other, error: \"no thread\" }) }"
    );
}
