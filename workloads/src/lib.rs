//! Programs that load a work-stealing pool, each with a sequential twin and a checked answer.
//!
//! The catalogue is [`workload::catalogue`]; one trial is [`measure::run`]; [`main`] is a whole program
//! around it, which a build of any rayon-core calls with the name of its variant.

pub mod kinds;
pub mod measure;
pub mod parameters;
pub mod protocol;
pub mod random;
pub mod usage;
pub mod workload;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use protocol::{Failure, Outcome, Request};
use workload::Refusal;

/// Longest request that is read, in bytes; a real one has some hundred.
const MAX_REQUEST_BYTES: u64 = 1 << 20;

/// Reads one [`Request`] line from standard input and answers with one line on standard output: an [`Outcome`]
/// (exit code 0) or a [`Failure`] (1 for a wrong answer, 2 for a refusal).
///
/// # Panics
/// If a workload does: the process then ends with code 101 and the message on standard error.
#[must_use]
pub fn main(variant: &str) -> ExitCode {
    let result =
        read_request(io::stdin().lock()).and_then(|request| measure::run(variant, &request));
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
