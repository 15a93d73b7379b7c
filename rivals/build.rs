//! Checks that a build names exactly one rival, and compiles the C file of OpenMP.

use std::env;

const RIVALS: [&str; 3] = ["chili", "fork-union", "openmp"];

fn main() {
    let is_named = |rival: &&str| {
        let name = rival.to_uppercase().replace('-', "_");
        env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
    };
    let named: Vec<&str> = RIVALS.into_iter().filter(is_named).collect();
    assert!(
        named.len() == 1,
        "name exactly one rival by a feature of {}; named: {}",
        RIVALS.join(", "),
        if named.is_empty() {
            "none".to_owned()
        } else {
            named.join(", ")
        }
    );
    #[cfg(feature = "openmp")]
    {
        println!("cargo::rerun-if-changed=src/openmp.c");
        cc::Build::new()
            .file("src/openmp.c")
            .flag("-fopenmp")
            .compile("rival_openmp");
        println!("cargo::rustc-link-lib=gomp");
    }
}
