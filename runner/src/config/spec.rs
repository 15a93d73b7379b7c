//! A branch in one word, as `compare` accepts it on the command line: it becomes a row of
//! `branches.toml`, with the same checks.

use std::path::Path;

use toml::{Table, Value};

use super::check::{check_name, check_row};
use super::{Branch, Config, git, seen_from};
use crate::config::pick::{GROUP, hint};

/// The forms that a word may have, for messages and help.
pub const SPECS: &str = "a branch of branches.toml, group:NAME, published:1.13.0, path:DIR, git:URL#COMMIT, \
                         git:DIR#COMMIT or fork:FEATURE,FEATURE; NAME= before it gives it a name";

/// The context in which specs are read. Relative paths start from `here`. All are kept relative to
/// `config_folder`, as in a row of branches.toml.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    /// The branches that can be named.
    pub config: &'a Config,
    /// The folder in which the user typed the spec.
    pub here: &'a Path,
    /// The folder of branches.toml.
    pub config_folder: &'a Path,
}

impl Reader<'_> {
    /// The branches that the words name; the first is the baseline.
    ///
    /// # Errors
    /// The wrong word, the reason, and the remedy.
    pub fn config(&self, words: &[String]) -> Result<Config, String> {
        let mut branches: Vec<Branch> = Vec::new();
        let in_words = |word: &String| {
            let found = self
                .branches(word)
                .map_err(|why| format!("`{word}`: {why}"));
            found.map(|found| {
                found
                    .into_iter()
                    .map(|branch| (word.clone(), branch))
                    .collect::<Vec<_>>()
            })
        };
        let found: Vec<_> = words.iter().map(in_words).collect::<Result<_, _>>()?;
        for (word, branch) in found.into_iter().flatten() {
            if branches.iter().any(|other| other.name == branch.name) {
                let (_, spec) = name_and_spec(&word);
                let is_free = |name: &String| branches.iter().all(|other| other.name != *name);
                let mut names = ('b'..='z').map(|letter| format!("{}-{letter}", branch.name));
                return Err(format!(
                    "`{word}`: there is already a `{}`; give this one another name, for example {}={spec}",
                    branch.name,
                    names.find(is_free).unwrap_or_else(|| "NAME".to_owned())
                ));
            }
            let typed = Some(word);
            branches.push(Branch {
                baseline: branches.is_empty(),
                typed,
                ..branch
            });
        }
        Ok(Config { branches })
    }

    /// Returns the branches of a group, or the one branch that a word means.
    fn branches(&self, word: &str) -> Result<Vec<Branch>, String> {
        if !word.starts_with(GROUP) {
            return Ok(vec![self.branch(word)?]);
        }
        let names = self
            .config
            .pick("compare", word)
            .map_err(|error| error.to_string())?;
        names
            .into_iter()
            .map(|name| self.row(name).cloned())
            .collect()
    }

    /// The row that a word names or stands for.
    fn branch(&self, word: &str) -> Result<Branch, String> {
        let (name, spec) = name_and_spec(word);
        let callable = |name: String| match check_name(&name) {
            Ok(()) => Ok(name),
            Err(why) => Err(format!(
                "`{name}` cannot be its name: {why}; write NAME= before it"
            )),
        };
        let Some((kind, value)) = spec.split_once(':') else {
            let row = self.row(spec)?;
            let name = callable(name.unwrap_or(&row.name).to_owned())?;
            return Ok(Branch {
                name,
                ..row.clone()
            });
        };
        let (own_name, mut row) = self.written(word, kind, value)?;
        let name = callable(name.map_or_else(|| plain(&own_name), str::to_owned))?;
        row.insert("name".to_owned(), name.into());
        let row = toml::from_str(&row.to_string()).map_err(|error| error.to_string())?;
        // The message must not repeat the typed word.
        let typed = format!("{kind} = \"{value}\": ");
        check_row(&row, 0, &[]).map_err(|fault| fault.why.replacen(&typed, "", 1))
    }

    /// Returns a name for the branch that a word describes, and its row in the form of
    /// branches.toml.
    fn written(&self, word: &str, kind: &str, value: &str) -> Result<(String, Table), String> {
        let seen = |path: &str| {
            let seen = seen_from(self.config_folder, self.here, Path::new(path));
            seen.display().to_string()
        };
        let mut row = Table::new();
        let mut say = |key: &str, value: Value| row.insert(key.to_owned(), value);
        let own_name = match kind {
            "published" => {
                say(kind, value.into());
                format!("published-{value}")
            }
            "fork" => {
                let words = value.split(',').map(str::trim);
                let mut features: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
                say(kind, features.clone().into());
                features.sort_unstable();
                let own = features.join("-");
                format!("fork-{}", if own.is_empty() { "packed" } else { &own })
            }
            "path" if value.is_empty() => return Err("`path:` without a folder".to_owned()),
            "path" => {
                say(kind, seen(value).into());
                format!("path-{}", folder_name(&self.here.join(value)))
            }
            "git" => {
                let Some((url, rev)) = value.rsplit_once('#').filter(|(_, rev)| !rev.is_empty())
                else {
                    return Err("a Git address needs a commit: git:URL#COMMIT. A branch or tag is also accepted; \
                         its current commit is compared"
                        .to_owned());
                };
                let commit = git::commit(&git::address(url, self.here), rev)?;
                if !commit.starts_with(rev) {
                    tell!("note: `{word}`: `{rev}` is currently commit {commit}");
                }
                let short: String = commit.chars().take(12).collect();
                let url = if git::is_local(url) {
                    seen(url)
                } else {
                    url.to_owned()
                };
                say(kind, url.into());
                say("rev", commit.into());
                format!("git-{short}")
            }
            _ => return Err(format!("unknown kind `{kind}`; write {SPECS}")),
        };
        Ok((own_name, row))
    }

    fn row(&self, name: &str) -> Result<&Branch, String> {
        let branches = &self.config.branches;
        branches
            .iter()
            .find(|branch| branch.name == name)
            .ok_or_else(|| {
                let known = branches.iter().map(|branch| branch.name.as_str());
                format!(
                    "no branch has this name; write {SPECS}{}",
                    hint(name, known)
                )
            })
    }
}

/// Splits a word into the name before a `=`, if any, and the rest.
fn name_and_spec(word: &str) -> (Option<&str>, &str) {
    match word.split_once('=') {
        // An address may contain `=`, but only after the colon of its kind.
        Some((name, spec)) if !name.contains(':') => (Some(name), spec),
        _ => (None, word),
    }
}

/// Returns a working tree's name: its folder's, or the parent's if the folder is called
/// `rayon-core`.
fn folder_name(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let own = name(&folder);
    let above = folder.parent().map(name).filter(|above| !above.is_empty());
    above.filter(|_| own == "rayon-core").unwrap_or(own)
}

/// Replaces all characters that a branch's name may not have.
fn plain(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    text.to_lowercase()
        .chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    const ROWS: &str = "[[branch]]\nname = \"master\"\npublished = \"1.13.0\"\nbaseline = true\n\
                        [[branch]]\nname = \"packed\"\nfork = []\nhypothesis = \"equal\"\n";

    fn read(words: &[&str]) -> Result<Config, String> {
        let config = super::super::parse("branches.toml", ROWS).unwrap();
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let (here, config_folder) = (Path::new("/home/me/lab/runner"), Path::new("/home/me/lab"));
        Reader {
            config: &config,
            here,
            config_folder,
        }
        .config(&words)
    }

    fn names(words: &[&str]) -> Vec<String> {
        read(words)
            .unwrap()
            .branches
            .into_iter()
            .map(|branch| branch.name)
            .collect()
    }

    #[test]
    fn the_first_word_is_the_baseline_even_if_the_file_has_another() {
        let config = read(&["packed", "master"]).unwrap();
        assert_eq!(config.baseline().name, "packed");
        assert_eq!(config.baseline().hypothesis, "equal");
        assert!(!config.branches[1].baseline);
    }

    #[test]
    fn each_kind_of_source_has_a_word_and_a_name_of_its_own() {
        let words = [
            "published:1.13.0",
            "fork:split,no-jec",
            "fork:",
            "path:/src/Rayon/rayon-core",
            "path:../../mine",
            "git:https://example.org/rayon?a=b#0123456789abcdef",
        ];
        assert_eq!(
            names(&words),
            [
                "published-1-13-0",
                "fork-no-jec-split",
                "fork-packed",
                "path-rayon",
                "path-mine",
                "git-0123456789ab"
            ]
        );
        let config = read(&words).unwrap();
        let Source::Git { url, rev, .. } = &config.branches[5].source else {
            panic!("no git")
        };
        assert_eq!(
            (url.as_str(), rev.as_str()),
            ("https://example.org/rayon?a=b", "0123456789abcdef")
        );
    }

    #[test]
    fn a_group_stands_for_its_branches() {
        let rows = format!("{ROWS}group = \"mine\"\n");
        let config = super::super::parse("branches.toml", &rows).unwrap();
        let reader = Reader {
            config: &config,
            here: Path::new("/"),
            config_folder: Path::new("/"),
        };
        let read = |word: &str| reader.config(&["fork:split".to_owned(), word.to_owned()]);
        assert_eq!(read("group:mine").unwrap().branches[1].name, "packed");
        let error = read("group:yours").unwrap_err();
        assert!(error.contains("no such group; known: mine"), "{error}");
    }

    #[test]
    fn a_path_is_kept_as_seen_from_the_file_of_branches_however_it_was_typed() {
        for (typed, kept) in [
            ("../../mine", "runner/../../mine"),
            ("/home/me/rayon/rayon-core", "../rayon/rayon-core"),
            ("/home/me/lab/rayon-fork", "rayon-fork"),
            ("/srv/rayon-core", "../../../srv/rayon-core"),
        ] {
            let config = read(&["master", &format!("mine=path:{typed}")]).unwrap();
            let Source::Path { path, .. } = &config.branches[1].source else {
                panic!("no path")
            };
            assert_eq!(path, Path::new(kept));
        }
    }

    #[test]
    fn a_name_can_be_given_and_must_be_where_two_would_be_alike() {
        assert_eq!(
            names(&["master", "mine=path:/a/b", "other=master"]),
            ["master", "mine", "other"]
        );
        let message = read(&["master", "path:/a/b", "path:/c/b"]).unwrap_err();
        assert!(message.contains("path-b-b=path:/c/b"), "{message}");
        let message = read(&["x=master", "x=packed"]).unwrap_err();
        assert!(message.ends_with("for example x-b=packed"), "{message}");
        let message = read(&["x=master", "x-b=packed", "x=packed"]).unwrap_err();
        assert!(message.ends_with("for example x-c=packed"), "{message}");
    }

    #[test]
    fn each_slip_is_reported_with_the_remedy() {
        for (word, expected) in [
            ("path:", "without a folder"),
            ("git:https://example.org/rayon", "git:URL#COMMIT"),
            ("registry:1.13.0", "unknown kind `registry`"),
            ("my-again=master", "write NAME= before it"),
            (
                "published:1.12.0",
                "`published:1.12.0`: the programs use rayon",
            ),
            ("fork:spilt", "did you mean `split`?"),
            ("fork:split,split", "listed twice"),
        ] {
            let message = read(&["master", word]).unwrap_err();
            assert!(message.starts_with(&format!("`{word}`: ")), "{message}");
            assert!(message.contains(expected), "{message}");
        }
    }
}
