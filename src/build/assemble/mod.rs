//! Components → [`Tree`]: one owner per path, no collisions, generated files. Works on facts alone and never reads the
//! gigabytes again. In three steps, because the layout can be rendered only when the rest is known:
//! [`merge`] → [`Merged::layout_plan`] (the caller ingests it like any plan) → [`Merged::finish`].

mod collision;
mod layout;
mod merge;
mod places;
mod startup;
mod told;
mod tree;

use std::sync::Arc;

use crate::build::ingest::store::Backing;
use crate::formats::component::{Component, ComponentKind, Layer};

pub use collision::{AssembleError, Collision};
pub use layout::LayoutRequest;
pub use merge::{Merge, Merged, Without, merge};
pub use startup::StartupHook;
pub use told::Told;
pub use tree::{Node, Tree};

/// A component and where it goes.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The component.
    pub component: Arc<Component>,
    /// The layer it belongs to.
    pub layer: Layer,
    /// Where its segments lie.
    pub segments: Backing,
    /// Alias of the index or interpreter source its artifact came from.
    pub source: Option<String>,
}

impl Placed {
    /// How messages name it: `numpy 2.1.0`, `cpython 3.12.14`, `source`.
    pub fn label(&self) -> String {
        match &self.component.version {
            Some(version) => format!("{} {version}", self.component.name),
            None => self.component.name.clone(),
        }
    }

    /// The order of a bundle: base before app; in each the interpreter, libraries, wheels and shims by name, the source,
    /// the layout.
    fn order(&self) -> (Layer, u8, &str, Option<&str>, crate::base::digest::Digest) {
        let rank = match self.component.kind {
            ComponentKind::Interpreter => 0,
            ComponentKind::Library => 1,
            ComponentKind::Wheel | ComponentKind::Shim => 2,
            ComponentKind::Source => 3,
            ComponentKind::Layout => 4,
        };
        let c = &self.component;
        (self.layer, rank, &c.name, c.version.as_deref(), c.id)
    }
}
