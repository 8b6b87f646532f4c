//! Arguments of the commands that work with the store of a host.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::base::capability::ComputeCapability;

/// Which store.
#[derive(Debug, Clone, Args)]
pub struct StoreArgs {
    /// Folder that bundles are installed in, the store [default: $XDG_DATA_HOME/pointcept-runtime].
    #[arg(long, env = "POINTCEPT_BUNDLER_ROOT", value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// `bundler install`
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// A bundle's file or address, a folder with one bundle, its layers' files or addresses, or an index (index.json), of
    /// which the best for this host is taken.
    #[arg(value_name = "FILE|DIR|URL|INDEX", required = true)]
    pub source: Vec<String>,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Copy files instead of sharing them with the store: takes twice the disk, and files stay writable.
    #[arg(long)]
    pub copy: bool,
    /// Install also what will not run on this host.
    #[arg(long)]
    pub force: bool,
    /// GPU by its compute capability, such as 9.0, instead of the host's; may be repeated.
    #[arg(long, value_name = "X.Y")]
    pub gpu: Vec<ComputeCapability>,
    /// Leave the current bundle as it is.
    #[arg(long)]
    pub no_use: bool,
    /// Threads to use [default: all processors].
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub jobs: Option<u16>,
}

/// An installed bundle.
#[derive(Debug, Args)]
pub struct NameArgs {
    /// Its name, a beginning of it, or its version.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// An installed bundle, or the current one.
#[derive(Debug, Args)]
pub struct OptionalNameArgs {
    /// Its name, a beginning of it, or its version [default: the current one].
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `bundler remove`
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// Its name, a beginning of it, or its version.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Also when it is the current one.
    #[arg(long)]
    pub force: bool,
}

/// `bundler verify`
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Names of installed bundles, folders or files [default: all installed bundles].
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Threads to use [default: all processors].
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub jobs: Option<u16>,
}

/// `bundler run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The command, such as python, and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    pub command: Vec<OsString>,
    /// Name of an installed bundle [default: the current one].
    #[arg(long, value_name = "NAME")]
    pub bundle: Option<String>,
    /// A folder of further packages behind the bundle's own; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub overlay: Vec<PathBuf>,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `bundler repair`
#[derive(Debug, Args)]
pub struct RepairArgs {
    /// Names of installed bundles [default: all].
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Which store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// Where to take bytes from that the store no longer has; may be repeated for layers [default: where the bundle was
    /// installed from].
    #[arg(long, value_name = "FILE|URL")]
    pub from: Vec<String>,
    /// Threads to use [default: all processors].
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub jobs: Option<u16>,
}
