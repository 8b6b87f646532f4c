//! Bytecode of a component, before it is laid out: its Python files in batches, each by the Python of the worker that
//! takes it.

use std::sync::{Arc, Mutex, PoisonError};

use super::work::{Row, Source, Start};
use super::{IngestError, Origin};
use crate::base::finding::{Finding, Severity};
use crate::build::ingest::bytecode::{Bytecode, BytecodeError, Compiler, MAX_SOURCE, cached_path};
use crate::build::ingest::interpreter::is_early_module;
use crate::build::ingest::{Content, Plan, PlannedEntry};
use crate::formats::component::ComponentKind;

/// Source bytes of a batch: fine enough that all workers end at about the same time.
const BATCH: u64 = 256 << 10;

/// A component whose files are being compiled.
pub(super) struct Compiling {
    pub start: Start,
    done: Mutex<(Vec<Row>, Vec<Finding>)>,
}

impl Compiling {
    pub fn new(start: Start) -> Self {
        Self {
            start,
            done: Mutex::default(),
        }
    }

    /// The component as it began, its compiled files, and what was left uncompiled among its notes.
    pub fn end(self) -> (Start, Vec<Row>) {
        let (rows, mut notes) = self
            .done
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut start = self.start;
        start.plan.notes.append(&mut notes);
        (start, rows)
    }
}

/// Numbers of the plan's entries to compile, in batches with their size.
pub(super) fn batches(start: &Start) -> Vec<(Vec<usize>, u64)> {
    let mut out: Vec<(Vec<usize>, u64)> = Vec::new();
    if start.asked.bytecode == Bytecode::None {
        return out;
    }
    for (number, entry) in start.plan.entries.iter().enumerate() {
        let start_up = matches!(start.asked.bytecode, Bytecode::StartUp { .. });
        if !is_module(&start.plan, entry) || (start_up && !is_early_module(&entry.path)) {
            continue;
        }
        match out.last_mut() {
            Some((numbers, size)) if *size + entry.size <= BATCH => {
                numbers.push(number);
                *size += entry.size;
            }
            _ => out.push((vec![number], entry.size)),
        }
    }
    out
}

/// What Python imports: files of site-packages, of the standard library, of the source. Not scripts, not data.
fn is_module(plan: &Plan, entry: &PlannedEntry) -> bool {
    let importable = match (&plan.record, plan.kind) {
        (Some(record), _) => entry
            .path
            .strip_prefix(record.site_packages.as_str())
            .is_some_and(|rest| rest.starts_with('/')),
        (None, ComponentKind::Interpreter) => entry.path.starts_with("python/lib/"),
        (None, _) => true,
    };
    let is_file = !matches!(
        entry.content,
        Content::Symlink(_) | Content::Hardlink { .. }
    );
    importable && is_file && entry.path.ends_with(".py")
}

/// Compiles one batch.
pub(super) fn batch(
    compiling: &Arc<Compiling>,
    numbers: &[usize],
    compiler: &mut Compiler,
) -> Result<(), IngestError> {
    let start = &compiling.start;
    let failed = |source: BytecodeError| match source {
        BytecodeError::Code { .. } => IngestError::Bytecode {
            name: start.plan.name.clone(),
            source,
        },
        _ => IngestError::Compiler { source },
    };
    let origin = Origin {
        plan: &start.plan,
        spill: &start.spill,
    };
    let mut source = Vec::new();
    for entry in numbers.iter().filter_map(|n| start.plan.entries.get(*n)) {
        let Some(path) = cached_path(&entry.path, &start.asked.python) else {
            continue;
        };
        let row = Row {
            path: entry.path.clone(),
            mode: entry.mode,
            size: entry.size,
            source: Source::Planned(entry.content.clone()),
            expected: entry.expected,
        };
        let made = if entry.size > MAX_SOURCE {
            Err("it is longer than 8 MiB".to_owned())
        } else {
            source.clear();
            source.resize(entry.size as usize, 0);
            origin.whole(&row, &mut source)?;
            compiler.compile(&entry.path, &source).map_err(failed)?
        };
        let mut done = compiling
            .done
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match made {
            Ok(bytes) => {
                let offset = start
                    .spill
                    .put(&bytes)
                    .map_err(|source| IngestError::File {
                        name: start.plan.name.clone(),
                        source,
                    })?;
                done.0.push(Row {
                    path,
                    mode: 0o644,
                    size: bytes.len() as u64,
                    source: Source::Spilled(offset),
                    expected: None,
                });
            }
            Err(why) => done.1.push(Finding {
                severity: Severity::Note,
                code: "not-compiled".into(),
                path: entry.path.clone(),
                message: format!("ships without bytecode: {why}"),
                hint: None,
            }),
        }
        drop(done);
        if let Some(claim) = &start.claim {
            claim.beat();
        }
    }
    Ok(())
}
