//! Checks the programs and the disk space that a sweep needs.

use super::Severity::{Unfit, Warning};
use super::{Circumstances, Diagnosis, Tool};

/// Bytes that a folder should have left, and below which a sweep is likely not to end. Guesses: ten
/// branches in eleven layouts take about half of the first, a sweep's records some megabytes.
const ROOM: [u64; 2] = [2 << 30, 100 << 20];

pub(super) fn check(around: &Circumstances, diagnosis: &mut Diagnosis) {
    let mut tool = |seen: Result<String, String>, severity, id, why, remedy| match seen {
        Ok(version) => diagnosis.good(version),
        Err(reason) => diagnosis.add(severity, id, reason, why, remedy),
    };
    for Tool { name, seen } in &around.compilers {
        tool(
            seen.clone()
                .map_err(|reason| format!("`{name} --version`: {reason}")),
            Unfit,
            "compiler",
            "branches cannot be built",
            "install Rust by rustup, which reads rust-toolchain.toml, and put ~/.cargo/bin into PATH",
        );
    }
    tool(
        around.linker.clone(),
        Warning,
        "linker",
        "branches cannot be linked in several layouts, so the effect of one layout cannot be separated \
         from that of a design",
        "install LLVM's linker (Debian: `apt install lld`) and link with it, or ask for `--layouts 1`",
    );
    tool(
        around.python.clone(),
        Warning,
        "python",
        "sweeps run, but `cargo runner report` cannot draw them",
        "install Python and its module venv (Debian: `apt install python3-venv`)",
    );
    disks(around, diagnosis);
}

fn disks(around: &Circumstances, diagnosis: &mut Diagnosis) {
    for disk in &around.disks {
        let folder = &disk.folder;
        if !disk.is_writable {
            diagnosis.add(
                Unfit,
                "folder",
                format!("{folder}/ cannot be written"),
                "neither binaries nor results can be kept",
                "give yourself the right to write there; for results alone, `--output DIR` names another place",
            );
            continue;
        }
        let free = disk.free_bytes.ok_or("statvfs is refused".to_owned());
        let Some(free) = diagnosis.known(&format!("room for {folder}/"), free) else {
            continue;
        };
        let shown = format!("{:.1} GiB", free as f64 / f64::from(1 << 30));
        if free >= ROOM[0] {
            diagnosis.good(format!("{shown} are free for {folder}/"));
            continue;
        }
        diagnosis.add(
            if free < ROOM[1] { Unfit } else { Warning },
            "disk",
            format!("{shown} are free for {folder}/"),
            "a sweep that finds the disk full stops; what it has is safe, and it can be resumed",
            "make room: `cargo clean` empties target/, or `--output DIR` puts results elsewhere",
        );
    }
}
