//! Work of a known length on a user-level thread.

use workloads::kinds::pacing::chain;

use crate::user_threads::Current;

/// Steps between two safepoints, under a microsecond: reading the clock then takes some 3 % of the
/// time.
const STEPS_BETWEEN_SAFEPOINTS: u64 = 256;

/// The same steps as [`chain`], now and then with a safepoint.
pub(crate) fn chain_with_safepoints(me: &Current<'_>, seed: u64, steps: u64) -> u64 {
    let mut word = seed;
    let mut left = steps;
    while left > 0 {
        let now = left.min(STEPS_BETWEEN_SAFEPOINTS);
        word = chain(word, now);
        left -= now;
        me.safepoint();
    }
    word
}
