//! `compare`: a sweep of branches that are named on the command line, and a text for a pull
//! request.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::sweep::{self, SweepArgs, SweepCommand, TypedProgram};
use crate::build::package;
use crate::config::catalogue;
use crate::options::Project;
use crate::stop::Exit;

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The baseline, then the branches to compare with the baseline. Each is a name of
    /// branches.toml, group:NAME, published:VERSION, path:DIR, git:URL#COMMIT, git:DIR#COMMIT or
    /// fork:FEATURE,FEATURE. `NAME=` in front names the branch
    #[arg(value_name = "BRANCH", num_args = 2.., required_unless_present = "resume",
          conflicts_with_all = ["resume", "branches"])]
    specs: Vec<String>,
    /// Compare a program of yours instead of the workloads: the folder of a Cargo package that uses
    /// rayon. The program is copied and built with each branch, and runs in its package's folder
    /// with the arguments after `--`
    #[arg(long, value_name = "DIR",
          conflicts_with_all = ["preset", "experiment", "workloads", "size", "parameters", "input", "machine",
                                "box", "instrument", "placement"])]
    program: Option<PathBuf>,
    /// The binary of that package, if it has several
    #[arg(
        long,
        value_name = "NAME",
        requires = "program",
        conflicts_with = "resume"
    )]
    bin: Option<String>,
    #[command(flatten)]
    sweep: SweepArgs,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGUMENT", requires = "program")]
    arguments: Vec<String>,
}

pub(crate) const HELP: &str = "\
Examples:
  cargo runner compare master mine=path:../rayon/rayon-core --workloads ticks,quicksort --format md > comment.md
      a working tree of rayon-core, named `mine`, against the published one, as a comment for a pull request
  cargo runner compare master path:../rayon/rayon-core --machine zen4-64 --threads 1,8,64
      the same on 64 simulated cores; also names the command that lists the source lines at which threads wait
  cargo runner compare master path:../rayon/rayon-core --box --workloads fib-join,packets,scope-spawn
      on how many of 60 simulated machines with 64 threads the working tree is faster; one seed per machine, some minutes
  cargo runner compare packed split-counters fork:split,push-fence
      branches of branches.toml, and a combination of the fork's features
  cargo runner compare published:1.13.0 git:https://example.org/rayon#0123abc
      a release and a commit
  cargo runner compare master champion --program ../my-service -- --config bench.toml
      a program of yours with the published rayon-core and with `champion`: wall and CPU time, memory
  cargo runner compare --resume
      continue the newest unfinished sweep; if there is none, print the newest again

With --program, each trial is one run of the program, which must end by itself with exit code 0. Each branch is compiled \
once and linked 7 times, each time with its functions in another order. Two branches make 21 runs: 7 of each branch, and 7 \
of the first branch as A/A control. The pool gets as many threads as there are CPUs, and a run may take 5 minutes. To change \
that: --threads 1,2 --trials 15 --timeout 3600.

The result is a sweep like any other. The analysis, which needs Python 3.11 or newer, prints the table and the significant \
differences.";

/// Time limit of a run in seconds. A run that takes half of the limit counts as hung.
const TIMEOUT_S: f64 = 600.0;

pub(crate) fn run(project: &Project, arguments: &CompareArgs) -> Result<Exit> {
    let config = match arguments.specs.as_slice() {
        // A resumed sweep takes the branches from its manifest.
        [] => None,
        words => Some(project.named(words)?),
    };
    let command = SweepCommand {
        command: "compare",
        config,
        has_page: true,
        goes_on: false,
        program: arguments.program.clone().map(|folder| TypedProgram {
            folder,
            arguments: arguments.arguments.clone(),
        }),
    };
    let sweep = match &arguments.program {
        Some(folder) if command.config.is_some() => {
            let bin = arguments.bin.as_deref();
            let program = package::find(folder, bin, &arguments.arguments)?;
            let sweep = sweep_of(&arguments.sweep, &program.name);
            catalogue::list_user(program);
            sweep
        }
        _ => with_one_seed(arguments.sweep.clone()),
    };
    sweep::run_for(project, &sweep, &command)
}

/// On the points of a box, one seed for each point keeps a comparison short; the preset `box` has
/// more seeds.
fn with_one_seed(mut sweep: SweepArgs) -> SweepArgs {
    if sweep.selection.points.is_some() {
        sweep.selection.definition.trials.get_or_insert(1);
    }
    sweep
}

fn sweep_of(typed: &SweepArgs, program: &str) -> SweepArgs {
    let mut sweep = typed.clone();
    let selection = &mut sweep.selection;
    selection.timeout.get_or_insert(TIMEOUT_S);
    let definition = &mut selection.definition;
    definition.workloads = Some(program.to_owned());
    definition.threads.get_or_insert_with(|| "cpus".to_owned());
    definition.iterations.get_or_insert(1);
    // Each iteration is a separate process of the user's program, and `try_program` runs that
    // program once before the sweep.
    definition.warmup_iterations = Some(0);
    sweep
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        compare: CompareArgs,
    }

    #[test]
    fn a_program_is_named_again_with_its_arguments_to_go_on_and_not_without_a_folder() {
        let parsed = |words: &str| {
            let words = ["compare"].into_iter().chain(words.split(' '));
            Line::try_parse_from(words).map(|it| it.compare.arguments)
        };
        for words in [
            "master champion --program dir -- --an x",
            "--resume --program dir -- --an x",
        ] {
            assert_eq!(parsed(words).unwrap(), ["--an", "x"], "{words}");
        }
        for words in [
            "master champion -- --an x",
            "master champion --bin it",
            "master champion --program dir --workloads tsp",
            "--resume --program dir --bin it",
            "--program dir",
        ] {
            parsed(words).unwrap_err();
        }
    }
}
