//! The optimum of few cities by dynamic programming over subsets (Bellman; Held and Karp; both
//! 1962).

use super::cities::Cities;

pub(super) fn shortest_length(cities: &Cities) -> u64 {
    let others = cities
        .len()
        .checked_sub(1)
        .filter(|&others| others > 0)
        .expect("two cities or more");
    // shortest[subset][last] is the length of the shortest path that begins in city `start`, visits
    // all cities of `subset`, and ends in the city `last` of `subset`.
    let start = others;
    let mut shortest = vec![vec![u64::MAX; others]; 1 << others];
    for last in 0..others {
        shortest[1 << last][last] = cities.distance(start, last);
    }
    for subset in 1_usize..1 << others {
        for last in 0..others {
            let so_far = shortest[subset][last];
            if so_far == u64::MAX {
                continue; // `last` is not in `subset`
            }
            for next in (0..others).filter(|&next| subset & 1 << next == 0) {
                let entry = &mut shortest[subset | 1 << next][next];
                *entry = (*entry).min(so_far + cities.distance(last, next));
            }
        }
    }
    let all = &shortest[(1 << others) - 1];
    (0..others)
        .map(|last| all[last] + cities.distance(last, start))
        .min()
        .expect("two cities or more")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_trying_all(cities: &Cities) -> u64 {
        fn extend(cities: &Cities, order: &mut Vec<usize>) -> u64 {
            if let Some(length) = cities.round_trip_length(order) {
                return length;
            }
            let mut best = u64::MAX;
            for next in 0..cities.len() {
                if !order.contains(&next) {
                    order.push(next);
                    best = best.min(extend(cities, order));
                    order.pop();
                }
            }
            best
        }
        extend(cities, &mut vec![0])
    }

    #[test]
    fn the_programme_agrees_with_trying_every_order() {
        for (map, count) in (0..20).zip((3..8).cycle()) {
            let cities = Cities::random(count, map);
            assert_eq!(
                shortest_length(&cities),
                by_trying_all(&cities),
                "map {map}"
            );
        }
    }
}
