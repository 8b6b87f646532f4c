//! Relocatability: nothing in the tree names a place outside it. Shebangs, links, `.pth` lines, paths in configuration, and
//! RPATHs (a warning: the loader skips folders that are not there, but takes a host's library where they are).

use super::builder::{is_build_configuration, list, shown};
use super::policy::Policy;
use super::resolve::{self, Links};
use crate::base::finding::{Finding, Severity};
use crate::build::assemble::{Node, Tree};
use crate::formats::component::{ComponentKind, EntryKind, FileFacts, TextFacts};

pub(super) fn check(tree: &Tree, links: &Links<'_>, policy: &Policy, out: &mut Vec<Finding>) {
    for node in tree.nodes() {
        match (&node.entry.kind, &node.entry.facts) {
            (EntryKind::Symlink { target }, _) => link(tree, node, target, out),
            (EntryKind::File, Some(FileFacts::Text(text))) => {
                shebang(node, text, policy, out);
                pth(node, text, out);
                configuration(node, text, policy, out);
            }
            _ => {}
        }
    }
    for object in links.objects.values() {
        rpath(object, out);
    }
}

fn link(tree: &Tree, node: Node<'_>, target: &str, out: &mut Vec<Finding>) {
    let path = &node.entry.path;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    if target.starts_with('/') {
        let message = format!("is a link to the absolute path {target}");
        out.push(error(
            "absolute-path",
            path,
            message,
            "the link must be relative and stay in the bundle",
        ));
    } else if let Some(goal) = resolve::normal(&format!("{folder}/{target}")) {
        if resolve::locate(tree, &goal).is_none() && !tree.is_folder(&goal) {
            let message = format!("is a link to {target}, which is not in the bundle");
            let hint = "leave the link out, or add what it points at";
            out.push(Finding {
                severity: Severity::Warning,
                ..error("link-dangling", path, message, hint)
            });
        }
    } else {
        let message = format!("is a link to {target}, outside the bundle");
        out.push(error(
            "link-leaves-tree",
            path,
            message,
            "the link must stay in the bundle",
        ));
    }
}

fn shebang(node: Node<'_>, text: &TextFacts, policy: &Policy, out: &mut Vec<Finding>) {
    let Some(line) = &text.shebang else { return };
    let path = &node.entry.path;
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let command = is_command(path);
    // A module with a shebang and no x bit is never started by it.
    let started = command || node.entry.mode & 0o111 != 0;
    if !started || policy.absolute.shebangs.iter().any(|s| s == program) {
        return;
    }
    let system = |folder: &String| {
        program
            .strip_prefix(folder.as_str())
            .is_some_and(|rest| !rest.contains('/'))
    };
    let named = if program.ends_with("/env") {
        words
            .find(|w| !w.starts_with('-') && !w.contains('='))
            .unwrap_or_default()
    } else {
        resolve::file_name(program)
    };
    let is_system = policy.absolute.program_folders.iter().any(system);
    let is_python = named.starts_with("python") || named.starts_with("pypy");
    let hint = "make it a launcher that finds the bundle's python from its own path, or take the x bit away";
    if !is_system {
        let message = format!(
            "starts {}, a path of the machine it was made on",
            shown(program)
        );
        out.push(error("absolute-path", path, message, hint));
    } else if command && is_python {
        let message = format!(
            "starts {}: the host's python instead of the bundle's",
            shown(line)
        );
        out.push(error("absolute-path", path, message, hint));
    }
}

/// True for what stands in a folder of commands.
fn is_command(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    matches!(folder, "bin" | "python/bin")
}

fn pth(node: Node<'_>, text: &TextFacts, out: &mut Vec<Finding>) {
    let path = &node.entry.path;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for line in &text.pth_paths {
        let line = line.trim();
        let hint = "the line must be relative to the file and stay in the bundle";
        if line.starts_with('/') {
            let message = format!("puts the absolute path {} on sys.path", shown(line));
            out.push(error("absolute-path", path, message, hint));
        } else if resolve::normal(&format!("{folder}/{line}")).is_none() {
            let message = format!("puts {}, outside the bundle, on sys.path", shown(line));
            out.push(error("pth-leaves-tree", path, message, hint));
        }
    }
}

fn configuration(node: Node<'_>, text: &TextFacts, policy: &Policy, out: &mut Vec<Finding>) {
    let paths = text.absolute_paths.iter().map(String::as_str);
    let all: Vec<&str> = paths.filter(|p| !policy.is_same_everywhere(p)).collect();
    if all.is_empty() || is_build_configuration(&node.entry.path) {
        return;
    }
    let message = format!("names paths of the machine it was made on: {}", list(&all));
    let hint = "make them relative, leave the file out, or waive this if nothing reads it";
    out.push(error("absolute-path", &node.entry.path, message, hint));
}

fn rpath(object: &resolve::Object<'_>, out: &mut Vec<Finding>) {
    let elf = object.elf;
    let elements = elf.rpath.iter().chain(&elf.runpath);
    for element in elements {
        let severity = if object.origin == ComponentKind::Wheel {
            Severity::Warning
        } else {
            Severity::Error
        };
        if element.is_empty() && elf.search_path().len() == 1 {
            continue;
        }
        let from_origin = element.starts_with("$ORIGIN") || element.starts_with("${ORIGIN}");
        let (code, message) = if element.starts_with('/') {
            let message = format!(
                "searches the absolute path {} for libraries",
                shown(element)
            );
            ("absolute-rpath", message)
        } else if !from_origin {
            let message = format!(
                "searches {:?}, relative to the current folder, for libraries",
                shown(element)
            );
            ("relative-rpath", message)
        } else if resolve::folder(object.path, element).is_none() {
            (
                "rpath-leaves-tree",
                format!(
                    "searches {}, outside the bundle, for libraries",
                    shown(element)
                ),
            )
        } else {
            continue;
        };
        let hint = "a host that has the folder may give it other libraries than the bundle's";
        out.push(Finding {
            severity,
            ..error(code, object.path, message, hint)
        });
    }
}

fn error(code: &str, path: &str, message: String, hint: &str) -> Finding {
    Finding {
        severity: Severity::Error,
        code: code.to_owned(),
        path: path.to_owned(),
        message,
        hint: Some(hint.to_owned()),
    }
}
