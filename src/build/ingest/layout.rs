//! bundle-layout/ → the entries of the layout component: env.sh, launchers, scripts, README. Only `*.in` files are
//! rendered, from a closed list of values.

use crate::build::ingest::PlannedEntry;

/// Everything a `*.in` file may name.
#[derive(Debug, Clone, Default)]
pub struct LayoutValues {
    /// `pointcept-runtime`.
    pub bundle_name: String,
    /// Version of the bundle.
    pub bundle_version: String,
    /// `amd64-cu130`.
    pub target: String,
    /// Python minor version, `3.12`.
    pub python_minor: String,
    /// Folder below `src/`, such as `pointcept`; none where no source is shipped.
    pub source_folder: Option<String>,
    /// Folders that hold nothing but NVIDIA libraries, relative to the root, in search order.
    pub nvidia_library_dirs: Vec<String>,
    /// The compiled-in OpenSSL folder where it is a system folder (see `interpreter::openssl_dir`).
    pub openssl_dir: Option<String>,
    /// Top-level modules doctor imports, in order (torch first).
    pub modules: Vec<String>,
    /// Name and version of what is inside that people ask for (torch, cuda …), for README.
    pub contents: Vec<(String, String)>,
}

/// Why the layout could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A value that cannot stand where it is wanted.
    #[error("the value of {name} cannot be written into {file}: {value:?}")]
    Value {
        /// Name between the `@`.
        name: &'static str,
        /// File of bundle-layout.
        file: String,
        /// The value.
        value: String,
    },
    /// A name that is not on the list.
    #[error("bundle-layout/{file} names @{name}@, which no value has")]
    Unknown {
        /// File of bundle-layout.
        file: String,
        /// The name.
        name: String,
    },
}

/// Renders all entries of the layout, sorted bytewise by path.
pub fn render(_values: &LayoutValues) -> Result<Vec<PlannedEntry>, LayoutError> {
    Ok(Vec::new())
}
