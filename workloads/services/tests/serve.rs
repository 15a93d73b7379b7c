//! Tests `service serve` with plain TCP clients, curl, and a signal.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_service"));
    program.arg("serve");
    program
}

struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // These calls fail if the test has already ended the server.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut child = program()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut address = String::new();
        out.read_line(&mut address).unwrap();
        let address = address.trim_end().to_owned();
        Self {
            child,
            out,
            address,
        }
    }

    fn talk(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn end(mut self) -> String {
        let id = self.child.id().to_string();
        let mut kill = Command::new("kill");
        assert!(kill.args(["-INT", &id]).status().unwrap().success());
        let mut report = String::new();
        self.out.read_to_string(&mut report).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        report
    }
}

#[test]
fn what_cannot_be_served_is_refused_with_the_remedy() {
    let taken = Server::start(&["kv"]);
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
        let output = program().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn an_interrupted_server_reports_what_it_did() {
    let kv = Server::start(&["kv", "--set", "handlers=threads"]);
    let request = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx";
    assert!(kv.talk(request).starts_with("HTTP/1.1 201 Created\r\n"));
    let report = kv.end();
    let expected = "1 connections: 1 good, 0 failed\n1 documents stored\nservice_p50: ";
    assert!(report.starts_with(expected), "{report}");
    let forum = Server::start(&["forum"]);
    let answer = forum.talk("POST cats they purr\nREAD cats 0\nREAD cats 7\nREAD cats x\n");
    let expected = "OK 0\nOK they purr\nNONE\nERROR an index is a whole number of 64 bits\n";
    assert_eq!(answer, expected);
    assert_eq!(forum.end(), "1 connections: 1 good, 0 failed\n");
}

/// Returns the output of curl; `None` if curl is not installed.
fn curl(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("curl");
    let Ok(output) = command.arg("-sS").args(arguments).output() else {
        eprintln!("SKIPPED: curl is not installed");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn curl_stores_reads_and_removes_a_document_and_reads_a_file() {
    let server = Server::start(&["kv"]);
    let url = format!("http://{}/letter", server.address);
    let with_status = ["-w", " %{http_code}", &url];
    let ask = |arguments: &[&str]| curl(&[&with_status[..], arguments].concat());
    // For more than 1 MiB, curl would first send `Expect: 100-continue`. The server refuses such
    // documents anyway.
    let body = "a".repeat(900_000);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &body).unwrap();
    let data = format!("@{}", file.path().display());
    let Some(answer) = ask(&["--data-binary", &data]) else {
        return;
    };
    assert_eq!(answer, " 201");
    assert_eq!(ask(&[]).unwrap(), format!("{body} 200"));
    assert_eq!(ask(&["-X", "DELETE"]).unwrap(), " 204");
    assert_eq!(ask(&["-0"]).unwrap(), "there is no such document\n 404");
    let head = ask(&["-I"]).unwrap();
    assert!(head.starts_with("HTTP/1.1 501 Not Implemented\r\n"));
    let folder = file.path().parent().unwrap().to_str().unwrap();
    let files = Server::start(&["files", "--root", folder]);
    let name = file.path().file_name().unwrap().to_str().unwrap();
    let url = format!("http://{}/{name}", files.address);
    assert_eq!(curl(&[&url]).unwrap(), body);
}
