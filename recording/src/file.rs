//! The file of a recording: written, and read again only if it is whole.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::layout::{Event, TIME_BITS, VERSION};

/// How the content begins; the version and a line end follow.
const MAGIC: &str = "rayon recording ";

/// Packs to a third of what level 1 gives, as fast as events are read.
const LEVEL: i32 = 3;

/// The most events that are read: 2 GiB of memory.
pub(crate) const MOST_EVENTS: u64 = 1 << 27;

/// A thread takes as much memory as so many events.
pub(crate) const OF_A_THREAD: u64 = 64;

/// A recording's description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The program's name, without its folder.
    pub program: String,
    /// How it ended.
    pub ended: String,
    /// Kind of processor on which it ran.
    pub processor: String,
    /// When the program was started and had ended, in nanoseconds of the monotonic clock.
    pub started_ns: u64,
    /// See there.
    pub ended_ns: u64,
    /// When the recorder began, by the same clock.
    pub began_ns: u64,
    /// Ticks of the recorder's clock in a second.
    pub ticks_per_s: u64,
    /// The cost of an event to the thread that wrote it, in thousandths of a tick.
    pub event_milliticks: u64,
    /// For how many threads parallel iterators were made to split; 0: for those of their pool.
    pub split: u64,
    /// Processes of the program that were not recorded, although they used a pool.
    pub others: u64,
}

/// The events of one thread, each in two words as in [`crate::layout`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// In the order of time.
    pub events: Vec<[u64; 2]>,
}

/// A recording as it is in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Its description of itself.
    pub head: Head,
    /// In the order in which they came to the pool.
    pub threads: Vec<Thread>,
}

/// The event of word 0 and its time in ticks, if there is such an event.
pub(crate) fn event_of(word: u64) -> Option<(Event, u64)> {
    let number = usize::try_from(word >> TIME_BITS).ok()?;
    let event = Event::ALL.get(number.checked_sub(1)?)?;
    Some((*event, word & ((1 << TIME_BITS) - 1)))
}

impl Recording {
    /// Writes the contents of its file.
    ///
    /// # Errors
    /// If `file` takes no more.
    pub fn write(&self, file: impl Write) -> std::io::Result<()> {
        let mut out = zstd::Encoder::new(file, LEVEL)?;
        out.include_checksum(true)?;
        writeln!(out, "{MAGIC}{VERSION}")?;
        serde_json::to_writer(&mut out, &self.head).map_err(std::io::Error::from)?;
        writeln!(out)?;
        write_number(&mut out, self.threads.len() as u64)?;
        for thread in &self.threads {
            write_number(&mut out, thread.events.len() as u64)?;
            let mut before = [0, 0];
            for &[first, second] in &thread.events {
                let time = first & ((1 << TIME_BITS) - 1);
                out.write_all(&[(first >> TIME_BITS) as u8])?;
                write_number(&mut out, zigzag(time.wrapping_sub(before[0])))?;
                write_number(&mut out, zigzag(second.wrapping_sub(before[1])))?;
                before = [time, second];
            }
        }
        out.finish()?.flush()?;
        Ok(())
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, is no recording of this version, is damaged (with the place), or too
    /// large.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let facts = std::fs::metadata(path)?;
        if !facts.is_file() {
            return Err(Error::Foreign("no regular file".to_owned()));
        }
        let mut file = BufReader::new(File::open(path)?);
        let is_packed = file
            .fill_buf()?
            .starts_with(&zstd::zstd_safe::MAGICNUMBER.to_le_bytes());
        let mut content = Content {
            inner: BufReader::new(zstd::Decoder::with_buffer(file)?),
            at: 0,
        };
        let wanted = format!("{MAGIC}{VERSION}\n");
        let mut magic = vec![0; wanted.len()];
        if let Err(error) = content.inner.read_exact(&mut magic) {
            return Err(if is_packed {
                content.damaged(&error)
            } else {
                Error::Foreign(format!("{error}; `cargo runner record` writes them"))
            });
        }
        if magic != wanted.as_bytes() {
            let begins = String::from_utf8_lossy(&magic);
            return Err(Error::Foreign(if begins.starts_with(MAGIC) {
                format!(
                    "`{}` is another version than {VERSION}; record again",
                    begins.trim_end().escape_debug()
                )
            } else {
                "its content begins otherwise".to_owned()
            }));
        }
        content.at = wanted.len() as u64;
        let mut line = Vec::new();
        content
            .inner
            .by_ref()
            .take(1 << 16)
            .read_until(b'\n', &mut line)
            .map_err(|error| content.damaged(&error))?;
        let head = serde_json::from_slice(&line).map_err(|error| content.damaged(&error))?;
        content.at += line.len() as u64;
        let threads = content.number()?;
        let mut recording = Self {
            head,
            threads: Vec::new(),
        };
        let mut events = 0_u64;
        for _ in 0..threads {
            let count = content.number()?;
            events = events.saturating_add(count).saturating_add(OF_A_THREAD);
            if events > MOST_EVENTS {
                return Err(Error::TooLarge {
                    events,
                    most: MOST_EVENTS,
                });
            }
            recording.threads.push(content.thread(count)?);
        }
        // The rest is the checksum of the whole.
        let mut rest = Vec::new();
        content
            .inner
            .by_ref()
            .take(1)
            .read_to_end(&mut rest)
            .map_err(|error| content.damaged(&error))?;
        if !rest.is_empty() {
            return Err(content.damaged(&"there is more than was announced"));
        }
        Ok(recording)
    }
}

fn write_number(out: &mut impl Write, mut number: u64) -> std::io::Result<()> {
    let (mut bytes, mut length) = ([0_u8; 10], 0);
    loop {
        bytes[length] = (number & 127) as u8 | if number > 127 { 128 } else { 0 };
        number >>= 7;
        length += 1;
        if number == 0 {
            return out.write_all(&bytes[..length]);
        }
    }
}

/// Small numbers for small differences of either sign.
fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ (difference.cast_signed() >> 63).cast_unsigned()
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// The packed content, and how much of it was read.
struct Content<R> {
    inner: BufReader<R>,
    at: u64,
}

impl<R: Read> Content<R> {
    fn damaged(&self, what: &impl ToString) -> Error {
        Error::Damaged {
            at: self.at,
            what: what.to_string(),
        }
    }

    fn byte(&mut self) -> Result<u8, Error> {
        let byte = match self.inner.fill_buf() {
            Ok([byte, ..]) => *byte,
            Ok([]) => return Err(self.damaged(&"it ends here")),
            Err(error) => return Err(self.damaged(&error)),
        };
        self.inner.consume(1);
        self.at += 1;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(self.damaged(&"a number without end"))
    }

    fn thread(&mut self, count: u64) -> Result<Thread, Error> {
        let mut thread = Thread::default();
        let mut before = [0_u64, 0];
        for _ in 0..count {
            let kind = self.byte()?;
            let time = before[0].wrapping_add(unzigzag(self.number()?));
            let second = before[1].wrapping_add(unzigzag(self.number()?));
            let first = u64::from(kind) << TIME_BITS | time;
            if time >> TIME_BITS != 0 || event_of(first).is_none() {
                return Err(self.damaged(&format_args!("no event {kind} at {time}")));
            }
            thread.events.push([first, second]);
            before = [time, second];
        }
        Ok(thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    fn written(recording: &Recording) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.zst");
        recording.write(File::create(&path).unwrap()).unwrap();
        (folder, path)
    }

    #[test]
    fn what_was_written_is_read() {
        let recording = synthetic::joins(4);
        let (_folder, path) = written(&recording);
        assert_eq!(Recording::read(&path).unwrap(), recording);
        for difference in [0, 1, u64::MAX, 1 << 63, 12345] {
            assert_eq!(unzigzag(zigzag(difference)), difference);
        }
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_refused_and_a_cut_is_told_with_its_place() {
        let (_folder, path) = written(&synthetic::joins(3));
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let error = Recording::read(&path).unwrap_err().to_string();
            assert!(
                error.contains("at byte") || error.contains("no recording"),
                "{length}: {error}"
            );
        }
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 4;
            std::fs::write(&path, changed).unwrap();
            // A byte that only says how the rest is packed may be another one.
            if let Ok(read) = Recording::read(&path) {
                assert_eq!(read, synthetic::joins(3), "byte {place}");
            }
        }
    }

    /// Content as given, packed.
    fn packed(content: &[u8]) -> Error {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), zstd::encode_all(content, 1).unwrap()).unwrap();
        Recording::read(file.path()).unwrap_err()
    }

    #[test]
    fn other_versions_unknown_events_and_what_is_too_large_are_refused_each_by_name() {
        let error = packed(b"rayon recording 7\n{}").to_string();
        assert!(error.contains("another version"), "{error}");
        let error = packed(b"something else altogether").to_string();
        assert!(error.contains("begins otherwise"), "{error}");
        let head = serde_json::to_string(&Head::default()).unwrap();
        let begin = format!("rayon recording {VERSION}\n{head}\n");
        let content = |tail: &[u8]| [begin.as_bytes(), tail].concat();
        let error = packed(&content(&[1, 1, 99, 0, 0])).to_string();
        let place = format!("byte {}", begin.len() + 5);
        assert!(
            error.contains(&place) && error.contains("no event 99"),
            "{error}"
        );
        let error = packed(&content(&[1, 255, 255, 255, 255, 127]));
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        let error = packed(&content(&[0, 0])).to_string();
        assert!(error.contains("more than was announced"), "{error}");
    }

    #[test]
    fn threads_without_events_have_an_end_too() {
        let head = serde_json::to_string(&Head::default()).unwrap();
        let begin = format!("rayon recording {VERSION}\n{head}\n");
        let announced = [0xff, 0xff, 0xff, 0xff, 0x7f];
        let zeros = vec![0; usize::try_from(MOST_EVENTS / OF_A_THREAD).unwrap() + 2];
        let error = packed(&[begin.as_bytes(), &announced, &zeros].concat());
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }

    #[test]
    fn a_file_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = Recording::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("no regular file"), "{error}");
    }
}
