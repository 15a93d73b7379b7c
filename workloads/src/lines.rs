//! Requests and results, one line of JSON each.

use std::io::{self, BufRead, Write};

use protocol::{Failure, Outcome, Refusal, Request};

/// Longest request that is read, in bytes; the runner's requests have a few hundred bytes.
const MAX_REQUEST_BYTES: u64 = 1 << 20;

pub(crate) fn read_request(input: impl BufRead) -> Result<Request, Failure> {
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
pub(crate) fn answer(result: &Result<Outcome, Failure>, output: &mut impl Write) -> io::Result<u8> {
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
            let endless = io::BufReader::new(io::repeat(endless));
            assert!(matches!(
                read_request(endless),
                Err(Failure::Refused { .. })
            ));
        }
    }
}
