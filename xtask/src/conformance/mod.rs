//! The published packages' own tests, run on the fork: the proof that it is rayon-core.

mod counts;
mod passed;
mod suites;

use std::time::Instant;

use anyhow::{Result, ensure};
use xshell::Shell;

use crate::shell::alone;
use crate::variants::{Variant, Variants};
use counts::{Counts, table};
use passed::Passed;
use suites::{Name, Package, Suite};
pub(crate) use suites::{Tested, build, tested};

/// The tests to run, and the variants to run them on.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    variants: Variants,
    /// The packages whose tests to run, in any version of `rayon` and of `rayon-core`.
    #[arg(
        long = "package",
        value_name = "NAME@VERSION",
        value_delimiter = ',',
        default_values = ["rayon@1.11.0", "rayon@1.12.0", "rayon-core@1.13.0"]
    )]
    packages: Vec<Package>,
    /// Leave out the documentation tests.
    #[arg(long)]
    skip_doctests: bool,
    /// Run again what has passed before with the same compiler and the same sources of the fork.
    #[arg(long)]
    fresh: bool,
}

/// Runs the suites on every variant asked for and prints how many tests passed, failed and were
/// ignored in each.
pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    run_on(sh, &options.variants.chosen()?, options)
}

/// Runs the tests that every change must pass: those of the newest of each package, on `variants`.
pub(crate) fn test(sh: &Shell, variants: &[Variant]) -> Result<()> {
    let package = |name, version: &str| Package {
        name,
        version: version.to_owned(),
    };
    let options = Options {
        variants: Variants::default(),
        packages: vec![
            package(Name::Rayon, "1.12.0"),
            package(Name::RayonCore, "1.13.0"),
        ],
        skip_doctests: false,
        fresh: true,
    };
    run_on(sh, variants, &options)
}

fn run_on(sh: &Shell, variants: &[Variant], options: &Options) -> Result<()> {
    let _lock = alone(sh, "conformance")?;
    let mut suites = Vec::new();
    for package in &options.packages {
        suites.extend(package.suites(sh, options.skip_doctests)?);
    }
    let mut passed = Passed::load(sh, options.fresh)?;
    let runs = variants.len() * suites.len();
    let mut rows = Vec::new();
    for variant in variants {
        let mut row = Vec::new();
        for suite in &suites {
            let title = format!("{} on {}", suite.title(), variant.name());
            eprintln!(
                "── {} of {runs}: {title}",
                rows.len() * suites.len() + row.len() + 1
            );
            row.push(match passed.get(&title) {
                Some(counts) => {
                    eprintln!("   {counts}, on the same sources before (--fresh runs it again)");
                    counts
                }
                None => run_suite(sh, suite, variant, &title, &mut passed)?,
            });
        }
        rows.push((variant.name(), row));
    }
    let titles: Vec<_> = suites.iter().map(Suite::title).collect();
    println!("{}", table(&titles, &rows));
    let failed: u32 = rows
        .iter()
        .flat_map(|(_, row)| row)
        .map(|counts| counts.failed)
        .sum();
    ensure!(
        failed == 0,
        "{failed} tests of the published packages fail on the fork"
    );
    Ok(())
}

fn run_suite(
    sh: &Shell,
    suite: &Suite,
    variant: &Variant,
    title: &str,
    passed: &mut Passed,
) -> Result<Counts> {
    let start = Instant::now();
    let counts = suite.run(sh, variant)?;
    eprintln!("   {counts}, in {:.0} s", start.elapsed().as_secs_f64());
    ensure!(counts.passed + counts.failed > 0, "{title}: no test ran");
    if counts.failed == 0 {
        passed.insert(sh, title, counts)?;
    }
    Ok(counts)
}
