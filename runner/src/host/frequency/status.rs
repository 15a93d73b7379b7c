//! The output of `frequency status`.

use std::fmt;

use serde::Serialize;

use super::Setup;
use super::clock::{self, Clock};
use super::recipe;
use super::tree::{Kind, Knob, Policy, SYSTEM, Tree};
use crate::affinity::allowed_cpus;
use crate::host::show_cpus;
use crate::text::table::{Column, Format, PAGE, TextTable, plain, wrapped};

/// How the frequency of this host stands.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Folder of the files.
    pub sysfs: String,
    /// One row per policy that has a CPU that trials may use.
    pub policies: Vec<Row>,
    /// Files that forbid boost on all CPUs, with their values.
    pub host: Vec<(String, String)>,
    /// The limit that keeps the CPUs below what they can hold without boost; null if none does.
    pub cap: Option<String>,
    /// Why that is unknown.
    pub cap_unknown: Option<String>,
    /// The frequency that a fix would set, in kHz.
    pub fixable_khz: Option<u64>,
    /// The backend that would set it.
    pub backend: Option<&'static str>,
    /// Why it cannot be fixed.
    pub reason_against: Option<String>,
    /// Whether a fix is in force, in words; null if none is.
    pub fix_in_force: Option<String>,
    /// Clock measured now on all CPUs that trials may use, in GHz: mean, slowest, fastest.
    pub measured_ghz: Option<[f64; 3]>,
}

/// The settings of a policy, as the kernel shows them; null where it does not.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Number of the policy.
    pub policy: u32,
    /// Its CPUs that are online.
    pub cpus: Vec<usize>,
    /// Name of the driver.
    pub driver: String,
    /// The governor, which chooses the frequency.
    pub governor: Option<String>,
    /// Lower limit, in kHz.
    pub min_khz: Option<u64>,
    /// Upper limit, in kHz.
    pub max_khz: Option<u64>,
    /// The frequency now, as the kernel reports it, in kHz.
    pub current_khz: Option<u64>,
    /// Energy performance preference.
    pub epp: Option<String>,
    /// Whether boost is allowed on these CPUs.
    pub boost: Option<String>,
}

impl Status {
    /// Reads and measures; changes nothing.
    pub(crate) fn of(setup: &Setup) -> Self {
        let tree = &setup.tree;
        let policies = setup.policies();
        let prepared = setup.prepare();
        let cap = recipe::cap(tree, &policies);
        // Another host's files say nothing of this one's clock.
        let is_here = tree.is_system();
        let measured = is_here.then(|| clock::measure(&allowed_cpus())).flatten();
        let host = Kind::OF_HOST.into_iter().map(Knob::of_host);
        Self {
            sysfs: tree.root.display().to_string(),
            policies: policies.iter().map(|policy| row(tree, policy)).collect(),
            host: host
                .filter_map(|knob| Some((knob.to_string(), tree.value_if_any(knob)?)))
                .collect(),
            cap_unknown: cap.clone().err(),
            cap: cap.ok().flatten(),
            fixable_khz: prepared.as_ref().ok().map(|(recipe, _)| recipe.khz),
            backend: prepared.as_ref().ok().map(|(_, backend)| backend.name()),
            reason_against: prepared.err().map(|error| format!("{error:#}")),
            fix_in_force: setup.fix_in_force(),
            measured_ghz: measured.map(
                |Clock {
                     ghz,
                     slowest_ghz,
                     fastest_ghz,
                 }| [ghz, slowest_ghz, fastest_ghz],
            ),
        }
    }

    fn table(&self) -> TextTable {
        let (text, number) = (Column::text, Column::number);
        let mut table = TextTable::new([
            text("CPUs"),
            text("driver"),
            text("governor"),
            number("min kHz"),
            number("max kHz"),
            number("now kHz"),
            number("boost"),
            text("EPP"),
        ]);
        let number = |khz: Option<u64>| khz.map_or_else(|| "-".to_owned(), |khz| khz.to_string());
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        for row in &self.policies {
            table.push([
                show_cpus(&row.cpus),
                row.driver.clone(),
                text(&row.governor),
                number(row.min_khz),
                number(row.max_khz),
                number(row.current_khz),
                text(&row.boost),
                text(&row.epp),
            ]);
        }
        table
    }
}

fn row(tree: &Tree, policy: &Policy) -> Row {
    let number = policy.number;
    let value = |kind| tree.value_if_any(Knob::of(number, kind));
    Row {
        policy: number,
        cpus: policy.cpus.clone(),
        driver: policy.driver.clone(),
        governor: value(Kind::Governor),
        min_khz: value(Kind::Min).and_then(|khz| khz.parse().ok()),
        max_khz: value(Kind::Max).and_then(|khz| khz.parse().ok()),
        current_khz: tree.number(number, "scaling_cur_freq"),
        epp: value(Kind::Epp),
        boost: value(Kind::PolicyBoost),
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        if self.policies.is_empty() {
            lines.push(format!(
                "settings    none: {}/cpufreq holds no policy",
                self.sysfs
            ));
        } else {
            writeln!(f, "{}", self.table().text(Format::Table, Some(PAGE)))?;
        }
        let host = self.host.iter();
        lines.extend(host.map(|(file, value)| format!("{file} = {value}")));
        lines.extend(self.cap.as_ref().map(|cap| format!("limited: {cap}")));
        let unknown = self.cap_unknown.as_ref();
        lines.extend(unknown.map(|reason| format!("limited: unknown: {reason}")));
        lines.push(
            match (self.fixable_khz, self.backend, &self.reason_against) {
                (Some(khz), Some(backend), _) => format!("can be fixed at {khz} kHz, by {backend}"),
                (.., reason) => {
                    let reason = reason.as_deref().unwrap_or("unknown reason");
                    format!("cannot be fixed: {reason}")
                }
            },
        );
        let fix = self.fix_in_force.as_deref().unwrap_or("none");
        lines.push(format!("fix in force: {fix}"));
        let clock = match self.measured_ghz {
            Some([ghz, slowest, fastest]) => format!(
                "{ghz:.3} GHz on all CPUs at once (slowest {slowest:.3}, fastest {fastest:.3})"
            ),
            None if self.sysfs == SYSTEM => {
                "unknown: the two ways to measure do not agree".to_owned()
            }
            None => "unknown: the files are another host's".to_owned(),
        };
        lines.push(format!("measured clock: {clock}"));
        for line in lines {
            writeln!(f, "{}", wrapped(&plain(&line), PAGE, "  "))?;
        }
        Ok(())
    }
}
