//! `cargo runner …`: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    match runner::cli::run() {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(runner::stop::exit_of(&error).code())
        }
    }
}
