use super::*;
use crate::fixtures::{pool, values};

fn transfers(explicit: &str) -> Transfers {
    Transfers::new(1, &values("async-io", explicit)).unwrap()
}

#[test]
fn a_block_that_was_not_transferred_and_a_wrong_sum_are_rejected() {
    for operation in ["write", "read"] {
        let mut transfers = transfers(&format!("operation={operation}"));
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
        let checked = transfers.check();
        assert!(checked.is_err(), "the last run's result must not count");
    }
}

#[test]
fn every_way_transfers_all_blocks_both_ways() {
    for operation in ["write", "read"] {
        for reaches in ["cache", "disk"] {
            for io in ["pool", "synchronous", "asynchronous"] {
                let explicit = format!("operation={operation} reaches={reaches} io={io}");
                let mut transfers = transfers(&explicit);
                for _ in 0..2 {
                    transfers.reset();
                    assert_eq!(transfers.run_on(&pool(2)), 12);
                    let checked = transfers.check();
                    checked.unwrap_or_else(|it| panic!("{explicit}: {it:?}"));
                }
                let metrics = transfers.metrics();
                assert_eq!(metrics.is_empty(), io != "asynchronous");
                if reaches == "disk" && !metrics.is_empty() {
                    assert!(metrics["most_under_way"].value > 1.0, "{metrics:?}");
                }
            }
        }
    }
}

#[test]
fn more_than_the_disk_holds_is_refused_before_anything_is_written() {
    let explicit = "tasks=256 operations=1048576 bytes=67108864 compute-steps=0";
    let refusal = Transfers::new(1, &values("async-io", explicit)).err();
    let message = refusal.expect("no disk has 2^54 bytes").to_string();
    assert!(message.contains("18014398509481984 bytes"), "{message}");
    assert!(message.contains("TMPDIR"), "{message}");
}
