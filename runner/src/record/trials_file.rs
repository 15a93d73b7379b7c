//! The records of a sweep, one a line. They are read line by line, whatever their number, and only
//! appended.
//!
//! An unfinished sweep has its records in `trials.jsonl`, a finished one compressed in
//! `trials.jsonl.zst` (earlier runners: in `trials.jsonl.gz`). Each of the two is complete before
//! the other is removed, and records are appended only if `trials.jsonl` is alone. So if a killed
//! run left both, `trials.jsonl` has every record, and is the one that is read.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Seek, SeekFrom, Write as _};
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use flate2::read::MultiGzDecoder;
use protocol::SCHEMA;

use crate::record::Record;
use crate::record::check_schema;
use crate::stop::Stop;
use crate::stop::is_no_file_of_text;
use crate::system::digest::Id;
use crate::system::whole_file;

/// Of a sweep that has trials left to run.
const PLAIN: &str = "trials.jsonl";
/// Of a finished sweep: the same lines.
pub const PACKED: &str = "trials.jsonl.zst";
/// Of a sweep that an earlier runner finished.
pub const PACKED_BEFORE: &str = "trials.jsonl.gz";

/// Longest line that is read: records are much shorter, and compressed zeros have no end. Tests use
/// a shorter limit.
const LONGEST: u64 = if cfg!(test) { 1 << 20 } else { 1 << 28 };

/// Compression level: a finished sweep is written once and then kept.
const LEVEL: i32 = 19;
/// The compression window, as a power of two: the largest that every reader accepts without an
/// option.
const WINDOW_LOG: u32 = 27;

/// The file that holds the records of the sweep in a folder.
#[must_use]
pub fn of(folder: &Path) -> PathBuf {
    let present = [PLAIN, PACKED, PACKED_BEFORE]
        .into_iter()
        .find(|it| folder.join(it).is_file());
    folder.join(present.unwrap_or(PLAIN))
}

/// Whether this file of records is compressed.
pub(crate) fn is_packed(path: &Path) -> bool {
    path.ends_with(PACKED) || path.ends_with(PACKED_BEFORE)
}

/// Makes a file without records in a folder.
pub(crate) fn create(folder: &Path) -> io::Result<()> {
    File::create(folder.join(PLAIN))?.sync_all()
}

/// Compresses the records of a folder to which no other process writes. The same lines give the
/// same bytes: the header has neither a time nor a name.
pub(crate) fn pack(folder: &Path) -> io::Result<()> {
    let plain = folder.join(PLAIN);
    whole_file::write(&folder.join(PACKED), |out| {
        let mut lines = File::open(&plain)?;
        let mut packer = zstd::Encoder::new(out, LEVEL)?;
        packer.include_checksum(true)?;
        packer.long_distance_matching(true)?;
        packer.window_log(WINDOW_LOG)?;
        packer.set_pledged_src_size(Some(lines.metadata()?.len()))?; // few lines need little memory
        io::copy(&mut lines, &mut packer)?;
        packer.finish().map(drop)
    })?;
    fs::remove_file(&plain)?;
    whole_file::sync_folder(folder)
}

/// Turns the compressed records of a folder into a file to which records can be appended.
fn unpack(folder: &Path) -> io::Result<()> {
    let found = of(folder);
    if is_packed(&found) {
        let plain = folder.join(PLAIN);
        whole_file::write(&plain, |out| {
            io::copy(&mut Text::open(&found)?, out).map(drop)
        })?;
    }
    for packed in [PACKED, PACKED_BEFORE].map(|name| folder.join(name)) {
        if packed.is_file() {
            fs::remove_file(packed)?;
        }
    }
    whole_file::sync_folder(folder)
}

/// Returns the text of a file with this name and content, compressed or not.
pub(crate) fn unpacked<'a>(
    path: &Path,
    content: impl Read + Send + 'a,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    Ok(if path.ends_with(PACKED) {
        Box::new(zstd::Decoder::new(content)?)
    } else if path.ends_with(PACKED_BEFORE) {
        Box::new(MultiGzDecoder::new(content))
    } else {
        Box::new(content)
    })
}

/// The text of a file of records, compressed or not.
pub struct Text(Box<dyn Read + Send>);

impl Text {
    /// Opens a file, compressed or not.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn open(path: &Path) -> io::Result<Self> {
        unpacked(path, whole_file::open(path, OpenOptions::new().read(true))?).map(Self)
    }
}

impl Read for Text {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

/// A file in which the text of a file of records can be read at any position.
pub(crate) fn file_of(path: &Path) -> io::Result<File> {
    if !is_packed(path) {
        return whole_file::open(path, OpenOptions::new().read(true));
    }
    let mut file = tempfile::tempfile()?;
    io::copy(&mut Text::open(path)?, &mut file)?;
    Ok(file)
}

/// The complete lines of a file, one at a time. An incomplete last line is left out.
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
    /// If that cannot be done.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = BufReader::with_capacity(1 << 16, Text::open(path)?);
        Ok(Self {
            file,
            line: Vec::new(),
            number: 0,
            place: 0..0,
        })
    }

    /// Returns the next line that is not empty, without its end; `None` after the last.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            let mut file = self.file.by_ref().take(LONGEST);
            let bytes = file.read_until(b'\n', &mut self.line)? as u64;
            if self.line.pop() != Some(b'\n') {
                if bytes == LONGEST {
                    let why = format!("a line has more than {} MiB", LONGEST >> 20);
                    return Err(io::Error::new(ErrorKind::InvalidData, why));
                }
                return Ok(None);
            }
            self.number += 1;
            self.place = self.place.end..self.place.end + bytes;
            if !self.line.is_empty() {
                return Ok(Some(&self.line));
            }
        }
    }
}

/// A line that is not a record of this format, or that repeats a trial.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {why}")]
pub struct BrokenLine {
    /// File and line.
    place: String,
    why: String,
}

/// The records of a sweep, one at a time. Only their identities are kept.
pub struct Records {
    path: PathBuf,
    lines: Lines,
    /// Numbers of lines, by trial.
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

    /// The position of the last record's line in the text of the file, in bytes.
    pub(crate) fn place(&self) -> Range<u64> {
        self.lines.place.clone()
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

    /// The next record. A [`BrokenLine`] for a line that is not a record, or that repeats a trial;
    /// the lines after it can still be read.
    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Returns the error for a file of a sweep that cannot be opened. If it is missing, a user removed
/// it; any other reason is the machine's.
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

/// The positions of the lines that are not records.
fn broken_lines(path: PathBuf) -> Result<Vec<Range<u64>>> {
    let mut records = Records::open(path)?;
    let mut broken = Vec::new();
    while let Some(record) = records.next() {
        match record {
            Err(error) if error.is::<BrokenLine>() => broken.push(records.place()),
            other => _ = other?,
        }
    }
    Ok(broken)
}

/// Sets aside the broken lines of a sweep, and an incomplete last line, while no process appends.
/// Returns their number and the file with them.
///
/// # Errors
/// If another process appends, or the disk refuses; then every record is unchanged.
pub(crate) fn repair(folder: &Path) -> Result<Option<(usize, PathBuf)>> {
    let found = of(folder);
    // A finished sweep is unpacked only if there is a broken line.
    if is_packed(&found) && broken_lines(found)?.is_empty() {
        return Ok(None);
    }
    let appender = Appender::open(folder)?;
    let path = &appender.path;
    let broken = broken_lines(path.clone())?;
    if broken.is_empty() {
        return Ok(appender.torn.map(|aside| (1, aside)));
    }
    let describe = || format!("{} cannot be repaired and is unchanged", path.display());
    let text = fs::read(path).with_context(describe)?;
    let (mut sound, mut aside, mut at) = (Vec::new(), Vec::new(), 0);
    for line in &broken {
        let [start, end] =
            [line.start, line.end].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        sound.extend_from_slice(&text[at..start]);
        aside.extend_from_slice(&text[start..end]);
        at = end;
    }
    sound.extend_from_slice(&text[at..]);
    let place = set_aside(path, &aside)?;
    whole_file::write(path, |file| file.write_all(&sound)).with_context(describe)?;
    Ok(Some((
        broken.len() + usize::from(appender.torn.is_some()),
        place,
    )))
}

/// `trials.jsonl`, open for appending.
#[derive(Debug)]
pub struct Appender {
    /// The lock is on `host.json`, the only file of a sweep that is never replaced. If locks need a
    /// file that is open for writing, as on NFS, the folder itself cannot be locked.
    _lock: File,
    file: File,
    path: PathBuf,
    /// The file with the incomplete line of an earlier run, if there was one.
    pub(crate) torn: Option<PathBuf>,
}

impl Appender {
    /// Opens the records of a folder and locks them against other processes until the result is
    /// dropped. First sets aside the incomplete last line of a killed run.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let lock = lock(folder)?;
        let path = folder.join(PLAIN);
        let describe = || format!("{} cannot be opened for appending", path.display());
        unpack(folder).with_context(describe)?;
        let mut file = whole_file::open(&path, OpenOptions::new().read(true).write(true))
            .map_err(|error| unopened(&path, "opened for appending", &error))?;
        let torn = last_line(&mut file).with_context(describe)?;
        let torn = if torn.is_empty() {
            None
        } else {
            let aside = set_aside(&path, &torn)?;
            let whole = file.metadata().with_context(describe)?.len() - torn.len() as u64;
            file.set_len(whole).with_context(describe)?;
            file.sync_all().with_context(describe)?;
            Some(aside)
        };
        file.seek(SeekFrom::End(0)).with_context(describe)?;
        Ok(Self {
            _lock: lock,
            file,
            path,
            torn,
        })
    }

    /// Compresses the records of a sweep that has no trials left to run.
    ///
    /// # Errors
    /// If the disk refuses; the records can then be read and appended to as before.
    pub fn pack(self) -> Result<()> {
        let folder = self
            .path
            .parent()
            .context("the file's path has no parent folder")?;
        pack(folder).with_context(|| format!("{} cannot be compressed", self.path.display()))
    }

    /// Whether the file for new records is still at its path.
    fn is_there(&self) -> bool {
        let named = fs::metadata(&self.path).ok().zip(self.file.metadata().ok());
        named.is_some_and(|(named, open)| (named.dev(), named.ino()) == (open.dev(), open.ino()))
    }

    /// Appends a record and waits until it is on the disk.
    ///
    /// # Errors
    /// If the disk refuses (full, for example); the file then ends with the previous record.
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
            // If this fails too, the incomplete line is set aside when the sweep is resumed.
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

/// Keeps other processes from changing the records of a folder while it lives.
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

/// Returns the text after the last line end: empty, unless the last line is incomplete. After a
/// loss of power it may be long. So it is read once to find its beginning, and once more as a
/// whole.
fn last_line(file: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
    /// Longer than most records.
    const STEP: u64 = 1 << 14;
    let mut from = file.seek(SeekFrom::End(0))?;
    let mut part = Vec::new();
    while from > 0 {
        let start = from.saturating_sub(STEP);
        file.seek(SeekFrom::Start(start))?;
        part.clear();
        file.by_ref().take(from - start).read_to_end(&mut part)?;
        if let Some(last) = part.iter().rposition(|byte| *byte == b'\n') {
            from = start + last as u64 + 1;
            break;
        }
        from = start;
    }
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(&mut tail)?;
    Ok(tail)
}

/// Puts an incomplete line beside the file of trials, under a free name.
fn set_aside(trials: &Path, torn: &[u8]) -> Result<PathBuf> {
    let mut number = 1;
    loop {
        let path = trials.with_file_name(format!("trials.torn-{number}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                let written = file.write_all(torn).and_then(|()| file.sync_all());
                return written.map(|()| path.clone()).map_err(|error| {
                    // Half of it would look like all that was set aside.
                    let _ = fs::remove_file(&path);
                    Stop::HostNotFit(format!(
                        "{} cannot be written: {error}; make room and try again; nothing was changed",
                        path.display()
                    ))
                    .into()
                });
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => {
                return Err(error).with_context(|| format!("{} cannot be written", path.display()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::record::sweep_dir::SweepDir;

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trials.jsonl");
        fs::write(&path, content).unwrap();
        fs::write(folder.path().join("host.json"), "{}").unwrap();
        (folder, path)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn text(folder: &Path) -> String {
        io::read_to_string(Text::open(&of(folder)).unwrap()).unwrap()
    }

    #[test]
    fn a_pipe_in_the_place_of_records_is_bad_input_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = of(folder.path());
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let error = Records::open(pipe).err().unwrap();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        assert_eq!(crate::exit::exit_of(&error), crate::stop::Exit::BadInput);
    }

    #[test]
    fn a_sweep_that_was_moved_away_is_noticed_at_the_next_trial() {
        let sweeps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/sweeps");
        let committed = SweepDir::all(&sweeps).remove(0);
        let record = committed.records().unwrap().next().unwrap().unwrap();
        let (folder, path) = file(b"");
        let mut appender = Appender::open(folder.path()).unwrap();
        appender.append(&record).unwrap();
        fs::rename(&path, folder.path().join("elsewhere")).unwrap();
        let error = appender.append(&record).unwrap_err();
        assert!(error.to_string().contains("moved or removed"), "{error:#}");
        assert_eq!(crate::exit::exit_of(&error), crate::stop::Exit::HostNotFit);
        // A copy at its path is another file.
        fs::copy(folder.path().join("elsewhere"), &path).unwrap();
        assert!(appender.append(&record).is_err());
    }

    #[test]
    #[ignore = "the process that the next test limits"]
    fn a_process_that_may_write_little() {
        crate::system::interrupt::survive_file_limits().unwrap();
        let folder = PathBuf::from(std::env::var_os("LIMITED_FOLDER").unwrap());
        let record = committed_record();
        let mut appender = Appender::open(&folder).unwrap();
        let error = (0..1000).find_map(|_| appender.append(&record).err());
        let error = error.expect("8 KiB hold no thousand records");
        assert_eq!(crate::exit::exit_of(&error), crate::stop::Exit::HostNotFit);
        assert!(error.to_string().contains("`ulimit -f`?"), "{error:#}");
        // The same holds for other files.
        let long = vec![b'x'; 100_000];
        assert!(whole_file::write_json(&folder.join("manifest.json"), &long).is_err());
    }

    #[test]
    fn beyond_a_limit_of_file_sizes_an_append_is_an_error_and_whole_records_stay() {
        let (folder, path) = file(b"");
        let limited = std::process::Command::new("sh")
            // In blocks of 512 bytes.
            .args(["-c", "ulimit -f 16; exec \"$0\" --ignored --exact \"$1\""])
            .arg(std::env::current_exe().unwrap())
            .arg("record::trials_file::tests::a_process_that_may_write_little")
            .env("LIMITED_FOLDER", folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&limited.stdout);
        assert!(
            limited.status.success() && said.contains("1 passed"),
            "{said}"
        );
        let kept = fs::read(&path).unwrap();
        assert!(kept.ends_with(b"\n"), "a part of a record stayed");
        for line in text(folder.path()).lines() {
            serde_json::from_str::<Record>(line).unwrap();
        }
        assert!(!kept.is_empty());
        // Without the limit the writer continues.
        let mut appender = Appender::open(folder.path()).unwrap();
        assert_eq!(appender.torn, None);
        appender.append(&committed_record()).unwrap();
    }

    #[test]
    fn a_good_trial_without_time_is_a_broken_line() {
        let mut record = committed_record();
        record.iterations[0].elapsed_ns = 0;
        let (_folder, path) = file(&[serde_json::to_vec(&record).unwrap(), b"\n".into()].concat());
        let error = Records::open(path).unwrap().next().unwrap().unwrap_err();
        assert!(error.is::<BrokenLine>(), "{error:#}");
        let says = "trials.jsonl:1: not a trial record: field `iterations[0].elapsed_ns` is `0`: expected `int` >= 1";
        assert!(error.to_string().ends_with(says), "{error}");
    }

    fn committed_record() -> Record {
        let sweeps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/sweeps");
        let committed = SweepDir::all(&sweeps).remove(0);
        committed.records().unwrap().next().unwrap().unwrap()
    }

    /// Counts the bytes that are read.
    struct Counted(io::Cursor<Vec<u8>>, usize);

    impl Read for Counted {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(into)?;
            self.1 += read;
            Ok(read)
        }
    }

    impl Seek for Counted {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn a_torn_end_of_any_length_is_found_and_read_no_more_than_twice() {
        for torn in [0, 1, 1 << 14, 5 << 14, 1_000_000] {
            for sound in ["", "one\n", "one\ntwo\n"] {
                let content = [sound.as_bytes(), &vec![0; torn]].concat();
                let all = content.len();
                let mut file = Counted(io::Cursor::new(content), 0);
                assert_eq!(last_line(&mut file).unwrap(), vec![0; torn]);
                assert!(file.1 <= 2 * all, "{} of {all} bytes", file.1);
            }
        }
    }

    #[test]
    fn compressed_zeros_are_no_line_however_many() {
        let (folder, path) = file(b"");
        fs::remove_file(path).unwrap();
        let packed = folder.path().join(PACKED);
        let zeros = io::repeat(0).take(2 * LONGEST);
        zstd::stream::copy_encode(zeros, File::create(&packed).unwrap(), 1).unwrap();
        let mut lines = Lines::open(&packed).unwrap();
        let error = lines.next_line().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(lines.line.len() as u64 <= LONGEST, "{}", lines.line.len());
    }

    #[test]
    fn lines_are_read_with_their_places_and_half_a_line_is_none() {
        let content = b"one\n\nthree\nfo";
        let (_folder, path) = file(content);
        let mut lines = Lines::open(&path).unwrap();
        let mut read = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            let line = line.to_vec();
            let [start, end] =
                [lines.place.start, lines.place.end].map(|at| usize::try_from(at).unwrap());
            assert_eq!(line, content[start..end - 1]);
            read.push((line, lines.number));
        }
        assert_eq!(read, [(b"one".to_vec(), 1), (b"three".to_vec(), 3)]);
    }

    #[test]
    fn half_a_line_of_any_length_is_set_aside_and_the_rest_is_left() {
        for length in [0, 1, 20_000, 40_000] {
            for whole in ["", "first\n", "first\nsecond\n"] {
                let torn = vec![b'x'; length];
                let (folder, path) = file(&[whole.as_bytes(), &torn].concat());
                let appender = Appender::open(folder.path()).unwrap();
                assert_eq!(fs::read(&path).unwrap(), whole.as_bytes());
                let aside = fs::read(folder.path().join("trials.torn-1")).unwrap_or_default();
                assert_eq!((appender.torn.is_some(), aside), (length > 0, torn));
            }
        }
    }

    #[test]
    fn a_packed_file_is_read_as_the_plain_one_was_and_always_has_the_same_bytes() {
        let content = "one\n\nthree\n";
        let packed = [(), ()].map(|()| {
            let (folder, _path) = file(content.as_bytes());
            Appender::open(folder.path()).unwrap().pack().unwrap();
            assert_eq!(names(folder.path()), ["host.json", PACKED]);
            assert_eq!(text(folder.path()), content);
            let mut lines = Lines::open(&of(folder.path())).unwrap();
            assert_eq!(lines.next_line().unwrap(), Some(&b"one"[..]));
            assert_eq!(lines.next_line().unwrap(), Some(&b"three"[..]));
            assert_eq!((lines.number, lines.place.clone()), (3, 5..11));
            fs::read(of(folder.path())).unwrap()
        });
        assert_eq!(packed[0], packed[1]);
    }

    #[test]
    fn what_a_kill_between_two_steps_leaves_holds_every_line_and_can_be_appended_to() {
        let (packed, _path) = file(b"one\n");
        pack(packed.path()).unwrap();
        let packed = fs::read(packed.path().join(PACKED)).unwrap();
        // Packing and unpacking are interrupted before the new file has its name, with both files,
        // and with the new one alone. A longer plain file beside the packed one does not happen;
        // even then nothing would be lost.
        for (plain, is_packed) in [
            (Some("one\n"), false),
            (Some("one\n"), true),
            (None, true),
            (Some("one\ntwo\n"), true),
        ] {
            let (folder, path) = file(plain.unwrap_or_default().as_bytes());
            fs::write(folder.path().join(".tmp123"), "half of someth").unwrap();
            if plain.is_none() {
                fs::remove_file(&path).unwrap();
            }
            if is_packed {
                fs::write(folder.path().join(PACKED), &packed).unwrap();
            }
            let lines = plain.unwrap_or("one\n");
            assert_eq!(text(folder.path()), lines);
            let appender = Appender::open(folder.path()).unwrap();
            assert_eq!(names(folder.path()), [".tmp123", "host.json", PLAIN]);
            assert_eq!(text(folder.path()), lines);
            appender.pack().unwrap();
            assert_eq!(names(folder.path()), [".tmp123", "host.json", PACKED]);
            assert_eq!(text(folder.path()), lines);
        }
    }

    #[test]
    fn what_a_runner_before_packed_is_read_and_packed_anew_after_it_was_appended_to() {
        let (folder, path) = file(b"one\n");
        let gzip = |out| GzEncoder::new(out, Compression::fast());
        let mut packer = gzip(File::create(folder.path().join(PACKED_BEFORE)).unwrap());
        packer.write_all(b"one\ntwo\n").unwrap();
        packer.finish().unwrap();
        // If both are there, the plain one has every record.
        assert_eq!(text(folder.path()), "one\n");
        fs::remove_file(path).unwrap();
        assert_eq!(of(folder.path()), folder.path().join(PACKED_BEFORE));
        assert_eq!(text(folder.path()), "one\ntwo\n");
        Appender::open(folder.path()).unwrap().pack().unwrap();
        assert_eq!(names(folder.path()), ["host.json", PACKED]);
        assert_eq!(text(folder.path()), "one\ntwo\n");
    }

    #[test]
    fn only_one_process_appends_or_packs_at_a_time() {
        let (folder, _path) = file(b"one\n");
        let appender = Appender::open(folder.path()).unwrap();
        let refused = Appender::open(folder.path()).unwrap_err().to_string();
        assert!(refused.starts_with("another sweep writes to "), "{refused}");
        appender.pack().unwrap();
        Appender::open(folder.path()).unwrap();
    }

    #[test]
    fn broken_lines_of_a_packed_file_are_set_aside_and_a_sound_one_is_left_as_it_is() {
        let sweeps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/sweeps");
        let sound = text(SweepDir::all(&sweeps)[0].path());
        let (folder, _path) = file(sound.replacen('\n', "\nhello\n", 1).as_bytes());
        pack(folder.path()).unwrap();
        let (lines, aside) = repair(folder.path()).unwrap().unwrap();
        assert_eq!(
            (lines, fs::read_to_string(aside).unwrap()),
            (1, "hello\n".to_owned())
        );
        assert_eq!(text(folder.path()), sound);
        pack(folder.path()).unwrap();
        assert_eq!(repair(folder.path()).unwrap(), None);
        assert_eq!(names(folder.path()), ["host.json", PACKED, "trials.torn-1"]);
    }

    #[test]
    fn a_packed_file_that_was_cut_is_refused_with_its_name_and_the_remedy() {
        let (folder, _path) = file(b"{}\n".repeat(9).as_slice());
        pack(folder.path()).unwrap();
        let path = of(folder.path());
        let packed = fs::read(&path).unwrap();
        fs::write(&path, &packed[..packed.len() - 9]).unwrap();
        let refused = broken_lines(path).unwrap_err().to_string();
        assert!(
            refused.contains("trials.jsonl.zst cannot be read after line "),
            "{refused}"
        );
        assert!(refused.ends_with("; restore a copy of it"), "{refused}");
    }
}
