//! Edits of a made-up crate: what comes of each kind, and what is said of each that does not fit.

use std::fs;
use std::os::unix::fs::symlink;

use super::apply::hash;
use super::{Edits, copy_folder};

const CRATE: &str = "\
//! Käse.

/// A box.
struct Box<T> {
    inner: T,
}

impl<T> Box<T> {
    fn open(self, loud: bool) -> T {
        if loud {
            // Somebody hears it.
            // Maybe two.
            shout();
            shout(); // again
        }
        self.inner
    }
}

impl<T> Drop for Box<T> {
    fn drop(&mut self) {}
}

fn shout() {
    let times = 1;
    print(times);
}
";

/// The file `src/lib.rs` after edits that are written without `file` and, if it can be found,
/// without `was`.
fn edited(edits: &[&str]) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/lib.rs"), CRATE).unwrap();
    let head = "published = \"1.13.0\"\nchange = \"less noise\"\n".to_owned();
    let tables = edits.iter().map(|edit| {
        let file = if edit.contains("file = ") {
            ""
        } else {
            "file = \"src/lib.rs\"\n"
        };
        format!("[[edit]]\n{file}{edit}\n")
    });
    let text: String = std::iter::once(head).chain(tables).collect();
    let read = |text: &str| Edits::parse(text, "edits.toml").map_err(|stop| stop.to_string());
    let edits = read(&text)?;
    let changed = edits
        .apply(folder.path())
        .map_err(|stop| stop.to_string())?;
    assert_eq!(changed[0].before, CRATE);
    Ok(changed[0].after.clone())
}

/// An edit with the hash of the text that it is about.
fn edit(rest: &str, about: &str) -> String {
    assert!(CRATE.contains(about), "{about}");
    format!("{rest}\nwas = \"{}\"", hash(about))
}

/// The crate with one passage replaced by another.
fn with(passage: &str, ours: &str) -> String {
    assert_eq!(CRATE.matches(passage).count(), 1, "{passage}");
    CRATE.replace(passage, ours)
}

#[test]
fn a_statement_is_replaced_with_the_comments_above_it_and_the_one_behind_it() {
    let third =
        "item = \"Box::open\"\nstatement = 2\nreplace = \"\"\"\n// Nobody.\nwhisper();\n\"\"\"";
    assert_eq!(
        edited(&[&edit(third, "shout();")]).unwrap(),
        with(
            "            // Somebody hears it.\n            // Maybe two.\n            shout();\n",
            "            // Nobody.\n            whisper();\n"
        )
    );
    let fourth = "item = \"Box::open\"\nstatement = 3\nreplace = \"whisper();\"";
    assert_eq!(
        edited(&[&edit(fourth, "shout();")]).unwrap(),
        with("shout(); // again", "whisper();")
    );
}

#[test]
fn our_text_is_put_before_and_after_and_statements_go_whatever_order_edits_are_in() {
    let edits = [
        edit(
            "item = \"shout\"\nstatement = 2\nafter = \"rest();\"",
            "print(times);",
        ),
        edit(
            "item = \"Box::open\"\nstatement = 2\nbefore = \"inhale();\"",
            "shout();",
        ),
        edit(
            "item = \"Box::open\"\nstatement = 3\ndelete = true",
            "shout();",
        ),
        edit(
            "item = \"Box::open\"\nsignature = true\nreplace = \"fn open(self, loud: u8) -> T\"",
            SIGNATURE,
        ),
    ];
    let edits: Vec<&str> = edits.iter().map(String::as_str).collect();
    let expected = with("            shout(); // again\n", "");
    let expected = expected.replace("loud: bool", "loud: u8");
    let expected = expected.replace(
        "            // Somebody",
        "            inhale();\n            // Somebody",
    );
    assert_eq!(
        edited(&edits),
        Ok(expected.replace("print(times);\n", "print(times);\n    rest();\n"))
    );
}

const SIGNATURE: &str = "fn open(self, loud: bool) -> T";

#[test]
fn an_item_has_its_documentation_and_its_neighbours_a_blank_line() {
    let about = "/// A box.\nstruct Box<T> {\n    inner: T,\n}";
    let replace = edit(
        "item = \"Box\"\nreplace = \"/// Ours.\\nstruct Box<T>(T);\"",
        about,
    );
    assert_eq!(
        edited(&[&replace]).unwrap(),
        with(about, "/// Ours.\nstruct Box<T>(T);")
    );
    let about = "    fn drop(&mut self) {}\n";
    let after = edit(
        "item = \"impl Drop for Box / drop\"\nafter = \"fn two() {}\"",
        about,
    );
    assert_eq!(
        edited(&[&after]).unwrap(),
        with(about, "    fn drop(&mut self) {}\n\n    fn two() {}\n")
    );
}

#[test]
fn a_statement_is_known_by_its_tokens_and_not_by_its_layout() {
    assert_eq!(hash("print( times ) ; // as before"), hash("print(times);"));
    assert_ne!(hash("print(time);"), hash("print(times);"));
}

#[test]
fn an_edit_that_does_not_fit_is_told_with_its_place_and_the_remedy() {
    let place = "edits.toml: edit 1 (src/lib.rs, `Box::open`, statement 2): ";
    let found = hash("shout();");
    for (edit, expected) in [
        (
            "item = \"Box::open\"\nstatement = 2\nwas = \"0\"\ndelete = true",
            format!("{place}was = \"0\", but what stands there has {found}"),
        ),
        (
            "item = \"Box::open\"\nstatement = 9\nwas = \"0\"\ndelete = true",
            "statement 9): the item has 4 statements; name one of them".to_owned(),
        ),
        (
            "item = \"Box::opn\"\nwas = \"0\"\ndelete = true",
            "did you mean `Box::open`?".to_owned(),
        ),
        (
            "item = \"Box\"\nsignature = true\nwas = \"0\"\nreplace = \"fn\"",
            "it has no signature".to_owned(),
        ),
        (
            "file = \"src/none.rs\"\nitem = \"Box\"\nwas = \"0\"\ndelete = true",
            "src/none.rs cannot be read: ".to_owned(),
        ),
        (
            &edit(
                "item = \"Box::open\"\nstatement = 2\nreplace = \"if {\"",
                "shout();",
            ),
            "with its edits the file is no Rust: ".to_owned(),
        ),
    ] {
        let message = edited(&[edit]).unwrap_err();
        assert!(
            message.starts_with("edits.toml: edit 1 (") && message.contains(&expected),
            "{message}"
        );
    }
    let two = edit(
        "item = \"shout\"\nstatement = 1\nreplace = \"rest();\"",
        "let times = 1;",
    );
    let message = edited(&[&two, &two]).unwrap_err();
    assert!(
        message.contains("edit 2 (src/lib.rs, `shout`, statement 1): changes what edit 1 changes"),
        "{message}"
    );
}

#[test]
fn a_file_that_cannot_be_meant_is_refused_with_its_line() {
    for (edit, expected) in [
        (
            "item = \"a\"\nwas = \"0\"\nreplce = \"\"",
            "unknown key `replce`",
        ),
        (
            "item = \"a\"\nwas = \"0\"",
            "give one of `replace`, `before`, `after`, `delete = true`",
        ),
        (
            "item = \"a\"\nwas = \"0\"\ndelete = true\nafter = \"b\"",
            "an edit does one thing",
        ),
        (
            "item = \"a\"\nwas = \"0\"\nstatement = 0\ndelete = true",
            "counted from 1",
        ),
        (
            "item = \"a\"\nwas = \"0\"\nstatement = 1\nsignature = true\ndelete = true",
            "keep one",
        ),
        (
            "item = \"a\"\nwas = \"0\"\nsignature = true\nafter = \"b\"",
            "can only be replaced",
        ),
        (
            "file = \"../lib.rs\"\nitem = \"a\"\nwas = \"0\"\ndelete = true",
            "no place in the crate",
        ),
    ] {
        let message = edited(&[edit]).unwrap_err();
        assert!(
            message.starts_with("edits.toml:") && message.contains(expected),
            "{message}"
        );
        assert!(
            message.as_bytes()["edits.toml:".len()].is_ascii_digit(),
            "{message}"
        );
    }
    assert!(edited(&[]).unwrap_err().contains("missing key `edit`"));
}

#[test]
fn a_copy_has_the_edits_and_what_is_right_there_already_keeps_its_time() {
    let [from, to] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    fs::create_dir_all(from.path().join("src")).unwrap();
    fs::create_dir_all(from.path().join("target/debug")).unwrap();
    fs::write(from.path().join("Cargo.toml"), "[package]\nname = \"it\"\n").unwrap();
    fs::write(from.path().join("src/lib.rs"), CRATE).unwrap();
    let edit = edit(
        "item = \"shout\"\nstatement = 1\nreplace = \"let times = 2;\"",
        "let times = 1;",
    );
    let text =
        format!("published = \"1.13.0\"\nchange = \"\"\n[[edit]]\nfile = \"src/lib.rs\"\n{edit}");
    let edits = Edits::parse(&text, "edits.toml").unwrap();
    let written = || {
        fs::metadata(to.path().join("src/lib.rs"))
            .unwrap()
            .modified()
            .unwrap()
    };
    edits.copy(from.path(), from.path(), to.path()).unwrap();
    let (first, read) = (written(), |file: &str| {
        fs::read_to_string(to.path().join(file))
    });
    edits.copy(from.path(), from.path(), to.path()).unwrap();
    assert_eq!(written(), first);
    assert!(read("src/lib.rs").unwrap().contains("let times = 2;"));
    assert!(
        read("Cargo.toml").unwrap().ends_with("\n[workspace]\n"),
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
    // As an editor's lock, a service's pipe, and a folder and a file that several trees share.
    symlink("nobody@nowhere:1", from.join("src/.#lib.rs")).unwrap();
    symlink("circle", from.join("circle")).unwrap();
    symlink("../beside", from.join("shared")).unwrap();
    symlink("../beside/data", from.join("data")).unwrap();
    let pipe = std::process::Command::new("mkfifo")
        .arg(from.join("pipe"))
        .status();
    assert!(pipe.unwrap().success());
    for _again in 0..2 {
        copy_folder(&from, &to, |_| None).unwrap();
        let mut names: Vec<_> = fs::read_dir(&to)
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["data", "shared", "src"]);
        for file in ["shared/data", "data"] {
            assert_eq!(fs::read_to_string(to.join(file)).unwrap(), "1");
        }
        assert_eq!(fs::read_dir(to.join("src")).unwrap().count(), 1);
    }
}
