//! The program behind `cargo runner`: calls the command line and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    match runner::cli::run() {
        Ok(exit) => ExitCode::from(exit.code()),
        // A reader that closes the pipe, as in `… | head`, is not a failure.
        Err(error) if runner::stop::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            runner::text::words::tell(&format!("error: {error:#}"));
            ExitCode::from(runner::exit::exit_of(&error).code())
        }
    }
}
