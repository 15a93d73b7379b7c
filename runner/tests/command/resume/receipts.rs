use std::path::PathBuf;
use std::{fs, io};

use runner::record::trials_file::{self, Text};
use serde_json::Value;

use super::{killed_sweep, sweep_in};
use crate::common;

fn sweep() -> PathBuf {
    sweep_in(killed_sweep()).unwrap()
}

fn read(name: &str) -> Value {
    serde_json::from_slice(&fs::read(sweep().join(name)).unwrap()).unwrap()
}

fn is_sha256(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn every_binary_has_a_receipt_and_the_manifest_says_how_it_was_built() {
    let manifest = read("manifest.json");
    let receipt = &manifest["branches"][0]["receipt"];
    for digest in ["binary_sha256", "lock_sha256"] {
        assert!(is_sha256(&receipt[digest]), "{receipt}");
    }
    assert_eq!(receipt["layouts_sha256"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&receipt["variant"], &receipt["version"]),
        (&"upstream".into(), &"1.13.0".into())
    );
    assert_eq!(receipt["origin"], "registry");
    assert!(receipt["binary_bytes"].as_u64().unwrap() > 100_000);
    let toolchain = &manifest["toolchain"];
    let rustc = toolchain["rustc"].to_string();
    for line in ["[\"rustc ", "LLVM version: "] {
        assert!(rustc.contains(line), "{rustc}");
    }
    assert!(!toolchain["profile"].as_str().unwrap().is_empty());
    assert!(toolchain["flags"].is_object() && is_sha256(&toolchain["lock_sha256"]));
    assert_eq!(manifest["settle_ms"], 10);
    assert_eq!(manifest["asked"]["layouts"], 2);
    assert!(manifest["asked"]["seed"].is_u64());
}

#[test]
fn nothing_that_is_written_names_a_folder_of_this_machine() {
    let mut folders = vec![common::root(), killed_sweep().path().to_owned()];
    folders.extend(std::env::home_dir().filter(|home| home.components().count() > 1));
    for file in [
        sweep().join("manifest.json"),
        sweep().join("host.json"),
        trials_file::of(&sweep()),
    ] {
        let text = io::read_to_string(Text::open(&file).unwrap()).unwrap();
        for folder in &folders {
            assert!(
                !text.contains(&folder.display().to_string()),
                "{}: {}",
                file.display(),
                folder.display()
            );
        }
    }
}
