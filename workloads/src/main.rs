//! Reads one request and prints one record. With arguments, runs a workload by hand.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use workloads::CATALOGUE;
use workloads::cli::{self, Run, line, print};
use workloads::pcap::{Capture, CheckResult, Link, Tally, verify};

/// The name of the rayon-core that a build from this workspace is linked to.
const VARIANT: &str = "workspace";

/// Exit code if a part of a capture cannot be read, and the rest has no wrong checksum.
const NOT_ALL_READ: u8 = 5;

/// Try one workload by hand, every answer checked.
///
/// Without arguments, reads one request as a line of JSON from standard input and prints one line.
/// Exit codes: 0 all good, 1 wrong answer or hang, 2 bad input, 4 the host failed (for example, the
/// output could not be written), 5 a capture could not be read completely.
#[derive(Parser)]
#[command(name = "workload", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Option<Run>,
}

#[derive(Subcommand)]
enum Command {
    /// Show every workload with its sizes and parameters
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the checksums of every packet in a capture; exit code 1 if some are wrong, 5 if none
    /// is and not all could be read
    Pcap {
        /// A pcap or pcapng file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

fn main() -> ExitCode {
    // Without arguments the program expects a request of the runner. At a terminal, it prints its
    // help instead.
    if std::env::args_os().len() == 1 && !std::io::stdin().is_terminal() {
        return workloads::main(VARIANT);
    }
    match Cli::parse() {
        Cli {
            command: Some(Command::List { json }),
            ..
        } => cli::list(CATALOGUE, json),
        Cli {
            command: Some(Command::Pcap { file }),
            ..
        } => pcap(&file),
        Cli { run: Some(run), .. } => cli::run(VARIANT, CATALOGUE, run),
        _ => usage(),
    }
}

/// Prints the help, because there are no arguments.
fn usage() -> ExitCode {
    eprint!("{}", Cli::command().render_help());
    ExitCode::from(2)
}

/// Prints every wrong packet, and the number of packets of each kind.
fn pcap(file: &Path) -> ExitCode {
    let capture = match Capture::read(file) {
        Ok(capture) => capture,
        Err(error) => {
            eprintln!("error: {}: {error}", file.display());
            return ExitCode::from(2);
        }
    };
    let mut text = String::new();
    let mut tally = Tally::default();
    let mut unread: BTreeMap<String, u64> = BTreeMap::new();
    for (index, frame) in capture.frames().iter().enumerate() {
        let result = verify(frame, capture.bytes_of(frame));
        if let CheckResult::Wrong(faults) = &result {
            for fault in faults {
                let (number, offset) = (index + 1, frame.bytes.start);
                line(
                    &mut text,
                    format_args!("packet {number} at byte {offset}: {fault}"),
                );
            }
        }
        if let (CheckResult::Unread, Link::Unknown(number)) = (&result, frame.link) {
            *unread
                .entry(format!("packets of link type {number}"))
                .or_insert(0) += 1;
        }
        tally.count(&result);
    }
    for (kind, count) in capture.unknown_blocks() {
        unread.insert(format!("blocks of unknown type {kind:#010x}"), *count);
    }
    for (what, count) in &unread {
        eprintln!("warning: {}: not read: {count} {what}", file.display());
    }
    line(&mut text, format_args!("{tally}"));
    let code = match (tally.wrong, unread.is_empty()) {
        (0, true) => 0,
        (0, false) => NOT_ALL_READ,
        _ => 1,
    };
    print(&text, code)
}
