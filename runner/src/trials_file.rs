//! `trials.jsonl`: read line by line, whatever its length, and only ever appended to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use protocol::SCHEMA;

use crate::id::Id;
use crate::record::Record;
use crate::stop::Stop;
use crate::sweep_dir::check_schema;

/// The whole lines of a file, one at a time. A torn last line is left out.
#[derive(Debug)]
pub struct Lines {
    file: BufReader<File>,
    line: Vec<u8>,
    number: u32,
    place: Range<u64>,
}

impl Lines {
    /// Opens a file.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = BufReader::with_capacity(1 << 16, File::open(path)?);
        Ok(Self { file, line: Vec::new(), number: 0, place: 0..0 })
    }

    /// The next line that is not empty, without its end; `None` after the last.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            let bytes = self.file.read_until(b'\n', &mut self.line)? as u64;
            if self.line.pop() != Some(b'\n') {
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

/// A line that is no record of this format, or one that is there already.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {why}")]
pub struct BrokenLine {
    /// File and line.
    place: String,
    why: String,
}

/// The records of a sweep, one at a time. Of those that were read only the identities are kept.
#[derive(Debug)]
pub struct Records {
    path: PathBuf,
    lines: Lines,
    /// Numbers of lines, by trial.
    seen: HashMap<Id, u32>,
}

impl Records {
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let lines = Lines::open(&path).map_err(|error| {
            Stop::BadInput(format!(
                "{} cannot be read: {error}; a sweep is a folder with manifest.json, host.json and \
                 trials.jsonl",
                path.display()
            ))
        })?;
        Ok(Self { path, lines, seen: HashMap::new() })
    }

    /// Where the line of the last record is in the file, in bytes.
    #[must_use]
    pub fn place(&self) -> Range<u64> {
        self.lines.place.clone()
    }

    fn read(&mut self) -> Result<Option<Record>> {
        let path = &self.path;
        let line = self.lines.next_line();
        let Some(line) = line.with_context(|| format!("{} cannot be read", path.display()))? else {
            return Ok(None);
        };
        let parsed: Result<Record, _> = serde_json::from_slice(line);
        let number = self.lines.number;
        let place = || format!("{}:{number}", path.display());
        let record = match parsed {
            Ok(record) if record.schema == SCHEMA => record,
            other => {
                check_schema(&String::from_utf8_lossy(&self.lines.line), place)?;
                let why = |error| format!("no trial record: {error}");
                other.map_err(|error| BrokenLine { place: place(), why: why(error) })?
            }
        };
        match self.seen.entry(record.trial) {
            Entry::Vacant(free) => _ = free.insert(number),
            Entry::Occupied(first) => {
                let why = format!("trial {} is in line {} already", record.trial, first.get());
                bail!(BrokenLine { place: place(), why });
            }
        }
        Ok(Some(record))
    }
}

impl Iterator for Records {
    type Item = Result<Record>;

    /// The next record; a [`BrokenLine`] for a line that is none, or of a trial that is there twice, after which
    /// the others can still be read.
    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Sets aside the broken lines of a file that nobody appends to, and half a last line; says how many and where.
///
/// # Errors
/// If another process appends, or the disk refuses; the file is then as it was.
pub(crate) fn repair(path: &Path) -> Result<Option<(usize, PathBuf)>> {
    let appender = Appender::open(path.to_owned())?;
    let mut records = Records::open(path.to_owned())?;
    let mut broken: Vec<Range<u64>> = Vec::new();
    while let Some(record) = records.next() {
        match record {
            Err(error) if error.is::<BrokenLine>() => broken.push(records.place()),
            other => _ = other?,
        }
    }
    if broken.is_empty() {
        return Ok(appender.torn().map(|aside| (1, aside.to_owned())));
    }
    let describe = || format!("{} cannot be repaired; it is as it was", path.display());
    let text = std::fs::read(path).with_context(describe)?;
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
    let replace = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&sound)?;
        file.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    replace().with_context(describe)?;
    Ok(Some((broken.len() + usize::from(appender.torn().is_some()), place)))
}

/// The open end of `trials.jsonl`.
#[derive(Debug)]
pub struct Appender {
    file: File,
    path: PathBuf,
    torn: Option<PathBuf>,
}

impl Appender {
    /// Opens the file and keeps everybody else out until this is dropped. What a killed run left of its
    /// last line is set aside first.
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        let describe = || format!("{} cannot be opened for appending", path.display());
        let mut file =
            OpenOptions::new().read(true).write(true).open(&path).with_context(describe)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(Stop::HostNotFit(format!(
                "another sweep writes to {}; wait for it or end it",
                path.parent().unwrap_or(&path).display()
            ))),
            Err(TryLockError::Error(error)) => return Err(error).with_context(describe),
        }
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
        Ok(Self { file, path, torn })
    }

    /// Where half a line of an earlier run was put, if there was one.
    #[must_use]
    pub fn torn(&self) -> Option<&Path> {
        self.torn.as_deref()
    }

    /// Appends a record and waits until it is on the disk.
    ///
    /// # Errors
    /// If the disk refuses (full, for example); the file then ends with the record before.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let mut line = serde_json::to_vec(record).context("a record has no JSON form")?;
        line.push(b'\n');
        let before = self.file.stream_position()?;
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.or_else(|error| {
            // Best effort: if this fails too, the torn line is set aside on resume.
            let _ = self.file.set_len(before);
            Err(error).with_context(|| {
                format!(
                    "{} cannot be written; every earlier trial is safe. Mend the cause (disk full? \
                     permissions?), then continue with `cargo runner sweep --resume {}`",
                    self.path.display(),
                    self.path.parent().unwrap_or(&self.path).display()
                )
            })
        })
    }
}

/// What stands after the last line end: nothing, unless it was torn.
fn last_line(file: &mut File) -> io::Result<Vec<u8>> {
    /// Longer than most records.
    const STEP: u64 = 1 << 14;
    let end = file.seek(SeekFrom::End(0))?;
    let mut from = end;
    let mut tail = Vec::new();
    loop {
        if let Some(last) = tail.iter().rposition(|byte| *byte == b'\n') {
            return Ok(tail.split_off(last + 1));
        }
        if from == 0 {
            return Ok(tail);
        }
        from = from.saturating_sub(STEP);
        tail.clear();
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut tail)?;
    }
}

/// Puts half a line beside the file of trials, under a name that is free.
fn set_aside(trials: &Path, torn: &[u8]) -> Result<PathBuf> {
    let mut number = 1;
    loop {
        let path = trials.with_file_name(format!("trials.torn-{number}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(torn)?;
                file.sync_all()?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => {
                return Err(error).with_context(|| format!("{} cannot be written", path.display()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trials.jsonl");
        std::fs::write(&path, content).unwrap();
        (folder, path)
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
                let appender = Appender::open(path.clone()).unwrap();
                assert_eq!(std::fs::read(&path).unwrap(), whole.as_bytes());
                let aside = std::fs::read(folder.path().join("trials.torn-1")).unwrap_or_default();
                assert_eq!((appender.torn().is_some(), aside), (length > 0, torn));
            }
        }
    }
}
