//! Whole programs, each run as a process: rows of `workloads/programs/programs.toml`, or a program
//! of the user. The runner builds these programs, and a branch's binary runs them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Accepts, Description, Parameter, Part, Size};

/// The file `workloads/programs/programs.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WholePrograms {
    /// The file's rows, in their order.
    pub program: Vec<WholeProgram>,
}

/// A whole program: the program of a package, and its task. A whole program is a workload like any
/// other; each iteration runs the program from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WholeProgram {
    /// The workload's name.
    pub name: String,
    /// The program's computation, in one line.
    pub summary: String,
    /// The program's demands on a pool, in one line.
    pub stresses: String,
    /// The package that has the program.
    pub package: String,
    /// The package's exact version in the registry. Without a version, the package is the folder
    /// `workloads/programs/PACKAGE`, or a program of a user, in its own folder.
    pub version: Option<String>,
    /// The program's name in the package.
    pub binary: String,
    /// Features of an x86-64 processor for which the program is compiled, in addition to the
    /// features that every such processor has.
    #[serde(default)]
    pub x86_64_features: Vec<String>,
    /// The input that is generated for the program.
    pub input: Option<WholeInput>,
    /// The program's arguments. Each trial replaces `{input}`, `{amount}` and `{seed}` by its own
    /// values.
    pub arguments: Vec<String>,
    /// The unit of work, plural. The workload's only parameter has the same name.
    pub unit: String,
    /// The number of units for each size, smallest first.
    pub amounts: [u64; 4],
    /// Folder of the user's package, in which the program also runs. A program of the user gets its
    /// arguments unchanged and may print anything: exit code 0 counts as the right answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

/// The whole programs that were built for the branches' binaries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WholeBuilds {
    /// The user's program (`compare --program`), which no file lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<WholeProgram>,
    /// The programs' paths, by the name of the branch's binary and then by the program's name.
    pub binaries: BTreeMap<String, BTreeMap<String, PathBuf>>,
}

/// An input that is generated for a program, from a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WholeInput {
    /// A file of incompressible data; the amount is its size in mebibytes.
    Bytes,
    /// Nested folders of Rust files; the amount is the number of files.
    Sources,
    /// A PNG without compression; the amount is its height in lines.
    Picture,
}

impl WholeProgram {
    /// Describes a program of the user: the binary of a package in a folder, under a name that no
    /// other workload has. The unit of work is one run.
    #[must_use]
    pub fn of_user(
        name: String,
        package: String,
        binary: String,
        folder: PathBuf,
        arguments: Vec<String>,
    ) -> Self {
        Self {
            name,
            summary: "a program of the user".to_owned(),
            stresses: "what it does with its pool".to_owned(),
            package,
            version: None,
            binary,
            x86_64_features: Vec::new(),
            input: None,
            arguments,
            unit: "runs".to_owned(),
            amounts: [1; 4],
            folder: Some(folder),
        }
    }

    /// Returns the description of this program as a workload.
    #[must_use]
    pub fn description(&self) -> Description {
        let unit = &self.unit;
        let amounts = self.amounts.map(|amount| amount.to_string());
        let parameter = Parameter {
            name: unit.clone(),
            summary: format!("number of {unit}"),
            accepts: Accepts::Whole {
                min: 1,
                max: 1_000_000,
            },
            default: amounts[1].clone(),
            is_replaced_by_input: false,
            uses_pool_if: None,
            unpaced_if: None,
        };
        let of_size = |amount| [(unit.clone(), amount)].into();
        Description {
            name: self.name.clone(),
            part: Part::Programs,
            summary: self.summary.clone(),
            stresses: self.stresses.clone(),
            work_unit: unit.clone(),
            parameters: vec![parameter],
            sizes: Size::ALL.into_iter().zip(amounts.map(of_size)).collect(),
            ..Description::default()
        }
    }
}
