//! The steps that are done on a host, the steps left, and whether a call may go on with them.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::Result;

use super::plans::{self, Plans};
use crate::host::Host;
use crate::host::here;
use crate::kit::personal::Personal;
use crate::kit::record::{Record, Step};
use crate::options::project::Project;
use crate::stop::Stop;
use crate::text::words::{count, moment};

/// The data that every step needs.
pub(super) struct Work<'a> {
    pub(super) project: &'a Project,
    /// Folder of results, which has `hosts`, `sweeps` and `reports`.
    pub(super) results: PathBuf,
    /// Where the record is until `merge` takes the file that is made of it.
    pub(super) folder: PathBuf,
    pub(super) plans: Plans,
    pub(super) personal: Personal,
    pub(super) record: Record,
}

/// A record without steps.
pub(super) fn begun(project: &Project, host: &Host, is_quick: bool) -> Record {
    Record {
        schema: protocol::SCHEMA,
        host: host.id(),
        cpu: host
            .cpu_field("model name")
            .unwrap_or_else(|_| "an unknown processor".to_owned()),
        cores: here::cpus(host).len(),
        cpus: Host::usable_cpus(),
        is_virtual: host.is_virtual().ok(),
        is_quick,
        begun_at: moment(SystemTime::now()),
        checkout: project.checkout.commit(),
        announced_s: None,
        steps: Vec::new(),
    }
}

impl Work<'_> {
    /// Steps that are left, in order.
    pub(super) fn left(&self) -> impl Iterator<Item = Step> {
        Step::ALL
            .iter()
            .copied()
            .filter(|step| self.record.made(*step).is_none())
    }

    /// Lists the steps done and the steps left, for people. A sweep itself tells how long it takes.
    pub(super) fn text(&self) -> String {
        let Record {
            host,
            cpu,
            cores,
            cpus,
            ..
        } = &self.record;
        let kind = if self.record.is_virtual == Some(true) {
            ", virtual"
        } else {
            ""
        };
        let mut text = format!(
            "host {host}: {cpu}{kind}; {}, {}\n",
            count(*cores, "core", "cores"),
            count(*cpus, "CPU", "CPUs")
        );
        if self.record.is_quick {
            text += "--quick: sizes are tiny, and times mean nothing\n";
        }
        if !self.record.steps.is_empty() {
            let done: Vec<&str> = self
                .record
                .steps
                .iter()
                .map(|done| done.step.name())
                .collect();
            text.extend(["done already: ", &done.join(", "), "\n"]);
        }
        text.extend(
            self.left()
                .map(|step| format!("{:<11}{}\n", step.name(), plans::says(step))),
        );
        if self.record.steps.is_empty() {
            let time = if self.record.is_quick {
                "some minutes"
            } else {
                "about an hour"
            };
            text.extend([
                "in all ",
                time,
                ", builds included, if nothing else runs here\n",
            ]);
        }
        text
    }

    /// Refuses to go on with what was begun otherwise.
    pub(super) fn check(&self, is_quick: bool) -> Result<()> {
        let shown = self.project.checkout.shown(&self.folder);
        let stop = |why: String| {
            Err(Stop::BadInput(format!(
                "{shown}: {why}; --new begins anew, and keeps the sweeps"
            ))
            .into())
        };
        if self.record.is_quick != is_quick {
            return stop("`--quick` was given in one call and not in the other".to_owned());
        }
        let now = self.project.checkout.commit().commit;
        if self.left().next().is_some() && self.record.checkout.commit != now {
            let named = |commit: &Option<String>| commit.clone().unwrap_or("no commit".to_owned());
            return stop(format!(
                "it was begun at commit {}, this is {}, whose binaries would be others; check that one out and go on",
                named(&self.record.checkout.commit),
                named(&now)
            ));
        }
        let cpus = Host::usable_cpus();
        if self.record.cpus != cpus {
            return stop(format!(
                "it was begun on {}, and now may use {cpus}",
                count(self.record.cpus, "CPU", "CPUs")
            ));
        }
        Ok(())
    }
}
