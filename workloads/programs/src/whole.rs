//! One whole program as a workload.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use protocol::{Description, Metric, Refusal, WholeProgram};
use rayon::ThreadPool;
use sha2::{Digest as _, Sha256};
use workloads::usage::UsageSample;
use workloads::workload::{Instance, Mismatch, Setup, Workload};

use crate::inputs;

pub(crate) struct Whole {
    row: WholeProgram,
    description: Description,
    binary: Option<PathBuf>,
    /// The folder with the inputs and the known answers, which all branches share.
    common: PathBuf,
}

impl Whole {
    pub(crate) fn new(row: WholeProgram, binary: Option<PathBuf>, common: PathBuf) -> Self {
        Self {
            description: row.description(),
            row,
            binary,
            common,
        }
    }
}

impl Workload for Whole {
    fn description(&self) -> &Description {
        &self.description
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let WholeProgram {
            name,
            version,
            unit,
            ..
        } = &self.row;
        let Some(binary) = self.binary.clone() else {
            return Err(Refusal::new(format!(
                "this build has no program `{name}`; build the branch again"
            )));
        };
        let (amount, seed) = (setup.values.whole(unit), setup.seed);
        let made = self
            .row
            .input
            .map(|it| inputs::make(&self.common, it, amount, seed));
        let input = made
            .transpose()
            .map_err(|error| Refusal::new(format!("the input of `{name}`: {error}")))?
            .unwrap_or_default();
        let is_user = self.row.folder.is_some();
        let arguments = self
            .row
            .arguments
            .iter()
            .map(|argument| match argument.as_str() {
                own if is_user => own.into(),
                "{input}" => input.clone().into_os_string(),
                "{amount}" => amount.to_string().into(),
                "{seed}" => seed.to_string().into(),
                other => other.into(),
            });
        let version = version.as_deref().unwrap_or("own");
        Ok(Box::new(Run {
            binary,
            arguments: arguments.collect(),
            threads: setup.threads,
            amount,
            folder: self.row.folder.clone(),
            known: self
                .common
                .join(format!("{seed}-{amount}-{name}-{version}.answer")),
            floor_bytes: None,
            last: None,
        }))
    }
}

const PEAK_MEMORY: &str = "peak_memory";

/// The memory that this process may need while a program runs.
const SPARE_BYTES: u64 = 1 << 20;

fn peak_bytes() -> u64 {
    UsageSample::now().counts.max_rss_bytes
}

struct Run {
    binary: PathBuf,
    arguments: Vec<OsString>,
    threads: usize,
    amount: u64,
    /// The working folder of the user's own program; `None` for programs of `programs.toml`.
    folder: Option<PathBuf>,
    /// The file with a digest of the output of the very first run, on any branch.
    known: PathBuf,
    /// Peak memory of this process before the first run. The kernel reports at least as much for
    /// each process that this process starts.
    floor_bytes: Option<u64>,
    last: Option<io::Result<Output>>,
}

impl Run {
    fn run(&mut self, threads: usize) -> u64 {
        let mut command = Command::new(&self.binary);
        command
            .args(&self.arguments)
            .env("RAYON_NUM_THREADS", threads.to_string())
            .stdin(Stdio::null())
            // The runner keeps the standard error of a failed trial.
            .stderr(Stdio::inherit());
        if let Some(folder) = &self.folder {
            // This process discards the output of the user's own program, because the output would
            // count as this process's memory.
            command.current_dir(folder).stdout(Stdio::null());
        }
        self.floor_bytes.get_or_insert_with(peak_bytes);
        self.last = Some(command.output());
        self.amount
    }

    fn known(&self, answer: String) -> Result<String, Mismatch> {
        let wrong = |why: String| Mismatch {
            expected: format!("the output of the first run, in {}", self.known.display()),
            actual: why,
        };
        let first = match fs::read_to_string(&self.known) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = self.known.parent().unwrap_or(&self.known);
                let kept =
                    fs::create_dir_all(folder).and_then(|()| fs::write(&self.known, &answer));
                kept.map(|()| answer.clone())
            }
            read => read,
        };
        match first {
            Ok(first) if first == answer => Ok(answer),
            Ok(first) => Err(wrong(format!("{answer} instead of {first}"))),
            Err(error) => Err(wrong(error.to_string())),
        }
    }
}

impl Instance for Run {
    fn reset(&mut self) {
        self.last = None;
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(1)
    }

    /// The pool stays asleep, because the program has its own pool.
    fn run_on(&mut self, _: &ThreadPool) -> u64 {
        self.run(self.threads)
    }

    /// Returns the peak memory of the user's own program. The result is empty unless that memory
    /// exceeds the peak memory of this process before the first run by more than [`SPARE_BYTES`].
    fn metrics(&self) -> BTreeMap<String, Metric> {
        let peak = peak_bytes();
        let floor = self.floor_bytes.unwrap_or(peak);
        let is_reported = self.folder.is_some() && peak > floor + SPARE_BYTES;
        let metric = Metric {
            value: peak as f64,
            unit: "bytes".to_owned(),
        };
        is_reported
            .then(|| (PEAK_MEMORY.to_owned(), metric))
            .into_iter()
            .collect()
    }

    /// The answer is a digest of the output. The user's own program may print anything or nothing:
    /// its answer is that it ended without an error.
    fn check(&mut self) -> Result<String, Mismatch> {
        let expected = || "an orderly end and an output".to_owned();
        let wrong = |actual| Mismatch {
            expected: expected(),
            actual,
        };
        match self.last.take() {
            Some(Ok(Output { status, .. })) if status.success() && self.folder.is_some() => {
                Ok("an orderly end".to_owned())
            }
            Some(Ok(Output { status, stdout, .. })) if status.success() && !stdout.is_empty() => {
                let digest = Sha256::digest(&stdout);
                let start = digest
                    .iter()
                    .take(8)
                    .fold(0_u64, |it, byte| it << 8 | u64::from(*byte));
                self.known(format!("{start:016x}"))
            }
            Some(Ok(Output { status, .. })) if self.folder.is_some() => Err(Mismatch {
                expected: "exit status: 0".to_owned(),
                actual: status.to_string(),
            }),
            Some(Ok(Output { status, stdout, .. })) => {
                Err(wrong(format!("{status} and {} bytes", stdout.len())))
            }
            Some(Err(error)) => Err(wrong(format!("{}: {error}", self.binary.display()))),
            None => Err(wrong("no run".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use protocol::{Failure, Outcome, Program, Request, WholePrograms};
    use workloads::measure;

    use super::*;

    fn trial(
        common: &Path,
        script: &str,
        change: impl FnOnce(&mut Request),
    ) -> Result<Outcome, Failure> {
        let row = format!(
            "[[program]]\nname = \"mock\"\nsummary = \"\"\nstresses = \"\"\npackage = \"\"\nbinary = \"sh\"\n\
             arguments = [\"-c\", '''{script}''', \"{{amount}}\"]\nunit = \"lines\"\namounts = [7, 8, 9, 10]"
        );
        let rows: WholePrograms = toml::from_str(&row).unwrap();
        let whole = Whole::new(
            rows.program[0].clone(),
            Some("/bin/sh".into()),
            common.to_owned(),
        );
        let mut request = Request {
            iterations: 2,
            ..Request::tiny("mock")
        };
        change(&mut request);
        measure::trial("", &whole, &request, None)
    }

    fn alone(script: &str) -> Result<Outcome, Failure> {
        trial(tempfile::tempdir().unwrap().path(), script, |_| ())
    }

    #[test]
    fn a_program_is_reported_its_threads_and_how_much_it_has_to_do() {
        let common = tempfile::tempdir().unwrap();
        let script = "[ $RAYON_NUM_THREADS = 3 ] && echo $0";
        let outcome = trial(common.path(), script, |request| request.threads = 3).unwrap();
        assert_eq!(
            (outcome.iterations[1].work_units, outcome.work_unit.as_str()),
            (7, "lines")
        );
        assert_eq!(outcome.answer, alone("echo 7").unwrap().answer);
        let script = "[ $RAYON_NUM_THREADS = 1 ] && echo 7";
        let alone = trial(common.path(), script, |request| {
            request.program = Program::Sequential;
        });
        assert_eq!(alone.unwrap().answer, outcome.answer);
    }

    #[test]
    fn a_program_of_the_user_runs_in_its_folder_with_its_arguments_and_may_print_anything() {
        let common = tempfile::tempdir().unwrap();
        let home = tempfile::tempdir().unwrap();
        let run = |script: &str| {
            let arguments = ["-c", script, "{amount}"].map(str::to_owned).to_vec();
            let row = WholeProgram::of_user(
                "mine".to_owned(),
                "mine".to_owned(),
                "sh".to_owned(),
                home.path().to_owned(),
                arguments,
            );
            let whole = Whole::new(row, Some("/bin/sh".into()), common.path().to_owned());
            let request = Request {
                iterations: 2,
                threads: 3,
                ..Request::tiny("mine")
            };
            measure::trial("", &whole, &request, None)
        };
        let outcome =
            run("[ \"$0\" = '{amount}' ] && [ $RAYON_NUM_THREADS = 3 ] && echo $$ && echo > it");
        assert_eq!(outcome.unwrap().iterations[1].work_units, 1);
        assert!(home.path().join("it").exists());
        assert_eq!(run("true").unwrap().answer, "an orderly end");
        let failed = run("exit 7").unwrap_err();
        assert!(
            matches!(&failed, Failure::WrongAnswer { actual, .. } if actual == "exit status: 7"),
            "{failed:?}"
        );
    }

    #[test]
    fn the_peak_memory_of_a_program_is_reported_if_it_is_more_than_that_of_this_process() {
        let common = tempfile::tempdir().unwrap();
        let arguments = [
            "if=/dev/zero",
            "of=/dev/null",
            "bs=256M",
            "count=1",
            "status=none",
        ];
        let metrics = |path: &str, arguments: &[&str]| {
            let own = arguments.iter().map(|&it| it.to_owned()).collect();
            let [name, package, binary] = ["mine", "mine", "it"].map(str::to_owned);
            let home = common.path().to_owned();
            let row = WholeProgram::of_user(name, package, binary, home, own);
            let whole = Whole::new(row, Some(path.into()), common.path().to_owned());
            measure::trial("", &whole, &Request::tiny("mine"), None)
                .unwrap()
                .metrics
        };
        assert!(!metrics("/bin/true", &[]).contains_key(PEAK_MEMORY));
        let told = &metrics("/bin/dd", &arguments)[PEAK_MEMORY];
        assert!(told.value > f64::from(256 << 20), "{told:?}");
        assert!(told.value < f64::from(288 << 20), "{told:?}");
    }

    #[test]
    fn time_and_cpu_time_are_those_of_the_program() {
        let outcome = alone("i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; sleep 0.1; echo");
        for iteration in outcome.unwrap().iterations {
            let cpu = Duration::from_nanos(iteration.user_ns + iteration.system_ns);
            let elapsed = Duration::from_nanos(iteration.elapsed_ns);
            assert!(cpu > Duration::from_millis(5), "{iteration:?}");
            assert!(elapsed >= Duration::from_millis(100), "{iteration:?}");
        }
    }

    #[test]
    fn another_output_than_a_trial_before_or_than_before_in_a_trial_is_a_wrong_answer() {
        let common = tempfile::tempdir().unwrap();
        let trial = |script| trial(common.path(), script, |_| ());
        let known = trial("echo same").unwrap().answer;
        assert_eq!(trial("echo same").unwrap().answer, known);
        let other = trial("echo other").unwrap_err();
        assert!(
            matches!(other, Failure::WrongAnswer { iteration: 0, .. }),
            "{other:?}"
        );
        let changing = alone("echo $$").unwrap_err();
        assert!(
            matches!(changing, Failure::WrongAnswer { iteration: 1, .. }),
            "{changing:?}"
        );
    }

    #[test]
    fn a_program_that_fails_or_prints_nothing_is_a_wrong_answer_that_says_how() {
        for (script, told) in [
            ("echo; exit 7", "7"),
            ("true", "0 bytes"),
            ("kill -9 $$", "signal: 9"),
        ] {
            let Err(Failure::WrongAnswer { actual, .. }) = alone(script) else {
                panic!("{script} is no wrong answer")
            };
            assert!(actual.contains(told), "{script}: {actual}");
        }
    }

    #[test]
    fn the_file_of_rows_can_be_read_and_every_input_is_named() {
        let rows: WholePrograms = toml::from_str(crate::ROWS).unwrap();
        for row in rows.program {
            let is_named = row.arguments.iter().any(|it| it == "{input}");
            assert_eq!(is_named, row.input.is_some(), "{}", row.name);
            assert!(row.amounts.is_sorted(), "{}", row.name);
        }
    }
}
