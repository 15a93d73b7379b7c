//! The catalogue: rows of `workloads.toml`, each with the program that runs it.

use std::sync::LazyLock;

use protocol::{Description, Refusal};

use crate::kinds;
use crate::workload::{Instance, Setup, Workload};

/// Workloads in the order in which a program lists them.
pub type Catalogue = [Box<dyn Workload>];

/// The function of a program that [`Workload::prepare`] calls.
pub type Prepare = fn(&Setup<'_>) -> Result<Box<dyn Instance>, Refusal>;

/// Every workload that this build contains.
pub static CATALOGUE: &LazyLock<Vec<Box<dyn Workload>>> = &COMPILED;

static COMPILED: LazyLock<Vec<Box<dyn Workload>>> = LazyLock::new(compiled);

/// A new copy of the workloads in [`CATALOGUE`], to which a caller can add others.
#[must_use]
pub fn compiled() -> Vec<Box<dyn Workload>> {
    of(kinds::PROGRAMS)
}

struct Row {
    description: &'static Description,
    prepare: Prepare,
}

impl Workload for Row {
    fn description(&self) -> &Description {
        self.description
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        (self.prepare)(setup)
    }
}

/// The rows whose program is one of `programs`, a list of names and programs.
#[must_use]
pub fn of(programs: &[(&str, Prepare)]) -> Vec<Box<dyn Workload>> {
    let row = |description: &'static Description| {
        let (_, prepare) = programs
            .iter()
            .find(|(name, _)| *name == description.program())?;
        let prepare = *prepare;
        Some(Box::new(Row {
            description,
            prepare,
        }) as Box<dyn Workload>)
    };
    protocol::workloads().iter().filter_map(row).collect()
}

/// The workload of `catalogue` called `name`.
///
/// # Errors
///
/// If `catalogue` has no such workload; the message lists the known names.
pub fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a dyn Workload, Refusal> {
    catalogue
        .iter()
        .map(AsRef::as_ref)
        .find(|workload| workload.description().name == name)
        .ok_or_else(|| {
            let known: Vec<&str> = catalogue
                .iter()
                .map(|it| it.description().name.as_str())
                .collect();
            Refusal::new(format!(
                "unknown workload `{name}`; known: {}",
                known.join(", ")
            ))
        })
}
