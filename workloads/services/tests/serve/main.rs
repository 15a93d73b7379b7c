//! `service serve` as its clients see it: good ones, bad ones, stock ones, and the one that ends
//! it.

mod server;
mod stock;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use server::{ARRANGEMENTS, PATIENCE, Server, program, until};

fn post(key: &str, body: &str) -> String {
    format!(
        "POST /{key} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn get(key: &str) -> String {
    format!("GET /{key} HTTP/1.1\r\nHost: h\r\n\r\n")
}

/// The statuses in a stream of answers, none of which has a body that looks like one.
fn statuses(answers: &str) -> Vec<u16> {
    answers
        .split("HTTP/1.1 ")
        .skip(1)
        .map(|answer| answer[..3].parse().unwrap())
        .collect()
}

#[test]
fn requests_that_come_all_at_once_are_answered_in_order() {
    for arrangement in ARRANGEMENTS {
        let server = Server::start("kv", arrangement);
        let delete = "DELETE /a HTTP/1.1\r\nHost: h\r\n\r\n";
        let put = "PUT /a HTTP/1.1\r\nHost: h\r\n\r\n";
        let all = [
            &get("a"),
            &post("a", "one"),
            &post("a", "two"),
            &get("a"),
            delete,
            &get("a"),
            put,
        ]
        .map(String::from)
        .concat();
        let answers = server.talk(&all);
        assert_eq!(
            statuses(&answers),
            [404, 201, 200, 200, 204, 404, 405],
            "{arrangement:?}"
        );
        assert!(answers.contains("\r\n\r\ntwo"), "{answers}");
        let report = server.end();
        assert!(
            report.starts_with("1 connections: 1 good, 0 malformed"),
            "{report}"
        );
        assert!(report.contains("1 POST with status 201\n"), "{report}");
    }
}

#[test]
fn a_request_that_comes_byte_by_byte_is_answered() {
    for arrangement in ARRANGEMENTS {
        let server = Server::start("kv", arrangement);
        let mut stream = server.connect();
        stream.set_nodelay(true).unwrap();
        for byte in post("a", "one").bytes() {
            stream.write_all(&[byte]).unwrap();
        }
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 201");
    }
}

#[test]
fn malformed_and_oversized_requests_are_told_so_and_the_server_goes_on() {
    for arrangement in ARRANGEMENTS {
        let server = Server::start("kv", arrangement);
        let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(100_000));
        let large = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1048577\r\n\r\n".to_owned();
        for (text, expected) in [
            ("nonsense\r\n\r\n".to_owned(), 400),
            (long, 414),
            (large, 413),
        ] {
            assert_eq!(statuses(&server.talk(&text)), [expected], "{arrangement:?}");
        }
        assert_eq!(statuses(&server.talk(&get("a"))), [404]);
        let report = server.end();
        assert!(
            report.starts_with("4 connections: 1 good, 3 malformed, "),
            "{report}"
        );
    }
}

#[test]
fn slow_and_vanishing_clients_are_let_go_and_leave_nothing_behind() {
    for arrangement in ARRANGEMENTS {
        let timeouts = ["--request-timeout-ms", "150", "--idle-timeout-ms", "300"];
        let server = Server::start("kv", &[arrangement, &timeouts].concat());
        assert_eq!(statuses(&server.talk(&get("a"))), [404]);
        until("one connection gone", || server.entries("fd") > 0);
        let (files, threads) = (server.entries("fd"), server.entries("task"));
        let mut slow = server.connect();
        slow.write_all(b"GET /a HT").unwrap();
        let mut idle = server.connect();
        for _ in 0..20 {
            let mut vanishing = server.connect();
            vanishing
                .write_all(b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx")
                .unwrap();
        }
        let mut answer = String::new();
        slow.read_to_string(&mut answer).unwrap();
        assert_eq!(statuses(&answer), [408], "{arrangement:?}");
        answer.clear();
        idle.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "", "an idle connection is closed without a word");
        drop((slow, idle));
        until("all files closed", || server.entries("fd") <= files);
        until("all threads gone", || server.entries("task") <= threads);
        let report = server.end();
        assert!(
            report.starts_with("23 connections: 2 good, 0 malformed, 1 too slow, 20 "),
            "{report}"
        );
    }
}

#[test]
fn a_client_that_does_not_read_its_answers_is_let_go_and_holds_up_nobody() {
    let body = "x".repeat(1 << 20);
    for arrangement in ARRANGEMENTS {
        let timeouts = ["--request-timeout-ms", "300"];
        let server = Server::start("kv", &[arrangement, &timeouts].concat());
        assert_eq!(
            statuses(&server.talk(&post("large", &body))),
            [201],
            "{arrangement:?}"
        );
        let mut deaf = server.connect();
        // More than the kernel keeps for a client.
        deaf.write_all(get("large").repeat(40).as_bytes()).unwrap();
        for _ in 0..10 {
            assert_eq!(statuses(&server.talk(&get("a"))), [404], "{arrangement:?}");
        }
        let files = server.entries("fd");
        until("the deaf client is let go", || server.entries("fd") < files);
        assert!(server.end().contains(" 1 too slow, "));
    }
}

#[test]
fn more_connections_than_allowed_are_turned_away_with_503() {
    let server = Server::start("kv", &["--connections", "2"]);
    let mut kept = [server.connect(), server.connect()];
    for stream in &mut kept {
        stream.write_all(get("a").as_bytes()).unwrap();
        stream.read_exact(&mut [0; 12]).unwrap();
    }
    assert_eq!(statuses(&server.talk(&get("a"))), [503]);
    let mut slow = server.connect();
    slow.read_exact(&mut [0; 12]).unwrap();
    // Told before it has asked, and asks all the same: it can read the rest.
    slow.write_all(get("a").as_bytes()).unwrap();
    slow.shutdown(Shutdown::Write).unwrap();
    slow.read_to_end(&mut Vec::new()).unwrap();
    drop(kept);
    until("there is room again", || {
        statuses(&server.talk(&get("a"))) == [404]
    });
}

#[test]
fn every_client_for_whom_there_is_no_room_hears_503_however_many_there_are() {
    let server = Server::start("kv", &["--connections", "1"]);
    let mut kept = server.connect();
    kept.write_all(get("a").as_bytes()).unwrap();
    kept.read_exact(&mut [0; 12]).unwrap();
    let mut crowd: Vec<_> = (0..300).map(|_| server.connect()).collect();
    for (number, client) in crowd.iter_mut().enumerate() {
        // The last clients may still ask, and get this answer all the same.
        if number >= 200 {
            client.write_all(get("a").as_bytes()).unwrap();
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(statuses(&answer), [503], "client {number}");
    }
    drop((kept, crowd));
    assert!(server.end().contains("; 300 turned away\n"));
}

#[test]
fn an_interrupted_server_does_not_wait_for_the_rest_of_a_request() {
    for arrangement in ARRANGEMENTS {
        let server = Server::start("kv", arrangement);
        let mut half = server.connect();
        half.write_all(b"GET /a HT").unwrap();
        // A client that came later has been served, so the first one has been let in.
        assert_eq!(statuses(&server.talk(&get("a"))), [404]);
        let report = server.end();
        let mut answer = String::new();
        half.read_to_string(&mut answer).unwrap();
        assert_eq!(statuses(&answer), [503], "{arrangement:?}");
        assert!(
            report.starts_with("2 connections: 1 good, 0 malformed, 1 too slow, 0 "),
            "{report}"
        );
    }
}

#[test]
fn a_second_interrupt_ends_a_server_although_a_client_does_not_take_its_answers() {
    for arrangement in ARRANGEMENTS {
        let mut server = Server::start("kv", arrangement);
        assert_eq!(
            statuses(&server.talk(&post("large", &"x".repeat(1 << 20)))),
            [201]
        );
        let mut deaf = server.connect();
        deaf.write_all(get("large").repeat(40).as_bytes()).unwrap();
        deaf.read_exact(&mut [0; 12]).unwrap();
        server.interrupt();
        until("the door is shut", || {
            TcpStream::connect(&server.address).is_err()
        });
        server.interrupt();
        assert_eq!(
            server.child.wait().unwrap().code(),
            Some(130),
            "{arrangement:?}"
        );
    }
}

#[test]
fn a_target_with_a_host_before_it_is_the_same_document() {
    let server = Server::start("kv", &[]);
    let absolute = get("a").replace("/a ", "http://elsewhere:80/a ");
    let answers = server.talk(&[post("a", "one"), absolute].concat());
    assert_eq!(statuses(&answers), [201, 200]);
    assert!(answers.ends_with("\r\n\r\none"), "{answers}");
}

#[test]
fn a_port_in_use_is_an_error_that_says_what_to_do() {
    let server = Server::start("kv", &[]);
    let port = server.address.rsplit(':').next().unwrap();
    let output = program()
        .args(["serve", "forum", "--port", port])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains(&format!("serve forum: 127.0.0.1:{port}: ")),
        "{text}"
    );
    assert!(
        text.contains("choose another --port, or 0 for any free one"),
        "{text}"
    );
}

#[test]
fn a_service_or_parameter_that_is_none_is_refused() {
    for (arguments, expected) in [
        (&["ftp"][..], "unknown service `ftp`; known: kv, forum"),
        (
            &["kv", "--set", "sessions=1"],
            "parameter `sessions` is the clients'",
        ),
        (
            &["kv", "--set", "queue=heap"],
            "expected one of regular, lock-free",
        ),
        (&["kv", "--threads", "0"], "threads = 0: expected 1 to "),
        (&["kv", "--connections", "0"], "connections = 0"),
    ] {
        let output = program().arg("serve").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}

/// Posts until the server, interrupted meanwhile, closes the connection; how many posts got an
/// answer, which `answered` counts for all clients.
fn post_until_closed(address: &str, client: usize, answered: &AtomicUsize) -> usize {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    for number in 0..1_000_000 {
        let request = post(&format!("c{client}/{number}"), "x");
        let mut answer = BufReader::new(stream.try_clone().unwrap());
        let mut status = String::new();
        if stream.write_all(request.as_bytes()).is_err()
            || !answer.read_line(&mut status).is_ok_and(|bytes| bytes > 0)
        {
            return number;
        }
        assert!(status.starts_with("HTTP/1.1 201 "), "{status}");
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            answer.read_line(&mut line).unwrap();
        }
        answered.fetch_add(1, Relaxed);
    }
    panic!("the server never ended");
}

#[test]
fn no_acknowledged_write_is_lost_when_the_server_ends_under_load() {
    const CLIENTS: usize = 4;
    for arrangement in ARRANGEMENTS {
        let mut server = Server::start("kv", arrangement);
        let address = server.address.clone();
        let answered = AtomicUsize::new(0);
        let acknowledged: usize = thread::scope(|scope| {
            let (address, answered) = (&address, &answered);
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| scope.spawn(move || post_until_closed(address, client, answered)))
                .collect();
            until("all clients are busy", || answered.load(Relaxed) >= 100);
            server.interrupt();
            clients
                .into_iter()
                .map(|client| client.join().unwrap())
                .sum()
        });
        let mut report = String::new();
        server.out.read_to_string(&mut report).unwrap();
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
        let line = report
            .lines()
            .find(|line| line.ends_with(" documents stored"))
            .unwrap();
        let stored: usize = line.split(' ').next().unwrap().parse().unwrap();
        assert!(acknowledged >= 100, "{arrangement:?}");
        // A client that was cut off leaves at most one document that was stored and not
        // acknowledged.
        let range = acknowledged..=acknowledged + CLIENTS;
        assert!(
            range.contains(&stored),
            "{acknowledged} acknowledged: {report}"
        );
    }
}

#[test]
fn a_person_at_a_terminal_can_talk_to_the_forum() {
    for implementation in ["pool", "threads"] {
        let setting = format!("implementation={implementation}");
        let server = Server::start("forum", &["--set", &setting]);
        let long = "x".repeat(2_000);
        let answer = server.talk(&format!(
            "POST cats they purr\r\nPOST cats and sleep\nREAD cats 0\nREAD cats 7\nREAD cats\n\n{long}\n"
        ));
        assert_eq!(
            answer,
            "OK 0\nOK 1\nOK they purr\nNONE\nERROR expected READ topic index\n\
             ERROR expected POST or READ\nERROR a line has 1024 bytes at most\n"
        );
        let report = server.end();
        assert!(
            report.contains("1 connections: 0 good, 1 malformed"),
            "{report}"
        );
        assert!(report.contains("2 messages on the board"), "{report}");
    }
}
