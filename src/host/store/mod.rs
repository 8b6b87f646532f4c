//! The store on a host: installed bundles side by side, made of components that they share, one of them current.
//!
//! ```text
//! ROOT/bundles/NAME        the tree of a bundle: complete or absent
//! ROOT/components/ID       the files of a component, shared by the bundles that hold it: complete or absent
//! ROOT/current             → uses/N, a link; switched by one rename
//! ROOT/uses/N              → ../bundles/NAME, links: what was current, for going back
//! ROOT/downloads/          what arrived of bundles that are being fetched
//! ROOT/drafts/             what is being made or taken away; no other process looks at it
//! ROOT/origins/NAME.json   where a bundle came from
//! ROOT/lock                held by whoever changes the store; saves work, correctness does not need it
//! ```
//!
//! All links are relative, so a store can be moved as a whole.

mod error;
mod gc;
mod hold;
mod names;
mod remove;
mod uses;

use std::path::{Path, PathBuf};

pub use error::HostStoreError;
pub use gc::{Collected, gc};
pub use hold::{Hold, hold};
pub use names::{Installed, Origin, name_of};
pub use remove::{Removed, remove};
pub use uses::{current, rollback, switch};

use crate::base::digest::Digest;
use crate::base::fs;

/// Where a store lies. Nothing needs to be there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store below `root`, an absolute path.
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of installed bundles.
    pub fn bundles(&self) -> PathBuf {
        self.root.join("bundles")
    }

    /// The folder of components.
    pub fn components(&self) -> PathBuf {
        self.root.join("components")
    }

    /// The files of a component.
    pub fn component(&self, id: &Digest) -> PathBuf {
        self.components().join(id.to_string())
    }

    /// The folder for what is being made or taken away.
    pub fn drafts(&self) -> PathBuf {
        self.root.join("drafts")
    }

    /// The folder for what arrived of bundles that are being fetched.
    pub fn downloads(&self) -> PathBuf {
        self.root.join("downloads")
    }

    /// Makes the folders a change of the store needs, and clears away what killed processes left.
    pub fn prepare(&self) -> Result<(), HostStoreError> {
        for dir in [self.bundles(), self.components(), self.drafts()] {
            fs::create_dir_all(&dir)?;
        }
        fs::sweep_drafts(&self.drafts())?;
        Ok(())
    }
}
