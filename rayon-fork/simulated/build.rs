//! The fork's build script, on the fork's manifest.

#[path = "../build.rs"]
mod fork;

fn main() {
    std::env::set_current_dir("..").expect("the fork's folder is above");
    fork::main();
    println!("cargo::rerun-if-changed=../build.rs");
    println!("cargo::rerun-if-changed=../Cargo.toml");
}
