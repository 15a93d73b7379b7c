//! Answers that clients get, and answers that they never get.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::thread::{self, JoinHandle};

use tempfile::TempDir;

use super::*;

/// A running server, and the folder in which its root lies.
struct Running {
    outside: TempDir,
    address: SocketAddr,
    stop: Stop,
    thread: JoinHandle<io::Result<u64>>,
}

impl Running {
    /// Serves `root`, next to which `secret` lies.
    fn start() -> Self {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(outside.path().join("secret"), "SECRET").unwrap();
        fs::write(root.join("page.html"), "<title>a page</title>").unwrap();
        fs::write(root.join("sub/index.html"), "the index").unwrap();
        fs::write(root.join("with space & ü.txt"), "spaced").unwrap();
        fs::write(root.join("empty"), "").unwrap();
        fs::write(root.join("big.bin"), pattern(300_001)).unwrap();
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

    /// Sends these bytes; returns head and body of the answer.
    fn ask(&self, request: &[u8]) -> (String, Vec<u8>) {
        let mut connection = TcpStream::connect(self.address).unwrap();
        connection.write_all(request).unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).unwrap();
        let end = answer
            .windows(4)
            .position(|it| it == b"\r\n\r\n")
            .expect("a whole head")
            + 4;
        let body = answer.split_off(end);
        (String::from_utf8(answer).unwrap(), body)
    }

    fn get(&self, target: &str) -> (String, Vec<u8>) {
        self.ask(format!("GET {target} HTTP/1.1\r\nHost: here\r\n\r\n").as_bytes())
    }

    /// Stops it; returns how many connections it had.
    fn end(self) -> u64 {
        self.stop.stop();
        self.thread.join().unwrap().unwrap()
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|place| (place % 251).try_into().unwrap())
        .collect()
}

fn status(head: &str) -> &str {
    head.split(' ').nth(1).expect("a status line")
}

#[test]
fn files_come_whole_with_their_length_and_type() {
    let server = Running::start();
    for (target, content_type, body) in [
        ("/page.html", "text/html", b"<title>a page</title>".to_vec()),
        (
            "/page.html?query#part",
            "text/html",
            b"<title>a page</title>".to_vec(),
        ),
        (
            "http://elsewhere:1/page.html?q",
            "text/html",
            b"<title>a page</title>".to_vec(),
        ),
        (
            "/within.html",
            "text/html",
            b"<title>a page</title>".to_vec(),
        ),
        (
            "/sub/../page.html",
            "text/html",
            b"<title>a page</title>".to_vec(),
        ),
        ("/sub/", "text/html", b"the index".to_vec()),
        (
            "/with%20space%20&%20%C3%BC.txt",
            "text/plain",
            b"spaced".to_vec(),
        ),
        ("/empty", "application/octet-stream", Vec::new()),
        ("/big.bin", "application/octet-stream", pattern(300_001)),
    ] {
        let (head, got) = server.get(target);
        assert_eq!(status(&head), "200", "{target}");
        assert!(
            head.contains(&format!("Content-Type: {content_type}\r\n")),
            "{target}: {head}"
        );
        assert!(
            head.contains(&format!("Content-Length: {}\r\n", body.len())),
            "{head}"
        );
        assert!(got == body, "{target}: {} bytes", got.len());
    }
    assert_eq!(server.end(), 9);
}

#[test]
fn nothing_outside_the_root_is_served_however_its_name_is_spelt() {
    let server = Running::start();
    let absolute = server.outside.path().join("secret");
    let absolute = absolute.to_str().unwrap();
    for target in [
        "/../secret".to_owned(),
        "/%2e%2e/secret".to_owned(),
        "/%2E./secret".to_owned(),
        "/..%2fsecret".to_owned(),
        "/sub/../../secret".to_owned(),
        "/sub/%2e%2e/%2e%2e/secret".to_owned(),
        format!("/{absolute}"),
        format!("//{absolute}"),
        format!("/%2f{absolute}"),
        "/out".to_owned(),
        "/absolute-out".to_owned(),
        "/folder-out/secret".to_owned(),
        "/page.html%00".to_owned(),
        "/..%00/secret".to_owned(),
        "/..%5csecret".to_owned(),
        absolute.trim_start_matches('/').to_owned(),
    ] {
        let (head, body) = server.get(&target);
        assert!(
            ["400", "403", "404"].contains(&status(&head)),
            "{target}: {head}"
        );
        assert!(!body.windows(6).any(|it| it == b"SECRET"), "{target}");
    }
    // The same names lead to a file when they stay within.
    assert_eq!(status(&server.get("/sub/%2e%2e/page.html").0), "200");
    server.end();
}

#[test]
fn head_gives_what_get_would_without_the_body() {
    let server = Running::start();
    for target in ["/page.html", "/missing"] {
        let (by_get, _) = server.get(target);
        let (by_head, body) =
            server.ask(format!("HEAD {target} HTTP/1.1\r\nHost: here\r\n\r\n").as_bytes());
        assert_eq!(by_head, by_get);
        assert!(body.is_empty());
    }
    server.end();
}

#[test]
fn what_cannot_be_answered_has_a_status_of_its_own() {
    let server = Running::start();
    for (request, expected) in [
        ("GET /missing HTTP/1.1\r\n\r\n".to_owned(), "404"),
        ("GET /page.html/more HTTP/1.1\r\n\r\n".to_owned(), "404"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "404"),
        (
            "POST /page.html HTTP/1.1\r\nContent-Length: 0\r\n\r\n".to_owned(),
            "405",
        ),
        ("complete nonsense\r\n\r\n".to_owned(), "400"),
        ("GET page.html HTTP/1.1\r\n\r\n".to_owned(), "400"),
        (
            "GET ftp://here/page.html HTTP/1.1\r\n\r\n".to_owned(),
            "400",
        ),
        (
            format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(5_000)),
            "404",
        ),
        (
            format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(crate::http::MAX_HEAD)),
            "431",
        ),
        (
            format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(200)),
            "431",
        ),
    ] {
        let (head, body) = server.ask(request.as_bytes());
        assert_eq!(
            status(&head),
            expected,
            "{}",
            &request[..request.len().min(60)]
        );
        assert!(
            body.starts_with(expected.as_bytes()),
            "the body says it, too"
        );
    }
    let (head, _) = server.get("/sub");
    assert_eq!(status(&head), "301");
    assert!(head.contains("Location: /sub/\r\n"), "{head}");
    assert!(
        server
            .ask(b"PUT / HTTP/1.1\r\n\r\n")
            .0
            .contains("Allow: GET, HEAD\r\n")
    );
    server.end();
}

#[test]
fn clients_that_vanish_or_dawdle_keep_nobody_else_waiting() {
    let server = Running::start();
    let mut silent = TcpStream::connect(server.address).unwrap();
    silent.write_all(b"GET /big.bin HT").unwrap();
    let mut reads_nothing = TcpStream::connect(server.address).unwrap();
    reads_nothing
        .write_all(b"GET /big.bin HTTP/1.1\r\n\r\n")
        .unwrap();
    drop(TcpStream::connect(server.address).unwrap());
    let mut half = TcpStream::connect(server.address).unwrap();
    half.write_all(b"GET /").unwrap();
    half.shutdown(Shutdown::Both).unwrap();
    assert_eq!(status(&server.get("/page.html").0), "200");
    // A request in two pieces is one request.
    silent.write_all(b"TP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    silent.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(&pattern(300_001)[299_000..]));
    drop(reads_nothing);
    assert_eq!(server.end(), 5);
}

/// More than the kernel keeps for a client that does not read.
const HUGE: u64 = 16 << 20;

/// Asks for more than it takes; the first bytes have come.
fn begin_huge(server: &Running) -> TcpStream {
    // Without a byte on the disk; not made anew under clients that are being served.
    let path = server.outside.path().join("root/huge.bin");
    let huge = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    huge.set_len(HUGE).unwrap();
    let mut client = TcpStream::connect(server.address).unwrap();
    client.write_all(b"GET /huge.bin HTTP/1.1\r\n\r\n").unwrap();
    client.read_exact(&mut [0; 12]).unwrap();
    client
}

fn read_rest(mut client: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    rest
}

#[test]
fn behind_crowds_that_say_nothing_and_that_read_nothing_the_next_client_is_served_while_they_stay()
{
    let server = Running::start();
    let silent: Vec<_> = (0..100)
        .map(|_| TcpStream::connect(server.address).unwrap())
        .collect();
    let mut deaf: Vec<_> = (0..40).map(|_| begin_huge(&server)).collect();
    assert_eq!(status(&server.get("/page.html").0), "200");
    for client in &silent {
        client.set_nonblocking(true).unwrap();
        let said = (&*client).read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(
            said,
            Err(ErrorKind::WouldBlock),
            "it was let go before others were served"
        );
    }
    let rest = read_rest(deaf.swap_remove(0));
    assert!(
        rest.len() as u64 > HUGE,
        "it was let go before others were served"
    );
    drop((silent, deaf));
    server.end();
}

#[test]
fn when_the_server_stops_answers_are_ended_and_who_has_not_asked_yet_is_let_go() {
    let server = Running::start();
    let idle = TcpStream::connect(server.address).unwrap();
    let mut half = TcpStream::connect(server.address).unwrap();
    half.write_all(b"GET /page.html HT").unwrap();
    let busy = begin_huge(&server);
    // A client that came later has been served, so these have threads.
    assert_eq!(status(&server.get("/page.html").0), "200");
    server.stop.stop();
    assert_eq!(read_rest(idle), b"", "without a word");
    assert!(read_rest(half).starts_with(b"HTTP/1.1 503 Service Unavailable\r\n"));
    assert!(
        read_rest(busy).len() as u64 > HUGE,
        "what was begun is ended"
    );
    assert_eq!(server.end(), 4);
}

#[test]
fn many_clients_at_a_time_each_get_the_whole_file() {
    let server = Running::start();
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let (head, body) = server.get("/big.bin");
                assert_eq!(status(&head), "200");
                assert!(body == pattern(300_001));
            });
        }
    });
    assert_eq!(server.end(), 100);
}

#[test]
fn a_root_that_is_none_and_a_port_that_is_taken_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |root: &Path, port| FileServer::bind(root, port).err().unwrap().to_string();
    let missing = refusal(&folder.path().join("missing"), 0);
    assert!(
        missing.starts_with("--root ") && missing.contains("No such file"),
        "{missing}"
    );
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(refusal(&file, 0).contains("Not a directory"));
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let message = refusal(folder.path(), port);
    assert!(message.contains(&format!("--port {port}: ")), "{message}");
    assert!(message.contains("choose another one"), "{message}");
}
