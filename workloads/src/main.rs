//! One request in, one answer out; or, with arguments, a workload tried by hand.

mod cli;

use std::io::IsTerminal;
use std::process::ExitCode;

/// What a build from this workspace calls the rayon-core it is linked to.
const VARIANT: &str = "workspace";

fn main() -> ExitCode {
    // Without arguments the program speaks the runner's protocol; a person at a terminal gets the
    // help.
    if std::env::args_os().len() == 1 && !std::io::stdin().is_terminal() {
        workloads::main(VARIANT)
    } else {
        cli::main(VARIANT)
    }
}
