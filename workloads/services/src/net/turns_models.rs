//! Models of reader and handler: in every schedule one of them sees new bytes, and broken twins are
//! rejected (`cargo xtask models`).

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread;

use super::turns::Turns;

/// Bytes arrive while a handler ends its turn. `comes` is how the reader then goes to the
/// connection and `is_told` how the handler asks whether it did; each reads the new bytes when it
/// has the connection.
fn what_arrives_is_read(comes: fn(&Turns<bool>) -> bool, is_told: fn(&Turns<bool>) -> bool) {
    loom::model(move || {
        let shared = Arc::new((AtomicBool::new(false), Turns::new(false)));
        let handler = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let (arrived, turns) = &*shared;
                let read = || {
                    let mut has_read = turns.hold();
                    *has_read |= arrived.load(Relaxed);
                };
                read();
                if is_told(turns) {
                    read();
                }
            }
        });
        let (arrived, turns) = &*shared;
        arrived.store(true, Relaxed);
        if comes(turns) {
            *turns.hold() = true;
        }
        handler.join().unwrap();
        assert!(*turns.hold(), "bytes lie there, and nobody will read them");
    });
}

fn tries_to_hold(turns: &Turns<bool>) -> bool {
    turns.try_hold().is_some()
}

#[test]
fn either_the_reader_or_the_handler_reads_what_arrives() {
    what_arrives_is_read(tries_to_hold, Turns::take_word);
}

#[test]
#[should_panic(expected = "nobody will read them")]
fn a_reader_that_leaves_no_word_is_rejected() {
    what_arrives_is_read(|turns| turns.hold_if_free().is_some(), Turns::take_word);
}

#[test]
#[should_panic(expected = "nobody will read them")]
fn a_reader_that_does_not_try_again_is_rejected() {
    let comes = |turns: &Turns<bool>| {
        let is_free = turns.hold_if_free().is_some();
        if !is_free {
            turns.leave_word();
        }
        is_free
    };
    what_arrives_is_read(comes, Turns::take_word);
}

#[test]
#[should_panic(expected = "nobody will read them")]
fn a_handler_without_its_fence_is_rejected() {
    what_arrives_is_read(tries_to_hold, Turns::find_word);
}

#[test]
#[should_panic(expected = "nobody will read them")]
fn a_handler_that_does_not_look_for_word_is_rejected() {
    what_arrives_is_read(tries_to_hold, |_| false);
}
