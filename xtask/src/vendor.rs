//! Copies the fork for a program that uses it without this workspace.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use runner::stop::Stop;
use xshell::{Shell, cmd};

/// Unpacks the fork as Cargo packs it, with its licences and its commit (`.cargo_vcs_info.json`),
/// into a folder that is new or empty. Prints the lines that a program needs.
///
/// # Errors
/// [`Stop::BadInput`] if the folder is not empty.
pub(crate) fn run(sh: &Shell, typed: &Path) -> Result<()> {
    // A typed path starts from the user's folder, not from the shell's.
    let here = std::env::current_dir().context("the current folder cannot be read")?;
    let to = here.join(typed);
    let is_free = sh.read_dir(&to).map_or(!to.exists(), |it| it.is_empty());
    ensure!(
        is_free,
        Stop::BadInput(format!(
            "{}: the folder is not empty; name a new folder, or an empty one",
            typed.display()
        ))
    );
    eprintln!("── the fork is packed, as Cargo would publish it");
    let target = sh.create_temp_dir()?;
    let place = target.path();
    let package = ["--package", "rayon-core", "--no-verify", "--allow-dirty"];
    cmd!(
        sh,
        "cargo package --quiet --exclude-lockfile --target-dir {place} {package...}"
    )
    .quiet()
    .run()?;
    let packed = sh.read_dir(place.join("package"))?.into_iter();
    let packed = packed.filter(|it| it.extension().is_some_and(|it| it == "crate"));
    let packed: Vec<_> = packed.collect();
    sh.create_dir(&to)?;
    cmd!(
        sh,
        "tar --extract --gzip --strip-components 1 --directory {to} --file {packed...}"
    )
    .quiet()
    .run()?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        sh.copy_file(sh.current_dir().join(licence), to.join(licence))?;
    }
    let path = to.canonicalize().unwrap_or(to);
    eprintln!(
        "── the fork is in {}; add this to the Cargo.toml of your program:",
        path.display()
    );
    println!(
        "[dependencies]\nrayon-core = {{ version = \"1.13\", features = [\"champion\"] }}\n\n\
         [patch.crates-io]\nrayon-core = {{ path = '{}' }}",
        path.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use xshell::cmd;

    use super::run;
    use crate::fork;
    use crate::shell::at_root;

    #[test]
    fn a_program_in_an_empty_folder_builds_with_the_copy_alone_and_without_the_network() {
        let sh = at_root().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("rayon-core");
        run(&sh, &copy).unwrap();
        let told = run(&sh, &copy).unwrap_err().to_string();
        assert!(told.contains("the folder is not empty"), "{told}");
        let program = folder.path().join("program");
        sh.write_file(
            program.join("src/main.rs"),
            "fn main() { rayon_core::join(|| (), || ()); }",
        )
        .unwrap();
        let manifest = "[package]\nname = \"program\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
                        rayon-core = { path = \"../rayon-core\", features = [\"champion\"] }\n";
        sh.write_file(program.join("Cargo.toml"), manifest).unwrap();
        let _dir = sh.push_dir(&program);
        let _target = sh.push_env("CARGO_TARGET_DIR", program.join("target"));
        cmd!(sh, "cargo run --quiet --offline").run().unwrap();
    }

    /// Cargo refuses a patch by an address where it finds two packages of that name and no version.
    #[test]
    fn the_git_line_of_the_readme_names_the_version_of_the_fork_and_of_no_other_package() {
        let sh = at_root().unwrap();
        let readme = sh.read_file(fork::folder(&sh).join("README.md")).unwrap();
        let is_line = |line: &&str| line.starts_with("rayon-core = { git = \"URL\"");
        let line: toml::Table = readme.lines().find(is_line).unwrap().parse().unwrap();
        let named = line["rayon-core"]["version"].as_str().unwrap();
        let version = |folder: &str| {
            let manifest = fork::manifest_in(&sh, &sh.current_dir().join(folder)).unwrap();
            let package = &manifest["package"];
            assert_eq!(package["name"].as_str(), Some("rayon-core"), "{folder}");
            format!("={}", package["version"].as_str().unwrap())
        };
        assert_eq!(named, version("rayon-fork"));
        assert_ne!(named, version("rivals"));
    }
}
