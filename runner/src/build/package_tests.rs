//! Tests which program is meant, and which folders it is built from.

use serde_json::json;

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
    let found_as = |binary| found(folder.path(), binary);
    assert!(
        found_as(None)
            .unwrap_err()
            .contains("there is no Cargo.toml")
    );
    write(
        folder.path(),
        &[("Cargo.toml", &manifest("mine", "")), ("src/lib.rs", "")],
    );
    assert!(
        found_as(None)
            .unwrap_err()
            .contains("no package there has a binary")
    );
    write(folder.path(), &[("src/main.rs", "fn main() {}")]);
    assert_eq!(found_as(None).unwrap(), "mine of mine");
    // A workload is also called `tsp`.
    write(folder.path(), &[("src/bin/tsp.rs", "fn main() {}")]);
    assert!(
        found_as(None)
            .unwrap_err()
            .ends_with("several binaries; name one by --bin: `mine`, `tsp`")
    );
    assert_eq!(found_as(Some("tsp")).unwrap(), "my-tsp of mine");
    assert!(
        found_as(Some("tps"))
            .unwrap_err()
            .contains("no binary `tps`; known: `mine`, `tsp`")
    );
    let default = manifest("mine", "default-run = \"tsp\"\n");
    write(folder.path(), &[("Cargo.toml", &default)]);
    assert_eq!(found_as(None).unwrap(), "my-tsp of mine");
    write(folder.path(), &[("Cargo.toml", "[package]\nname = 1\n")]);
    assert!(
        found_as(None)
            .unwrap_err()
            .contains("cargo cannot read the package")
    );
    let nowhere = found(&folder.path().join("nowhere"), None).unwrap_err();
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
    assert_eq!(
        tree,
        Tree {
            base: base.clone(),
            workspace: "own".into(),
            parts: vec!["lib".into(), "own".into()],
        }
    );
    assert!(!base.join("own/Cargo.lock").exists() && !base.join("lib/Cargo.lock").exists());
    let alone = Tree::of(&base.join("lib")).unwrap();
    assert_eq!(
        (alone.workspace, alone.base),
        (PathBuf::new(), base.join("lib"))
    );
}

/// Whether a program is linked with rayon-core, for a graph of edges from package to package with
/// their kinds.
fn is_used(is_direct: bool, edges: &[(&str, &str, Option<&str>)]) -> bool {
    let names = ["mine", "rayon", "rayon-core"];
    let package = |name: &&str| {
        json!({
            "name": name, "version": "1.0.0", "id": name, "dependencies": [], "targets": [], "features": {},
            "manifest_path": format!("/{name}/Cargo.toml"),
            "source": (*name != "mine").then_some("registry+https://github.com/rust-lang/crates.io-index"),
        })
    };
    let node = |name: &&str| {
        let own = edges.iter().filter(|(from, _, _)| from == name);
        let deps = own.map(|(_, to, kind)| {
            json!({ "name": to, "pkg": to, "dep_kinds": [{ "kind": kind, "target": null }] })
        });
        json!({ "id": name, "deps": deps.collect::<Vec<_>>(), "dependencies": [], "features": [] })
    };
    let metadata = serde_json::from_value(json!({
        "packages": names.iter().map(package).collect::<Vec<_>>(), "workspace_members": ["mine"],
        "workspace_root": "/mine", "target_directory": "/mine/target", "version": 1,
        "resolve": { "nodes": names.iter().map(node).collect::<Vec<_>>(), "root": "mine" },
    }))
    .unwrap();
    let program = WholeProgram::of_user(
        "mine".to_owned(),
        "mine".to_owned(),
        "mine".to_owned(),
        "/mine".into(),
        vec![],
    );
    uses_rayon(&program, is_direct, &metadata)
}

#[test]
fn a_program_uses_rayon_if_what_it_is_linked_with_does_and_not_because_the_runner_adds_it() {
    let added = ("mine", "rayon-core", None);
    let below = ("rayon", "rayon-core", None);
    assert!(!is_used(false, &[added]));
    assert!(is_used(true, &[added]));
    assert!(is_used(false, &[added, ("mine", "rayon", None), below]));
    assert!(!is_used(
        false,
        &[added, ("mine", "rayon", Some("dev")), below]
    ));
}

#[test]
fn a_manifest_takes_the_branchs_rayon_core_in_the_place_of_its_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let checkout = crate::config::checkout::Checkout::find(root).unwrap();
    let builder = crate::build::Builder::new(&checkout, checkout.root(), 1).unwrap();
    let of = |branch| -> Table {
        let manifest = builder.recipe.manifest(branch, &[]).unwrap();
        manifest.parse().unwrap()
    };
    let fork = Branch::new(
        "champion".to_owned(),
        Source::Fork {
            features: ["champion".to_owned()].into(),
        },
    );
    let mut own: Table = "[dependencies.rayon-core]\nversion = \"1.9\"\nfeatures = [\"web_spin_lock\"]\n\
                          [patch.crates-io]\nrayon-core = { path = \"x\" }\nother = { path = \"y\" }"
        .parse()
        .unwrap();
    assert!(depend(&of(&fork), &mut own));
    patch(&of(&fork), &mut own);
    let dependency = &own["dependencies"]["rayon-core"];
    assert_eq!(dependency["version"].as_str(), Some("1"));
    assert_eq!(
        dependency["features"].to_string(),
        "[\"champion\", \"web_spin_lock\"]"
    );
    let patch = &own["patch"]["crates-io"];
    assert!(
        patch["rayon-core"]["path"]
            .as_str()
            .unwrap()
            .ends_with("rayon-fork")
    );
    assert_eq!(patch["other"]["path"].as_str(), Some("y"));

    let published = Branch::new(
        "master".to_owned(),
        Source::Published {
            version: "1.13.0".to_owned(),
        },
    );
    assert!(depend(&of(&published), &mut own));
    // The program already asked for `champion`, which the published crate does not have.
    let features = own["dependencies"]["rayon-core"]["features"].to_string();
    assert_eq!(features, "[\"web_spin_lock\"]");
    super::patch(&of(&published), &mut own);
    assert!(
        own["patch"]["crates-io"].get("rayon-core").is_none(),
        "{own}"
    );
    assert!(!depend(&of(&published), &mut Table::new()));
}
