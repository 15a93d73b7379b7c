//! Journal, fix, verify, restore: the order in which files are written.

use std::path::Path;

use anyhow::{Result, bail};

use super::backend::Backend;
use super::journal::{Before, Entry, Journal};
use super::recipe::{Recipe, USERSPACE};
use super::tree::{Kind, Knob, Tree};
use crate::stop::Stop;

/// A fixed frequency. Dropped, it puts back what was there; also while a panic unwinds.
pub struct Held {
    tree: Tree,
    backend: Box<dyn Backend>,
    recipe: Recipe,
    /// `None` once everything is back, or was given up.
    journal: Option<Journal>,
}

impl Held {
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
        let mut policies = tree.policies();
        policies.retain(|policy| recipe.is_of(policy.number));
        let knobs = tree.knobs(&policies).into_iter();
        let before = knobs.map(|file| {
            let content = String::from_utf8(tree.read(file)?).map_err(|_| {
                let path = tree.path(file);
                Stop::HostNotFit(format!(
                    "{} holds no text, so it could not be put back",
                    path.display()
                ))
            })?;
            Ok(Before { file, content })
        });
        let entry = Entry::now(&tree, recipe.khz, before.collect::<Result<_>>()?);
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
        let Recipe { khz, settings } = self.recipe.clone();
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
        let mut left = self
            .recipe
            .settings
            .iter()
            .filter(|(knob, _)| self.leaves_on(*knob));
        left.find(|(knob, off)| self.tree.value_if_any(*knob).as_ref() != Some(off))
            .map(|(knob, _)| *knob)
    }

    /// Reads everything back.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] with the first file that says another value.
    pub fn verify(&self) -> Result<()> {
        for (knob, wanted) in self
            .recipe
            .settings
            .iter()
            .filter(|(knob, _)| !self.leaves_on(*knob))
        {
            let found = self.tree.value(*knob)?;
            if found != *wanted {
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
        // Take the journal first: if the restore fails, the next command tries again, and not
        // `drop`.
        let Some(journal) = self.journal.take() else {
            return Ok(());
        };
        put_back(&self.tree, &mut *self.backend, journal)
    }
}

impl Drop for Held {
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
    let mut restore = Restore {
        tree,
        backend,
        before: &journal.entry.before,
        troubles: Vec::new(),
    };
    restore.run();
    let troubles = restore.troubles;
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

struct Restore<'a> {
    tree: &'a Tree,
    backend: &'a mut dyn Backend,
    before: &'a [Before],
    troubles: Vec<String>,
}

impl Restore<'_> {
    /// Lower limits down, out of the way of everything; then governors, boost, preferences; limits
    /// after those, since without boost the kernel cuts the upper ones; requests at the end.
    fn run(&mut self) {
        for Before { file: knob, .. } in self.before {
            if let (Kind::Min, Some(policy)) = (knob.kind, knob.policy)
                && self.differs_anywhere(policy)
                && let Some(lowest) = self.tree.text(policy, "cpuinfo_min_freq")
            {
                self.set(*knob, &lowest);
            }
        }
        let kinds = [
            &[Kind::Governor][..],
            &[
                Kind::NoTurbo,
                Kind::Boost,
                Kind::PolicyBoost,
                Kind::HwpDynamicBoost,
            ],
            &[Kind::Epp],
            &[Kind::Max],
            &[Kind::Min],
            &[Kind::Speed],
        ];
        for kinds in kinds {
            for Before {
                file: knob,
                content,
            } in self.before
            {
                if kinds.contains(&knob.kind) && self.is_ours(*knob) && self.differs(*knob, content)
                {
                    self.set(*knob, content);
                }
            }
        }
        for Before {
            file: knob,
            content,
        } in self.before
        {
            if self.is_ours(*knob) && self.differs(*knob, content) {
                let path = self.tree.path(*knob);
                let was = content.trim();
                self.troubles.push(match self.tree.value(*knob) {
                    Ok(is) => format!("{} is `{is}`, was `{was}`", path.display()),
                    Err(error) => format!("{error:#}, was `{was}`"),
                });
            }
        }
    }

    /// Requests mean something under the governor `userspace` only; the kernel answers by itself
    /// under any other.
    fn is_ours(&self, knob: Knob) -> bool {
        let governor = |policy| Knob::of(policy, Kind::Governor);
        knob.kind != Kind::Speed
            || knob.policy.is_some_and(|policy| {
                let before = self.before.iter().find(|it| it.file == governor(policy));
                before.is_some_and(|it| it.content.trim() == USERSPACE)
            })
    }

    fn differs(&self, knob: Knob, content: &str) -> bool {
        self.tree.read(knob).ok().as_deref() != Some(content.as_bytes())
    }

    fn differs_anywhere(&self, policy: u32) -> bool {
        let mut own = self
            .before
            .iter()
            .filter(|it| it.file.policy == Some(policy));
        own.any(|it| self.is_ours(it.file) && self.differs(it.file, &it.content))
    }

    /// The comparison at the end reports what is refused here, unless the setting came right all
    /// the same.
    fn set(&mut self, knob: Knob, content: &str) {
        if let Err(error) = self.backend.set(self.tree, knob, content.as_bytes())
            && self.differs(knob, content)
            && self
                .before
                .iter()
                .any(|it| it.file == knob && it.content == content)
        {
            self.troubles.push(format!("{error:#}"));
        }
    }
}
