//! `completions`: what a shell sources to complete `cargo runner`.

use std::io::Write as _;

use anyhow::Result;
use clap::Args;

use crate::stop::Exit;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// What `--help` says below the options.
pub(crate) const HELP: &str = "\
Completes `cargo runner` inside a checkout, with the names of branches, workloads and experiments, also in lists.

Examples:
  cargo runner completions bash >> ~/.bashrc
  cargo runner completions zsh >> ~/.zshrc          after `compinit`
  cargo runner completions fish > ~/.config/fish/conf.d/cargo-runner.fish";

/// The shells that have a script.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// What such a shell sources.
    fn script(self) -> &'static str {
        match self {
            Self::Bash => include_str!("../../templates/completions.bash"),
            Self::Zsh => include_str!("../../templates/completions.zsh"),
            Self::Fish => include_str!("../../templates/completions.fish"),
        }
    }
}

/// Needs no checkout.
pub(crate) fn run(arguments: &CompletionsArgs) -> Result<Exit> {
    std::io::stdout().write_all(arguments.shell.script().as_bytes())?;
    Ok(Exit::Good)
}
