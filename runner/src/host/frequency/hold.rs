//! Fix, verify, restore.

use std::path::Path;

use anyhow::{Result, bail};

use super::journal::{Entry, Journal, SavedSetting};
use super::recipe::Recipe;
use super::sysfs::{Backend, Knob, Tree};
use crate::stop::Stop;

/// How often all files that differ are written. A governor resets boost, boost resets the limits,
/// and the kernel refuses a limit beyond the other one, so four rounds are enough.
const ROUNDS: usize = 6;

/// A fixed frequency. Its drop restores the old settings, also while a panic unwinds.
pub struct Hold {
    tree: Tree,
    backend: Box<dyn Backend>,
    recipe: Recipe,
    /// `None` once the settings are restored, or a restore was given up.
    journal: Option<Journal>,
}

impl Hold {
    /// Writes the journal, fixes the frequency, and reads everything back. After any failure, it
    /// restores the old settings.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with the files that refuse or that show another value.
    pub fn begin(
        tree: Tree,
        mut backend: Box<dyn Backend>,
        recipe: Recipe,
        journal: &Path,
    ) -> Result<Self> {
        let knobs = tree.knobs(&recipe.policies).into_iter();
        let before: Result<_> = knobs.map(|knob| SavedSetting::of(&tree, knob)).collect();
        let entry = Entry::now(&tree, recipe.khz, before?);
        let journal = Some(Journal::create(journal, entry)?);
        let mut wanted = recipe.settings.clone();
        wanted.retain(|(knob, _)| backend.can_set(*knob));
        let refusals = write(&tree, &mut *backend, &wanted);
        let held = Self {
            tree,
            backend,
            recipe,
            journal,
        };
        let Err(error) = held.verify() else {
            return Ok(held);
        };
        // The failure of the restore is more important, and names the remedy.
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

    /// The settings of the fix that the host does not have.
    fn differing(&self) -> impl Iterator<Item = &(Knob, String)> {
        let settings = self.recipe.settings.iter();
        settings.filter(|(knob, value)| differs(&self.tree, *knob, value))
    }

    /// Boost that stays on because the backend has no way to forbid it. Then only the limits keep
    /// the clock down, and only a measurement shows whether they do.
    #[must_use]
    pub fn boost_left_on(&self) -> Option<Knob> {
        let mut left = self.differing().map(|(knob, _)| *knob);
        left.find(|knob| knob.is_boost() && !self.backend.can_set(*knob))
    }

    /// Reads everything back.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with the first file that shows another value.
    pub fn verify(&self) -> Result<()> {
        let mut differing = self.differing();
        if let Some((knob, wanted)) = differing.find(|(knob, _)| self.backend.can_set(*knob)) {
            bail!(Stop::HostNotFit(format!(
                "{}: was set to `{wanted}` and reads `{}`; stop daemons that may set it (tuned, \
                 power-profiles-daemon, thermald, tlp); if that does not help, the hardware allows no other value",
                self.tree.path(*knob).display(),
                self.tree.read(*knob)?.trim()
            )));
        }
        Ok(())
    }

    /// Restores the old settings, and deletes the journal if all of them are restored.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with every file that differs; the journal then stays.
    pub fn restore(mut self) -> Result<()> {
        self.restore_once()
    }

    /// Ends without a restore: the fix stays until a command restores from the journal.
    pub(crate) fn leave_fixed(mut self) {
        self.journal = None;
    }

    fn restore_once(&mut self) -> Result<()> {
        // Taken first: if the restore fails, the next command tries again; `drop` does not.
        let journal = self.journal.take();
        journal.map_or(Ok(()), |it| put_back(&self.tree, &mut *self.backend, it))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Err(error) = self.restore_once() {
            tell!("error: {error:#}");
        }
    }
}

fn differs(tree: &Tree, knob: Knob, value: &str) -> bool {
    tree.read(knob)
        .map_or(true, |found| found.trim() != value.trim())
}

/// Writes all files that differ, again and again until none differs: a write may make the kernel
/// change other files, or accept a value that it refused before. Returns the refusals of the last
/// round.
fn write(tree: &Tree, backend: &mut dyn Backend, wanted: &[(Knob, String)]) -> Vec<String> {
    let mut refusals = Vec::new();
    for _ in 0..ROUNDS {
        refusals.clear();
        let mut is_changed = false;
        for (knob, value) in wanted {
            if differs(tree, *knob, value) {
                match backend.set(tree, *knob, value) {
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
pub fn put_back(tree: &Tree, backend: &mut dyn Backend, journal: Journal) -> Result<()> {
    let before = journal.entry.before.iter().rev();
    let before: Vec<(Knob, String)> = before.map(|it| (it.file, it.content.clone())).collect();
    let mut troubles = write(tree, backend, &before);
    let differing = before
        .iter()
        .filter(|(knob, was)| differs(tree, *knob, was));
    let mut differing = differing.peekable();
    if differing.peek().is_none() {
        return journal.delete();
    }
    troubles.extend(differing.map(|(knob, was)| match tree.read(*knob) {
        Ok(is) => {
            let (path, is, was) = (tree.path(*knob), is.trim(), was.trim());
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
