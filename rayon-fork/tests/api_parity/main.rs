//! The public interface is that of the published crate: the same items, signatures, bounds and traits.
#![cfg(not(miri))] // Miri starts no processes.

mod listing;
#[path = "../common/scratch.rs"]
mod scratch;
mod surface;

use std::collections::BTreeSet;
use std::fs;

use scratch::{Scratch, Source};

/// Every public item of `source` with its signature, one line each, and with its traits.
fn listing_of(source: Source) -> BTreeSet<String> {
    let package = Scratch::new("api", source);
    package.write("src/lib.rs", "");
    let options =
        ["--package", "rayon-core", "--lib", "--", "-Zunstable-options", "--output-format", "json"];
    let output = package.cargo("rustdoc", &options);
    assert!(output.status.success(), "{source:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(package.path("target/doc/rayon_core.json")).unwrap();
    listing::listing(&serde_json::from_str(&text).unwrap())
}

#[test]
fn public_items_their_signatures_and_their_traits_are_those_of_the_published_crate() {
    let (fork, published) = (listing_of(Source::Fork), listing_of(Source::Published));
    assert!(published.len() > 100, "a listing of {} lines has not seen the crate", published.len());
    let show = |ours: &BTreeSet<String>, theirs| -> String {
        ours.difference(theirs).flat_map(|line| ["  ", line, "\n"]).collect()
    };
    let (extra, missing) = (show(&fork, &published), show(&published, &fork));
    assert!(
        extra.is_empty() && missing.is_empty(),
        "only in the fork:\n{extra}only in the published crate:\n{missing}"
    );
}

#[test]
fn one_program_that_uses_every_item_compiles_against_both_and_sees_the_same_traits() {
    // Against the fork it has compiled, as a part of this test.
    let ours = surface::traits();
    let package = Scratch::new("api", Source::Published);
    package.write("src/surface.rs", include_str!("surface.rs"));
    package.write(
        "src/main.rs",
        "mod surface;\nfn main() {\n    print!(\"{}\", surface::traits());\n}\n",
    );
    let output = package.cargo("run", &["--quiet"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs = String::from_utf8(output.stdout).unwrap();
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs, "fork on the left, published crate on the right");
    }
    assert_eq!(ours, theirs);
}

#[test]
fn a_missing_bound_and_a_lost_trait_show_in_a_listing() {
    let package = Scratch::new("api-twins", Source::Fork);
    let mut listings = ["T: Send", "T: Send + Sync"].into_iter().zip(["u8", "*const u8"]).map(|(bound, field)| {
        package.write(
            "src/lib.rs",
            &format!("pub struct Item(#[allow(dead_code)] {field});\npub fn take<{bound}>(_: T) {{}}\n"),
        );
        let options = ["--lib", "--", "-Zunstable-options", "--output-format", "json"];
        assert!(package.cargo("rustdoc", &options).status.success());
        let text = fs::read_to_string(package.path("target/doc/scratch.json")).unwrap();
        listing::listing(&serde_json::from_str(&text).unwrap())
    });
    let (first, second) = (listings.next().unwrap(), listings.next().unwrap());
    let changed: Vec<&str> =
        first.symmetric_difference(&second).map(|line| line.split(' ').next().unwrap()).collect();
    assert!(changed.contains(&"take"), "{changed:?}");
    assert!(changed.contains(&"Item"), "{changed:?}");
}
