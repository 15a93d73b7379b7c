//! The server's answers to good and bad clients.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::symlink;
use std::thread::{self, JoinHandle};

use tempfile::TempDir;

use super::*;

/// A running server, and the folder that contains its root.
struct Running {
    outside: TempDir,
    address: SocketAddr,
    stop: Stop,
    thread: JoinHandle<io::Result<String>>,
}

impl Running {
    /// Serves `root`, next to which `secret` lies.
    fn start() -> Self {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(outside.path().join("secret"), "SECRET").unwrap();
        fs::write(root.join("page.html"), "<title>a page</title>").unwrap();
        fs::write(root.join("with space & ü.txt"), "spaced").unwrap();
        fs::write(root.join("empty"), "").unwrap();
        fs::write(root.join("big.bin"), pattern(300_001)).unwrap();
        // A sparse file, which takes no space on the disk.
        let huge = fs::File::create(root.join("huge.bin")).unwrap();
        huge.set_len(HUGE).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink(outside.path().join("secret"), root.join("absolute-out")).unwrap();
        symlink(outside.path(), root.join("folder-out")).unwrap();
        symlink("page.html", root.join("within.html")).unwrap();
        let (told, hears) = std::sync::mpsc::channel();
        // The server's state belongs to one OS thread, so it is made there.
        let thread = thread::spawn(move || {
            let server = FileServer::bind(&root, 0).unwrap();
            told.send((server.address().unwrap(), server.stop_handle()))
                .unwrap();
            server.run()
        });
        let (address, stop) = hears.recv().unwrap();
        Self {
            outside,
            address,
            stop,
            thread,
        }
    }

    fn connect(&self, request: &[u8]) -> TcpStream {
        let mut connection = TcpStream::connect(self.address).unwrap();
        connection.write_all(request).unwrap();
        connection
    }

    /// Sends these bytes, and returns head and body of the answer.
    fn ask(&self, request: &[u8]) -> (String, Vec<u8>) {
        let mut answer = read_rest(self.connect(request));
        let mut ends = answer.windows(4);
        let end = ends.position(|it| it == b"\r\n\r\n").expect("a whole head") + 4;
        let body = answer.split_off(end);
        (String::from_utf8(answer).unwrap(), body)
    }

    fn get(&self, target: &str) -> (String, Vec<u8>) {
        self.ask(format!("GET {target} HTTP/1.1\r\nHost: here\r\n\r\n").as_bytes())
    }

    /// Requests a file, and reads only its first bytes.
    fn begin_huge(&self) -> TcpStream {
        let mut client = self.connect(b"GET /huge.bin HTTP/1.1\r\n\r\n");
        client.read_exact(&mut [0; 12]).unwrap();
        client
    }

    /// Stops the server, and returns how its connections ended.
    fn end(self) -> String {
        self.stop.stop();
        self.thread.join().unwrap().unwrap()
    }
}

/// More than the kernel keeps for a client that does not read.
const HUGE: u64 = 16 << 20;

fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|place| (place % 251).try_into().unwrap())
        .collect()
}

fn status(head: &str) -> &str {
    head.split(' ').nth(1).expect("a status line")
}

fn read_rest(mut client: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    rest
}

#[test]
fn files_come_whole_with_their_length_and_type() {
    let server = Running::start();
    let page = b"<title>a page</title>";
    let bytes = "application/octet-stream";
    for (target, content_type, body) in [
        ("/page.html", "text/html", page.to_vec()),
        ("/page.html?query#part", "text/html", page.to_vec()),
        ("http://elsewhere:1/page.html?q", "text/html", page.to_vec()),
        ("/within.html", "text/html", page.to_vec()),
        ("/sub/../page.html", "text/html", page.to_vec()),
        ("/sub/%2e%2e/page.html", "text/html", page.to_vec()),
        (
            "/with%20space%20&%20%C3%BC.txt",
            "text/plain",
            b"spaced".to_vec(),
        ),
        ("/empty", bytes, Vec::new()),
        ("/big.bin", bytes, pattern(300_001)),
    ] {
        let (head, got) = server.get(target);
        assert_eq!(status(&head), "200", "{target}");
        for field in [
            format!("Content-Type: {content_type}\r\n"),
            format!("Content-Length: {}\r\n", body.len()),
        ] {
            assert!(head.contains(&field), "{target}: {head}");
        }
        assert!(got == body, "{target}: {} bytes", got.len());
    }
    let expected = "9 connections: 9 good, 0 malformed, 0 too slow, 0 vanished";
    assert_eq!(server.end(), expected);
}

#[test]
fn nothing_outside_the_root_is_served_however_its_name_is_spelt() {
    let server = Running::start();
    let absolute = server.outside.path().join("secret");
    let absolute = absolute.to_str().unwrap();
    for target in [
        "/../secret",
        "/%2e%2e/secret",
        "/%2E./secret",
        "/..%2fsecret",
        "/sub/../../secret",
        "/sub/%2e%2e/%2e%2e/secret",
        &format!("/{absolute}"),
        &format!("//{absolute}"),
        &format!("/%2f{absolute}"),
        "/out",
        "/absolute-out",
        "/folder-out/secret",
        "/page.html%00",
        "/..%00/secret",
        "/..%5csecret",
        absolute.trim_start_matches('/'),
    ] {
        let (head, body) = server.get(target);
        assert!(
            ["400", "403", "404"].contains(&status(&head)),
            "{target}: {head}"
        );
        assert!(!body.windows(6).any(|it| it == b"SECRET"), "{target}");
    }
    server.end();
}

#[test]
fn what_cannot_be_answered_has_a_status_of_its_own() {
    let server = Running::start();
    let (long, large) = ("a".repeat(5_000), "a".repeat(crate::http::MAX_HEAD));
    for (request, expected) in [
        ("GET /missing HTTP/1.1\r\n\r\n", "404"),
        ("GET /page.html/more HTTP/1.1\r\n\r\n", "404"),
        ("GET / HTTP/1.1\r\n\r\n", "404"),
        ("GET /sub HTTP/1.1\r\n\r\n", "403"),
        (
            "POST /page.html HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
            "405",
        ),
        ("complete nonsense\r\n\r\n", "400"),
        ("GET page.html HTTP/1.1\r\n\r\n", "400"),
        (&format!("GET /{long} HTTP/1.1\r\n\r\n"), "404"),
        (&format!("GET / HTTP/1.1\r\nA: {large}"), "431"),
    ] {
        let (head, body) = server.ask(request.as_bytes());
        assert_eq!(status(&head), expected, "{request}");
        assert!(body.starts_with(expected.as_bytes()), "{request}");
        assert_eq!(head.contains("Allow: GET\r\n"), expected == "405");
    }
    server.end();
}

#[test]
fn clients_that_say_or_read_nothing_or_leave_keep_nobody_else_waiting() {
    let server = Running::start();
    let silent: Vec<_> = (0..100).map(|_| server.connect(b"")).collect();
    let mut deaf: Vec<_> = (0..40).map(|_| server.begin_huge()).collect();
    let mut half = server.connect(b"GET /big.bin HT");
    let gone = server.connect(b"GET /");
    gone.shutdown(Shutdown::Both).unwrap();
    assert_eq!(status(&server.get("/page.html").0), "200");
    for client in &silent {
        client.set_nonblocking(true).unwrap();
        let said = (&*client).read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(said, Err(io::ErrorKind::WouldBlock), "closed too early");
    }
    // A request in two pieces is one request.
    half.write_all(b"TP/1.1\r\n\r\n").unwrap();
    assert!(read_rest(half).ends_with(&pattern(300_001)[299_000..]));
    let rest = read_rest(deaf.swap_remove(0));
    assert!(rest.len() as u64 > HUGE, "closed too early");
    drop((silent, deaf));
    server.end();
}

#[test]
fn when_the_server_stops_answers_are_ended_and_clients_that_have_not_asked_are_let_go() {
    let server = Running::start();
    let idle = server.connect(b"");
    let half = server.connect(b"GET /page.html HT");
    let busy = server.begin_huge();
    // A client that came later has been served, so these have threads.
    assert_eq!(status(&server.get("/page.html").0), "200");
    server.stop.stop();
    assert_eq!(read_rest(idle), b"", "closed without an answer");
    assert!(read_rest(half).starts_with(b"HTTP/1.1 503 Service Unavailable\r\n"));
    let rest = read_rest(busy);
    assert!(
        rest.len() as u64 > HUGE,
        "the server ends the answers that it has begun"
    );
    assert!(server.end().starts_with("4 connections: 3 good"));
}

#[test]
fn a_root_that_is_none_and_a_port_that_is_taken_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |root: &Path, port| FileServer::bind(root, port).err().unwrap().to_string();
    let missing = refusal(&folder.path().join("missing"), 0);
    assert!(missing.starts_with("--root "), "{missing}");
    assert!(missing.contains("No such file"), "{missing}");
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(refusal(&file, 0).contains("Not a directory"));
    let taken = TcpListener::bind(net::LOOPBACK).unwrap();
    let port = taken.local_addr().unwrap().port();
    let message = refusal(folder.path(), port);
    assert!(message.contains(&format!("--port {port}: ")), "{message}");
    assert!(message.contains("choose another one"), "{message}");
}
