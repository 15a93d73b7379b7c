//! The file server as its users meet it: with curl, a browser, and Ctrl-C. Where one of them is not
//! installed, its test says SKIPPED.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use assert_cmd::cargo::cargo_bin_cmd;

/// A running `service serve files`.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(root: &Path) -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_service")), root)
    }

    /// With so many descriptors at most.
    fn start_with_descriptors(limit: u32, root: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\"")]);
        shell.arg(env!("CARGO_BIN_EXE_service"));
        Self::start_by(shell, root)
    }

    fn start_by(mut program: Command, root: &Path) -> Self {
        let mut child = program
            .args(["serve", "files", "--port", "0", "--root"])
            .arg(root)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut url)
            .unwrap();
        assert!(url.starts_with("http://127.0.0.1:"), "{url}");
        Self {
            child,
            url: url.trim().to_owned(),
        }
    }

    fn address(&self) -> &str {
        self.url.trim_start_matches("http://").trim_end_matches('/')
    }

    fn signal(&self) {
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Sends SIGINT and waits; returns exit code and standard error.
    fn interrupt(mut self) -> (Option<i32>, String) {
        self.signal();
        let code = self.child.wait().unwrap().code();
        let mut said = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        (code, said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program's output, or nothing and a note if it is not installed.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) => {
            eprintln!("SKIPPED: {program}: {error}");
            None
        }
    }
}

#[test]
fn sigint_ends_it_with_success_and_says_how_many_it_served() {
    let root = tempfile::tempdir().unwrap();
    let (code, said) = Server::start(root.path()).interrupt();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("0 connections answered\n"), "{said}");
}

#[test]
fn a_second_sigint_ends_it_although_a_client_does_not_take_its_answer() {
    let root = tempfile::tempdir().unwrap();
    fs::File::create(root.path().join("huge"))
        .unwrap()
        .set_len(16 << 20)
        .unwrap();
    let server = Server::start(root.path());
    let mut deaf = TcpStream::connect(server.address()).unwrap();
    deaf.write_all(b"GET /huge HTTP/1.1\r\n\r\n").unwrap();
    deaf.read_exact(&mut [0; 12]).unwrap();
    server.signal();
    while TcpStream::connect(server.address()).is_ok() {
        // The first signal is being dealt with.
        std::thread::yield_now();
    }
    let (code, said) = server.interrupt();
    assert_eq!(code, Some(130), "{said}");
}

#[test]
fn curl_fetches_a_file_and_gets_none_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.txt"), "the text").unwrap();
    fs::write(folder.path().join("secret"), "SECRET").unwrap();
    let server = Server::start(&root);
    let fetch = |path: &str| {
        let url = format!("{}{path}", server.url);
        output(
            "curl",
            &[
                "--silent",
                "--include",
                "--path-as-is",
                "--max-time",
                "20",
                &url,
            ],
        )
    };
    if let Some(answer) = fetch("a.txt") {
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("Content-Type: text/plain\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nthe text"), "{answer}");
        let outside = fetch("../secret").unwrap();
        assert!(
            outside.starts_with("HTTP/1.1 403 Forbidden\r\n"),
            "{outside}"
        );
        assert!(!outside.contains("SECRET"), "{outside}");
        let (code, said) = server.interrupt();
        assert_eq!(code, Some(0));
        assert!(said.contains("2 connections answered"), "{said}");
    }
}

#[test]
fn a_browser_opens_a_page_with_what_the_page_asks_for() {
    let root = tempfile::tempdir().unwrap();
    let page =
        "<!doctype html><title>t</title><p id=p>before</p><script src=\"sub/after.js\"></script>";
    fs::write(root.path().join("index.html"), page).unwrap();
    fs::create_dir(root.path().join("sub")).unwrap();
    let script = "document.getElementById('p').textContent = 'a script was here'";
    fs::write(root.path().join("sub/after.js"), script).unwrap();
    let server = Server::start(root.path());
    let profile = tempfile::tempdir().unwrap();
    let arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--timeout=20000",
        &format!("--user-data-dir={}", profile.path().display()),
        "--dump-dom",
        &server.url,
    ];
    if let Some(page) = output("chromium", &arguments) {
        assert!(page.contains(">a script was here</p>"), "{page}");
    }
}

#[test]
fn more_clients_than_descriptors_wait_and_the_server_goes_on() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a.txt"), "the text").unwrap();
    let server = Server::start_with_descriptors(40, root.path());
    let connect = |_| TcpStream::connect(server.address()).unwrap();
    let mut crowd: Vec<_> = (0..60).map(connect).collect();
    for client in &mut crowd {
        client.write_all(b"GET /a.txt HTTP/1.1\r\n\r\n").unwrap();
    }
    for client in &mut crowd {
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
    }
    let (code, said) = server.interrupt();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("60 connections answered\n"), "{said}");
}

#[test]
fn a_root_that_is_missing_is_bad_input() {
    let assert = cargo_bin_cmd!("service")
        .args(["serve", "files", "--root", "no/such/folder"])
        .assert()
        .code(2);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(
        said.starts_with("error: --root no/such/folder: No such file"),
        "{said}"
    );
}
