//! Runs whose outcome is known, and faults that the check must notice.

use std::collections::BTreeMap;

use protocol::Size;
use rayon::ThreadPoolBuilder;

use super::plan::Summary;
use super::trade::{Run, Trade};
use super::*;
use workloads::workload::Mismatch;

fn trade(explicit: &[(&str, &str)]) -> Trade {
    let explicit: BTreeMap<String, String> = explicit
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let values = protocol::workload("kv")
        .resolve(Size::Tiny, &explicit, false)
        .unwrap();
    Trade::new(&Setup {
        seed: 1,
        values: &values,
        input: None,
        threads: 2,
    })
    .unwrap()
}

/// After a good run, changed by `damage`, is the check's answer.
fn checked(damage: impl FnOnce(&mut Run)) -> Result<String, Mismatch> {
    let mut trade = trade(&[]);
    trade.reset();
    trade.run_sequential();
    let mut run = trade.take_run().unwrap();
    damage(&mut run);
    trade.verify(run)
}

type Damage = fn(&mut Run);

#[test]
fn a_good_run_is_accepted_and_every_damage_is_noticed() {
    assert!(
        checked(|_| ())
            .unwrap()
            .starts_with("21 requests answered, ")
    );
    let damages: [(&str, Damage); 5] = [
        ("a request more on the client's side", |run| {
            *run.seen.counts.entry((http::Method::Get, 200)).or_insert(0) += 1;
        }),
        ("a request less on the server's side", |run| {
            *run.stored.counts.values_mut().next().unwrap() -= 1;
        }),
        ("another document", |run| {
            run.stored.add(b"k", b"body", &[1; 16]);
        }),
        ("a complaint", |run| {
            run.seen.complaint = Some("wrong MD5".to_owned());
        }),
        ("a vanished connection", |run| {
            run.trouble = Some("1 vanished".to_owned());
        }),
    ];
    for (name, damage) in damages {
        assert!(checked(damage).is_err(), "{name}");
    }
}

#[test]
fn a_document_whose_md5_is_wrong_changes_the_summary() {
    let document = |md5| store::Document {
        body: (*b"body").into(),
        md5,
    };
    let of = |md5| Summary::of(BTreeMap::new(), &[(b"k".to_vec(), document(md5))]);
    let (good, wrong) = (of(store::md5(b"body")), of([7; 16]));
    assert_ne!(good, wrong);
}

#[test]
fn every_arrangement_gives_the_sequential_answer_and_has_its_figures() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let mut first = trade(&[]);
    first.reset();
    first.run_sequential();
    let expected = first.check().unwrap();
    for handlers in ["pool", "threads"] {
        for takes in ["requests", "connections"] {
            for queue in ["regular", "lock-free"] {
                for guard in ["global", "reader-writer", "sharded"] {
                    for load in ["closed", "open"] {
                        let mut trade = trade(&[
                            ("handlers", handlers),
                            ("takes", takes),
                            ("queue", queue),
                            ("store", guard),
                            ("load", load),
                        ]);
                        trade.reset();
                        assert_eq!(trade.run_on(&pool), 21);
                        let answer = trade.check();
                        assert_eq!(answer.as_ref(), Ok(&expected), "{handlers} {takes} {queue}");
                        let metrics = trade.metrics();
                        for name in ["service_mean", "service_get_p50", "wait_max", "session_min"] {
                            assert!(metrics[name].value > 0.0, "{name}");
                            assert_eq!(metrics[name].unit, "ns");
                        }
                        assert!(metrics["requests_per_second"].value > 0.0);
                        assert_eq!(metrics["server_cpu_per_request"].unit, "ns/request");
                        assert_eq!(metrics.contains_key("lateness_p50"), load == "open");
                    }
                }
            }
        }
    }
}

#[test]
fn the_studys_mistake_costs_time_and_no_answer() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut trade = trade(&[
        ("handlers", "threads"),
        ("queue", "lock-free"),
        ("empty", "sleep-250ms"),
    ]);
    trade.reset();
    assert_eq!(trade.run_on(&pool), 21);
    assert!(trade.check().is_ok());
}

#[test]
fn what_would_not_fit_in_memory_is_refused() {
    let explicit = BTreeMap::from([
        ("sessions".to_owned(), "1000000".to_owned()),
        ("requests".to_owned(), "11".to_owned()),
    ]);
    let values = protocol::workload("kv")
        .resolve(Size::Tiny, &explicit, false)
        .unwrap();
    let setup = Setup {
        seed: 1,
        values: &values,
        input: None,
        threads: 1,
    };
    let refusal = prepare(&setup).err().unwrap().to_string();
    assert!(
        refusal.contains("sessions = 1000000 times requests = 11"),
        "{refusal}"
    );
}
