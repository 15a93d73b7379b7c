//! Both backends give the same results, and overlap transfers.

use std::rc::Rc;
use std::time::Duration;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use super::*;
use crate::user_threads::UserThreads;

const FOREVER: Duration = Duration::from_hours(1);

/// The backends that this kernel allows, by name.
fn backends() -> Vec<&'static str> {
    let mut names = vec!["threads"];
    match Files::new("io-uring", 1) {
        Ok(_) => names.push("io-uring"),
        Err(refusal) => eprintln!("SKIPPED io-uring: {refusal}"),
    }
    names
}

/// Bytes that differ between threads and between places.
fn pattern(thread: usize, length: usize) -> Vec<u8> {
    (0..length)
        .map(|place| ((place * 31 + thread * 7) % 251).try_into().unwrap())
        .collect()
}

#[test]
fn what_threads_write_at_once_each_reads_back() {
    for name in backends() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let length = 70_001;
        let finished = Rc::new(std::cell::Cell::new(0));
        let mut threads = UserThreads::new(FOREVER);
        threads.set_files(Files::new(name, 5).unwrap());
        for number in 0..5 {
            let (file, finished) = (Arc::clone(&file), Rc::clone(&finished));
            threads
                .spawn(move |me| {
                    let (bytes, offset) = (pattern(number, length), (number * length) as u64);
                    me.transfer(Direction::Write, &file, bytes.clone(), offset)
                        .unwrap();
                    let read = me
                        .transfer(Direction::Read, &file, vec![0; length], offset)
                        .unwrap();
                    assert!(read == bytes, "{number}");
                    finished.set(finished.get() + 1);
                })
                .unwrap();
        }
        threads.run().unwrap();
        assert_eq!(finished.get(), 5, "{name}");
        assert!(threads.take_files().unwrap().are_idle(), "{name}");
    }
}

#[test]
fn a_thread_that_reads_a_pipe_waits_while_another_writes_to_it() {
    // Helper threads transfer at an offset, which a pipe does not have.
    let Ok(files) = Files::new("io-uring", 2) else {
        return eprintln!("SKIPPED: no io_uring");
    };
    let (reader, writer) = io::pipe().unwrap();
    let reader = Arc::new(File::from(std::os::fd::OwnedFd::from(reader)));
    let writer = Arc::new(File::from(std::os::fd::OwnedFd::from(writer)));
    let order = Rc::new(std::cell::RefCell::new(Vec::new()));
    let mut threads = UserThreads::new(FOREVER);
    threads.set_files(files);
    let seen = Rc::clone(&order);
    threads
        .spawn(move |me| {
            let bytes = me
                .transfer(Direction::Read, &reader, vec![0; 3], 0)
                .unwrap();
            assert_eq!(bytes, b"abc");
            seen.borrow_mut().push("read");
        })
        .unwrap();
    let seen = Rc::clone(&order);
    threads
        .spawn(move |me| {
            seen.borrow_mut().push("writes");
            me.transfer(Direction::Write, &writer, b"abc".to_vec(), 0)
                .unwrap();
        })
        .unwrap();
    threads.run().unwrap();
    assert_eq!(*order.borrow(), ["writes", "read"]);
}

#[test]
fn the_end_of_a_file_is_an_error_and_an_empty_buffer_is_none() {
    for name in backends() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let mut threads = UserThreads::new(FOREVER);
        threads.set_files(Files::new(name, 1).unwrap());
        let checked = Rc::new(std::cell::Cell::new(false));
        let is_checked = Rc::clone(&checked);
        threads
            .spawn(move |me| {
                let read = |length| me.transfer(Direction::Read, &file, vec![0; length], 0);
                assert_eq!(read(1).unwrap_err().kind(), ErrorKind::UnexpectedEof);
                assert!(read(0).unwrap().is_empty());
                me.transfer(Direction::Write, &file, vec![7], 2).unwrap();
                assert_eq!(read(3).unwrap(), [0, 0, 7]);
                assert_eq!(read(4).unwrap_err().kind(), ErrorKind::UnexpectedEof);
                is_checked.set(true);
            })
            .unwrap();
        threads.run().unwrap();
        assert!(checked.get(), "{name}");
    }
}

#[test]
fn a_file_that_may_not_be_written_is_an_error_of_the_kernel() {
    for name in backends() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let file = Arc::new(File::open(file.path()).unwrap());
        let mut threads = UserThreads::new(FOREVER);
        threads.set_files(Files::new(name, 1).unwrap());
        let code = Rc::new(std::cell::Cell::new(None));
        let seen = Rc::clone(&code);
        threads
            .spawn(move |me| {
                let outcome = me.transfer(Direction::Write, &file, vec![1], 0);
                seen.set(outcome.unwrap_err().raw_os_error());
            })
            .unwrap();
        threads.run().unwrap();
        assert_eq!(code.get(), Some(nix::errno::Errno::EBADF as i32), "{name}");
    }
}

#[test]
fn transfers_that_nobody_waits_for_any_more_end_before_their_buffers_go() {
    for name in backends() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let mut files = Files::new(name, 3).unwrap();
        for thread in 0..3 {
            let buffer = vec![1; 1 << 16];
            let (direction, offset) = (Direction::Write, thread << 16);
            let transfer = Transfer {
                direction,
                file: Arc::clone(&file),
                buffer,
                offset,
            };
            files.submit(0, transfer).unwrap();
        }
        assert_eq!(files.most_under_way(), 3);
        drop(files);
        assert_eq!(Arc::strong_count(&file), 1, "{name}");
        assert_eq!(file.metadata().unwrap().len(), 3 << 16, "{name}");
    }
}

#[test]
fn auto_is_io_uring_where_the_kernel_allows_it() {
    assert!(!Files::new("threads", 1).unwrap().is_uring());
    if let Ok(files) = Files::new("io-uring", 1) {
        assert!(files.is_uring());
        assert!(Files::new("auto", 1).unwrap().is_uring());
    }
}
