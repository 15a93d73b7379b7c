use super::*;
use crate::config::pick::pick;

const KNOWN: [&str; 4] = ["master", "packed", "split", "split-padded"];

#[test]
fn names_globs_and_exclusions_pick_in_the_order_of_the_file() {
    let pick = |list| pick("--branches", "branch", list, &KNOWN).unwrap();
    assert_eq!(pick("all"), KNOWN);
    assert_eq!(pick("split,master"), ["master", "split"]);
    assert_eq!(pick("split*"), ["split", "split-padded"]);
    assert_eq!(pick("all,!split*"), ["master", "packed"]);
    assert_eq!(pick("!packed"), ["master", "split", "split-padded"]);
}

#[test]
fn thread_lists_ranges_and_words_are_merged_and_sorted() {
    assert_eq!(
        threads("8,1..=3,cpus,cores", 4, 6).unwrap(),
        [1, 2, 3, 4, 6, 8]
    );
    assert_eq!(threads("cores,cpus", 2, 2).unwrap(), [2]);
}

#[test]
fn what_is_no_thread_count_is_named() {
    for wrong in [
        "0", "two", "1..3", "1..=x", "", "1,,2", "-1", "99999", "8..=1",
    ] {
        let error = threads(wrong, 2, 2).unwrap_err().to_string();
        assert!(error.starts_with("--threads: `"), "{wrong}: {error}");
    }
}

#[test]
fn the_readme_says_what_presets_stand_for() {
    let readme = include_str!("../../README.md");
    let row = |option: &str| {
        let start = format!("| `--{option}` | ");
        let row = readme
            .lines()
            .find_map(|line| line.strip_prefix(&start))
            .unwrap();
        row.trim_end_matches(" |")
            .split(" | ")
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let [size, threads, trials] = ["size", "threads", "trials`, `--iterations"].map(row);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let presets = read(root).unwrap().presets;
    let names: Vec<&str> = presets.iter().map(|it| &*it.name).collect();
    // The help text of `--preset` names these presets.
    assert_eq!(names, ["smoke", "quick", "full", "simulated", "box"]);
    for (column, preset) in presets.into_iter().enumerate() {
        assert_eq!(size[column], preset.size.unwrap());
        assert_eq!(threads[column], preset.threads.unwrap().replace(',', ", "));
        let counts = (preset.trials.unwrap(), preset.iterations.unwrap());
        assert_eq!(trials[column], format!("{}, {}", counts.0, counts.1));
    }
}

#[test]
fn a_parameter_reaches_the_workloads_that_know_it() {
    let loads = loads("quicksort,tsp", "tiny", &["elements=77".to_owned()], None).unwrap();
    assert_eq!(loads[0].parameters["elements"], "77");
    assert!(!loads[1].parameters.contains_key("elements"));
}

#[test]
fn parameters_without_a_value_and_useless_inputs_are_refused() {
    let shape = loads("quicksort", "tiny", &["elements".to_owned()], None).unwrap_err();
    assert!(shape.to_string().contains("NAME=VALUE"), "{shape}");
    let input = loads("quicksort", "tiny", &[], Some(Path::new("x.tsp"))).unwrap_err();
    assert!(input.to_string().contains("tsp"), "{input}");
}

#[test]
fn an_input_that_is_no_regular_file_is_refused_instead_of_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for path in [pipe.as_path(), folder.path()] {
        let error = loads("tsp", "tiny", &[], Some(path))
            .unwrap_err()
            .to_string();
        assert!(error.contains("is not a regular file"), "{error}");
    }
}

#[test]
fn an_input_is_found_where_it_lay_or_where_it_is_said_to_lie_and_must_be_the_same_file() {
    let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let known = root.path().join("a.tsp");
    let moved = elsewhere.path().join("moved.tsp");
    fs::write(&known, "cities").unwrap();
    fs::copy(&known, &moved).unwrap();
    let sha256 = digest::of_file(&known).unwrap();
    let input = Input {
        path: "a.tsp".to_owned(),
        sha256,
        place: None,
    };
    let found = |given: Option<&Path>| input_for_trials(&input, root.path(), given);
    assert_eq!(found(None).unwrap(), known.canonicalize().unwrap());
    assert_eq!(found(Some(&moved)).unwrap(), moved.canonicalize().unwrap());
    fs::remove_file(&known).unwrap();
    let gone = found(None).unwrap_err().to_string();
    assert!(
        gone.contains("name its current path with --input FILE"),
        "{gone}"
    );
    fs::write(&moved, "other cities").unwrap();
    let other = found(Some(&moved)).unwrap_err().to_string();
    assert!(
        other.contains("is not the file that the sweep began with"),
        "{other}"
    );
}
