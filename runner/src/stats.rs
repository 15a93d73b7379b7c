//! The little statistics of the terminal's table; the report does it thoroughly.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// The middle value; `None` of nothing. Sorts in place.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// With fewer pairs that happen to agree, the band is narrow for no reason; the report's limit as well.
pub const FEWEST_PAIRS: usize = 4;

/// Half width of the A/A band: how far the median of `n` paired log-ratios strays from 0 in 95 of 100
/// cases when nothing differs, `twin` being `n` log-ratios of two runs of the same binary.
///
/// The spread of a single log-ratio is estimated around 0, its known centre, with Student's factor
/// for the `n` values it is estimated from; the median of `n` strays by at most √(π/2) times the
/// standard error of the mean. `None` below [`FEWEST_PAIRS`].
#[must_use]
pub fn noise_band(twin: &[f64]) -> Option<f64> {
    if twin.len() < FEWEST_PAIRS {
        return None;
    }
    let count = twin.len() as f64;
    let spread = (twin.iter().map(|ratio| ratio * ratio).sum::<f64>() / count).sqrt();
    let student = StudentsT::new(0.0, 1.0, count).ok()?.inverse_cdf(0.975);
    Some(student * spread * (std::f64::consts::PI / 2.0 / count).sqrt())
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

    use super::*;

    /// A normal deviate (sum of twelve uniforms: close enough up to three standard deviations).
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum::<f64>() - 6.0
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middles() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }

    /// Share of made-up comparisons that step outside the band, for a true log-ratio of `effect`.
    fn share_outside(effect: f64) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let (rounds, trials, noise) = (4000, 5, 0.02);
        let outside = (0..rounds)
            .filter(|_| {
                // As in a sweep: branch and twin are compared with the same run of the baseline.
                let base: Vec<f64> = (0..trials).map(|_| noise * normal(&mut random)).collect();
                let twin: Vec<f64> =
                    base.iter().map(|base| noise * normal(&mut random) - base).collect();
                let mut branch: Vec<f64> =
                    base.iter().map(|base| effect + noise * normal(&mut random) - base).collect();
                median(&mut branch).unwrap().abs() > noise_band(&twin).unwrap()
            })
            .count();
        outside as f64 / f64::from(rounds)
    }

    #[test]
    fn about_one_comparison_in_twenty_steps_outside_when_nothing_differs() {
        let share = share_outside(0.0);
        assert!((0.02..0.08).contains(&share), "{share}");
    }

    #[test]
    fn a_large_effect_is_nearly_always_outside() {
        assert!(share_outside(0.2) > 0.99);
    }

    #[test]
    fn four_pairs_prove_little_and_fewer_nothing() {
        assert!(noise_band(&[0.01, -0.01, 0.01, -0.01]).unwrap() > 0.015);
        assert_eq!(noise_band(&[0.01, -0.01, 0.01]), None);
    }
}
