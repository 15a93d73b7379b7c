//! Cargo wants a build script of every package with `links`; there is nothing to build.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
