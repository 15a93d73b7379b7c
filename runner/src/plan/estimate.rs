//! Estimates roughly how long trials take, from the parameters and the size of each trial.

use std::time::Duration;

use protocol::Size;

use crate::plan::{Load, Plan, SETTLE, SweepRequest};

/// Time around a trial: the process starts and ends, the runner measures the clock twice, and
/// writes the record to the disk. Measured once on 2 virtual CPUs.
const AROUND: Duration = SETTLE.saturating_add(Duration::from_millis(27));

/// Estimates the time of a plan. The estimate is a guess, since the plan knows nothing about the
/// host's speed.
pub(crate) fn of(asked: &SweepRequest, plan: &Plan) -> Duration {
    let iterations = asked.warmup_iterations + asked.iterations;
    let of_kind = |(load, trials): (usize, usize)| {
        let trial = iteration(&asked.workloads[load]).saturating_mul(iterations);
        trial
            .saturating_add(AROUND)
            .saturating_mul(u32::try_from(trials).unwrap_or(u32::MAX))
    };
    let kinds = plan
        .trials_by_kind()
        .into_iter()
        .map(|(kind, trials)| (kind.load, trials));
    kinds
        .map(of_kind)
        .fold(Duration::ZERO, Duration::saturating_add)
}

/// Estimates an iteration on one core from the parameters, or from the design of the sizes (see
/// [`Size`]).
fn iteration(load: &Load) -> Duration {
    let by_parameters = || {
        let (workload, values) = load.resolved()?;
        workload.runs_for(&values)
    };
    let by_design = || match Size::find(&load.size) {
        Ok(Size::Tiny) => 1,
        Ok(Size::Small) | Err(_) => 25,
        Ok(Size::Medium) => 250,
        Ok(Size::Large) => 3000,
    };
    by_parameters().unwrap_or_else(|| Duration::from_millis(by_design()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::plan;
    use crate::plan::tests::asked;

    #[test]
    fn more_iterations_and_larger_sizes_take_longer_and_what_runs_for_a_given_time_takes_that() {
        let estimate = |size: &str, iterations, parameters: &[(&str, &str)]| {
            let own = parameters
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()));
            let workload = if parameters.is_empty() {
                "quicksort"
            } else {
                "packets"
            };
            let load = Load {
                workload: workload.to_owned(),
                size: size.to_owned(),
                parameters: own.collect(),
                input: None,
            };
            let asked = SweepRequest {
                workloads: vec![load],
                iterations,
                ..asked()
            };
            let names = asked
                .branches
                .iter()
                .map(|name| (name.clone(), String::new()));
            of(
                &asked,
                &plan::order(&asked, &names.collect::<BTreeMap<_, _>>()),
            )
        };
        assert!(estimate("small", 2, &[]) > estimate("small", 1, &[]));
        assert!(estimate("large", 1, &[]) > 10 * estimate("medium", 1, &[]));
        let timed = |ms| estimate("small", 1, &[("stop", "timed"), ("duration-ms", ms)]);
        assert!(timed("7000") > 6 * timed("1000"));
    }
}
