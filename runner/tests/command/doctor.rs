//! Tests the doctor on mock hosts. A table has hosts, each with one fault or one unreadable file,
//! and the doctor's findings on each.

use std::fs;
use std::path::Path;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;
use runner::host::Host;
use runner::host::doctor::Severity::{Unfit, Warning};
use runner::host::doctor::{
    Circumstances, Diagnosis, Disk, Severity, Stacking, Tool, examine, first_look,
};
use runner::host::frequency::clock::Clock;
use tempfile::TempDir;

use crate::common;

/// The table; its first lines explain its format.
const HOSTS: &str = include_str!("doctor/hosts.txt");

/// A row of the table.
struct Row<'a> {
    /// The doctor's findings.
    says: Vec<&'a str>,
    /// Files below the host's root, with their content.
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

/// The files of the fit machine, each with its path.
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

/// The fit machine, with some files changed or added.
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
    let tool = |name| Tool {
        name,
        seen: Ok(format!("{name} 1.2.3")),
    };
    Circumstances {
        fixable: Ok("2000000 kHz, by sysfs".to_owned()),
        fix_in_force: None,
        clock: Some(Some(Clock {
            ghz: 2.0,
            slowest_ghz: 2.0,
            fastest_ghz: 2.0,
        })),
        stacking: stacking(3, 225.0, 220.0),
        is_another_sweep_running: Ok(false),
        usable_cpus: Ok(4),
        has_membarrier: Some(true),
        disks: disk(Some(1 << 40), true),
        compilers: vec![tool("cargo"), tool("rustc")],
        python: Ok("Python 3.11".to_owned()),
        linker: Ok("ld.lld".to_owned()),
    }
}

fn disk(free_bytes: Option<u64>, is_writable: bool) -> Vec<Disk> {
    vec![Disk {
        folder: "results".to_owned(),
        free_bytes,
        is_writable,
    }]
}

#[expect(clippy::unnecessary_wraps, reason = "a circumstance may be unknown")]
fn stacking(stacked: u32, free_us: f64, pinned_us: f64) -> Option<Stacking> {
    Some(Stacking {
        ticks: 100,
        stacked,
        free_us,
        pinned_us,
    })
}

/// Checks that a finding contains all these texts.
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
        let has = |clauses: &[String], is_it: &dyn Fn(&str) -> bool| {
            clauses.iter().any(|clause| is_it(clause))
        };
        let mut findings = 0;
        for line in &says {
            let (what, text) = line.split_once(": ").unwrap_or((line, ""));
            if let Some(what) = what.strip_prefix("unknown ") {
                let is_good = |clause: &str| clause.contains(text);
                assert!(has(&fit.in_order, &is_good), "{line}");
                assert!(!has(&diagnosis.in_order, &is_good), "{line}: {diagnosis}");
                let is_told = has(&diagnosis.unknown, &|clause| clause.starts_with(what));
                assert!(is_told, "{line}: {diagnosis}");
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
    let rows: [(Change, Severity, &str, &[&str]); 13] = [
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
            |it| it.stacking = stacking(56, 428.0, 229.0),
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
            |it| it.compilers[0].seen = Err("not found".to_owned()),
            Unfit,
            "compiler",
            &["`cargo --version`"],
        ),
        (
            |it| it.python = Err("too old".to_owned()),
            Warning,
            "python",
            &["too old"],
        ),
        (
            |it| it.linker = Err("no ld.lld".to_owned()),
            Warning,
            "linker",
            &["no ld.lld"],
        ),
        (
            |it| it.disks = disk(Some(1 << 30), true),
            Warning,
            "disk",
            &["1.0 GiB"],
        ),
        (
            |it| it.disks = disk(Some(1 << 20), true),
            Unfit,
            "disk",
            &["0.0 GiB"],
        ),
        (
            |it| it.disks = disk(None, false),
            Unfit,
            "folder",
            &["results/ cannot be written"],
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
    // If all CPUs are busy, pinning gains nothing.
    let mut busy = good();
    busy.stacking = stacking(97, 446.0, 1542.0);
    let busy = examine(&Host::at(root.path()), &busy);
    assert_eq!(busy.findings, [], "{busy}");
}

#[test]
fn heat_is_unknown_where_only_some_cpus_count_it() {
    let root = host(&[]);
    let count = "sys/devices/system/cpu/cpu3/thermal_throttle";
    fs::remove_dir_all(root.path().join(count)).unwrap();
    let said = examine(&Host::at(root.path()), &good());
    let missing = "cpu3/thermal_throttle is not there";
    assert!(said.unknown.iter().any(|it| it.contains(missing)), "{said}");
    assert!(
        !said.in_order.iter().any(|it| it.contains("heat")),
        "{said}"
    );
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
    // Facts about the runner, the tools and the disk.
    assert_eq!(diagnosis.in_order.len(), 8, "{diagnosis}");
    for what in [
        "CPUs that share a core",
        "CPUs without load balancing",
        "a CPU quota",
        "a hypervisor beneath",
        "boost",
        "membarrier",
        "memory nodes",
        "stacked wake-ups",
        "stolen time",
        "the CPUs that may be used",
        "the clock",
        "the kernel's options",
        "the load",
        "the power supply",
        "cost of reading the time",
        "whether addresses are random",
        "whether heat slows",
        "which services run",
    ] {
        let mut unknown = diagnosis.unknown.iter();
        let is_told = unknown.any(|it| it.starts_with(what));
        assert!(is_told, "{what}: {diagnosis}");
    }
}

/// Texts that the kernel never writes into a file of numbers, lists or words.
const NONSENSE: [&str; 9] = [
    "",
    "garbage",
    "-1",
    "18446744073709551616",
    "1e+3",
    "12 kHz",
    "\u{feff}0",
    "0 0\n0",
    "\u{663}", // a digit, but none of ASCII
];

#[test]
fn nonsense_in_any_file_that_is_read_is_a_finding_or_unknown() {
    // Not all of these are read on such a host, or any word is valid in them.
    let is_free = |path: &str, nonsense: &str| {
        let free = [
            "proc/cmdline",
            "proc/1/comm",
            "AC/type",
            "numa_balancing",
            "job/cpu.stat",
        ];
        let is_free = free.iter().any(|it| path.ends_with(it));
        is_free || (path.ends_with("isolated") && nonsense.is_empty())
    };
    let root = host(&[]);
    let mut not_told = Vec::new();
    for (path, content) in fit() {
        for nonsense in NONSENSE.into_iter().filter(|it| !is_free(&path, it)) {
            write(root.path(), &path, nonsense.as_bytes());
            let diagnosis = examine(&Host::at(root.path()), &good());
            if diagnosis.unknown.is_empty() && diagnosis.findings.is_empty() {
                not_told.push((path.clone(), nonsense));
            }
        }
        write(root.path(), &path, content.as_bytes());
    }
    assert_eq!(not_told, []);
}

#[test]
fn files_with_garbage_are_unknown_and_nothing_of_them_reaches_the_terminal() {
    let root = host(&[]);
    // The second is not even of characters.
    for garbage in [&b"\x1b[2J\x07\0"[..], &[0xff, 0xfe, 0x80]] {
        for (path, _) in fit() {
            write(root.path(), &path, garbage);
        }
        let diagnosis = examine(&Host::at(root.path()), &good());
        assert_eq!(diagnosis.findings, [], "{diagnosis}");
        let text = diagnosis.to_string();
        assert!(text.contains("is not text"), "{text}");
        let is_plain = |it: char| it == '\n' || !it.is_control();
        assert!(text.chars().all(is_plain), "{text:?}");
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
fn a_folder_that_is_not_there_is_no_host() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere");
    for words in [
        &["doctor", "--host"][..],
        &["frequency", "status", "--sysfs"],
    ] {
        let mut command = common::runner(folder.path());
        let run = command.args(words).arg(&missing).assert().code(2);
        run.stderr(contains("nowhere"))
            .stderr(contains("no such folder"));
    }
}

#[test]
fn a_folder_without_the_kernels_files_is_no_host() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = common::runner(folder.path());
    let run = command.args(["doctor", "--host"]).arg(folder.path());
    run.assert()
        .code(2)
        .stdout("")
        .stderr(contains("neither `proc` nor `sys` is there"));
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
    let policies = root.path().join("sys/devices/system/cpu/cpufreq");
    fs::remove_dir_all(policies).unwrap();
    let mut command = common::runner(folder.path());
    command.args(["doctor", "--format", "json", "--host"]);
    let output = command.arg(root.path()).output().unwrap();
    let diagnosis: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(diagnosis["findings"][0]["id"], "frequency-control");
    assert_eq!(diagnosis["findings"][0]["severity"], "unfit");
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
    assert!(text.contains("another-sweep"), "{text}");
    assert!(text.contains("not fit: "), "{text}");
    output.assert().code(4);
}
