//! Depth-first branch and bound over partial tours, alone or as tasks on the pool.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crossbeam_utils::CachePadded;
use rayon::Scope;

use super::bound::Costs;
use super::cities::Cities;
use super::first_tour::first_tour;
use super::partial::{MAX_CITIES, Partial};
use crate::machine::add_cost;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tour {
    /// The tour's length by the TSPLIB rule.
    pub(super) length: u64,
    pub(super) order: Vec<usize>,
}

pub(super) struct Found {
    pub(super) best: Tour,
    pub(super) nodes: u64,
}

pub(super) struct Search {
    costs: Costs,
    start: usize,
    first: Tour,
    spawn_depth: usize,
}

impl Search {
    /// One task searches everything below a partial tour of `spawn_depth` or more cities.
    pub(super) fn new(cities: &Cities, spawn_depth: usize) -> Self {
        let start = cities.outermost();
        let first = first_tour(cities);
        let costs = Costs::ascended(cities, start, first.length);
        Self {
            costs,
            start,
            first,
            spawn_depth,
        }
    }

    pub(super) fn sequential(&self) -> Found {
        let best = Best::new(self);
        let nodes = self.descend(&best, &mut Partial::new(self.start));
        best.into_found(nodes)
    }

    pub(super) fn parallel(&self) -> Found {
        let best = Best::new(self);
        let nodes = CachePadded::new(AtomicU64::new(0));
        rayon::scope(|scope| self.expand(scope, &best, &nodes, Partial::new(self.start)));
        best.into_found(nodes.into_inner().into_inner())
    }

    /// Spawns a task for every extension of `partial`, unless `partial` is hopeless or complete. At
    /// the spawn depth, searches everything below `partial` instead.
    fn expand<'s>(
        &'s self,
        scope: &Scope<'s>,
        best: &'s Best<'s>,
        nodes: &'s AtomicU64,
        mut partial: Partial,
    ) {
        if partial.visited_count >= self.spawn_depth {
            let below = self.descend(best, &mut partial);
            // Relaxed: the number is read after the scope has ended.
            nodes.fetch_add(below, Relaxed);
            return;
        }
        nodes.fetch_add(1, Relaxed);
        if self.is_hopeless_or_done(best, &partial) {
            return;
        }
        let mut children = Children::of(self, &partial);
        // Spawns the worst child first: this worker runs its newest job next, so it searches the
        // best child first, and thieves take the oldest job.
        while let Some((cost, city)) = children.pop_worst() {
            let child = partial.extended(city, cost);
            scope.spawn(move |scope| self.expand(scope, best, nodes, child));
        }
    }

    fn descend(&self, best: &Best<'_>, partial: &mut Partial) -> u64 {
        if self.is_hopeless_or_done(best, partial) {
            return 1;
        }
        let mut nodes = 1;
        let mut children = Children::of(self, partial);
        while let Some((cost, city)) = children.pop_best() {
            partial.push(city, cost);
            nodes += self.descend(best, partial);
            partial.pop(cost);
        }
        nodes
    }

    /// Whether the search below `partial` is over, or cannot improve on the best tour. If `partial`
    /// has all cities, this function offers it as a closed tour.
    fn is_hopeless_or_done(&self, best: &Best<'_>, partial: &Partial) -> bool {
        if partial.visited_count < self.costs.count() {
            return partial.cost + self.cheapest_completion(partial) > best.highest_useful_cost();
        }
        let cost = partial.cost + self.costs.between(partial.last(), self.start);
        if cost <= best.highest_useful_cost() {
            best.offer(self.costs.to_length(cost), partial);
        }
        true
    }

    /// A lower bound for the cost of completions: the cost of the cheapest spanning tree over the
    /// unvisited cities, plus that of the cheapest road from this tree to each end of the partial
    /// tour.
    fn cheapest_completion(&self, partial: &Partial) -> i64 {
        let mut cities = [0_u8; MAX_CITIES];
        let mut nearest = [i64::MAX; MAX_CITIES];
        let (from_last, from_start) =
            (self.costs.from(partial.last()), self.costs.from(self.start));
        let (mut to_last, mut to_start) = (i64::MAX, i64::MAX);
        let mut count = 0;
        for city in partial.unvisited(self.costs.count()) {
            cities[count] = city;
            count += 1;
            to_last = to_last.min(from_last[usize::from(city)]);
            if partial.may_end_in(city) {
                to_start = to_start.min(from_start[usize::from(city)]);
            }
        }
        // The cost is about the number of roads that this function compares.
        add_cost((count * (count + 1) / 2) as u64);
        if to_start == i64::MAX {
            return i64::MAX / 2; // no city is left that may come last
        }
        // Prim's algorithm: grow the tree by the nearest city.
        let mut tree = 0;
        let mut newest = 0;
        while count > 1 {
            let from_newest = self.costs.from(usize::from(cities[newest]));
            count -= 1;
            cities.swap(newest, count);
            nearest.swap(newest, count);
            let mut road = i64::MAX;
            for index in 0..count {
                let known = nearest[index].min(from_newest[usize::from(cities[index])]);
                nearest[index] = known;
                if known < road {
                    (road, newest) = (known, index);
                }
            }
            tree += road;
        }
        tree + to_last + to_start
    }
}

struct Best<'a> {
    costs: &'a Costs,
    /// Cost of a tour one unit shorter than the best tour. The search reads this cost at every
    /// node, so the cost has its own cache line.
    highest_useful_cost: CachePadded<AtomicI64>,
    tour: Mutex<Tour>,
}

impl<'a> Best<'a> {
    fn new(search: &'a Search) -> Self {
        let cost = search.costs.just_below_length(search.first.length);
        Self {
            costs: &search.costs,
            highest_useful_cost: CachePadded::new(AtomicI64::new(cost)),
            tour: Mutex::new(search.first.clone()),
        }
    }

    fn highest_useful_cost(&self) -> i64 {
        // Relaxed: the value only falls, so a stale value is too high. A task then visits some
        // useless nodes, or offers a tour that `offer` rejects under the lock.
        self.highest_useful_cost.load(Relaxed)
    }

    fn offer(&self, length: u64, partial: &Partial) {
        // A poisoned lock means that another task panicked; the scope passes that panic on.
        let mut tour = self.tour.lock().unwrap_or_else(PoisonError::into_inner);
        if length < tour.length {
            *tour = Tour {
                length,
                order: partial.order().map(usize::from).collect(),
            };
            self.highest_useful_cost
                .store(self.costs.just_below_length(length), Relaxed);
        }
    }

    fn into_found(self, nodes: u64) -> Found {
        Found {
            best: self
                .tour
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner),
            nodes,
        }
    }
}

/// The extensions of a partial tour, nearest city first.
struct Children {
    sorted: [(i64, u8); MAX_CITIES],
    from: usize,
    to: usize,
}

impl Children {
    fn of(search: &Search, partial: &Partial) -> Self {
        let costs = search.costs.from(partial.last());
        let mut sorted = [(0, 0); MAX_CITIES];
        let mut to = 0;
        for city in partial.unvisited(search.costs.count()) {
            sorted[to] = (costs[usize::from(city)], city);
            to += 1;
        }
        sorted[..to].sort_unstable();
        Self {
            sorted,
            from: 0,
            to,
        }
    }

    fn pop_best(&mut self) -> Option<(i64, u8)> {
        let best = *self.sorted[..self.to].get(self.from)?;
        self.from += 1;
        Some(best)
    }

    fn pop_worst(&mut self) -> Option<(i64, u8)> {
        let worst = *self.sorted[self.from..self.to].last()?;
        self.to -= 1;
        Some(worst)
    }
}

#[cfg(test)]
mod tests {
    use super::super::subsets::shortest_length;
    use super::*;

    #[test]
    fn every_search_finds_the_length_that_the_programme_over_subsets_proves() {
        for (map, count) in (0..40).zip((3..12).cycle()) {
            let cities = Cities::random(count, map);
            let known = shortest_length(&cities);
            for found in [
                Search::new(&cities, 4).sequential(),
                Search::new(&cities, 4).parallel(),
                Search::new(&cities.reversed(), 0).sequential(),
            ] {
                assert_eq!(found.best.length, known, "map {map}");
            }
        }
    }

    #[test]
    fn cities_in_one_place_and_in_one_line_are_solved() {
        let same = Cities::new(vec![(5.0, 5.0); 6]);
        assert_eq!(Search::new(&same, 2).parallel().best.length, 0);
        let line = Cities::new((0..8).map(|x| (f64::from(x) * 10.0, 0.0)).collect());
        assert_eq!(Search::new(&line, 2).parallel().best.length, 140);
    }

    #[test]
    fn the_lower_bound_of_a_partial_tour_never_exceeds_its_best_completion() {
        // Each prefix of each tour must have a bound no higher than the tour.
        let cities = Cities::random(7, 11);
        let search = Search::new(&cities, 0);
        let mut orders = vec![vec![search.start]];
        for _ in 1..7 {
            orders = orders
                .into_iter()
                .flat_map(|order: Vec<usize>| {
                    (0..7)
                        .filter(|c| !order.contains(c))
                        .map(|c| [&order[..], &[c]].concat())
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        for order in orders.into_iter().filter(|order| order[1] < order[6]) {
            let length = cities.round_trip_length(&order).unwrap();
            let cost = search.costs.just_below_length(length + 1);
            let mut partial = Partial::new(search.start);
            for &city in &order[1..] {
                let bound = partial.cost + search.cheapest_completion(&partial);
                assert!(bound <= cost, "{order:?}");
                let road = search.costs.between(partial.last(), city);
                partial.push(u8::try_from(city).unwrap(), road);
            }
        }
    }
}
