//! Reads one request and prints one outcome or failure. With arguments, runs a workload by hand.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use workloads::CATALOGUE;
use workloads::cli::{self, Run};

/// The name of the rayon-core that a build from this workspace is linked to.
const VARIANT: &str = "workspace";

/// Try one workload by hand, every answer checked. `cargo runner list workloads` shows the
/// workloads.
///
/// Without arguments, reads one request as a line of JSON from standard input and prints one line.
/// Exit codes: 0 all good, 1 wrong answer or hang, 2 bad input, 4 the host failed (for example, the
/// output could not be written).
#[derive(Parser)]
#[command(name = "workload", version, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    run: Run,
}

fn main() -> ExitCode {
    // Without arguments the program expects a request of the runner, which no terminal sends.
    if std::env::args_os().len() == 1 && !std::io::stdin().is_terminal() {
        return workloads::main(VARIANT);
    }
    cli::run(VARIANT, CATALOGUE, Cli::parse().run)
}
