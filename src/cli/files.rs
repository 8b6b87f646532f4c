//! Arguments of the commands that make other files of a finished bundle, or a folder.

use std::path::PathBuf;

use clap::Args;

/// `bundler layers`
#[derive(Debug, Args)]
pub struct LayersArgs {
    /// The bundle, a .tar.zst file.
    pub bundle: PathBuf,
    /// Folder the layers are written to [default: the bundle's].
    #[arg(short, long, value_name = "DIR")]
    pub out_dir: Option<PathBuf>,
}

/// Further forms of a bundle that is made.
#[derive(Debug, Args)]
pub struct FurtherArgs {
    /// Write the base and the app layer beside the bundle too, as `bundler layers` does.
    #[arg(long)]
    pub layers: bool,
    /// Write a file that unpacks itself beside the bundle too, as `bundler self-extract` does.
    #[arg(long)]
    pub self_extract: bool,
    /// With --self-extract: the static bundler to put into that file.
    #[arg(long, value_name = "FILE", requires = "self_extract")]
    pub program: Option<PathBuf>,
}

/// `bundler self-extract`
#[derive(Debug, Args)]
pub struct SelfExtractArgs {
    /// The bundle, a .tar.zst file.
    pub bundle: PathBuf,
    /// The file to write [default: the bundle's name with .run for .tar.zst, beside it].
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// The static bundler of the bundle's architecture to put into it [default: this program, or bundler-ARCH beside it, where
    /// that is one; without any, the file needs zstd and tar on the host].
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
}

/// `bundler unpack`
#[derive(Debug, Args)]
pub struct UnpackArgs {
    /// The bundle's file, or its layers' files.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// Folder in which `runtime` is made.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub prefix: PathBuf,
    /// Print the paths in it; unpack nothing.
    #[arg(long)]
    pub list: bool,
    /// Unpack also what will not run on this host.
    #[arg(long)]
    pub force: bool,
    /// Threads to use [default: all processors].
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub jobs: Option<u16>,
}
