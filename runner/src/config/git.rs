//! Git sources: finds the repository and the commit that a user's text means, before anything is
//! built.

use std::path::Path;
use std::process::Command;

/// Number of digits of the shortest accepted abbreviation of a commit hash. Git's own abbreviations
/// have at least as many.
const SHORTEST: usize = 7;

/// Whether a text is a commit hash, perhaps abbreviated. Anything else is a name that may move.
pub(crate) fn is_commit(rev: &str) -> bool {
    (SHORTEST..=40).contains(&rev.len()) && rev.chars().all(|c| c.is_ascii_hexdigit())
}

pub(crate) fn is_local(url: &str) -> bool {
    // A remote address has a scheme, or the form `git@host:path`, without a slash before the colon.
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

/// Returns the commit that `rev` means in the repository at `address`. In a repository on this
/// machine, `rev` may also be the name of a branch or a tag. In a remote repository, `rev` must be
/// a commit, which cargo checks.
pub(crate) fn commit(address: &str, rev: &str) -> Result<String, String> {
    if let Some(path) = address.strip_prefix("file://") {
        let wanted = format!("{rev}^{{commit}}");
        ask(&["-C", path, "rev-parse", "--git-dir"])
            .map_err(|_| "there is no git repository".to_owned())?;
        return ask(&["-C", path, "rev-parse", "--verify", "--quiet", &wanted])
            .map_err(|_| format!("the repository has no commit, branch or tag `{rev}`"));
    }
    if !address.contains("://") {
        let (host, path) = address.split_once(':').unwrap_or((address, ""));
        return Err(format!(
            "cargo does not accept this address; write ssh://{host}/{path}"
        ));
    }
    if is_commit(rev) {
        Ok(rev.to_owned())
    } else {
        Err(format!(
            "`{rev}` is not a commit; write the hash of 7 to 40 hexadecimal digits, since a branch or tag may move"
        ))
    }
}

fn ask(arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(arguments).output();
    let output = output.map_err(|error| format!("`git` cannot be run: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
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
            ("../rayon", true),
            ("./odd:name", true),
        ] {
            assert_eq!(is_local(url), local, "{url}");
        }
        let nowhere = address("/nowhere/at/all", Path::new("/lab"));
        assert_eq!(nowhere, "file:///nowhere/at/all");
        let refused = commit("git@example.org:me/rayon", "main").unwrap_err();
        assert!(
            refused.contains("write ssh://git@example.org/me/rayon"),
            "{refused}"
        );
    }

    #[test]
    fn a_name_is_looked_up_on_this_machine_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let git = |words: &str| {
            let user = "-c user.name=me -c user.email=me@a.org".split(' ');
            let user: Vec<&str> = ["-C", path].into_iter().chain(user).collect();
            ask(&[&user[..], &words.split(' ').collect::<Vec<_>>()].concat()).unwrap()
        };
        git("init --quiet --initial-branch=main");
        git("commit --quiet --allow-empty -m first");
        git("tag -a v1 -m tagged");
        let head = git("rev-parse HEAD");
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
        let remote = |rev| commit("https://example.org/rayon", rev);
        assert_eq!(remote("0123abc").as_deref(), Ok("0123abc"));
        assert!(remote("main").unwrap_err().contains("is not a commit"));
    }
}
