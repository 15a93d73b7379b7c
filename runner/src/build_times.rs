//! How long builds take: what the last one of each branch took here, and from what it was made.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::stats::median;

/// Compiling a branch takes as long as so many of its links: a guess.
const COMPILING: u32 = 20;
/// A link where no branch was built yet: a guess.
const PER_LINK: Duration = Duration::from_secs(2);
/// A build of which nothing has to be done: cargo looks at every file, and binaries are hashed.
const NOTHING_NEW: Duration = Duration::from_secs(1);

/// A build that took no longer was there already, with other programs or layouts: what it took says nothing.
const THERE_ALREADY: Duration = Duration::from_secs(3);

/// What is kept of a branch's last build that compiled something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Last {
    /// Stands for everything that was built from.
    made_from: String,
    links: u32,
    seconds: f64,
}

impl Last {
    fn per_link(&self) -> f64 {
        self.seconds / f64::from(COMPILING + self.links)
    }
}

/// The last build of each branch, by its name.
#[derive(Debug)]
pub struct BuildTimes {
    file: PathBuf,
    last: BTreeMap<String, Last>,
}

impl BuildTimes {
    /// Those kept in a folder; none if there is nothing that can be read.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        let file = folder.join("build-times.json");
        let text = fs::read_to_string(&file).unwrap_or_default();
        Self { last: serde_json::from_str(&text).unwrap_or_default(), file }
    }

    /// How long a build with so many links will take.
    #[must_use]
    pub fn expected(&self, branch: &str, made_from: &str, links: u32) -> Duration {
        let weight = COMPILING + links;
        match self.last.get(branch) {
            Some(last) if last.made_from == made_from && last.links == links => NOTHING_NEW,
            Some(last) => Duration::from_secs_f64(last.per_link() * f64::from(weight)),
            None => {
                let others =
                    median(&mut self.last.values().map(Last::per_link).collect::<Vec<_>>());
                others.map_or(PER_LINK, Duration::from_secs_f64) * weight
            }
        }
    }

    /// Keeps what a build took, unless there was nothing to do. That it cannot be written is no reason to stop.
    pub fn learn(&mut self, branch: &str, made_from: &str, links: u32, took: Duration) {
        let per_link = self.last.get(branch).map(Last::per_link);
        let seconds = match per_link {
            _ if took > THERE_ALREADY => took.as_secs_f64(),
            Some(per_link) => per_link * f64::from(COMPILING + links),
            None => return,
        };
        let last = Last { made_from: made_from.to_owned(), links, seconds };
        let is_known = self
            .last
            .get(branch)
            .is_some_and(|known| known.made_from == last.made_from && known.links == links);
        if !is_known {
            self.last.insert(branch.to_owned(), last);
            let _ = serde_json::to_string_pretty(&self.last)
                .map(|text| fs::write(&self.file, text + "\n"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_is_quick_what_changed_takes_its_time_and_what_is_new_that_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut times = BuildTimes::read(folder.path());
        assert_eq!(times.expected("packed", "a", 2), 22 * PER_LINK);
        times.learn("packed", "a", 2, Duration::from_secs(44));
        // Once more, and nothing had to be done.
        times.learn("packed", "a", 2, Duration::from_secs(1));
        let times = BuildTimes::read(folder.path());
        assert_eq!(times.expected("packed", "a", 2), NOTHING_NEW);
        assert_eq!(times.expected("packed", "b", 2), Duration::from_secs(44));
        assert_eq!(times.expected("packed", "a", 8), Duration::from_secs(56));
        assert_eq!(times.expected("split", "a", 4), Duration::from_secs(48));
    }

    #[test]
    fn a_build_that_was_there_already_says_nothing_of_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let mut times = BuildTimes::read(folder.path());
        times.learn("split", "a", 2, Duration::from_secs(1));
        assert_eq!(times.expected("packed", "a", 2), 22 * PER_LINK);
        times.learn("packed", "a", 2, Duration::from_secs(44));
        times.learn("packed", "b", 8, Duration::from_secs(1));
        assert_eq!(times.expected("packed", "b", 8), NOTHING_NEW);
        assert_eq!(times.expected("packed", "c", 8), Duration::from_secs(56));
    }
}
