//! Requests and answers, one line of JSON each.

use std::io::{self, BufRead, Write};

use protocol::{Failure, Outcome, Refusal, Request};

/// Longest request that is read, in bytes; a real one has some hundred.
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
    use proptest::prelude::*;

    use super::*;
    use crate::counted::peak_bytes;

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
    fn a_refusal_is_one_line_and_exit_code_2() {
        let (text, code) = answered(Failure::Refused {
            message: "no".to_owned(),
        });
        assert_eq!(
            (text.as_str(), code),
            ("{\"failure\":\"refused\",\"message\":\"no\"}\n", 2)
        );
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
        let refused = Err(Failure::Refused {
            message: "no".to_owned(),
        });
        assert!(answer(&refused, &mut Closed).is_err());
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

    /// A line with all fields of a request.
    fn whole_line() -> Vec<u8> {
        let mut request = Request::tiny("packets");
        request.parameters = (0..20)
            .map(|n| (format!("name-{n}"), "value".to_owned()))
            .collect();
        request.input = Some("no/such/file".into());
        request.hang_after_ms = Some(5);
        serde_json::to_vec(&request).expect("plain data")
    }

    /// Reads whatever it is: no panic, and no more memory than the line is worth. A parameter of
    /// six bytes takes two strings in a tree of half-full nodes.
    fn survives(line: &[u8]) -> Result<Request, Failure> {
        let (read, peak) = peak_bytes(|| read_request(line));
        let bound = 40 * line.len() + 4_096;
        assert!(
            peak <= bound,
            "{peak} bytes for {:?}",
            String::from_utf8_lossy(line)
        );
        read
    }

    #[test]
    fn a_whole_line_is_a_request() {
        let request = survives(&whole_line()).expect("it is sound");
        assert_eq!(
            (request.workload.as_str(), request.parameters.len()),
            ("packets", 20)
        );
    }

    const STUMBLING: [&str; 9] = [
        "1e999",
        "-1",
        "18446744073709551616",
        "[[[[",
        "{",
        "\"",
        "\\ud800",
        "null",
        "\0",
    ];

    /// Puts what a parser may stumble over in places of a whole line.
    fn damaged() -> impl Strategy<Value = Vec<u8>> {
        let damage = (
            any::<prop::sample::Index>(),
            0..12_usize,
            prop::sample::select(&STUMBLING[..]),
        );
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
