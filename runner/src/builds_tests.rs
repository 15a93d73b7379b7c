//! What cargo resolved, judged.

use serde_json::json;

use super::*;

/// What `cargo metadata` says of a rayon-core with these features on.
fn metadata(on: &[&str]) -> (Metadata, Package) {
    let package = json!({
        "name": "rayon-core", "version": "1.13.0", "id": "it", "dependencies": [], "targets": [],
        "features": {}, "manifest_path": "/lab/rayon-fork/Cargo.toml", "source": null,
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

fn branch(source: Source) -> Branch {
    Branch {
        name: "mine".to_owned(),
        source,
        baseline: false,
        hypothesis: String::new(),
        claims: Vec::new(),
        typed: None,
    }
}

#[test]
fn features_that_cargo_switched_on_unasked_are_a_failed_build() {
    let fork = branch(Source::Fork { features: ["split".to_owned()].into() });
    let (as_asked, package) = metadata(&["split"]);
    assert_eq!(features_on(&fork, &as_asked, &package).unwrap(), ["split"]);
    for on in [vec!["split", "no-jec"], vec![]] {
        let (other, package) = metadata(&on);
        let error = features_on(&fork, &other, &package).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(Stop::BuildFailed(_))), "{error}");
        assert!(error.to_string().contains("branch `mine` asks for the features"), "{error}");
    }
}
