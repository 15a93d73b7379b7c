//! A partial tour, small enough to be copied into a task.

/// The most cities of an instance, because visited cities are bits of one word.
pub(super) const MAX_CITIES: usize = 64;

#[derive(Clone, Copy)]
pub(super) struct Partial {
    visited: u64,
    pub(super) cost: i64,
    pub(super) visited_count: usize,
    /// The visited cities in their order: the first `visited_count` entries.
    cities: [u8; MAX_CITIES],
}

impl Partial {
    pub(super) fn new(start: usize) -> Self {
        let mut cities = [0; MAX_CITIES];
        cities[0] = u8::try_from(start).expect("below MAX_CITIES");
        Self {
            visited: 1 << start,
            cost: 0,
            visited_count: 1,
            cities,
        }
    }

    pub(super) fn push(&mut self, city: u8, cost: i64) {
        self.cities[self.visited_count] = city;
        self.visited_count += 1;
        self.visited |= 1 << city;
        self.cost += cost;
    }

    pub(super) fn pop(&mut self, cost: i64) {
        self.visited_count -= 1;
        self.visited &= !(1 << self.cities[self.visited_count]);
        self.cost -= cost;
    }

    pub(super) fn extended(&self, city: u8, cost: i64) -> Self {
        let mut extended = *self;
        extended.push(city, cost);
        extended
    }

    pub(super) fn last(&self) -> usize {
        usize::from(self.cities[self.visited_count - 1])
    }

    pub(super) fn order(&self) -> impl Iterator<Item = u8> {
        self.cities[..self.visited_count].iter().copied()
    }

    /// Whether the second city has a lower number than `city`, or is not chosen yet. Each round
    /// trip has two directions, and the search finds only the direction whose second city has a
    /// lower number than the last city.
    pub(super) fn may_end_in(&self, city: u8) -> bool {
        self.visited_count < 2 || city > self.cities[1]
    }

    pub(super) fn unvisited(&self, count: usize) -> impl Iterator<Item = u8> {
        let mut left = !self.visited & (u64::MAX >> (MAX_CITIES - count));
        std::iter::from_fn(move || {
            let city = left.trailing_zeros();
            left &= left.checked_sub(1)?;
            u8::try_from(city).ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_a_city_back_leaves_the_path_as_it_was() {
        let mut partial = Partial::new(3);
        partial.push(1, 10);
        partial.push(4, 5);
        partial.pop(5);
        assert_eq!((partial.cost, partial.last()), (10, 1));
        assert!(partial.order().eq([3, 1]));
        assert!(partial.unvisited(6).eq([0, 2, 4, 5]));
    }

    #[test]
    fn all_64_cities_are_distinct() {
        let partial = Partial::new(63);
        assert!(partial.unvisited(64).eq(0..63));
    }
}
