//! Waivers: findings that a recipe accepts by code, path and reason. One that covers nothing is itself a finding, so that
//! old ones do not hide new faults.

use serde::{Deserialize, Serialize};

use crate::base::finding::{Finding, Severity};
use crate::build::recipe::Waiver;

/// A finding and the reason why it is accepted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Waived {
    /// The finding.
    pub finding: Finding,
    /// The waiver's reason.
    pub reason: String,
}

/// Parts findings into those left and those waived; notes and warnings can be waived too.
pub(super) fn apply(findings: Vec<Finding>, waivers: &[Waiver]) -> (Vec<Finding>, Vec<Waived>) {
    let mut used = vec![false; waivers.len()];
    let mut left = Vec::new();
    let mut waived = Vec::new();
    for finding in findings {
        let mut reason = None;
        for (waiver, used) in waivers.iter().zip(&mut used) {
            if waiver.code == finding.code && glob(&waiver.path, &finding.path) {
                *used = true;
                reason.get_or_insert_with(|| waiver.reason.clone());
            }
        }
        match reason {
            Some(reason) => waived.push(Waived { finding, reason }),
            None => left.push(finding),
        }
    }
    for waiver in waivers
        .iter()
        .zip(used)
        .filter(|(_, used)| !used)
        .map(|(w, _)| w)
    {
        left.push(Finding {
            severity: Severity::Warning,
            code: "waiver-unused".to_owned(),
            path: waiver.path.clone(),
            message: format!(
                "the recipe waives {} here, but there is no such finding",
                waiver.code
            ),
            hint: Some("remove the waiver from the recipe, or correct its code or path".to_owned()),
        });
    }
    left.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.cmp(b)));
    (left, waived)
}

/// `*` any text without `/`, `**` any text, `?` one character but `/`.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == text;
    }
    // Most patterns are told apart by their plain beginning or end.
    let before = pattern.find(['*', '?']).unwrap_or(0);
    let after = pattern.rfind(['*', '?']).map_or(0, |at| at + 1);
    let (before, after) = (pattern.get(..before), pattern.get(after..));
    if !text.starts_with(before.unwrap_or_default()) || !text.ends_with(after.unwrap_or_default()) {
        return false;
    }
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    // Row by row: which beginnings of the pattern match the text read so far.
    let mut row = vec![false; pattern.len() + 1];
    close(&mut row, &pattern, true);
    for c in text {
        let mut next = vec![false; pattern.len() + 1];
        for (at, p) in pattern.iter().enumerate() {
            let here = row.get(at).copied().unwrap_or(false);
            let deep =
                pattern.get(at + 1) == Some(&'*') || (at > 0 && pattern.get(at - 1) == Some(&'*'));
            match p {
                '*' if here && (c != '/' || deep) => set(&mut next, at),
                '?' if here && c != '/' => set(&mut next, at + 1),
                p if here && *p == c && *p != '*' => set(&mut next, at + 1),
                _ => {}
            }
        }
        close(&mut next, &pattern, false);
        row = next;
    }
    row.last().copied().unwrap_or(false)
}

/// A star may stand for nothing: what matches before it matches after it.
fn close(row: &mut [bool], pattern: &[char], start: bool) {
    if start {
        set(row, 0);
    }
    for (at, p) in pattern.iter().enumerate() {
        if *p == '*' && row.get(at).copied().unwrap_or(false) {
            set(row, at + 1);
        }
    }
}

fn set(row: &mut [bool], at: usize) {
    if let Some(cell) = row.get_mut(at) {
        *cell = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(code: &str, path: &str) -> Finding {
        Finding {
            severity: Severity::Error,
            code: code.to_owned(),
            path: path.to_owned(),
            message: String::new(),
            hint: None,
        }
    }

    fn waiver(code: &str, path: &str) -> Waiver {
        Waiver {
            code: code.to_owned(),
            path: path.to_owned(),
            reason: "known".to_owned(),
        }
    }

    #[test]
    fn stars_stop_at_slashes_unless_doubled() {
        for (pattern, text) in [
            ("a/*.so", "a/b.so"),
            ("a/**", "a/b/c.so"),
            ("**/c.so", "a/b/c.so"),
            ("a?c", "abc"),
            ("*", "x"),
            ("**", ""),
            ("a*b*c", "aXbYbZc"),
        ] {
            assert!(glob(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("a/*.so", "a/b/c.so"),
            ("*", "a/b"),
            ("a?c", "a/c"),
            ("a", "ab"),
            ("ab", "a"),
            ("", "a"),
        ] {
            assert!(!glob(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_waiver_takes_its_code_and_path_only() {
        let all = vec![
            finding("x", "a/b"),
            finding("x", "a/c"),
            finding("y", "a/b"),
        ];
        let (left, waived) = apply(all, &[waiver("x", "a/b")]);
        assert_eq!(waived.len(), 1);
        assert_eq!(left.len(), 2);
    }

    #[test]
    fn an_unused_waiver_is_a_warning() {
        let (left, _) = apply(
            vec![finding("x", "a")],
            &[waiver("x", "a"), waiver("x", "b")],
        );
        assert_eq!(left.len(), 1);
        assert_eq!(
            (left[0].code.as_str(), left[0].severity),
            ("waiver-unused", Severity::Warning)
        );
    }
}
