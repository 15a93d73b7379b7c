//! `compare`: a sweep of branches that are named on the command line, and a page for a pull
//! request.

use anyhow::Result;
use clap::Args;
use serde_json::Value;

use super::sweep::{self, SweepArgs, SweepCommand};
use crate::options::project::Project;
use crate::record::manifest::Manifest;
use crate::record::sweep_dir::SweepDir;
use crate::report::page::Page;
use crate::stop::Exit;
use crate::text::table::{Format, columns_of_stdout};

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The baseline, then the branches to compare with it: a name of branches.toml, group:NAME,
    /// published:VERSION, path:DIR, git:URL#COMMIT, git:DIR#COMMIT or fork:FEATURE,FEATURE; put
    /// NAME= before it to name it
    #[arg(value_name = "BRANCH", num_args = 2.., required_unless_present = "resume",
          conflicts_with_all = ["resume", "branches"])]
    specs: Vec<String>,
    #[command(flatten)]
    sweep: SweepArgs,
}

/// What `--help` says below the options.
pub(crate) const HELP: &str = "\
Examples:
  cargo runner compare master path:../rayon/rayon-core --workloads ticks,quicksort
      a working tree of rayon-core against the published one
  cargo runner compare master mine=path:../rayon/rayon-core --format markdown > comment.md
      under a name of your own, as a comment for a pull request
  cargo runner compare master path:../rayon/rayon-core --machine zen4-64 --threads 1,8,64
      the same on 64 simulated cores, with the lines of source that wait
  cargo runner compare packed split-counters fork:split,push-fence
      branches of branches.toml, and a combination of the fork's features
  cargo runner compare published:1.13.0 git:https://example.org/rayon#0123abc
      a release and a commit
  cargo runner compare --resume
      continue the newest unfinished comparison; if there is none, print the newest again

A sweep like any other (see `sweep --help`). The analysis prints the table and judges; it needs Python 3.11 or newer.";

pub(crate) fn run(project: &Project, arguments: &CompareArgs) -> Result<Exit> {
    let config = match arguments.specs.as_slice() {
        // What is resumed knows its branches.
        [] => None,
        words => Some(project.named(words)?),
    };
    let command = SweepCommand {
        command: "compare",
        config,
        page: Some(page),
        goes_on: false,
    };
    sweep::run_for(project, &arguments.sweep, &command)
}

fn page(
    sweep: &SweepDir,
    manifest: &Manifest,
    table: Option<&Value>,
    is_begun_here: bool,
    format: Format,
) -> Result<String> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    Page {
        manifest,
        host: &sweep.host()?,
        table,
        arguments: if is_begun_here {
            &typed
        } else {
            &manifest.command_line
        },
        as_typed: is_begun_here,
    }
    .text(format, columns_of_stdout())
}
