//! `cargo runner …`: parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    match runner::cli::run() {
        Ok(exit) => ExitCode::from(exit.code()),
        // The reader of our output has enough of it: `… | head` is no failure.
        Err(error) if runner::stop::exit::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            runner::run::progress::tell(&format!("error: {error:#}"));
            ExitCode::from(runner::stop::exit::exit_of(&error).code())
        }
    }
}
