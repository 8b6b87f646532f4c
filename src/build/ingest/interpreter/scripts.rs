//! `bin/`: one program, two links to it, and Python scripts as launchers. Whatever else would start something by a path of
//! the machine it was built on is left out.

use super::tree::{Node, Tree};
use super::{Subject, note};
use crate::base::finding::Finding;
use crate::formats::launcher;

/// Puts `bin/` in shape.
pub(super) fn make_launchers(tree: &mut Tree, subject: &Subject<'_>, notes: &mut Vec<Finding>) {
    config_script(tree, subject);
    let program = format!("python{}", subject.minor);
    for path in tree.paths(|path| path.starts_with("bin/")) {
        let name = path.strip_prefix("bin/").unwrap_or_default();
        if name == program {
            continue;
        }
        if ["python", "python3"].contains(&name) {
            tree.remove(&path);
            continue;
        }
        let Some(bytes) = tree.bytes(&path) else {
            continue;
        };
        if bytes.starts_with(b"\x7fELF") {
            continue;
        }
        if let Some(script) = launcher::from_script(bytes) {
            tree.insert_file(&path, script, true);
        } else if !is_portable_shell(bytes) {
            tree.remove(&path);
            notes.push(note(
                "interpreter-script-left-out",
                &path,
                "left out: its first line starts a program of the machine it was built on",
            ));
        }
    }
    for name in ["python", "python3"] {
        tree.insert(format!("bin/{name}"), Node::Link(program.clone()));
    }
    link_equal_names(tree, subject);
    drop_broken_links(tree);
}

/// `python3.12-config` is a shell script with the old place in it; the same in Python asks sysconfig, which follows.
fn config_script(tree: &mut Tree, subject: &Subject<'_>) {
    let old = tree.paths(|path| path.starts_with("bin/python") && path.ends_with("-config"));
    for path in &old {
        tree.remove(path);
    }
    let source = tree.paths(|path| {
        path.starts_with(&format!("{}/config-", subject.stdlib()))
            && path.ends_with("/python-config.py")
    });
    let Some(source) = source.first() else {
        return;
    };
    let Some(script) = tree
        .bytes(source)
        .and_then(|bytes| launcher::from_script(bytes))
    else {
        return;
    };
    let plain = without_first_line(tree.bytes(source).map(|b| &b[..]).unwrap_or_default());
    tree.insert_file(source.as_str(), plain, false);
    tree.insert_file(format!("bin/python{}-config", subject.minor), script, true);
    tree.insert(
        "bin/python3-config",
        Node::Link(format!("python{}-config", subject.minor)),
    );
}

/// A module needs no `#!`, and this one names the old place.
fn without_first_line(bytes: &[u8]) -> Vec<u8> {
    let end = bytes
        .iter()
        .position(|&b| b == b'\n')
        .map_or(bytes.len(), |at| at + 1);
    bytes.get(end..).unwrap_or_default().to_vec()
}

fn is_portable_shell(bytes: &[u8]) -> bool {
    let first = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    [&b"#!/bin/sh"[..], b"#! /bin/sh", b"#!/usr/bin/env sh"].contains(&first)
}

/// `pydoc3` with the bytes of `pydoc3.12` is a link to it, as in other builds.
fn link_equal_names(tree: &mut Tree, subject: &Subject<'_>) {
    let major = subject.minor.major;
    for path in tree.paths(|path| path.starts_with("bin/")) {
        for full in [
            format!(
                "{}{}",
                path.trim_end_matches(&major.to_string()),
                subject.minor
            ),
            format!("{path}-{}", subject.minor),
        ] {
            if full != path && tree.bytes(&path).is_some() && tree.bytes(&path) == tree.bytes(&full)
            {
                let goal = full.strip_prefix("bin/").unwrap_or(&full).to_owned();
                tree.insert(path.as_str(), Node::Link(goal));
            }
        }
    }
}

/// Links to what was left out go too.
fn drop_broken_links(tree: &mut Tree) {
    for path in tree.paths(|path| path.starts_with("bin/")) {
        let broken = tree.iter().any(|(p, node)| {
            p == path && matches!(node, Node::Link(goal) if !goal.contains('/') && !tree.contains(&format!("bin/{goal}")))
        });
        if broken {
            tree.remove(&path);
        }
    }
}
