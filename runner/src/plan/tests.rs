//! Tests the order of a sweep: complete, balanced, and the same for the same seed.

use std::collections::{BTreeSet, HashSet};

use super::*;

pub(crate) fn asked() -> SweepRequest {
    let load = |workload: &str| Load {
        workload: workload.to_owned(),
        size: "tiny".to_owned(),
        ..Load::default()
    };
    SweepRequest {
        branches: vec!["master".to_owned(), "packed".to_owned(), "split".to_owned()],
        baseline: "master".to_owned(),
        twin: true,
        workloads: vec![load("quicksort"), load("tsp")],
        threads: vec![1, 2, 4],
        modes: vec![Mode::Dynamic],
        placements: vec![Placement::Free],
        trials: 3,
        warmup_iterations: 1,
        iterations: 2,
        seed: 7,
        timeout_s: 60.0,
        layouts: 1,
        ..SweepRequest::default()
    }
}

pub(super) fn identities() -> BTreeMap<String, String> {
    asked()
        .branches
        .into_iter()
        .map(|name| (name.clone(), format!("binary of {name}")))
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_plan_and_another_seed_another_order() {
    let one = order(&asked(), &identities());
    assert_eq!(one, order(&asked(), &identities()));
    let other = order(&SweepRequest { seed: 8, ..asked() }, &identities());
    let branches = |plan: &Plan| -> Vec<(String, usize)> {
        plan.trials()
            .map(|trial| (trial.branch.to_owned(), trial.kind.threads))
            .collect()
    };
    assert_ne!(branches(&one), branches(&other));
}

#[test]
fn the_order_is_the_one_that_earlier_sweeps_were_started_with() {
    let plan = order(&asked(), &identities());
    let first: Vec<_> = plan
        .trials()
        .take(6)
        .map(|trial| {
            (
                trial.block,
                trial.branch,
                trial.kind.load,
                trial.kind.threads,
            )
        })
        .collect();
    // Printed once from this function; a change here makes it impossible to resume unfinished
    // sweeps.
    assert_eq!(first, FIRST_SIX);
}

const FIRST_SIX: [(usize, &str, usize, usize); 6] = [
    (0, "master", 1, 1),
    (0, "split", 1, 1),
    (0, "packed", 1, 1),
    (0, "master-again", 1, 1),
    (1, "master", 0, 1),
    (2, "master-again", 1, 2),
];

#[test]
fn every_block_has_each_branch_once_and_differs_in_the_branch_only() {
    let plan = order(&asked(), &identities());
    for block in 0..plan.blocks() {
        let members: Vec<Trial<'_>> = plan.trials().filter(|trial| trial.block == block).collect();
        let first = members[0];
        let names: BTreeSet<&str> = members.iter().map(|trial| trial.branch).collect();
        if first.kind.program == Program::Sequential {
            assert_eq!((names.len(), first.kind.threads), (1, 1));
        } else {
            assert_eq!(names, ["master", "master-again", "packed", "split"].into());
        }
        assert!(members.iter().all(|trial| {
            (trial.kind, trial.condition, trial.replicate)
                == (first.kind, first.condition, first.replicate)
        }));
        let places: Vec<usize> = members.iter().map(|trial| trial.position).collect();
        assert_eq!(places, (0..members.len()).collect::<Vec<_>>());
    }
}

#[test]
fn a_block_has_one_layout_but_for_the_twin_and_a_cell_goes_through_all() {
    let asked = SweepRequest {
        layouts: 3,
        ..asked()
    };
    let plan = order(&asked, &identities());
    let trials: Vec<Trial<'_>> = plan.trials().collect();
    for block in trials.chunk_by(|one, next| one.block == next.block) {
        let (twins, others): (Vec<&Trial<'_>>, Vec<&Trial<'_>>) = block
            .iter()
            .partition(|trial| trial.branch == "master-again");
        let shared: HashSet<usize> = others.iter().map(|trial| trial.layout).collect();
        assert_eq!(shared.len(), 1);
        assert!(twins.iter().all(|twin| !shared.contains(&twin.layout)));
    }
    let mut seen: BTreeMap<Id, BTreeSet<usize>> = BTreeMap::new();
    for trial in &trials {
        seen.entry(trial.cell).or_default().insert(trial.layout);
    }
    assert!(seen.values().all(|layouts| layouts.len() == 3));
}

#[test]
fn both_placements_are_visited_in_each_replicate_and_the_free_cells_stay_what_they_were() {
    let both = SweepRequest {
        placements: vec![Placement::Free, Placement::Pinned],
        ..asked()
    };
    let (with, without) = (order(&both, &identities()), order(&asked(), &identities()));
    let ids = |plan: &Plan, placement| -> BTreeSet<Id> {
        let of = plan
            .trials()
            .filter(|trial| trial.condition.placement == placement);
        of.map(|trial| trial.id).collect()
    };
    let free = ids(&without, Placement::Free);
    assert_eq!(ids(&with, Placement::Free), free);
    let pinned = ids(&with, Placement::Pinned);
    assert_eq!(pinned.len(), free.len());
    assert!(pinned.is_disjoint(&free));
    assert!(with.trials().is_sorted_by_key(|trial| trial.replicate));
    let firsts = with
        .trials()
        .filter(|trial| trial.position == 0 && trial.replicate == 0);
    let turns: Vec<Placement> = firsts.map(|trial| trial.condition.placement).collect();
    assert!(
        !turns.is_sorted() && !turns.iter().rev().is_sorted(),
        "they take turns: {turns:?}"
    );
}

#[test]
fn a_changed_binary_changes_its_configurations_but_not_the_order() {
    let before = order(&asked(), &identities());
    let mut changed = identities();
    changed.insert("split".to_owned(), "rebuilt".to_owned());
    let after = order(&asked(), &changed);
    for (old, new) in before.trials().zip(after.trials()) {
        assert_eq!((old.branch, old.block), (new.branch, new.block));
        assert_eq!(old.cell == new.cell, old.branch != "split");
    }
}

#[test]
fn a_shuffle_puts_every_item_everywhere_about_equally_often() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut counts = [[0_u32; 4]; 4];
    for _ in 0..4000 {
        let mut items = [0, 1, 2, 3];
        shuffle(&mut items, &mut random);
        for (place, item) in items.into_iter().enumerate() {
            counts[item][place] += 1;
        }
    }
    // Expected 1000 each; the standard deviation is 27.
    assert!(
        counts
            .iter()
            .flatten()
            .all(|count| (870..1130).contains(count)),
        "{counts:?}"
    );
}

/// The plan of [`asked`], with two instrumented builds beside it.
fn counted() -> (SweepRequest, Plan) {
    let instrument = Instrument {
        branches: vec![
            "packed-instrumented".to_owned(),
            "split-instrumented".to_owned(),
        ],
        trials: 2,
    };
    let mut identities = identities();
    for name in &instrument.branches {
        identities.insert(name.clone(), format!("binary of {name}"));
    }
    let asked = SweepRequest {
        instrument: Some(instrument),
        ..asked()
    };
    let plan = order(&asked, &identities);
    (asked, plan)
}

#[test]
fn counted_trials_come_last_and_leave_every_timed_one_as_it_was() {
    let timed = order(&asked(), &identities());
    let (asked, plan) = counted();
    let trials: Vec<Trial<'_>> = plan.trials().collect();
    let (before, after) = trials.split_at(timed.len());
    assert_eq!(before, timed.trials().collect::<Vec<_>>());
    assert!(
        after
            .iter()
            .all(|trial| asked.is_instrumented(trial.branch))
    );
    assert!(
        before
            .iter()
            .all(|trial| !asked.is_instrumented(trial.branch))
    );
}

#[test]
fn where_the_pool_is_idle_only_the_baseline_and_its_control_run() {
    let (mut asked, _) = counted();
    let on = |value: &str| BTreeMap::from([("on".to_owned(), value.to_owned())]);
    for (load, value) in asked.workloads.iter_mut().zip(["os-threads", "pool"]) {
        load.workload = "locks".to_owned();
        load.parameters = on(value);
    }
    let instrumented = &asked.instrument.as_ref().unwrap().branches;
    let identities = asked.branches.iter().chain(instrumented);
    let identities = identities
        .map(|name| (name.clone(), name.clone()))
        .collect();
    let plan = order(&asked, &identities);
    let names = |load| -> BTreeSet<&str> {
        plan.trials()
            .filter(|it| it.kind.load == load)
            .map(|it| it.branch)
            .collect()
    };
    assert_eq!(names(0), BTreeSet::from(["master", "master-again"]));
    assert_eq!(names(1).len(), 4 + instrumented.len());
}

#[test]
fn every_configuration_of_the_pool_is_counted_as_often_as_asked() {
    let (asked, plan) = counted();
    let is_counted = |trial: &Trial<'_>| asked.is_instrumented(trial.branch);
    let counted: Vec<Trial<'_>> = plan.trials().filter(is_counted).collect();
    // 2 builds × 2 workloads × 3 thread counts, 2 trials each; the sequential program has no pool.
    assert_eq!(counted.len(), 2 * 2 * 3 * 2);
    assert!(
        counted
            .iter()
            .all(|trial| trial.kind.program == Program::Parallel)
    );
    let ids: HashSet<Id> = plan.trials().map(|trial| trial.id).collect();
    assert_eq!(ids.len(), plan.len());
    let blocks: BTreeSet<usize> = plan.trials().map(|trial| trial.block).collect();
    assert_eq!(blocks.len(), plan.blocks());
}
