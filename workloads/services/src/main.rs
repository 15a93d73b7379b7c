//! Reads one request and prints one outcome or failure. With arguments, tries a service by hand, or
//! runs the server of a service alone.

use std::io::{self, IsTerminal};
use std::mem;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use services::{SERVICES, serve};
use workloads::cli::{self, Run, print};

/// The name of the rayon-core that a build from this workspace is linked to.
const VARIANT: &str = "workspace";

/// Try one service by hand, every answer checked, or run the server of a service alone.
///
/// Without arguments, reads one request as a line of JSON from standard input and prints one line.
/// Exit codes: 0 all good, 1 wrong answer or hang, 2 bad input, 4 the host failed (for example, the
/// output could not be written).
#[derive(Parser)]
#[command(name = "service", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Option<Run>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server of a service alone, for curl, wrk, httperf or a terminal; Ctrl-C ends it
    Serve(serve::Serve),
}

fn main() -> ExitCode {
    // Without arguments the program expects a request of the runner. At a terminal, the program
    // prints its help instead.
    if std::env::args_os().len() == 1 && !io::stdin().is_terminal() {
        return services::main(VARIANT);
    }
    match Cli::parse() {
        Cli {
            command: Some(Command::Serve(arguments)),
            ..
        } => run_server(arguments),
        Cli { run: Some(run), .. } => cli::run(VARIANT, SERVICES, run),
        _ => {
            eprint!("{}", Cli::command().render_help());
            ExitCode::from(2)
        }
    }
}

fn run_server(mut arguments: serve::Serve) -> ExitCode {
    let parameters = match cli::unique(mem::take(&mut arguments.settings)) {
        Ok(parameters) => parameters,
        Err(code) => return code,
    };
    match serve::serve(&arguments, &parameters) {
        Ok(report) => print(&report, 0),
        Err(refusal) => {
            eprintln!("error: {refusal}");
            ExitCode::from(2)
        }
    }
}
