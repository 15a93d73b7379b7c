//! The checkout: where its files are, and which commit is checked out.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::config::{git, seen_from};
use crate::stop::Stop;

/// The repository that this runner measures.
#[derive(Clone, Debug)]
pub struct Checkout {
    root: PathBuf,
}

/// A commit, as far as Git knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// The commit's abbreviated hash; `None` outside a Git work tree.
    pub commit: Option<String>,
    /// Whether tracked files differ from that commit; `None` if Git cannot tell.
    pub dirty: Option<bool>,
}

impl Checkout {
    /// Finds the checkout: the given folder, or the nearest folder upwards that holds
    /// `branches.toml` and `workloads/`.
    ///
    /// # Errors
    /// [`Stop::BadInput`] if there is no checkout.
    pub fn find(explicit: Option<&Path>) -> Result<Self> {
        let start = match explicit {
            Some(root) => root.to_owned(),
            None => std::env::current_dir().context("the current folder cannot be read")?,
        };
        let candidates: Vec<&Path> = if explicit.is_some() {
            vec![&start]
        } else {
            start.ancestors().collect()
        };
        for folder in candidates {
            if folder.join("branches.toml").is_file() && folder.join("workloads").is_dir() {
                let root = folder
                    .canonicalize()
                    .context("the checkout's path cannot be resolved")?;
                return Ok(Self { root });
            }
        }
        Err(Stop::BadInput(format!(
            "no checkout at {} (looked for `branches.toml` beside `workloads/`); \
             run from inside the checkout or pass --root DIR",
            start.display()
        ))
        .into())
    }

    /// Returns the checkout's top folder, an absolute path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn sweeps(&self) -> PathBuf {
        self.root.join("results/sweeps")
    }

    /// Returns a path in the form for results: relative to the checkout if the path lies inside.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// Returns a path as [`Self::shown`] does, but only the file's name of a path outside the
    /// checkout.
    pub(crate) fn shown_without_folders(&self, path: &Path) -> String {
        let name = || path.file_name().map_or(path, Path::new);
        path.strip_prefix(&self.root)
            .unwrap_or_else(|_| name())
            .display()
            .to_string()
    }

    /// Returns an argument, typed in the folder `here`, in the form for results:
    /// `--input=/home/me/map.tsp` becomes `--input=map.tsp`, and `-I/home/me` becomes `-Ime`. Paths of
    /// branches start from the checkout, where the command can be repeated.
    pub(crate) fn shown_argument(&self, argument: &str, here: &Path) -> String {
        // A branch of `compare`: NAME=path:DIR or NAME=git:DIR#COMMIT.
        for kind in ["path:", "git:"] {
            if let Some((name, value)) = argument.split_once(kind)
                && (name.is_empty() || name.ends_with('='))
            {
                let seen = |path: &str| seen_from(&self.root, here, Path::new(path));
                return match value.split_once('#') {
                    _ if kind == "path:" => format!("{name}{kind}{}", seen(value).display()),
                    Some((url, rev)) if git::is_local(url) => {
                        format!("{name}{kind}{}#{rev}", seen(url).display())
                    }
                    _ => argument.to_owned(),
                };
            }
        }
        let mut shown = argument.to_owned();
        let mut end = argument.len();
        // From the last path to the first, since each ends where the next one begins.
        for (start, _) in argument.rmatch_indices('/') {
            if is_absolute_from(argument, start) {
                let path = self.shown_without_folders(Path::new(&argument[start..end]));
                shown.replace_range(start..end, &path);
                end = start;
            }
        }
        shown
    }

    /// Removes the checkout's path from a text, so that records do not depend on it.
    pub(crate) fn without_root(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root.display()), "")
    }

    /// Removes the checkout's path from a text, and shortens every longer absolute path to its last
    /// two parts, since messages of compilers name users' folders. Paths in folders that many
    /// systems have stay whole.
    pub(crate) fn without_folders(&self, text: &str) -> String {
        // `//` is in this list for addresses such as `https://…`.
        const COMMON: [&str; 9] = [
            "//", "/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib/", "/bin/", "/rustc/",
        ];
        let is_before_path = |c: char| c.is_whitespace() || "\"'`(=[<>:,".contains(c);
        let is_after_path = |c: char| c.is_whitespace() || "\"'`)]<>:,".contains(c);
        let text = self.without_root(text);
        let (mut shown, mut rest) = (String::new(), text.as_str());
        while let Some(start) = rest.find('/') {
            let (before, path) = rest.split_at(start);
            let path = &path[..path.find(is_after_path).unwrap_or(path.len())];
            shown.push_str(before);
            let begins = before.chars().next_back().or(shown.chars().next_back());
            let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
            let is_hidden = begins.is_none_or(is_before_path)
                && parts.len() > 2
                && !COMMON.iter().any(|common| path.starts_with(common));
            if is_hidden {
                shown.push_str("…/");
                shown.push_str(&parts[parts.len() - 2..].join("/"));
            } else {
                shown.push_str(path);
            }
            rest = &rest[start + path.len()..];
        }
        shown + rest
    }

    pub(crate) fn commit(&self) -> Commit {
        commit_of(&self.root)
    }
}

/// Whether an absolute path begins at the slash `start` of an argument: at its start, after `=` or a
/// similar mark, after a short option such as `-I`, or in an address `file://`.
fn is_absolute_from(argument: &str, start: usize) -> bool {
    let (before, rest) = argument.split_at(start);
    let is_short_option = || {
        let mut option = before.strip_prefix('-').unwrap_or_default().chars();
        option.next().is_some_and(char::is_alphanumeric) && option.next().is_none()
    };
    let is_mark = |c: char| c.is_whitespace() || "=,;@\"'([{<>|&".contains(c);
    before.is_empty()
        || before.ends_with(is_mark)
        || before.ends_with("://")
        || (before.ends_with(':') && !rest.starts_with("//"))
        || is_short_option()
}

pub(crate) fn commit_of(folder: &Path) -> Commit {
    let git = |arguments: &[&str]| -> Option<String> {
        let output = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(arguments)
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    Commit {
        commit: git(&["rev-parse", "--short=12", "HEAD"]),
        dirty: git(&["status", "--porcelain", "--untracked-files=no", "--", "."])
            .map(|changes| !changes.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_tell_no_folder_but_which_file() {
        let checkout = Checkout {
            root: PathBuf::from("/home/me/lab"),
        };
        for (message, shown) in [
            (" --> /home/me/rayon/src/lib.rs:1", " --> …/src/lib.rs:1"),
            ("(/home/me/lab/workloads/main.rs)", "(workloads/main.rs)"),
            (
                "at /rustc/5980/library/std/a.rs",
                "at /rustc/5980/library/std/a.rs",
            ),
            (
                "a=/home/me/bin/clang, /usr/bin/ld",
                "a=…/bin/clang, /usr/bin/ld",
            ),
            (
                "869 packets/ms, 1/2 of a/b/c/d",
                "869 packets/ms, 1/2 of a/b/c/d",
            ),
            ("https://example.org/a/b/c", "https://example.org/a/b/c"),
        ] {
            assert_eq!(checkout.without_folders(message), shown);
        }
    }

    #[test]
    fn results_tell_no_folder_of_the_machine() {
        let checkout = Checkout {
            root: PathBuf::from("/home/me/lab"),
        };
        for (argument, shown) in [
            ("/home/me/lab/maps/a.tsp", "maps/a.tsp"),
            ("/home/me/secret/a.tsp", "a.tsp"),
            ("--input=/home/me/secret/a.tsp", "--input=a.tsp"),
            ("maps/a.tsp", "maps/a.tsp"),
            ("--threads=1,2", "--threads=1,2"),
            ("data=/home/me/secret/a.csv", "data=a.csv"),
            ("-I/home/me/secret", "-Isecret"),
            ("-o=/home/me/lab/maps/a.tsp", "-o=maps/a.tsp"),
            ("--set=data=/home/me/secret/a.csv", "--set=data=a.csv"),
            (
                "--in=/home/me/lab/maps/a,/home/me/secret/b",
                "--in=maps/a,b",
            ),
            ("/home/me/bin:/usr/bin", "bin:bin"),
            ("file:///home/me/secret/a.csv", "file://a.csv"),
            ("@/home/me/secret/options", "@options"),
            ("sort '/home/me/secret/a.csv'", "sort 'a.csv'"),
            ("a/*/b", "a/*/b"),
            ("https://a.org/b/c?d=e", "https://a.org/b/c?d=e"),
            ("a/b=1", "a/b=1"),
            ("mine=path:/home/me/rayon-core", "mine=path:../rayon-core"),
            ("path:../../rayon", "path:runner/../../rayon"),
            ("git:/home/me/rayon#main", "git:../rayon#main"),
            (
                "git:https://a.org/rayon#main",
                "git:https://a.org/rayon#main",
            ),
        ] {
            assert_eq!(
                checkout.shown_argument(argument, Path::new("/home/me/lab/runner")),
                shown
            );
        }
    }
}
