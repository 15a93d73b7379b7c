//! The public interface is that of the published crate: the same items, signatures, bounds and
//! traits. An example shows each item.
#![cfg(not(miri))] // Miri starts no processes.

mod examples;
mod listing;
#[path = "../common/scratch.rs"]
mod scratch;
mod surface;

use std::collections::BTreeSet;
use std::fs;

use scratch::{Scratch, Source};
use serde_json::Value;

/// Returns rustdoc's JSON of the package `name`, which is `package` or a dependency of it.
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

/// Returns rustdoc's JSON of the rayon-core of `source`.
fn rayon_core_of(source: Source) -> Value {
    let package = Scratch::new("api", source);
    package.write("src/lib.rs", "");
    document_of(&package, "rayon-core")
}

#[test]
fn public_items_their_signatures_and_their_traits_are_those_of_the_published_crate() {
    let [fork, published] =
        [Source::Fork, Source::Published].map(|source| listing::listing(&rayon_core_of(source)));
    assert!(
        published.len() > 100,
        "a listing of {} lines has not seen the crate",
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
fn one_program_that_uses_every_item_compiles_against_both_and_sees_the_same_traits() {
    // It has compiled against the fork, as a part of this test.
    let ours = surface::traits();
    let package = Scratch::new("api", Source::Published);
    package.write("src/surface.rs", include_str!("surface.rs"));
    package.write(
        "src/main.rs",
        "mod surface;\nfn main() {\n    print!(\"{}\", surface::traits());\n}\n",
    );
    let output = package.cargo("run", &["--quiet"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let theirs = String::from_utf8(output.stdout).unwrap();
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(
            ours, theirs,
            "fork on the left, published crate on the right"
        );
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
        listing::listing(&document_of(&package, "scratch"))
    });
    let (first, second) = (listings.next().unwrap(), listings.next().unwrap());
    let changed: Vec<&str> = first
        .symmetric_difference(&second)
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert!(changed.contains(&"take"), "{changed:?}");
    assert!(changed.contains(&"Item"), "{changed:?}");
}

/// The beginnings of the names of items without an example, and why they need none.
const WITHOUT_EXAMPLE: [(&str, &str); 1] = [(
    "Configuration::",
    "deprecated; the type has an example, and the builder has one of each",
)];

#[test]
fn every_public_item_but_the_listed_has_an_example_that_runs() {
    let package = Scratch::new("api-instrument", Source::Fork);
    package.write("src/lib.rs", "");
    let manifest = fs::read_to_string(package.path("Cargo.toml")).unwrap();
    package.write(
        "Cargo.toml",
        &manifest.replace("' }", "', features = ['instrument'] }"),
    );
    let mut without = examples::items_without(&document_of(&package, "rayon-core"));
    // The module is seen, and the rule holds for it as well.
    for (beginning, _reason) in WITHOUT_EXAMPLE {
        let all = without.len();
        without.retain(|item| !item.starts_with(beginning));
        assert!(
            without.len() < all,
            "nothing without an example begins with `{beginning}`"
        );
    }
    assert!(without.is_empty(), "without an example: {without:?}");
}

#[test]
fn only_a_rust_block_that_is_run_counts_as_an_example() {
    let package = Scratch::new("examples-twins", Source::Fork);
    package.write(
        "src/lib.rs",
        r#"
            /// ```
            /// assert_eq!(scratch::run(), 1);
            /// ```
            pub fn run() -> u8 { 1 }

            /// ```should_panic
            /// panic!("as it should");
            /// ```
            pub struct Panics;
            impl Panics {
                /// Says much, shows nothing.
                pub fn silent(&self) {}
                /// ```text
                /// not a program
                /// ```
                pub fn drawing(&self) {}
            }
            impl Drop for Panics {
                fn drop(&mut self) {}
            }

            /// ```no_run
            /// loop {}
            /// ```
            pub enum Compiles { AndIsNotRun }
        "#,
    );
    let without = examples::items_without(&document_of(&package, "scratch"));
    let expected = ["Compiles", "Panics::drawing", "Panics::silent"];
    assert_eq!(
        without.iter().map(String::as_str).collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn a_program_with_two_rayon_cores_is_refused() {
    let package = Scratch::new("two-cores", Source::Fork);
    package.write("src/lib.rs", "");
    assert!(
        package
            .cargo("metadata", &["--quiet", "--format-version", "1"])
            .status
            .success()
    );
    // Any package that says it is the one with the global pool.
    package.write("other/src/lib.rs", "");
    package.write("other/build.rs", "fn main() {}");
    package.write(
        "other/Cargo.toml",
        "[package]\nname = \"other\"\nversion = \"1.0.0\"\nedition = \"2024\"\nlinks = \"rayon-core\"\n",
    );
    let manifest = fs::read_to_string(package.path("Cargo.toml")).unwrap();
    package.write(
        "Cargo.toml",
        &format!("{manifest}other = {{ path = 'other' }}\n"),
    );
    let output = package.cargo("metadata", &["--quiet", "--format-version", "1"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "Cargo accepted both");
    assert!(
        stderr.contains("links to the native library `rayon-core`"),
        "{stderr}"
    );
}
