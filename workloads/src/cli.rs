//! The common parts of programs that run a workload by hand: arguments, and results for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use protocol::{Failure, Iteration, Outcome, Program, Request, Size};

use crate::catalogue::Catalogue;
use crate::measure;
pub use crate::program::HOST_FAILED;

/// A workload to be tried, with its options.
#[derive(Args)]
pub struct Run {
    /// A workload
    #[arg(value_name = "WORKLOAD")]
    workload: String,
    /// Threads of the pool
    #[arg(long, short, default_value_t = 1)]
    threads: usize,
    /// tiny, small, medium or large
    #[arg(long, short, default_value = "small")]
    size: String,
    /// Timed iterations
    #[arg(long, short, default_value_t = 5)]
    iterations: u32,
    /// Untimed iterations before the timed ones
    #[arg(long, default_value_t = 1)]
    warmup: u32,
    /// Seed of the input
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A parameter of the workload; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, String)>,
    /// Instance file, for workloads that read one
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Run the sequential program, without any pool
    #[arg(long)]
    sequential: bool,
}

/// Reads `NAME=VALUE`.
///
/// # Errors
/// If `setting` has no `=`.
pub fn parse_setting(setting: &str) -> Result<(String, String), String> {
    let (name, value) = setting.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Collects the settings by name.
///
/// # Errors
/// If two settings have one name. The function has then printed a message.
pub fn unique(settings: Vec<(String, String)>) -> Result<BTreeMap<String, String>, ExitCode> {
    let mut parameters = BTreeMap::new();
    for (name, value) in settings {
        if parameters.insert(name.clone(), value).is_some() {
            eprintln!("error: --set {name}: given twice; give it once");
            return Err(ExitCode::from(2));
        }
    }
    Ok(parameters)
}

/// Runs the command of the arguments, and prints the result.
///
/// # Panics
/// If the workload panics.
#[must_use]
pub fn run(variant: &str, catalogue: &Catalogue, run: Run) -> ExitCode {
    let parameters = match unique(run.settings) {
        Ok(parameters) => parameters,
        Err(code) => return code,
    };
    let request = Request {
        size: run.size,
        parameters,
        input: run.input,
        program: if run.sequential {
            Program::Sequential
        } else {
            Program::Parallel
        },
        threads: run.threads,
        seed: run.seed,
        warmup_iterations: run.warmup,
        iterations: run.iterations,
        ..Request::tiny(&run.workload)
    };
    let result = measure::run(variant, catalogue, &request);
    let code = result.as_ref().err().map_or(0, Failure::exit_code);
    match result {
        Ok(outcome) => print(&describe(&request, &outcome), code),
        Err(Failure::Refused { message }) => {
            eprintln!("error: {message}");
            ExitCode::from(code)
        }
        Err(Failure::Hang {
            iteration,
            waited_ms,
        }) => {
            eprintln!("error: iteration {iteration}: no progress for {waited_ms} ms");
            ExitCode::from(code)
        }
        Err(Failure::WrongAnswer {
            iteration,
            expected,
            actual,
        }) => {
            eprintln!("error: iteration {iteration}: expected {expected}, got {actual}");
            ExitCode::from(code)
        }
    }
}

fn describe(request: &Request, outcome: &Outcome) -> String {
    let mut text = String::new();
    let set: Vec<String> = outcome
        .parameters
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let size = Size::find(&request.size).map_or("", Size::name);
    line(
        &mut text,
        format_args!("{} {size}: {}", request.workload, set.join(" ")),
    );
    line(&mut text, format_args!("answer: {}", outcome.answer));
    let mut iteration = |label: &str, iteration: &Iteration| {
        let time = |nanoseconds| Duration::from_nanos(nanoseconds).as_secs_f64() * 1e3;
        line(
            &mut text,
            format_args!(
                "{label:>8} {:>10.3} ms   cpu {:>10.3} ms user {:>9.3} ms system   {} {}",
                time(iteration.elapsed_ns),
                time(iteration.user_ns),
                time(iteration.system_ns),
                iteration.work_units,
                outcome.work_unit,
            ),
        );
    };
    for warmup in &outcome.warmup {
        iteration("warm-up", warmup);
    }
    for timed in &outcome.iterations {
        iteration("timed", timed);
    }
    for (name, metric) in &outcome.metrics {
        line(
            &mut text,
            format_args!("{name}: {:.3} {}", metric.value, metric.unit),
        );
    }
    text
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("writing to a string cannot fail");
}

/// Prints data. A reader that closes the pipe (`| head`) is no error.
#[must_use]
pub fn print(text: &str, code: u8) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("error: standard output: {error}; the answer is lost");
            ExitCode::from(HOST_FAILED)
        }
        _ => ExitCode::from(code),
    }
}
