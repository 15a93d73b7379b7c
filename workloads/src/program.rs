//! The main function of a program for trials, which reads one request and prints one result.

use std::io;
use std::process::ExitCode;

use crate::catalogue::{self, Catalogue};
use crate::machine;
use crate::measure;
use crate::observer::Observer;
use protocol::lines::{answer, read_request};

/// Exit code if the host fails: the output is lost.
pub const HOST_FAILED: u8 = 4;

/// Reads one [`protocol::Request`] line from standard input, and prints one line on standard
/// output. That line is an outcome (exit code 0) or a failure (1 for a wrong answer or a hang, 2
/// for a refusal). The exit code is 4 if the line cannot be written.
///
/// # Panics
/// If a workload panics: the process then ends with code 101 and the message on standard error.
#[must_use]
pub fn main(variant: &'static str, catalogue: &'static Catalogue) -> ExitCode {
    respond(variant, catalogue, None)
}

/// Does the same as [`main`] in an instrumented build, whose outcomes also contain the counts of
/// `observer`. Do not use the times of instrumented builds as results.
///
/// # Panics
/// Panics in the same cases as [`main`].
#[must_use]
pub fn main_instrumented(
    variant: &'static str,
    catalogue: &'static Catalogue,
    observer: &'static dyn Observer,
) -> ExitCode {
    respond(variant, catalogue, Some(observer))
}

fn respond(
    variant: &'static str,
    catalogue: &'static Catalogue,
    observer: Option<&'static dyn Observer>,
) -> ExitCode {
    let serve = |request| {
        machine::run(request, move |request| {
            let workload = catalogue::find(catalogue, &request.workload)?;
            measure::trial(variant, workload, request, observer)
        })
    };
    let result = read_request(&mut io::stdin().lock()).and_then(serve);
    match answer(&result, &mut io::stdout()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: standard output: {error}; the answer is lost");
            ExitCode::from(HOST_FAILED)
        }
    }
}
