//! Finds a good tour to begin with, so that the search can prune from its first node on.

use super::cities::Cities;
use super::search::Tour;

/// Makes one tour from each city, by nearest neighbours and then 2-opt, and returns the shortest
/// tour.
pub(super) fn first_tour(cities: &Cities) -> Tour {
    let tours = (0..cities.len()).map(|start| {
        let mut order = nearest_first(cities, start);
        while improve_by_two_exchange(cities, &mut order) {}
        let length = cities
            .round_trip_length(&order)
            .expect("the tour has every city once");
        Tour { length, order }
    });
    tours
        .min_by_key(|tour| tour.length)
        .expect("there are three cities or more")
}

fn nearest_first(cities: &Cities, start: usize) -> Vec<usize> {
    let mut order = vec![start];
    let mut left: Vec<usize> = (0..cities.len()).filter(|&city| city != start).collect();
    let mut here = start;
    while let Some(nearest) = (0..left.len()).min_by_key(|&i| cities.distance(here, left[i])) {
        here = left.swap_remove(nearest);
        order.push(here);
    }
    order
}

/// Makes one pass of 2-opt, which replaces two roads by two shorter roads, and reverses the part
/// between these roads. Returns whether the pass changed the tour.
fn improve_by_two_exchange(cities: &Cities, order: &mut [usize]) -> bool {
    let count = order.len();
    let mut has_improved = false;
    for first in 0..count - 1 {
        for second in first + 2..count {
            let (a, b) = (order[first], order[first + 1]);
            let (c, d) = (order[second], order[(second + 1) % count]);
            let before = cities.distance(a, b) + cities.distance(c, d);
            if cities.distance(a, c) + cities.distance(b, d) < before {
                order[first + 1..=second].reverse();
                has_improved = true;
            }
        }
    }
    has_improved
}

#[cfg(test)]
mod tests {
    use super::super::subsets::shortest_length;
    use super::*;

    #[test]
    fn the_first_tour_visits_every_city_and_is_close_to_the_optimum() {
        for map in 0..20 {
            let cities = Cities::random(11, map);
            let tour = first_tour(&cities);
            assert_eq!(cities.round_trip_length(&tour.order), Some(tour.length));
            let optimum = shortest_length(&cities);
            assert!(tour.length >= optimum);
            assert!(
                tour.length * 10 <= optimum * 11,
                "map {map}: {} {optimum}",
                tour.length
            );
        }
    }
}
