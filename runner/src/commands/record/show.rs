//! Shows a recording in tables.

use std::path::Path;

use anyhow::{Result, bail};
use recording::{Profile, Recording, Region, State, Tree, write_timeline};

use crate::options::recording::read;
use crate::stop::{Exit, Stop};
use crate::system::whole_file;
use crate::text::table::{
    self, Column, Format, PAGE, TextTable, columns_of_stdout, labelled, plain, wrapped,
};
use crate::text::words::human;

/// Prints the tables of the recording at `path`, and writes its timeline if requested.
pub(crate) fn run(path: &Path, timeline: Option<&Path>) -> Result<Exit> {
    let (recording, tree) = read(path, &path.display().to_string())?;
    // Writes the timeline first: the reader of the tables may close the pipe.
    if let Some(output) = timeline {
        refuse_same(output, path)?;
        whole_file::check_writable(output)?;
        let mut left_out = 0;
        let written = whole_file::write(output, |file| {
            left_out = write_timeline(&recording, file).map_err(std::io::Error::other)?;
            Ok(())
        });
        written.map_err(|error| {
            Stop::HostNotFit(format!(
                "--timeline {}: {error}; choose another file",
                output.display()
            ))
        })?;
        if left_out > 0 {
            tell!("note: the {left_out} shortest pieces are not drawn");
        }
        tell!(
            "{}: open it at https://ui.perfetto.dev, which reads it in your browser",
            output.display()
        );
    }
    print(&recording, &tree)?;
    Ok(Exit::Good)
}

/// Refuses to write a timeline over its own recording.
fn refuse_same(output: &Path, recording: &Path) -> Result<()> {
    if whole_file::is_same(output, recording) {
        bail!(Stop::BadInput(format!(
            "--timeline {}: is the recording itself, which would be lost; choose another file",
            output.display()
        )));
    }
    Ok(())
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

/// Prints the tables on standard output and the warnings on standard error.
pub(super) fn print(recording: &Recording, tree: &Tree) -> Result<()> {
    let profile = Profile::of(tree);
    let tables = [parallelism(&profile), grains(&profile), states(tree)];
    let columns = columns_of_stdout();
    let text = |table: &TextTable| format!("\n{}", table.text(Format::Table, columns));
    let tables: String = tables.iter().map(text).collect();
    table::print(&(facts(recording, tree, &profile) + &tables))?;
    for warning in warnings(recording, tree) {
        tell!("{warning}");
    }
    Ok(())
}

/// The facts of a recording that are one figure each.
fn facts(recording: &Recording, tree: &Tree, profile: &Profile) -> String {
    let head = &recording.head;
    let program = format!(
        "{}: {} in all, including code outside rayon, {}; {} events on {}",
        plain(&head.program),
        time(head.ended_ns.saturating_sub(head.started_ns)),
        plain(&head.ended),
        tree.threads().iter().map(|it| it.events).sum::<u64>(),
        plain(&head.processor),
    );
    let [joins, scopes, broadcasts, spawns, installs] = profile.steps;
    let forks = format!(
        "{joins} joins, {scopes} scopes, {broadcasts} broadcasts, {spawns} spawned jobs, {installs} installs"
    );
    let Profile {
        work_ns,
        blocked_ns,
        span_ns,
        regions,
        ..
    } = profile;
    let waited = if *blocked_ns > 0 {
        format!(
            ", and {} in which threads were blocked outside the pool",
            time(*blocked_ns)
        )
    } else {
        String::new()
    };
    let work = format!("{} since it first used a pool{waited}", time(*work_ns));
    let span = format!(
        "{} on any number of cores, so at most {:.1} times as fast",
        time(*span_ns),
        (work_ns + blocked_ns) as f64 / (*span_ns).max(1) as f64,
    );
    let of = |value: fn(&Region) -> u64| time(median(regions.iter().map(value).collect()));
    let regions = format!(
        "{} fork-join regions, entered from an external thread: median {}, after a gap of {}; {} of the work",
        regions.len(),
        of(|region| region.work_ns),
        of(|region| region.gap_ns),
        percent(regions.iter().map(|it| it.work_ns).sum(), *work_ns),
    );
    let rows = [
        ("forks", &*forks),
        ("work", &*work),
        ("span", &*span),
        ("regions", &*regions),
    ];
    wrapped(&program, PAGE, "  ") + "\n" + &labelled(rows, [14, PAGE], "")
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
        table.push([
            format!("{:>3} %", index * 100 / parts),
            format!("{mean:.1}"),
        ]);
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
            table.push(row);
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
        "blocked",
    ];
    let mut table = TextTable::new(columns.map(Column::number).to_vec());
    for (number, thread) in tree.threads().iter().enumerate() {
        let name = thread.worker.map_or_else(
            || format!("external {number}"),
            |index| format!("worker {index}"),
        );
        let states = [State::Running, State::Searching, State::Asleep]
            .map(|state| thread.in_state_ns[state as usize]);
        let times = states
            .into_iter()
            .chain([thread.preempted_ns, thread.blocked_ns])
            .map(time);
        table.push(std::iter::once(name).chain(times));
    }
    table
}

/// Returns warnings about conditions that make the tables doubtful.
fn warnings(recording: &Recording, tree: &Tree) -> Vec<String> {
    let mut warnings = Vec::new();
    let sum =
        |value: fn(&recording::ThreadFacts) -> u64| tree.threads().iter().map(value).sum::<u64>();
    let (running, preempted) = (sum(|it| it.in_state_ns[0]), sum(|it| it.preempted_ns));
    if preempted > running / 20 {
        warnings.push(format!(
            "WARNING: the host was busy: jobs waited for a CPU for {} of {}. The tables subtract this time, but caches and clock \
             rates of a busy host differ from those of an idle one; record again while the host is idle",
            time(preempted),
            time(running)
        ));
    }
    if let Some(full) = recording.full_at() {
        let ns = u128::from(full) * 1_000_000_000 / u128::from(recording.head.ticks_per_s.max(1));
        warnings.push(format!(
            "WARNING: --limit was reached; events later than {} after the first use of a pool are left out. Raise \
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
