//! Repairing an installed bundle: what `verify` finds is put right from the store's own components where those are
//! intact, else from the bundle itself, of which only the damaged components are read. Each path is replaced by one rename.
//! What does not belong to the bundle is taken away.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::install::{
    InstallError, InstallOptions, Opened, Plan, Sharing, extract, probe, put, put_component, stored,
};
use super::intact::{self, Fault, FaultKind, Judged};
use super::store::{Installed, Store};
use crate::base::fs::{self, Confined, DraftDir};
use crate::base::progress::Progress;
use crate::formats::component::EntryKind;
use crate::formats::manifest::Row;
use crate::formats::recorded::FACTS;

/// What was done for one bundle.
#[derive(Debug)]
pub struct Repaired {
    /// Its name.
    pub name: String,
    /// Paths that were put right.
    pub paths: usize,
    /// Components that were read from the bundle again.
    pub components: usize,
}

/// Repairs one installed bundle. `open` gives the bundle itself; it is asked only when it is needed. The store must be
/// held.
pub fn repair<'a>(
    store: &Store,
    bundle: &Installed,
    open: &dyn Fn() -> Result<Opened<'a>, InstallError>,
    options: &InstallOptions,
    progress: &Progress,
) -> Result<Repaired, InstallError> {
    store.prepare()?;
    let draft = DraftDir::new(&store.drafts())?;
    let mut work = Work {
        store,
        bundle,
        draft: &draft,
        opened: None,
        paths: BTreeSet::new(),
        components: 0,
        count: 0,
    };
    let (mut plan, mut faults) = work.described(open, options.jobs)?;
    if work.folders_and_modes(&plan, &faults)? {
        (plan, faults) = work.described(open, options.jobs)?;
    }
    work.files(&plan, &faults, open, options, progress)?;
    work.added(&faults)?;
    fs::sync_file_system(store.root())?;
    let left = intact::tree(&bundle.path, options.jobs)?;
    if let Some(first) = left.findings.first() {
        return Err(InstallError::Whole {
            what: format!("{} of {} could not be restored", first.path, bundle.name),
        });
    }
    Ok(Repaired {
        name: bundle.name.clone(),
        paths: work.paths.len(),
        components: work.components,
    })
}

struct Work<'w, 'a> {
    store: &'w Store,
    bundle: &'w Installed,
    draft: &'w DraftDir,
    opened: Option<Opened<'a>>,
    paths: BTreeSet<String>,
    components: usize,
    count: usize,
}

type Open<'f, 'a> = &'f dyn Fn() -> Result<Opened<'a>, InstallError>;

impl<'a> Work<'_, 'a> {
    /// What the bundle should be, and what of it differs; its descriptions are restored on the way.
    fn described(
        &mut self,
        open: Open<'_, 'a>,
        jobs: usize,
    ) -> Result<(Plan, Vec<Fault>), InstallError> {
        for _ in 0..2 {
            let Judged { faults, plan, .. } = intact::tree(&self.bundle.path, jobs)?;
            if let Some(plan) = plan.filter(|plan| self.bundle.is_named_after(&plan.identity)) {
                return Ok((plan, faults));
            }
            let plan = self.source(open)?.plan()?;
            self.is_ours(&plan)?;
            for (name, bytes) in plan.descriptions() {
                self.replace_bytes(name, bytes)?;
            }
        }
        Err(InstallError::Whole {
            what: format!(
                "the descriptions of {} could not be restored",
                self.bundle.name
            ),
        })
    }

    fn source(&mut self, open: Open<'_, 'a>) -> Result<&Opened<'a>, InstallError> {
        if self.opened.is_none() {
            self.opened = Some(open()?);
        }
        self.opened.as_ref().ok_or_else(|| InstallError::Source {
            what: format!("where {} came from is not known", self.bundle.name),
            hint: None,
        })
    }

    fn is_ours(&self, plan: &Plan) -> Result<(), InstallError> {
        if plan.name == self.bundle.name {
            return Ok(());
        }
        Err(InstallError::Source {
            what: format!("{} cannot be repaired from {}", self.bundle.name, plan.name),
            hint: Some("name the bundle it was installed from with --from".to_owned()),
        })
    }

    /// Folders, from the outermost in, and modes. Says whether anything was changed.
    fn folders_and_modes(&mut self, plan: &Plan, faults: &[Fault]) -> Result<bool, InstallError> {
        let rows: BTreeMap<&str, &Row> = plan.rows().iter().map(|r| (r.path.as_str(), r)).collect();
        let mut changed = false;
        for fault in faults {
            let path = self.bundle.path.join(&fault.path);
            let row = rows.get(fault.path.as_str());
            let is_dir = row.is_some_and(|row| row.kind == EntryKind::Dir);
            match (&fault.kind, row) {
                (FaultKind::Mode { listed, .. }, row) => {
                    let is_file = row.is_some_and(|row| row.kind != EntryKind::Dir);
                    let mode = if is_file { stored(*listed) } else { *listed };
                    fs::set_mode(&path, mode)?;
                }
                (FaultKind::Missing, Some(_)) if is_dir => make_folder(&path)?,
                (FaultKind::Kind, Some(_)) if is_dir => {
                    self.take_away(&path)?;
                    make_folder(&path)?;
                }
                _ => continue,
            }
            self.paths.insert(fault.path.clone());
            changed = true;
        }
        Ok(changed)
    }

    /// Files and links, component by component.
    fn files(
        &mut self,
        plan: &Plan,
        faults: &[Fault],
        open: Open<'_, 'a>,
        options: &InstallOptions,
        progress: &Progress,
    ) -> Result<(), InstallError> {
        let bad: BTreeSet<&str> = faults
            .iter()
            .filter(|fault| fault.kind != FaultKind::Added)
            .map(|fault| fault.path.as_str())
            .collect();
        let sharing = probe(self.draft.path(), self.is_copied(plan, &bad)?)?;
        for number in 0..plan.components() {
            let rows = plan.rows_of(number);
            let hit: Vec<&Row> = rows.filter(|r| bad.contains(r.path.as_str())).collect();
            if !hit.is_empty() {
                self.component(plan, number, open, options, progress)?;
                for row in hit {
                    self.replace(plan, number, row, sharing)?;
                }
            }
        }
        for row in plan.own_rows().filter(|row| row.kind == EntryKind::File) {
            if bad.contains(row.path.as_str()) {
                let bytes = if row.path == FACTS {
                    let theirs = self.source(open)?.plan()?;
                    self.is_ours(&theirs)?;
                    theirs.facts().unwrap_or_default().to_vec()
                } else {
                    plan.layer_record(row)?
                };
                self.replace_bytes(&row.path, &bytes)?;
            }
        }
        Ok(())
    }

    /// Makes sure that the store has a component, whole.
    fn component(
        &mut self,
        plan: &Plan,
        number: usize,
        open: Open<'_, 'a>,
        options: &InstallOptions,
        progress: &Progress,
    ) -> Result<(), InstallError> {
        let rows: Vec<&Row> = plan.rows_of(number).collect();
        let folder = self.store.component(&plan.id(number));
        if fs::symlink_metadata(&folder)?.is_some()
            && intact::first_fault(&folder, &rows, options.jobs)?.is_none()
        {
            return Ok(());
        }
        let draft = self.draft.path().to_owned();
        let theirs = self.source(open)?.plan()?;
        self.is_ours(&theirs)?;
        let material = self.source(open)?.material()?;
        material.need(plan, &[number])?;
        extract(&material, plan, &[number], &draft, options, progress)?;
        fs::sync_file_system(&draft)?;
        put_component(self.store, &plan.id(number), &draft)?;
        self.components += 1;
        Ok(())
    }

    /// Whether the tree's files are its own: then new ones are copies too.
    fn is_copied(&self, plan: &Plan, bad: &BTreeSet<&str>) -> Result<bool, InstallError> {
        use std::os::unix::fs::MetadataExt;
        let good = plan.rows().iter().find(|row| {
            row.kind == EntryKind::File && row.origin.is_some() && !bad.contains(row.path.as_str())
        });
        let there = match good {
            Some(row) => fs::symlink_metadata(&self.bundle.path.join(&row.path))?,
            None => None,
        };
        Ok(there.is_some_and(|there| there.nlink() == 1 && there.mode() & 0o200 != 0))
    }

    /// Puts one file or link of a component in its place.
    fn replace(
        &mut self,
        plan: &Plan,
        number: usize,
        row: &Row,
        sharing: Sharing,
    ) -> Result<(), InstallError> {
        let fresh = self.fresh()?;
        let way = fs::Way::Kernel;
        let mut from = Confined::open(&self.store.component(&plan.id(number)), way)?;
        let mut to = Confined::open(&fresh, way)?;
        if let Some((folder, _)) = row.path.rsplit_once('/') {
            to.make_folder(folder)?;
        }
        put(&mut from, &mut to, row, sharing)?;
        self.put_over(&fresh.join(&row.path), &row.path)
    }

    fn replace_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<(), InstallError> {
        let fresh = self.fresh()?;
        let path = fresh.join("file");
        fs::write_new(&path, bytes, 0o644)?;
        self.put_over(&path, name)
    }

    /// Gives a new file its place by one rename; a folder that stands there is moved out of the way first.
    fn put_over(&mut self, new: &Path, name: &str) -> Result<(), InstallError> {
        let to = self.bundle.path.join(name);
        if fs::symlink_metadata(&to)?.is_some_and(|there| there.is_dir()) {
            self.take_away(&to)?;
        }
        fs::rename(new, &to)?;
        self.paths.insert(name.to_owned());
        Ok(())
    }

    fn added(&mut self, faults: &[Fault]) -> Result<(), InstallError> {
        for fault in faults.iter().filter(|f| f.kind == FaultKind::Added) {
            self.take_away(&self.bundle.path.join(&fault.path))?;
            self.paths.insert(fault.path.clone());
        }
        Ok(())
    }

    /// Moves something out of the tree; it goes with the draft.
    fn take_away(&mut self, path: &Path) -> Result<(), InstallError> {
        let fresh = self.fresh()?;
        Ok(fs::rename(path, &fresh.join("old"))?)
    }

    /// A new folder in the draft.
    fn fresh(&mut self) -> Result<std::path::PathBuf, InstallError> {
        self.count += 1;
        let path = self.draft.path().join(format!("fix-{}", self.count));
        fs::create_dir(&path)?;
        Ok(path)
    }
}

fn make_folder(path: &Path) -> Result<(), InstallError> {
    fs::create_dir(path)?;
    Ok(fs::set_mode(path, 0o755)?)
}
