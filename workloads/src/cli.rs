//! Arguments of the program `workload`, and results for people.

mod files;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};
use protocol::{Failure, Iteration, Outcome, Placement, Program, Request, SCHEMA, Size};
use workloads::catalogue::{self, CATALOGUE};
use workloads::checksum;
use workloads::measure;
use workloads::pcap::{Capture, Link, Tally, Verdict, verify};
use workloads::serve;

/// Exit code of a host that fails: what should be printed is lost, or no thread can be had. The runner's.
const HOST_FAILED: u8 = 4;
/// Exit code if a capture holds what is not read, and nothing wrong was found in the rest.
const NOT_ALL_READ: u8 = 5;
/// Exit code of who was interrupted, as shells have it.
const INTERRUPTED: i32 = 130;

/// Try one workload by hand, every answer checked.
///
/// Without arguments, reads one request as a line of JSON from standard input and answers with one
/// line. Exit codes: 0 all good, 1 wrong answer or hang, 2 bad input, 4 the host failed, for example the answer could not be written,
/// 5 a capture could not be read completely, 130 interrupted twice.
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
    /// Run the server of a service workload alone, for curl, wrk, httperf or a terminal; Ctrl-C ends it
    Serve(AnyServer),
    /// Check the checksums of every packet in a capture; exit code 1 if any is wrong, 5 if none is wrong
    /// but some packets could not be read
    Pcap {
        /// A pcap or pcapng file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
struct AnyServer {
    #[command(subcommand)]
    without_workload: Option<WithoutWorkload>,
    #[command(flatten)]
    service: Option<Serve>,
}

#[derive(Subcommand)]
enum WithoutWorkload {
    /// Serve the files below a directory over HTTP, for curl or a browser; Ctrl-C ends it
    Files(files::Files),
}

#[derive(Args)]
struct Serve {
    /// kv or forum
    #[arg(value_name = "SERVICE")]
    service: String,
    /// Port on 127.0.0.1; 0 takes any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Threads of the pool, or handlers
    #[arg(long, short, default_value_t = 2)]
    threads: usize,
    /// Limit of open connections; further ones are refused
    #[arg(long, default_value_t = 512)]
    connections: usize,
    /// Limit in milliseconds for a whole request to arrive, and for its answer to be taken
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10_000)]
    request_timeout_ms: u64,
    /// Limit in milliseconds between two requests of a connection
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 60_000)]
    idle_timeout_ms: u64,
    /// A parameter of the workload that affects the server; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, String)>,
}

#[derive(Args)]
struct Run {
    /// A workload; see `list`
    #[arg(value_name = "WORKLOAD")]
    workload: String,
    /// Threads of the pool
    #[arg(long, short, default_value_t = 1)]
    threads: usize,
    /// Keep worker i of the pool on the i-th CPU; otherwise the kernel places it
    #[arg(long, conflicts_with = "sequential")]
    pinned: bool,
    /// tiny, small, medium or large
    #[arg(long, short, default_value = "small")]
    size: String,
    /// Timed iterations
    #[arg(long, short, default_value_t = 5)]
    iterations: u32,
    /// Untimed iterations before them
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
    /// Report a hang and end when an iteration takes longer than this many milliseconds
    #[arg(long, value_name = "MILLISECONDS")]
    hang_after_ms: Option<u64>,
    /// Run the sequential program, without any pool
    #[arg(long)]
    sequential: bool,
    /// Print what the runner gets: one line of JSON
    #[arg(long)]
    json: bool,
}

fn parse_setting(setting: &str) -> Result<(String, String), String> {
    let (name, value) = setting.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Does what the arguments say.
pub(crate) fn main(variant: &str) -> ExitCode {
    match Cli::parse() {
        Cli { command: Some(Command::List { json }), .. } => list(json),
        Cli { command: Some(Command::Pcap { file }), .. } => pcap(&file),
        Cli { command: Some(Command::Serve(server)), .. } => match server {
            AnyServer { without_workload: Some(WithoutWorkload::Files(arguments)), .. } => {
                files::serve(&arguments)
            }
            AnyServer { service: Some(arguments), .. } => run_server(arguments),
            AnyServer { .. } => usage(),
        },
        Cli { run: Some(run), .. } => try_workload(variant, run),
        _ => usage(),
    }
}

/// Nothing was asked for: says what can be.
fn usage() -> ExitCode {
    eprint!("{}", Cli::command().render_help());
    ExitCode::from(2)
}

fn list(json: bool) -> ExitCode {
    if json {
        return print(&catalogue::as_json(CATALOGUE), 0);
    }
    let mut text = String::new();
    for workload in CATALOGUE {
        let description = workload.description();
        line(&mut text, format_args!("{}: {}", description.name, description.summary));
        line(&mut text, format_args!("  stresses   {}", description.stresses));
        line(&mut text, format_args!("  work unit  {}", description.work_unit));
        if let Some(input) = description.input {
            line(&mut text, format_args!("  input      {input}"));
        }
        for parameter in description.parameters {
            line(&mut text, format_args!("  parameter  {}: {}", parameter.name, parameter.summary));
            line(
                &mut text,
                format_args!("             {}; default {}", parameter.accepts, parameter.default),
            );
        }
        for size in description.sizes {
            let set: Vec<String> =
                size.overrides.iter().map(|(name, value)| format!("{name}={value}")).collect();
            line(&mut text, format_args!("  size       {:<7} {}", size.size.name(), set.join(" ")));
        }
    }
    print(&text, 0)
}

/// Every wrong packet, and how many there were of each kind.
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
        let verdict = verify(frame, capture.bytes_of(frame), checksum::sum);
        if let Verdict::Wrong(faults) = &verdict {
            for fault in faults {
                let (number, offset) = (index + 1, frame.bytes.start);
                line(&mut text, format_args!("packet {number} at byte {offset}: {fault}"));
            }
        }
        if let (Verdict::Unread, Link::Unknown(number)) = (&verdict, frame.link) {
            *unread.entry(format!("packets of link type {number}")).or_insert(0) += 1;
        }
        tally.count(&verdict);
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

/// Each name once; otherwise says which is given twice.
fn unique(settings: Vec<(String, String)>) -> Result<BTreeMap<String, String>, ExitCode> {
    let mut parameters = BTreeMap::new();
    for (name, value) in settings {
        if parameters.insert(name.clone(), value).is_some() {
            eprintln!("error: --set {name}: given twice; give it once");
            return Err(ExitCode::from(2));
        }
    }
    Ok(parameters)
}

/// Serves until the first signal to end; the address is the first line of standard output.
fn run_server(arguments: Serve) -> ExitCode {
    let parameters = match unique(arguments.settings) {
        Ok(parameters) => parameters,
        Err(code) => return code,
    };
    let request = serve::Serve {
        service: arguments.service,
        port: arguments.port,
        threads: arguments.threads,
        connections: arguments.connections,
        request_timeout: Duration::from_millis(arguments.request_timeout_ms),
        idle_timeout: Duration::from_millis(arguments.idle_timeout_ms),
        parameters,
    };
    let ready = |address: SocketAddr, stop: serve::Stop| {
        on_interrupt(move || stop.stop());
        announce(&address.to_string());
        eprintln!("serving; Ctrl-C ends it, a second one at once");
    };
    match serve::serve(&request, ready) {
        Ok(report) => print(&report, 0),
        Err(refusal) => {
            eprintln!("error: {refusal}");
            ExitCode::from(2)
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

/// Prints where a server listens. Without a reader it serves all the same.
fn announce(address: &str) {
    if let Err(error) = writeln!(io::stdout(), "{address}") {
        eprintln!("warning: standard output: {error}; the server is at {address}");
    }
}

fn try_workload(variant: &str, run: Run) -> ExitCode {
    let parameters = match unique(run.settings) {
        Ok(parameters) => parameters,
        Err(code) => return code,
    };
    let request = Request {
        schema: SCHEMA,
        workload: run.workload,
        size: run.size,
        parameters,
        input: run.input,
        program: if run.sequential { Program::Sequential } else { Program::Parallel },
        threads: run.threads,
        placement: if run.pinned { Placement::Pinned } else { Placement::Free },
        seed: run.seed,
        warmup_iterations: run.warmup,
        iterations: run.iterations,
        hang_after_ms: run.hang_after_ms,
        prepare_only: false,
        trace: None,
    };
    let result = measure::run(variant, CATALOGUE, &request);
    let code = result.as_ref().err().map_or(0, Failure::exit_code);
    if run.json {
        let text = match &result {
            Ok(outcome) => serde_json::to_string(outcome),
            Err(failure) => serde_json::to_string(failure),
        };
        return print(&format!("{}\n", text.expect("answers are plain data")), code);
    }
    match result {
        Ok(outcome) => print(&describe(&request, &outcome), code),
        Err(Failure::Refused { message }) => {
            eprintln!("error: {message}");
            ExitCode::from(code)
        }
        Err(Failure::Hang { iteration, waited_ms }) => {
            eprintln!("error: iteration {iteration}: no further for {waited_ms} ms");
            ExitCode::from(code)
        }
        Err(Failure::WrongAnswer { iteration, expected, actual }) => {
            eprintln!("error: iteration {iteration}: expected {expected}, got {actual}");
            ExitCode::from(code)
        }
    }
}

/// A result for people.
fn describe(request: &Request, outcome: &Outcome) -> String {
    let mut text = String::new();
    let set: Vec<String> =
        outcome.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let size = Size::find(&request.size).map_or("", Size::name);
    line(&mut text, format_args!("{} {size}: {}", request.workload, set.join(" ")));
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
        line(&mut text, format_args!("{name}: {:.3} {}", metric.value, metric.unit));
    }
    text
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("a string takes everything");
}

/// Prints data; a reader who went away (`| head`) is no error.
fn print(text: &str, code: u8) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("error: standard output: {error}; the answer is lost");
            ExitCode::from(HOST_FAILED)
        }
        _ => ExitCode::from(code),
    }
}
