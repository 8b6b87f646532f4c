//! Copies: libraries of which a process should hold one. A name that a repair tool made unique (`libgomp-a34b3233.so.1`) counts as
//! the library it was. Also the thread-local storage that such libraries want from the loader's small reserve.

use std::collections::BTreeMap;

use super::policy::{Policy, any_library};
use super::resolve::{Links, Object, file_name};
use crate::base::finding::{Finding, Severity};
use crate::base::target::Arch;

/// So many copies are named.
const SHOWN: usize = 4;

pub(super) fn check(links: &Links<'_>, arch: Arch, policy: &Policy, out: &mut Vec<Finding>) {
    let names: Vec<(Object<'_>, [String; 2])> = links
        .objects
        .values()
        .filter(|o| !o.elf.is_program() && !o.path.contains("/stubs/"))
        .map(|o| {
            let soname = o.elf.soname.as_deref().unwrap_or_default();
            (*o, [plain(soname), plain(file_name(o.path))])
        })
        .collect();
    for rule in &policy.single {
        let holds = |name: &String| any_library(&rule.libraries, name);
        let copies: Vec<Object<'_>> = names
            .iter()
            .filter(|(_, names)| names.iter().any(holds))
            .map(|(object, _)| *object)
            .collect();
        if copies.len() > 1 {
            out.push(copied(&rule.what, &copies));
        }
    }
    static_tls(links, arch, policy, out);
}

fn copied(what: &str, copies: &[Object<'_>]) -> Finding {
    let mut builds: BTreeMap<&str, u32> = BTreeMap::new();
    for copy in copies {
        if let Some(id) = &copy.elf.build_id {
            *builds.entry(id).or_default() += 1;
        }
    }
    let same = if builds.values().any(|n| *n > 1) {
        ", some of them of one build"
    } else {
        ""
    };
    let others: Vec<&str> = copies.iter().skip(1).take(SHOWN).map(|o| o.path).collect();
    let more = copies.len().saturating_sub(1 + SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    Finding {
        severity: Severity::Warning,
        code: "library-twice".to_owned(),
        path: copies
            .first()
            .map(|o| o.path.to_owned())
            .unwrap_or_default(),
        message: format!(
            "is one of {} copies of {what}{same}: also {}{more}",
            copies.len(),
            others.join(", ")
        ),
        hint: Some(
            "a process that loads two has two states of it; take wheels that share one".to_owned(),
        ),
    }
}

/// A file name without the hash that a repair tool put into it: `libgomp-a34b3233.so.1.0.0` → `libgomp.so.1.0.0`.
pub(super) fn plain(name: &str) -> String {
    let Some((stem, rest)) = name.split_once(".so") else {
        return name.to_owned();
    };
    let hash = |h: &str| h.len() >= 8 && h.bytes().all(|b| b.is_ascii_hexdigit());
    match stem.rsplit_once(['-', '.']) {
        Some((plain, h)) if hash(h) => format!("{plain}.so{rest}"),
        _ => name.to_owned(),
    }
}

fn static_tls(links: &Links<'_>, arch: Arch, policy: &Policy, out: &mut Vec<Finding>) {
    let late = |o: &&Object<'_>| o.elf.static_tls && !o.elf.is_program() && o.elf.tls_size > 0;
    let wanting: Vec<Object<'_>> = links.objects.values().filter(late).copied().collect();
    let sum: u64 = wanting
        .iter()
        .fold(0, |sum, o| sum.saturating_add(o.elf.tls_size));
    if arch == Arch::Arm64
        && policy.tls.surplus > 0
        && sum > policy.tls.surplus
        && let Some(first) = wanting.iter().max_by_key(|o| o.elf.tls_size)
    {
        out.push(Finding {
            severity: Severity::Warning,
            code: "static-tls".to_owned(),
            path: first.path.to_owned(),
            message: format!(
                "and {} more files want {sum} bytes of static thread-local storage, the loader keeps about {} for libraries that are loaded late",
                wanting.len().saturating_sub(1),
                policy.tls.surplus
            ),
            hint: Some("load the largest of them first, before anything else takes the reserve".to_owned()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn hashes_of_repair_tools_are_taken_out() {
        assert_eq!(plain("libgomp-a34b3233.so.1.0.0"), "libgomp.so.1.0.0");
        assert_eq!(
            plain("libnvrtc-builtins.so.13.0"),
            "libnvrtc-builtins.so.13.0"
        );
        assert_eq!(plain("libx-beta.so"), "libx-beta.so");
        assert_eq!(plain("x"), "x");
    }
}
