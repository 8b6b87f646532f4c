//! GPU code per library, as facts for bundle.json.

use crate::build::assemble::Tree;
use crate::formats::bundle::Coverage;
use crate::formats::component::{EntryKind, FileFacts};
use crate::formats::fatbin::Kind;

/// What each file with GPU code holds, bytewise by path. Other names of one file, and files without kernels, are left out.
pub(super) fn coverage(tree: &Tree) -> Vec<Coverage> {
    tree.nodes()
        .filter_map(|node| {
            let (EntryKind::File, Some(FileFacts::Elf(elf))) =
                (&node.entry.kind, &node.entry.facts)
            else {
                return None;
            };
            let gpu = elf.gpu.as_ref()?;
            let coverage = Coverage {
                library: node.entry.path.clone(),
                sass: gpu.names(Kind::Sass),
                ptx: gpu.names(Kind::Ptx),
            };
            (!coverage.sass.is_empty() || !coverage.ptx.is_empty()).then_some(coverage)
        })
        .collect()
}
