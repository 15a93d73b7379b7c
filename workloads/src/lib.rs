//! Programs that load a work-stealing pool, each with a sequential twin and a checked answer.
//!
//! The catalogue is [`workload::catalogue`]; one trial is [`measure::run`]; [`main`] is a whole
//! program around it, which a build of any rayon-core calls with the name of its variant.

pub mod checksum;
#[cfg(feature = "cli")]
pub mod file_server;
pub mod kinds;
pub mod measure;
mod net;
pub mod observer;
pub mod parameters;
pub mod pcap;
pub mod protocol;
pub mod random;
pub mod serve;
mod threads;
pub mod trace;
pub mod usage;
pub mod user_threads;
mod watchdog;
pub mod workload;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use observer::Observer;
use protocol::{Failure, Outcome, Request};
use workload::Refusal;

/// Longest request that is read, in bytes; a real one has some hundred.
const MAX_REQUEST_BYTES: u64 = 1 << 20;

/// Reads one [`Request`] line from standard input and answers with one line on standard output: an
/// [`Outcome`] (exit code 0) or a [`Failure`] (1 for a wrong answer or a hang, 2 for a refusal).
///
/// # Panics
/// If a workload does: the process then ends with code 101 and the message on standard error.
#[must_use]
pub fn main(variant: &str) -> ExitCode {
    respond(|request| measure::run(variant, request))
}

/// [`main`] of an instrumented build, whose outcomes also say what `observer` counted. Its times
/// are worth nothing.
///
/// # Panics
/// As [`main`].
#[must_use]
pub fn main_instrumented(variant: &str, observer: &dyn Observer) -> ExitCode {
    respond(|request| measure::run_observed(variant, request, observer))
}

fn respond(run: impl FnOnce(&Request) -> Result<Outcome, Failure>) -> ExitCode {
    let result = read_request(io::stdin().lock()).and_then(|request| run(&request));
    match answer(&result, &mut io::stdout()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: standard output: {error}; the answer is lost");
            ExitCode::FAILURE
        }
    }
}

fn read_request(input: impl BufRead) -> Result<Request, Failure> {
    let refuse = |what: String| Failure::from(Refusal::new(format!("standard input: {what}")));
    let mut line = String::new();
    input
        .take(MAX_REQUEST_BYTES)
        .read_line(&mut line)
        .map_err(|error| refuse(format!("{error}; expected a request as one line of JSON")))?;
    serde_json::from_str(&line)
        .map_err(|error| refuse(format!("{error}; expected a request as one line of JSON")))
}

/// Writes the answer as one line; returns the exit code that goes with it.
fn answer(result: &Result<Outcome, Failure>, output: &mut impl Write) -> io::Result<u8> {
    let (line, code) = match result {
        Ok(outcome) => (serde_json::to_string(outcome)?, 0),
        Err(failure) => (serde_json::to_string(failure)?, failure.exit_code()),
    };
    writeln!(output, "{line}")?;
    output.flush()?;
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(failure: Failure) -> (String, u8) {
        let mut output = Vec::new();
        let code = answer(&Err(failure), &mut output).unwrap();
        (String::from_utf8(output).unwrap(), code)
    }

    #[test]
    fn a_wrong_answer_is_one_line_and_exit_code_1() {
        let (expected, actual) = ("55".to_owned(), "54\n".to_owned());
        let (text, code) = answered(Failure::WrongAnswer { iteration: 3, expected, actual });
        assert_eq!(code, 1);
        assert_eq!(
            text,
            "{\"failure\":\"wrong-answer\",\"iteration\":3,\"expected\":\"55\",\"actual\":\"54\\n\"}\n"
        );
    }

    #[test]
    fn a_refusal_is_one_line_and_exit_code_2() {
        let (text, code) = answered(Failure::Refused { message: "no".to_owned() });
        assert_eq!((text.as_str(), code), ("{\"failure\":\"refused\",\"message\":\"no\"}\n", 2));
    }

    #[test]
    fn an_answer_that_nobody_takes_is_an_error() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let refused = Err(Failure::Refused { message: "no".to_owned() });
        assert!(answer(&refused, &mut Closed).is_err());
    }

    #[test]
    fn a_request_longer_than_any_real_one_is_refused_instead_of_read() {
        let endless = io::BufReader::new(io::repeat(b'x'));
        assert!(matches!(read_request(endless), Err(Failure::Refused { .. })));
    }
}
