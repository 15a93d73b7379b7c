//! Kills the runner at random moments, again and again. After the last run, every planned trial is
//! recorded exactly once.
//!
//! `cargo xtask faults` kills the runner more often than `cargo test`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::assert::OutputAssertExt as _;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use tempfile::TempDir;

use super::{CELLS, assert_complete, lines, resume, start, sweep_in};

/// Number of kills, unless the environment variable `SWEEP_KILLS` sets another number.
const KILLS: usize = 8;
const HOW_OFTEN: &str = "SWEEP_KILLS";
const MOST_TRIALS: u64 = 4;

fn whole_lines(sweep: &Path) -> Vec<String> {
    let mut lines = lines(sweep);
    if !fs::read(sweep.join("trials.jsonl"))
        .unwrap()
        .ends_with(b"\n")
    {
        lines.pop();
    }
    lines
}

fn recorded(folder: &TempDir) -> usize {
    sweep_in(folder).map_or(0, |sweep| whole_lines(&sweep).len())
}

fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    random.next_u64() % bound
}

#[test]
fn after_sigkill_at_random_moments_every_planned_trial_is_there_exactly_once() {
    let kills = std::env::var(HOW_OFTEN).map_or(KILLS, |kills| kills.parse().unwrap());
    let seed = std::process::id().into();
    eprintln!("seed {seed}"); // the test harness shows this if the test fails
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // The sweep has more trials than all killed runs together can finish.
    let trials = kills * usize::try_from(MOST_TRIALS + 2).unwrap() / CELLS + 2;
    let folder = tempfile::tempdir().unwrap();
    let (mut before, mut torn) = (Vec::new(), 0);
    for _ in 0..kills {
        let mut child = if sweep_in(&folder).is_some() {
            resume(&folder)
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        } else {
            start(&folder, trials)
        };
        match below(&mut random, MOST_TRIALS + 1) {
            // The kill comes while the runner reads, checks and builds, or makes the sweep's
            // folder.
            0 => thread::sleep(Duration::from_millis(below(&mut random, 500))),
            more => {
                let until = before.len() + usize::try_from(more).unwrap();
                let deadline = Instant::now() + Duration::from_mins(10);
                while recorded(&folder) < until {
                    assert!(
                        child.try_wait().unwrap().is_none(),
                        "the runner ended by itself"
                    );
                    assert!(Instant::now() < deadline, "no trials");
                    thread::sleep(Duration::from_millis(1));
                }
                thread::sleep(Duration::from_micros(below(&mut random, 30_000)));
            }
        }
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
        let Some(sweep) = sweep_in(&folder) else {
            continue;
        };
        let now = whole_lines(&sweep);
        assert!(now.starts_with(&before), "a record was lost or changed");
        before = now;
        let is_torn = lines(&sweep).len() > before.len();
        if below(&mut random, 4) == 0 && !before.is_empty() && !is_torn {
            // The test appends a part of a line, as a power cut may leave it.
            let half = &before[0][..usize::try_from(1 + below(&mut random, 200)).unwrap()];
            let file = OpenOptions::new()
                .append(true)
                .open(sweep.join("trials.jsonl"));
            file.unwrap().write_all(half.as_bytes()).unwrap();
            torn += 1;
        }
    }
    resume(&folder).assert().success();
    let sweep = sweep_in(&folder).unwrap();
    assert!(
        lines(&sweep).starts_with(&before),
        "a record was lost or changed"
    );
    assert_complete(&sweep, CELLS * trials);
    let names = fs::read_dir(&sweep)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let aside = names
        .filter(|name| name.to_string_lossy().starts_with("trials.torn-"))
        .count();
    assert!(
        aside >= torn,
        "{torn} half lines, of which {aside} were set aside"
    );
}
