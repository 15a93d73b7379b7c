//! Keeps on disk the files' content from before a fix. The runner writes the journal before the
//! first change, and deletes it after the last file is restored. A runner that finds a journal
//! without a holder undoes the fix of a runner that died.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::sysfs::Knob;
use crate::host::{CPUS, Host, start_of};
use crate::stop::Stop;
use crate::system::digest::Id;
use crate::system::whole_file::{check_locked, folder_of, sync_folder};
use crate::text::words::moment;

const SCHEMA: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    schema: u32,
    sysfs: PathBuf,
    /// Identifies the start of the system after which the runner made the changes. The next start
    /// undoes the changes.
    boot: String,
    pub(super) process: u32,
    /// When the frequency was fixed (RFC 3339, UTC).
    pub(super) since: String,
    pub(super) khz: u64,
    pub(super) before: Vec<SavedSetting>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedSetting {
    pub(super) file: Knob,
    /// The file's content, with the end of line.
    pub(super) content: String,
}

impl SavedSetting {
    pub(super) fn of(host: &Host, file: Knob) -> Result<Self> {
        let content = host.setting(file)?;
        let setting = Self { file, content };
        match setting.fault() {
            None => Ok(setting),
            Some(why) => not_fit(format!("/{CPUS}: {why}, so it could not be restored")),
        }
    }

    /// Returns why the kernel cannot have shown this content. Such content must not be written to
    /// the kernel's file.
    fn fault(&self) -> Option<String> {
        let Self { file, content } = self;
        let value = content.strip_suffix('\n').unwrap_or(content);
        let is_part = |it: char| it.is_ascii_alphanumeric() || "_-<>".contains(it);
        if (1..=32).contains(&value.len()) && value.chars().all(is_part) {
            return None;
        }
        let value = start_of(value).escape_debug().to_string();
        Some(format!("`{file}` says `{value}`, which is not one word"))
    }
}

impl Entry {
    pub(super) fn now(host: &Host, khz: u64, before: Vec<SavedSetting>) -> Self {
        Self {
            schema: SCHEMA,
            sysfs: host.path(CPUS),
            boot: boot(),
            process: std::process::id(),
            since: moment(SystemTime::now()),
            khz,
            before,
        }
    }

    /// Whether a restart of the system has undone the fix. If this is unknown, returns `false`,
    /// because restoring twice does no harm.
    pub(crate) fn is_of_earlier_boot(&self) -> bool {
        let now = boot();
        !self.boot.is_empty() && !now.is_empty() && self.boot != now
    }
}

/// Returns the identity of this start of the system; empty if this process may not read it.
fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

pub(super) fn default_path(host: &Host) -> PathBuf {
    let own = Host::default().id();
    let identity = Id::of(&("frequency journal", own, host.path(CPUS))).to_string();
    let name = format!("work-stealing-sweep-frequency-{}.json", &identity[..8]);
    Path::new("/var/tmp").join(name)
}

/// A journal on disk. While this process has the journal open, no other process can open it.
#[derive(Debug)]
pub struct Journal {
    pub(super) path: PathBuf,
    /// The locked file. The lock ends with the process, however the process ends.
    _file: File,
    pub(super) entry: Entry,
}

impl Journal {
    pub(super) fn create(path: &Path, entry: Entry) -> Result<Self> {
        let file = write(path, &entry).map_err(|error| {
            Stop::HostNotFit(format!(
                "{}: the journal cannot be written: {error}. Nothing was changed, since the settings \
                 could not be restored after a crash; mend the cause or choose another file with \
                 --frequency-journal",
                path.display()
            ))
        })?;
        Ok(Self {
            path: path.to_owned(),
            _file: file,
            entry,
        })
    }

    /// Opens the journal of a fix that ended without a restore; `None` if there is no journal.
    ///
    /// # Errors
    /// [`Stop::BadInput`] if the file is not a journal, or is the journal of another host;
    /// [`Stop::HostNotFit`] if the file belongs to another user, or if the runner that wrote it
    /// still runs.
    pub fn open(path: &Path, host: &Host) -> Result<Option<Self>> {
        let shown = path.display();
        let unread = |error| not_fit(format!("{shown}: the journal cannot be read: {error}"));
        let damaged = |reason: String| {
            Stop::BadInput(format!(
                "{shown}: not a journal of this runner: {reason}. The settings before the fix are unknown: \
                 look at the host's settings (`cpupower frequency-info`), set them, and delete the file"
            ))
        };
        // A pipe at the journal's path must not make `open` wait for a writer.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let mut options = File::options();
        options.read(true).custom_flags(flags.bits().cast_signed());
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return unread(error),
        };
        // The runner writes the journal's values to the kernel's files, and any user may write to
        // the folder. So only a regular file of this user is trusted.
        let facts = file.metadata()?;
        if !facts.is_file() {
            bail!(damaged("it is not a regular file".to_owned()));
        }
        let owner = facts.uid();
        if owner != rustix::process::geteuid().as_raw() {
            return not_fit(format!(
                "{shown}: user {owner} has fixed the frequency of this host, or has not restored it; \
                 run `cargo runner frequency restore` as that user"
            ));
        }
        check_locked(file.try_lock(), path, || {
            format!(
                "{shown}: another runner holds the frequency; wait for it or end it, and it restores the settings by itself"
            )
        })?;
        // The owner may have deleted the journal between the opening and the lock.
        if !path.exists() {
            return Ok(None);
        }
        let text = match io::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                bail!(damaged(error.to_string()))
            }
            Err(error) => return unread(error),
        };
        let entry: Entry =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if entry.schema != SCHEMA {
            bail!(damaged(format!(
                "`schema` is {}, known: {SCHEMA}",
                entry.schema
            )));
        }
        if entry.before.is_empty() {
            bail!(damaged("`before` has no file".to_owned()));
        }
        if entry.sysfs != host.path(CPUS) {
            bail!(Stop::BadInput(format!(
                "{shown}: `sysfs` is {}, not {}; name another journal with --frequency-journal",
                entry.sysfs.display(),
                host.path(CPUS).display()
            )));
        }
        if let Some(why) = entry.before.iter().find_map(SavedSetting::fault) {
            bail!(damaged(why));
        }
        Ok(Some(Self {
            path: path.to_owned(),
            _file: file,
            entry,
        }))
    }

    pub(super) fn delete(self) -> Result<()> {
        fs::remove_file(&self.path)
            .with_context(|| format!("{} cannot be deleted", self.path.display()))
    }
}

fn not_fit<T>(reason: String) -> Result<T> {
    Err(Stop::HostNotFit(reason).into())
}

/// Writes a journal atomically: once the file has its name, it is complete, locked, and on the
/// disk.
fn write(path: &Path, entry: &Entry) -> io::Result<File> {
    let folder = folder_of(path);
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, entry)?;
    file.write_all(b"\n")?;
    // Temporary files are private, but every user may read the journal.
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))?;
    file.as_file().lock()?;
    file.as_file().sync_all()?;
    let file = file.persist_noclobber(path)?;
    sync_folder(folder)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::exit_of;
    use crate::stop::Exit;

    /// Returns the journal of a fix below `root`, in the form that every runner since the first has
    /// written.
    fn text(root: &Path) -> String {
        let (sysfs, boot) = (root.join(CPUS), boot());
        let sysfs = sysfs.display();
        format!(
            r#"{{"schema": 1, "sysfs": "{sysfs}", "boot": "{boot}", "process": 7,
            "since": "2026-11-20T10:00:00Z", "khz": 2000000, "before": [
            {{"file": "cpufreq/boost", "content": "1\n"}},
            {{"file": "intel_pstate/hwp_dynamic_boost", "content": "1\n"}},
            {{"file": "cpufreq/policy0/scaling_governor", "content": "userspace\n"}},
            {{"file": "cpufreq/policy0/scaling_setspeed", "content": "1500000\n"}}]}}"#
        )
    }

    /// Opens a journal that no runner holds. A process that another test starts inherits the lock
    /// until that process executes its program, so this function tries the lock again.
    fn open(path: &Path, host: &Host) -> Result<Option<Journal>> {
        for _ in 0..1000 {
            match Journal::open(path, host) {
                Err(error) if exit_of(&error) == Exit::HostNotFit => {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                other => return other,
            }
        }
        Journal::open(path, host)
    }

    #[test]
    fn a_journal_without_a_holder_says_what_was_there_and_a_second_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (host, path) = (Host::at(folder.path()), folder.path().join("journal"));
        let open = || open(&path, &host).unwrap().unwrap();
        fs::write(&path, text(folder.path())).unwrap();
        let found = open();
        let entry = found.entry.clone();
        let refused = Journal::create(&path, entry.clone()).unwrap_err();
        assert!(refused.to_string().contains("Nothing was changed"));
        found.delete().unwrap();
        drop(Journal::create(&path, entry.clone()).unwrap());
        assert_eq!(open().entry, entry);
        for (start, is_earlier) in [(&*boot(), false), ("another start", true), ("", false)] {
            fs::write(&path, text(folder.path()).replace(&boot(), start)).unwrap();
            assert_eq!(open().entry.is_of_earlier_boot(), is_earlier, "{start}");
        }
    }

    #[test]
    fn what_is_no_journal_of_this_host_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let (host, path) = (Host::at(folder.path()), folder.path().join("journal"));
        let refused = |reason: &str| {
            let error = open(&path, &host).unwrap_err();
            assert_eq!(exit_of(&error), Exit::BadInput);
            let said = error.to_string();
            assert!(said.contains(reason), "{said}");
            said
        };
        let whole = text(folder.path());
        let governor = "cpufreq/policy0/scaling_governor";
        let without_files = whole.split_once('[').unwrap().0.to_owned() + "[]}";
        for (from, to, reason) in [
            ("\"khz\"", "\"khz", "not a journal of this runner"),
            ("\"schema\": 1", "\"schema\": 9", "`schema` is 9"),
            (&*whole, &*without_files, "`before` has no file"),
            (governor, "../../etc/passwd", "which a fix does not change"),
            ("policy0", "policy+0", "which a fix does not change"),
            ("cpufreq/boost", "boost", "which a fix does not change"),
            ("userspace", "../x", "says `../x`, which is not one word"),
            ("userspace\\n", "", "says ``, which is not one word"),
            (
                "\"1\\n\"",
                "\"1\\n0\\n\"",
                "says `1…`, which is not one word",
            ),
        ] {
            fs::write(&path, whole.replace(from, to)).unwrap();
            assert!(refused(reason).contains("delete the file"));
        }
        fs::write(&path, text(Path::new("/elsewhere"))).unwrap();
        refused("`sysfs` is /elsewhere/sys");
        fs::write(&path, [0xff, 0xfe]).unwrap();
        refused("delete the file");
        // Opening must not wait for a path that is not a file.
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        refused("delete the file");
    }
}
