//! The work of a contender: steps outside the lock, and critical sections.

#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) contenders: u64,
    pub(super) iterations: u64,
    pub(super) section_steps: u64,
    pub(super) outside_steps: u64,
    pub(super) seed: u64,
}

impl Shape {
    /// The start values of a contender's chains of steps, one for each of its sections.
    pub(super) fn seeds(&self, contender: u64) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed.wrapping_add(contender * self.iterations);
        (0..self.iterations).map(move |iteration| first.wrapping_add(iteration))
    }

    pub(super) fn sections(&self) -> u64 {
        self.contenders * self.iterations
    }

    /// `work(word, steps)` computes `steps` steps, beginning with `word`. `locked` runs a section
    /// under the lock.
    pub(super) fn contend(
        &self,
        contender: u64,
        work: impl Fn(u64, u64) -> u64,
        mut locked: impl FnMut(&dyn Fn(&mut Tally)),
    ) {
        for seed in self.seeds(contender) {
            let begun = work(seed, self.outside_steps);
            locked(&|tally| {
                // The section reads the tally before the work and writes it after the work. So if
                // two sections overlap, one of the updates is lost.
                let before = *tally;
                *tally = before.plus(work(begun, self.section_steps));
            });
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) sections: u64,
    pub(super) sum: u64,
}

impl Tally {
    pub(super) fn plus(self, word: u64) -> Self {
        Self {
            sections: self.sections + 1,
            sum: self.sum.wrapping_add(word),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    Mutex,
    Spin,
}
