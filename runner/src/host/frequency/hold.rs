//! Fixes the frequency, verifies it, and restores the old settings.

use std::path::Path;

use anyhow::{Result, bail};

use super::journal::{Entry, Journal, SavedSetting};
use super::recipe::Recipe;
use super::sysfs::{Backend, Knob};
use crate::host::Host;
use crate::stop::Stop;

/// The most rounds in which files that differ are written. Four rounds are enough: a governor
/// resets boost, boost resets the limits, and the kernel refuses a lower limit above the upper one.
const ROUNDS: usize = 4;

/// A fixed frequency. Dropping this value restores the old settings, also while a panic unwinds.
pub struct Hold {
    host: Host,
    backend: Box<dyn Backend>,
    recipe: Recipe,
    journal: Option<Journal>,
}

impl Hold {
    /// Writes the journal, fixes the frequency, and reads every file back. Restores the old
    /// settings after any failure.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with the files that refuse a value or show another value.
    pub fn begin(
        host: Host,
        backend: Box<dyn Backend>,
        recipe: Recipe,
        journal: &Path,
    ) -> Result<Self> {
        let knobs = host.knobs(&recipe.policies).into_iter();
        let before: Result<_> = knobs.map(|knob| SavedSetting::of(&host, knob)).collect();
        let entry = Entry::now(&host, recipe.khz, before?);
        let journal = Some(Journal::create(journal, entry)?);
        let mut wanted = recipe.settings.clone();
        wanted.retain(|(knob, _)| backend.can_set(*knob));
        let mut held = Self {
            host,
            backend,
            recipe,
            journal,
        };
        let refusals = write(&held.host, &mut *held.backend, &wanted);
        let Err(error) = held.verify() else {
            return Ok(held);
        };
        // If the restore also fails, the restore's error is reported, because that error names the
        // remedy.
        held.restore()?;
        bail!(Stop::HostNotFit(
            [refusals, vec![format!("{error:#}")]].concat().join("; ")
                + "; all settings are restored"
        ))
    }

    /// The frequency, in kHz.
    #[must_use]
    pub fn khz(&self) -> u64 {
        self.recipe.khz
    }

    /// Reads back every file that the backend can write. If the backend cannot forbid boost, only the
    /// measured clock shows whether the limits are kept.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with the first file that shows another value.
    pub fn verify(&self) -> Result<()> {
        let mut settings = self.recipe.settings.iter();
        let is_other = |(knob, value): &&(Knob, String)| {
            self.backend.can_set(*knob) && differs(&self.host, *knob, value)
        };
        if let Some((knob, wanted)) = settings.find(is_other) {
            bail!(Stop::HostNotFit(format!(
                "{}: was set to `{wanted}` and reads `{}`; stop daemons that may set it (tuned, \
                 power-profiles-daemon, thermald, tlp); if that does not help, the hardware allows no other value",
                self.host.knob(*knob).display(),
                self.host.setting(*knob)?.trim()
            )));
        }
        Ok(())
    }

    /// Restores the old settings, and deletes the journal if all settings are restored.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with every file that differs; the journal then stays.
    pub fn restore(mut self) -> Result<()> {
        self.restore_once()
    }

    fn restore_once(&mut self) -> Result<()> {
        // Taking the journal out keeps `drop` from repeating a failed restore. The next command
        // repeats the restore.
        let journal = self.journal.take();
        journal.map_or(Ok(()), |it| put_back(&self.host, &mut *self.backend, it))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Err(error) = self.restore_once() {
            tell!("error: {error:#}");
        }
    }
}

fn differs(host: &Host, knob: Knob, value: &str) -> bool {
    host.setting(knob)
        .map_or(true, |found| found.trim() != value.trim())
}

/// Writes all files that differ, again and again until no file differs. A write may make the kernel
/// change other files, or accept a value that it refused before. Returns the refusals of the last
/// round.
fn write(host: &Host, backend: &mut dyn Backend, wanted: &[(Knob, String)]) -> Vec<String> {
    let mut refusals = Vec::new();
    for _ in 0..ROUNDS {
        refusals.clear();
        let mut is_changed = false;
        for (knob, value) in wanted {
            if differs(host, *knob, value) {
                match backend.set(host, *knob, value) {
                    Ok(()) => is_changed = true,
                    Err(error) => refusals.push(format!("{error:#}")),
                }
            }
        }
        if !is_changed {
            break;
        }
    }
    refusals
}

/// Restores the settings of a journal in reverse order, and deletes the journal.
///
/// # Errors
/// [`Stop::HostNotFit`] with every file that could not be restored; the journal then stays.
pub fn put_back(host: &Host, backend: &mut dyn Backend, journal: Journal) -> Result<()> {
    let before = journal.entry.before.iter().rev();
    let before: Vec<(Knob, String)> = before.map(|it| (it.file, it.content.clone())).collect();
    let mut troubles = write(host, backend, &before);
    let differing = before
        .iter()
        .filter(|(knob, was)| differs(host, *knob, was));
    let mut differing = differing.peekable();
    if differing.peek().is_none() {
        return journal.delete();
    }
    troubles.extend(differing.map(|(knob, was)| match host.setting(*knob) {
        Ok(is) => {
            let (path, is, was) = (host.knob(*knob), is.trim(), was.trim());
            format!("{} is `{is}`, was `{was}`", path.display())
        }
        Err(error) => format!("{error:#}, was `{}`", was.trim()),
    }));
    bail!(Stop::HostNotFit(format!(
        "some frequency settings could not be restored: {}. Mend the cause, then run `cargo runner \
         frequency restore` ({} keeps the original settings)",
        troubles.join("; "),
        journal.path.display()
    )))
}
