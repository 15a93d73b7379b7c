//! Copies the fork for a program that uses the fork without this workspace.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use runner::stop::Stop;
use xshell::{Shell, cmd};

/// The beginning of the copy's README.
const COPY: &str = "> A copy of one folder. Links that begin with `../` lead to other folders of the repository \
                    that it is from, work-stealing-lab, at the commit in `.cargo_vcs_info.json`.\n\n";

/// Unpacks the fork, as Cargo packages it, into a folder that is new or empty. The copy also has
/// the licences, and names the fork's commit (`.cargo_vcs_info.json`). Prints the [`lines`] that a
/// program needs.
///
/// # Errors
/// [`Stop::BadInput`] if the folder is not empty.
pub(crate) fn run(sh: &Shell, typed: &Path) -> Result<()> {
    // A path that a user types is relative to the user's folder, not to the shell's.
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
    let readme = to.join("README.md");
    let text = sh.read_file(&readme)?;
    sh.write_file(&readme, format!("{COPY}{text}"))?;
    let path = to.canonicalize().unwrap_or(to);
    let program = workspace_around(sh, &path);
    let place = match &program {
        Some(root) => root.join("Cargo.toml").display().to_string(),
        None => "the Cargo.toml of your program".to_owned(),
    };
    eprintln!(
        "── the fork is in {}; add this to {place}, in its own tables if it has them:",
        path.display()
    );
    let seen = program.as_ref().and_then(|it| path.strip_prefix(it).ok());
    println!("{}", lines(seen.unwrap_or(&path)));
    eprintln!("── if its Cargo.lock has rayon-core, run there: cargo update -p rayon-core");
    Ok(())
}

/// Returns the lines for the Cargo.toml of a program; `path` is the copy's path, relative to that
/// file.
fn lines(path: &Path) -> String {
    let path = toml::Value::from(path.display().to_string());
    format!(
        "[dependencies]\nrayon-core = {{ version = \"1.13\", features = [\"champion\"] }}\n\n\
         [patch.crates-io]\nrayon-core = {{ path = {path} }}"
    )
}

/// Finds the workspace or the package around a folder: only the manifest of that workspace or
/// package can have patches.
fn workspace_around(sh: &Shell, folder: &Path) -> Option<PathBuf> {
    let mut above = folder.ancestors().skip(1);
    let manifest = above.find_map(|it| Some(it.join("Cargo.toml")).filter(|it| it.is_file()))?;
    let locate = cmd!(
        sh,
        "cargo locate-project --quiet --workspace --message-format plain --manifest-path {manifest}"
    );
    let found = locate.quiet().ignore_stderr().read().ok()?;
    let root = Path::new(found.trim()).parent()?.canonicalize().ok()?;
    folder.starts_with(&root).then_some(root)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use xshell::cmd;

    use super::{lines, run, workspace_around};
    use crate::fork;
    use crate::shell::at_root;

    #[test]
    fn a_program_is_given_the_way_to_the_copy_as_its_workspace_sees_it() {
        let sh = at_root().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let copy = root.join("member/rayon-core");
        assert_eq!(workspace_around(&sh, &copy), None);
        let workspace = "[workspace]\nmembers = [\"member\"]\nresolver = \"3\"\n";
        sh.write_file(root.join("Cargo.toml"), workspace).unwrap();
        let member = "[package]\nname = \"member\"\nedition = \"2024\"\n";
        sh.write_file(root.join("member/Cargo.toml"), member)
            .unwrap();
        sh.write_file(root.join("member/src/lib.rs"), "").unwrap();
        assert_eq!(workspace_around(&sh, &copy), Some(root));
    }

    #[test]
    fn the_readme_has_the_lines_that_the_command_prints() {
        let sh = at_root().unwrap();
        let readme = sh.read_file("README.md").unwrap();
        let command = "\n$ cargo xtask vendor ../my-program/rayon-core\n";
        let (_, after) = readme.split_once(command).unwrap();
        let (_, after) = after.split_once("```toml\n").unwrap();
        // In the README, comments follow the printed lines.
        let lines = format!("{}\n#", lines(Path::new("rayon-core")));
        assert!(after.starts_with(&lines), "{lines}");
    }

    /// The copy is in the program's own folder, so that the program's commits contain it.
    #[test]
    fn a_program_builds_with_the_copy_alone_and_without_the_network() {
        let sh = at_root().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let copy = program.join("rayon-core");
        run(&sh, &copy).unwrap();
        let told = run(&sh, &copy).unwrap_err().to_string();
        assert!(told.contains("the folder is not empty"), "{told}");
        sh.write_file(
            program.join("src/main.rs"),
            "fn main() { rayon_core::join(|| (), || ()); }",
        )
        .unwrap();
        let manifest = format!(
            "[package]\nname = \"program\"\nedition = \"2024\"\n\n{}\n",
            lines(Path::new("rayon-core"))
        );
        sh.write_file(program.join("Cargo.toml"), manifest).unwrap();
        let _dir = sh.push_dir(&program);
        let _target = sh.push_env("CARGO_TARGET_DIR", program.join("target"));
        cmd!(sh, "cargo run --quiet --offline").run().unwrap();
    }

    /// If a Git repository has two packages of one name, Cargo refuses a patch without a version.
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
