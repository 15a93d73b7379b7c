//! Tests the doctor on mock hosts. The table `doctor/hosts.txt` has mock hosts, most of them with
//! one fault or one unreadable file, and the doctor's findings on each.

use std::fs;
use std::path::Path;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;
use runner::host::Host;
use runner::host::doctor::Severity::{Unfit, Warning};
use runner::host::doctor::{Circumstances, Diagnosis, Severity, Stacking, examine, first_look};
use runner::host::frequency::clock::Clock;
use tempfile::TempDir;

use crate::common;

const HOSTS: &str = include_str!("doctor/hosts.txt");

struct Row<'a> {
    says: Vec<&'a str>,
    files: Vec<(&'a str, String)>,
}

fn rows() -> impl Iterator<Item = Row<'static>> {
    let rows = HOSTS.split("\n\n").map(|paragraph| {
        let lines = paragraph.lines().filter(|line| !line.starts_with('#'));
        let (files, says): (Vec<&str>, Vec<&str>) = lines.partition(|it| it.starts_with(' '));
        let file = |line: &'static str| {
            let (path, content) = line.trim().split_once(':').unwrap();
            let content = content.strip_prefix(' ').unwrap_or(content);
            let content = content.replace("\\n", "\n").replace("\\t", "\t");
            (path, content.replace("\\e", "\u{1b}"))
        };
        let files = files.into_iter().map(file).collect();
        Row { says, files }
    });
    rows.filter(|row| !row.says.is_empty())
}

fn fit() -> Vec<(String, String)> {
    let files = rows().next().unwrap().files.into_iter();
    let files = files.flat_map(|(path, content)| {
        let numbers = match path {
            path if path.contains('#') => 0..4,
            path if path.contains('*') => 0..2,
            _ => 0..1,
        };
        numbers.map(move |number| {
            let path = path.replace(['#', '*'], &number.to_string());
            (path, content.clone())
        })
    });
    files.collect()
}

fn write(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path.replace("CPUS", "sys/devices/system/cpu"));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn host(changes: &[(&str, String)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let fit = fit();
    let fit = fit.iter().map(|(path, content)| (&**path, content));
    for (path, content) in fit.chain(changes.iter().map(|(path, content)| (*path, content))) {
        write(root.path(), path, format!("{content}\n").as_bytes());
    }
    root
}

fn good() -> Circumstances {
    Circumstances {
        fixable: Ok("2000000 kHz, by sysfs".to_owned()),
        fix_in_force: None,
        clock: Some(Some(Clock {
            ghz: 2.0,
            slowest_ghz: 2.0,
            fastest_ghz: 2.0,
        })),
        stacking: Some(stacking(3, 225.0, 220.0)),
        is_another_sweep_running: Ok(false),
        usable_cpus: Ok(4),
        has_membarrier: Some(true),
    }
}

fn stacking(stacked: u32, free_us: f64, pinned_us: f64) -> Stacking {
    Stacking {
        ticks: 100,
        stacked,
        free_us,
        pinned_us,
    }
}

#[track_caller]
fn assert_says(diagnosis: &Diagnosis, place: usize, severity: &str, id: &str, texts: &[&str]) {
    let Some(finding) = diagnosis.findings.get(place) else {
        panic!("{id}: {diagnosis}")
    };
    let found = (finding.severity.to_string(), &*finding.id);
    assert_eq!(found, (severity.to_owned(), id), "{diagnosis}");
    let parts = [&finding.seen, &finding.why, &finding.remedy];
    assert!(parts.iter().all(|part| !part.is_empty()), "{diagnosis}");
    let said = parts.map(String::as_str).join("\n");
    for text in texts {
        assert!(said.contains(text), "{text}: {diagnosis}");
    }
}

#[test]
fn the_doctor_says_of_every_host_what_the_table_does_and_never_that_the_unknown_is_in_order() {
    let fit = examine(&Host::at(host(&[]).path()), &good());
    assert_eq!(fit.unknown, [""; 0], "{fit}");
    for (number, Row { says, files }) in rows().enumerate() {
        let files = if number == 0 { &[] } else { &files[..] };
        let diagnosis = examine(&Host::at(host(files).path()), &good());
        let mut findings = 0;
        for line in &says {
            let (what, text) = line.split_once(": ").unwrap_or((line, ""));
            if let Some(what) = what.strip_prefix("unknown ") {
                let is_good = |clause: &String| clause.contains(text);
                assert!(fit.in_order.iter().any(is_good), "{line}");
                assert!(
                    !diagnosis.in_order.iter().any(is_good),
                    "{line}: {diagnosis}"
                );
                let is_told = |clause: &String| clause.starts_with(what);
                assert!(diagnosis.unknown.iter().any(is_told), "{line}: {diagnosis}");
            } else if let Some((severity, id)) = what.split_once(' ') {
                let texts: Vec<&str> = text.split(" | ").collect();
                assert_says(&diagnosis, findings, severity, id, &texts);
                findings += 1;
            }
        }
        let is_of_unknown = says.iter().all(|line| line.starts_with("unknown "));
        let are_all = diagnosis.findings.len() == findings;
        assert!(are_all || is_of_unknown, "{says:?}: {diagnosis}");
        let is_unfit = says.iter().any(|line| line.starts_with("UNFIT "));
        assert_eq!(diagnosis.is_fit(), !is_unfit, "{diagnosis}");
    }
}

#[test]
fn circumstances_are_checked_like_files() {
    type Change = fn(&mut Circumstances);
    let rows: [(Change, Severity, &str, &[&str]); 7] = [
        (
            |it| it.fixable = Err("no permission".to_owned()),
            Unfit,
            "frequency-control",
            &["no permission"],
        ),
        (
            |it| it.fix_in_force = Some("since noon".to_owned()),
            Unfit,
            "fix-left",
            &["since noon"],
        ),
        (
            |it| it.clock = Some(None),
            Warning,
            "clock",
            &["do not agree"],
        ),
        (
            |it| it.stacking = Some(stacking(56, 428.0, 229.0)),
            Warning,
            "stacked-wake-ups",
            &[
                "in 56 of 100 ticks two woken threads ran on one CPU",
                "428 us unpinned and 229 us pinned",
                "--placement pinned",
            ],
        ),
        (
            |it| it.has_membarrier = Some(false),
            Warning,
            "no-membarrier",
            &["membarrier", "`champion`"],
        ),
        (
            |it| it.is_another_sweep_running = Ok(true),
            Unfit,
            "another-sweep",
            &["held"],
        ),
        (
            |it| it.usable_cpus = Ok(3),
            Warning,
            "few-cpus",
            &["3 CPUs", "`--threads 1..=3`"],
        ),
    ];
    let root = host(&[]);
    for (change, severity, id, texts) in rows {
        let mut around = good();
        change(&mut around);
        let diagnosis = examine(&Host::at(root.path()), &around);
        assert_says(&diagnosis, 0, &severity.to_string(), id, texts);
        assert_eq!(diagnosis.findings.len(), 1, "{diagnosis}");
    }
    // If all CPUs are busy, pinned ticks are slower, so the doctor does not recommend pinning.
    let mut busy = good();
    busy.stacking = Some(stacking(97, 446.0, 1542.0));
    let busy = examine(&Host::at(root.path()), &busy);
    assert_eq!(busy.findings, [], "{busy}");
}

#[test]
fn a_host_without_files_has_nothing_in_order_but_what_was_looked_at_elsewhere() {
    let nothing = tempfile::tempdir().unwrap();
    let around = Circumstances {
        usable_cpus: Err("unknown here".to_owned()),
        has_membarrier: None,
        clock: None,
        stacking: None,
        ..good()
    };
    let diagnosis = examine(&Host::at(nothing.path()), &around);
    assert_eq!(diagnosis.findings, [], "{diagnosis}");
    // The three facts in order: the frequency can be fixed, no fix was left behind, and no other
    // sweep runs.
    assert_eq!(diagnosis.in_order.len(), 3, "{diagnosis}");
    assert_eq!(diagnosis.unknown.len(), 21, "{diagnosis}");
}

/// Contents that the kernel never writes into a file of numbers, lists or words.
const NONSENSE: [&[u8]; 10] = [
    b"",
    b"garbage",
    b"-1",
    b"18446744073709551616",
    b"1e+3",
    b"12 kHz",
    b"0 0\n0",
    "\u{663}".as_bytes(), // a digit that is not in ASCII
    b"\x1b[2J\x07\0",
    &[0xff, 0xfe, 0x80],
];

#[test]
fn nonsense_in_a_file_is_a_finding_or_unknown_and_does_not_reach_the_terminal() {
    // The doctor does not read these files on such a host, or accepts any word in them.
    let free = [
        "proc/cmdline",
        "proc/1/comm",
        "AC/type",
        "numa_balancing",
        "job/cpu.stat",
    ];
    let root = host(&[]);
    for (path, content) in fit() {
        for nonsense in NONSENSE {
            write(root.path(), &path, nonsense);
            let diagnosis = examine(&Host::at(root.path()), &good());
            let is_free = free.iter().any(|it| path.ends_with(it))
                || (path.ends_with("isolated") && nonsense.is_empty());
            let is_told = !diagnosis.unknown.is_empty() || !diagnosis.findings.is_empty();
            assert!(is_free || is_told, "{path}: {nonsense:?}");
            let text = diagnosis.to_string();
            let is_plain = |it: char| it == '\n' || !it.is_control();
            assert!(text.chars().all(is_plain), "{text:?}");
        }
        write(root.path(), &path, content.as_bytes());
    }
}

#[test]
fn a_user_who_begins_a_sweep_is_warned_of_what_makes_times_doubtful_and_of_nothing_else() {
    let random = "proc/sys/kernel/randomize_va_space";
    let busy = ("proc/loadavg", "9 0 0 1/1 1".to_owned());
    let root = host(&[busy, (random, "0".to_owned())]);
    let told = first_look(&Host::at(root.path()));
    let ids: Vec<&str> = told.iter().map(|finding| &*finding.id).collect();
    assert_eq!(ids, ["load"]);
}

#[test]
fn a_folder_without_the_kernels_files_is_no_host() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere");
    for (root, reason) in [
        (&*missing, "no such folder"),
        (folder.path(), "neither `proc` nor `sys` is there"),
    ] {
        for words in [&["doctor"][..], &["frequency", "restore"]] {
            let mut command = common::runner(folder.path());
            let run = command.args(words).arg("--host").arg(root).assert().code(2);
            run.stdout("").stderr(contains(reason));
        }
    }
}

#[test]
fn a_diagnosis_from_before_the_unknown_was_listed_is_still_read() {
    let old = r#"{ "findings": [], "in_order": ["no CPU quota"] }"#;
    let diagnosis: Diagnosis = serde_json::from_str(old).unwrap();
    assert_eq!(diagnosis.unknown, [""; 0]);
}

#[test]
fn a_mock_host_without_frequency_control_is_unfit_by_exit_code_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let root = host(&[]);
    fs::remove_dir_all(root.path().join("sys/devices/system/cpu/cpufreq")).unwrap();
    let mut command = common::runner(folder.path());
    command.args(["doctor", "--format", "json", "--host"]);
    let output = command.arg(root.path()).output().unwrap();
    let diagnosis: Diagnosis = serde_json::from_slice(&output.stdout).unwrap();
    let first = &diagnosis.findings[0];
    assert_eq!((&*first.id, first.severity), ("frequency-control", Unfit));
    output.assert().code(4);
}

#[test]
fn the_running_host_is_diagnosed_in_80_columns_and_a_sweep_that_runs_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let lock = fs::File::create(folder.path().join("host.lock")).unwrap();
    lock.lock().unwrap();
    let mut command = common::runner(folder.path());
    let output = command.arg("doctor").output().unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let is_narrow = |line: &str| line.chars().count() <= 80;
    assert!(text.lines().all(is_narrow), "{text}");
    for part in ["another-sweep", "not fit: "] {
        assert!(text.contains(part), "{text}");
    }
    output.assert().code(4);
}
