//! Tests of the checks on what cargo resolved.

use serde_json::json;

use super::*;

fn metadata(on: &[&str]) -> (Metadata, Package) {
    let package = json!({
        "name": "rayon-core", "version": "1.13.0", "id": "it", "dependencies": [], "targets": [],
        "features": { "demand": ["membarrier"], "membarrier": ["dep:rustix"] },
        "manifest_path": "/lab/rayon-fork/Cargo.toml", "source": null,
    });
    let node = json!({ "id": "it", "deps": [], "dependencies": [], "features": on });
    let metadata: Metadata = serde_json::from_value(json!({
        "packages": [package], "workspace_members": ["it"], "workspace_root": "/lab",
        "target_directory": "/lab/target", "version": 1, "resolve": { "nodes": [node], "root": null },
    }))
    .unwrap();
    let package = metadata.packages[0].clone();
    (metadata, package)
}

fn checkout() -> Checkout {
    Checkout::find(Path::new(env!("CARGO_MANIFEST_DIR")).parent()).unwrap()
}

fn branch(source: Source) -> Branch {
    Branch::new("mine".to_owned(), source)
}

#[test]
fn features_that_cargo_switched_on_are_the_asked_ones_and_those_that_these_are_built_on() {
    for (asked, on, is_good) in [
        ("split", &["split"][..], true),
        ("split", &["split", "no-jec"], false),
        ("split", &[], false),
        ("demand", &["demand", "membarrier"], true),
        ("demand", &["demand"], false),
    ] {
        let fork = branch(Source::Fork {
            features: [asked.to_owned()].into(),
        });
        let (resolved, package) = metadata(on);
        match features_on(&fork, &resolved, &package) {
            Ok(features) => assert!(is_good && features == on, "{asked}: {on:?}"),
            Err(error) => {
                assert!(matches!(error.downcast_ref(), Some(Stop::BuildFailed(_))));
                let place = "branch `mine` asks for the features";
                assert!(!is_good && error.to_string().contains(place), "{error}");
            }
        }
    }
}

#[test]
fn a_branch_is_built_again_in_the_target_folder_where_it_was_built() {
    let root = tempfile::tempdir().unwrap();
    let checkout = checkout();
    let builder = Builder {
        folder: root.path().to_owned(),
        ..Builder::new(&checkout, root.path(), 1).unwrap()
    };
    let mine = branch(Source::Fork {
        features: BTreeSet::new(),
    });
    fs::create_dir_all(builder.target(0).join("release")).unwrap();
    assert_eq!(builder.built_in(&mine), None);
    fs::create_dir_all(builder.target(1).join("release")).unwrap();
    fs::write(builder.made(1, &mine, 0), "").unwrap();
    assert_eq!(builder.built_in(&mine), Some(1));
}

#[test]
fn few_builds_share_one_target_folder_and_many_take_no_more_than_there_are_cpus() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!([0, 1, 2, 3].map(Builder::at_once), [1, 1, 1, 1]);
    assert_eq!(Builder::at_once(4), cpus.min(2));
    assert_eq!(Builder::at_once(1000), cpus.min(4));
}

#[test]
fn a_program_is_built_with_no_more_workloads_than_are_needed() {
    let checkout = checkout();
    let fork = branch(Source::Fork {
        features: BTreeSet::new(),
    });
    let builder = Builder::new(&checkout, checkout.root(), 1).unwrap();
    let linked = |programs| {
        let recipe = Recipe {
            programs,
            edited: PathBuf::new(),
            machine: None,
            ..builder.recipe
        };
        let manifest: toml::Table = recipe.manifest(&fork, &[]).unwrap().parse().unwrap();
        let dependency = &manifest["dependencies"]["workloads"];
        let package = dependency["package"].as_str().unwrap();
        format!("{package} {}", dependency["features"])
    };
    let all = [Programs::Study, Programs::Workloads, Programs::Services].map(linked);
    assert_eq!(
        all,
        ["workloads []", "workloads [\"further\"]", "services []"]
    );
}

#[test]
fn edits_are_read_before_anything_is_built_and_are_part_of_what_is_built() {
    let root = tempfile::tempdir().unwrap();
    let checkout = checkout();
    let builder = Builder::new(&checkout, root.path(), 1).unwrap();
    let mine = branch(Source::Edited {
        version: "1.13.0".to_owned(),
        edits: "edits.toml".into(),
    });
    let refusal = || builder.check_folder(&mine).unwrap_err().to_string();
    assert!(
        refusal().starts_with("edits.toml: cannot be read"),
        "{}",
        refusal()
    );
    let write = |published: &str| {
        let text = format!(
            "change = \"\"\nwhy = \"\"\nmeasured = \"\"\nloses = \"\"\n[[file]]\npath = \"src/job.rs\"\n\
             sha256.\"{published}\" = \"0\"\n[[file.edit]]\nlines = \"1\"\ntext = \"\"\n"
        );
        fs::write(root.path().join("edits.toml"), text).unwrap();
        builder.content(&mine).unwrap().unwrap()
    };
    let older = write("1.12.0");
    assert!(
        refusal().contains("for rayon-core 1.12.0, not for 1.13.0"),
        "{}",
        refusal()
    );
    assert_ne!(write("1.13.0"), older);
    builder.check_folder(&mine).unwrap();
    let manifest: toml::Table = builder
        .recipe
        .manifest(&mine, &[])
        .unwrap()
        .parse()
        .unwrap();
    let linked = &manifest["patch"]["crates-io"]["rayon-core"]["path"];
    assert!(
        linked.as_str().unwrap().contains("branches/edited/"),
        "{linked}"
    );
}
