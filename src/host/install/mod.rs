//! Installing: a bundle in, an installed name out. What the bundle says of itself is checked first ([`Plan`]), then
//! room is, then components that the store lacks are written into a draft, every file verified while it is written;
//! those it has are digested again. Last, the tree is put together and given its name by one rename.

mod error;
mod extract;
mod material;
mod plan;
mod remote;
mod room;
mod source;
mod spool;
mod tree;
mod unpack;

use std::path::Path;

pub use error::InstallError;
pub(super) use extract::{extract, stored};
pub use material::Material;
pub use plan::Plan;
pub use source::{Opened, open, open_here};
pub use tree::Sharing;
pub(super) use tree::{probe, put};
pub use unpack::{Unpacked, unpack};

use crate::base::digest::Digest;
use crate::base::fs::{self, DraftDir, ReadAt, Way};
use crate::base::progress::Progress;
use crate::host::intact;
use crate::host::store::{HostStoreError, Installed, Origin, Store};

/// How to install.
#[derive(Debug, Clone)]
pub struct InstallOptions {
    /// Copy files instead of sharing them with other bundles.
    pub copy: bool,
    /// Threads.
    pub jobs: usize,
    /// How folders are opened while writing.
    pub way: Way,
    /// The identity the bundle must have, where it is known from elsewhere.
    pub expected: Option<Digest>,
    /// Where the bundle comes from, as `repair` will look for it: its file or address, and those of layers.
    pub origin: Vec<String>,
}

/// Where the segments of a bundle come from: at hand, or fetched on demand.
pub trait Supply: Sync {
    /// Makes these segments readable.
    fn need(&self, segments: &[usize]) -> Result<(), InstallError>;

    /// Bytes of disk it takes to do so.
    fn bytes(&self, _segments: &[usize]) -> u64 {
        0
    }
}

/// Everything can be read already.
#[derive(Debug)]
pub struct AtHand;

impl Supply for AtHand {
    fn need(&self, _: &[usize]) -> Result<(), InstallError> {
        Ok(())
    }
}

/// What was done.
#[derive(Debug)]
pub struct Receipt {
    /// The installed bundle.
    pub installed: Installed,
    /// Its identity.
    pub identity: Digest,
    /// It stood there already; nothing was changed.
    pub was_there: bool,
    /// Components written, and bytes of their files.
    pub written: (usize, u64),
    /// Components that the store had, and bytes of their files.
    pub reused: (usize, u64),
    /// How the tree holds its files.
    pub sharing: Sharing,
}

/// Installs a bundle. The store must be held.
pub fn install<R: ReadAt>(
    store: &Store,
    material: &Material<'_, R>,
    options: &InstallOptions,
    progress: &Progress,
) -> Result<Receipt, InstallError> {
    let plan = Plan::new(material.bundle())?;
    if let Some(expected) = options.expected
        && expected != plan.identity
    {
        let found = plan.identity;
        return Err(InstallError::Identity { expected, found });
    }
    let path = store.bundles().join(&plan.name);
    let mut receipt = Receipt {
        installed: Installed {
            name: plan.name.clone(),
            path: path.clone(),
        },
        identity: plan.identity,
        was_there: true,
        written: (0, 0),
        reused: (0, 0),
        sharing: Sharing::Links,
    };
    let there = store.installed()?.into_iter();
    if there.into_iter().any(|one| one.name == plan.name) {
        // What a killed process left goes, where that can be done.
        let _ = store.prepare();
        return Ok(receipt);
    }
    room::check_place(store.root())?;
    store.prepare()?;
    let draft = DraftDir::new(&store.drafts())?;
    let sharing = tree::probe(draft.path(), options.copy)?;
    let (have, missing) = sort(store, &plan, options, progress)?;
    material.has(&plan, &missing)?;
    let to_fetch = material.bytes(&plan, &missing);
    room::check(store.root(), &plan, &missing, sharing, to_fetch)?;
    material.need(&plan, &missing)?;
    extract(material, &plan, &missing, draft.path(), options, progress)?;
    let source = |number: usize| {
        if missing.contains(&number) {
            draft.path().join(plan.id(number).to_string())
        } else {
            store.component(&plan.id(number))
        }
    };
    let tree = draft.path().join("tree");
    tree::build(&plan, &source, &tree, sharing, options)?;
    fs::sync_file_system(draft.path())?;
    for number in &missing {
        put_component(store, &plan.id(*number), draft.path())?;
    }
    fs::sync_dir(&store.components())?;
    remember(store, &plan, options)?;
    put_tree(&tree, &path)?;
    fs::sync_dir(&store.bundles())?;
    let sum = |numbers: &[usize]| {
        let bytes = numbers.iter().map(|n| plan.record(*n).unpacked).sum();
        (numbers.len(), bytes)
    };
    receipt.was_there = false;
    receipt.written = sum(&missing);
    receipt.reused = sum(&have);
    receipt.sharing = sharing;
    Ok(receipt)
}

/// The components the store has, whole and undamaged, and those it lacks.
fn sort(
    store: &Store,
    plan: &Plan,
    options: &InstallOptions,
    progress: &Progress,
) -> Result<(Vec<usize>, Vec<usize>), InstallError> {
    let (mut have, mut missing) = (Vec::new(), Vec::new());
    for number in 0..plan.components() {
        let path = store.component(&plan.id(number));
        if fs::symlink_metadata(&path)?.is_none() {
            missing.push(number);
            continue;
        }
        let rows: Vec<_> = plan.rows_of(number).collect();
        if intact::first_fault(&path, &rows, options.jobs)?.is_none() {
            have.push(number);
        } else {
            let name = &plan.record(number).name;
            progress.note(format!(
                "warning: component {name} in the store is damaged and is written anew; `bundler repair` heals other bundles"
            ));
            missing.push(number);
        }
    }
    Ok((have, missing))
}

/// Gives a component its name. What stands there is damaged, or another process was faster; both may go.
pub(super) fn put_component(store: &Store, id: &Digest, draft: &Path) -> Result<(), InstallError> {
    let (from, to) = (draft.join(id.to_string()), store.component(id));
    if fs::symlink_metadata(&to)?.is_some() {
        fs::rename(&to, &draft.join(format!("{id}-old")))?;
    }
    fs::rename(&from, &to)?;
    Ok(())
}

fn put_tree(tree: &Path, to: &Path) -> Result<(), InstallError> {
    match fs::rename(tree, to) {
        // Another process was faster where no lock holds it back.
        Err(_) if fs::symlink_metadata(&to.join(crate::formats::manifest::COMPLETE))?.is_some() => {
            Ok(())
        }
        other => Ok(other?),
    }
}

fn remember(store: &Store, plan: &Plan, options: &InstallOptions) -> Result<(), HostStoreError> {
    let [source, layers @ ..] = &*options.origin else {
        return Ok(());
    };
    let origin = Origin {
        schema_version: 1,
        source: source.clone(),
        layers: layers.to_vec(),
        identity: plan.identity,
    };
    store.write_origin(&plan.name, &origin)
}
