//! How long an iteration takes on any host, as data: sums of products of parameters.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Values, for_ever};

/// How long an iteration takes on any host, by the workload's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub struct Lasts {
    /// What is added up; a sum of zero says nothing.
    #[serde(deserialize_with = "for_ever::slice")]
    pub terms: &'static [Term],
    /// The parameter and its value without which the host decides.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "for_ever::optional_pair"
    )]
    pub only_if: Option<(&'static str, &'static str)>,
    /// Whether the work is fixed. Otherwise the workload does what it can in that time, and is
    /// judged by how much that is.
    pub is_paced: bool,
}

/// No term is longer than a century, so that no sum overflows.
const LONGEST: Duration = Duration::from_hours(24 * 36_525);

/// A product of parameters, in a unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// Names of parameters that take whole numbers.
    #[serde(deserialize_with = "for_ever::texts")]
    pub product: &'static [&'static str],
    /// What the product is divided by: such a parameter, or a whole number.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "for_ever::optional_text"
    )]
    pub over: Option<&'static str>,
    /// What one of these takes.
    pub unit: TimeUnit,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Lasts {
    /// Of a workload with fixed work, whose time is always the sum of `terms`.
    #[must_use]
    pub const fn paced(terms: &'static [Term]) -> Self {
        Self {
            terms,
            only_if: None,
            is_paced: true,
        }
    }

    /// Of a workload that always does what it can in the time that the sum of `terms` is.
    #[must_use]
    pub const fn busy(terms: &'static [Term]) -> Self {
        Self {
            terms,
            only_if: None,
            is_paced: false,
        }
    }

    /// The same, where `parameter` is `value`.
    #[must_use]
    pub const fn only_if(self, parameter: &'static str, value: &'static str) -> Self {
        Self {
            only_if: Some((parameter, value)),
            ..self
        }
    }

    /// The time with these values; `None` where the host decides.
    ///
    /// # Panics
    /// If it names a parameter that the workload does not have.
    #[must_use]
    pub(crate) fn evaluated(&self, values: &Values) -> Option<Duration> {
        if self
            .only_if
            .is_some_and(|(name, value)| values.word(name) != value)
        {
            return None;
        }
        let time = self
            .terms
            .iter()
            .map(|term| term.evaluated(values))
            .sum::<Duration>();
        (!time.is_zero()).then_some(time)
    }
}

impl Term {
    /// A product in `unit`.
    #[must_use]
    pub const fn new(unit: TimeUnit, product: &'static [&'static str]) -> Self {
        Self {
            product,
            over: None,
            unit,
        }
    }

    /// The same, divided by a parameter or a whole number.
    #[must_use]
    pub const fn over(self, divisor: &'static str) -> Self {
        Self {
            over: Some(divisor),
            ..self
        }
    }

    fn evaluated(self, values: &Values) -> Duration {
        let product = self.product.iter().fold(1_u64, |product, name| {
            product.saturating_mul(values.whole(name))
        });
        let divisor = self.over.map_or(1, |over| {
            over.parse().unwrap_or_else(|_| values.whole(over))
        });
        let unit_ns: u128 = match self.unit {
            TimeUnit::Us => 1_000,
            TimeUnit::Ms => 1_000_000,
            TimeUnit::S => 1_000_000_000,
        };
        let nanoseconds = u128::from(product) * unit_ns / u128::from(divisor.max(1));
        u64::try_from(nanoseconds)
            .map_or(LONGEST, Duration::from_nanos)
            .min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Description, Parameter, Size, SizeOverrides};

    /// The time of an iteration with these values of `n`, `gap-us` and `how`.
    fn lasts(lasts: Lasts, n: u64, gap_us: u64, how: &str) -> Option<Duration> {
        let description = Description {
            name: "made-up",
            summary: "",
            stresses: "",
            work_unit: "",
            input: None,
            lasts: Some(lasts),
            charge: None,
            parameters: const {
                &[
                    Parameter::whole("n", "", (0, u64::MAX), "1"),
                    Parameter::whole("gap-us", "", (0, u64::MAX), "1"),
                    Parameter::one_of("how", "", &["open", "closed"], "open"),
                ]
            },
            sizes: const { &SizeOverrides::all(&[], &[], &[], &[]) },
        };
        let explicit = BTreeMap::from([
            ("n".to_owned(), n.to_string()),
            ("gap-us".to_owned(), gap_us.to_string()),
            ("how".to_owned(), how.to_owned()),
        ]);
        let values = description.resolve(Size::Tiny, &explicit, false).unwrap();
        assert_eq!(
            description.is_paced(&values),
            description.lasts(&values).is_some()
        );
        description.lasts(&values)
    }

    const PERIODS: Term = Term::new(TimeUnit::Us, &["n", "gap-us"]);

    #[test]
    fn periods_take_their_number_times_their_length_and_none_take_no_time() {
        let periods = Lasts::paced(&[PERIODS]);
        assert_eq!(
            lasts(periods, 7, 100, "open"),
            Some(Duration::from_micros(700))
        );
        assert_eq!(lasts(periods, 7, 0, "open"), None);
    }

    #[test]
    fn terms_are_added_and_random_gaps_take_half_of_their_longest() {
        const BOTH: Lasts = Lasts::paced(&[PERIODS.over("2"), Term::new(TimeUnit::Ms, &["n"])]);
        assert_eq!(
            lasts(BOTH, 3, 1, "open"),
            Some(Duration::from_nanos(3_001_500))
        );
    }

    #[test]
    fn a_rate_divides_and_the_condition_decides() {
        const RATE: Lasts =
            Lasts::paced(&[Term::new(TimeUnit::S, &["n"]).over("gap-us")]).only_if("how", "open");
        assert_eq!(
            lasts(RATE, 3, 2, "open"),
            Some(Duration::from_millis(1_500))
        );
        assert_eq!(lasts(RATE, 3, 2, "closed"), None);
    }

    #[test]
    fn no_values_overflow() {
        let long = Lasts::paced(&[PERIODS, PERIODS]);
        assert!(lasts(long, u64::MAX, u64::MAX, "open") > Some(Duration::from_hours(1)));
    }
}
