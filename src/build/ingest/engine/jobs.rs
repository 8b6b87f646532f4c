//! What a worker does with a job: an artifact is begun, compiled, laid out; its parts are made; the last to let go of
//! it completes it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::compile::{self, Compiling};
use super::feed::Waiting;
use super::queue::{Cost, Rank};
use super::shared::Shared;
use super::spill::Spill;
use super::work::{Row, Start, Work};
use super::{Item, finish, part, stream};
use crate::build::ingest::IngestError;
use crate::build::ingest::bytecode::{BytecodeError, Compiler};
use crate::build::ingest::store::{Claim, Claimed, StoreError};

/// Compiling a byte takes about as long as ingesting so many.
const COMPILING: u64 = 64;

/// Something to do.
pub(super) enum Job {
    /// Read the plan of an artifact.
    Begin(Begin),
    /// Compile some files.
    Compile(Arc<Compiling>, Vec<usize>),
    /// Make a part that fits into memory.
    Part(Arc<Work>, usize),
    /// Make a part that does not.
    Stream(Arc<Work>, usize),
    /// Compress a piece of such a part.
    Piece {
        work: Arc<Work>,
        number: usize,
        tar: Vec<u8>,
    },
}

/// An item on its way.
pub(super) struct Begin {
    pub item: Item,
    /// The right to make it.
    pub claim: Option<Claim>,
    /// Make it without that right: its owner stands still.
    pub anyway: bool,
}

impl Shared<'_> {
    pub fn run(
        &self,
        job: Job,
        compilers: &mut BTreeMap<String, Compiler>,
    ) -> Result<(), IngestError> {
        match job {
            Job::Begin(begin) => self.begin(begin),
            Job::Compile(compiling, numbers) => {
                let python = &compiling.start.asked.python;
                if !compilers.contains_key(python) {
                    let program = self
                        .program()
                        .map_err(|source| IngestError::Compiler { source })?;
                    compilers.insert(python.clone(), Compiler::new(&program, python));
                }
                if let Some(compiler) = compilers.get_mut(python) {
                    compile::batch(&compiling, &numbers, compiler)?;
                }
                self.compiled(compiling)
            }
            Job::Part(work, index) => {
                part::make(self, &work, index)?;
                self.end(work)
            }
            Job::Stream(work, index) => {
                stream::make(self, &work, index)?;
                self.end(work)
            }
            Job::Piece { work, number, tar } => {
                let mut blocks = self.buffers.take(0);
                let made = part::encode(&work, number, &tar, &mut blocks);
                self.buffers.give(tar);
                self.buffers.give(blocks);
                let size = work.ingredients.encoding.segment_size;
                self.queue.handed_over_done(stream::memory(size));
                made?;
                self.end(work)
            }
        }
    }

    /// The program that compiles, or why there is none: the same answer for every worker.
    fn program(&self) -> Result<PathBuf, BytecodeError> {
        let ask = || match &self.engine.python {
            None => Ok(None),
            Some(python) => python().map(Some).map_err(Arc::from),
        };
        match self.program.get_or_init(ask) {
            Ok(Some(program)) => Ok(program.clone()),
            Ok(None) => Err(BytecodeError::NoInterpreter),
            Err(cause) => Err(BytecodeError::Prepare(Box::new(Arc::clone(cause)))),
        }
    }

    fn begin(&self, begin: Begin) -> Result<(), IngestError> {
        let Begin {
            item,
            mut claim,
            anyway,
        } = begin;
        let key = item.ingredients.key();
        if let Some(stored) = self.store.get(&key)? {
            self.deliver(item.position, stored);
            return Ok(());
        }
        let name = item.ingredients.name.clone();
        if claim.is_none() && !anyway {
            let claimed = self.store.claim(&key).map_err(|e| match e {
                StoreError::File(source) => StoreError::Unwritable {
                    name: name.clone(),
                    source,
                },
                other => other,
            })?;
            match claimed {
                Claimed::Ours(ours) => claim = Some(ours),
                Claimed::By(owner) => {
                    let note = format!("process {} is making {name}: waiting for it", owner.pid());
                    self.engine.progress.note(note);
                    self.results().waiting.push(Waiting::new(item, owner));
                    self.changed.notify_all();
                    return Ok(());
                }
            }
            // Its last owner may have completed it between our look and our claim.
            if let Some(stored) = self.store.get(&key)? {
                self.deliver(item.position, stored);
                return Ok(());
            }
        }
        if !item.ingredients.without.is_empty()
            && let Some(whole) = self.store.get(&item.ingredients.whole().key())?
        {
            let stored = self.store.without(&whole, &item.ingredients)?;
            self.deliver(item.position, stored);
            return Ok(());
        }
        let task = self.engine.progress.task(&name, None);
        let plan = (item.planner)().map_err(|source| IngestError::Plan {
            name: name.clone(),
            source,
        })?;
        let start = Start {
            position: item.position,
            asked: item.ingredients,
            plan,
            spill: Spill::new(self.store),
            draft: self.store.draft(&name)?,
            claim,
            task,
        };
        let batches = compile::batches(&start);
        if batches.is_empty() {
            return self.lay_out(start, Vec::new());
        }
        let compiling = Arc::new(Compiling::new(start));
        for (numbers, size) in batches {
            let job = Job::Compile(Arc::clone(&compiling), numbers);
            let cost = Cost {
                memory: 2 * size,
                disk: 0,
            };
            self.queue.push(job, Rank::Weight(size * COMPILING), cost);
        }
        self.compiled(compiling)
    }

    /// Goes on when this was the last hold on it.
    fn compiled(&self, compiling: Arc<Compiling>) -> Result<(), IngestError> {
        match Arc::into_inner(compiling) {
            None => Ok(()),
            Some(compiling) => {
                let (start, rows) = compiling.end();
                self.lay_out(start, rows)
            }
        }
    }

    fn lay_out(&self, start: Start, bytecode: Vec<Row>) -> Result<(), IngestError> {
        let work = Arc::new(Work::new(start, bytecode)?);
        let encoding = &work.ingredients.encoding;
        let size = encoding.segment_size;
        let encoder = encoder_memory(encoding.level);
        for (index, part) in work.parts.iter().enumerate().take(work.body().end) {
            // More than that is compressed in pieces as it is read, not held whole.
            let streamed = part.tar > 2 * size;
            let (job, cost) = if streamed {
                let cost = Cost {
                    memory: stream::memory(size) + encoder,
                    disk: part.tar,
                };
                (Job::Stream(Arc::clone(&work), index), cost)
            } else {
                let cost = Cost {
                    memory: part.tar + stream::memory(size.min(part.tar)) / 2 + encoder,
                    disk: 0,
                };
                (Job::Part(Arc::clone(&work), index), cost)
            };
            self.queue.push(job, Rank::Weight(part.tar), cost);
        }
        self.end(work)
    }

    /// Completes the component when this was the last hold on it.
    fn end(&self, work: Arc<Work>) -> Result<(), IngestError> {
        if let Some(work) = Arc::into_inner(work) {
            let position = work.position;
            let stored = finish::finish(self, work)?;
            self.deliver(position, stored);
        }
        Ok(())
    }
}

/// About what libzstd holds for a level.
fn encoder_memory(level: i32) -> u64 {
    match level {
        ..=4 => 4 << 20,
        5..=12 => 40 << 20,
        _ => 100 << 20,
    }
}
