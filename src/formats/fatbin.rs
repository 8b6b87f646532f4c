//! GPU code inside files: which SASS, PTX and LTO IR a library holds, wherever it lies, read from headers alone. The
//! format is NVIDIA's fat binary: containers of entries, one per kind and architecture. Architectures and suffixes come from
//! entry headers, never from the code itself. A section that is there for containers must hold nothing else; anywhere else
//! only what is a valid container from end to end counts. Any bytes are answered with facts or an error with an offset.

mod container;
mod coverage;
mod decode;
mod driver;
mod kernels;
mod outlook;
mod scan;
mod shape;
mod single;

pub use container::{Container, FatbinError, Item};
pub use coverage::{Verdict, cuda_of_isa, runs_ptx, runs_sass};
pub use decode::{DecodeError, decode};
pub use driver::{cuda_of_driver, driver_for_major, driver_of_cuda};
pub use kernels::{KernelError, Kernels, kernels, kernels_of_file};
pub use outlook::{LibraryOutlook, Outlook};
pub use scan::{Found, scan};
pub use shape::{Code, GpuFacts, Kind, Shape, Suffix};
pub use single::is_ptx;
