//! Every way of transferring, and faults that the check must notice.

use protocol::Size;

use super::*;

fn transfers(explicit: &[(&str, &str)]) -> Result<Transfers, Refusal> {
    let explicit = explicit
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect();
    Transfers::new(
        1,
        &protocol::workload("async-io")
            .resolve(Size::Tiny, &explicit, false)
            .unwrap(),
    )
}

fn pool() -> ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap()
}

#[test]
fn a_block_that_was_not_transferred_and_a_wrong_sum_are_rejected() {
    for operation in ["write", "read"] {
        let mut transfers = transfers(&[("operation", operation)]).unwrap();
        transfers.reset();
        assert!(transfers.check().is_err(), "nothing ran");
        transfers.outcome = Some(Ok(transfers.known_sum));
        assert!(transfers.check().is_err(), "nothing was transferred");
        transfers.run_sequential();
        assert!(transfers.check().is_ok(), "{operation}");
        transfers.outcome = Some(Ok(transfers.known_sum ^ 1));
        assert!(transfers.check().is_err(), "wrong sum");
        transfers.outcome = Some(Err(io::ErrorKind::StorageFull.into()));
        let mismatch = transfers.check().unwrap_err();
        assert!(mismatch.actual.contains("no storage space"), "{mismatch:?}");
        transfers.reset();
        transfers.outcome = Some(Ok(transfers.known_sum));
        assert!(
            transfers.check().is_err(),
            "the last run's result must not count"
        );
    }
}

#[test]
fn every_way_and_backend_transfers_all_blocks_both_ways() {
    for operation in ["write", "read"] {
        for reaches in ["cache", "disk"] {
            for (io, backend) in [
                ("pool", "auto"),
                ("synchronous", "auto"),
                ("asynchronous", "threads"),
                ("asynchronous", "auto"),
            ] {
                let mut transfers = transfers(&[
                    ("operation", operation),
                    ("reaches", reaches),
                    ("io", io),
                    ("backend", backend),
                ])
                .unwrap();
                for _ in 0..2 {
                    transfers.reset();
                    assert_eq!(transfers.run_on(&pool()), 12);
                    transfers
                        .check()
                        .unwrap_or_else(|it| panic!("{io} {backend}: {it:?}"));
                }
            }
        }
    }
}

#[test]
fn asynchronous_transfers_overlap_and_the_metrics_say_so() {
    for backend in ["threads", "auto"] {
        let mut transfers = transfers(&[
            ("io", "asynchronous"),
            ("backend", backend),
            ("reaches", "disk"),
        ])
        .unwrap();
        transfers.reset();
        transfers.run_on(&pool());
        let metrics = transfers.metrics();
        assert!(metrics["most_under_way"].value > 1.0, "{metrics:?}");
        if backend == "threads" {
            assert!(metrics["io_uring"].value < 0.5, "{metrics:?}");
        }
    }
    let mut alone = transfers(&[("io", "synchronous")]).unwrap();
    alone.reset();
    alone.run_on(&pool());
    assert!(alone.metrics().is_empty());
}

#[test]
fn more_than_the_disk_holds_is_refused_before_anything_is_written() {
    let refusal = transfers(&[
        ("tasks", "256"),
        ("operations", "1048576"),
        ("bytes", "67108864"),
        ("compute-steps", "0"),
    ])
    .err()
    .expect("no disk has 2^54 bytes");
    let message = refusal.to_string();
    assert!(message.contains("18014398509481984 bytes"), "{message}");
    assert!(message.contains("TMPDIR"), "{message}");
}
