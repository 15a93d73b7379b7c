//! Redacts the words that identify a machine or its user: they must not leave the machine.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::host::Host;

/// Shorter ones stand in every file.
const SHORTEST: usize = 3;

/// Names that many machines and their users have, so that they identify no one.
const COMMON: [&str; 24] = [
    "admin",
    "alpine",
    "arch",
    "build",
    "builder",
    "centos",
    "codespace",
    "container",
    "debian",
    "docker",
    "ec2-user",
    "fedora",
    "home",
    "host",
    "linux",
    "localdomain",
    "localhost",
    "nobody",
    "root",
    "runner",
    "ubuntu",
    "user",
    "vagrant",
    "worker",
];

/// The replacement for such a word.
const HIDDEN: &str = "…";

/// Words in lower case, the longest first.
#[derive(Clone, Debug, Default)]
pub struct Personal {
    words: Vec<String>,
}

impl Personal {
    /// Names of this user and of this host, as the system and git know them, but for those that are
    /// `allowed`.
    pub(crate) fn of_this_host(root: &Path, allowed: &[String]) -> Self {
        let mut words: Vec<String> = ["USER", "LOGNAME", "SUDO_USER", "HOSTNAME", "EMAIL"]
            .iter()
            .filter_map(|name| std::env::var(name).ok())
            .collect();
        let home = std::env::home_dir();
        let home = home
            .iter()
            .filter_map(|home| home.file_name())
            .filter_map(|name| name.to_str());
        words.extend(home.map(str::to_owned));
        let host = Host::default();
        words.extend(host.read("proc/sys/kernel/hostname"));
        for key in ["user.name", "user.email"] {
            let output = Command::new("git")
                .arg("-C")
                .arg(root)
                .args(["config", key])
                .output();
            words.extend(output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned()));
        }
        Self::new(words, allowed)
    }

    /// These words, and parts of them: of a host its first name, of an address what is before the
    /// `@`.
    pub(crate) fn new(words: impl IntoIterator<Item = String>, allowed: &[String]) -> Self {
        let mut all = BTreeSet::new();
        for word in words {
            let word = word.trim().to_lowercase();
            all.extend(word.split(['.', '@']).next().map(str::to_owned));
            all.insert(word);
        }
        let is_telling = |word: &String| {
            let is_allowed = allowed.iter().any(|it| it.to_lowercase() == *word);
            let is_number = word.chars().all(|c| c.is_ascii_digit() || c == '.');
            word.len() >= SHORTEST && !is_number && !is_allowed && !COMMON.contains(&word.as_str())
        };
        let mut words: Vec<String> = all.into_iter().filter(is_telling).collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        Self { words }
    }

    /// The first such word that stands in a text by itself, and not in another word.
    pub(crate) fn find(&self, text: &str) -> Option<&str> {
        let text = text.to_ascii_lowercase();
        self.words
            .iter()
            .map(String::as_str)
            .find(|word| place(&text, word).is_some())
    }

    /// The text without them.
    pub(crate) fn hidden(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for word in &self.words {
            while let Some(start) = place(&text.to_ascii_lowercase(), word) {
                text.replace_range(start..start + word.len(), HIDDEN);
            }
        }
        text
    }
}

/// Where a word stands in a text by itself.
fn place(text: &str, word: &str) -> Option<usize> {
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(word)
        .map(|(start, _)| start)
        .find(|&start| {
            !is_part(text[..start].chars().next_back())
                && !is_part(text[start + word.len()..].chars().next())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_up() -> Personal {
        let words = [
            "mzapp",
            "zaphod.example.org",
            "Marie.Zapp@example.org",
            "Marie Zapp",
            "root",
            "ab",
        ];
        Personal::new(words.map(str::to_owned), &[])
    }

    #[test]
    fn names_of_users_and_hosts_are_found_wherever_they_stand_by_themselves() {
        for (text, found) in [
            ("linker=/home/mzapp/clang", Some("mzapp")),
            ("\"seen\": \"ZAPHOD is busy\"", Some("zaphod")),
            (
                "from marie.zapp@example.org",
                Some("marie.zapp@example.org"),
            ),
            ("by Marie Zapp", Some("marie zapp")),
            ("mzapping, xmzapp and mzapp2", None),
            ("/root/lab, ab", None),
        ] {
            assert_eq!(made_up().find(text), found, "{text}");
        }
    }

    #[test]
    fn what_is_hidden_is_not_found_again() {
        let hidden = made_up().hidden("Zaphod: /home/mzapp, ask Marie.Zapp@example.org; mzapping");
        assert_eq!(hidden, "…: /home/…, ask …; mzapping");
        assert_eq!(made_up().find(&hidden), None);
    }

    #[test]
    fn a_word_that_is_allowed_is_no_secret() {
        let allowed = Personal::new(["master".to_owned()], &["Master".to_owned()]);
        assert_eq!(allowed.find("branch master"), None);
    }
}
