//! `service serve`, tested by good clients, bad clients, standard clients such as curl, and
//! signals.

mod server;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use server::{ARRANGEMENTS, PATIENCE, Server, program, until};

fn post(key: &str, body: &str) -> String {
    let length = body.len();
    format!("POST /{key} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn get(key: &str) -> String {
    format!("GET /{key} HTTP/1.1\r\nHost: h\r\n\r\n")
}

/// Returns the statuses in a stream of answers. No body in it looks like a status line.
fn statuses(answers: &str) -> Vec<u16> {
    let answers = answers.split("HTTP/1.1 ").skip(1);
    answers.map(|answer| answer[..3].parse().unwrap()).collect()
}

#[test]
fn slow_deaf_and_vanishing_clients_are_dropped_delay_no_other_client_and_leave_nothing_behind() {
    for arrangement in ARRANGEMENTS {
        let timeouts = ["--request-timeout-ms", "150", "--idle-timeout-ms", "300"];
        let server = Server::start("kv", &[arrangement, &timeouts].concat());
        let body = "x".repeat(1 << 20);
        assert_eq!(statuses(&server.talk(&post("large", &body))), [201]);
        until("one connection gone", || server.entries("fd") > 0);
        let (files, threads) = (server.entries("fd"), server.entries("task"));
        let mut slow = server.connect();
        slow.write_all(b"GET /a HT").unwrap();
        let mut idle = server.connect();
        // More than the kernel keeps for a client.
        let mut deaf = server.connect();
        deaf.write_all(get("large").repeat(40).as_bytes()).unwrap();
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
        assert_eq!(answer, "", "an idle connection is closed without an answer");
        until("all files closed", || server.entries("fd") <= files);
        until("all threads gone", || server.entries("task") <= threads);
        drop((slow, idle, deaf));
        let report = server.end();
        let expected = "24 connections: 2 good, 0 malformed, 2 too slow, 20 vanished\n";
        assert!(report.starts_with(expected), "{arrangement:?}: {report}");
    }
}

#[test]
fn more_connections_than_allowed_wait_until_there_is_room() {
    let server = Server::start("kv", &["--connections", "2"]);
    let mut crowd: Vec<_> = (0..50).map(|_| server.connect()).collect();
    for client in &mut crowd {
        client.write_all(get("a").as_bytes()).unwrap();
    }
    crowd[0].read_exact(&mut [0; 12]).unwrap();
    assert!(server.entries("fd") < 20, "some connections wait");
    for mut client in crowd {
        client.read_exact(&mut [0; 1]).unwrap();
    }
    let report = server.end();
    assert!(report.starts_with("50 connections: 50 good"), "{report}");
}

#[test]
fn an_interrupted_server_does_not_wait_for_the_rest_of_a_request() {
    for arrangement in ARRANGEMENTS {
        let server = Server::start("kv", arrangement);
        let mut half = server.connect();
        half.write_all(b"GET /a HT").unwrap();
        // A client that came later has been served, so the first one has been accepted.
        assert_eq!(statuses(&server.talk(&get("a"))), [404]);
        let report = server.end();
        let mut answer = String::new();
        half.read_to_string(&mut answer).unwrap();
        assert_eq!(statuses(&answer), [503], "{arrangement:?}");
        let expected = "2 connections: 1 good, 0 malformed, 1 too slow, 0 ";
        assert!(report.starts_with(expected), "{report}");
    }
}

#[test]
fn a_second_interrupt_ends_a_server_although_a_client_does_not_take_its_answers() {
    let root = tempfile::tempdir().unwrap();
    let file = fs::File::create(root.path().join("large")).unwrap();
    file.set_len(16 << 20).unwrap();
    let root = root.path().to_str().unwrap();
    for (service, arguments) in [("kv", &[][..]), ("files", &["--port", "0", "--root", root])] {
        let mut server = Server::start(service, arguments);
        if service == "kv" {
            server.talk(&post("large", &"x".repeat(1 << 20)));
        }
        let mut deaf = server.connect();
        deaf.write_all(get("large").repeat(40).as_bytes()).unwrap();
        deaf.read_exact(&mut [0; 12]).unwrap();
        server.interrupt();
        until("the listener is closed", || {
            TcpStream::connect(&server.address).is_err()
        });
        server.interrupt();
        assert_eq!(server.child.wait().unwrap().code(), Some(130), "{service}");
    }
}

#[test]
fn what_cannot_be_served_is_refused_with_the_remedy() {
    let taken = Server::start("kv", &[]);
    let port = taken.address.rsplit(':').next().unwrap();
    for (arguments, expected) in [
        (
            &["forum", "--port", port][..],
            "choose another --port, or 0 for any free one",
        ),
        (&["ftp"], "unknown service `ftp`; known: kv, forum"),
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
        (
            &["files", "--root", "no/such/folder"],
            "error: --root no/such/folder: No such file",
        ),
    ] {
        let output = program().arg("serve").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}

/// Posts until the server, interrupted meanwhile, closes the connection. Returns how many posts got
/// an answer; `answered` counts them for all clients.
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
        let server = Server::start("kv", arrangement);
        let answered = &AtomicUsize::new(0);
        let (acknowledged, report) = thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let address = server.address.clone();
                    scope.spawn(move || post_until_closed(&address, client, answered))
                })
                .collect();
            until("all clients are busy", || answered.load(Relaxed) >= 100);
            let report = server.end();
            let posts = clients.into_iter().map(|client| client.join().unwrap());
            (posts.sum::<usize>(), report)
        });
        let mut lines = report.lines();
        let stored = lines.find_map(|line| line.strip_suffix(" documents stored"));
        let stored: usize = stored.unwrap().parse().unwrap();
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
    for implementation in ["pool", "queue", "threads"] {
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

#[test]
fn more_clients_of_the_file_server_than_descriptors_wait_and_the_server_goes_on() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.txt"), "the text").unwrap();
    let root = root.path().to_str().unwrap();
    let server = Server::start_with_descriptors(40, "files", &["--port", "0", "--root", root]);
    let mut crowd: Vec<_> = (0..60).map(|_| server.connect()).collect();
    for client in &mut crowd {
        client.write_all(get("a.txt").as_bytes()).unwrap();
    }
    for client in &mut crowd {
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(statuses(&answer), [200]);
    }
    let report = server.end();
    assert!(report.starts_with("60 connections: 60 good"), "{report}");
}

/// Returns the output of a program. If it is not installed, prints that the test is skipped.
fn stock(program: &str, arguments: &[&str]) -> Option<String> {
    let Ok(output) = Command::new(program).args(arguments).output() else {
        eprintln!("SKIPPED: {program} is not installed");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn curl_stores_reads_and_removes_a_document() {
    let server = Server::start("kv", &[]);
    let url = format!("http://{}/letter", server.address);
    let curl = |arguments: &[&str]| {
        let all = [&["-sS", "-w", " %{http_code}", &url][..], arguments].concat();
        stock("curl", &all)
    };
    // Above 1 MiB curl would first send `Expect: 100-continue`; the limit of documents is lower.
    let body = "a".repeat(900_000);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &body).unwrap();
    let data = format!("@{}", file.path().display());
    let Some(answer) = curl(&["--data-binary", &data]) else {
        return;
    };
    assert_eq!(answer, " 201");
    let waits = ["-H", "Expect: 100-continue", "--data-binary", &data];
    assert_eq!(curl(&waits).unwrap(), " 200");
    assert_eq!(curl(&[]).unwrap(), format!("{body} 200"));
    assert_eq!(curl(&["-X", "DELETE"]).unwrap(), " 204");
    let head = curl(&["-I"]).unwrap();
    assert!(
        head.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"),
        "{head}"
    );
    assert_eq!(curl(&["-0"]).unwrap(), "there is no such document\n 404");
}
