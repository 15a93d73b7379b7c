//! What a request line names, in the two forms that a server has to take (RFC 9112, 3.2).

/// The path and query of `target`, be it in origin form, `/path?query`, or in absolute form,
/// `http://host/path?query`, as it is said to proxies. Whatever the host is, it is this one. `None`
/// for any other form.
pub(crate) fn local_path(target: &str) -> Option<&str> {
    const SCHEME: &str = "http://";
    if target.starts_with('/') {
        return Some(target);
    }
    let scheme = target.get(..SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    let rest = &target[SCHEME.len()..];
    match rest.find(['/', '?']) {
        // Without a host it names nothing.
        Some(0) => None,
        Some(end) if rest[end..].starts_with('/') => Some(&rest[end..]),
        // An empty path is the root's; its query says nothing to the servers here.
        _ => (!rest.is_empty()).then_some("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::local_path;

    #[test]
    fn a_target_is_a_path_with_or_without_a_host_before_it() {
        for (target, path) in [
            ("/a/b?c", Some("/a/b?c")),
            ("//a", Some("//a")),
            ("http://host/a/b?c", Some("/a/b?c")),
            ("HTTP://127.0.0.1:80/", Some("/")),
            ("http://host", Some("/")),
            ("http://host?a/b", Some("/")),
            ("http://", None),
            ("http:///a", None),
            ("ftp://host/a", None),
            ("host:80", None),
            ("*", None),
            ("a", None),
            ("h\u{e9}\u{e9}\u{e9}\u{e9}", None),
            ("", None),
        ] {
            assert_eq!(local_path(target), path, "{target}");
        }
    }
}
