//! Commands of a wheel: entry points and `.data/scripts` that run under a Python become launchers, which work from any
//! path; other scripts and programs stay as they are. Follows the entry points specification, read as importlib.metadata does.

use std::io::Read;

use super::WheelFault;
use crate::base::archive::{Zip, escaped};
use crate::base::digest::Digest;
use crate::formats::launcher;

/// More than any script.
const MOST_SCRIPT: u64 = 64 << 20;

/// A console or GUI script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub name: String,
    pub module: String,
    pub attribute: String,
}

impl Command {
    pub fn launcher(&self) -> String {
        launcher::entry_point(&self.module, &self.attribute)
    }

    pub fn object(&self) -> String {
        format!("{}:{}", self.module, self.attribute)
    }
}

/// Reads the commands of an `entry_points.txt`.
pub(super) fn commands(text: &[u8]) -> Result<Vec<Command>, WheelFault> {
    let text = std::str::from_utf8(text)
        .map_err(|_| WheelFault::EntryPoint("file, which is not UTF-8,".into()))?;
    let mut section = "";
    let mut commands = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name.trim();
        } else if matches!(section, "console_scripts" | "gui_scripts") {
            let command = command(line);
            commands.push(command.ok_or_else(|| WheelFault::EntryPoint(escaped(line.as_bytes())))?);
        }
    }
    Ok(commands)
}

/// `name = module:attribute [extras]`.
fn command(line: &str) -> Option<Command> {
    let (name, object) = line.split_once('=')?;
    let (name, object) = (name.trim(), object.trim());
    let object = match object.split_once('[') {
        Some((object, extras)) if extras.ends_with(']') => object.trim(),
        Some(_) => return None,
        None => object,
    };
    let (module, attribute) = object.split_once(':')?;
    let (module, attribute) = (module.trim(), attribute.trim());
    let paths = launcher::is_object_path(module) && launcher::is_object_path(attribute);
    (paths && is_command_name(name)).then(|| Command {
        name: name.to_owned(),
        module: module.to_owned(),
        attribute: attribute.to_owned(),
    })
}

/// A file name that no shell and no program takes for something else.
fn is_command_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+' | ' ' | '@');
    name.starts_with(|c: char| c.is_alphanumeric() || c == '_') && name.chars().all(plain)
}

/// The launcher for the script that is member `index`; `None` if it does not run under a Python.
pub(super) fn script(
    zip: &Zip,
    index: usize,
    expected: Option<Digest>,
) -> Result<Option<Vec<u8>>, WheelFault> {
    let mut start = Vec::new();
    zip.reader(index)
        .take(2)
        .read_to_end(&mut start)
        .map_err(|e| zip.read_error(index, e))?;
    if start != b"#!" {
        return Ok(None);
    }
    let script = zip.read_whole(index, MOST_SCRIPT)?;
    let Some(launcher) = launcher::from_script(&script) else {
        return Ok(None);
    };
    // The bundle gets other bytes, so nobody checks these later.
    if expected.is_some_and(|expected| Digest::of(&script) != expected) {
        let name = zip.members().get(index).map(|m| m.name.as_bytes());
        return Err(WheelFault::Digest(escaped(name.unwrap_or_default())));
    }
    Ok(Some(launcher))
}

/// Whether a script is what an older tool generated for the command `command`: the entry point makes it anew.
pub(super) fn is_wrapper(script: &str, command: &str) -> bool {
    script
        .strip_prefix(command)
        .is_some_and(|rest| matches!(rest, "" | ".exe" | "-script.py" | "-script.pyw" | ".pya"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_commands_of_both_kinds_and_nothing_else() {
        let text = "# c\n[console_scripts]\n a-b = pkg.mod:main\nt=pkg:App.run [extra,x]\n\n[ other ]\nx = y\n\
            [gui_scripts]\ng = pkg : gui\n";
        let commands = commands(text.as_bytes()).unwrap();
        let read: Vec<(String, String)> = commands
            .iter()
            .map(|c| (c.name.clone(), c.object()))
            .collect();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            read,
            [
                pair("a-b", "pkg.mod:main"),
                pair("t", "pkg:App.run"),
                pair("g", "pkg:gui")
            ]
        );
    }

    #[test]
    fn refuses_commands_that_are_more_than_a_name_and_an_object() {
        for line in [
            "../x = a:b",
            "a/b = a:b",
            "-x = a:b",
            ". = a:b",
            "x = a",
            "x = a:b; import os",
            "x = a:b()",
            "x = a:b [e",
            "x",
            " = a:b",
            "a\tb = a:b",
            "a$(id) = a:b",
        ] {
            let text = format!("[console_scripts]\n{line}\n");
            let error = commands(text.as_bytes()).unwrap_err();
            assert!(matches!(error, WheelFault::EntryPoint(_)), "{line}");
        }
        assert!(commands(b"[console_scripts]\n\xff = a:b\n").is_err());
    }

    #[test]
    fn knows_the_wrappers_older_tools_made() {
        assert!(is_wrapper("tool", "tool") && is_wrapper("tool-script.py", "tool"));
        assert!(!is_wrapper("tool.sh", "tool") && !is_wrapper("tool2", "tool"));
    }
}
