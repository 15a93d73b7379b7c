//! `frequency`: controls the CPU frequency by hand, in the way a sweep does.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use crate::affinity::allowed_cpus;
use crate::host::frequency::sysfs::{Knob, Tree};
use crate::host::frequency::{Setup, clock, recipe};
use crate::host::show_cpus;
use crate::options::FrequencyOptions;
use crate::stop::{Exit, Stop};
use crate::system::interrupt;
use crate::text::table::{PAGE, plain, print, wrapped};

/// Text that `--help` prints below the options.
pub(crate) const HELP: &str = "\
Examples:
  cargo runner frequency status
  cargo runner frequency fix        all CPUs at one frequency, until `restore`
  cargo runner frequency restore    even after a sweep was killed";

/// Arguments of `frequency`.
#[derive(Debug, Args)]
pub(crate) struct FrequencyArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show drivers, limits and measured clock, and whether one frequency could be fixed
    Status {
        #[command(flatten)]
        options: FrequencyOptions,
    },
    /// Fix all usable CPUs at their highest common frequency without boost, until `restore`
    Fix {
        #[command(flatten)]
        options: FrequencyOptions,
    },
    /// Restore the settings from before a fix, made by hand or by a sweep that died
    Restore {
        #[command(flatten)]
        options: FrequencyOptions,
    },
}

pub(crate) fn run(arguments: &FrequencyArgs) -> Result<Exit> {
    match &arguments.verb {
        Verb::Status { options } => {
            for line in status(&options.setup()) {
                print(&format!("{}\n", wrapped(&plain(&line), PAGE, "  ")))?;
            }
        }
        Verb::Fix { options } => fix(&options.setup())?,
        Verb::Restore { options } => {
            if !options.setup().restore_leftover()? {
                tell!("nothing to restore: no fix is in force");
            }
        }
    }
    Ok(Exit::Good)
}

/// The state of this host's frequency.
fn status(setup: &Setup) -> Vec<String> {
    let tree = &setup.tree;
    let policies = setup.policies();
    // One line for all CPUs with the same settings.
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for policy in &policies {
        let driver = tree.fact(&policy.file("scaling_driver"));
        let driver = driver.unwrap_or_else(|_| "unknown driver".to_owned());
        let mut knobs = tree.knobs(std::slice::from_ref(policy));
        knobs.retain(|knob| knob.policy.is_some());
        let settings = shown(tree, &knobs);
        let cpus = alike.entry(format!("({driver}): {settings}")).or_default();
        cpus.extend(&policy.cpus);
    }
    let mut lines: Vec<String> = alike
        .into_iter()
        .map(|(settings, cpus)| format!("CPUs {} {settings}", show_cpus(&cpus)))
        .collect();
    if lines.is_empty() {
        let folder = tree.shown();
        lines.push(format!("CPUs: none has a policy in {folder}/cpufreq"));
    }
    let of_host = tree.knobs(&[]);
    if !of_host.is_empty() {
        lines.push(format!("all CPUs: {}", shown(tree, &of_host)));
    }
    match recipe::cap(tree, &policies) {
        Ok(None) => {}
        Ok(Some(cap)) => lines.push(format!("limited: {cap}")),
        Err(reason) => lines.push(format!("limits unknown: {reason}")),
    }
    lines.push(match setup.fixable() {
        Ok(how) => format!("can be fixed at: {how}"),
        Err(reason) => format!("cannot be fixed: {reason}"),
    });
    let fix = setup.fix_in_force().unwrap_or_else(|| "none".to_owned());
    lines.push(format!("fix in force: {fix}"));
    let is_here = tree.is_system();
    let clock = is_here.then(|| clock::measure(&allowed_cpus())).flatten();
    let unknown = "unknown: the files are another host's, or the two methods disagree";
    let clock = clock.map_or_else(|| unknown.to_owned(), |clock| clock.to_string());
    lines.push(format!("measured clock: {clock}"));
    lines
}

fn shown(tree: &Tree, knobs: &[Knob]) -> String {
    let settings = knobs.iter().filter_map(|knob| {
        let value = tree.read(*knob).ok()?;
        Some(format!("{} = {}", knob.name, value.trim()))
    });
    settings.collect::<Vec<String>>().join(", ")
}

fn fix(setup: &Setup) -> Result<()> {
    interrupt::install()?;
    if setup.journal.exists() {
        bail!(Stop::HostNotFit(format!(
            "the frequency is fixed already, or a fix was never undone ({}); run `cargo runner frequency \
             restore` first",
            setup.journal.display()
        )));
    }
    let held = setup.fix()?;
    if interrupt::is_requested() {
        held.restore()?;
        bail!(Stop::Interrupted(
            "interrupted; all settings are restored".to_owned()
        ));
    }
    let khz = held.khz();
    if let Some(knob) = held.boost_left_on() {
        let path = setup.tree.path(knob);
        let path = path.display();
        tell!("note: {path} still allows boost, which this backend cannot forbid");
    }
    held.leave_fixed();
    tell!(
        "all CPUs that trials may use are set to {khz} kHz; `cargo runner frequency restore` restores \
         the original settings"
    );
    if setup.tree.is_system() {
        match clock::measure(&allowed_cpus()) {
            Some(clock) if clock.is_at(khz) => tell!("measured: {clock}"),
            Some(clock) => {
                tell!("warning: measured: {clock}, which differs from the set frequency");
            }
            None => tell!("warning: the clock cannot be measured: the two methods disagree"),
        }
    }
    tell!("note: a sweep also restores them when it begins; `sweep --mode fixed` fixes by itself");
    Ok(())
}
