//! The output of `frequency status`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::sysfs::{Kind, Knob};
use super::{Setup, clock, recipe};
use crate::affinity::allowed_cpus;
use crate::host::show_cpus;
use crate::text::table::{PAGE, plain, wrapped};

/// Files with their values, by name.
type Settings = BTreeMap<String, String>;

/// The state of this host's frequency.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Status {
    /// Folder of the files.
    sysfs: String,
    /// The CPUs that trials may use; one row for all with the same settings.
    policies: Vec<Row>,
    /// Files that forbid boost on all CPUs.
    host: Settings,
    /// The limit that keeps the CPUs below the frequency that they can hold without boost; null if
    /// there is none.
    cap: Option<String>,
    /// Why the limit is unknown.
    cap_unknown: Option<String>,
    /// The frequency that a fix would set and the backend that would set it.
    fixable: Option<String>,
    /// Why no frequency can be fixed.
    reason_against: Option<String>,
    /// A description of the fix in force; null if there is none.
    fix_in_force: Option<String>,
    /// Clock measured now on all CPUs that trials may use; null if the files are another host's, or
    /// the two methods disagree.
    measured: Option<String>,
}

/// CPUs whose policies have the same settings.
#[derive(Clone, Debug, Serialize)]
struct Row {
    cpus: String,
    driver: String,
    settings: Settings,
}

impl Status {
    /// Reads and measures; changes nothing.
    pub(crate) fn of(setup: &Setup) -> Self {
        let tree = &setup.tree;
        let policies = setup.policies();
        let mut alike: BTreeMap<(String, Settings), Vec<usize>> = BTreeMap::new();
        for policy in &policies {
            let kinds = Kind::all().filter(|kind| !kind.is_of_host());
            let value = |kind: Kind| tree.value(Knob::of(policy.number, kind)).ok();
            let settings = kinds.filter_map(|kind| Some((kind.file().to_owned(), value(kind)?)));
            let row = (policy.driver.clone(), settings.collect());
            alike.entry(row).or_default().extend(&policy.cpus);
        }
        let mut alike: Vec<_> = alike.into_iter().collect();
        alike.sort_by_key(|(_, cpus)| cpus.first().copied());
        let rows = alike.into_iter().map(|((driver, settings), cpus)| Row {
            cpus: show_cpus(&cpus),
            driver,
            settings,
        });
        let host = Kind::all().filter(|kind| kind.is_of_host());
        let value = |kind: Kind| tree.value(Knob::of_host(kind)).ok();
        let host = host.filter_map(|kind| Some((kind.file().to_owned(), value(kind)?)));
        let (cap, fixable) = (recipe::cap(tree, &policies), setup.fixable());
        let is_here = tree.is_system();
        let clock = is_here.then(|| clock::measure(&allowed_cpus())).flatten();
        Self {
            sysfs: tree.shown().to_string(),
            policies: rows.collect(),
            host: host.collect(),
            cap_unknown: cap.clone().err(),
            cap: cap.ok().flatten(),
            reason_against: fixable.clone().err(),
            fixable: fixable.ok(),
            fix_in_force: setup.fix_in_force(),
            measured: clock.map(|clock| clock.to_string()),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |settings: &Settings| {
            let settings = settings.iter();
            let settings: Vec<String> = settings
                .map(|(it, value)| format!("{it} = {value}"))
                .collect();
            settings.join(", ")
        };
        let mut lines = Vec::new();
        if self.policies.is_empty() {
            lines.push(format!("CPUs: none has a policy in {}/cpufreq", self.sysfs));
        }
        for row in &self.policies {
            let settings = shown(&row.settings);
            lines.push(format!("CPUs {} ({}): {settings}", row.cpus, row.driver));
        }
        let of_host = shown(&self.host);
        let not_measured = "unknown: the files are another host's, or the two methods disagree";
        for (what, says) in [
            ("all CPUs", Some(&*of_host).filter(|says| !says.is_empty())),
            ("limited", self.cap.as_deref()),
            ("limits unknown", self.cap_unknown.as_deref()),
            ("can be fixed at", self.fixable.as_deref()),
            ("cannot be fixed", self.reason_against.as_deref()),
            (
                "fix in force",
                self.fix_in_force.as_deref().or(Some("none")),
            ),
            (
                "measured clock",
                self.measured.as_deref().or(Some(not_measured)),
            ),
        ] {
            lines.extend(says.map(|says| format!("{what}: {says}")));
        }
        for line in lines {
            writeln!(f, "{}", wrapped(&plain(&line), PAGE, "  "))?;
        }
        Ok(())
    }
}
