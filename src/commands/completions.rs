//! `bundler completions SHELL`: prints a completion script.

use std::io::Write;

use clap::CommandFactory;

use super::{Answer, Outcome};
use crate::cli::{Cli, CompletionsArgs, Global};

/// Writes the script of one shell to standard output.
pub fn run(args: &CompletionsArgs, _global: &Global) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bundler", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(Outcome::Done)
}
