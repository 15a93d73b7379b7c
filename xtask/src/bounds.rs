//! How large the checkout may be. A bound is raised on purpose only, by a commit that says why.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use xshell::{Shell, cmd};

/// What is counted.
#[derive(Clone, Copy)]
enum Size {
    /// Lines of files below a folder with one of these extensions.
    Lines(&'static str, &'static [&'static str]),
    /// Words of documents.
    Words,
    /// Bytes of all files.
    Bytes,
}

struct Bound {
    what: &'static str,
    size: Size,
    most: usize,
    /// Where it should come down to.
    goal: usize,
}

const BOUNDS: [Bound; 5] = [
    Bound { what: "lines of runner/src", size: Size::Lines("runner/src/", &["rs"]), most: 21_426, goal: 17_500 },
    Bound { what: "lines of analysis/src", size: Size::Lines("analysis/src/", &["py"]), most: 13_318, goal: 11_000 },
    Bound { what: "lines of Rust and Python", size: Size::Lines("", &["rs", "py"]), most: 117_365, goal: 88_000 },
    Bound { what: "words of documents", size: Size::Words, most: 35_198, goal: 28_000 },
    Bound { what: "bytes of all files", size: Size::Bytes, most: 20_000_000, goal: 20_000_000 },
];

impl Size {
    /// Of one file of the checkout.
    fn of(self, path: &str, content: &[u8]) -> usize {
        let text = || String::from_utf8_lossy(content);
        let extension = Path::new(path).extension().and_then(OsStr::to_str).unwrap_or_default();
        match self {
            Self::Lines(folder, extensions) => {
                let is_counted = path.starts_with(folder) && extensions.contains(&extension);
                if is_counted { text().lines().count() } else { 0 }
            }
            Self::Words if extension == "md" => text().split_whitespace().count(),
            Self::Words => 0,
            Self::Bytes => content.len(),
        }
    }
}

/// Prints every size beside its bound, and fails if one is above.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let files = cmd!(sh, "git ls-files -z --cached --others --exclude-standard").quiet().read();
    let files = files.context("the files of the checkout cannot be listed")?;
    let files: Vec<&str> = files.split_terminator('\0').collect();
    let sizes = sizes(&sh.current_dir(), &files);
    eprintln!("── sizes\n   {:<26} {:>12} {:>12} {:>12}", "", "now", "at most", "goal");
    for (Bound { what, most, goal, .. }, size) in BOUNDS.iter().zip(&sizes) {
        eprintln!("   {what:<26} {size:>12} {most:>12} {goal:>12}");
    }
    let above = above(&sizes);
    ensure!(
        above.is_empty(),
        "{}; take something away, or raise the bound in xtask/src/bounds.rs and say why",
        above.join("; ")
    );
    Ok(())
}

/// In the order of [`BOUNDS`]; a file that was deleted and is still listed has no content.
fn sizes(root: &Path, files: &[&str]) -> Vec<usize> {
    let mut sizes = vec![0; BOUNDS.len()];
    for path in files {
        let content = fs::read(root.join(path)).unwrap_or_default();
        for (sum, bound) in sizes.iter_mut().zip(&BOUNDS) {
            *sum += bound.size.of(path, &content);
        }
    }
    sizes
}

fn above(sizes: &[usize]) -> Vec<String> {
    let above = BOUNDS.iter().zip(sizes).filter(|(bound, size)| **size > bound.most);
    above.map(|(Bound { what, most, .. }, size)| format!("{size} {what}, at most {most}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{BOUNDS, above, sizes};

    #[test]
    fn sizes_are_counted_by_folder_and_kind_of_file() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("runner/src/a.rs", "one\ntwo\n"),
            ("runner/tests/b.rs", "one\n"),
            ("analysis/src/c.py", "one\ntwo\nthree"),
            ("README.md", "four words\nin it"),
        ];
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let paths: Vec<&str> = files.iter().map(|(path, _)| *path).chain(["deleted.rs"]).collect();
        let bytes = files.iter().map(|(_, text)| text.len()).sum();
        assert_eq!(sizes(folder.path(), &paths), [2, 3, 6, 4, bytes]);
    }

    #[test]
    fn a_size_above_its_bound_is_told_and_one_at_it_is_not() {
        let mut sizes: Vec<usize> = BOUNDS.iter().map(|bound| bound.most).collect();
        assert!(above(&sizes).is_empty());
        sizes[3] += 1;
        let most = BOUNDS[3].most;
        assert_eq!(above(&sizes), [format!("{} words of documents, at most {most}", most + 1)]);
    }

    #[test]
    fn no_bound_lies_below_its_goal() {
        assert!(BOUNDS.iter().all(|bound| bound.goal <= bound.most));
    }
}
