use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{COPIED, Edits, copy_folder};
use crate::system::digest;

const OLD: &str = "one\ntwo\nthree\nfour\n";
const NEW: &str = "zero\none\ntwo\nthree\nfour\n";

fn written(scripts: &[(&str, &str, &str)]) -> String {
    let head = "change = \"less noise\"\nwhy = \"It is loud.\"\nmeasured = \"here\"\nloses = \"nowhere\"\n";
    let script = |(tree, file, edits): &(&str, &str, &str)| {
        let sha256 = digest::of_bytes(file.as_bytes());
        format!("[[file]]\npath = \"src/lib.rs\"\nsha256.\"{tree}\" = \"{sha256}\"\n{edits}\n")
    };
    head.to_owned() + &scripts.iter().map(script).collect::<String>()
}

fn krate(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/lib.rs"), text).unwrap();
    fs::write(
        folder.path().join("Cargo.toml"),
        "[package]\nname = \"it\"\n",
    )
    .unwrap();
    folder
}

fn applied(edits: &str, file: &str) -> Result<String, String> {
    let edits = Edits::parse(edits, "edits.toml").map_err(|stop| stop.to_string())?;
    let changed = edits.apply(krate(file).path());
    let changed = changed.map_err(|stop| stop.to_string())?;
    assert_eq!(changed[0].before, file);
    Ok(changed[0].after.clone())
}

fn edited(edits: &str) -> Result<String, String> {
    applied(&written(&[("1.0.0", OLD, edits)]), OLD)
}

#[test]
fn lines_are_replaced_inserted_and_deleted_by_their_numbers_in_upstreams_file() {
    let edits = "[[file.edit]]\nafter = 0\ntext = \"top\\n\"\n\
                 [[file.edit]]\nlines = \"1-2\"\ntext = \"  a\\n\\n  b\\n  c\\n\"\n\
                 [[file.edit]]\nlines = \"3\"\ntext = \"\"\n\
                 [[file.edit]]\nafter = 4\ntext = \"end\\n\"\n";
    assert_eq!(edited(edits).unwrap(), "top\n  a\n\n  b\n  c\nfour\nend\n");
}

#[test]
fn the_files_of_a_tree_tell_which_script_is_for_it() {
    let edit = |line: u32| format!("[[file.edit]]\nlines = \"{line}\"\ntext = \"2\\n\"");
    let edits = written(&[("1.0.0", OLD, &edit(2)), ("main", NEW, &edit(3))]);
    assert_eq!(applied(&edits, OLD).unwrap(), "one\n2\nthree\nfour\n");
    assert_eq!(applied(&edits, NEW).unwrap(), "zero\none\n2\nthree\nfour\n");
}

#[test]
fn a_file_that_has_changed_is_refused_with_both_hashes_each_tree_and_the_remedy() {
    let edit = "[[file.edit]]\nlines = \"2\"\ntext = \"2\\n\"";
    let edits = written(&[("1.0.0", OLD, edit), ("main", NEW, edit)]);
    let message = applied(&edits, "one\n").unwrap_err();
    let [found, old, new] = ["one\n", OLD, NEW].map(|text| digest::of_bytes(text.as_bytes()));
    let trees = format!(
        ":\n  1.0.0: src/lib.rs has sha256 {found}, expected {old}\n  main: src/lib.rs has sha256 {found}, expected {new}\n"
    );
    let remedy = "add a `[[file]]` with the new sha256 and lines";
    for part in ["edits.toml: the edits fit no version of ", &trees, remedy] {
        assert!(message.contains(part), "{part}\nis not in\n{message}");
    }
    let none = edits.replace("src/lib.rs", "src/none.rs");
    let message = applied(&none, OLD).unwrap_err();
    assert!(
        message.contains("1.0.0: src/none.rs cannot be read: "),
        "{message}"
    );
}

#[test]
fn a_release_without_a_script_or_a_file_with_two_is_refused_before_anything_is_built() {
    let edit = "[[file.edit]]\nlines = \"2\"\ntext = \"\"";
    let scripts = [("1.0.0", OLD, edit), ("main", NEW, edit)];
    let text = written(&scripts[..1]);
    let edits = Edits::parse(&text, "edits.toml").unwrap();
    edits.expect("1.0.0").unwrap();
    let message = edits.expect("1.1.0").unwrap_err().to_string();
    assert!(
        message.contains("for rayon-core 1.0.0, not for 1.1.0"),
        "{message}"
    );
    let other = &text[text.find("[[file]]").unwrap()..].replace("lib.rs", "other.rs");
    for (text, expected) in [
        (
            written(&scripts) + other,
            "0 edit scripts of src/other.rs for `main`",
        ),
        (
            written(&[scripts[0], scripts[0]]),
            "2 edit scripts of src/lib.rs for `1.0.0`",
        ),
    ] {
        let message = applied(&text, OLD).unwrap_err();
        let expected = format!("{expected}, expected 1; give one `[[file]]`");
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn edits_that_cannot_be_meant_are_refused_with_their_line() {
    for (edit, expected) in [
        ("lines = \"2\"\ntxt = \"\"", "unknown key `txt`"),
        ("lines = \"2\"", "missing key `text`"),
        ("text = \"\"", "give `lines`, the lines to replace, or"),
        ("lines = \"2\"\nafter = 2\ntext = \"\"", "give `lines`"),
        ("lines = \"0-1\"\ntext = \"\"", "`lines = \"0-1\"`; write"),
        ("lines = \"3-2\"\ntext = \"\"", "`lines = \"3-2\"`; write"),
        ("lines = \"2\"\ntext = \"a\"", "`text` has no end of line"),
        (
            "lines = \"2-3\"\ntext = \"\"\n[[file.edit]]\nlines = \"3\"\ntext = \"\"",
            "begins before the edit above it ends",
        ),
    ] {
        let message = edited(&format!("[[file.edit]]\n{edit}")).unwrap_err();
        assert!(message.contains(expected), "{expected}: {message}");
        let line = message
            .strip_prefix("edits.toml:")
            .and_then(|it| it.split_once(':'));
        assert!(line.unwrap().0.parse::<u32>().unwrap() > 5, "{message}");
    }
    let beyond = edited("[[file.edit]]\nlines = \"4-5\"\ntext = \"\"").unwrap_err();
    assert!(
        beyond.contains("names line 5, but the file has 4"),
        "{beyond}"
    );
    let text = written(&[("1.0.0", OLD, "[[file.edit]]\nafter = 1\ntext = \"\"")]);
    let message = applied(&text.replace("src/lib.rs", "../lib.rs"), OLD).unwrap_err();
    assert!(message.contains("leaves the crate"), "{message}");
}

#[test]
fn a_commits_message_says_why_and_where_it_was_measured_and_loses_and_the_release_note() {
    let text = written(&[("1.0.0", OLD, "[[file.edit]]\nafter = 1\ntext = \"\"")]);
    let edits = |text: &str| Edits::parse(text, "edits.toml").unwrap();
    let message = "It is loud.\n\nMeasured:\nhere\n\nLoses:\nnowhere\n";
    assert_eq!(
        (&*edits(&text).change, &*edits(&text).message),
        ("less noise", message)
    );
    let noted = edits(&format!("release-note = \"Less noise.\"\n{text}"));
    assert_eq!(noted.release_note, "Less noise.");
    assert_eq!(
        noted.message,
        format!("{message}\nRelease note:\nLess noise.\n")
    );
}

#[test]
fn a_copy_has_the_edits_and_files_that_are_right_there_keep_their_time_stamps() {
    let (from, to) = (krate(OLD), tempfile::tempdir().unwrap());
    fs::create_dir_all(from.path().join("target/debug")).unwrap();
    let text = written(&[(
        "1.0.0",
        OLD,
        "[[file.edit]]\nlines = \"1\"\ntext = \"1\\n\"",
    )]);
    let edits = Edits::parse(&text, "edits.toml").unwrap();
    let written_at = || {
        fs::metadata(to.path().join("src/lib.rs"))
            .unwrap()
            .modified()
            .unwrap()
    };
    edits.copy(from.path(), from.path(), to.path()).unwrap();
    let (first, read) = (written_at(), |file: &str| {
        fs::read_to_string(to.path().join(file)).unwrap()
    });
    edits.copy(from.path(), from.path(), to.path()).unwrap();
    assert_eq!(written_at(), first);
    assert_eq!(read("src/lib.rs"), "1\ntwo\nthree\nfour\n");
    assert!(
        read("Cargo.toml").ends_with("\n[workspace]\n"),
        "no part of the checkout's"
    );
    assert!(!to.path().join("target").exists());
}

#[test]
fn of_a_tree_what_is_no_file_is_left_out_and_links_lead_where_they_led() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to, beside] = ["from", "to", "beside"].map(|name| folder.path().join(name));
    fs::create_dir_all(from.join("src")).unwrap();
    fs::create_dir(&beside).unwrap();
    fs::write(from.join("src/lib.rs"), "// code").unwrap();
    fs::write(beside.join("data"), "1").unwrap();
    for (target, link) in [
        ("nobody@nowhere:1", "src/.#lib.rs"),
        ("circle", "circle"),
        ("../beside", "shared"),
        ("../beside/data", "data"),
    ] {
        symlink(target, from.join(link)).unwrap();
    }
    let mut pipe = std::process::Command::new("mkfifo");
    assert!(pipe.arg(from.join("pipe")).status().unwrap().success());
    let names = |folder: &Path| {
        let names = fs::read_dir(folder)
            .unwrap()
            .map(|it| it.unwrap().file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    for _again in 0..2 {
        copy_folder(&from, &to, |_| None).unwrap();
        let expected = [COPIED, "data", "shared", "src"].map(Into::into);
        assert_eq!(names(&to), expected.into());
        assert_eq!(names(&to.join("src")), ["lib.rs".into()].into());
        for file in ["shared/data", "data"] {
            assert_eq!(fs::read_to_string(to.join(file)).unwrap(), "1");
        }
    }
}

#[test]
fn a_copy_loses_what_its_original_lost_and_keeps_what_others_put_there() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
    let write = |root: &Path, file: &str| {
        let file = root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    };
    let is_there = |file: &str| to.join(file).exists();
    let (code, build, test) = ("src/lib.rs", "build.rs", "tests/deep/x.rs");
    for file in [code, build, test, "was-file", "was-folder/x"] {
        write(&from, file);
    }
    symlink("src", from.join("was-link")).unwrap();
    copy_folder(&from, &to, |_| None).unwrap();
    assert!([build, test, "was-link"].into_iter().all(is_there));
    write(&to, "Cargo.lock");
    write(&to, "tests/made.rs");

    for file in [build, test, "was-file", "was-folder/x", "was-link"] {
        fs::remove_file(from.join(file)).unwrap();
    }
    fs::remove_dir(from.join("was-folder")).unwrap();
    let new = ["was-file/x", "was-folder", "was-link/x"];
    for file in new {
        write(&from, file);
    }
    copy_folder(&from, &to, |_| None).unwrap();
    assert!(!is_there(build) && !is_there("tests/deep"));
    for kept in [code, "Cargo.lock", "tests/made.rs"].iter().chain(&new) {
        assert!(to.join(kept).is_file(), "{kept}");
    }
    assert!(!from.join("src/x").exists(), "written through a link");
}
