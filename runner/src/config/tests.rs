//! Breaks each rule of `branches.toml` once: the message must name line, branch, value and remedy.

use super::parse;
use crate::config::{Claim, Config, Expectation, Features, Quantity};

const BASE: &str = "[[branch]]\nname = \"master\"\npublished = \"1.13.0\"\nbaseline = true\n";

fn with(rows: &str) -> Result<Config, String> {
    parse("branches.toml", &format!("{BASE}\n{rows}")).map_err(|error| error.to_string())
}

fn row(lines: &str) -> Result<crate::config::Branch, String> {
    with(&format!("[[branch]]\nname = \"x\"\n{lines}\n")).map(|it| it.branches[1].clone())
}

#[test]
fn the_committed_file_is_accepted_and_all_means_the_studys_ten_branches_and_the_champion() {
    let text = include_str!("../../../branches.toml");
    let config = parse("branches.toml", text).unwrap();
    assert_eq!(config.pick("--branches", "all").unwrap().len(), 11);
    assert_eq!(config.baseline().name, "master");
    for branch in config.branches {
        assert!(!branch.hypothesis.is_empty(), "{branch:?}");
        assert_eq!(branch.claims.is_empty(), branch.baseline, "{branch:?}");
    }
}

#[test]
fn a_row_may_be_in_a_group_that_all_leaves_out_and_that_is_picked_by_its_name() {
    let rows = "[[branch]]\nname = \"a\"\ngroup = \"mine\"\nfork = []\n\
                [[branch]]\nname = \"b\"\nfork = [\"split\"]\n";
    let config = with(rows).unwrap();
    let pick = |list| config.pick("--branches", list).unwrap();
    assert_eq!(pick("all"), ["master", "b"]);
    assert_eq!(pick("!b"), ["master"]);
    assert_eq!(pick("b,group:mine"), ["a", "b"]);
    assert_eq!(pick("*,!group:mine"), ["master", "b"]);
    let error = config.pick("--branches", "group:mien").unwrap_err();
    assert_eq!(
        error.to_string(),
        "--branches: mien: no such group; did you mean `mine`? known: mine"
    );
}

#[test]
fn every_source_kind_is_understood() {
    for (lines, source) in [
        ("fork = [\"split\"]", "rayon-fork with split"),
        ("path = \"../x\"\nfeatures = [\"y\"]", "../x with y"),
        ("git = \"u\"\nrev = \"0123abc\"", "u at 0123abc"),
        (
            "published = \"1.13.0\"\nedits = \"mine/edits.toml\"",
            "rayon-core 1.13.0 with mine/edits.toml",
        ),
    ] {
        assert_eq!(row(lines).unwrap().source.to_string(), source);
    }
}

#[test]
fn each_fault_of_a_row_is_reported_with_its_line_and_branch() {
    for (lines, told) in [
        (
            "fork = []\npath = \"p\"",
            "2 sources; give one of `published`",
        ),
        (
            "",
            "0 sources; give one of `published`, `fork`, `path`, `git`",
        ),
        (
            "fork = []\ngroup = \"All of it\"",
            "`group = \"All of it\"`: a name starts with a letter",
        ),
        (
            "fork = []\nedits = \"e\"",
            "`edits` does not go with `fork`, only with `published`; remove it",
        ),
        (
            "fork = []\nfeatures = [\"split\"]",
            "`features` does not go with `fork`, only with `path` and `git`",
        ),
        ("path = \"p\"\nrev = \"1\"", "`rev` does not go with `path`"),
        ("git = \"u\"", "`rev = \"\"` is not a commit"),
        (
            "git = \"u\"\nrev = \"main\"",
            "`rev = \"main\"` is not a commit",
        ),
        ("published = \"1.13\"", "`1.13` is not an exact version"),
        (
            "published = \"1.12.1\"",
            "accepts only rayon-core 1.13.0 or a later 1.x",
        ),
        ("fork = [\"spilt\"]", "did you mean `split`?"),
        (
            "fork = [\"split\", \"split\"]",
            "feature `split` is listed twice; remove one",
        ),
        (
            "fork = []\nbaseline = true",
            "`baseline = true` although `master` is already the baseline",
        ),
        (
            "fork = []\n[[branch]]\nname = \"x\"\nfork = []",
            "the name is taken",
        ),
    ] {
        let message = row(lines).unwrap_err();
        let line = if told == "the name is taken" { 9 } else { 6 };
        let place = format!("branches.toml:{line}: branch `x`: ");
        assert!(message.starts_with(&place), "{message}");
        assert!(message.contains(told), "{message}");
    }
    let long = "a".repeat(65);
    for name in [
        "all",
        "packed-again",
        "a-instrumented",
        "Upper",
        "a/b",
        "",
        &long,
    ] {
        let message = with(&format!("[[branch]]\nname = \"{name}\"\nfork = []\n")).unwrap_err();
        let start = format!("branches.toml:6: branch `{name}`:");
        assert!(message.starts_with(&start), "{message}");
    }
}

#[test]
fn a_fault_of_the_form_is_reported_with_its_own_line() {
    for (rows, told) in [
        (
            "[[branch]]\nname = \"x\"\nforkk = []\n",
            "branches.toml:8: unknown key `forkk`; did you mean `fork`? known: `name`, ",
        ),
        ("[[branch]]\nforkk = []\n", "; did you mean `fork`?"),
        ("[[branch]]\nname = \"x\"\nfork = [\n", "branches.toml:"),
        (
            "[[branch]]\nfork = []\n",
            "branches.toml:6: missing key `name`",
        ),
        (
            "[[branchs]]\nname = \"x\"\n",
            "branches.toml:6: unknown key `branchs`",
        ),
        (
            "[[branch]]\nname = \"x\"\nfork = []\nfork = []\n",
            "branches.toml:9: duplicate key",
        ),
    ] {
        let message = with(rows).unwrap_err();
        assert!(message.contains(told), "{message}");
    }
    for text in ["", "[[branch]]\nname = \"x\"\nfork = []\n"] {
        let error = parse("branches.toml", text).unwrap_err().to_string();
        assert!(error.contains("no branch has `baseline = true`"), "{error}");
    }
}

#[test]
fn features_that_the_fork_refuses_together_are_refused_here() {
    let features = Features::of_the_fork();
    let layouts = &features.counter_layouts;
    let layouts = layouts.iter().zip(&layouts[1..]);
    let pairs = features.exclusive.iter().map(|it| (&it.0, &it.1));
    for (one, other) in layouts.chain(pairs) {
        let message = row(&format!("fork = [\"{other}\", \"{one}\"]")).unwrap_err();
        let expected = format!("branch `x`: `{one}` and `{other}` exclude each other: ");
        assert!(message.contains(&expected), "{message}");
        assert!(message.ends_with("; keep one"), "{message}");
    }
    row("fork = [\"split\", \"push-fence\", \"cache-padded\"]").unwrap();
}

fn claim(claim: &str) -> Result<Claim, String> {
    row(&format!("fork = []\nclaims = [{{ {claim} }}]")).map(|it| it.claims[0].clone())
}

#[test]
fn a_hypothesis_names_its_workloads_one_by_one_and_leaves_words_of_threads_to_the_host() {
    let found = claim(
        "expect = \"no-slower\", workloads = \"tsp,quick*\", threads = \"16..=cpus\", quantity = \"cpu\"",
    )
    .unwrap();
    assert_eq!(found.expect, Expectation::NoSlower);
    assert_eq!(found.workloads, ["quicksort", "tsp"]);
    assert_eq!(found.threads.as_deref(), Some("16..=cpus"));
    assert_eq!(found.quantity, Quantity::Cpu);
    let all_but_one = claim(r#"expect = "equal", workloads = "!quicksort""#).unwrap();
    assert_eq!(all_but_one.quantity, Quantity::Time);
    let others = crate::config::catalogue::names().len() - 1;
    assert_eq!(all_but_one.workloads.len(), others);
}

#[test]
fn a_hypothesis_that_cannot_be_checked_is_refused_with_its_line_and_remedy() {
    for (written, expected) in [
        (
            "expect = \"quicker\"",
            "unknown word `quicker`; known: `faster`",
        ),
        (
            "expect = \"equal\", workloads = \"quicksrt\"",
            "did you mean `quicksort`?",
        ),
        (
            "expect = \"equal\", against = \"nobody\"",
            "`against = \"nobody\"` is not another branch; known: master",
        ),
        (
            "expect = \"equal\", against = \"x\"",
            "is not another branch",
        ),
        (
            "expect = \"equal\", threads = \"many\"",
            "`threads = \"many\"` is not a range of thread counts; write for example \"8\", \"8..\"",
        ),
        (
            "expect = \"equal\", threads = \"8..=4\"",
            "is not a range of thread counts",
        ),
    ] {
        let message = claim(written).unwrap_err();
        assert!(message.starts_with("branches.toml:"), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn threads_of_a_hypothesis_that_the_analysis_cannot_read_are_refused_before_the_sweep() {
    // The analysis is tested with the same file.
    let texts: std::collections::BTreeMap<String, Vec<String>> =
        serde_json::from_str(include_str!("claim_threads.json")).unwrap();
    let threads = |text: &str| claim(&format!("expect = \"equal\", threads = \"{text}\""));
    for text in &texts["read"] {
        threads(text).unwrap();
    }
    for text in &texts["refused"] {
        let message = threads(text).expect_err(text);
        let told = format!("`threads = \"{text}\"` is not a range of thread counts");
        assert!(message.contains(&told), "{message}");
    }
}
