//! One file per subcommand; the only place that prints. A command takes its arguments, runs stages, and answers
//! with an [`Outcome`]; whatever went wrong is an error with causes, printed once by `main`.

pub mod audit;
pub mod bundles;
pub mod cache;
pub mod completions;
pub mod diff;
pub mod doctor;
pub mod edge;
pub mod evidence;
pub mod fetch;
pub mod fit;
pub mod gpu;
pub mod inspect;
pub mod install;
pub mod interrupt;
pub mod layers;
pub mod list;
pub mod lock;
pub mod make;
pub mod overview;
pub mod place;
pub mod recipe;
pub mod remove;
pub mod repair;
pub mod report;
pub mod select;
pub mod self_extract;
pub mod source;
pub mod switch;
pub mod terminal;
pub mod unpack;
pub mod usage;
pub mod verify;
pub mod wheelhouse;

use crate::cli::{Cli, Command};

/// How a command ended when nothing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done, or the answer is yes: exit code 0.
    Done,
    /// The work was done and the answer is no: exit code 1.
    No,
}

/// An error with, where one is known, a command or step that helps.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong, with its causes.
    pub error: anyhow::Error,
    /// What to do about it.
    pub hint: Option<String>,
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let hint = report::hint_of(&error);
        Self { error, hint }
    }
}

/// Result of a command.
pub type Answer = Result<Outcome, Failure>;

/// Runs the command that was asked for.
pub fn run(cli: &Cli) -> Answer {
    let global = &cli.global;
    match &cli.command {
        Command::Make(args) => make::run(args, global),
        Command::Fetch(args) => fetch::run(args, global),
        Command::Cache(command) => cache::run(command, global),
        Command::Lock(args) => lock::run(args, global),
        Command::CheckWheelhouse(args) => wheelhouse::run(args, global),
        Command::Recipe(args) => recipe::run(args, global),
        Command::Layers(args) => layers::run(args, global),
        Command::SelfExtract(args) => self_extract::run(args, global),
        Command::Unpack(args) => unpack::run(args, global),
        Command::Inspect(args) => inspect::run(args, global),
        Command::Audit(args) => audit::run(args, global),
        Command::Diff(args) => diff::run(args, global),
        Command::Evidence(args) => evidence::run(args, global),
        Command::Report(args) => overview::run(args, global),
        Command::Gpu(args) => gpu::run(args, global),
        Command::Doctor(args) => doctor::run(args, global),
        Command::Select(args) => select::run(args, global),
        Command::Install(args) => install::run(args, global),
        Command::List(args) => list::run(args, global),
        Command::Use(args) => switch::switch(args, global),
        Command::Rollback(args) => switch::rollback(args, global),
        Command::Remove(args) => remove::remove(args, global),
        Command::Gc(args) => remove::gc(args, global),
        Command::Verify(args) => verify::run(args, global),
        Command::Repair(args) => repair::run(args, global),
        Command::Where(args) => place::folder(args, global),
        Command::Env(args) => place::env(args, global),
        Command::Run(args) => place::run(args),
        Command::Completions(args) => completions::run(args, global),
    }
}
