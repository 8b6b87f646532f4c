//! `bundler make --dry-run`: what would be fetched and made, with sizes.

use std::fmt::Write as _;

use serde::Serialize;

use super::job::Job;
use crate::commands::report::size;

/// What a `make` would do.
#[derive(Debug, Serialize)]
pub struct Plan {
    schema_version: u32,
    target: String,
    recipe: String,
    interpreter: String,
    components: Vec<Line>,
    /// Bytes that would be fetched.
    download: u64,
    /// Bytes of the bundle; estimated from the wheels where a component is not in the cache yet.
    output: u64,
    /// True where `output` is estimated.
    output_is_estimate: bool,
}

#[derive(Debug, Serialize)]
struct Line {
    name: String,
    /// `cached`, `fetched` (ingest only) or `to fetch`.
    state: &'static str,
    bytes: u64,
}

/// Looks at the caches and adds up.
pub fn of(job: &Job) -> anyhow::Result<Plan> {
    let mut plan = Plan {
        schema_version: 1,
        target: job.wanted.target.to_string(),
        recipe: job.recipe.stem().to_owned(),
        interpreter: format!(
            "cpython {} ({})",
            job.interpreter.version,
            job.interpreter.source.name()
        ),
        components: Vec::new(),
        download: 0,
        output: 0,
        output_is_estimate: false,
    };
    for input in &job.inputs {
        let line = if let Some(stored) = job.engine.store.get(&input.ingredients.key())? {
            let packed = stored.component.segments.iter().map(|s| s.packed).sum();
            Line {
                name: input.label(),
                state: "cached",
                bytes: packed,
            }
        } else {
            plan.output_is_estimate = true;
            let order = input.order();
            let bytes = order.and_then(|o| o.size).unwrap_or_default();
            match order {
                Some(order) if !job.fetcher.has(&order.sha256, order.size) => {
                    plan.download += bytes;
                    Line {
                        name: input.label(),
                        state: "to fetch",
                        bytes,
                    }
                }
                _ => Line {
                    name: input.label(),
                    state: "fetched",
                    bytes,
                },
            }
        };
        plan.output += line.bytes;
        plan.components.push(line);
    }
    Ok(plan)
}

/// The plan for people.
pub fn text(plan: &Plan) -> String {
    let mut out = format!(
        "{} of recipe {} with {}\n",
        plan.target, plan.recipe, plan.interpreter
    );
    for line in &plan.components {
        let _ = writeln!(
            out,
            "  {:<40} {:>10}  {}",
            line.name,
            size(line.bytes),
            line.state
        );
    }
    let about = if plan.output_is_estimate {
        "about "
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "{} components; download {}; bundle {about}{}",
        plan.components.len(),
        size(plan.download),
        size(plan.output)
    );
    out
}
