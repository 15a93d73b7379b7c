//! Resumes a stopped sweep: the same plan again, if the measured builds and the host have not
//! changed.

use anyhow::{Result, bail};
use protocol::WholeProgram;

use super::begin::{BuiltSet, SweepArgs, SweepCommand, SweepRun, build_all, warnings};
use crate::build::package;
use crate::config::checkout::Commit;
use crate::config::{Branch, catalogue};
use crate::host::Host;
use crate::options::Project;
use crate::options::meaning::without_folders;
use crate::plan;
use crate::plan::machines;
use crate::record::manifest::{Manifest, MeasuredBranch, arguments_sha256, identities};
use crate::record::sweep_dir::SweepDir;
use crate::stop::Stop;

pub(super) fn resume(
    project: &Project,
    arguments: &SweepArgs,
    command: &SweepCommand,
    sweep: SweepDir,
) -> Result<SweepRun> {
    let manifest = sweep.manifest()?;
    if let Some(program) = &manifest.asked.program {
        let Some(typed) = &command.program else {
            bail!(Stop::BadInput(format!(
                "{} compares `{}`, whose folder is not in the results; continue with \
                 `cargo runner compare --resume {} --program DIR -- ARGUMENTS`",
                manifest.name,
                program.binary,
                project.reference_to(&sweep)
            )));
        };
        let found = package::find(&typed.folder, Some(&program.binary), &typed.arguments)?;
        let shown = without_folders(project, found.clone())?;
        check_program(&manifest, program, &shown, &typed.arguments)?;
        catalogue::list_user(found);
    }
    if !manifest.shards.is_empty() {
        bail!(Stop::BadInput(format!(
            "{} is merged from shards; resume the unfinished shards, then merge again",
            manifest.name
        )));
    }
    let host = machines::host_id(&manifest.asked);
    if host != manifest.host {
        bail!(Stop::HostNotFit(format!(
            "{} was begun on host {}, this is {host}; times of two machines must not be mixed; \
             resume it on that host, or begin a new sweep on this one",
            manifest.name, manifest.host
        )));
    }
    sweep.check_writable()?;
    // This line refuses a sweep without a readable `host.json`, because no command could show its
    // trials.
    sweep.host()?;
    let warnings = if let Some(machine) = &manifest.asked.machine {
        machines::restore(project.checkout.root(), machine)?;
        Vec::new()
    } else {
        let frequency = arguments.selection.frequency.setup();
        frequency.check_modes(
            &manifest.asked.modes,
            arguments.selection.allow_uncontrolled,
        )?;
        warnings(&Host::default())
    };
    let inputs = project.inputs(&manifest.asked, arguments.selection.input.as_deref())?;
    let branches: Vec<Branch> = manifest
        .builds()
        .map(|branch| Branch {
            baseline: branch.baseline,
            hypothesis: branch.hypothesis.clone(),
            claims: branch.claims.clone(),
            ..Branch::new(branch.name.clone(), branch.source.clone())
        })
        .collect();
    let BuiltSet {
        branches,
        binaries,
        building,
        ..
    } = build_all(project, &manifest.asked, &branches)?;
    let changes = changes(&manifest, &branches);
    if !changes.is_empty() {
        bail!(Stop::BadInput(format!(
            "{} cannot be resumed, because these have changed:\n  {}\n\
             restore the state in which it was begun (commit {}, and a checkout at the same path, which \
             is part of a binary), or begin another sweep",
            manifest.name,
            changes.join("\n  "),
            manifest.checkout.commit.as_deref().unwrap_or("unknown")
        )));
    }
    let plan = plan::order(&manifest.asked, &identities(manifest.builds()));
    if plan.digest() != manifest.plan_digest {
        bail!(Stop::BadInput(format!(
            "{} was begun by runner {}, which orders trials differently; resume it with that version",
            manifest.name, manifest.runner
        )));
    }
    let plan = plan.part(manifest.shard);
    Ok(SweepRun {
        sweep,
        manifest,
        plan,
        binaries,
        inputs,
        building,
        warnings,
    })
}

/// Refuses another program than the one that a sweep compares, and other arguments. The digest of
/// the typed arguments differs also where only the folder of a file differs, which results leave out.
fn check_program(
    manifest: &Manifest,
    program: &WholeProgram,
    shown: &WholeProgram,
    typed: &[String],
) -> Result<()> {
    if shown != program {
        bail!(Stop::BadInput(format!(
            "{} compares `{}` of the package {} with the arguments {:?}; this command names `{}` of {} with {:?}",
            manifest.name,
            program.binary,
            program.package,
            program.arguments,
            shown.binary,
            shown.package,
            shown.arguments
        )));
    }
    let begun = manifest.arguments_sha256.as_ref();
    if begun.is_some_and(|begun| *begun != arguments_sha256(typed)) {
        bail!(Stop::BadInput(format!(
            "{} was begun with other arguments after `--`, such as files of another folder; results have only the names \
             of files: {:?}; type the arguments with which it was begun, or begin another sweep",
            manifest.name, program.arguments
        )));
    }
    Ok(())
}

fn changes(manifest: &Manifest, now: &[MeasuredBranch]) -> Vec<String> {
    let mut changes = Vec::new();
    for branch in now {
        let name = &branch.name;
        let Some(before) = manifest.branch(name).map(|it| &it.receipt) else {
            continue;
        };
        let after = &branch.receipt;
        if before.binary_sha256 != after.binary_sha256
            || before.layouts_sha256 != after.layouts_sha256
        {
            let commit = |commit: &Commit| {
                let dirty = if commit.dirty == Some(true) {
                    " with changes"
                } else {
                    ""
                };
                format!("{}{dirty}", commit.commit.as_deref().unwrap_or("no commit"))
            };
            changes.push(format!(
                "branch `{name}` is another binary: {} (from {}), was {} (from {})",
                &after.binary_sha256[..12],
                commit(&after.commit),
                before.binary_sha256.get(..12).unwrap_or_default(),
                commit(&before.commit)
            ));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_sweep_is_not_resumed_with_a_file_of_the_same_name_in_another_folder() {
        let program = |argument: &str| {
            let text = str::to_owned;
            WholeProgram::of_user(
                text("it"),
                text("it"),
                text("it"),
                "it".into(),
                vec![text(argument)],
            )
        };
        let (begun, shown) = (["/a/data.csv".to_owned()], program("data.csv"));
        let manifest = Manifest {
            name: "2026-01-01".to_owned(),
            arguments_sha256: Some(arguments_sha256(&begun)),
            ..Manifest::default()
        };
        let check = |manifest, typed: &str| {
            check_program(manifest, &shown, &shown, &[typed.to_owned()])
                .map_err(|error| error.to_string())
        };
        check(&manifest, "/a/data.csv").unwrap();
        let message = check(&manifest, "/b/data.csv").unwrap_err();
        assert!(
            message.starts_with("2026-01-01 was begun with other arguments"),
            "{message}"
        );
        let other = program("other.csv");
        check_program(&manifest, &shown, &other, &begun).unwrap_err();
        // Manifests of earlier runners have no digest.
        let older = Manifest {
            arguments_sha256: None,
            ..manifest.clone()
        };
        check(&older, "/b/data.csv").unwrap();
    }
}
