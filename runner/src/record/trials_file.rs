//! The records of a sweep, one record a line. Records are read line by line, and are only appended.
//!
//! An unfinished sweep has its records in `trials.jsonl`, a finished sweep has them compressed in
//! `trials.jsonl.zst`. Each file is complete before the other file is removed. So if a killed run
//! left both files, `trials.jsonl` has every record.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use protocol::SCHEMA;

use crate::record::Record;
use crate::record::check_schema;
use crate::stop::Stop;
use crate::stop::is_no_file_of_text;
use crate::system::digest::Id;
use crate::system::whole_file;

/// The file of records in a sweep that still has trials to run.
const PLAIN: &str = "trials.jsonl";
/// The file of records in a finished sweep, with the same lines.
pub const PACKED: &str = "trials.jsonl.zst";

/// The longest line that is read, in bytes. Records are much shorter, but a small file may unpack
/// to a huge line. Tests use a shorter limit.
const LONGEST: u64 = if cfg!(test) { 1 << 20 } else { 1 << 28 };

/// Compression level: high, because a finished sweep is written once and then kept.
const LEVEL: i32 = 19;
/// The compression window, as a power of two: the largest window that every reader accepts without
/// an option.
const WINDOW_LOG: u32 = 27;

/// Returns the file that holds the records of the sweep in `folder`.
#[must_use]
pub fn of(folder: &Path) -> PathBuf {
    let present = [PLAIN, PACKED]
        .into_iter()
        .find(|it| folder.join(it).is_file());
    folder.join(present.unwrap_or(PLAIN))
}

pub(crate) fn is_packed(path: &Path) -> bool {
    path.ends_with(PACKED)
}

pub(crate) fn create(folder: &Path) -> io::Result<()> {
    File::create(folder.join(PLAIN))?.sync_all()
}

/// Compresses the records of a folder to which no other process writes. The same lines give the
/// same bytes.
pub(crate) fn pack(folder: &Path) -> io::Result<()> {
    let plain = folder.join(PLAIN);
    whole_file::write(&folder.join(PACKED), |out| {
        let mut lines = File::open(&plain)?;
        let mut packer = zstd::Encoder::new(out, LEVEL)?;
        packer.include_checksum(true)?;
        packer.long_distance_matching(true)?;
        packer.window_log(WINDOW_LOG)?;
        packer.set_pledged_src_size(Some(lines.metadata()?.len()))?; // saves memory for small files
        io::copy(&mut lines, &mut packer)?;
        packer.finish().map(drop)
    })?;
    fs::remove_file(&plain)?;
    whole_file::sync_folder(folder)
}

fn unpack(folder: &Path) -> io::Result<()> {
    let found = of(folder);
    if is_packed(&found) {
        let plain = folder.join(PLAIN);
        whole_file::write(&plain, |out| {
            io::copy(&mut Text::open(&found)?, out).map(drop)
        })?;
    }
    let packed = folder.join(PACKED);
    if packed.is_file() {
        fs::remove_file(packed)?;
    }
    whole_file::sync_folder(folder)
}

/// The text of a file of records, compressed or not.
pub struct Text(Box<dyn Read + Send>);

impl Text {
    /// Opens a file, compressed or not.
    ///
    /// # Errors
    /// If the file cannot be opened or decompressed.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = whole_file::open(path, OpenOptions::new().read(true))?;
        Ok(Self(if is_packed(path) {
            Box::new(zstd::Decoder::new(file)?)
        } else {
            Box::new(file)
        }))
    }
}

impl Read for Text {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

/// Reads the complete lines of a file, one at a time. An incomplete last line is left out.
pub struct Lines {
    file: BufReader<Text>,
    line: Vec<u8>,
    number: u32,
    place: Range<u64>,
}

impl Lines {
    /// Opens a file, compressed or not.
    ///
    /// # Errors
    /// If the file cannot be opened or decompressed.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = BufReader::with_capacity(1 << 16, Text::open(path)?);
        Ok(Self {
            file,
            line: Vec::new(),
            number: 0,
            place: 0..0,
        })
    }

    /// Returns the next line that is not empty, without the end of the line; `None` after the last
    /// line.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is too long.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            let mut file = self.file.by_ref().take(LONGEST);
            let bytes = file.read_until(b'\n', &mut self.line)? as u64;
            if !self.line.ends_with(b"\n") {
                if bytes == LONGEST {
                    let why = format!("a line has more than {} MiB", LONGEST >> 20);
                    return Err(io::Error::new(ErrorKind::InvalidData, why));
                }
                return Ok(None);
            }
            self.number += 1;
            self.place = self.place.end..self.place.end + bytes;
            if bytes > 1 {
                return Ok(Some(self.line.trim_ascii_end()));
            }
        }
    }
}

/// A line that is not a record of this format, or that repeats a trial.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {why}")]
pub struct BrokenLine {
    place: String,
    why: String,
}

/// Reads the records of a sweep, one at a time. Of earlier records, only the identities stay in
/// memory.
pub struct Records {
    path: PathBuf,
    lines: Lines,
    seen: HashMap<Id, u32>,
}

impl Records {
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let lines = Lines::open(&path).map_err(|error| unopened(&path, "read", &error))?;
        Ok(Self {
            path,
            lines,
            seen: HashMap::new(),
        })
    }

    pub(crate) fn line(&self) -> &[u8] {
        &self.lines.line
    }

    fn read(&mut self) -> Result<Option<Record>> {
        let path = &self.path;
        let after = self.lines.number;
        let line = self.lines.next_line().map_err(|error| {
            Stop::BadInput(format!(
                "{} cannot be read after line {after}: {error}; restore a copy of it",
                path.display()
            ))
        });
        let Some(line) = line? else { return Ok(None) };
        let parsed: Result<Record, _> = serde_json::from_slice(line);
        let number = self.lines.number;
        let place = || format!("{}:{number}", path.display());
        let record = match parsed {
            Ok(record) if record.schema == SCHEMA => record,
            other => {
                check_schema(&String::from_utf8_lossy(&self.lines.line), place)?;
                let why = |error| format!("not a trial record: {error}");
                other.map_err(|error| BrokenLine {
                    place: place(),
                    why: why(error),
                })?
            }
        };
        if let Some(why) = record.fault() {
            bail!(BrokenLine {
                place: place(),
                why: format!("not a trial record: {why}")
            });
        }
        match self.seen.entry(record.trial) {
            Entry::Vacant(free) => _ = free.insert(number),
            Entry::Occupied(first) => {
                let why = format!("trial {} is already in line {}", record.trial, first.get());
                bail!(BrokenLine {
                    place: place(),
                    why
                });
            }
        }
        Ok(Some(record))
    }
}

impl Iterator for Records {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

pub(crate) fn unopened(path: &Path, purpose: &str, error: &io::Error) -> Stop {
    let text = format!("{} cannot be {purpose}: {error}", path.display());
    if error.kind() == ErrorKind::NotFound || is_no_file_of_text(error) {
        Stop::BadInput(format!(
            "{text}; a sweep is a folder with manifest.json, host.json and {PLAIN} or {PACKED}; restore a copy of it; \
             the other files are unchanged"
        ))
    } else {
        Stop::HostNotFit(text)
    }
}

/// Moves broken lines, and an incomplete last line, from a file of records to a new file beside it.
/// Returns the new file and the number of moved lines. No process may append meanwhile.
fn set_aside(trials: &Path) -> Result<Option<(PathBuf, usize)>> {
    let mut records = Records::open(trials.to_owned())?;
    let mut broken: Vec<Range<u64>> = Vec::new();
    while let Some(record) = records.next() {
        match record {
            Err(error) if error.is::<BrokenLine>() => broken.push(records.lines.place.clone()),
            other => _ = other?,
        }
    }
    let describe = || format!("{} cannot be repaired and is unchanged", trials.display());
    let all = fs::metadata(trials).with_context(describe)?.len();
    let end = records.lines.place.end;
    if end < all {
        broken.push(end..all);
    }
    if broken.is_empty() {
        return Ok(None);
    }
    let text = fs::read(trials).with_context(describe)?;
    let (mut sound, mut aside, mut at) = (Vec::new(), Vec::new(), 0);
    for line in &broken {
        let [start, end] =
            [line.start, line.end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        sound.extend_from_slice(&text[at..start]);
        aside.extend_from_slice(&text[start..end]);
        at = end;
    }
    sound.extend_from_slice(&text[at..]);
    let place = (1..=u32::MAX)
        .map(|number| trials.with_file_name(format!("trials.torn-{number}")))
        .find(|path| !path.exists())
        .context("every name for broken lines is taken")?;
    whole_file::write(&place, |file| file.write_all(&aside))
        .and_then(|()| whole_file::write(trials, |file| file.write_all(&sound)))
        .with_context(describe)?;
    Ok(Some((place, broken.len())))
}

/// `trials.jsonl`, open for appending.
#[derive(Debug)]
pub struct Appender {
    /// The lock is on `host.json`, because this is the only file of a sweep that the runner never
    /// replaces. A folder cannot be locked on NFS.
    _lock: File,
    file: File,
    path: PathBuf,
    /// The file to which broken lines were moved, and their number.
    pub(crate) aside: Option<(PathBuf, usize)>,
}

impl Appender {
    /// Opens the records of a folder, and locks the folder's sweep against other processes until
    /// the result is dropped. First moves broken lines, such as the incomplete last line of a
    /// killed run, to another file.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let lock = lock(folder)?;
        let path = folder.join(PLAIN);
        let describe = || format!("{} cannot be opened for appending", path.display());
        unpack(folder).with_context(describe)?;
        let aside = set_aside(&path)?;
        let mut file = whole_file::open(&path, OpenOptions::new().write(true))
            .map_err(|error| unopened(&path, "opened for appending", &error))?;
        file.seek(SeekFrom::End(0)).with_context(describe)?;
        Ok(Self {
            _lock: lock,
            file,
            path,
            aside,
        })
    }

    /// Compresses the records of a sweep that has no trials left to run.
    ///
    /// # Errors
    /// If the disk refuses. The uncompressed records then stay, and further records can be
    /// appended.
    pub fn pack(self) -> Result<()> {
        let folder = self
            .path
            .parent()
            .context("the file's path has no parent folder")?;
        pack(folder).with_context(|| format!("{} cannot be compressed", self.path.display()))
    }

    fn is_there(&self) -> bool {
        let named = fs::metadata(&self.path).ok().zip(self.file.metadata().ok());
        named.is_some_and(|(named, open)| (named.dev(), named.ino()) == (open.dev(), open.ino()))
    }

    /// Appends a record and waits until it is on the disk.
    ///
    /// # Errors
    /// If the disk refuses the record, for example because it is full; the file then ends with the
    /// previous record. Also if the file is no longer at its path.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let mut line = serde_json::to_vec(record).context("a record has no JSON form")?;
        line.push(b'\n');
        let before = self.file.stream_position()?;
        let written = self.file.write_all(&line);
        let written = written.and_then(|()| self.file.sync_data());
        if written.is_ok() && !self.is_there() {
            bail!(Stop::HostNotFit(format!(
                "{} is gone: the sweep was moved or removed while it ran, and further \
                 measurements would be lost. Restore its folder, then continue with `cargo runner sweep \
                 --resume`; if it is lost, begin another sweep",
                self.path.display()
            )));
        }
        written.or_else(|error| {
            // If the disk also refuses to shorten the file, `--resume` moves the incomplete line to
            // another file.
            let _ = self.file.set_len(before);
            Err(error).with_context(|| {
                format!(
                    "{} cannot be written; every earlier trial is safe. Mend the cause (disk full? \
                     permissions? `ulimit -f`?), then continue with `cargo runner sweep --resume {}`",
                    self.path.display(),
                    self.path.parent().unwrap_or(&self.path).display()
                )
            })
        })
    }
}

/// Keeps other processes from changing the records of a folder until the returned file is dropped.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("host.json");
    let file = whole_file::open(&path, OpenOptions::new().append(true));
    let file = file.map_err(|error| unopened(&path, "locked", &error))?;
    let held = || {
        format!(
            "another sweep writes to {}; wait for it or end it",
            folder.display()
        )
    };
    whole_file::check_locked(file.try_lock(), &path, held)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::exit::exit_of;
    use crate::record::sweep_dir::SweepDir;
    use crate::stop::Exit;

    fn records() -> [Record; 2] {
        let sweeps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/sweeps");
        let mut records = SweepDir::all(&sweeps)[0].records().unwrap();
        [(); 2].map(|()| records.next().unwrap().unwrap())
    }

    fn line(record: &Record) -> String {
        serde_json::to_string(record).unwrap() + "\n"
    }

    fn folder(name: &str, content: impl AsRef<[u8]>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), content).unwrap();
        fs::write(folder.path().join("host.json"), "{}").unwrap();
        folder
    }

    fn names(folder: &tempfile::TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|it| it != "host.json").collect();
        names.sort();
        names
    }

    fn text(folder: &tempfile::TempDir) -> String {
        io::read_to_string(Text::open(&of(folder.path())).unwrap()).unwrap()
    }

    #[test]
    fn a_pipe_in_the_place_of_records_is_bad_input_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = of(folder.path());
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let error = Records::open(pipe).err().unwrap();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        assert_eq!(exit_of(&error), Exit::BadInput);
    }

    #[test]
    fn a_sweep_that_was_moved_away_is_noticed_at_the_next_trial() {
        let [record, _] = records();
        let folder = folder(PLAIN, "");
        let mut appender = Appender::open(folder.path()).unwrap();
        appender.append(&record).unwrap();
        let moved = folder.path().join("elsewhere");
        fs::rename(folder.path().join(PLAIN), &moved).unwrap();
        let error = appender.append(&record).unwrap_err();
        assert!(error.to_string().contains("moved or removed"), "{error:#}");
        assert_eq!(exit_of(&error), Exit::HostNotFit);
        // A copy at the old path is a different file, so the appender refuses it.
        fs::copy(moved, folder.path().join(PLAIN)).unwrap();
        assert!(appender.append(&record).is_err());
    }

    #[test]
    #[ignore = "the next test starts this test as a process, and limits the size of its files"]
    fn a_process_that_may_write_little() {
        crate::system::interrupt::survive_file_limits().unwrap();
        let folder = PathBuf::from(std::env::var_os("LIMITED_FOLDER").unwrap());
        let [record, _] = records();
        let mut appender = Appender::open(&folder).unwrap();
        let error = (0..1000).find_map(|_| appender.append(&record).err());
        let error = error.expect("8 KiB cannot hold a thousand records");
        assert_eq!(exit_of(&error), Exit::HostNotFit);
        assert!(error.to_string().contains("`ulimit -f`?"), "{error:#}");
        // Writing another file beyond the limit is also an error.
        let long = vec![b'x'; 100_000];
        assert!(whole_file::write_json(&folder.join("manifest.json"), &long).is_err());
    }

    #[test]
    fn beyond_a_limit_of_file_sizes_an_append_is_an_error_and_whole_records_stay() {
        let folder = folder(PLAIN, "");
        let limited = Command::new("sh")
            // `ulimit -f` counts blocks of 512 bytes.
            .args(["-c", "ulimit -f 16; exec \"$0\" --ignored --exact \"$1\""])
            .arg(std::env::current_exe().unwrap())
            .arg("record::trials_file::tests::a_process_that_may_write_little")
            .env("LIMITED_FOLDER", folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&limited.stdout);
        let is_passed = limited.status.success() && said.contains("1 passed");
        assert!(is_passed, "{said}");
        let kept = text(&folder);
        assert!(kept.ends_with('\n'), "a part of a record stayed");
        assert_eq!(kept, line(&records()[0]).repeat(kept.lines().count()));
    }

    #[test]
    fn a_good_trial_without_time_is_a_broken_line() {
        let [mut record, _] = records();
        record.iterations[0].elapsed_ns = 0;
        let folder = folder(PLAIN, line(&record));
        let error = Records::open(of(folder.path())).unwrap().next();
        let error = error.unwrap().unwrap_err();
        assert!(error.is::<BrokenLine>(), "{error:#}");
        let says = "trials.jsonl:1: not a trial record: field `iterations[0].elapsed_ns` is `0`: expected `int` >= 1";
        assert!(error.to_string().ends_with(says), "{error}");
    }

    #[test]
    fn compressed_zeros_are_no_line_however_many() {
        let zeros = zstd::encode_all(io::repeat(0).take(2 * LONGEST), 1).unwrap();
        let folder = folder(PACKED, zeros);
        let mut lines = Lines::open(&of(folder.path())).unwrap();
        let error = lines.next_line().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(lines.line.len() as u64 <= LONGEST, "{}", lines.line.len());
    }

    #[test]
    fn a_packed_file_is_read_as_the_plain_one_was_and_always_has_the_same_bytes() {
        let [one, two] = records().map(|it| line(&it));
        let content = format!("{one}\n{two}");
        let packed = [(); 2].map(|()| {
            let folder = folder(PLAIN, &content);
            Appender::open(folder.path()).unwrap().pack().unwrap();
            assert_eq!(names(&folder), [PACKED]);
            assert_eq!(text(&folder), content);
            let mut lines = Lines::open(&of(folder.path())).unwrap();
            for (number, line) in [(1, &one), (3, &two)] {
                let read = lines.next_line().unwrap().unwrap();
                assert_eq!(read, line.trim_end().as_bytes());
                assert_eq!(lines.number, number);
            }
            fs::read(of(folder.path())).unwrap()
        });
        assert_eq!(packed[0], packed[1]);
    }

    #[test]
    fn what_a_kill_between_two_steps_leaves_holds_every_line_and_can_be_appended_to() {
        let [one, two] = records().map(|it| line(&it));
        let packed = folder(PLAIN, &one);
        pack(packed.path()).unwrap();
        let packed = fs::read(of(packed.path())).unwrap();
        // A kill may come before the new file has its name, while both files exist, or when only
        // the new file exists. A plain file that is longer than the packed file does not occur, but
        // even then no record would be lost.
        for (plain, is_packed) in [
            (Some(one.clone()), false),
            (Some(one.clone()), true),
            (None, true),
            (Some(one.clone() + &two), true),
        ] {
            let folder = folder(".tmp123", "half of someth");
            if let Some(plain) = &plain {
                fs::write(folder.path().join(PLAIN), plain).unwrap();
            }
            if is_packed {
                fs::write(folder.path().join(PACKED), &packed).unwrap();
            }
            let lines = plain.as_ref().unwrap_or(&one);
            assert_eq!(text(&folder), *lines);
            let appender = Appender::open(folder.path()).unwrap();
            assert_eq!(names(&folder), [".tmp123", PLAIN]);
            assert_eq!(text(&folder), *lines);
            appender.pack().unwrap();
            assert_eq!(names(&folder), [".tmp123", PACKED]);
            assert_eq!(text(&folder), *lines);
        }
    }

    #[test]
    fn only_one_process_appends_or_packs_at_a_time() {
        let folder = folder(PLAIN, "");
        let appender = Appender::open(folder.path()).unwrap();
        let refused = Appender::open(folder.path()).unwrap_err().to_string();
        assert!(refused.starts_with("another sweep writes to "), "{refused}");
        appender.pack().unwrap();
        Appender::open(folder.path()).unwrap();
    }

    #[test]
    fn broken_lines_and_half_a_line_are_set_aside_and_sound_ones_stay_as_they_are() {
        let [one, two] = records().map(|it| line(&it));
        let half = "x".repeat(40_000);
        let folder = folder(PLAIN, format!("{one}hello\n{one}{two}{half}"));
        let appender = Appender::open(folder.path()).unwrap();
        let (aside, lines) = appender.aside.clone().unwrap();
        assert_eq!(
            (names(&folder), lines),
            (vec![PLAIN.into(), "trials.torn-1".into()], 3)
        );
        assert_eq!(
            fs::read_to_string(aside).unwrap(),
            format!("hello\n{one}{half}")
        );
        assert_eq!(text(&folder), one + &two);
        drop(appender);
        assert_eq!(Appender::open(folder.path()).unwrap().aside, None);
    }

    #[test]
    fn a_packed_file_that_was_cut_is_refused_with_its_name_and_the_remedy() {
        let folder = folder(PLAIN, "{}\n".repeat(9));
        pack(folder.path()).unwrap();
        let path = of(folder.path());
        let packed = fs::read(&path).unwrap();
        fs::write(&path, &packed[..packed.len() - 9]).unwrap();
        let errors = Records::open(path).unwrap().filter_map(Result::err);
        let refused = errors
            .map(|it| it.to_string())
            .find(|it| !it.contains("record:"));
        let refused = refused.unwrap();
        assert!(
            refused.contains("trials.jsonl.zst cannot be read after line "),
            "{refused}"
        );
        assert!(refused.ends_with("; restore a copy of it"), "{refused}");
    }
}
