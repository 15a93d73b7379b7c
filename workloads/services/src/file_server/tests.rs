use std::fs;
use std::os::unix::fs::symlink;
use std::thread;

use tempfile::TempDir;

use super::*;

struct Running {
    outside: TempDir,
    address: SocketAddr,
}

/// Bytes of a file that is longer than the kernel's buffer for a client that does not read.
const HUGE: usize = 16 << 20;

impl Running {
    fn start() -> Self {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::write(outside.path().join("secret"), "SECRET").unwrap();
        fs::write(root.join("page.html"), "<title>a page</title>").unwrap();
        fs::write(root.join("with space & ü.txt"), "spaced").unwrap();
        fs::write(root.join("empty"), "").unwrap();
        fs::write(root.join("big.bin"), pattern()).unwrap();
        // A sparse file, which takes no space on the disk.
        let huge = File::create(root.join("huge.bin")).unwrap();
        huge.set_len(HUGE as u64).unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink(outside.path().join("secret"), root.join("absolute-out")).unwrap();
        symlink(outside.path(), root.join("folder-out")).unwrap();
        symlink("page.html", root.join("within.html")).unwrap();
        let server = FileServer::bind(&root, 0).unwrap();
        let address = server.address().unwrap();
        thread::spawn(move || server.run());
        Self { outside, address }
    }

    fn connect(&self, request: &str) -> TcpStream {
        let mut connection = TcpStream::connect(self.address).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        connection
    }

    fn ask(&self, request: &str) -> (u16, Vec<u8>) {
        let mut answer = read_rest(self.connect(request));
        let mut ends = answer.windows(4);
        let end = ends.position(|it| it == b"\r\n\r\n").expect("a whole head") + 4;
        let body = answer.split_off(end);
        let head = String::from_utf8(answer).unwrap();
        let length = format!("\r\nContent-Length: {}\r\n", body.len());
        assert!(head.contains(&length), "{head}");
        (head[9..12].parse().unwrap(), body)
    }
}

fn pattern() -> Vec<u8> {
    (0..300_001_u32).map(|place| (place % 251) as u8).collect()
}

fn read_rest(mut client: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    rest
}

#[test]
fn files_below_the_root_come_whole_and_all_other_requests_have_a_status() {
    let server = Running::start();
    let page = b"<title>a page</title>".to_vec();
    for (target, body) in [
        ("/page.html?query#part", &page),
        ("/within.html", &page),
        ("/sub/%2e%2e/page.html", &page),
        ("/with%20space%20&%20%C3%BC.txt", &b"spaced".to_vec()),
        ("/empty", &Vec::new()),
        ("/big.bin", &pattern()),
    ] {
        let answer = server.ask(&format!("GET {target} HTTP/1.1\r\n\r\n"));
        assert!(answer == (200, body.clone()), "{target}");
    }
    let absolute = server.outside.path().join("secret");
    let absolute = absolute.to_str().unwrap();
    for target in [
        "/missing",
        "/page.html/more",
        "/",
        "/sub",
        "/../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/sub/%2e%2e/%2e%2e/secret",
        &format!("/{absolute}"),
        &format!("/%2f{absolute}"),
        "/out",
        "/absolute-out",
        "/folder-out/secret",
        "/page.html%00",
        "/..%00/secret",
    ] {
        let (status, _) = server.ask(&format!("GET {target} HTTP/1.1\r\n\r\n"));
        assert_eq!(status, 404, "{target}");
    }
    let large = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(MAX_HEAD));
    for (request, expected) in [
        ("POST /page.html HTTP/1.1\r\n\r\n", 501),
        ("complete nonsense\r\n\r\n", 400),
        (&large, 431),
    ] {
        assert_eq!(server.ask(request).0, expected, "{request}");
    }
}

#[test]
fn clients_that_say_or_read_nothing_or_leave_keep_nobody_else_waiting() {
    let server = Running::start();
    let silent: Vec<_> = (0..100).map(|_| server.connect("")).collect();
    let huge = "GET /huge.bin HTTP/1.1\r\n\r\n";
    let mut deaf: Vec<_> = (0..40).map(|_| server.connect(huge)).collect();
    let mut half = server.connect("GET /big.bin HT");
    drop(server.connect("GET /"));
    assert_eq!(server.ask("GET /empty HTTP/1.1\r\n\r\n").0, 200);
    for client in &silent {
        client.set_nonblocking(true).unwrap();
        let said = (&*client).read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(said, Err(io::ErrorKind::WouldBlock), "closed too early");
    }
    // A request in two pieces is one request.
    half.write_all(b"TP/1.1\r\n\r\n").unwrap();
    assert!(read_rest(half).ends_with(&pattern()));
    let rest = read_rest(deaf.swap_remove(0));
    assert!(rest.len() > HUGE, "closed too early");
}

#[test]
fn a_root_that_is_none_and_a_port_that_is_taken_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |root: &Path, port| FileServer::bind(root, port).err().unwrap().to_string();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(refusal(&file, 0).contains("Not a directory"));
    let taken = TcpListener::bind(crate::net::LOOPBACK).unwrap();
    let port = taken.local_addr().unwrap().port();
    let message = refusal(folder.path(), port);
    assert!(message.contains(&format!("--port {port}: ")), "{message}");
}
