//! What `--help` says below the options: examples, and what they lead to.

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0 all good · 1 some trials failed · 2 bad input · 3 build failed · 4 host not fit · 130 interrupted";

pub(super) const SWEEP_EXAMPLES: &str = "\
Examples:
  cargo runner sweep --branches all
      every branch on the headline workloads; `cargo runner plan --branches all` says how long
  cargo runner sweep --branches 'split*,!*no-jec*' --workloads tsp --threads 1..=16
      some branches (globs and exclusions; the baseline is always among them)
  cargo runner sweep --workloads tsp --input berlin52.tsp --trials 11
      a TSPLIB instance
  cargo runner sweep --workloads quicksort --parameter elements=5000000
      another instance size
  cargo runner sweep --branches packed,split-counters --instrument
      also count, in builds of their own, what the scheduler does
  cargo runner sweep --experiment packets-speedup-exponential --parameter duration-ms=200
      one figure of a study by its name, with shorter runs
  cargo runner sweep --resume
      go on with the newest unfinished sweep where it was stopped

Ctrl-C stops at once and loses at most the running trial.

Exit codes:
  0 all good · 1 some trials failed · 2 bad input · 3 build failed · 4 host not fit · 130 interrupted";

pub(super) const DOCTOR_HELP: &str = "\
UNFIT means: as the host is now, a sweep cannot run, or no frequency can be held, or times would
tell of something else than the branches.

Exit codes:
  0 fit (there may be warnings) · 4 something is UNFIT

Examples:
  cargo runner doctor
  cargo runner doctor --format json | jq '.findings[].id'";

pub(super) const COMPARE_EXAMPLES: &str = "\
Examples:
  cargo runner compare master path:../rayon/rayon-core --workloads ticks,quicksort
      a working tree of rayon-core against the published one
  cargo runner compare master mine=path:../rayon/rayon-core --format markdown > comment.md
      under a name of your own, as a comment for a pull request
  cargo runner compare packed split-counters fork:split,push-fence
      branches of branches.toml, and features of the fork that are no branch there
  cargo runner compare published:1.13.0 git:https://example.org/rayon#0123abc
      a release and a commit
  cargo runner compare --resume
      go on with the newest unfinished one; if there is none, print the newest again

A sweep like any other (see `sweep --help`), judged by the analysis, which needs Python 3.11 or newer.";

pub(super) const MERGE_EXAMPLES: &str = "\
Examples:
  cargo runner sweep --branches all --shard 1/2      on one machine
  cargo runner sweep --branches all --shard 2/2      on another, from the same checkout and path
  cargo runner merge results/sweeps/*-shard-1-of-2 results/sweeps/*-shard-2-of-2
  cargo runner merge results/shards/2026-03-01T120000Z

The merged sweep is read by `show`, `report` and `analysis` like any other; each shard's machine and
manifest are kept in its folder `shards`.";

pub(super) const SLURM_EXAMPLES: &str = "\
Examples:
  cargo runner slurm --shards 8 -- --branches all --preset full
  cargo runner slurm --shards 4 --cpus-per-task 64 --sbatch=--partition=long --sbatch=--time=8:00:00 -- --workloads tsp

Writes results/shards/NAME/job.sh and prints how to submit it and how to merge what it measured. Nodes must be
alike and see this checkout at the same path. A task that is started again resumes its shard.";

pub(super) const COMPLETIONS_HELP: &str = "\
They complete `cargo runner` in a checkout, branches, workloads and experiments by name, also in lists with commas.

Examples:
  cargo runner completions bash >> ~/.bashrc
  cargo runner completions zsh >> ~/.zshrc          after `compinit`
  cargo runner completions fish > ~/.config/fish/conf.d/cargo-runner.fish";
