//! Builds of the branches of a sweep, several at the same time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};

use crate::build::{BranchBuild, BuildPlan, Builder};
use crate::config::Branch;
use crate::run::progress::BuildBar;
use crate::stop::Stop;
use crate::text::words::{count, human};

/// Builds branches, several at the same time if there are enough CPUs, and prints the progress.
/// Returns the branches' binaries, by the branches' names.
pub(crate) fn all(
    builder: &Builder<'_>,
    branches: &[Branch],
) -> Result<BTreeMap<String, BranchBuild>> {
    // Errors that need no build are reported before any build.
    branches
        .iter()
        .try_for_each(|branch| builder.check_folder(branch))?;
    let _lock = builder.lock()?;
    // Cargo may have to fetch a branch's packages, and prints nothing meanwhile.
    tell!(
        "resolving the dependencies of {} …",
        count(branches.len(), "branch", "branches")
    );
    let prepared = |branch| Ok((branch, builder.prepare(branch)?));
    let waiting = branches.iter().map(prepared).collect::<Result<Vec<_>>>()?;
    let sources = builder.shared_sources(branches)?;
    let at_once = Builder::at_once(waiting.len());
    let are_folders_new = at_once > 1 && builder.is_new();
    let bar = BuildBar::new(waiting.len(), at_once);
    let state = State {
        waiting,
        bar,
        built: BTreeMap::new(),
        stop: None,
    };
    let site = Site {
        builder,
        state: Mutex::new(state),
    };
    if are_folders_new && site.build_next(0) {
        // This first build compiled the common dependencies with all CPUs, and other builds use
        // copies of the result.
        builder.copy_first_target(at_once);
    }
    thread::scope(|scope| {
        for target in 0..at_once {
            let site = &site;
            scope.spawn(move || site.work(target));
        }
    });
    let State { built, stop, .. } = site
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = stop {
        return Err(error);
    }
    if builder.shared_sources(branches)? != sources {
        // Branches that were built from different versions of the shared sources would differ in
        // more than their rayon-core.
        bail!(Stop::BuildFailed(
            "workloads/, rayon-fork/ or a working tree was edited while branches were being built; run again"
                .to_owned()
        ));
    }
    Ok(built)
}

struct Site<'a> {
    builder: &'a Builder<'a>,
    state: Mutex<State<'a>>,
}

struct State<'a> {
    waiting: Vec<(&'a Branch, BuildPlan)>,
    bar: BuildBar,
    built: BTreeMap<String, BranchBuild>,
    stop: Option<Error>,
}

impl<'a> Site<'a> {
    fn work(&self, target: usize) {
        while self.build_next(target) {}
    }

    /// Builds one waiting branch in the target folder `target`, and returns whether a branch was
    /// waiting.
    fn build_next(&self, target: usize) -> bool {
        let Some((branch, prepared)) = self.take(target) else {
            return false;
        };
        let started = Instant::now();
        let result = self.builder.build(branch, prepared, target);
        self.end(branch, result, started.elapsed());
        true
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, target: usize) -> Option<(&'a Branch, BuildPlan)> {
        let mut state = self.state();
        if state.stop.is_some() {
            return None;
        }
        // A branch that was built in another target folder before comes last, because Cargo locks
        // that folder while another build uses it.
        let order = |branch: &Branch| match self.builder.built_in(branch) {
            Some(home) if home == target => 0,
            None => 1,
            Some(_) => 2,
        };
        let next = (0..state.waiting.len()).min_by_key(|&it| order(state.waiting[it].0))?;
        let (branch, prepared) = state.waiting.remove(next);
        state.bar.begin(&branch.name);
        Some((branch, prepared))
    }

    fn end(&self, branch: &Branch, result: Result<BranchBuild>, took: Duration) {
        let mut state = self.state();
        match result {
            Ok(built) => {
                let how = format!("{} ({})", built.receipt.variant, human(took));
                state.bar.end(&branch.name, &how);
                state.built.insert(branch.name.clone(), built);
            }
            Err(error) => {
                let is_interrupted = matches!(error.downcast_ref(), Some(Stop::Interrupted(_)));
                state.bar.end(
                    &branch.name,
                    if is_interrupted {
                        "interrupted"
                    } else {
                        "failed"
                    },
                );
                // Only the first error is kept, because later errors may follow from it.
                state.stop.get_or_insert(error);
            }
        }
    }
}
