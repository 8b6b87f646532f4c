//! Command line types and help only: what can be asked, never how it is done.

use std::path::PathBuf;

mod files;
mod host;
mod store;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use files::*;
pub use host::*;
pub use store::*;

use crate::base::capability::ComputeCapability;
use crate::base::target::Target;
use crate::formats::floor::DottedVersion;

/// Turns a Python + CUDA research stack into one file that runs anywhere.
#[derive(Debug, Parser)]
#[command(name = "bundler", version, about, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Flags of every command.
    #[command(flatten)]
    pub global: Global,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Form of the result on standard output.
    #[arg(long, global = true, value_enum, default_value_t = OutputFormat::Text)]
    pub output_format: OutputFormat,
    /// Say less; twice: only errors.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub quiet: u8,
    /// Say more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// Show no progress bars.
    #[arg(long, global = true)]
    pub no_progress: bool,
    /// Folder of the cache [default: $XDG_CACHE_HOME/pointcept-bundler].
    #[arg(
        long,
        global = true,
        env = "POINTCEPT_BUNDLER_CACHE_DIR",
        value_name = "DIR"
    )]
    pub cache_dir: Option<PathBuf>,
    /// Open no socket: use the cache and local files only.
    #[arg(long, global = true, env = "POINTCEPT_BUNDLER_OFFLINE", value_parser = clap::builder::FalseyValueParser::new())]
    pub offline: bool,
}

/// Form of the result on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people.
    Text,
    /// For programs; has `"schema_version": 1`.
    Json,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How Python bytecode is shipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BytecodeArg {
    /// None for distributions and source.
    None,
    /// Compiled, never checked against the source (PEP 552).
    UncheckedHash,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a bundle for a target, such as arm64-cu130.
    Make(MakeArgs),
    /// Fetch what a bundle is made of, into the cache or a folder.
    Fetch(FetchArgs),
    /// Look after the cache.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Resolve a recipe and write the lock of each target: every input named and pinned.
    Lock(LockArgs),
    /// Say whether a wheelhouse holds what a recipe's target wants; of several, which fit.
    CheckWheelhouse(WheelhouseArgs),
    /// Begin a recipe of your own.
    Recipe(RecipeCommandArgs),
    /// Split a bundle into the base that other bundles share and the app, each a layer as OCI images have them.
    Layers(LayersArgs),
    /// Put a bundle into one file that unpacks itself: sh FILE.run --prefix DIR.
    SelfExtract(SelfExtractArgs),
    /// Tell what a bundle is and holds, without unpacking it.
    Inspect(InspectArgs),
    /// Write what is known of a bundle beside it, or say whether that still holds.
    Evidence(EvidenceArgs),
    /// Write a page about a bundle: what fills it, what runs where, what was found.
    Report(ReportArgs),
    /// Say what differs between two bundles; of two that should be equal, the first thing that is not.
    Diff(DiffArgs),
    /// Say on which hosts and GPUs a bundle or folder runs, and which file is to blame where it does not.
    Audit(AuditArgs),
    /// Show the GPU code of a bundle, wheel, folder or file, and which devices it runs on.
    Gpu(GpuArgs),
    /// Say what this host is, and whether a bundle will run on it, with the reason and the way out.
    Doctor(DoctorArgs),
    /// Say which published bundle fits this host best, and why each other does not.
    Select(SelectArgs),
    /// Install a bundle on this machine, beside others; what it has in common with them is stored once.
    Install(InstallArgs),
    /// Unpack a bundle into a folder, without a store: verified, and complete or absent.
    Unpack(UnpackArgs),
    /// List installed bundles.
    List(StoreArgs),
    /// Make an installed bundle the current one.
    Use(NameArgs),
    /// Go back to the bundle that was current before.
    Rollback(StoreArgs),
    /// Remove an installed bundle; `gc` then frees what no other needs.
    Remove(RemoveArgs),
    /// Free what no installed bundle needs.
    Gc(StoreArgs),
    /// Say whether installed bundles, an unpacked folder or a bundle's file are intact.
    Verify(VerifyArgs),
    /// Restore what `verify` finds damaged in installed bundles; what was added to them is taken away.
    Repair(RepairArgs),
    /// Print the folder of an installed bundle.
    Where(OptionalNameArgs),
    /// Print the line that makes a shell use an installed bundle: eval "$(bundler env)".
    Env(OptionalNameArgs),
    /// Run a command with an installed bundle.
    Run(RunArgs),
    /// Write a shell's completion script to standard output.
    #[command(alias = "generate-shell-completion")]
    Completions(CompletionsArgs),
}

/// Which recipe, and where its indexes are.
#[derive(Debug, Clone, Args)]
pub struct RecipeArgs {
    /// Recipe: a NAME (./recipes/NAME.toml, else the one built in) or a file.
    #[arg(long, default_value = "pointcept", value_name = "NAME|FILE")]
    pub recipe: String,
    /// Another address for an index, interpreter source or wheelhouse of the recipe; may be repeated.
    #[arg(long, value_name = "ALIAS=URL")]
    pub index: Vec<String>,
    /// The address of the default index.
    #[arg(long, value_name = "URL")]
    pub default_index: Option<String>,
    /// Hosts whose certificate is not checked, and that may be asked without TLS; may be repeated.
    #[arg(long, value_name = "HOST")]
    pub allow_insecure_host: Vec<String>,
}

/// `bundler make`
#[derive(Debug, Args)]
pub struct MakeArgs {
    /// Architecture and accelerator, such as amd64-cu130 or arm64-cu130.
    pub target: Target,
    /// Which recipe, and where its indexes are.
    #[command(flatten)]
    pub recipe: RecipeArgs,
    /// Source instead of the recipe's: a folder, or a git address, with `@REVISION` for one that is not its newest.
    #[arg(long, value_name = "PATH|URL")]
    pub source: Option<String>,
    /// Folder the bundle is written to.
    #[arg(short, long, default_value = ".", value_name = "DIR")]
    pub out_dir: PathBuf,
    /// Version written into the bundle instead of the recipe's.
    #[arg(long, value_name = "V")]
    pub bundle_version: Option<String>,
    /// Compression level, 1 to 19.
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..=19), value_name = "N")]
    pub level: Option<i32>,
    /// How Python bytecode is shipped.
    #[arg(long, value_enum)]
    pub bytecode: Option<BytecodeArg>,
    /// Interpreter source to use, such as pbs or maven, instead of the first that can be reached.
    #[arg(long, value_name = "NAME")]
    pub interpreter: Option<String>,
    /// Threads to use [default: all processors].
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub jobs: Option<u16>,
    /// Fail when the lock is missing or stale instead of writing it.
    #[arg(long)]
    pub locked: bool,
    /// Folder of artifacts made by `bundler fetch --mirror`, looked in before any index.
    #[arg(long, value_name = "DIR")]
    pub mirror: Option<PathBuf>,
    /// Further forms of the bundle.
    #[command(flatten)]
    pub further: FurtherArgs,
    /// Print the plan with download and output sizes; make nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// The uv program, for resolving where no lock is [default: $UV, else PATH].
    #[arg(long, env = "UV", value_name = "PROGRAM")]
    pub uv: Option<PathBuf>,
}

/// `bundler fetch`
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// Targets, such as amd64-cu130.
    #[arg(required = true)]
    pub target: Vec<Target>,
    /// Which recipe, and where its indexes are.
    #[command(flatten)]
    pub recipe: RecipeArgs,
    /// Write all artifacts and SHA256SUMS into this folder too, for `make --mirror DIR --offline` elsewhere.
    #[arg(long, value_name = "DIR")]
    pub mirror: Option<PathBuf>,
    /// Interpreter source to use, such as pbs or maven, instead of the first that can be reached.
    #[arg(long, value_name = "NAME")]
    pub interpreter: Option<String>,
    /// Downloads at a time.
    #[arg(short, long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=64), value_name = "N")]
    pub jobs: u16,
    /// Print what would be fetched; fetch nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

/// `bundler cache`
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Print the folder of the cache.
    Dir,
    /// Print how much the cache holds.
    Size,
    /// Remove what was not used lately, damaged copies, and what killed processes left.
    Prune {
        /// Remove everything that no running process uses.
        #[arg(long)]
        all: bool,
        /// Days since the last use.
        #[arg(
            long,
            default_value_t = 30,
            value_name = "DAYS",
            conflicts_with = "all"
        )]
        older_than: u32,
    },
    /// Digest everything again; damaged files are set aside.
    Verify,
}

/// `bundler lock`
#[derive(Debug, Args)]
pub struct LockArgs {
    /// Targets, such as amd64-cu130 [default: all of the recipe].
    pub targets: Vec<Target>,
    /// Which recipe, and where its indexes are.
    #[command(flatten)]
    pub recipe: RecipeArgs,
    /// Only say whether each lock is there and follows from the recipe; exit 1 if one does not. Asks no index.
    #[arg(long, conflicts_with_all = ["upgrade", "upgrade_package", "exclude_newer", "export", "dry_run"])]
    pub check: bool,
    /// Let every pin move to the newest version the recipe allows.
    #[arg(long)]
    pub upgrade: bool,
    /// Let the pin of this package move; may be repeated.
    #[arg(long, value_name = "PACKAGE")]
    pub upgrade_package: Vec<String>,
    /// Look only at files uploaded before this date (2026-01-31) or time (RFC 3339).
    #[arg(long, value_name = "DATE", value_parser = date_or_time)]
    pub exclude_newer: Option<String>,
    /// Write the lock in another form too, beside it: pylock is `pylock.<target>.toml` (PEP 751) for uv and pip.
    #[arg(long, value_enum, value_name = "FORM")]
    pub export: Option<LockExport>,
    /// Say what would change; write nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// The uv program [default: $UV, else PATH, else one that is fetched].
    #[arg(long, env = "UV", value_name = "PROGRAM")]
    pub uv: Option<PathBuf>,
}

/// Looks at the form alone: `uv` knows how long each month is. Durations are refused: the same lock command would mean another
/// time tomorrow.
fn date_or_time(text: &str) -> Result<String, String> {
    let (date, time) = text
        .split_once(['T', 't', ' '])
        .map_or((text, None), |(d, t)| (d, Some(t)));
    let parts: Vec<&str> = date.split('-').collect();
    let digits =
        |part: &str, length| part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
    let to = |part: &str, most| part.parse().is_ok_and(|n: u8| (1..=most).contains(&n));
    let is_date = matches!(
        parts[..],
        [y, m, d] if digits(y, 4) && digits(m, 2) && digits(d, 2) && to(m, 12) && to(d, 31)
    );
    if is_date && time.is_none_or(|time| time.contains(':')) {
        Ok(text.to_owned())
    } else {
        Err("expected a date like 2026-01-31 or a time like 2026-01-31T12:00:00Z".to_owned())
    }
}

/// Another form of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LockExport {
    /// `pylock.<target>.toml` (PEP 751).
    Pylock,
}

/// `bundler check-wheelhouse`
#[derive(Debug, Args)]
pub struct WheelhouseArgs {
    /// Folders, or addresses of release or find-links pages. A folder's wheels are looked into.
    #[arg(required = true, value_name = "DIR|URL")]
    pub places: Vec<String>,
    /// The target [default: the one in the place's name, such as linux-arm64-cu130].
    #[arg(long)]
    pub target: Option<Target>,
    /// Which recipe, and where its indexes are.
    #[command(flatten)]
    pub recipe: RecipeArgs,
}

/// `bundler recipe`
#[derive(Debug, Args)]
pub struct RecipeCommandArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: RecipeCommand,
}

/// What can be done with recipes.
#[derive(Debug, Subcommand)]
pub enum RecipeCommand {
    /// Write a recipe to start from: ./recipes/NAME.toml.
    New {
        /// Name of the product.
        name: String,
        /// The recipe that is copied.
        #[arg(long, default_value = "numpy", value_name = "NAME|FILE")]
        from: String,
    },
}

/// `bundler inspect`
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The bundle, a .tar.zst file.
    pub bundle: PathBuf,
}

/// `bundler audit`
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// A bundle, an unpacked one, or any folder with a python tree.
    #[arg(value_name = "BUNDLE|DIR")]
    pub path: PathBuf,
    /// The target to judge it for [default: the bundle's own].
    #[arg(long)]
    pub target: Option<Target>,
    /// Devices by compute capability, instead of those the recipe promises, such as 9.0,12.1.
    #[arg(long, value_name = "X.Y", value_delimiter = ',')]
    pub gpu: Vec<ComputeCapability>,
    /// The oldest driver it has to run with, instead of the recipe's, such as 580.65.
    #[arg(long, value_name = "VERSION")]
    pub driver: Option<DottedVersion>,
    /// The oldest glibc it has to run with, instead of the recipe's, such as 2.28.
    #[arg(long, value_name = "VERSION")]
    pub glibc: Option<DottedVersion>,
    /// Read every byte again instead of the bundle's own records.
    #[arg(long)]
    pub full: bool,
}

/// `bundler diff`
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// A bundle, packed or unpacked.
    pub a: PathBuf,
    /// Another one.
    pub b: PathBuf,
}

/// `bundler evidence`
#[derive(Debug, Args)]
pub struct EvidenceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: EvidenceCommand,
}

/// What can be done with evidence.
#[derive(Debug, Subcommand)]
pub enum EvidenceCommand {
    /// Write evidence, its page and a bill of materials (CycloneDX) beside a bundle, as make does.
    Write(EvidenceWriteArgs),
    /// Say whether the evidence beside a bundle still holds; exit 1 if it is stale.
    Check(EvidenceCheckArgs),
}

/// `bundler evidence write`
#[derive(Debug, Args)]
pub struct EvidenceWriteArgs {
    /// The bundle, a .tar.zst file.
    pub bundle: PathBuf,
    /// A wheelhouse's manifest.txt, for its compile commands; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub manifest: Vec<PathBuf>,
    /// Read every byte again instead of the bundle's own records.
    #[arg(long)]
    pub full: bool,
}

/// `bundler evidence check`
#[derive(Debug, Args)]
pub struct EvidenceCheckArgs {
    /// The bundle, a .tar.zst file.
    pub bundle: PathBuf,
    /// The evidence [default: BUNDLE.evidence.json].
    #[arg(long, value_name = "FILE")]
    pub evidence: Option<PathBuf>,
    /// The driver it is to run with: evidence of another class of drivers is stale.
    #[arg(long, value_name = "VERSION")]
    pub driver: Option<DottedVersion>,
    /// Digest the whole file too.
    #[arg(long)]
    pub full: bool,
}

/// `bundler report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A bundle, packed or unpacked.
    pub bundle: PathBuf,
    /// The file to write [default: BUNDLE.html].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `bundler gpu`
#[derive(Debug, Args)]
pub struct GpuArgs {
    /// A bundle, a wheel, a folder, a shared library, a fat binary, a cubin or PTX.
    pub file: PathBuf,
    /// A device by its compute capability, such as 9.0: say what runs there; may be repeated.
    #[arg(long, value_name = "X.Y")]
    pub cc: Vec<ComputeCapability>,
    /// Unpack the code and name its kernels.
    #[arg(long)]
    pub kernels: bool,
    /// A kernel, or a target such as sm_90a or compute_120, that must be there; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub expect: Vec<String>,
}

/// `bundler completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: clap_complete::Shell,
}
