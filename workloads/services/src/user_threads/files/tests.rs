use std::cell::Cell;
use std::fs::File;
use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::Arc;

use super::*;
use crate::user_threads::tests::FOREVER;
use crate::user_threads::{Current, UserThreads};

fn on_user_threads(transfers: usize, body: impl Fn(&Current<'_>) + 'static) {
    let is_ended = Rc::new(Cell::new(false));
    let ended = Rc::clone(&is_ended);
    let mut threads = UserThreads::new(FOREVER, Some(Files::start(transfers)));
    let body = move |me: &Current<'_>| {
        body(me);
        ended.set(true);
    };
    threads.spawn(body).unwrap();
    threads.run();
    assert!(is_ended.get());
    assert_eq!(threads.take_files().unwrap().under_way, 0);
}

#[test]
fn what_threads_write_at_once_each_reads_back() {
    const LENGTH: usize = 70_001;
    on_user_threads(5, |me| {
        let file = Arc::new(tempfile::tempfile().unwrap());
        for number in 0..5_u8 {
            let file = Arc::clone(&file);
            let body = move |me: &Current<'_>| {
                let offset = u64::from(number) * LENGTH as u64;
                let written = vec![number + 1; LENGTH];
                let written = me.transfer(Direction::Write, &file, written, offset);
                let read = me.transfer(Direction::Read, &file, vec![0; LENGTH], offset);
                assert!(read.unwrap() == written.unwrap(), "{number}");
            };
            me.spawn(body).unwrap();
        }
    });
}

#[test]
fn the_end_of_a_file_is_an_error_and_an_empty_buffer_is_none() {
    on_user_threads(1, |me| {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let read = |length| me.transfer(Direction::Read, &file, vec![0; length], 0);
        assert_eq!(read(1).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert!(read(0).unwrap().is_empty());
        me.transfer(Direction::Write, &file, vec![7], 2).unwrap();
        assert_eq!(read(3).unwrap(), [0, 0, 7]);
        assert_eq!(read(4).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    });
}

#[test]
fn a_file_that_may_not_be_written_is_an_error_of_the_kernel() {
    on_user_threads(1, |me| {
        let file = tempfile::NamedTempFile::new().unwrap();
        let file = Arc::new(File::open(file.path()).unwrap());
        let outcome = me.transfer(Direction::Write, &file, vec![1], 0);
        let code = nix::errno::Errno::EBADF as i32;
        assert_eq!(outcome.unwrap_err().raw_os_error(), Some(code));
    });
}

#[test]
fn transfers_that_nobody_waits_for_any_more_end_before_their_buffers_go() {
    let file = Arc::new(tempfile::tempfile().unwrap());
    let mut files = Files::start(3);
    for thread in 0..3 {
        let transfer = Transfer {
            thread,
            direction: Direction::Write,
            file: Arc::clone(&file),
            buffer: vec![1; 1 << 16],
            offset: (thread << 16) as u64,
        };
        files.submit(transfer).unwrap();
    }
    assert_eq!(files.most_under_way(), 3);
    drop(files);
    assert_eq!(Arc::strong_count(&file), 1);
    assert_eq!(file.metadata().unwrap().len(), 3 << 16);
}
