//! Functions with which a program reads its request and writes its outcome, each as one line of
//! JSON.
//!
//! These functions are not generic, so that their code is compiled with this crate: once for all branches, and not once
//! for each.

use std::fmt::Display;
use std::io::{self, BufRead, Read as _, Write};

use crate::{Failure, Outcome, Refusal, Request};

/// The longest request that a program reads, in bytes. The runner's requests have a few hundred
/// bytes.
const MAX_REQUEST_BYTES: u64 = 1 << 20;

/// Reads a request.
///
/// # Errors
/// If the first line is no request, or has more than 1 MiB.
pub fn read_request(input: &mut dyn BufRead) -> Result<Request, Failure> {
    let refuse = |error: &dyn Display| {
        Failure::from(Refusal::new(format!(
            "standard input: {error}; expected a request as one line of JSON"
        )))
    };
    let mut line = String::new();
    input
        .take(MAX_REQUEST_BYTES)
        .read_line(&mut line)
        .map_err(|error| refuse(&error))?;
    serde_json::from_str(&line).map_err(|error| refuse(&error))
}

/// Writes the outcome or the failure, and returns the exit code that the process must end with.
///
/// # Errors
/// If `output` cannot be written.
pub fn answer(result: &Result<Outcome, Failure>, output: &mut dyn Write) -> io::Result<u8> {
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
        let (text, code) = answered(Failure::WrongAnswer {
            iteration: 3,
            expected,
            actual,
        });
        assert_eq!(code, 1);
        assert_eq!(
            text,
            "{\"failure\":\"wrong-answer\",\"iteration\":3,\"expected\":\"55\",\"actual\":\"54\\n\"}\n"
        );
    }

    #[test]
    fn a_request_longer_than_any_real_one_is_refused_instead_of_read() {
        for endless in [b'x', b'[', b' ', b'"'] {
            let mut endless = io::BufReader::new(io::repeat(endless));
            assert!(matches!(
                read_request(&mut endless),
                Err(Failure::Refused { .. })
            ));
        }
    }
}
