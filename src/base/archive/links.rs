//! Symbolic links of an archive or folder: each goal as text, and all of them together. Refuses absolute goals, goals that
//! leave the tree – also by way of other links – and circles. Where nothing stands at the goal, that is no fault here.

use std::collections::BTreeMap;

/// Longest goal accepted, in bytes.
const LONGEST: usize = 2048;
/// Links followed before a chain counts as a circle, as Linux does.
const MOST: usize = 40;

/// Why a symbolic link is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkFault {
    /// `/usr/bin/python3`.
    #[error("its goal is an absolute path")]
    Absolute,
    /// More `..` than folders above it.
    #[error("its goal is outside the tree")]
    Leaves,
    /// It leads to itself, or the chain has no end.
    #[error("it leads in a circle")]
    Circle,
    /// Empty, over 2,048 bytes, not UTF-8, a backslash or a control character.
    #[error("its goal is empty, too long or has characters that have no place in a path")]
    Text,
}

/// Checks the stored goal of the link at `path`; [`Links::finish`] checks where it really leads.
///
/// # Errors
/// Anything but a plain relative path inside the tree.
pub fn check_goal<'a>(path: &str, goal: &'a [u8]) -> Result<&'a str, LinkFault> {
    let goal = std::str::from_utf8(goal).map_err(|_| LinkFault::Text)?;
    if goal.is_empty()
        || goal.len() > LONGEST
        || goal.contains('\\')
        || goal.chars().any(char::is_control)
    {
        return Err(LinkFault::Text);
    }
    if goal.starts_with('/') {
        return Err(LinkFault::Absolute);
    }
    let mut depth = path.matches('/').count();
    for part in goal.split('/') {
        match part {
            "" | "." => {}
            ".." => depth = depth.checked_sub(1).ok_or(LinkFault::Leaves)?,
            _ => depth += 1,
        }
    }
    Ok(goal)
}

/// All symbolic links of one tree.
#[derive(Debug, Default)]
pub struct Links(BTreeMap<String, String>);

impl Links {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a link whose goal was checked.
    pub fn add(&mut self, path: &str, goal: &str) {
        self.0.insert(path.to_owned(), goal.to_owned());
    }

    /// Follows every link, others on the way too.
    ///
    /// # Errors
    /// The path of the first link that leaves the tree or has no end.
    pub fn finish(&self) -> Result<(), (String, LinkFault)> {
        for path in self.0.keys() {
            self.resolve(path).map_err(|fault| (path.clone(), fault))?;
        }
        Ok(())
    }

    /// The path that `path` really names, every link on the way followed.
    ///
    /// # Errors
    /// It leaves the tree or has no end.
    pub fn resolve(&self, path: &str) -> Result<String, LinkFault> {
        let mut here: Vec<&str> = Vec::new();
        let mut todo: Vec<&str> = path.split('/').rev().collect();
        let mut followed = 0;
        while let Some(part) = todo.pop() {
            match part {
                "" | "." => continue,
                ".." => {
                    here.pop().ok_or(LinkFault::Leaves)?;
                    continue;
                }
                _ => here.push(part),
            }
            if let Some(goal) = self.0.get(&here.join("/")) {
                followed += 1;
                if followed > MOST {
                    return Err(LinkFault::Circle);
                }
                here.pop();
                todo.extend(goal.split('/').rev());
            }
        }
        Ok(here.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_goals_that_leave_or_are_no_paths() {
        for (goal, fault) in [
            (&b"/etc/passwd"[..], LinkFault::Absolute),
            (b"../../x", LinkFault::Leaves),
            (b"b/../../../x", LinkFault::Leaves),
            (b"", LinkFault::Text),
            (b"a\nb", LinkFault::Text),
            (b"a\xff", LinkFault::Text),
            (b"a\\b", LinkFault::Text),
        ] {
            assert_eq!(check_goal("a/link", goal), Err(fault), "{goal:?}");
        }
        assert_eq!(check_goal("a/link", b"../x"), Ok("../x"));
    }

    #[test]
    fn follows_links_through_links() {
        let mut links = Links::new();
        links.add("bin/python3", "python3.12");
        links.add("bin/python", "python3");
        links.add("dangling", "nowhere/x");
        assert_eq!(links.finish(), Ok(()));
        assert_eq!(links.resolve("bin/python"), Ok("bin/python3.12".into()));

        links.add("sub/here", ".");
        links.add("up", "sub/here/../..");
        assert_eq!(links.finish(), Err(("up".into(), LinkFault::Leaves)));

        let mut links = Links::new();
        links.add("x", "y");
        links.add("y", "x");
        assert_eq!(links.finish(), Err(("x".into(), LinkFault::Circle)));
    }
}
