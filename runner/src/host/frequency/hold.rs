//! Journal, fix, verify, restore: the order in which files are written.

use std::path::Path;

use anyhow::{Result, bail};

use super::journal::{Entry, Journal, SavedSetting};
use super::recipe::Recipe;
use super::sysfs::{Backend, Kind, Knob, Tree};
use crate::stop::Stop;

/// A fixed frequency. Dropped, it puts back what was there; also while a panic unwinds.
pub struct Hold {
    tree: Tree,
    backend: Box<dyn Backend>,
    recipe: Recipe,
    /// `None` once everything is back, or was given up.
    journal: Option<Journal>,
}

impl Hold {
    /// Writes the journal, fixes the frequency, and reads everything back. After any failure, the
    /// old settings are put back.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with the file that refused or says another value.
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
        // A failure to restore tells more than the one that led to it, and names the remedy.
        held.restore()?;
        bail!(Stop::HostNotFit(format!(
            "{error:#}; everything is as it was before"
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
            // The lower limit is never above the upper one, or the kernel refuses.
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

    /// Whether it is boost that the backend has no way to forbid.
    fn leaves_on(&self, knob: Knob) -> bool {
        knob.kind.is_boost() && !self.backend.can_set(knob.kind)
    }

    /// Writes what is not there already: what is right needs no permission.
    fn set(&mut self, knob: Knob, value: &str) -> Result<()> {
        if self.tree.value(knob)? == value {
            return Ok(());
        }
        self.backend.set(&self.tree, knob, value.as_bytes())
    }

    /// Boost that stays on because the backend has no way to forbid it. The limits alone then keep
    /// the clock down, and only measuring can tell whether they do.
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
    /// [`Stop::HostNotFit`] with the first file that says another value.
    pub fn verify(&self) -> Result<()> {
        for (knob, wanted) in &self.recipe.settings {
            let found = self.tree.value(*knob)?;
            if found != *wanted && !self.leaves_on(*knob) {
                bail!(Stop::HostNotFit(format!(
                    "{}: was set to `{wanted}` and reads `{found}`; a daemon may fight over it (tuned, \
                     power-profiles-daemon, thermald, tlp): stop it, or the hardware allows no other value",
                    self.tree.path(*knob).display()
                )));
            }
        }
        Ok(())
    }

    /// Puts back what was there, and deletes the journal when all of it is.
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
        // Taken first: if the restore fails, the next command tries again, and not `drop`.
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

/// Puts back what a journal says and deletes it.
///
/// # Errors
/// [`Stop::HostNotFit`] with every file that is not as it was; the journal then stays.
pub fn put_back(tree: &Tree, backend: &mut dyn Backend, journal: Journal) -> Result<()> {
    let all = &journal.entry.before;
    // Requests mean something under the governor `userspace` only; the kernel answers by itself
    // under any other.
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

    // First of all, lower limits go out of the way of everything.
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
            // A refusal does not matter if the setting came right all the same.
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
        "the frequency settings are not all as they were: {}. Mend the cause, then run `cargo runner \
         frequency restore` ({} keeps what was there)",
        troubles.join("; "),
        journal.path.display()
    )))
}
