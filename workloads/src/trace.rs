//! Writes what workers did over time as Chrome's trace event format, in JSON: what
//! `ui.perfetto.dev` and `chrome://tracing` open.
//!
//! One process, a thread (a track) per worker, and track 0 for the timed iterations. A span is a
//! pair of events, phases `B` and `E`, with `ts` in microseconds: where one span ends and the next
//! begins, both say the very same number, while a duration would be rounded and spans overlap.
//! Viewers colour spans by their names, so a state looks the same on every track. Everything else
//! about the trial is in `otherData`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use protocol::Request;
use serde::Serialize;
use serde_json::{Value, json};

use crate::observer::{Span, Timeline};

/// The only process of a trace.
const PROCESS: u32 = 1;
/// Track of the timed iterations; worker `i` has track `i + 1`.
const ITERATIONS: usize = 0;

/// Which trial a trace shows.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    /// Branch, as the runner calls it.
    pub branch: &'a str,
    /// What the linked rayon-core says of itself.
    pub variant: &'a str,
    /// What was asked.
    pub request: &'a Request,
}

/// Writes a trace to `path`. `iterations` are begin and end of the timed regions, in nanoseconds on
/// the clock of the timeline.
///
/// # Errors
/// If the file cannot be written.
pub fn write(
    path: &Path,
    header: &Header<'_>,
    timeline: &Timeline,
    iterations: &[(u64, u64)],
) -> io::Result<()> {
    let mut output = BufWriter::new(File::create(path)?);
    write_to(&mut output, header, timeline, iterations)?;
    output.flush()
}

fn write_to(
    output: &mut impl Write,
    header: &Header<'_>,
    timeline: &Timeline,
    iterations: &[(u64, u64)],
) -> io::Result<()> {
    let mut events = names(header, timeline);
    for (index, &(begin_ns, end_ns)) in iterations.iter().enumerate() {
        events.extend(Event::span(
            ITERATIONS,
            &format!("iteration {index}"),
            begin_ns,
            end_ns,
        ));
    }
    events.extend(
        timeline.spans.iter().flat_map(|span| {
            Event::span(track(span.worker), span.state, span.begin_ns, span.end_ns)
        }),
    );
    events.extend(
        timeline
            .dropped
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(worker, count)| {
                let end_ns = last_end(&timeline.spans, worker);
                Event::mark(
                    track(worker),
                    format!("no room: {count} more spans"),
                    end_ns,
                )
            }),
    );
    let request = header.request;
    let file = json!({
        "displayTimeUnit": "ns",
        "otherData": {
            "branch": header.branch,
            "variant": header.variant,
            "workload": request.workload,
            "size": request.size,
            "parameters": request.parameters,
            "threads": request.threads,
            "seed": request.seed,
            "spans": timeline.spans.len(),
            "dropped_spans": timeline.dropped,
            "note": "an instrumented build: what happened, not how long it takes",
        },
        "traceEvents": events,
    });
    serde_json::to_writer(output, &file)?;
    Ok(())
}

fn track(worker: usize) -> usize {
    worker + 1
}

fn last_end(spans: &[Span], worker: usize) -> u64 {
    spans
        .iter()
        .filter(|span| span.worker == worker)
        .map(|span| span.end_ns)
        .max()
        .unwrap_or(0)
}

/// Names of the process and of every track, and their order.
fn names(header: &Header<'_>, timeline: &Timeline) -> Vec<Event> {
    let Header {
        branch, request, ..
    } = header;
    let title = format!(
        "{branch} ({}): {} {}, threads {}",
        header.variant, request.workload, request.size, request.threads
    );
    let mut names = vec![Event::metadata(
        "process_name",
        ITERATIONS,
        json!({ "name": title }),
    )];
    let workers =
        (0..timeline.dropped.len()).map(|worker| (track(worker), format!("worker {worker}")));
    for (track, name) in [(ITERATIONS, "timed iterations".to_owned())]
        .into_iter()
        .chain(workers)
    {
        names.push(Event::metadata(
            "thread_name",
            track,
            json!({ "name": name }),
        ));
        names.push(Event::metadata(
            "thread_sort_index",
            track,
            json!({ "sort_index": track }),
        ));
    }
    names
}

/// One object of `traceEvents`; the fields are named by the format.
#[derive(Serialize)]
struct Event {
    name: String,
    ph: &'static str,
    pid: u32,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    /// Colour in `chrome://tracing`, by the names that it reserves.
    #[serde(skip_serializing_if = "Option::is_none")]
    cname: Option<&'static str>,
    /// Scope of a mark: `t`, its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Value>,
}

impl Event {
    fn new(ph: &'static str, tid: usize, name: String) -> Self {
        Self {
            name,
            ph,
            pid: PROCESS,
            tid,
            cat: None,
            ts: None,
            cname: None,
            s: None,
            args: None,
        }
    }

    fn metadata(name: &str, tid: usize, args: Value) -> Self {
        Self {
            args: Some(args),
            ..Self::new("M", tid, name.to_owned())
        }
    }

    fn span(tid: usize, name: &str, begin_ns: u64, end_ns: u64) -> [Self; 2] {
        [("B", begin_ns), ("E", end_ns)].map(|(phase, at_ns)| Self {
            cat: Some("worker"),
            ts: Some(microseconds(at_ns)),
            cname: colour(name),
            ..Self::new(phase, tid, name.to_owned())
        })
    }

    fn mark(tid: usize, name: String, at_ns: u64) -> Self {
        let ts = Some(microseconds(at_ns));
        Self {
            cat: Some("worker"),
            ts,
            s: Some("t"),
            ..Self::new("i", tid, name)
        }
    }
}

fn colour(state: &str) -> Option<&'static str> {
    match state {
        "active" => Some("thread_state_running"),
        "searching" => Some("thread_state_runnable"),
        "sleepy" => Some("thread_state_iowait"),
        "asleep" => Some("thread_state_sleeping"),
        _ => None,
    }
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

#[cfg(test)]
mod tests;
