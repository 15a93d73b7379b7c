//! Each rule of `branches.toml`, broken once: the message must name line, branch, value and remedy.

use std::collections::BTreeSet;

use super::parse;
use crate::config::{Expectation, Features, Quantity, Source};

const BASE: &str = "[[branch]]\nname = \"master\"\npublished = \"1.13.0\"\nbaseline = true\n";

/// The message for `BASE` followed by `rows`; the rows start at line 6.
fn fault(rows: &str) -> String {
    let text = format!("{BASE}\n{rows}");
    parse("branches.toml", &text)
        .expect_err("must be refused")
        .to_string()
}

#[test]
fn the_committed_file_is_accepted_and_all_means_the_studys_ten_branches_and_the_champion() {
    let text = include_str!("../../../branches.toml");
    let config = parse("branches.toml", text).unwrap();
    assert_eq!(config.pick("--branches", "all").unwrap().len(), 11);
    assert_eq!(config.baseline().name, "master");
    assert!(
        config
            .branches
            .iter()
            .all(|branch| !branch.hypothesis.is_empty())
    );
}

#[test]
fn a_row_may_be_in_a_group_that_all_leaves_out_and_that_is_picked_by_its_name() {
    let rows = "[[branch]]\nname = \"a\"\ngroup = \"mine\"\nfork = []\n\
                [[branch]]\nname = \"b\"\nfork = [\"split\"]\n";
    let config = parse("branches.toml", &format!("{BASE}{rows}")).unwrap();
    let pick = |list| config.pick("--branches", list).unwrap();
    assert_eq!(pick("all"), ["master", "b"]);
    assert_eq!(pick("!b"), ["master"]);
    assert_eq!(pick("b,group:mine"), ["a", "b"]);
    assert_eq!(pick("*,!group:mine"), ["master", "b"]);
    let error = config
        .pick("--branches", "group:mien")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "--branches: mien: no such group; known: mine; did you mean `mine`?"
    );
    let fault = fault("[[branch]]\nname = \"x\"\ngroup = \"All of it\"\nfork = []\n");
    assert!(
        fault.starts_with("branches.toml:8: branch `x`: `group = \"All of it\"`: "),
        "{fault}"
    );
}

#[test]
fn a_row_without_each_of_its_features_is_a_branch_for_each_of_them() {
    let row =
        "[[branch]]\nname = \"x\"\nfork = [\"demand\", \"split\"]\nwithout-each = \"parts\"\n";
    let config = parse("branches.toml", &format!("{BASE}{row}")).unwrap();
    assert_eq!(
        config.pick("--branches", "x-without-*").unwrap(),
        ["x-without-demand", "x-without-split"]
    );
    let [_, _, without, _] = &config.branches[..] else {
        panic!("{:?}", config.branches)
    };
    assert_eq!(
        without.source,
        Source::Fork {
            features: ["split".to_owned()].into()
        }
    );
    assert_eq!(without.group.as_deref(), Some("parts"));
    assert_eq!(without.claims[0].to_string(), "no faster than x");
    let own = "[[branch]]\nname = \"x-without-split\"\nfork = []\n";
    assert_eq!(
        fault(&format!("{row}{own}")),
        "branches.toml:11: branch `x-without-split`: the name is taken by line 7; give every branch its own"
    );
    assert_eq!(
        fault("[[branch]]\nname = \"x\"\npublished = \"1.13.0\"\nwithout-each = \"parts\"\n"),
        "branches.toml:9: branch `x`: `without-each` goes with `fork` only; remove it"
    );
}

#[test]
fn every_source_kind_is_understood() {
    let rows = "[[branch]]\nname = \"a\"\nfork = [\"split\"]\n\
                [[branch]]\nname = \"b\"\npath = \"../x\"\nfeatures = [\"y\"]\n\
                [[branch]]\nname = \"c\"\ngit = \"u\"\nrev = \"0123abc\"\nsubdirectory = \"rayon-core\"\n";
    let config = parse("branches.toml", &format!("{BASE}{rows}")).unwrap();
    let features: BTreeSet<String> = ["split".to_owned()].into();
    assert_eq!(config.branches[1].source, Source::Fork { features });
    assert!(
        matches!(&config.branches[2].source, Source::Path { features, .. } if features.contains("y"))
    );
    assert!(matches!(
        &config.branches[3].source,
        Source::Git {
            subdirectory: Some(_),
            ..
        }
    ));
}

#[test]
fn a_release_may_have_edits_and_nothing_else_may() {
    let row = "[[branch]]\nname = \"x\"\npublished = \"1.13.0\"\nedits = \"mine/edits.toml\"\n";
    let config = parse("branches.toml", &format!("{BASE}{row}")).unwrap();
    let edited = Source::Edited {
        version: "1.13.0".to_owned(),
        edits: "mine/edits.toml".into(),
    };
    assert_eq!(config.branches[1].source, edited);
    assert_eq!(edited.to_string(), "rayon-core 1.13.0 with mine/edits.toml");
    assert_eq!(
        fault("[[branch]]\nname = \"x\"\nfork = []\nedits = \"e\"\n"),
        "branches.toml:9: branch `x`: `edits` does not go with `fork`; edits apply to a `published` release only; \
         remove it"
    );
}

#[test]
fn a_misspelt_key_is_named_with_its_line_and_the_likely_one() {
    let message = fault("[[branch]]\nname = \"x\"\nforkk = []\n");
    assert!(
        message.starts_with("branches.toml:8: branch `x`: unknown key `forkk`"),
        "{message}"
    );
    assert!(message.ends_with("did you mean `fork`?"), "{message}");
}

#[test]
fn a_misspelt_feature_is_named_with_its_line_and_the_likely_one() {
    let known: Vec<String> = Features::of_the_fork().names.iter().cloned().collect();
    assert_eq!(
        fault("[[branch]]\nname = \"x\"\nfork = [\n  \"no-jec\",\n  \"spilt\",\n]\n"),
        format!(
            "branches.toml:10: branch `x`: unknown feature `spilt`; known: {}; did you mean `split`?",
            known.join(", ")
        )
    );
}

#[test]
fn two_baselines_are_refused() {
    let message = fault("[[branch]]\nname = \"x\"\nfork = []\nbaseline = true\n");
    assert!(
        message.starts_with("branches.toml:9: branch `x`"),
        "{message}"
    );
    assert!(message.contains("`master` (line 4)"), "{message}");
}

#[test]
fn a_file_without_a_baseline_is_refused() {
    let text = "[[branch]]\nname = \"x\"\nfork = []\n";
    let error = parse("branches.toml", text).unwrap_err().to_string();
    assert!(error.contains("no branch has `baseline = true`"), "{error}");
}

#[test]
fn an_empty_file_is_refused() {
    let error = parse("branches.toml", "").unwrap_err().to_string();
    assert!(error.contains("add a `[[branch]]` table"), "{error}");
}

#[test]
fn two_sources_and_none_are_refused_at_the_table() {
    assert_eq!(
        fault("[[branch]]\nname = \"x\"\nfork = []\npath = \"p\"\n"),
        "branches.toml:6: branch `x`: 2 sources (`fork`, `path`); keep one"
    );
    assert_eq!(
        fault("[[branch]]\nname = \"x\"\n"),
        "branches.toml:6: branch `x`: no source; give one of `published`, `fork`, `path`, `git`"
    );
}

#[test]
fn features_that_the_fork_refuses_together_are_refused_here() {
    let features = Features::of_the_fork();
    let others = features
        .counter_layouts
        .iter()
        .flat_map(|one| features.counter_layouts.iter().map(move |two| (one, two)));
    let counter_layouts = others.filter(|(one, other)| one < other);
    let pairs = features
        .exclusive
        .iter()
        .map(|(one, other, _)| (one, other));
    for (one, other) in counter_layouts.chain(pairs) {
        let message = fault(&format!(
            "[[branch]]\nname = \"x\"\nfork = [\"{other}\", \"{one}\"]\n"
        ));
        let expected = format!("branch `x`: `{one}` and `{other}` exclude each other: ");
        assert!(
            message.contains(&expected) && message.ends_with("; keep one"),
            "{message}"
        );
    }
}

#[test]
fn each_layout_goes_with_the_modifiers_that_fit_it() {
    for features in [
        "\"split\", \"no-jec\"",
        "\"split\", \"push-fence\"",
        "\"push-fence\"",
        "\"no-jec\", \"cache-padded\"",
    ] {
        let text = format!("{BASE}[[branch]]\nname = \"x\"\nfork = [{features}]\n");
        parse("branches.toml", &text).unwrap();
    }
}

#[test]
fn keys_of_another_source_are_refused() {
    assert!(
        fault("[[branch]]\nname = \"x\"\nfork = []\nfeatures = [\"split\"]\n")
            .contains("into `fork = […]`")
    );
    assert!(
        fault("[[branch]]\nname = \"x\"\npath = \"p\"\nrev = \"1\"\n")
            .contains("`rev` does not go with `path`")
    );
    assert!(fault("[[branch]]\nname = \"x\"\ngit = \"u\"\n").contains("`git` without `rev`"));
    assert!(
        fault("[[branch]]\nname = \"x\"\ngit = \"u\"\nrev = \"main\"\n")
            .contains("`rev = \"main\"` is not a commit")
    );
}

#[test]
fn reserved_and_impossible_names_are_refused() {
    for name in [
        "all",
        "sequential",
        "master-again",
        "packed-instrumented",
        "Upper",
        "a/b",
        "",
    ] {
        let message = fault(&format!("[[branch]]\nname = \"{name}\"\nfork = []\n"));
        assert!(
            message.starts_with(&format!("branches.toml:7: branch `{name}`:")),
            "{message}"
        );
    }
}

#[test]
fn a_version_range_is_no_release() {
    assert!(
        fault("[[branch]]\nname = \"x\"\npublished = \"1.13\"\n").contains("not an exact version")
    );
    for other in ["0.0.1", "1.12.1", "2.0.0"] {
        let said = fault(&format!(
            "[[branch]]\nname = \"x\"\npublished = \"{other}\"\n"
        ));
        assert!(
            said.contains(other) && said.contains("1.13.0 or a later 1.x"),
            "{said}"
        );
    }
}

#[test]
fn broken_toml_is_reported_with_its_line() {
    let message = fault("[[branch]]\nname = \"x\"\nfork = [\n");
    assert!(message.starts_with("branches.toml:"), "{message}");
    let line: usize = message.split(':').nth(1).unwrap().parse().unwrap();
    assert!((8..=9).contains(&line), "{message}");
}

#[test]
fn a_missing_name_is_reported_with_its_line_and_no_neighbour() {
    for row in [
        "[[branch]]\nfork = []\n",
        "[[branch]]\nfork = []\n[[branch]]\nname = \"z\"\n",
    ] {
        assert_eq!(
            fault(row),
            "branches.toml:6: this branch has no `name`; give it one: name = \"…\""
        );
    }
}

#[test]
fn a_single_table_and_a_key_that_is_there_twice_are_reported_as_such() {
    assert_eq!(
        fault("[branch]\nname = \"x\"\nfork = []\n"),
        "branches.toml:6: `[branch]` is a single table; write `[[branch]]`, since branches are a list"
    );
    let alone = parse("branches.toml", "[branch]\nname = \"x\"\n").unwrap_err();
    assert!(alone.to_string().contains("write `[[branch]]`"), "{alone}");
    assert_eq!(
        fault("[[branch]]\nname = \"x\"\nfork = []\nfork = []\n"),
        "branches.toml:9: branch `x`: `fork` is there twice; keep one of the two"
    );
    let message = fault("[[branchs]]\nname = \"x\"\n");
    assert!(
        message.starts_with("branches.toml:6: unknown key `branchs`"),
        "{message}"
    );
}

#[test]
fn a_name_longer_than_any_table_is_refused() {
    let message = fault(&format!(
        "[[branch]]\nname = \"{}\"\nfork = []\n",
        "a".repeat(65)
    ));
    assert!(
        message.contains("has 65 characters, at most 64 are allowed"),
        "{message}"
    );
}

/// The hypotheses of a row that says `claims = [{ <claim> }]`, or the message that refuses it.
fn claim(claim: &str) -> Result<crate::config::Claim, String> {
    let rows = format!("[[branch]]\nname = \"x\"\nfork = []\nclaims = [{{ {claim} }}]\n");
    parse("branches.toml", &format!("{BASE}\n{rows}"))
        .map(|config| config.branches[1].claims[0].clone())
        .map_err(|error| error.to_string())
}

#[test]
fn a_hypothesis_names_its_workloads_one_by_one_and_leaves_words_of_threads_to_the_host() {
    let found =
        claim("expect = \"no-slower\", workloads = \"tsp,quick*\", threads = \"16..=cpus\", quantity = \"cpu\"")
            .unwrap();
    assert_eq!(found.expect, Expectation::NoSlower);
    assert_eq!(found.workloads, ["quicksort", "tsp"]);
    assert_eq!(found.threads.as_deref(), Some("16..=cpus"));
    assert_eq!(found.quantity, Quantity::Cpu);
    assert_eq!(
        claim("expect = \"equal\"").unwrap().quantity,
        Quantity::Time
    );
    let once = claim("expect = \"equal\", figure = \"cpu\"").unwrap();
    assert_eq!(once.quantity, Quantity::Cpu, "what it was called once");
}

#[test]
fn a_hypothesis_about_nearly_all_workloads_is_reported_by_what_it_leaves_out() {
    let all_but_one = claim(r#"expect = "equal", workloads = "!quicksort""#).unwrap();
    assert_eq!(
        all_but_one.to_string(),
        "equal to the baseline, all workloads but quicksort"
    );
    let two = claim(r#"expect = "equal", workloads = "tsp,quicksort""#).unwrap();
    assert!(
        two.to_string().contains("workloads quicksort, tsp"),
        "{two}"
    );
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
            "`against = \"x\"` is not another branch",
        ),
        (
            "expect = \"equal\", threads = \"many\"",
            "write for example \"8\", \"8..\"",
        ),
        (
            "expect = \"equal\", threads = \"8..4\"",
            "is not a range of thread counts",
        ),
        (
            "expect = \"equal\", threads = \"8..=4\"",
            "is not a range of thread counts",
        ),
        (
            "expect = \"equal\", threads = \"0\"",
            "is not a range of thread counts",
        ),
        ("expect = \"equal\", host = \"big\"", "unknown key `host`"),
    ] {
        let message = claim(written).unwrap_err();
        assert!(
            message.starts_with("branches.toml:9: branch `x`: "),
            "{message}"
        );
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn every_form_of_a_range_of_threads_is_taken() {
    for range in ["8", "cpus", "8..", "..=cpus", "2..=8", "cores..=64"] {
        claim(&format!("expect = \"equal\", threads = \"{range}\"")).unwrap();
    }
}

#[test]
fn every_committed_hypothesis_but_the_baseline_s_can_be_checked() {
    let config = parse("branches.toml", include_str!("../../../branches.toml")).unwrap();
    let silent: Vec<_> = config
        .branches
        .iter()
        .filter(|row| !row.baseline && row.claims.is_empty())
        .collect();
    assert!(silent.is_empty(), "{silent:#?}");
}
