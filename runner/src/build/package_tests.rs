use super::*;
use crate::config::Source;

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

fn manifest(name: &str, more: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{more}")
}

fn found(folder: &Path, binary: Option<&str>) -> Result<String, String> {
    let program = find(folder, binary, &["it".to_owned()]);
    program
        .map(|it| format!("{} of {}", it.name, it.package))
        .map_err(|error| {
            assert!(
                matches!(error.downcast_ref(), Some(Stop::BadInput(_))),
                "{error}"
            );
            error.to_string()
        })
}

#[test]
fn the_only_binary_is_meant_or_the_default_one_or_that_which_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let refused = |binary, part| {
        let message = found(folder, binary).unwrap_err();
        assert!(message.contains(part), "{message}");
    };
    refused(None, "there is no Cargo.toml");
    write(
        folder,
        &[("Cargo.toml", &manifest("mine", "")), ("src/lib.rs", "")],
    );
    refused(None, "no package there has a binary");
    write(folder, &[("src/main.rs", "fn main() {}")]);
    assert_eq!(found(folder, None).unwrap(), "mine of mine");
    write(folder, &[("src/bin/tsp.rs", "fn main() {}")]);
    refused(None, "several binaries; name one by --bin: `mine`, `tsp`");
    refused(Some("tps"), "no binary `tps`; known: `mine`, `tsp`");
    assert_eq!(found(folder, Some("tsp")).unwrap(), "my-tsp of mine");
    let default = manifest("mine", "default-run = \"tsp\"\n");
    write(folder, &[("Cargo.toml", &default)]);
    assert_eq!(found(folder, None).unwrap(), "my-tsp of mine");
    write(folder, &[("Cargo.toml", "[package]\nname = 1\n")]);
    refused(None, "cargo cannot read the package");
    let nowhere = found(&folder.join("nowhere"), None).unwrap_err();
    assert!(
        nowhere.contains("name the folder of a Cargo package"),
        "{nowhere}"
    );
}

#[test]
fn path_dependencies_beside_the_workspace_are_copied_with_it_and_nothing_is_written_there() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    let member = "[dependencies]\nlib = { path = \"../../lib\" }\n";
    write(
        &base,
        &[
            (
                "own/Cargo.toml",
                "[workspace]\nmembers = [\"member\"]\nresolver = \"2\"\n",
            ),
            ("own/member/Cargo.toml", &manifest("member", member)),
            ("own/member/src/main.rs", "fn main() {}"),
            ("lib/Cargo.toml", &manifest("lib", "")),
            ("lib/src/lib.rs", ""),
        ],
    );
    assert_eq!(found(&base.join("own"), None).unwrap(), "member of member");
    let tree = Tree::of(&base.join("own/member")).unwrap();
    let expected = Tree {
        base: base.clone(),
        workspace: "own".into(),
        parts: vec!["lib".into(), "own".into()],
    };
    assert_eq!(tree, expected);
    assert!(!base.join("own/Cargo.lock").exists() && !base.join("lib/Cargo.lock").exists());
}

#[test]
fn a_manifest_takes_the_branchs_rayon_core_in_the_place_of_its_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let checkout = crate::config::checkout::Checkout::find(root).unwrap();
    let builder = crate::build::Builder::new(&checkout, checkout.root(), 1).unwrap();
    let of = |branch: &Branch| -> Table {
        let manifest = builder.recipe.manifest(branch, &[]).unwrap();
        manifest.parse().unwrap()
    };
    let branch = |source| of(&Branch::new("it".to_owned(), source));
    let fork = branch(Source::Fork {
        features: ["champion".to_owned()].into(),
    });
    let published = branch(Source::Published {
        version: "1.13.0".to_owned(),
    });
    let mut own: Table = "[dependencies.rayon-core]\nversion = \"1.9\"\nfeatures = [\"web_spin_lock\"]\n\
                          [patch.crates-io]\nrayon-core = { path = \"x\" }\nother = { path = \"y\" }"
        .parse()
        .unwrap();
    assert!(depend(&fork, &mut own));
    patch(&fork, &mut own);
    let of_core = |own: &Table| own["dependencies"]["rayon-core"].clone();
    assert_eq!(of_core(&own)["version"].as_str(), Some("1"));
    let features = of_core(&own)["features"].to_string();
    assert_eq!(features, "[\"champion\", \"web_spin_lock\"]");
    let patches = &own["patch"]["crates-io"];
    let path = patches["rayon-core"]["path"].as_str().unwrap();
    assert!(path.ends_with("rayon-fork"), "{path}");
    assert_eq!(patches["other"]["path"].as_str(), Some("y"));

    assert!(depend(&published, &mut own));
    patch(&published, &mut own);
    // The program's manifest requests `champion`, which the published crate does not have.
    assert_eq!(of_core(&own)["features"].to_string(), "[\"web_spin_lock\"]");
    assert!(
        own["patch"]["crates-io"].get("rayon-core").is_none(),
        "{own}"
    );
    assert!(!depend(&published, &mut Table::new()));
}
