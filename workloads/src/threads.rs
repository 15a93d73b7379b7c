//! The state of each thread of this process, as far as the kernel reports it.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

pub(crate) const OWN_THREADS: &str = "/proc/self/task";

/// The state of one thread. A field that the kernel does not show is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glimpse {
    pub(crate) id: u64,
    /// The thread's name, which the kernel cuts off after 15 bytes.
    pub(crate) name: Option<String>,
    /// The kernel's word for what the thread does, for example `S (sleeping)`.
    state: Option<String>,
    pub(crate) cpu: Option<Duration>,
}

pub(crate) fn glimpses(folder: &Path) -> io::Result<Vec<Glimpse>> {
    let mut glimpses = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        {
            glimpses.push(glimpse(id, &entry.path()));
        }
    }
    glimpses.sort_by_key(|glimpse| glimpse.id);
    Ok(glimpses)
}

fn glimpse(id: u64, folder: &Path) -> Glimpse {
    // A thread may end meanwhile, and a file may be unreadable. Neither is an error.
    let read = |name: &str| {
        fs::read_to_string(folder.join(name))
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let first_number = |text: String| text.split_whitespace().next()?.parse::<u64>().ok();
    Glimpse {
        id,
        name: read("comm"),
        state: read("status").and_then(|text| {
            text.lines()
                .find_map(|line| line.strip_prefix("State:").map(|it| it.trim().to_owned()))
        }),
        cpu: read("schedstat")
            .and_then(first_number)
            .map(Duration::from_nanos),
    }
}

impl fmt::Display for Glimpse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unknown = "?";
        write!(
            formatter,
            "{:>7} {:<15} {:<16}",
            self.id,
            self.name.as_deref().unwrap_or(unknown),
            self.state.as_deref().unwrap_or(unknown)
        )?;
        match self.cpu {
            Some(cpu) => write!(formatter, " cpu {:>11.3} ms", cpu.as_secs_f64() * 1e3),
            None => write!(formatter, " cpu           ?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(folder: &Path, id: u64, files: &[(&str, &str)]) {
        let folder = folder.join(id.to_string());
        fs::create_dir(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    #[test]
    fn threads_are_told_in_order_with_all_that_the_kernel_shows() {
        let folder = tempfile::tempdir().unwrap();
        thread(
            folder.path(),
            21,
            &[
                ("comm", "worker-0\n"),
                (
                    "status",
                    "Name:\tworker-0\nState:\tS (sleeping)\nTgid:\t20\n",
                ),
                ("schedstat", "12345678 99 5\n"),
            ],
        );
        thread(
            folder.path(),
            20,
            &[("comm", "main"), ("status", "State:\tR (running)")],
        );
        thread(folder.path(), 22, &[]);
        let lines: Vec<String> = glimpses(folder.path())
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            lines,
            [
                "     20 main            R (running)      cpu           ?",
                "     21 worker-0        S (sleeping)     cpu      12.346 ms",
                "     22 ?               ?                cpu           ?",
            ]
        );
    }
}
