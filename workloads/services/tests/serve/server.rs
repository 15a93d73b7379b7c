//! A running `service serve`, and its requests with every kind of handlers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of every wait. A guess: longer than any wait takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_service"))
}

/// A running server; killed if a test gives up on it.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) out: BufReader<ChildStdout>,
    pub(crate) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has already ended if the test passed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub(crate) fn start(service: &str, arguments: &[&str]) -> Self {
        let mut child = program()
            .args(["serve", service])
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

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends `text`, shuts the stream for writing, and returns the whole answer.
    pub(crate) fn talk(&self, text: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(crate) fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Interrupts the server, and returns its report.
    pub(crate) fn end(mut self) -> String {
        self.interrupt();
        let mut report = String::new();
        self.out.read_to_string(&mut report).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        report
    }
}

/// Waits until `is_so` returns `true`.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
