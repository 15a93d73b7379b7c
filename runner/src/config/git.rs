//! Git sources: finds the repository and the commit that a user's text means, before anything is
//! built.

use std::path::Path;
use std::process::Command;

/// Digits of the shortest accepted abbreviation of a commit hash; Git prints as many.
const SHORTEST: usize = 7;

/// Whether a text is a commit hash, perhaps abbreviated. Anything else is a name that may move.
pub(crate) fn is_commit(rev: &str) -> bool {
    (SHORTEST..=40).contains(&rev.len()) && rev.chars().all(|c| c.is_ascii_hexdigit())
}

/// Whether an address is a path on this machine.
pub(crate) fn is_local(url: &str) -> bool {
    // `git@host:path` has no slash before the colon.
    !url.contains("://")
        && url
            .split_once(':')
            .is_none_or(|(before, _)| before.contains('/'))
}

/// Returns the address in the form that cargo accepts; paths start from `folder`.
pub(crate) fn address(url: &str, folder: &Path) -> String {
    if !is_local(url) {
        return url.to_owned();
    }
    let path = folder.join(url);
    format!("file://{}", path.canonicalize().unwrap_or(path).display())
}

/// Returns the commit that `rev` means in the repository at `address`: looks up the name of a
/// branch or a tag. Cargo checks a `rev` that looks like the commit hash of a remote repository.
///
/// # Errors
/// If there is no such repository or no such commit, as a sentence.
pub fn commit(address: &str, rev: &str) -> Result<String, String> {
    if let Some(path) = address.strip_prefix("file://") {
        let wanted = format!("{rev}^{{commit}}");
        ask(&["-C", path, "rev-parse", "--git-dir"])
            .map_err(|_| "there is no git repository".to_owned())?;
        return ask(&["-C", path, "rev-parse", "--verify", "--quiet", &wanted])
            .map(|commit| commit.trim().to_owned())
            .map_err(|_| format!("the repository has no commit, branch or tag `{rev}`"));
    }
    if !address.contains("://") {
        let (host, path) = address.split_once(':').unwrap_or((address, ""));
        return Err(format!(
            "cargo does not accept this address; write ssh://{host}/{path}"
        ));
    }
    if is_commit(rev) {
        return Ok(rev.to_owned());
    }
    let listed = ask(&["ls-remote", "--", address]).map_err(|why| {
        format!(
            "the repository cannot be read: {}",
            why.lines().last().unwrap_or("no reason given")
        )
    })?;
    // For an annotated tag, the second line has the commit.
    ["refs/heads/NAME", "refs/tags/NAME^{}", "refs/tags/NAME"]
        .into_iter()
        .map(|form| form.replace("NAME", rev))
        .find_map(|wanted| {
            let mut pairs = listed.lines().filter_map(|line| line.split_once('\t'));
            pairs
                .find(|(_, name)| *name == wanted)
                .map(|(commit, _)| commit.to_owned())
        })
        .ok_or_else(|| {
            format!("the repository has no branch or tag `{rev}`, and `{rev}` is not a commit")
        })
}

/// Returns git's output; `Err` has its complaint.
fn ask(arguments: &[&str]) -> Result<String, String> {
    // A question for a password would wait for ever behind a script.
    let command = Command::new("git")
        .args(arguments)
        .env("GIT_TERMINAL_PROMPT", "0")
        .output();
    let output = command.map_err(|error| format!("`git` cannot be run: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_distinguished() {
        for (url, local) in [
            ("https://example.org/rayon", false),
            ("git@example.org:me/rayon", false),
            ("/srv/rayon", true),
            ("../rayon", true),
            ("rayon", true),
            ("./odd:name", true),
        ] {
            assert_eq!(is_local(url), local, "{url}");
        }
        assert_eq!(
            address("/nowhere/at/all", Path::new("/lab")),
            "file:///nowhere/at/all"
        );
        let refused = commit("git@example.org:me/rayon", "main").unwrap_err();
        assert!(
            refused.contains("write ssh://git@example.org/me/rayon"),
            "{refused}"
        );
    }

    #[test]
    fn a_name_is_looked_up_and_a_commit_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let git = |words: &str| {
            let user = [
                "-C",
                path,
                "-c",
                "user.name=me",
                "-c",
                "user.email=me@example.org",
            ];
            ask(&[&user[..], &words.split(' ').collect::<Vec<_>>()].concat()).unwrap()
        };
        git("init --quiet --initial-branch=main");
        git("commit --quiet --allow-empty -m first");
        git("tag -a v1 -m tagged");
        let head = git("rev-parse HEAD").trim().to_owned();
        let address = address(path, Path::new("/"));
        for rev in ["main", "v1", &head, &head[..8]] {
            assert_eq!(commit(&address, rev).as_ref(), Ok(&head), "{rev}");
        }
        assert!(
            commit(&address, "mian")
                .unwrap_err()
                .contains("no commit, branch or tag `mian`")
        );
        assert!(
            commit("file:///nowhere", "main")
                .unwrap_err()
                .contains("no git repository")
        );
        assert_eq!(
            commit("https://example.org/rayon", "0123abc").as_deref(),
            Ok("0123abc")
        );
    }
}
