//! The `{:?}` output of each type. The published crate chooses other words, so the tests check only
//! the name and the plain values. But logs hold build errors, so those are the same word for word.

use std::io;

use rayon_core::{ThreadPoolBuilder, Yield, join_context};

use crate::common::{patiently, pool};

fn shows(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn a_join_context_shows_whether_it_migrated() {
    patiently("a join that shows its contexts", || {
        let (a, b) = pool(1)
            .join(
                || join_context(|a| format!("{a:?}"), |b| format!("{b:?}")),
                || (),
            )
            .0;
        shows(&a, &["FnContext", "migrated: false"]);
        shows(&b, &["FnContext", "migrated: false"]);
    });
}

#[test]
fn a_broadcast_context_shows_its_worker() {
    patiently("a broadcast that shows its contexts", || {
        let texts = pool(2).broadcast(|context| format!("{context:?}"));
        shows(&texts[1], &["BroadcastContext", "index: 1", "2"]);
    });
}

#[test]
fn scopes_show_their_kind() {
    patiently("scopes that show themselves", || {
        let pool = pool(1);
        shows(&pool.scope(|scope| format!("{scope:?}")), &["Scope"]);
        shows(
            &pool.scope_fifo(|scope| format!("{scope:?}")),
            &["ScopeFifo"],
        );
    });
}

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

#[test]
fn a_yield_shows_what_it_came_to() {
    shows(
        &format!("{:?} {:?}", Yield::Executed, Yield::Idle),
        &["Executed Idle"],
    );
}
