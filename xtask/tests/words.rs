//! What people read is plain English: comments and documents name who acts, use the field's terms,
//! and keep sentences short.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex_lite::Regex;

/// Words that only this project used, and the field's term for each.
const TERMS: &[(&str, &str)] = &[
    ("cannot be told|told from", "significant, inconclusive"),
    ("yardstick", "control build"),
    ("nearness", "prediction accuracy"),
    ("made-up", "synthetic (data), mock (host)"),
    ("two states|slow state", "bimodal, slow mode"),
    ("refuted", "falsified"),
    ("in vain", "unsuccessful"),
    ("regime|regimes", "condition, configuration"),
    ("judgement|judgements", "decisions, results"),
    ("gauge|gauges", "sensors"),
    ("dear|dearer|dearest", "expensive"),
    ("foretold", "predicted"),
    ("receipt|receipts", "build provenance"),
    ("surroundings", "context, dependencies"),
    ("parcel|parcels", "archive"),
    ("mailbox", "direct hand-off"),
    ("as it seems", "say what was measured"),
    ("farewell", "linger"),
    ("verdict|verdicts", "result"),
    ("judge|judges|judged|judging", "test, decide"),
    ("advice", "recommendation"),
    ("announce|announces|announced", "notify"),
    ("outsider|outsiders", "external thread"),
    (
        "patience|outlook|lingers|lingering",
        "spin, adaptive spin-then-park",
    ),
    ("price|prices|priced", "cost parameter, cost"),
];

/// Maximum number of words of a sentence of a document.
const LONGEST: usize = 25;

/// Folders and files that are not checked: they have no prose of ours, or must not change.
const SKIPPED: &[&str] = &["results/sweeps/", "results/hosts/", "xtask/tests/words.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn tracked(ending: &str) -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--", &format!("*.{ending}")])
        .current_dir(root())
        .output()
        .expect("Git is there");
    assert!(output.status.success(), "`git ls-files` failed");
    let files: Vec<_> = String::from_utf8(output.stdout)
        .expect("paths are UTF-8")
        .lines()
        .filter(|path| !SKIPPED.iter().any(|start| path.starts_with(start)))
        .map(str::to_owned)
        .collect();
    assert!(!files.is_empty(), "no file ends with `.{ending}`");
    files
}

fn read(path: &str) -> String {
    // A file whose deletion is not yet committed counts as empty.
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

/// A paragraph, and the line of its file on which it begins.
type Paragraph = (usize, String);

/// Comments of Rust or Python: lines that follow each other are a paragraph.
fn comments(path: &str, text: &str) -> Vec<Paragraph> {
    let is_python = Path::new(path).extension().is_some_and(|it| it == "py");
    let marks: &[&str] = if is_python {
        &["#", "\"\"\""]
    } else {
        &["///", "//!", "//"]
    };
    let lines = text.lines().map(|line| {
        let line = line.trim();
        let rest = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
        let rest = rest.trim_end_matches("\"\"\"").trim();
        // A heading, such as `# Errors`, ends a paragraph.
        (!rest.starts_with("# ")).then(|| rest.to_owned())
    });
    paragraphs(lines)
}

/// Prose of a document: no code, no table, no heading, and nothing that the analysis writes.
fn prose(text: &str) -> Vec<Paragraph> {
    let mut is_code = false;
    let mut is_generated = false;
    let lines = text.lines().map(|line| {
        let rest = line.trim();
        if rest.starts_with("```") {
            is_code = !is_code;
            return None;
        }
        if rest.starts_with("<!-- analysis:") && !rest.contains("<!-- /analysis -->") {
            is_generated = true;
        }
        let skips = is_code
            || is_generated
            || line.starts_with("    ")
            || rest.starts_with(['#', '|', '<'])
            || rest.is_empty();
        is_generated &= !rest.ends_with("<!-- /analysis -->");
        (!skips).then(|| rest.to_owned())
    });
    paragraphs(lines)
}

/// Joins lines: one without text ends a paragraph, and so does the next item of a list.
fn paragraphs(lines: impl Iterator<Item = Option<String>>) -> Vec<Paragraph> {
    let mut all: Vec<Paragraph> = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1..).zip(lines) {
        let Some(line) = line.filter(|line| !line.is_empty()) else {
            goes_on = false;
            continue;
        };
        let is_numbered = |line: &str| {
            let digits = line.trim_start_matches(|it: char| it.is_ascii_digit());
            digits.len() < line.len() && digits.starts_with(". ")
        };
        let item = line
            .strip_prefix("- ")
            .or_else(|| line.strip_prefix("* "))
            .unwrap_or(&line);
        let is_item = item.len() < line.len() || is_numbered(&line);
        match all.last_mut() {
            Some((_, text)) if goes_on && !is_item => {
                text.push(' ');
                text.push_str(&line);
            }
            _ => all.push((number, item.to_owned())),
        }
        goes_on = true;
    }
    all
}

/// Sentences of a paragraph, without statements, addresses and marks of emphasis.
fn sentences(paragraph: &str) -> Vec<String> {
    // Compiled once: there are thousands of paragraphs.
    static STATEMENT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"<!-- analysis:.*?<!-- /analysis -->|<[^>]*>").expect("a pattern")
    });
    static ADDRESS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\]\([^)]*\)").expect("a pattern"));
    static END: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"[.!?][\])*_"]*\s+"#).expect("a pattern"));
    let text = STATEMENT.replace_all(paragraph, "N");
    let text = ADDRESS.replace_all(&text, "]");
    let mut all = Vec::new();
    let mut from = 0;
    for found in END.find_iter(&text) {
        // `e.g. that`, `0.5 . then`: a sentence begins with a capital, code, or a bracket.
        let next = text[found.end()..].trim_start_matches(['[', '*', '_', '(', '"']);
        if next.starts_with(|it: char| it.is_uppercase() || it == '`') {
            all.push(text[from..found.end()].trim().to_owned());
            from = found.end();
        }
    }
    all.push(text[from..].trim().to_owned());
    all
}

/// Whether a sentence begins with a relative as a noun: `Who waits looks`, not `A thread that …`.
fn begins_with_a_relative(sentence: &str) -> bool {
    let is_question = sentence.ends_with('?');
    // A sentence that begins with a link or in bold may begin with a title: `**What loses.**`
    let first = sentence.split(|it: char| !it.is_alphabetic()).next();
    !is_question
        && matches!(
            first,
            Some("Who" | "Whoever" | "Whom" | "What" | "Whatever")
        )
}

/// Whether a text has these words, and not as a part of longer ones.
fn has_words(text: &str, words: &str) -> bool {
    let is_of_word = |it: char| it.is_alphanumeric() || it == '_';
    text.match_indices(words).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + words.len()..]);
        !before.ends_with(is_of_word) && !after.starts_with(is_of_word)
    })
}

fn report(kind: &str, found: &[String]) {
    assert!(
        found.is_empty(),
        "{} {kind}:\n{}",
        found.len(),
        found.join("\n")
    );
}

fn everything() -> Vec<(String, Vec<Paragraph>)> {
    let documents = tracked("md").into_iter().map(|path| {
        let found = prose(&read(&path));
        (path, found)
    });
    let sources = ["rs", "py"].into_iter().flat_map(tracked).map(|path| {
        let found = comments(&path, &read(&path));
        (path, found)
    });
    documents.chain(sources).collect()
}

#[test]
fn sentences_name_who_acts() {
    let mut found = Vec::new();
    for (path, paragraphs) in everything() {
        for (line, paragraph) in paragraphs {
            for sentence in sentences(&paragraph) {
                if begins_with_a_relative(&sentence) {
                    found.push(format!("{path}:{line}: {sentence}"));
                }
            }
        }
    }
    report(
        "sentences begin with Who, Whoever, Whom, What or Whatever; name the thread, file or person instead",
        &found,
    );
}

#[test]
fn comments_and_documents_use_the_terms_of_the_field() {
    static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("`[^`]*`").expect("a pattern"));
    let mut found = Vec::new();
    for (path, paragraphs) in everything() {
        for (line, paragraph) in paragraphs {
            // Code may keep a name that committed results have.
            let paragraph = CODE.replace_all(&paragraph, "N").to_lowercase();
            for (terms, theirs) in TERMS {
                if let Some(ours) = terms.split('|').find(|ours| has_words(&paragraph, ours)) {
                    found.push(format!("{path}:{line}: `{ours}`; say {theirs}"));
                }
            }
        }
    }
    report("words are of this project alone", &found);
}

#[test]
fn sentences_of_documents_are_short() {
    let mut found = Vec::new();
    for path in tracked("md") {
        for (line, paragraph) in prose(&read(&path)) {
            for sentence in sentences(&paragraph) {
                let words = sentence.split_whitespace().count();
                if words > LONGEST {
                    found.push(format!("{path}:{line}: {words} words: {sentence}"));
                }
            }
        }
    }
    report(
        "sentences have more than 25 words; make two of each",
        &found,
    );
}

#[test]
fn examples_stand_in_crates_that_run_them() {
    let manifests = tracked("toml").into_iter();
    for manifest in manifests.filter(|path| read(path).contains("doctest = false")) {
        let source = manifest.replace("Cargo.toml", "src/");
        let mut files = tracked("rs")
            .into_iter()
            .filter(|path| path.starts_with(&source));
        let found = files.find(|path| read(path).contains("/ ```"));
        assert_eq!(found, None, "`doctest = false` must leave {manifest}");
    }
}

#[test]
fn a_bad_sentence_is_found() {
    let text = "A worker.\n\n* What is\n  pushed waits. It ends.\n\n```text\nWho\n```\n| What |\n";
    let found = prose(text);
    assert_eq!(found[1], (3, "What is pushed waits. It ends.".to_owned()));
    assert_eq!(found.len(), 2);
    let [first, second] = &sentences(&found[1].1)[..] else {
        panic!("two sentences")
    };
    assert!(begins_with_a_relative(first) && !begins_with_a_relative(second));
    assert!(!begins_with_a_relative("What is a worker?"));
    let comment = comments(
        "a.rs",
        "/// Whoever pushes\n/// wakes.\nfn a() {}\n// In vain.\n",
    );
    assert_eq!(comment[0], (1, "Whoever pushes wakes.".to_owned()));
    assert_eq!(comment.len(), 2);
    let has = |words| has_words("that is dear, dearest, and in vain", words);
    assert!(has("dear") && has("in vain") && !has("ear") && !has("in va") && !has("est"));
}
