//! `build`: one trusted binary per branch.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};
use clap::Args;

use crate::build::{Builder, Built, Prepared};
use crate::config::Branch;
use crate::exit::exit_of;
use crate::options::project::Project;
use crate::run::progress::BuildBar;
use crate::stop::{Exit, Stop};
use crate::system::interrupt;
use crate::text::table::print;
use crate::text::words::{count, human};

/// Arguments of `build`.
#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// Names, globs, `all`, `group:NAME`, `!exclusions`, separated by commas
    #[arg(long, value_name = "LIST", default_value = "all")]
    branches: String,
}

/// Text that `--help` prints below the options.
pub(crate) const HELP: &str = "\
Example:
  cargo runner build --branches 'all,!*jec*'";

pub(crate) fn run(project: &Project, arguments: &BuildArgs) -> Result<Exit> {
    let config = project.config()?;
    let picked = config.pick("--branches", &arguments.branches)?;
    let branches: Vec<Branch> = config
        .branches
        .iter()
        .filter(|branch| picked.contains(&branch.name.as_str()))
        .cloned()
        .collect();
    interrupt::install()?;
    let folder = project.config_folder()?;
    let builder = Builder::new(&project.checkout, &folder, 1)?;
    let (built, failed) = all(&builder, &branches, true)?;
    for branch in &branches {
        if let Some(built) = built.get(&branch.name) {
            print(&format!(
                "{} {}\n",
                branch.name,
                built.binaries[0].display()
            ))?;
        }
    }
    Ok(if failed.is_empty() {
        Exit::Good
    } else {
        Exit::BuildFailed
    })
}

/// Binaries, and why some branches have none.
pub(crate) type Builds = (BTreeMap<String, Built>, BTreeMap<String, Error>);

/// Builds branches, several at a time where there are CPUs for it, and says so. A failure stops the
/// command, or is kept and reported.
pub(crate) fn all(builder: &Builder<'_>, branches: &[Branch], keeps_going: bool) -> Result<Builds> {
    // Report at once what needs no build, before minutes go into other branches.
    branches
        .iter()
        .try_for_each(|branch| builder.check_folder(branch))?;
    let _lock = builder.lock()?;
    let mut failed = BTreeMap::new();
    let mut waiting = Vec::new();
    // Cargo may have to fetch what a branch needs, and says nothing meanwhile.
    tell!(
        "resolving the dependencies of {} …",
        count(branches.len(), "branch", "branches")
    );
    for branch in branches {
        match builder.prepare(branch) {
            Ok(prepared) => waiting.push((branch, prepared)),
            Err(error) => {
                let Some(text) = going_on_without(branch, &error, keeps_going) else {
                    return Err(error);
                };
                tell!("{text}");
                failed.insert(branch.name.clone(), error);
            }
        }
    }
    let sources = builder.shared_sources(branches)?;
    let at_once = Builder::at_once(waiting.len());
    let bar = BuildBar::new(waiting.len(), at_once);
    let state = State {
        waiting,
        bar,
        built: BTreeMap::new(),
        failed,
        stop: None,
    };
    let site = Site {
        builder,
        keeps_going,
        state: Mutex::new(state),
    };
    thread::scope(|scope| {
        for target in 0..at_once {
            let site = &site;
            scope.spawn(move || site.work(target));
        }
    });
    let State {
        built,
        failed,
        stop,
        ..
    } = site
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = stop {
        return Err(error);
    }
    if builder.shared_sources(branches)? != sources {
        // The branches would differ in more than their rayon-core.
        bail!(Stop::BuildFailed(
            "workloads/, rayon-fork/ or a working tree was edited while branches were being built; run again"
                .to_owned()
        ));
    }
    Ok((built, failed))
}

/// Returns the message for a failed build, if the command goes on after it.
fn going_on_without(branch: &Branch, error: &Error, keeps_going: bool) -> Option<String> {
    (keeps_going && exit_of(error) == Exit::BuildFailed).then(|| {
        format!(
            "error: {error:#}\n(end of the error; going on without `{}`)",
            branch.name
        )
    })
}

/// Builds that go on at the same time.
struct Site<'a> {
    builder: &'a Builder<'a>,
    keeps_going: bool,
    state: Mutex<State<'a>>,
}

struct State<'a> {
    waiting: Vec<(&'a Branch, Prepared)>,
    bar: BuildBar,
    built: BTreeMap<String, Built>,
    failed: BTreeMap<String, Error>,
    /// Why nothing more is built.
    stop: Option<Error>,
}

impl<'a> Site<'a> {
    /// Builds what waits, one after another, in the target folder `target`; what was built before
    /// in another stays there, so that nothing is built twice.
    fn work(&self, target: usize) {
        while let Some((branch, prepared)) = self.take(target) {
            let started = Instant::now();
            let result = self.builder.build(branch, prepared, target);
            self.end(branch, result, started.elapsed());
        }
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, target: usize) -> Option<(&'a Branch, Prepared)> {
        let mut state = self.state();
        if state.stop.is_some() {
            return None;
        }
        // A folder that another build uses is locked by cargo: what would have to wait for it is
        // taken last.
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

    fn end(&self, branch: &Branch, result: Result<Built>, took: Duration) {
        let mut state = self.state();
        match result {
            Ok(built) => {
                let how = format!("{} ({})", built.receipt.variant, human(took));
                state.bar.end(&branch.name, &how);
                state.built.insert(branch.name.clone(), built);
            }
            Err(error) => {
                let is_interrupted = exit_of(&error) == Exit::Interrupted;
                state.bar.end(
                    &branch.name,
                    if is_interrupted {
                        "interrupted"
                    } else {
                        "failed"
                    },
                );
                match going_on_without(branch, &error, self.keeps_going) {
                    Some(text) => {
                        state.bar.say(&text);
                        state.failed.insert(branch.name.clone(), error);
                    }
                    // The first one is the cause.
                    None => _ = state.stop.get_or_insert(error),
                }
            }
        }
    }
}
