//! Reads one request and prints one record. With arguments, tries a service by hand, or runs its
//! server alone.

use std::io::{self, IsTerminal, Write as _};
use std::mem;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};
use services::file_server::FileServer;
use services::{SERVICES, serve};
use workloads::cli::{self, HOST_FAILED, Run, print};

/// The name of the rayon-core that a build from this workspace is linked to.
const VARIANT: &str = "workspace";

/// Exit code of an interrupted program, as shells report it.
const INTERRUPTED: i32 = 130;

/// Try one service by hand, every answer checked, or run its server by itself.
///
/// Without arguments, reads one request as a line of JSON from standard input and prints one line.
/// Exit codes: 0 all good, 1 wrong answer or hang, 2 bad input, 4 the host failed (for example, the
/// output could not be written), 130 interrupted twice.
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
    Serve(AnyServer),
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
struct AnyServer {
    #[command(subcommand)]
    without_workload: Option<WithoutWorkload>,
    #[command(flatten)]
    service: Option<serve::Serve>,
}

#[derive(Subcommand)]
enum WithoutWorkload {
    /// Serve the files below a directory over HTTP, for curl or a browser; Ctrl-C ends it
    Files(Files),
}

#[derive(Args)]
struct Files {
    /// Directory whose files are served
    #[arg(long, value_name = "DIRECTORY")]
    root: PathBuf,
    /// Port on 127.0.0.1; 0 takes any free port
    #[arg(long, default_value_t = 8000)]
    port: u16,
}

fn main() -> ExitCode {
    // Without arguments the program expects a request of the runner. At a terminal, it prints its
    // help instead.
    if std::env::args_os().len() == 1 && !io::stdin().is_terminal() {
        return services::main(VARIANT);
    }
    match Cli::parse() {
        Cli {
            command: Some(Command::Serve(server)),
            ..
        } => match server {
            AnyServer {
                without_workload: Some(WithoutWorkload::Files(arguments)),
                ..
            } => serve_files(&arguments),
            AnyServer {
                service: Some(arguments),
                ..
            } => run_server(arguments),
            AnyServer { .. } => usage(),
        },
        Cli { run: Some(run), .. } => cli::run(VARIANT, SERVICES, run),
        _ => usage(),
    }
}

/// Prints the help, because there are no arguments.
fn usage() -> ExitCode {
    eprint!("{}", Cli::command().render_help());
    ExitCode::from(2)
}

/// Serves until the first signal to end; the address is the first line of standard output.
fn run_server(mut arguments: serve::Serve) -> ExitCode {
    let parameters = match cli::unique(mem::take(&mut arguments.settings)) {
        Ok(parameters) => parameters,
        Err(code) => return code,
    };
    let ready = |address: SocketAddr, stop: serve::Stop| {
        on_interrupt(move || stop.stop());
        announce(&address.to_string());
        eprintln!("serving; Ctrl-C ends it, a second one at once");
    };
    match serve::serve(&arguments, &parameters, ready) {
        Ok(report) => print(&report, 0),
        Err(refusal) => {
            eprintln!("error: {refusal}");
            ExitCode::from(2)
        }
    }
}

/// Serves files until the first signal to end.
fn serve_files(arguments: &Files) -> ExitCode {
    let server = match FileServer::bind(&arguments.root, arguments.port) {
        Ok(server) => server,
        Err(refusal) => {
            eprintln!("error: {refusal}");
            return ExitCode::from(2);
        }
    };
    let stop = server.stop_handle();
    on_interrupt(move || stop.stop());
    let outcome = server.address().and_then(|address| {
        announce(&format!("http://{address}/"));
        eprintln!("serving; Ctrl-C ends it, a second one at once");
        server.run()
    });
    match outcome {
        Ok(counts) => print(&format!("{counts}\n"), 0),
        Err(error) => {
            eprintln!("error: the file server cannot continue: {error}");
            ExitCode::from(HOST_FAILED)
        }
    }
}

/// Calls `stop` at the first signal to end; the second one ends the process at once.
fn on_interrupt(stop: impl Fn() + Send + 'static) {
    let mut is_second = false;
    let handled = ctrlc::set_handler(move || {
        if is_second {
            std::process::exit(INTERRUPTED);
        }
        is_second = true;
        stop();
    });
    if let Err(error) = handled {
        eprintln!("warning: signals cannot be handled ({error}); end the server with SIGKILL");
    }
}

/// Prints the address of a server. The server runs even if that fails.
fn announce(address: &str) {
    if let Err(error) = writeln!(io::stdout(), "{address}") {
        eprintln!("warning: standard output: {error}; the server is at {address}");
    }
}
