//! NEEDED closure: which file, or the host, gives each library that a file of the tree needs. Follows the dynamic loader
//! (ld.so(8), "dlopen and DT_RPATH/DT_RUNPATH"): what is loaded already is taken by SONAME; else DT_RPATH of the file and of
//! its loaders where the file has no DT_RUNPATH; else DT_RUNPATH; else the host. `LD_LIBRARY_PATH` is never counted on.

use std::collections::{BTreeMap, BTreeSet};

use super::policy::Policy;
use crate::base::target::Arch;
use crate::build::assemble::Tree;
use crate::formats::component::{ComponentKind, EntryKind, FileFacts};
use crate::formats::elf::ElfFacts;

/// A file that the loader can map.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object<'a> {
    /// Path of the file itself, links followed.
    pub(super) path: &'a str,
    /// Its facts.
    pub(super) elf: &'a ElfFacts,
    /// Kind of the component it comes from.
    pub(super) origin: ComponentKind,
}

/// Who gives a needed library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Provider {
    /// A file of the tree, by path.
    Tree(String),
    /// Nobody in the tree: the host, if it has it.
    Outside,
}

/// Every object of a tree for the bundle's architecture, and who gives what it needs.
#[derive(Debug)]
pub(super) struct Links<'a> {
    /// By path.
    pub(super) objects: BTreeMap<&'a str, Object<'a>>,
    /// By path of the object: its needs, in order.
    pub(super) needs: BTreeMap<&'a str, Vec<(&'a str, Provider)>>,
}

/// Resolves every need of every object.
pub(super) fn links<'a>(tree: &'a Tree, arch: Arch, policy: &Policy) -> Links<'a> {
    let objects: BTreeMap<&str, Object<'_>> = tree
        .nodes()
        .filter_map(|node| match (&node.entry.kind, &node.entry.facts) {
            (EntryKind::File, Some(FileFacts::Elf(elf))) if elf.is_loadable() && elf.fits(arch) => {
                Some((
                    node.entry.path.as_str(),
                    Object {
                        path: &node.entry.path,
                        elf,
                        origin: node.owner.component.kind,
                    },
                ))
            }
            _ => None,
        })
        .collect();
    let mut resolver = Resolver {
        tree,
        names: tree.nodes().map(|n| file_name(&n.entry.path)).collect(),
        objects: &objects,
        inherited: BTreeMap::new(),
        loaded: BTreeMap::new(),
    };
    resolver.python();
    resolver.preloads(policy);
    resolver.inherit();
    let needs = objects
        .values()
        .map(|object| (object.path, resolver.needs(*object)))
        .collect();
    Links { objects, needs }
}

struct Resolver<'a, 'o> {
    tree: &'a Tree,
    /// Last elements of all paths: most needs are the host's, and need no further search.
    names: BTreeSet<&'a str>,
    objects: &'o BTreeMap<&'a str, Object<'a>>,
    /// Folders that an object may search because one of its loaders has a DT_RPATH.
    inherited: BTreeMap<&'a str, BTreeSet<String>>,
    /// SONAMEs (and file names) that are loaded before the object in question, and their paths.
    loaded: BTreeMap<&'a str, &'a str>,
}

impl<'a> Resolver<'a, '_> {
    /// The interpreter is the loader of every extension module, and what it needs is loaded before them.
    fn python(&mut self) {
        let programs: Vec<Object<'a>> = self
            .objects
            .values()
            .filter(|o| o.path.starts_with("python/bin/python") && o.elf.is_program())
            .copied()
            .collect();
        for program in &programs {
            self.load(*program);
        }
        let mut folders = BTreeSet::new();
        for program in programs {
            folders.extend(own_rpath(program));
        }
        for object in self.objects.values().filter(|o| !o.elf.is_program()) {
            self.inherited
                .entry(object.path)
                .or_default()
                .extend(folders.clone());
        }
    }

    /// Libraries that python code loads by full path before others need them.
    fn preloads(&mut self, policy: &Policy) {
        for preload in &policy.preload {
            let present = |path: &str| preload.when.iter().any(|w| path.ends_with(w.as_str()));
            if !self.tree.nodes().any(|n| present(&n.entry.path)) {
                continue;
            }
            let wanted: Vec<Object<'a>> = self
                .objects
                .values()
                .filter(|o| preload.holds(o.path, o.elf))
                .copied()
                .collect();
            for object in wanted {
                self.load(object);
            }
        }
    }

    /// Marks an object and everything it needs as loaded.
    fn load(&mut self, object: Object<'a>) {
        let mut queue = vec![object];
        while let Some(object) = queue.pop() {
            if let Some(soname) = object.elf.soname.as_deref() {
                self.loaded.entry(soname).or_insert(object.path);
            }
            if self
                .loaded
                .insert(file_name(object.path), object.path)
                .is_some()
            {
                continue;
            }
            for (_, provider) in self.needs(object) {
                if let Provider::Tree(path) = provider {
                    queue.extend(self.objects.get(path.as_str()).copied());
                }
            }
        }
    }

    /// Hands every DT_RPATH down to what the object loads, until nothing changes.
    fn inherit(&mut self) {
        let mut queue: Vec<Object<'a>> = self.objects.values().copied().collect();
        while let Some(object) = queue.pop() {
            let mut folders = self.inherited.get(object.path).cloned().unwrap_or_default();
            folders.extend(own_rpath(object));
            if folders.is_empty() {
                continue;
            }
            for (_, provider) in self.needs(object) {
                let Provider::Tree(path) = provider else {
                    continue;
                };
                let Some(child) = self.objects.get(path.as_str()).copied() else {
                    continue;
                };
                let known = self.inherited.entry(child.path).or_default();
                let before = known.len();
                known.extend(folders.iter().cloned());
                if known.len() > before {
                    queue.push(child);
                }
            }
        }
    }

    fn needs(&self, object: Object<'a>) -> Vec<(&'a str, Provider)> {
        object
            .elf
            .needed
            .iter()
            .map(|name| (name.as_str(), self.provider(object, name)))
            .collect()
    }

    fn provider(&self, object: Object<'a>, name: &str) -> Provider {
        if !self.names.contains(file_name(name)) {
            return self
                .loaded
                .get(name)
                .map_or(Provider::Outside, |p| Provider::Tree((*p).to_owned()));
        }
        let own = object
            .elf
            .search_path()
            .iter()
            .filter_map(|f| folder(object.path, f));
        let handed = self
            .inherited
            .get(object.path)
            .filter(|_| object.elf.runpath.is_empty());
        let folders = own.chain(handed.into_iter().flatten().cloned());
        let found = folders
            .filter_map(|folder| locate(self.tree, &format!("{folder}/{name}")))
            .find(|path| self.objects.contains_key(path.as_str()));
        match found.or_else(|| self.loaded.get(name).map(|p| (*p).to_owned())) {
            Some(path) => Provider::Tree(path),
            None => Provider::Outside,
        }
    }
}

fn own_rpath(object: Object<'_>) -> Vec<String> {
    if !object.elf.runpath.is_empty() {
        return Vec::new();
    }
    let folders = object.elf.rpath.iter();
    folders.filter_map(|f| folder(object.path, f)).collect()
}

/// The last element of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folder of the tree that an RPATH element of `object` names; `None` for one outside.
pub(super) fn folder(object: &str, element: &str) -> Option<String> {
    let rest = element
        .strip_prefix("$ORIGIN")
        .or_else(|| element.strip_prefix("${ORIGIN}"))?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    let origin = object.rsplit_once('/').map_or("", |(folder, _)| folder);
    normal(&format!("{origin}{rest}"))
}

/// A path without `.`, `..` and empty parts; `None` where it leaves the tree.
pub(super) fn normal(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The file that a path means, links followed; `None` where there is none or a link leaves the tree.
pub(super) fn locate(tree: &Tree, path: &str) -> Option<String> {
    let mut left: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
    let mut at: Vec<String> = Vec::new();
    let mut links = 0;
    while let Some(part) = left.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                at.pop()?;
                continue;
            }
            _ => at.push(part),
        }
        let here = at.join("/");
        let Some(node) = tree.get(&here) else {
            continue;
        };
        match &node.entry.kind {
            EntryKind::Symlink { target } => {
                links += 1;
                if links > 40 || target.starts_with('/') {
                    return None;
                }
                at.pop();
                left.extend(target.rsplit('/').map(str::to_owned));
            }
            EntryKind::Hardlink { target } if left.is_empty() => return Some(target.clone()),
            _ => return left.is_empty().then_some(here),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_the_folder_of_the_file() {
        let at = "python/lib/python3.12/site-packages/torch/lib/libtorch.so";
        let is = |element: &str| folder(at, element);
        assert_eq!(
            is("$ORIGIN/../../nvidia/cu13/lib").as_deref(),
            Some("python/lib/python3.12/site-packages/nvidia/cu13/lib")
        );
        assert_eq!(
            is("${ORIGIN}").as_deref(),
            Some("python/lib/python3.12/site-packages/torch/lib")
        );
        for outside in [
            "/usr/lib",
            "",
            "lib",
            "$ORIGIN_/x",
            "$ORIGIN/../../../../../../../x",
        ] {
            assert_eq!(is(outside), None, "{outside}");
        }
    }
}
