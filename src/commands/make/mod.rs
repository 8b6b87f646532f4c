//! `bundler make TARGET`: recipe → lock → fetch → ingest → assemble → audit → pack.

mod job;
mod plan;
mod says;

use std::sync::Arc;

use serde::Serialize;

use super::{Answer, Failure, Outcome, evidence, report, self_extract, terminal};
use crate::base::fs;
use crate::base::progress::Progress;
use crate::build::assemble::{Merge, Merged, Placed, Tree, merge};
use crate::build::audit::{Audited, Rejected, audit};
use crate::build::ingest::engine::in_memory;
use crate::build::ingest::inputs::{Input, ingest, leave_out};
use crate::build::ingest::sidecar;
use crate::build::ingest::store::Stored;
use crate::build::pack::{PackError, PackedBundle, PackedLayer, pack, split};
use crate::cli::{Global, MakeArgs};
use job::Job;

/// Makes a bundle, or with `--dry-run` says what would be made.
pub fn run(args: &MakeArgs, global: &Global) -> Answer {
    let progress = terminal::progress(global);
    let job = Job::new(args, global, &progress)?;
    if args.dry_run {
        report::answer(global, &plan::of(&job)?, plan::text)?;
        return Ok(Outcome::Done);
    }
    let made = match make(&job, &progress) {
        Err(Stop::Rejected(rejected)) => {
            report::answer(global, &says::rejected(&rejected), says::rejected_text)?;
            return Ok(Outcome::No);
        }
        Err(Stop::Failed(error)) => return Err(error.into()),
        Ok(made) => made,
    };
    evidence::made(&made.packed, &made.audited)?;
    let further = further(args, &made.packed, &progress)?;
    report::answer(global, &says::made(&job, &made, further), |said| {
        says::made_text(said, global.verbose > 0)
    })?;
    Ok(Outcome::Done)
}

/// A bundle and what the audit said of it.
struct Made {
    packed: PackedBundle,
    audited: Audited,
}

/// Further forms of a bundle that were asked for.
#[derive(Debug, Default, Serialize)]
struct Further {
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<[PackedLayer; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    self_extracting: Option<self_extract::Written>,
}

fn further(
    args: &MakeArgs,
    packed: &PackedBundle,
    progress: &Progress,
) -> Result<Further, Failure> {
    let mut out = Further::default();
    if args.further.layers {
        let dir = fs::parent(&packed.path);
        out.layers = Some(split(&packed.path, dir, progress)?);
    }
    if args.further.self_extract {
        let (path, program) = (&packed.path, args.further.program.as_deref());
        let written = self_extract::write(path, args.target.arch, None, program, progress)?;
        out.self_extracting = Some(written);
    }
    Ok(out)
}

/// Why there is no bundle.
enum Stop {
    /// The audit's answer is no.
    Rejected(Box<Rejected>),
    /// Something could not be done.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

fn make(job: &Job, progress: &Progress) -> Result<Made, Stop> {
    let mut again = true;
    loop {
        let tree = assembled(job, progress)?;
        let audited = audit(tree, &job.audit_request()?).map_err(Stop::Rejected)?;
        match pack(&audited, job.pack_request(&audited), progress) {
            Ok(packed) => return Ok(Made { packed, audited }),
            Err(PackError::Damaged { key, name, segment }) if again => {
                progress.note(format!(
                    "warning: segment {segment} of cached component {name} is damaged: it is made anew"
                ));
                job.engine.store.set_aside(&key)?;
                again = false;
            }
            Err(e) => return Err(e.into()),
        }
    }
}

/// Components of all inputs as one tree, with the generated files.
fn assembled(job: &Job, progress: &Progress) -> Result<Tree, Stop> {
    let mut inputs = job.inputs.clone();
    let mut stored = ingest(&inputs, &job.fetcher, &job.engine)?;
    sidecar::check(&job.found.lock.wheels, &stored)?;
    loop {
        let merged = match merge(placed(&inputs, &stored))? {
            Merge::Done(merged) => merged,
            Merge::Again(without) => {
                for (number, input, component) in made_without(job, &mut inputs, &without)? {
                    progress.note(format!(
                        "{} leaves {} shared paths to others",
                        input.label(),
                        input.ingredients.without.len()
                    ));
                    if let Some(slot) = stored.get_mut(number) {
                        *slot = component;
                    }
                }
                continue;
            }
        };
        return Ok(with_layout(job, merged)?);
    }
}

fn made_without(
    job: &Job,
    inputs: &mut [Input],
    without: &[crate::build::assemble::Without],
) -> Result<Vec<(usize, Input, Stored)>, Stop> {
    let changed = leave_out(inputs, without);
    if changed.is_empty() {
        return Err(
            anyhow::anyhow!("components share paths that none of them can leave out").into(),
        );
    }
    let again: Vec<Input> = changed
        .iter()
        .filter_map(|n| inputs.get(*n))
        .cloned()
        .collect();
    let made = ingest(&again, &job.fetcher, &job.engine)?;
    Ok(changed
        .into_iter()
        .zip(again)
        .zip(made)
        .map(|((n, input), stored)| (n, input, stored))
        .collect())
}

fn placed(inputs: &[Input], stored: &[Stored]) -> Vec<Placed> {
    let place = |(input, stored): (&Input, &Stored)| Placed {
        component: Arc::new(stored.component.clone()),
        layer: input.layer,
        segments: stored.backing.clone(),
        source: input.alias(),
    };
    inputs.iter().zip(stored).map(place).collect()
}

fn with_layout(job: &Job, merged: Merged) -> anyhow::Result<Tree> {
    let plan = merged.layout_plan(&job.layout_request(&merged))?;
    let layout = in_memory(plan, &job.common.encoding)?;
    Ok(merged.finish(Placed {
        component: Arc::new(layout.component),
        layer: crate::formats::component::Layer::App,
        segments: layout.backing,
        source: None,
    })?)
}
