//! Where a feature of the fork is: each has a room of its name, a file or folder, or a type, or if it is one branch of one
//! function, a constant.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use runner::config::Features;
use runner::config::checkout::Checkout;

use super::modifiers;

/// `no-jec` as `no_jec`, `NoJec` and `NO_JEC`.
fn spellings(feature: &str) -> [String; 3] {
    let small = feature.replace('-', "_");
    let capitalized = |word: &str| word[..1].to_uppercase() + &word[1..];
    [small.clone(), feature.split('-').map(capitalized).collect(), small.to_uppercase()]
}

/// The names of files, folders, types and constants below `folder`.
fn rooms(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        found.insert(path.file_stem().unwrap().to_str().unwrap().to_owned());
        if path.is_dir() {
            found.extend(rooms(&path));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let defined = text.lines().filter_map(|line| {
            let words = line.trim().trim_start_matches("pub(crate) ").split_once(' ');
            let (_, rest) = words.filter(|(kind, _)| ["const", "enum", "struct"].contains(kind))?;
            rest.split(|sign: char| !(sign.is_alphanumeric() || sign == '_')).next().map(str::to_owned)
        });
        found.extend(defined);
    }
    found
}

#[test]
fn every_feature_has_a_room_of_its_name() {
    let rooms = rooms(&Checkout::find(None).unwrap().root().join("rayon-fork/src"));
    let packings = Features::of_the_fork().packings.iter().map(String::as_str);
    let homeless: Vec<_> =
        packings.chain(modifiers()).filter(|name| spellings(name).iter().all(|it| !rooms.contains(it))).collect();
    assert!(homeless.is_empty(), "nothing in rayon-fork/src is called {homeless:?}");
    assert!(!rooms.contains("spread"), "a name of no feature is found");
}
