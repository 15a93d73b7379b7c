//! Programs that load a work-stealing pool, each with a sequential twin and a checked answer.
//!
//! The catalogue is [`workload::catalogue`]; one trial is [`measure::run`]; [`main`] is a whole
//! program around it, which a build of any rayon-core calls with the name of its variant.

pub mod checksum;
#[cfg(test)]
mod counted;
#[cfg(feature = "cli")]
pub mod file_server;
mod http_target;
pub mod kinds;
pub mod measure;
mod net;
pub mod observer;
pub mod pcap;
mod placement;
mod queue;
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
use protocol::{Failure, Outcome, Refusal, Request};

/// Longest request that is read, in bytes; a real one has some hundred.
const MAX_REQUEST_BYTES: u64 = 1 << 20;

/// Exit code if the answer cannot be told, as the runner has it for a host that fails.
const HOST_FAILED: u8 = 4;

/// Reads one [`Request`] line from standard input and answers with one line on standard output: an
/// [`Outcome`] (exit code 0) or a [`Failure`] (1 for a wrong answer or a hang, 2 for a refusal). 4 if the answer
/// cannot be written.
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
            ExitCode::from(HOST_FAILED)
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
    use proptest::prelude::*;

    use super::counted::peak_bytes;
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
        for endless in [b'x', b'[', b' ', b'"'] {
            let endless = io::BufReader::new(io::repeat(endless));
            assert!(matches!(read_request(endless), Err(Failure::Refused { .. })));
        }
    }

    /// A line with all fields of a request.
    fn whole_line() -> Vec<u8> {
        let mut request = Request::tiny("packets");
        request.parameters = (0..20).map(|n| (format!("name-{n}"), "value".to_owned())).collect();
        request.input = Some("no/such/file".into());
        request.hang_after_ms = Some(5);
        serde_json::to_vec(&request).expect("plain data")
    }

    /// Reads whatever it is: no panic, and no more memory than the line is worth. A parameter of six bytes
    /// takes two strings in a tree of half-full nodes.
    fn survives(line: &[u8]) -> Result<Request, Failure> {
        let (read, peak) = peak_bytes(|| read_request(line));
        let bound = 40 * line.len() + 4_096;
        assert!(peak <= bound, "{peak} bytes for {:?}", String::from_utf8_lossy(line));
        read
    }

    #[test]
    fn a_whole_line_is_a_request() {
        let request = survives(&whole_line()).expect("it is sound");
        assert_eq!((request.workload.as_str(), request.parameters.len()), ("packets", 20));
    }

    const STUMBLING: [&str; 9] =
        ["1e999", "-1", "18446744073709551616", "[[[[", "{", "\"", "\\ud800", "null", "\0"];

    /// Puts what a parser may stumble over in places of a whole line.
    fn damaged() -> impl Strategy<Value = Vec<u8>> {
        let damage =
            (any::<prop::sample::Index>(), 0..12_usize, prop::sample::select(&STUMBLING[..]));
        prop::collection::vec(damage, 1..5).prop_map(|damages| {
            let mut line = whole_line();
            for (place, length, part) in damages {
                let from = place.index(line.len());
                let to = line.len().min(from + length);
                line.splice(from..to, part.bytes());
            }
            line
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 400 }))]

        #[test]
        fn no_bytes_make_the_reader_of_requests_panic_or_take_memory(
            line in prop::collection::vec(any::<u8>(), 0..300)
        ) {
            prop_assert!(survives(&line).is_err());
        }

        #[test]
        fn no_damaged_request_makes_the_reader_panic_or_take_memory(line in damaged()) {
            let _ = survives(&line);
        }
    }
}
