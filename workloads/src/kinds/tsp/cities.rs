//! Cities in the plane and the distances between them, by the TSPLIB rule.

use crate::random::Random;

/// The largest coordinate. The reader refuses larger ones, so that sums of scaled distances fit 64
/// bits.
pub(super) const MAX_COORDINATE: f64 = 1e9;

/// Random cities lie on whole points of a square with this side, corners included.
const SIDE: u64 = 10_000;

#[derive(Clone, Debug)]
pub(super) struct Cities {
    points: Vec<(f64, f64)>,
    /// The distance between each two cities, row by row.
    distances: Vec<u64>,
}

impl Cities {
    /// Each coordinate is at most [`MAX_COORDINATE`] from 0.
    pub(super) fn new(points: Vec<(f64, f64)>) -> Self {
        let distances = points
            .iter()
            .flat_map(|&from| points.iter().map(move |&to| rounded_distance(from, to)))
            .collect();
        Self { points, distances }
    }

    pub(super) fn random(count: usize, map: u64) -> Self {
        let mut random = Random::new(map);
        let mut coordinate = || random.below(SIDE + 1) as f64;
        Self::new((0..count).map(|_| (coordinate(), coordinate())).collect())
    }

    pub(super) fn reversed(&self) -> Self {
        Self::new(self.points.iter().rev().copied().collect())
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    pub(super) fn distance(&self, from: usize, to: usize) -> u64 {
        self.distances[from * self.points.len() + to]
    }

    /// The city farthest from the centre of all cities. Few short roads lead away from this city,
    /// so the search tree is narrow at its root.
    pub(super) fn outermost(&self) -> usize {
        let count = self.len() as f64;
        let (sum_x, sum_y) = self
            .points
            .iter()
            .fold((0.0, 0.0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
        let from_centre = |&(x, y): &(f64, f64)| (x - sum_x / count).hypot(y - sum_y / count);
        let farthest = self
            .points
            .iter()
            .enumerate()
            .max_by(|(_, left), (_, right)| from_centre(left).total_cmp(&from_centre(right)));
        farthest.map_or(0, |(city, _)| city)
    }

    /// Returns the length of the round trip in this order; `None` if the order does not visit every
    /// city once.
    pub(super) fn round_trip_length(&self, order: &[usize]) -> Option<u64> {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..self.len()) {
            return None;
        }
        let next = order.iter().cycle().skip(1);
        Some(
            order
                .iter()
                .zip(next)
                .map(|(&from, &to)| self.distance(from, to))
                .sum(),
        )
    }
}

/// `EUC_2D`: the Euclidean distance, rounded to the nearest whole number, halves up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a distance is not negative, and the coordinates are limited"
)]
fn rounded_distance(from: (f64, f64), to: (f64, f64)) -> u64 {
    let (x, y) = (from.0 - to.0, from.1 - to.1);
    ((x * x + y * y).sqrt() + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_rounded_to_nearest_with_halves_up() {
        assert_eq!(rounded_distance((0.0, 0.0), (3.0, 4.0)), 5);
        assert_eq!(rounded_distance((0.0, 0.0), (0.0, 2.5)), 3);
        assert_eq!(rounded_distance((0.0, 0.0), (0.0, -2.49)), 2);
        assert_eq!(rounded_distance((1.0, 1.0), (2.0, 2.0)), 1);
    }

    #[test]
    fn only_an_order_of_all_cities_is_a_round_trip() {
        let square = Cities::new(vec![(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)]);
        assert_eq!(square.round_trip_length(&[0, 1, 2, 3]), Some(40));
        assert_eq!(square.round_trip_length(&[0, 2, 1, 3]), Some(48));
        assert_eq!(square.round_trip_length(&[0, 1, 2]), None);
        assert_eq!(square.round_trip_length(&[0, 1, 2, 2]), None);
        assert_eq!(square.round_trip_length(&[0, 1, 2, 4]), None);
    }
}
