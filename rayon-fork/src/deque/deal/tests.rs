//! What dealing does step by step.

use super::*;
use crate::deque::on_demand::numbered::Numbered;

/// What `worker` was dealt, and to whom it may deal on.
fn taken(deal: &Deal, worker: usize) -> (Option<Numbered>, u32) {
    let job = deal.close(worker);
    (
        job,
        deal.mailboxes[worker]
            .helpers
            .load(Ordering::Relaxed)
            .count_ones(),
    )
}

/// Workers 1 and 2 waited, and worker 0 has dealt job 0 to one of them.
fn where_one_of_two_was_dealt_to() -> Deal {
    let deal = Deal::new(4);
    deal.open(1);
    deal.open(2);
    assert!(deal.deal(0, || Some(Numbered(0))));
    deal
}

#[test]
fn nothing_is_dealt_where_nobody_waits_and_the_job_stays() {
    let deal = Deal::new(3);
    assert!(!deal.deal(0, || -> Option<Numbered> {
        panic!("the job is taken from its deque")
    }));
    assert_eq!(deal.deal_from_outside(Numbered(5)), Err(Numbered(5)));
    deal.open(1);
    assert_eq!(deal.close::<Numbered>(1), None);
    assert_eq!(deal.deal_from_outside(Numbered(5)), Err(Numbered(5)));
}

#[test]
fn a_dealer_without_a_job_leaves_the_mailbox_open() {
    let deal = Deal::new(2);
    deal.open(1);
    assert!(!deal.deal(0, || None::<Numbered>) && deal.is_open(1));
    assert!(deal.deal(0, || Some(Numbered(7))));
    assert_eq!(deal.close(1), Some(Numbered(7)));
}

#[test]
fn half_of_those_that_wait_come_with_the_job_and_a_tree_reaches_all() {
    let deal = Deal::new(64);
    (0..63).for_each(|worker| deal.open(worker));
    assert!(deal.deal(63, || Some(Numbered(0))));
    let first = (0..63).find(|worker| !deal.is_open(*worker)).unwrap();
    assert_eq!(taken(&deal, first), (Some(Numbered(0)), 31));
    // Whoever has others may deal to them, and reads no shared word.
    deal.waiting
        .iter()
        .for_each(|word| assert_eq!(word.load(Ordering::Relaxed), 0));
    assert!(deal.deal(first, || Some(Numbered(1))) && deal.deal(63, || Some(Numbered(2))));
    let dealt = (0..63).filter(|worker| !deal.is_open(*worker) && *worker != first);
    let on_both_sides: Vec<_> = dealt.map(|worker| worker < first).collect();
    assert_eq!(on_both_sides.len(), 2);
}

#[test]
fn helpers_of_who_waits_itself_wait_for_others() {
    let deal = where_one_of_two_was_dealt_to();
    // One of the two is left to worker 0, which waits, too.
    deal.open(0);
    assert!(deal.deal(3, || Some(Numbered(1))) && deal.deal(3, || Some(Numbered(2))));
    assert!(!deal.deal(3, || Some(Numbered(3))));
}

#[test]
fn a_thread_outside_deals_to_any_group_and_hands_all_who_wait_there_on() {
    let deal = Deal::new(130);
    (127..130).for_each(|worker| deal.open(worker));
    for job in 0..3 {
        assert_eq!(deal.deal_from_outside(Numbered(job)), Ok(()));
        // Of the two in one group, both bits come with the job; the other shows itself again.
        deal.show_again(128);
        deal.show_again(129);
    }
    let mut jobs: Vec<_> = (127..130)
        .map(|worker| deal.close::<Numbered>(worker).unwrap().0)
        .collect();
    jobs.sort_unstable();
    assert_eq!(jobs, [0, 1, 2]);
}

#[test]
fn what_its_worker_does_not_take_others_may() {
    let deal = Deal::new(2);
    deal.open(0);
    assert_eq!(deal.take_from::<Numbered>(0), None);
    assert_eq!(deal.deal_from_outside(Numbered(3)), Ok(()));
    assert_eq!(
        (deal.take_from(0), deal.close::<Numbered>(0)),
        (Some(Numbered(3)), None)
    );
}

#[test]
fn who_waits_in_another_group_is_dealt_what_the_own_group_does_not_want() {
    let deal = Deal::new(130);
    deal.open(129);
    assert!(deal.deal(0, || Some(Numbered(4))));
    assert_eq!(deal.close(129), Some(Numbered(4)));
}

#[test]
fn who_has_helpers_that_found_other_jobs_deals_to_those_that_wait_now() {
    let deal = where_one_of_two_was_dealt_to();
    let (_, helper) = (deal.close::<Numbered>(1), deal.close::<Numbered>(2));
    assert!(helper.is_none() || helper == Some(Numbered(0)));
    deal.open(3);
    assert!(deal.deal(0, || Some(Numbered(1))));
    assert_eq!(deal.close(3), Some(Numbered(1)));
}

#[test]
fn who_waited_in_vain_has_no_helpers() {
    let deal = where_one_of_two_was_dealt_to();
    deal.open(0);
    assert_eq!(deal.close::<Numbered>(0), None);
    assert_eq!(deal.mailboxes[0].helpers.load(Ordering::Relaxed), 0);
}
