//! Runs the fork on simulated machines. The fork and its tests of behaviour are rewritten, as the
//! runner rewrites every branch for a simulated machine.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use cargo_metadata::MetadataCommand;
use runner::build::rewriting::{self, Rewritten};
use toml::{Table, Value};
use xshell::{Shell, cmd};

use crate::scratch::Scratch;
use crate::shell::{alone, step};
use crate::variants::Variant;

/// Arguments that skip a test. This test requests a stack too large for the host, but all simulated
/// threads have a stack of one fixed size.
const LEFT_OUT: [&str; 2] = [
    "--skip",
    "a_scoped_pool_whose_threads_cannot_start_is_an_error",
];

/// Runs the tests of the pool and of its behaviour on `variants`. Only the first build counts
/// events.
pub(crate) fn test(sh: &Shell, variants: &[Variant]) -> Result<()> {
    let root = sh.current_dir();
    let _lock = alone(sh, "simulated-tests")?;
    let package = write(sh).context("the fork cannot be made ready for simulated machines")?;
    let _folder = sh.push_dir(&package.folder);
    let _target = sh.push_env("CARGO_TARGET_DIR", root.join("target/simulated"));
    let _flags = sh.push_env(
        "CARGO_ENCODED_RUSTFLAGS",
        "--cfg=manycore\x1f--cap-lints=allow",
    );
    // Pools with 8 threads by default leave simulated cores to the other threads of a test.
    let _threads = sh.push_env("RAYON_NUM_THREADS", "8");
    for (i, variant) in variants.iter().enumerate() {
        let mut features = variant.features_of("rayon-core");
        features.extend((i == 0).then(|| "--features=instrument".to_owned()));
        let title = format!(
            "pool and behaviour on simulated machines, {}",
            variant.name()
        );
        let test = cmd!(sh, "cargo test --quiet --release {features...}");
        step(&title, test.arg("--").args(LEFT_OUT))?;
    }
    Ok(())
}

fn write(sh: &Shell) -> Result<Scratch<'_>> {
    let root = sh.current_dir();
    let fork = root.join("rayon-fork");
    let mut package = Scratch::new(
        sh,
        "simulated-tests",
        toml::toml! {
            features = { instrument = ["rayon-core/instrument"] }
            dependencies = { rayon-core = "1" }
            test = [{ name = "behaviour", path = "tests/behaviour/main.rs" }, { name = "pool" }]
            // The tests are short, so optimization would take more time than it saves.
            profile = { release = { opt-level = 1, codegen-units = 1, package = { scratch = { opt-level = 0 } } } }
        },
    );
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .exec()?;
    let copies = package.folder.join(rewriting::FOLDER);
    let rewritten = rewriting::rewrite(&metadata, &copies, &root.join("manycore/std"))?;
    add_paths(&mut package.manifest, &root, &rewritten)?;
    package.write()?;
    fs::copy(root.join("Cargo.lock"), package.folder.join("Cargo.lock"))?;
    let mut files = vec![fork.join("tests/common/mod.rs")];
    for entry in fs::read_dir(fork.join("tests/behaviour"))? {
        files.push(entry?.path());
    }
    for file in files {
        let told =
            |fault: rewrite::Fault| anyhow!("{}:{}: {}", file.display(), fault.line, fault.why);
        let text = rewrite::rewritten(&fs::read_to_string(&file)?, false).map_err(told)?;
        let mut text = rewrite::with_tests_on(&text, "crate::runs::run").map_err(told)?;
        if file.ends_with("main.rs") {
            let runs = fork.join("tests/simulated/runs.rs").display().to_string();
            text.extend(["\n#[path = \"", &runs, "\"]\nmod runs;\n"]);
        }
        let name = file.strip_prefix(&fork)?.to_str();
        package.file(name.context("a test's name is text")?, &text)?;
    }
    Ok(package)
}

fn add_paths(manifest: &mut Table, root: &Path, rewritten: &[Rewritten]) -> Result<()> {
    let path = |inside: &str| {
        let path = Value::String(root.join(inside).display().to_string());
        Table::from_iter([("path".to_owned(), path)])
    };
    let dependencies = manifest["dependencies"]
        .as_table_mut()
        .context("it is written above")?;
    dependencies.insert("manycore".to_owned(), Value::Table(path("manycore")));
    dependencies.insert("cores-std".to_owned(), Value::Table(path("manycore/std")));
    let pool = manifest["test"][1]
        .as_table_mut()
        .context("it is written above")?;
    pool.extend(path("rayon-fork/tests/simulated/pool.rs"));
    let patched = Value::Table(rewritten.iter().map(Rewritten::patch).collect());
    let sources = Table::from_iter([("crates-io".to_owned(), patched)]);
    manifest.insert("patch".to_owned(), Value::Table(sources));
    Ok(())
}
