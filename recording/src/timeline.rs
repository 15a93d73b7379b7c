//! A recording drawn for `ui.perfetto.dev`: Chrome's trace event format, a track for each thread.

use std::io::{self, Write};

use serde_json::json;

use crate::Error;
use crate::clocks::Clock;
use crate::file::{Recording, event_of};
use crate::layout::Event;

/// At most so many pieces are drawn, the longest: a browser bears some hundred thousand.
const MOST: usize = 100_000;

/// A piece of a track.
struct Piece {
    thread: usize,
    name: &'static str,
    begin: u64,
    end: u64,
}

/// Writes the timeline; returns how many pieces are left out, being shorter than all that are
/// drawn.
///
/// # Errors
/// If the clock jumped, or `out` cannot be written.
pub fn write_timeline(recording: &Recording, out: &mut impl Write) -> Result<usize, Error> {
    let clock = Clock::of(recording)?;
    let mut pieces = Vec::new();
    for (number, thread) in recording.threads.iter().enumerate() {
        pieces.extend(pieces_of(
            number,
            thread.events.iter().filter_map(|[word, _]| event_of(*word)),
        ));
    }
    let mut lengths: Vec<u64> = pieces.iter().map(|piece| piece.end - piece.begin).collect();
    let all = lengths.len();
    if all > MOST {
        let (_, least, _) = lengths.select_nth_unstable_by(MOST, |a, b| b.cmp(a));
        let least = *least;
        pieces.retain(|piece| piece.end - piece.begin > least);
    }
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let name = json!({"name": "process_name", "ph": "M", "pid": 1, "tid": 0, "args": {"name": recording.head.program}});
    json_to(out, &name)?;
    for (number, thread) in recording.threads.iter().enumerate() {
        let worker = thread
            .events
            .iter()
            .find(|[word, _]| event_of(*word).is_some_and(|(it, _)| it == Event::Worker));
        let name = worker.map_or_else(
            || format!("outside {number}"),
            |[_, index]| format!("worker {index}"),
        );
        writeln!(out, ",")?;
        json_to(
            out,
            &json!({"name": "thread_name", "ph": "M", "pid": 1, "tid": number, "args": {"name": name}}),
        )?;
    }
    let microseconds = |ticks: u64| clock.ns(ticks) as f64 / 1e3;
    for Piece {
        thread,
        name,
        begin,
        end,
    } in &pieces
    {
        let (ts, dur) = (microseconds(*begin), microseconds(end - begin));
        writeln!(out, ",")?;
        json_to(
            out,
            &json!({"name": name, "ph": "X", "pid": 1, "tid": thread, "ts": ts, "dur": dur}),
        )?;
    }
    writeln!(out, "]}}")?;
    Ok(all - pieces.len())
}

fn json_to(out: &mut impl Write, value: &serde_json::Value) -> io::Result<()> {
    Ok(serde_json::to_writer(out, value)?)
}

fn pieces_of(thread: usize, events: impl Iterator<Item = (Event, u64)>) -> Vec<Piece> {
    let (mut open, mut pieces): (Vec<(&'static str, u64)>, _) = (Vec::new(), Vec::new());
    let (mut searches_since, mut latest) = (None, 0);
    for (event, time) in events {
        latest = time;
        let begins = match event {
            Event::Join => Some("join"),
            Event::Split => Some("split"),
            Event::Scope => Some("scope"),
            Event::Broadcast => Some("broadcast"),
            Event::Install => Some("install"),
            Event::Begin => Some("job"),
            Event::Sleep => Some("asleep"),
            Event::Search => {
                searches_since = Some(time);
                None
            }
            _ => None,
        };
        open.extend(begins.map(|name| (name, time)));
        let ended = match event {
            Event::Close | Event::End | Event::Wake => open.pop(),
            Event::Found => searches_since.take().map(|since| ("search", since)),
            _ => None,
        };
        pieces.extend(ended.map(|(name, begin)| Piece {
            thread,
            name,
            begin,
            end: time,
        }));
    }
    pieces.extend(open.into_iter().map(|(name, begin)| Piece {
        thread,
        name,
        begin,
        end: latest,
    }));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn every_join_is_a_piece_of_its_workers_track() {
        let mut out = Vec::new();
        assert_eq!(write_timeline(&synthetic::joins(3), &mut out).unwrap(), 0);
        let drawn: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let events = drawn["traceEvents"].as_array().unwrap();
        assert_eq!(events[1]["args"]["name"], "worker 0");
        let joins: Vec<_> = events
            .iter()
            .filter(|event| event["name"] == "join")
            .collect();
        assert_eq!(joins.len(), 7);
        let longest = joins
            .iter()
            .map(|join| join["dur"].as_f64().unwrap())
            .fold(0.0, f64::max);
        let whole = (8.0 * 100.0 + 7.0 * 30.0 - 10.0) / 1e3;
        assert!((longest - whole).abs() < 1e-6, "{longest}");
    }
}
