//! Texts that name folders of a builder: where this build works, or where another's build machine did. Such a folder is on no
//! other machine. Texts that name ordinary folders (`/home/user` in documentation) are left alone: the marks of build
//! machines are data in the policy.

use super::AuditRequest;
use super::policy::Policy;
use super::resolve::file_name;
use super::waiver::glob;
use crate::base::finding::{Finding, Severity};
use crate::build::assemble::{Node, Tree};
use crate::formats::component::{EntryKind, FileFacts, TextFacts};

/// So many folders of one file are named.
const SHOWN: usize = 3;

pub(super) fn check(tree: &Tree, request: &AuditRequest, policy: &Policy, out: &mut Vec<Finding>) {
    for node in tree.nodes() {
        if let (EntryKind::File, Some(FileFacts::Text(text))) =
            (&node.entry.kind, &node.entry.facts)
        {
            out.extend(judged(node, text, request, policy));
        }
    }
}

fn judged(
    node: Node<'_>,
    text: &TextFacts,
    request: &AuditRequest,
    policy: &Policy,
) -> Option<Finding> {
    let path = &node.entry.path;
    let own: Vec<&str> = named(text)
        .filter(|p| request.made_in.iter().any(|folder| is_below(p, folder)))
        .collect();
    if !own.is_empty() {
        let message = format!(
            "names folders of the machine this bundle is made on: {}",
            list(&own)
        );
        let hint =
            "make them relative or read them from a setting; waive this if nothing uses them";
        let code = "builder-path";
        return Some(Finding::new(
            Severity::Warning,
            code,
            path,
            message,
            Some(hint),
        ));
    }
    if is_build_configuration(path) {
        let places = text.absolute_paths.iter().map(String::as_str);
        let places: Vec<&str> = places.filter(|p| !policy.is_same_everywhere(p)).collect();
        let message = format!("says that things are at {}", list(&places));
        let hint = "what is built against it looks there; nothing does when the bundle is run";
        return (!places.is_empty())
            .then(|| Finding::new(Severity::Warning, "builder-path", path, message, Some(hint)));
    }
    let marks = &policy.builder.folders;
    let marked: Vec<&str> = named(text)
        .filter(|p| marks.iter().any(|mark| glob(mark, p)))
        .collect();
    let message = format!(
        "names folders of the machine it was built on: {}",
        list(&marked)
    );
    (!marked.is_empty()).then(|| Finding::new(Severity::Note, "builder-path", path, message, None))
}

fn named(text: &TextFacts) -> impl Iterator<Item = &str> {
    text.named_paths.iter().map(String::as_str)
}

/// Files that only builds and installers read.
pub(super) fn is_build_configuration(path: &str) -> bool {
    let name = file_name(path);
    name == "direct_url.json" || name.rsplit_once('.').is_some_and(|(_, end)| end == "cmake")
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The first few, and how many more.
pub(super) fn list(paths: &[&str]) -> String {
    let mut named: Vec<String> = paths.iter().take(SHOWN).map(|p| shown(p)).collect();
    if let Some(more @ 1..) = paths.len().checked_sub(SHOWN) {
        named.push(format!("{more} more"));
    }
    named.join(", ")
}

/// A path as it may be shown: not too long, no control characters.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(120).collect()
}
