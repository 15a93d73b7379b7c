//! Refuses features that exclude each other, by the lists in `Cargo.toml`.

use std::{env, fs, process};

fn main() {
    let manifest =
        fs::read_to_string("Cargo.toml").expect("Cargo runs this in the package's folder");
    let is_on = |feature: &str| env::var_os(variable(feature)).is_some();
    let counter_layouts = strings(&manifest, "counter-layouts");
    let mut chosen = counter_layouts
        .iter()
        .filter(|counter_layout| is_on(counter_layout));
    let counter_layout = chosen.next().unwrap_or(&counter_layouts[0]);
    if let Some(other) = chosen.next() {
        refuse(
            counter_layout,
            other,
            "both are layouts of the counters, and a build has one layout",
        );
    }
    for row in strings(&manifest, "exclusive").chunks_exact(3) {
        if is_on(row[0]) && is_on(row[1]) {
            refuse(row[0], row[1], row[2]);
        }
    }
    // A test reads the parts of the variant's name from the variable `FORK_VARIANT`.
    let other: Vec<_> = strings(&manifest, "other")
        .into_iter()
        .map(variable)
        .collect();
    // Other variables may not be valid Unicode, and `vars` would panic.
    let features = env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| !other.contains(name))
        .filter_map(|name| {
            Some(
                name.strip_prefix("CARGO_FEATURE_")?
                    .to_lowercase()
                    .replace('_', "-"),
            )
        });
    let words: Vec<_> = features.chain([(*counter_layout).to_owned()]).collect();
    println!("cargo::rustc-env=FORK_VARIANT={}", words.join(" "));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=Cargo.toml");
}

fn variable(feature: &str) -> String {
    format!("CARGO_FEATURE_{}", feature.to_uppercase().replace('-', "_"))
}

fn refuse(one: &str, other: &str, reason: &str) -> ! {
    eprintln!(
        "error: features `{one}` and `{other}` of rayon-core exclude each other: {reason}; keep one"
    );
    process::exit(1)
}

/// Returns all strings in the list `key` of the manifest. A list of lists ends after its last inner
/// list.
pub(crate) fn strings<'m>(manifest: &'m str, key: &str) -> Vec<&'m str> {
    let (_, list) = manifest
        .split_once(&format!("\n{key} = ["))
        .expect("a list of that name");
    let is_of_lists = list.trim_start().starts_with('[');
    let mut ends = list.match_indices(']').map(|(at, _)| at);
    let end = if is_of_lists {
        // After the end of the last inner list comes the end of the list, or a comma and that end.
        ends.find(|&at| {
            list[at + 1..]
                .trim_start_matches([',', ' ', '\n'])
                .starts_with(']')
        })
    } else {
        ends.next()
    };
    let list = &list[..end.expect("an end of the list")];
    list.split('"').skip(1).step_by(2).collect()
}
