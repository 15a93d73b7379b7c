//! Remembers the tests that passed, so that an interrupted run of an hour continues where it was.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Map, Value, json};
use xshell::Shell;

use super::counts::Counts;
use crate::sources::fingerprint;

/// Results that hold for one state of the fork's sources and one compiler.
pub(super) struct Passed {
    file: PathBuf,
    sources: String,
    results: Map<String, Value>,
    is_ignored: bool,
}

impl Passed {
    /// Loads the results that hold for the sources as they are now. If `fresh`, `get` returns none
    /// of them.
    pub(super) fn load(sh: &Shell, fresh: bool) -> Result<Self> {
        let root = sh.current_dir();
        let parts = [
            "rayon-fork/Cargo.toml",
            "rayon-fork/build.rs",
            "rayon-fork/src",
        ];
        let sources = fingerprint(sh, &parts)?;
        let file = root.join("target/conformance/passed.json");
        let text = if sh.path_exists(&file) {
            sh.read_file(&file)?
        } else {
            String::new()
        };
        // An unreadable file is no worse than none: everything is run.
        let results = results_of(&text, &sources).unwrap_or_default();
        Ok(Self {
            file,
            sources,
            results,
            is_ignored: fresh,
        })
    }

    pub(super) fn get(&self, title: &str) -> Option<Counts> {
        if self.is_ignored {
            return None;
        }
        self.results.get(title).and_then(Counts::from_json)
    }

    /// Notes that `title` passed, on disk at once.
    pub(super) fn insert(&mut self, sh: &Shell, title: &str, counts: Counts) -> Result<()> {
        self.results.insert(title.to_owned(), counts.to_json());
        let text = json!({ "sources": self.sources, "passed": self.results });
        sh.write_file(&self.file, format!("{text:#}\n"))?;
        Ok(())
    }
}

/// The results in `text`, if they are about `sources`.
fn results_of(text: &str, sources: &str) -> Option<Map<String, Value>> {
    let mut written: Value = serde_json::from_str(text).ok()?;
    if written["sources"] != sources {
        return None;
    }
    match written["passed"].take() {
        Value::Object(results) => Some(results),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Passed, results_of};
    use crate::conformance::counts::Counts;
    use serde_json::{Map, Value};
    use std::path::Path;
    use xshell::Shell;

    const GREEN: Counts = Counts {
        passed: 3,
        failed: 0,
        ignored: 1,
    };

    fn passed(file: &Path, results: Map<String, Value>) -> Passed {
        Passed {
            file: file.to_owned(),
            sources: "a".into(),
            results,
            is_ignored: false,
        }
    }

    #[test]
    fn a_result_is_found_again_for_the_same_sources_only() {
        let sh = Shell::new().unwrap();
        let folder = sh.create_temp_dir().unwrap();
        let file = folder.path().join("passed.json");
        passed(&file, Map::new())
            .insert(&sh, "rayon on packed", GREEN)
            .unwrap();

        let text = sh.read_file(&file).unwrap();
        let mut read = passed(&file, results_of(&text, "a").unwrap());
        assert_eq!(read.get("rayon on packed"), Some(GREEN));
        assert_eq!(read.get("rayon on split"), None);
        assert!(results_of(&text, "b").is_none());

        read.is_ignored = true;
        assert_eq!(
            read.get("rayon on packed"),
            None,
            "a fresh run is told of an earlier one"
        );
    }

    #[test]
    fn a_damaged_file_holds_no_results() {
        assert!(results_of("{\"sources\": \"a\", \"passed\": [", "a").is_none());
        assert!(results_of("{\"sources\": \"a\", \"passed\": []}", "a").is_none());
    }
}
