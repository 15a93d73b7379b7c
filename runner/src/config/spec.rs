//! A branch in one word, as `compare` accepts it: a name or a group of `branches.toml`, or a row of
//! that file in short.

use std::path::Path;

use super::check::{Row, check_name};
use super::{Branch, Config, git, seen_from};
use crate::config::pick::{GROUP, hint};

/// The forms that a word may have, for messages.
pub(crate) const SPECS: &str = "a branch of branches.toml, group:NAME, published:1.13.0, path:DIR, git:URL#COMMIT, \
                         git:DIR#COMMIT or fork:FEATURE,FEATURE; NAME= in front names the branch";

/// Reads the words that name branches on the command line. Relative paths start from `here`; in
/// results they start from `config_folder`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub config: &'a Config,
    pub here: &'a Path,
    pub config_folder: &'a Path,
}

impl Reader<'_> {
    pub(crate) fn config(&self, words: &[String]) -> Result<Config, String> {
        let mut branches: Vec<Branch> = Vec::new();
        for word in words {
            let wrong = |why: String| format!("`{word}`: {why}");
            for branch in self.branches(word).map_err(wrong)? {
                if branches.iter().any(|other| other.name == branch.name) {
                    return Err(wrong(format!(
                        "there is already a `{}`; write NAME= before the word to give this branch another name",
                        branch.name
                    )));
                }
                branches.push(Branch {
                    baseline: branches.is_empty(),
                    typed: Some(word.clone()),
                    ..branch
                });
            }
        }
        Ok(Config { branches })
    }

    fn branches(&self, word: &str) -> Result<Vec<Branch>, String> {
        if word.starts_with(GROUP) {
            let names = self.config.pick("compare", word);
            let names = names.map_err(|error| error.to_string())?;
            return names.into_iter().map(|it| self.named(it)).collect();
        }
        // An address may contain `=`, but only after the colon of its kind (`git:`).
        let (name, spec) = match word.split_once('=') {
            Some((name, spec)) if !name.contains(':') => (Some(name), spec),
            _ => (None, word),
        };
        let callable = |name: String| match check_name(&name) {
            Ok(()) => Ok(name),
            Err(why) => Err(format!(
                "`{name}` cannot be the name of this branch: {why} by NAME="
            )),
        };
        let Some((kind, value)) = spec.split_once(':') else {
            let row = self.named(spec)?;
            let name = callable(name.unwrap_or(&row.name).to_owned())?;
            return Ok(vec![Branch { name, ..row }]);
        };
        let mut row = self.row(word, kind, value)?;
        row.name = callable(name.map_or_else(|| plain(&row.name), str::to_owned))?;
        Ok(vec![row.check(&[])?])
    }

    fn row(&self, word: &str, kind: &str, value: &str) -> Result<Row, String> {
        let seen = |path: &str| seen_from(self.config_folder, self.here, Path::new(path));
        let mut row = Row::default();
        let name = match kind {
            "published" => {
                row.published = Some(value.to_owned());
                value.to_owned()
            }
            "fork" => {
                let words = value.split(',').map(str::trim);
                let mut features: Vec<String> = words
                    .filter(|word| !word.is_empty())
                    .map(str::to_owned)
                    .collect();
                row.fork = Some(features.clone());
                features.sort_unstable();
                if features.is_empty() {
                    "packed".to_owned()
                } else {
                    features.join("-")
                }
            }
            "path" if value.is_empty() => return Err("`path:` without a folder".to_owned()),
            "path" => {
                row.path = Some(seen(value));
                folder_name(&self.here.join(value))
            }
            "git" => {
                let Some((url, rev)) = value.rsplit_once('#').filter(|(_, rev)| !rev.is_empty())
                else {
                    return Err("a Git address needs a commit: git:URL#COMMIT".to_owned());
                };
                let commit = git::commit(&git::address(url, self.here), rev)?;
                if !commit.starts_with(rev) {
                    tell!("note: `{word}`: `{rev}` is currently commit {commit}");
                }
                let is_local = git::is_local(url);
                let local = || seen(url).display().to_string();
                row.git = Some(if is_local { local() } else { url.to_owned() });
                let short = commit.chars().take(12).collect();
                row.rev = Some(commit);
                short
            }
            _ => return Err(format!("unknown kind `{kind}`; write {SPECS}")),
        };
        row.name = format!("{kind}-{name}");
        Ok(row)
    }

    fn named(&self, name: &str) -> Result<Branch, String> {
        let branches = &self.config.branches;
        let found = branches.iter().find(|branch| branch.name == name);
        found.cloned().ok_or_else(|| {
            let known = branches.iter().map(|branch| branch.name.as_str());
            format!(
                "no branch has this name; {}write {SPECS}",
                hint(name, known)
            )
        })
    }
}

/// Returns a working tree's name: the name of its folder, or of the folder's parent if the folder
/// is called `rayon-core`.
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
                        [[branch]]\nname = \"packed\"\nfork = []\nhypothesis = \"equal\"\n\
                        [[branch]]\nname = \"special\"\nfork = []\ngroup = \"mine\"\n";

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
        let branches = read(words).unwrap().branches.into_iter();
        branches.map(|branch| branch.name).collect()
    }

    #[test]
    fn each_kind_of_source_has_a_word_and_a_name_of_its_own() {
        for (word, name, source) in [
            (
                "published:1.13.0",
                "published-1-13-0",
                "rayon-core 1.13.0 as published",
            ),
            (
                "fork:split,no-jec",
                "fork-no-jec-split",
                "rayon-fork with no-jec, split",
            ),
            ("fork:", "fork-packed", "rayon-fork"),
            (
                "path:/src/Rayon/rayon-core",
                "path-rayon",
                "../../../src/Rayon/rayon-core",
            ),
            (
                "git:https://a.org/r?a=b#0123456789abcdef",
                "git-0123456789ab",
                "https://a.org/r?a=b at 0123456789abcdef",
            ),
        ] {
            let branch = &read(&[word]).unwrap().branches[0];
            assert_eq!((&*branch.name, &*branch.source.to_string()), (name, source));
        }
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
    fn the_first_word_is_the_baseline_a_group_is_its_branches_and_names_can_be_given() {
        let words = ["packed", "group:mine", "mine=path:/a/b", "other=master"];
        assert_eq!(names(&words), ["packed", "special", "mine", "other"]);
        let config = read(&words).unwrap();
        assert_eq!(config.baseline().hypothesis, "equal");
        assert!(config.branches[1..].iter().all(|it| !it.baseline));
    }

    #[test]
    fn each_slip_is_reported_with_the_remedy() {
        for (word, expected) in [
            ("path:", "without a folder"),
            ("git:https://example.org/rayon", "git:URL#COMMIT"),
            ("registry:1.13.0", "unknown kind `registry`"),
            ("my-again=master", "choose another by NAME="),
            ("published:1.12.0", "`1.12.0`: the programs use rayon"),
            ("group:yours", "no such group; known: mine"),
            ("master", "write NAME= before the word"),
            ("fork:spilt", "did you mean `split`?"),
            ("fork:split,split", "listed twice"),
        ] {
            let message = read(&["master", word]).unwrap_err();
            assert!(message.starts_with(&format!("`{word}`: ")), "{message}");
            assert!(message.contains(expected), "{message}");
        }
    }
}
