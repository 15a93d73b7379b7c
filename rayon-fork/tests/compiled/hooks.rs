use std::fs;
use std::path::{Path, PathBuf};

use crate::scratch::{Scratch, Source};

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// This code is appended to the crate, so that the crate's generic functions are compiled too.
const PROBE: &str = "
    #[unsafe(no_mangle)]
    pub fn probe(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = join(|| probe(n - 1), || probe(n - 2));
        scope(|s| s.spawn(|_| spawn(|| ())));
        broadcast(|context| context.index()).len() as u64 + a + b
    }
";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hooks {
    Kept,
    Deleted,
}

/// Returns whether `line` only calls a hook. Each hook has a line of its own.
fn is_hook(line: &str) -> bool {
    let line = line.trim();
    (line.starts_with("hooks::") && line.ends_with(");"))
        || line.starts_with("let _here = self.records.visit()")
}

fn copy_source(scratch: &Scratch, hooks: Hooks) -> usize {
    let mut found = 0;
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in files_below(&crate_folder.join("src")) {
        let path = file.strip_prefix(crate_folder).unwrap().to_str().unwrap();
        let mut text = fs::read_to_string(&file).unwrap();
        if !path.starts_with("src/instrument") && !path.starts_with("src/hooks") {
            found += text.lines().filter(|line| is_hook(line)).count();
            if hooks == Hooks::Deleted {
                // An empty line stays in place of the hook, because panic messages contain line
                // numbers.
                let lines = text
                    .lines()
                    .map(|line| if is_hook(line) { "" } else { line });
                text = lines.flat_map(|line| [line, "\n"]).collect();
            }
        }
        if path == "src/lib.rs" {
            text.push_str(PROBE);
        }
        scratch.write(path, &text);
    }
    found
}

fn assembly(scratch: &Scratch, hooks: Hooks, features: &str) -> String {
    assert!(copy_source(scratch, hooks) > 15, "where are the hooks?");
    let assembly = scratch.path("probe.s");
    let emit = format!("--emit=asm={}", assembly.display());
    let arguments = [
        "--quiet",
        "--release",
        "--features",
        features,
        "--",
        &emit,
        "-Ccodegen-units=1",
    ];
    let output = scratch.cargo("rustc", &arguments);
    assert!(
        output.status.success(),
        "without its hooks the crate does not compile; is each hook a line of its own?\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    fs::read_to_string(assembly).unwrap()
}

fn scratch() -> Scratch {
    let scratch = Scratch::new("codegen", Source::Fork);
    scratch.write(
        "Cargo.toml",
        "[package]\nname = \"scratch\"\nedition = \"2024\"\n\n\
         [features]\ninstrument = []\n\n\
         [dependencies]\ncrossbeam-deque = \"*\"\ncrossbeam-utils = \"*\"\n\
         rustix = { version = \"*\", features = [\"thread\"] }\n\n[workspace]\n",
    );
    scratch
}

#[test]
fn hooks_leave_no_code_without_instrument_and_some_with_it() {
    let scratch = scratch();
    let kept = assembly(&scratch, Hooks::Kept, "");
    let deleted = assembly(&scratch, Hooks::Deleted, "");
    assert!(kept.contains("probe:"), "no code of the probe was compiled");
    assert!(
        !kept.contains("instrument"),
        "the assembly names a part of `instrument`"
    );
    if let Some((kept, deleted)) = kept.lines().zip(deleted.lines()).find(|(a, b)| a != b) {
        panic!("a hook left code. With hooks: `{kept}`; with the lines deleted: `{deleted}`");
    }
    assert_eq!(kept.len(), deleted.len(), "a hook left code at the end");

    let [kept, deleted] =
        [Hooks::Kept, Hooks::Deleted].map(|hooks| assembly(&scratch, hooks, "instrument"));
    assert_ne!(
        kept, deleted,
        "the comparison does not see the code that hooks leave with `instrument`"
    );
}
