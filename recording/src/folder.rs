//! The folder into which a program recorded itself.

use std::fs;
use std::path::Path;

use crate::Error;
use crate::file::{Head, MOST_EVENTS, OF_A_THREAD, Recording, Thread, event_of};
use crate::layout::{Event, HEAD, VERSION};

impl Recording {
    /// Reads the recording in `folder`, whether or not its program came to an end; `None` if no
    /// program recorded itself.
    ///
    /// # Errors
    /// If a file cannot be read, or is of another version.
    pub fn collect(folder: &Path) -> Result<Option<Self>, Error> {
        let path = folder.join("head");
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(path)?;
        let field = |name: &str| -> Result<u64, Error> {
            let lines = text.lines().filter_map(|line| line.split_once('='));
            let value = lines
                .clone()
                .find(|(it, _)| *it == name)
                .and_then(|(_, value)| value.parse().ok());
            value.ok_or_else(|| {
                Error::Foreign(format!(
                    "its head has no `{name}`; it was killed as it began"
                ))
            })
        };
        let fields = HEAD.map(field);
        let [
            version,
            _process,
            began_ns,
            ticks_per_s,
            event_milliticks,
            split,
        ] = fields;
        let version = version?;
        if version != u64::from(VERSION) {
            return Err(Error::Foreign(format!(
                "the program was built with a recorder of version {version}, and this is {VERSION}; build it anew"
            )));
        }
        let mut head = Head {
            began_ns: began_ns?,
            ticks_per_s: ticks_per_s?.max(1),
            event_milliticks: event_milliticks?,
            split: split?,
            ..Head::default()
        };
        let mut numbers = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            head.others += u64::from(name.starts_with("other-"));
            numbers.extend(
                name.strip_prefix("thread-")
                    .and_then(|number| number.parse::<usize>().ok()),
            );
        }
        numbers.sort_unstable();
        let mut threads = Vec::new();
        let mut events = 0;
        for number in numbers {
            let thread = thread(&fs::File::open(folder.join(format!("thread-{number}")))?)?;
            events += thread.events.len() as u64 + OF_A_THREAD;
            if events > MOST_EVENTS {
                return Err(Error::TooLarge {
                    events,
                    most: MOST_EVENTS,
                });
            }
            threads.push(thread);
        }
        Ok(Some(Self { head, threads }))
    }

    /// When the first thread had no room for more events, in ticks.
    #[must_use]
    pub fn full_at(&self) -> Option<u64> {
        let last = self
            .threads
            .iter()
            .filter_map(|thread| event_of(thread.events.last()?[0]));
        last.filter(|(event, _)| *event == Event::Full)
            .map(|(_, time)| time)
            .min()
    }
}

/// The events of one file, up to the first that is none: zeros, or the half of one.
fn thread(file: &fs::File) -> Result<Thread, Error> {
    use std::io::Read as _;
    let mut thread = Thread::default();
    let mut input = std::io::BufReader::with_capacity(1 << 20, file);
    let mut event = [0; 16];
    loop {
        match input.read_exact(&mut event) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(thread),
            Err(error) => return Err(error.into()),
        }
        let word = |from: usize| u64::from_ne_bytes(std::array::from_fn(|i| event[from + i]));
        if event_of(word(0)).is_none() {
            return Ok(thread);
        }
        thread.events.push([word(0), word(8)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn a_folder_is_read_up_to_the_last_whole_event_of_each_thread() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Recording::collect(folder.path()).unwrap().is_none());
        let synthetic = synthetic::joins(2);
        let fields = [u64::from(VERSION), 1, 5, 1_000_000_000, 0, 64];
        let text: Vec<_> = HEAD
            .iter()
            .zip(fields)
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect();
        fs::write(folder.path().join("head"), text.concat()).unwrap();
        fs::write(folder.path().join("other-77"), "").unwrap();
        let bytes: Vec<u8> = synthetic.threads[0]
            .events
            .iter()
            .flatten()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        // A killed program has written the second word of an event and not the first.
        let half = [[0; 8], [7; 8], [0; 8], [0; 8]].concat();
        fs::write(folder.path().join("thread-0"), [&bytes[..], &half].concat()).unwrap();
        let read = Recording::collect(folder.path()).unwrap().unwrap();
        assert_eq!(read.threads[0], synthetic.threads[0]);
        assert_eq!(
            (read.head.others, read.head.split, read.head.began_ns),
            (1, 64, 5)
        );

        fs::write(folder.path().join("head"), "version=9\nprocess=1\n").unwrap();
        assert!(
            Recording::collect(folder.path())
                .unwrap_err()
                .to_string()
                .contains("version 9")
        );
        fs::write(folder.path().join("head"), "").unwrap();
        assert!(
            Recording::collect(folder.path())
                .unwrap_err()
                .to_string()
                .contains("killed as it began")
        );
    }
}
