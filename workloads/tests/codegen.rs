//! The machine code of the checksum: the sum that is timed is vector code.

use std::fs;
use std::process::Command;

/// Appended to the file, so that each function is compiled, and found.
const PROBES: &str = "
#[unsafe(no_mangle)]
pub fn probe_sum(bytes: &[u8]) -> u16 { sum(bytes) }
#[unsafe(no_mangle)]
pub fn probe_word_by_word(bytes: &[u8]) -> u16 { sum_word_by_word(bytes) }
";

/// Vector additions of 64-bit words, as the assembler names them.
const VECTOR_ADDITIONS: &[&str] = if cfg!(target_arch = "x86_64") {
    &["paddq"] // `vpaddq` too
} else if cfg!(target_arch = "aarch64") {
    &["uaddw", "uadalp", ".2d"]
} else {
    &[]
};

/// The assembly of one of the probes and of all that it calls.
fn assembly(probe: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (source, output) = (
        folder.path().join("probe.rs"),
        folder.path().join("probe.s"),
    );
    let probes: String = PROBES
        .split_inclusive("}\n")
        .filter(|it| it.contains(probe))
        .collect();
    assert!(probes.contains("no_mangle"), "no such probe");
    let checksum = include_str!("../src/checksum.rs").replace("pub fn", "fn");
    fs::write(&source, checksum + &probes).unwrap();
    let compiler = Command::new("rustc")
        .args([
            "--edition=2024",
            "--crate-type=lib",
            "-Copt-level=3",
            "-Ccodegen-units=1",
        ])
        .args(["--emit=asm", "-Awarnings", "-o"])
        .args([&output, &source])
        .output()
        .unwrap();
    assert!(
        compiler.status.success(),
        "{}",
        String::from_utf8_lossy(&compiler.stderr)
    );
    let assembly = fs::read_to_string(output).unwrap();
    assert!(
        assembly.contains(probe),
        "no code of the probe was compiled"
    );
    assembly
}

fn vector_additions(probe: &str) -> usize {
    let is_vector = |line: &&str| {
        VECTOR_ADDITIONS
            .iter()
            .any(|addition| line.contains(addition))
    };
    assembly(probe).lines().filter(is_vector).count()
}

#[test]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    ignore = "unknown assembler"
)]
fn the_checksum_kernel_adds_with_vector_instructions_and_its_word_by_word_twin_does_not() {
    assert!(
        vector_additions("probe_sum") > 0,
        "{}",
        assembly("probe_sum")
    );
    assert_eq!(
        vector_additions("probe_word_by_word"),
        0,
        "the search finds vectors everywhere"
    );
}
