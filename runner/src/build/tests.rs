use super::*;

fn checkout() -> Checkout {
    Checkout::find(Path::new(env!("CARGO_MANIFEST_DIR")).parent()).unwrap()
}

fn branch(source: Source) -> Branch {
    Branch::new("mine".to_owned(), source)
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
