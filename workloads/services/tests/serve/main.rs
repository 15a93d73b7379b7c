//! `service serve`, tested by good clients, bad clients, standard clients such as curl, and
//! signals.

mod server;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use server::{PATIENCE, Server, program, until};

fn post(key: &str, body: &str) -> String {
    let length = body.len();
    format!("POST /{key} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn get(key: &str) -> String {
    format!("GET /{key} HTTP/1.1\r\nHost: h\r\n\r\n")
}

#[test]
fn a_second_interrupt_ends_a_server_although_a_client_does_not_take_its_answers() {
    let mut server = Server::start("kv", &[]);
    server.talk(&post("large", &"x".repeat(1 << 20)));
    let mut deaf = server.connect();
    deaf.write_all(get("large").repeat(40).as_bytes()).unwrap();
    deaf.read_exact(&mut [0; 12]).unwrap();
    server.interrupt();
    until("the listener is closed", || {
        TcpStream::connect(&server.address).is_err()
    });
    server.interrupt();
    assert_eq!(server.child.wait().unwrap().code(), Some(130));
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
        (&["ftp"], "unknown service `ftp`; known: kv, forum, files"),
        (
            &["kv", "--set", "sessions=1"],
            "parameter `sessions` is the clients'",
        ),
        (
            &["kv", "--set", "queue=heap"],
            "expected one of regular, lock-free",
        ),
        (&["kv", "--threads", "0"], "threads = 0: expected 1 to "),
        (&["files"], "--root <DIRECTORY>"),
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
    for arrangement in [
        &["--set", "handlers=pool"][..],
        &["--set", "handlers=threads"],
        &["--set", "takes=connections", "--threads", "8"],
    ] {
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
    let server = Server::start("forum", &[]);
    let answer = server.talk("POST cats they purr\nREAD cats 0\nREAD cats 7\nREAD cats x\n");
    let expected = "OK 0\nOK they purr\nNONE\nERROR an index is a whole number of 64 bits\n";
    assert_eq!(answer, expected);
    assert_eq!(server.end(), "1 connections: 1 good, 0 failed\n");
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
fn curl_stores_reads_and_removes_a_document_and_reads_a_file() {
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
    assert_eq!(curl(&["--data-binary", &data]).unwrap(), " 200");
    assert_eq!(curl(&[]).unwrap(), format!("{body} 200"));
    assert_eq!(curl(&["-X", "DELETE"]).unwrap(), " 204");
    let head = curl(&["-I"]).unwrap();
    assert!(
        head.starts_with("HTTP/1.1 501 Not Implemented\r\n"),
        "{head}"
    );
    assert_eq!(curl(&["-0"]).unwrap(), "there is no such document\n 404");
    let folder = file.path().parent().unwrap().to_str().unwrap();
    let files = Server::start("files", &["--root", folder]);
    let name = file.path().file_name().unwrap().to_str().unwrap();
    let url = format!("http://{}/{name}", files.address);
    assert_eq!(stock("curl", &["-sS", &url]).unwrap(), body);
}
