use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::listing::listing;
use crate::scratch::{Scratch, Source};

fn document_of(package: &Scratch, name: &str) -> Value {
    let options = [
        "--package",
        name,
        "--lib",
        "--",
        "-Zunstable-options",
        "--output-format",
        "json",
    ];
    let output = package.cargo("rustdoc", &options);
    assert!(
        output.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let file = format!("target/doc/{}.json", name.replace('-', "_"));
    serde_json::from_str(&fs::read_to_string(package.path(&file)).unwrap()).unwrap()
}

fn rayon_core_of(source: Source) -> Value {
    let package = Scratch::new("api", source);
    package.write("src/lib.rs", "");
    document_of(&package, "rayon-core")
}

#[test]
fn public_items_their_signatures_and_their_traits_are_those_of_the_published_crate() {
    let [fork, published] =
        [Source::Fork, Source::Published].map(|source| listing(&rayon_core_of(source)));
    assert!(
        published.len() > 100,
        "a listing of only {} lines cannot be complete",
        published.len()
    );
    let show = |ours: &BTreeSet<String>, theirs| -> String {
        ours.difference(theirs)
            .flat_map(|line| ["  ", line, "\n"])
            .collect()
    };
    let (extra, missing) = (show(&fork, &published), show(&published, &fork));
    assert!(
        extra.is_empty() && missing.is_empty(),
        "only in the fork:\n{extra}only in the published crate:\n{missing}"
    );
}

#[test]
fn a_missing_bound_and_a_lost_trait_show_in_a_listing() {
    let package = Scratch::new("api-twins", Source::Fork);
    let mut listings = ["T: Send", "T: Send + Sync"].into_iter().zip(["u8", "*const u8"]).map(|(bound, field)| {
        package.write(
            "src/lib.rs",
            &format!("pub struct Item(#[allow(dead_code)] {field});\npub fn take<{bound}>(_: T) {{}}\n"),
        );
        listing(&document_of(&package, "scratch"))
    });
    let (first, second) = (listings.next().unwrap(), listings.next().unwrap());
    let changed: Vec<&str> = first
        .symmetric_difference(&second)
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert!(changed.contains(&"take"), "{changed:?}");
    assert!(changed.contains(&"Item"), "{changed:?}");
}

/// Cargo must refuse two rayon-cores in one program, because there would be two global pools.
#[test]
fn cargo_refuses_a_program_with_two_rayon_cores() {
    assert!(include_str!("../../Cargo.toml").contains("\nlinks = \"rayon-core\"\n"));
}
