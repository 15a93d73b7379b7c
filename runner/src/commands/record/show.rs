//! What a recording tells, in tables.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Result;
use recording::{Profile, Recording, Region, State, Tree, write_timeline};

use super::told;
use crate::report::table::{Column, Format, Terminal, TextTable};
use crate::run::progress::human;
use crate::stop::{Exit, Stop};

/// Prints what the recording at `path` tells, and writes its timeline if one is wanted.
pub(crate) fn run(path: &Path, timeline: Option<&Path>) -> Result<Exit> {
    let recording = Recording::read(path).map_err(|error| told(path, &error))?;
    let tree = Tree::of(&recording).map_err(|error| told(path, &error))?;
    print(&recording, &tree)?;
    if let Some(output) = timeline {
        let fault = |error: &dyn std::fmt::Display| {
            Stop::HostNotFit(format!(
                "--timeline {}: {error}; choose another file",
                output.display()
            ))
        };
        let mut out = BufWriter::new(File::create(output).map_err(|error| fault(&error))?);
        let left_out = write_timeline(&recording, &mut out).map_err(|error| fault(&error))?;
        out.flush().map_err(|error| fault(&error))?;
        if left_out > 0 {
            tell!("note: the {left_out} shortest pieces are not drawn");
        }
        tell!(
            "{}: open it at https://ui.perfetto.dev, which reads it in your browser",
            output.display()
        );
    }
    Ok(Exit::Good)
}

fn time(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        1_000_000..10_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        _ => human(std::time::Duration::from_nanos(ns)),
    }
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// Tables on standard output, what to beware of on standard error.
pub(super) fn print(recording: &Recording, tree: &Tree) -> Result<()> {
    let profile = Profile::of(tree);
    let mut text = facts(recording, tree, &profile);
    for table in [parallelism(&profile), grains(&profile), states(tree)] {
        text += "\n";
        text += &table.text(Format::Table, Terminal::of_stdout());
    }
    std::io::stdout().lock().write_all(text.as_bytes())?;
    for warning in warnings(recording, tree) {
        tell!("{warning}");
    }
    Ok(())
}

fn facts(recording: &Recording, tree: &Tree, profile: &Profile) -> String {
    let head = &recording.head;
    let Profile {
        work_ns,
        span_ns,
        blocked_ns,
        ..
    } = profile;
    let wall = head.ended_ns.saturating_sub(head.started_ns);
    let [joins, scopes, broadcasts, spawns, installs] = profile.steps;
    let events: u64 = tree.threads().iter().map(|thread| thread.events).sum();
    let sum = |value: fn(&Region) -> u64| profile.regions.iter().map(value).sum::<u64>();
    let of = |value: fn(&Region) -> u64| median(profile.regions.iter().map(value).collect());
    let blocked = if *blocked_ns > 0 {
        format!(
            ", and {} in which threads waited for something outside the pool",
            time(*blocked_ns)
        )
    } else {
        String::new()
    };
    format!(
        "{}: {} with all that is not rayon's, {}; {events} events on {}\n\
         forks         {joins} joins, {scopes} scopes, {broadcasts} broadcasts, {spawns} spawned jobs, {installs} installs\n\
         work          {} since it first used a pool{blocked}\n\
         span          {} on as many cores as it likes, so at most {:.1} times as fast\n\
         regions       {}, given to the pool from outside: median {}, with a gap of {} before; {} of the work\n",
        head.program,
        time(wall),
        head.ended,
        head.processor,
        time(*work_ns),
        time(*span_ns),
        (work_ns + blocked_ns) as f64 / (*span_ns).max(1) as f64,
        profile.regions.len(),
        time(of(|region| region.work_ns)),
        time(of(|region| region.gap_ns)),
        percent(sum(|region| region.work_ns), *work_ns),
    )
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

fn parallelism(profile: &Profile) -> TextTable {
    let mut table = TextTable::new(vec![
        Column::text("part of the span"),
        Column::number("tasks at once"),
    ]);
    let parts = profile.parallelism.len();
    for (index, mean) in profile.parallelism.iter().enumerate() {
        table.push(
            [
                format!("{:>3} %", index * 100 / parts),
                format!("{mean:.1}"),
            ],
            None,
        );
    }
    table
}

fn grains(profile: &Profile) -> TextTable {
    let columns = ["work between two forks", "stretches", "of the work"];
    let mut table = TextTable::new(columns.map(Column::number).to_vec());
    let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
    for (power, (count, sum)) in powers.zip(&profile.grains) {
        if *count > 0 {
            let row = [
                format!("from {}", time(power)),
                count.to_string(),
                percent(*sum, profile.work_ns),
            ];
            table.push(row, None);
        }
    }
    table
}

fn states(tree: &Tree) -> TextTable {
    let columns = [
        "thread",
        "runs jobs",
        "searches",
        "asleep",
        "no CPU",
        "waits outside",
    ];
    let mut table = TextTable::new(columns.map(Column::number).to_vec());
    for (number, thread) in tree.threads().iter().enumerate() {
        let name = thread.worker.map_or_else(
            || format!("outside {number}"),
            |index| format!("worker {index}"),
        );
        let states = [State::Running, State::Searching, State::Asleep]
            .map(|state| thread.in_state_ns[state as usize]);
        let times = states
            .into_iter()
            .chain([thread.preempted_ns, thread.blocked_ns])
            .map(time);
        table.push(std::iter::once(name).chain(times), None);
    }
    table
}

/// What a reader must know before he believes the rest.
fn warnings(recording: &Recording, tree: &Tree) -> Vec<String> {
    let mut warnings = Vec::new();
    let sum =
        |value: fn(&recording::ThreadFacts) -> u64| tree.threads().iter().map(value).sum::<u64>();
    let (running, preempted) = (sum(|it| it.in_state_ns[0]), sum(|it| it.preempted_ns));
    if preempted * 20 > running {
        warnings.push(format!(
            "WARNING: the host was busy: for {} of {} jobs could run and had no CPU. That is taken off, but caches and clock \
             rates of a busy host are not those of an idle one; record again when it is",
            time(preempted),
            time(running)
        ));
    }
    if let Some(full) = recording.full_at() {
        let ns = u128::from(full) * 1_000_000_000 / u128::from(recording.head.ticks_per_s.max(1));
        warnings.push(format!(
            "WARNING: --limit is used up; what happened later than {} after the first use of a pool is left out. Raise \
             --limit, or record less of the program",
            time(u64::try_from(ns).unwrap_or(u64::MAX))
        ));
    }
    if recording.head.others > 0 {
        warnings.push(format!(
            "note: {} more of the program's processes used a pool; only the first is recorded",
            recording.head.others
        ));
    }
    if tree.unfinished() > 0 {
        warnings.push(format!(
            "note: {} closures had not begun or not ended when the recording ended",
            tree.unfinished()
        ));
    }
    warnings
}
