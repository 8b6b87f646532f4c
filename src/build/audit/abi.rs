//! C++ and C interfaces across wheels, without importing anything: what an extension module wants of torch or of CPython must be
//! given by some file of the bundle. Names are compared as the compiler mangled them.

use super::AuditRequest;
use super::policy::{AbiRule, Policy, names};
use super::resolve::{Links, Object, file_name};
use crate::base::finding::{Finding, Severity};
use crate::formats::elf::SymbolSet;

/// So many symbols are named.
const SHOWN: usize = 3;

pub(super) fn check(
    links: &Links<'_>,
    request: &AuditRequest,
    policy: &Policy,
    out: &mut Vec<Finding>,
) {
    let all = links.objects.values();
    let given = all.filter_map(|o| Some(&o.elf.symbols.as_deref()?.given));
    let given = SymbolSet::union(given);
    let has = |name: &str| given.has(name);
    let python = has("PyObject_Call");
    for object in links.objects.values().copied() {
        let Some(symbols) = object.elf.symbols.as_deref() else {
            continue;
        };
        if is_for_another_python(object.path, request) {
            continue;
        }
        let missing: Vec<&str> = symbols
            .wanted
            .iter()
            .map(String::as_str)
            .filter(|n| !has(n))
            .collect();
        for rule in &policy.abi {
            let is_given = |o: &Object<'_>| names(&rule.given_by, o.path, o.elf);
            if links.objects.values().any(is_given) {
                let those: Vec<&str> = missing.iter().copied().filter(|n| is_of(rule, n)).collect();
                let hint = format!(
                    "the wheel was built against another version of {}",
                    rule.what
                );
                out.extend(lacking(object, &rule.code, &rule.what, &those, hint));
            }
        }
        if python {
            let those: Vec<&str> = missing
                .iter()
                .copied()
                .filter(|n| !n.starts_with("_Z"))
                .collect();
            let hint = "the wheel was built for another version of CPython".to_owned();
            out.extend(lacking(object, "python-abi", "CPython", &those, hint));
        }
    }
}

fn lacking(
    object: Object<'_>,
    code: &str,
    what: &str,
    missing: &[&str],
    hint: String,
) -> Option<Finding> {
    if missing.is_empty() {
        return None;
    }
    let shown: Vec<&str> = missing.iter().copied().take(SHOWN).collect();
    let more = missing.len().saturating_sub(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    Some(Finding {
        severity: Severity::Error,
        code: code.to_owned(),
        path: object.path.to_owned(),
        message: format!(
            "wants {}{more} of {what}, which no file of the bundle gives",
            shown.join(", ")
        ),
        hint: Some(hint),
    })
}

/// Whether the outermost namespace of a mangled name is one of the rule's.
fn is_of(rule: &AbiRule, name: &str) -> bool {
    let Some(rest) = name.strip_prefix("_Z") else {
        return false;
    };
    let rest = ["TV", "TI", "TS", "GV", "TT"]
        .iter()
        .find_map(|p| rest.strip_prefix(p))
        .unwrap_or(rest);
    let Some(inner) = rest.strip_prefix('N') else {
        return false;
    };
    let inner = inner.trim_start_matches(['K', 'V', 'R', 'O', 'r']);
    rule.namespaces.iter().any(|space| {
        inner
            .strip_prefix(space.len().to_string().as_str())
            .is_some_and(|after| after.starts_with(space.as_str()))
    })
}

/// `x.cpython-310-x86_64-linux-gnu.so` beside a python 3.12 is never loaded.
pub(super) fn is_for_another_python(path: &str, request: &AuditRequest) -> bool {
    let Some((_, rest)) = file_name(path).split_once(".cpython-") else {
        return false;
    };
    let digits = rest.split(['-', '.']).next().unwrap_or_default();
    request
        .python
        .is_some_and(|python| digits != python.digits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_belong_to_their_outermost_namespace() {
        let rule = AbiRule {
            namespaces: vec!["c10".to_owned(), "at".to_owned()],
            ..AbiRule::default()
        };
        for name in [
            "_ZN3c105ErrorC1Ev",
            "_ZNK2at6Tensor3dimEv",
            "_ZTVN3c105ErrorE",
        ] {
            assert!(is_of(&rule, name), "{name}");
        }
        for name in ["_ZN3c1112xE", "_ZN4atom1xE", "_Z3fooN2at6TensorE", "c10"] {
            assert!(!is_of(&rule, name), "{name}");
        }
    }
}
