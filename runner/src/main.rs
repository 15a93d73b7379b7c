//! `cargo runner …`: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    match runner::cli::run() {
        Ok(exit) => ExitCode::from(exit.code()),
        // The reader closed the pipe, as in `… | head`: that is not a failure.
        Err(error) if runner::stop::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            runner::text::words::tell(&format!("error: {error:#}"));
            ExitCode::from(runner::exit::exit_of(&error).code())
        }
    }
}
