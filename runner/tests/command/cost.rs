//! The memory that many trials cost the tool: bytes for each, counted and not guessed.

#[path = "../../../workloads/src/counted.rs"]
mod counted;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};

use runner::plan::{self, Asked, Load, Mode, Plan, Trial};
use runner::record::sweep_dir::SweepDir;
use runner::record::{FreqState, Record};
use runner::system::id::Id;

use counted::peak_bytes;
use protocol::{Iteration, Metric, Placement, SCHEMA, Usage};

/// 2 blocks of 4 and one of 1 in each replicate.
const TRIALS_PER_REPLICATE: usize = 9;

fn asked(trials: u32) -> Asked {
    let names = [
        "master",
        "packed",
        "split-counters-no-jec-sleepers-only-cache-padded",
    ];
    Asked {
        branches: names.map(str::to_owned).into(),
        baseline: "master".to_owned(),
        twin: true,
        workloads: vec![Load {
            workload: "quicksort".to_owned(),
            size: "small".to_owned(),
            parameters: BTreeMap::from([("elements".to_owned(), "1000000".to_owned())]),
            input: None,
        }],
        threads: vec![2, 8],
        modes: vec![Mode::Dynamic],
        placements: vec![Placement::Free],
        trials,
        warmup_iterations: 1,
        iterations: 5,
        seed: 1,
        timeout_s: 60.0,
        layouts: 7,
        ..Asked::default()
    }
}

fn planned(asked: &Asked) -> Plan {
    let identity = |name: &String| (name.clone(), format!("binary of {name}"));
    plan::order(asked, &asked.branches.iter().map(identity).collect())
}

/// A record as long as most.
fn record(asked: &Asked, trial: &Trial<'_>) -> Record {
    let load = &asked.workloads[trial.kind.load];
    let iteration = Iteration {
        elapsed_ns: 24_893_463,
        user_ns: 24_851_000,
        system_ns: 0,
        work_units: 21_600,
    };
    let metric = |name: &str| {
        (
            name.to_owned(),
            Metric {
                value: 0.5,
                unit: "switches".to_owned(),
            },
        )
    };
    Record {
        schema: SCHEMA,
        trial: trial.id,
        cell: trial.cell,
        replicate: trial.replicate,
        block: trial.block,
        position: trial.position,
        branch: trial.branch.to_owned(),
        program: trial.kind.program,
        workload: load.workload.clone(),
        size: load.size.clone(),
        parameters: load.parameters.clone(),
        threads: trial.kind.threads,
        mode: trial.regime.mode,
        placement: trial.regime.placement,
        freq_state: FreqState::Uncontrolled,
        seed: 1,
        started_at: "2026-11-20T10:33:35.417506637Z".to_owned(),
        process_ns: 175_679_415,
        variant: Some("split+no-jec".to_owned()),
        // A program that runs for a given time has another answer each time.
        answer: Some(format!("{} packets", trial.id)),
        work_unit: Some("packets".to_owned()),
        warmup: vec![iteration],
        iterations: vec![iteration; 5],
        usage: Some(Usage::default()),
        metrics: ["involuntary", "voluntary"].map(metric).into(),
        load_before: Some(2.57),
        core_to_core_ns: Some(92.5),
        steal_ns: Some(0),
        ghz_before: Some(2.6),
        ghz_after: Some(2.6),
        ..Record::default()
    }
}

/// Bytes for each trial, where `peak` says how many so many replicates take at most.
fn bytes_per_trial(peak: impl Fn(u32) -> usize) -> usize {
    // The catalogue is read once, by whichever plan is the first.
    planned(&asked(1));
    let (few, many) = (100, 1100);
    peak(many).saturating_sub(peak(few)) / ((many - few) as usize * TRIALS_PER_REPLICATE)
}

#[test]
fn a_plan_takes_a_few_bytes_for_each_trial() {
    let bytes = bytes_per_trial(|replicates| {
        let asked = asked(replicates);
        let (plan, bytes) = peak_bytes(|| {
            let plan = planned(&asked);
            assert_eq!(plan.digest().len(), 16);
            plan
        });
        assert_eq!(plan.len(), replicates as usize * TRIALS_PER_REPLICATE);
        bytes
    });
    // Two of its own and a share of its block's, and what grows by doubling holds up to three times
    // as much.
    assert!((2..=40).contains(&bytes), "{bytes} bytes");
}

#[test]
fn records_are_read_one_after_the_other_and_only_their_identities_kept() {
    let write = |replicates| {
        let folder = tempfile::tempdir().unwrap();
        // Only `manifest()` would read it.
        fs::write(folder.path().join("manifest.json"), "").unwrap();
        let mut file = BufWriter::new(File::create(folder.path().join("trials.jsonl")).unwrap());
        let asked = asked(replicates);
        for trial in planned(&asked).trials() {
            serde_json::to_writer(&mut file, &record(&asked, &trial)).unwrap();
            file.write_all(b"\n").unwrap();
        }
        file.flush().unwrap();
        folder
    };
    let bytes = bytes_per_trial(|replicates| {
        let folder = write(replicates);
        let sweep = SweepDir::below(folder.path()).remove(0);
        let (count, bytes) = peak_bytes(|| sweep.records().unwrap().map(Result::unwrap).count());
        assert_eq!(count, replicates as usize * TRIALS_PER_REPLICATE);
        bytes
    });
    assert!((size_of::<Id>()..=200).contains(&bytes), "{bytes} bytes");
}
