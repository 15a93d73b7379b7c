//! Clients of other makers. One that is not installed is skipped, and its test says so.

use std::fs;
use std::process::Command;

use crate::server::{ARRANGEMENTS, Server};
use crate::{post, statuses};

/// Output of a program that need not be installed.
fn stock(program: &str, arguments: &[&str]) -> Option<String> {
    let Ok(output) = Command::new(program).args(arguments).output() else {
        eprintln!("SKIPPED: {program} is not installed (Debian package {program})");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program}: {text}{:?}",
        output.stderr
    );
    Some(text)
}

#[test]
fn curl_stores_reads_and_removes_a_document() {
    let server = Server::start("kv", &[]);
    let url = format!("http://{}/letter", server.address);
    let curl = |arguments: &[&str]| {
        stock(
            "curl",
            &[&["-sS", "-w", " %{http_code}", &url][..], arguments].concat(),
        )
    };
    // Above 1 MiB curl would ask for leave first; the bound of documents lies below.
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
    assert_eq!(
        curl(&["-I"]).unwrap().split("\r\n").next(),
        Some("HTTP/1.1 405 Method Not Allowed")
    );
    assert_eq!(curl(&["-0"]).unwrap(), "there is no such document\n 404");
}

#[test]
fn httperf_has_all_its_sessions_answered() {
    for arrangement in ARRANGEMENTS {
        let server = Server::start("kv", arrangement);
        let (host, port) = server.address.split_once(':').unwrap();
        let calls = [
            "--server",
            host,
            "--port",
            port,
            "--num-conns",
            "20",
            "--num-calls",
            "10",
        ];
        let Some(text) = stock("httperf", &calls) else {
            return;
        };
        assert!(
            text.contains("connections 20 requests 200 replies 200"),
            "{text}"
        );
        assert!(text.contains("Errors: total 0"), "{text}");
        assert!(server.end().contains("200 GET with status 404"));
    }
}

#[test]
fn wrk_finds_no_errors_of_sockets() {
    for arrangement in ARRANGEMENTS {
        let server = Server::start("kv", arrangement);
        assert_eq!(statuses(&server.talk(&post("a", "x"))), [201]);
        let url = format!("http://{}/a", server.address);
        let Some(text) = stock("wrk", &["-t", "1", "-c", "4", "-d", "1s", &url]) else {
            return;
        };
        assert!(text.contains("Requests/sec:"), "{text}");
        assert!(
            !text.contains("Socket errors") && !text.contains("Non-2xx"),
            "{text}"
        );
    }
}
