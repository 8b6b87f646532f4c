//! The planned entries of a wheel while they are gathered: each path once, none colliding with another, each with its mode.

use std::collections::HashMap;
use std::sync::Arc;

use super::place::{Place, Places};
use super::scripts::{self, Command};
use super::{WheelFault, WheelRequest, note};
use crate::base::archive::{Member, Names, Zip, escaped};
use crate::base::digest::Digest;
use crate::base::finding::Finding;
use crate::build::ingest::{Content, PlannedEntry};

/// Where commands stand in a bundle.
const BIN: &str = "python/bin";
/// What INSTALLER says.
const INSTALLER: &[u8] = b"bundler\n";

pub(super) struct Entries<'a> {
    zip: &'a Zip,
    file_name: &'a str,
    places: Places<'a>,
    planned: Vec<PlannedEntry>,
    /// Path in the bundle → what it comes from, escaped.
    origins: HashMap<String, String>,
    notes: &'a mut Vec<Finding>,
}

impl<'a> Entries<'a> {
    pub fn new(
        zip: &'a Zip,
        request: &'a WheelRequest<'_>,
        dist_info: &'a str,
        name: &'a str,
        notes: &'a mut Vec<Finding>,
    ) -> Self {
        Self {
            zip,
            file_name: request.file_name,
            places: Places::new(request.python, dist_info, name),
            planned: Vec::new(),
            origins: HashMap::new(),
            notes,
        }
    }

    /// A launcher for each entry point.
    pub fn add_commands(&mut self, commands: &[Command]) -> Result<(), WheelFault> {
        for command in commands {
            let path = format!("{BIN}/{}", command.name);
            let origin = format!("the entry point {}", escaped(command.name.as_bytes()));
            self.add_bytes(path, 0o755, command.launcher().into_bytes(), origin)?;
        }
        Ok(())
    }

    /// Every file of the wheel that has a place.
    pub fn add_members(
        &mut self,
        commands: &[Command],
        expected: &[Option<Digest>],
    ) -> Result<(), WheelFault> {
        let mut bytecode = 0_u64;
        let zip = self.zip;
        for (index, (member, expected)) in zip.members().iter().zip(expected).enumerate() {
            if member.is_dir {
                continue;
            }
            match self.places.of(&member.name)? {
                Place::File(path) => self.add_member(path, mode(member), index, *expected)?,
                Place::Script(name) => self.add_script(&name, commands, index, *expected)?,
                Place::Bytecode => bytecode += 1,
                Place::Dropped => {}
            }
        }
        if bytecode > 0 {
            let message = format!("{bytecode} .pyc files in __pycache__ are left out");
            self.notes
                .push(note("bytecode-left-out", self.file_name, message));
        }
        Ok(())
    }

    /// INSTALLER, by which other tools know whose the files are.
    pub fn add_installer(&mut self, dist_info: &str) -> Result<(), WheelFault> {
        let path = format!("{dist_info}/INSTALLER");
        self.add_bytes(path, 0o644, INSTALLER.to_vec(), "INSTALLER".into())
    }

    /// All entries, sorted bytewise by path.
    pub fn finish(mut self) -> Result<Vec<PlannedEntry>, WheelFault> {
        self.planned.sort_by(|a, b| a.path.cmp(&b.path));
        let mut names = Names::new();
        for entry in &self.planned {
            names
                .add(&entry.path, false)
                .map_err(|source| WheelFault::Collision {
                    path: escaped(entry.path.as_bytes()),
                    source,
                })?;
        }
        Ok(self.planned)
    }

    fn add_script(
        &mut self,
        name: &str,
        commands: &[Command],
        index: usize,
        expected: Option<Digest>,
    ) -> Result<(), WheelFault> {
        if commands.iter().any(|c| scripts::is_wrapper(name, &c.name)) {
            let message = format!(
                "the script {} gives way to the entry point",
                escaped(name.as_bytes())
            );
            self.notes
                .push(note("script-is-entry-point", self.file_name, message));
            return Ok(());
        }
        let path = format!("{BIN}/{name}");
        match scripts::script(self.zip, index, expected)? {
            Some(launcher) => self.add_bytes(path, 0o755, launcher, self.origin(index)),
            None => self.add_member(path, 0o755, index, expected),
        }
    }

    fn add_member(
        &mut self,
        path: String,
        mode: u32,
        index: usize,
        expected: Option<Digest>,
    ) -> Result<(), WheelFault> {
        let size = self.zip.members().get(index).map_or(0, |m| m.unpacked);
        let origin = self.origin(index);
        self.add(path, mode, size, Content::Member(index), expected, origin)
    }

    fn add_bytes(
        &mut self,
        path: String,
        mode: u32,
        bytes: Vec<u8>,
        origin: String,
    ) -> Result<(), WheelFault> {
        let size = bytes.len() as u64;
        self.add(
            path,
            mode,
            size,
            Content::Bytes(Arc::from(bytes)),
            None,
            origin,
        )
    }

    fn add(
        &mut self,
        path: String,
        mode: u32,
        size: u64,
        content: Content,
        expected: Option<Digest>,
        origin: String,
    ) -> Result<(), WheelFault> {
        if let Some(first) = self.origins.insert(path.clone(), origin.clone()) {
            return Err(WheelFault::SamePath {
                path: escaped(path.as_bytes()),
                first,
                second: origin,
            });
        }
        self.planned.push(PlannedEntry {
            path,
            mode,
            size,
            content,
            expected,
        });
        Ok(())
    }

    fn origin(&self, index: usize) -> String {
        let member = self.zip.members().get(index);
        escaped(member.map(|m| m.name.as_bytes()).unwrap_or_default())
    }
}

/// Any x bit makes a program; nothing else of the mode is taken over.
fn mode(member: &Member) -> u32 {
    match member.mode {
        Some(mode) if mode & 0o111 != 0 => 0o755,
        _ => 0o644,
    }
}
