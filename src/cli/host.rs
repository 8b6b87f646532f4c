//! Arguments of the commands that ask what a host is.

use std::path::PathBuf;

use clap::Args;

use super::StoreArgs;
use crate::base::capability::ComputeCapability;
use crate::formats::driver::DriverVersion;

/// Which host is asked about.
#[derive(Debug, Clone, Args)]
pub struct HostArgs {
    /// Folder that stands for the host: everything is read below it, and nothing is run [default: /].
    #[arg(
        long,
        default_value = "/",
        hide_default_value = true,
        value_name = "DIR"
    )]
    pub sysroot: PathBuf,
    /// GPU by its compute capability, such as 9.0, instead of the host's; may be repeated.
    #[arg(long, value_name = "X.Y")]
    pub gpu: Vec<ComputeCapability>,
    /// Driver version, such as 580.95.05, instead of the host's.
    #[arg(long, value_name = "V")]
    pub driver: Option<DriverVersion>,
    /// Where a bundle would be installed.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// `bundler doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// A bundle, the folder of an unpacked one, a `<bundle>.json`, or an index (file or address).
    #[arg(value_name = "BUNDLE|INDEX")]
    pub bundle: Option<String>,
    /// Which host is asked about.
    #[command(flatten)]
    pub host: HostArgs,
    /// Ask the driver itself, through the python of the unpacked bundle that is named.
    #[arg(long)]
    pub deep: bool,
}

/// `bundler select`
#[derive(Debug, Args)]
pub struct SelectArgs {
    /// The index: a file or an address.
    pub index: String,
    /// Which host is asked about.
    #[command(flatten)]
    pub host: HostArgs,
}
