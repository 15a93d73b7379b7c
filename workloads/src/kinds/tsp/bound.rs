//! Lower bounds for tours: minimum spanning trees over costs that are adjusted once, at the root of
//! the search.
//!
//! A penalty on all roads at a city makes every round trip longer by twice that penalty, so the
//! shortest round trip stays the same. But penalties change the cheapest tree. Held and Karp (1970,
//! 1971) choose penalties that drive this tree towards two roads at each city. The tree's cost is
//! then a lower bound about 1 % below the optimum. The search uses only the adjusted costs.

use super::cities::Cities;

/// Costs are whole numbers in units of 1/[`SCALE`] of a length, so that bounds are exact and
/// penalties can be fractions.
const SCALE: i64 = 1 << 8;

/// Number of steps of the subgradient ascent. A guess.
const STEPS: u32 = 1_000;

/// Distances with penalties added at both ends, in [`SCALE`]ths of a unit of length.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    count: usize,
    /// The cost of the road between each two cities, row by row.
    roads: Vec<i64>,
    /// The amount that the penalties add to every round trip.
    surcharge: i64,
}

impl Costs {
    fn plain(cities: &Cities) -> Self {
        Self::with_penalties(cities, &vec![0; cities.len()])
    }

    fn with_penalties(cities: &Cities, penalties: &[i64]) -> Self {
        let count = cities.len();
        let cost = |from, to| {
            let distance =
                i64::try_from(cities.distance(from, to)).expect("coordinates are limited");
            distance * SCALE + penalties[from] + penalties[to]
        };
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        Self {
            count,
            roads: pairs.map(|(from, to)| cost(from, to)).collect(),
            surcharge: 2 * penalties.iter().sum::<i64>(),
        }
    }

    /// Creates costs with penalties, by a subgradient ascent towards round trips shorter than
    /// `target`.
    ///
    /// A step changes a city's penalty in proportion to the city's number of roads in the cheapest
    /// one-tree, minus two. The length of a step follows Held, Wolfe and Crowder (1974):
    /// proportional to the gap that remains, halved when the bound stops improving.
    pub(super) fn ascended(cities: &Cities, start: usize, target: u64) -> Self {
        let count = cities.len();
        let mut penalties = vec![0.0_f64; count];
        let mut best = Self::plain(cities);
        let mut best_bound = best.one_tree(start).0;
        let target = target as f64 * SCALE as f64;
        let (mut eagerness, mut steps_without_gain) = (2.0, 0);
        for _ in 0..STEPS {
            let rounded: Vec<i64> = penalties.iter().map(|&penalty| whole(penalty)).collect();
            let costs = Self::with_penalties(cities, &rounded);
            let (bound, degrees) = costs.one_tree(start);
            steps_without_gain += 1;
            if bound > best_bound {
                (best, best_bound, steps_without_gain) = (costs, bound, 0);
            }
            let excess: Vec<f64> = degrees
                .iter()
                .map(|&degree| f64::from(degree) - 2.0)
                .collect();
            let norm: f64 = excess.iter().map(|excess| excess * excess).sum();
            if norm == 0.0 {
                break; // the tree is a round trip: the bound is the optimum
            }
            if steps_without_gain == 20 {
                (eagerness, steps_without_gain) = (eagerness / 2.0, 0);
            }
            let step = eagerness * (target - bound as f64).max(SCALE as f64) / norm;
            for (penalty, excess) in penalties.iter_mut().zip(excess) {
                *penalty += step * excess;
            }
        }
        best
    }

    /// Computes the cheapest one-tree at `start`: a spanning tree of the other cities, and two
    /// roads to `start`. Returns the one-tree's cost less the surcharge, and the number of roads at
    /// each city.
    fn one_tree(&self, start: usize) -> (i64, Vec<u32>) {
        let mut degrees = vec![0; self.count];
        let mut outside: Vec<usize> = (0..self.count).filter(|&city| city != start).collect();
        let mut to_start: Vec<(i64, usize)> = outside
            .iter()
            .map(|&city| (self.between(start, city), city))
            .collect();
        to_start.sort_unstable();
        let mut cost = 0;
        for &(road, city) in &to_start[..2] {
            cost += road;
            degrees[start] += 1;
            degrees[city] += 1;
        }
        let mut newest = outside.pop().expect("there are three cities or more");
        let mut nearest = vec![(i64::MAX, 0); self.count];
        while !outside.is_empty() {
            for &city in &outside {
                nearest[city] = nearest[city].min((self.between(newest, city), newest));
            }
            let chosen = (0..outside.len()).min_by_key(|&index| nearest[outside[index]]);
            newest = outside.swap_remove(chosen.expect("a city is outside"));
            let (road, neighbour) = nearest[newest];
            cost += road;
            degrees[newest] += 1;
            degrees[neighbour] += 1;
        }
        (cost - self.surcharge, degrees)
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn between(&self, from: usize, to: usize) -> i64 {
        self.roads[from * self.count + to]
    }

    pub(super) fn from(&self, city: usize) -> &[i64] {
        &self.roads[city * self.count..][..self.count]
    }

    fn of_length(&self, length: u64) -> i64 {
        i64::try_from(length).expect("coordinates are limited") * SCALE + self.surcharge
    }

    /// The cost of a round trip that is one unit shorter than `length`.
    pub(super) fn just_below_length(&self, length: u64) -> i64 {
        self.of_length(length) - SCALE
    }

    pub(super) fn to_length(&self, cost: i64) -> u64 {
        let scaled = cost - self.surcharge;
        debug_assert_eq!(scaled % SCALE, 0, "a round trip's cost is exact");
        u64::try_from(scaled / SCALE).expect("a length is not negative")
    }
}

/// A step is bounded by the tour's length, so penalties stay far below what an `i64` holds.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the cast saturates, and any penalty gives a valid bound"
)]
fn whole(penalty: f64) -> i64 {
    penalty.round() as i64
}

#[cfg(test)]
mod tests {
    use super::super::subsets::shortest_length;
    use super::*;

    #[test]
    fn the_ascent_comes_close_to_the_optimum_and_never_above() {
        for map in 0..10 {
            let cities = Cities::random(12, map);
            let optimum = i64::try_from(shortest_length(&cities)).unwrap() * SCALE;
            let plain = Costs::plain(&cities).one_tree(0).0;
            let ascended = Costs::ascended(&cities, 0, shortest_length(&cities) * 11 / 10)
                .one_tree(0)
                .0;
            assert!(
                plain <= ascended && ascended <= optimum,
                "{plain} {ascended} {optimum}"
            );
            assert!(
                ascended * 100 >= optimum * 95,
                "map {map}: {ascended} is far below {optimum}"
            );
        }
    }

    #[test]
    fn every_round_trip_costs_its_length_and_the_surcharge() {
        let cities = Cities::random(6, 3);
        let costs = Costs::ascended(&cities, 2, 40_000);
        let order = [3, 1, 5, 0, 2, 4];
        let cost: i64 = (0..6)
            .map(|i| costs.between(order[i], order[(i + 1) % 6]))
            .sum();
        let length = cities.round_trip_length(&order).unwrap();
        assert_eq!(costs.to_length(cost), length);
        assert_eq!(costs.of_length(length), cost);
        assert_eq!(costs.to_length(costs.just_below_length(length)), length - 1);
    }
}
