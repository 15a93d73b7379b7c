//! Declares the module of each program in `src/kinds/` that `workloads.toml` names. A new workload
//! is a file in `src/kinds/` and a row of `workloads.toml`; no other list names the workload.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=workloads.toml");
    println!("cargo::rerun-if-changed=src/kinds");
    let variable = |name| env::var(name).expect("Cargo sets this variable");
    let kinds = Path::new(&variable("CARGO_MANIFEST_DIR")).join("src/kinds");
    let rows = fs::read_to_string("workloads.toml").expect("the file lies beside this one");
    let (mut modules, mut programs) = (String::new(), String::new());
    let mut named = BTreeSet::new();
    for row in rows.split("[[workload]]\n").skip(1) {
        // The library parses and checks the rows. This script has no dependencies, so that it
        // compiles fast.
        let field = |name: &str| {
            row.lines().find_map(|line| {
                line.strip_prefix(name)?
                    .strip_prefix(" = \"")?
                    .strip_suffix('"')
            })
        };
        let program = field("program")
            .or(field("name"))
            .expect("a row has a name");
        let part = field("part");
        if part == Some("services") || !named.insert(program) {
            continue;
        }
        let module = program.replace('-', "_");
        let file = kinds.join(format!("{module}.rs"));
        let folder = kinds.join(&module).join("mod.rs");
        let path = if folder.is_file() { folder } else { file };
        assert!(
            path.is_file(),
            "workloads.toml: the program of `{program}` is missing: src/kinds/{module}.rs"
        );
        let condition = if part == Some("study") {
            ""
        } else {
            "#[cfg(feature = \"further\")]\n"
        };
        let path = path.display();
        let written = writeln!(
            modules,
            "{condition}#[path = \"{path}\"]\npub mod {module};"
        )
        .and(writeln!(
            programs,
            "{condition}(\"{program}\", {module}::prepare),"
        ));
        written.expect("writing to a string cannot fail");
    }
    let shared = fs::read_to_string(kinds.join("mod.rs")).expect("the folder has a mod.rs");
    for entry in fs::read_dir(&kinds).expect("the folder exists").flatten() {
        let path = entry.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let module = format!("mod {name};\n");
        assert!(
            name == "mod" || modules.contains(&module) || shared.contains(&module),
            "src/kinds/{name}: neither workloads.toml nor src/kinds/mod.rs names it; add a row, or `mod {name};`"
        );
    }
    let text = format!(
        "{modules}/// The programs by name.\npub(crate) static PROGRAMS: &[(&str, crate::catalogue::Prepare)] = &[\n{programs}];\n"
    );
    fs::write(Path::new(&variable("OUT_DIR")).join("kinds.rs"), text)
        .expect("Cargo has made the folder");
}
