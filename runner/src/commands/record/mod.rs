//! `record`: runs any program that uses rayon once, and keeps in a file what it did on its pool.

pub(crate) mod show;

use std::fs;
use std::io::BufWriter;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use recording::layout::{FOLDER_VARIABLE, LIMIT_VARIABLE, MARK, SPLIT_VARIABLE};
use recording::{Recording, Tree};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

use crate::host::Host;
use crate::options::recording::stop_of;
use crate::stop::{Exit, Stop};
use crate::system::interrupt;
use crate::system::whole_file;

/// Arguments of `record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Threads of the program's pool, unless the program sets them. With one thread, no other
    /// worker disturbs a job's time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: u32,
    /// Number of threads for which parallel iterators split
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    split: u32,
    /// Limit of events in MiB, 16 bytes each; later events are left out
    #[arg(long, value_name = "MIB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=2048))]
    limit: u32,
    /// File to write [default: PROGRAM.recording.zst]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// Text that `--help` prints below the options.
pub(crate) const HELP: &str = "\
The program must be built with the checkout's rayon-core and its feature `record`; recording/README.md says how.

Example:
  cargo runner record -- target/release/my-program --its-own argument";

/// Folder in memory for recordings, if it exists, so that no disk delays the program.
const IN_MEMORY: &str = "/dev/shm";

pub(crate) fn run(arguments: &RecordArgs) -> Result<Exit> {
    let [word, rest @ ..] = &arguments.program[..] else {
        bail!("clap lets no empty list through")
    };
    let program = find(word)?;
    let name = program
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let output = arguments
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{name}.recording.zst")));
    if whole_file::is_same(&output, &program) {
        bail!(Stop::BadInput(format!(
            "--output {}: is the program itself, which would be lost; choose another file",
            output.display()
        )));
    }
    let recorder = Recorder::begin(output.clone())?;
    let mut command = recorder.command(&program);
    command
        .args(rest)
        .env(
            LIMIT_VARIABLE,
            (u64::from(arguments.limit) << 20).to_string(),
        )
        .env(SPLIT_VARIABLE, arguments.split.to_string())
        .env("RAYON_NUM_THREADS", arguments.threads.to_string());
    let status = wait(command, &program)?;
    let Some(recording) = recorder.end(name, how(status))? else {
        bail!(Stop::BadInput(why_nothing(&program)));
    };
    let path = output.display();
    // Prints the path first, because later steps may fail.
    tell!("written to {path}; `cargo runner show {path} --timeline timeline.json` draws it");
    if !status.success() {
        tell!(
            "the program ended with {}; the recording is complete up to that point",
            how(status)
        );
    }
    let tree = Tree::of(&recording).map_err(|error| stop_of(&path.to_string(), &error))?;
    let printed = show::print(&recording, &tree);
    if interrupt::is_requested() && !status.success() {
        bail!(Stop::Interrupted(format!(
            "interrupted; {path} has the recording up to that point"
        )));
    }
    if !status.success() {
        return Ok(Exit::TrialsFailed);
    }
    printed.map(|()| Exit::Good)
}

/// One run that records itself.
pub(super) struct Recorder {
    /// The folder for its events, which [`FOLDER_VARIABLE`] names to the program.
    folder: TempDir,
    output: PathBuf,
    started_ns: u64,
}

impl Recorder {
    /// Checks that `output` can be written before the program runs, and not after it.
    pub(super) fn begin(output: PathBuf) -> Result<Self> {
        whole_file::check_writable(&output)?;
        let folder = tempfile::tempdir_in(in_memory());
        Ok(Self {
            folder: folder.context("a folder for the events cannot be made")?,
            output,
            started_ns: monotonic_ns(),
        })
    }

    /// Returns the command that makes `binary` record itself.
    pub(super) fn command(&self, binary: &Path) -> Command {
        let mut command = Command::new(binary);
        command.env(FOLDER_VARIABLE, self.folder.path());
        command
    }

    /// Writes the recording; returns `None`, and writes no file, if there are no events.
    pub(super) fn end(self, program: String, ended: String) -> Result<Option<Recording>> {
        let ended_ns = monotonic_ns();
        let recorded =
            Recording::collect(self.folder.path()).map_err(|error| stop_of(&program, &error))?;
        let Some(mut recording) = recorded.filter(|it| !it.threads.is_empty()) else {
            return Ok(None);
        };
        let head = &mut recording.head;
        (head.program, head.ended) = (program, ended);
        head.processor = Host::default()
            .cpu_field("model name")
            .unwrap_or_else(|_| "unknown".to_owned());
        (head.started_ns, head.ended_ns) = (self.started_ns, ended_ns);
        write(&recording, &self.output)?;
        Ok(Some(recording))
    }
}

/// A folder in memory, or the one for temporary files.
fn in_memory() -> PathBuf {
    let folder = PathBuf::from(IN_MEMORY);
    if folder.is_dir() {
        folder
    } else {
        std::env::temp_dir()
    }
}

/// Writes the recording to the requested file. If that fails, keeps it in the folder of the events:
/// the program may have run for hours.
fn write(recording: &Recording, output: &Path) -> Result<()> {
    let Err(error) = whole_file::write(output, |file| recording.write(file)) else {
        return Ok(());
    };
    let kept = || {
        let file = tempfile::Builder::new()
            .prefix("work-stealing-")
            .suffix(".recording.zst")
            .tempfile_in(in_memory())?;
        recording.write(BufWriter::new(file.as_file()))?;
        Ok::<PathBuf, std::io::Error>(file.keep()?.1)
    };
    let place = kept().map_or_else(
        |_| "it cannot be kept elsewhere either, so it is lost".to_owned(),
        |path| {
            format!(
                "it is kept in {}; move it to another folder",
                path.display()
            )
        },
    );
    bail!(Stop::HostNotFit(format!(
        "--output {}: the recording cannot be written: {error}; {place}",
        output.display()
    )))
}

/// Finds the program's file as a shell does.
fn find(word: &str) -> Result<PathBuf> {
    let refuse =
        |what: &str| Stop::BadInput(format!("{word}: {what}; name a program that was built"));
    let path = if word.contains('/') {
        PathBuf::from(word)
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(word));
        paths
            .find(|path| path.is_file())
            .ok_or_else(|| refuse("no such program"))?
    };
    if !path.is_file() {
        bail!(refuse("no such file"));
    }
    Ok(path)
}

/// Runs the program to its end. An interrupt of this command also ends the program, whose
/// recording is kept.
fn wait(mut command: Command, program: &Path) -> Result<ExitStatus> {
    interrupt::install()?;
    let mut child = command.spawn().map_err(|error| {
        Stop::BadInput(format!("{}: cannot be started: {error}", program.display()))
    })?;
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, receiver) = channel();
    let waiter = std::thread::spawn(move || sender.send(child.wait()));
    let status = loop {
        match receiver.recv_timeout(Duration::from_millis(200)) {
            Ok(status) => break status,
            // Ctrl-C reaches the program by itself; other signals reach only this process.
            Err(RecvTimeoutError::Timeout) if interrupt::is_requested() => {
                process.map(|process| kill_process(process, Signal::KILL));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                bail!("the thread that waits for the program ended")
            }
        }
    };
    drop(waiter.join());
    status.with_context(|| format!("{} cannot be waited for", program.display()))
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let number = |part: i64| u64::try_from(part).unwrap_or(0);
    number(now.tv_sec) * 1_000_000_000 + number(now.tv_nsec)
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown end".to_owned(),
    }
}

/// Explains why nothing was recorded, and whether the program has the feature.
fn why_nothing(program: &Path) -> String {
    let can = fs::read(program).is_ok_and(|content| {
        let mark = MARK.as_bytes();
        content.windows(mark.len()).any(|window| window == mark)
    });
    let program = program.display();
    if can {
        format!(
            "{program}: is built to be recorded, but did not use a pool of rayon; give it arguments with which it does"
        )
    } else {
        format!(
            "{program}: recorded nothing. It uses no rayon, or another rayon-core, or starts a program that does. Build it \
             with `rayon-core = {{ version = \"1.13\", features = [\"record\"] }}` and a [patch.crates-io] to this checkout's \
             rayon-fork/, after `cargo update -p rayon-core` (`cargo tree -i rayon-core` must show 1.13.90); see \
             recording/README.md"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_refused_by_its_name() {
        for word in ["no/such/program", "no-such-program-anywhere"] {
            let error = find(word).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{word}: no such")), "{error}");
        }
        assert!(find("sh").unwrap().ends_with("sh"));
    }
}
