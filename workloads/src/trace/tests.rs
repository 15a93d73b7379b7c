//! A made-up timeline, written and read back by the rules of the trace event format.

use super::*;

fn request() -> Request {
    Request {
        threads: 2,
        ..Request::tiny("quicksort")
    }
}

/// Worker 0 searches, works and dozes; worker 1 sleeps, and had no room for three more spans.
fn timeline() -> Timeline {
    let span = |worker, state, begin_ns, end_ns| Span {
        worker,
        state,
        begin_ns,
        end_ns,
    };
    Timeline {
        spans: vec![
            span(0, "searching", 0, 1001),
            span(0, "active", 1001, 2_000_003),
            span(0, "sleepy", 2_000_003, 2_000_003),
            span(0, "asleep", 2_000_003, 9_000_000),
            span(1, "asleep", 0, 5_000_000),
        ],
        dropped: vec![0, 3],
    }
}

/// What a reader of the file finds.
fn written(timeline: &Timeline) -> Value {
    let mut bytes = Vec::new();
    let request = request();
    let header = Header {
        branch: "split-counters",
        variant: "split",
        request: &request,
    };
    write_to(&mut bytes, &header, timeline, &[(500, 2_000_100)]).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn events<'a>(file: &'a Value, phases: &str) -> Vec<&'a Value> {
    let all = file["traceEvents"].as_array().unwrap();
    all.iter()
        .filter(|event| phases.contains(event["ph"].as_str().unwrap()))
        .collect()
}

/// Begin and end of every span of a track by its name, in microseconds. Panics unless each begin is
/// followed by its end before the next begins, and time never runs backwards.
fn spans_of(file: &Value, track: usize) -> Vec<(String, f64, f64)> {
    let mut spans = Vec::new();
    let mut now = 0.0;
    let mut open: Option<(String, f64)> = None;
    for event in events(file, "BE")
        .into_iter()
        .filter(|event| event["tid"] == track)
    {
        let (name, ts) = (
            event["name"].as_str().unwrap(),
            event["ts"].as_f64().unwrap(),
        );
        assert!(ts >= now, "{event} after {now}");
        now = ts;
        match (event["ph"].as_str().unwrap(), open.take()) {
            ("B", None) => open = Some((name.to_owned(), ts)),
            ("E", Some((opened, begin))) if opened == name => spans.push((opened, begin, ts)),
            (phase, open) => panic!("{phase} {name} although {open:?} is open"),
        }
    }
    assert!(open.is_none(), "{open:?} never ends");
    spans
}

#[test]
fn every_event_has_the_fields_that_its_phase_demands() {
    let file = written(&timeline());
    for event in events(&file, "BEiMX") {
        assert!(
            event["name"].is_string() && event["pid"] == PROCESS,
            "{event}"
        );
        assert!(event["tid"].is_u64(), "{event}");
        match event["ph"].as_str().unwrap() {
            "M" => assert!(event["args"].is_object(), "{event}"),
            "i" => assert!(event["ts"].is_f64() && event["s"] == "t", "{event}"),
            "B" | "E" => assert!(event["ts"].is_f64() && event["cat"].is_string(), "{event}"),
            other => panic!("phase {other} is not written"),
        }
    }
    assert_eq!(
        events(&file, "BEiM").len(),
        file["traceEvents"].as_array().unwrap().len()
    );
}

#[test]
fn spans_of_a_worker_come_back_in_microseconds_and_do_not_overlap() {
    let file = written(&timeline());
    let of_worker_0 = [
        ("searching".to_owned(), 0.0, 1.001),
        ("active".to_owned(), 1.001, 2000.003),
        ("sleepy".to_owned(), 2000.003, 2000.003),
        ("asleep".to_owned(), 2000.003, 9000.0),
    ];
    assert_eq!(spans_of(&file, 1), of_worker_0);
    assert_eq!(spans_of(&file, 2), [("asleep".to_owned(), 0.0, 5000.0)]);
}

#[test]
fn overlapping_spans_would_be_noticed() {
    let mut overlapping = timeline();
    overlapping.spans[1].begin_ns = 900;
    assert!(std::panic::catch_unwind(|| spans_of(&written(&overlapping), 1)).is_err());
}

#[test]
fn every_track_is_named_and_the_iterations_have_their_own() {
    let file = written(&timeline());
    let names: Vec<(u64, &str)> = events(&file, "M")
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| {
            (
                event["tid"].as_u64().unwrap(),
                event["args"]["name"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [(0, "timed iterations"), (1, "worker 0"), (2, "worker 1")]
    );
    assert_eq!(
        spans_of(&file, 0),
        [("iteration 0".to_owned(), 0.5, 2000.1)]
    );
}

#[test]
fn the_trial_and_the_spans_without_room_are_told() {
    let file = written(&timeline());
    let other = &file["otherData"];
    assert_eq!(
        (&other["branch"], &other["variant"]),
        (&"split-counters".into(), &"split".into())
    );
    assert_eq!(
        (&other["workload"], &other["threads"]),
        (&"quicksort".into(), &2.into())
    );
    assert_eq!(other["dropped_spans"], json!([0, 3]));
    let [mark] = events(&file, "i")[..] else {
        panic!("one mark")
    };
    assert_eq!((&mark["tid"], &mark["ts"]), (&2.into(), &5000.0.into()));
    assert_eq!(mark["name"], "no room: 3 more spans");
}
