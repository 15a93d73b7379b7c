//! Journal, fix, verify, restore: the order in which files are written.

use std::path::Path;

use anyhow::{Result, bail};

use super::journal::{Entry, Journal, SavedSetting};
use super::recipe::Recipe;
use super::sysfs::{Backend, Kind, Knob, Tree};
use crate::stop::Stop;

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
    /// [`Stop::HostNotFit`] with the file that refused or that shows another value.
    pub fn begin(
        tree: Tree,
        backend: Box<dyn Backend>,
        recipe: Recipe,
        journal: &Path,
    ) -> Result<Self> {
        let knobs = tree.knobs(&recipe.policies).into_iter();
        let before: Result<_> = knobs.map(|knob| SavedSetting::of(&tree, knob)).collect();
        let entry = Entry::now(&tree, recipe.khz, before?);
        let journal = Some(Journal::create(journal, entry)?);
        let mut held = Self {
            tree,
            backend,
            recipe,
            journal,
        };
        let Err(error) = held.apply().and_then(|()| held.verify()) else {
            return Ok(held);
        };
        // The failure of the restore is more important than the one before it, and names the
        // remedy.
        held.restore()?;
        bail!(Stop::HostNotFit(format!(
            "{error:#}; all settings are restored"
        )))
    }

    /// The frequency, in kHz.
    #[must_use]
    pub fn khz(&self) -> u64 {
        self.recipe.khz
    }

    fn apply(&mut self) -> Result<()> {
        let Recipe { khz, settings, .. } = self.recipe.clone();
        for (knob, value) in settings {
            // The lower limit must never be above the upper one, or the kernel refuses.
            if let (Kind::Max, Some(policy)) = (knob.kind, knob.policy)
                && khz <= self.tree.value(knob)?.parse().unwrap_or(0)
            {
                self.set(Knob::of(policy, Kind::Min), &value)?;
            }
            if !self.leaves_on(knob) {
                self.set(knob, &value)?;
            }
        }
        Ok(())
    }

    /// Whether the setting is boost, and the backend has no way to forbid it.
    fn leaves_on(&self, knob: Knob) -> bool {
        knob.kind.is_boost() && !self.backend.can_set(knob.kind)
    }

    /// Writes a value unless the file already has it: then no permission is needed.
    fn set(&mut self, knob: Knob, value: &str) -> Result<()> {
        if self.tree.value(knob)? == value {
            return Ok(());
        }
        self.backend.set(&self.tree, knob, value.as_bytes())
    }

    /// Boost that stays on because the backend has no way to forbid it. Then only the limits keep
    /// the clock down, and only a measurement shows whether they do.
    #[must_use]
    pub fn boost_left_on(&self) -> Option<Knob> {
        let left = self.recipe.settings.iter().find(|(knob, off)| {
            self.leaves_on(*knob) && self.tree.value(*knob).ok().as_ref() != Some(off)
        });
        left.map(|(knob, _)| *knob)
    }

    /// Reads everything back.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with the first file that shows another value.
    pub fn verify(&self) -> Result<()> {
        for (knob, wanted) in &self.recipe.settings {
            let found = self.tree.value(*knob)?;
            if found != *wanted && !self.leaves_on(*knob) {
                bail!(Stop::HostNotFit(format!(
                    "{}: was set to `{wanted}` and reads `{found}`; stop daemons that may set it (tuned, \
                     power-profiles-daemon, thermald, tlp); if that does not help, the hardware allows no other value",
                    self.tree.path(*knob).display()
                )));
            }
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

/// Restores the settings of a journal and deletes it.
///
/// # Errors
/// [`Stop::HostNotFit`] with every file that could not be restored; the journal then stays.
pub fn put_back(tree: &Tree, backend: &mut dyn Backend, journal: Journal) -> Result<()> {
    let all = &journal.entry.before;
    // Requests have a meaning under the governor `userspace` only; under any other, the kernel
    // itself answers.
    let obeys = |it: &&SavedSetting| {
        let is_governor = it.file.kind == Kind::Governor;
        is_governor && it.content.trim() == "userspace"
    };
    let asked: Vec<Option<u32>> = all.iter().filter(obeys).map(|it| it.file.policy).collect();
    let is_ours =
        |it: &&SavedSetting| it.file.kind != Kind::Speed || asked.contains(&it.file.policy);
    let ours: Vec<&SavedSetting> = all.iter().filter(is_ours).collect();
    let differs =
        |it: &SavedSetting| tree.read(it.file).ok().as_deref() != Some(it.content.as_bytes());

    // Lower limits go first to the lowest value, so that they obstruct no other write.
    for limit in ours.iter().filter(|it| it.file.kind == Kind::Min) {
        let policy = limit.file.policy;
        let lowest = tree.fact(&limit.file.beside("cpuinfo_min_freq"));
        if ours
            .iter()
            .any(|it| it.file.policy == policy && differs(it))
            && let Ok(lowest) = lowest
        {
            let _ = backend.set(tree, limit.file, lowest.as_bytes()); // compared at the end
        }
    }
    let mut troubles = Vec::new();
    for kind in Kind::all() {
        for it in ours.iter().filter(|it| it.file.kind == kind) {
            // A refusal does not matter if the setting is nevertheless right.
            if differs(it)
                && let Err(error) = backend.set(tree, it.file, it.content.as_bytes())
                && differs(it)
            {
                troubles.push(format!("{error:#}"));
            }
        }
    }
    for it in ours.iter().filter(|it| differs(it)) {
        let was = it.content.trim();
        troubles.push(match tree.value(it.file) {
            Ok(is) => format!("{} is `{is}`, was `{was}`", tree.path(it.file).display()),
            Err(error) => format!("{error:#}, was `{was}`"),
        });
    }
    if troubles.is_empty() {
        return journal.delete();
    }
    bail!(Stop::HostNotFit(format!(
        "some frequency settings could not be restored: {}. Mend the cause, then run `cargo runner \
         frequency restore` ({} keeps the original settings)",
        troubles.join("; "),
        journal.path.display()
    )))
}
