//! Whether a bundle may be put on this host: the doctor is asked before anything is unpacked.

use std::fmt::Write as _;

use serde::Serialize;

use super::doctor::{host, text};
use super::{Answer, Failure, Outcome, report};
use crate::base::progress::Progress;
use crate::cli::{Global, HostArgs};
use crate::formats::bundle::Bundle;
use crate::host::select::{Offer, Ranked};

/// A bundle that will not run here.
#[derive(Debug, Serialize)]
pub struct Refused {
    schema_version: u32,
    refused: Ranked,
}

/// Asks the doctor. What may be another way when the bundle is started (a container without its GPUs, a login node) is only
/// said.
pub fn refused(
    bundle: &Bundle,
    sources: &[String],
    args: &HostArgs,
    progress: &Progress,
) -> Result<Option<Refused>, Failure> {
    let offer = Offer {
        place: sources.join(" "),
        bundle: bundle.clone(),
        packed: None,
        tree: None,
    };
    let host = host(args, std::slice::from_ref(&offer))?;
    let mut ranked = Ranked::of(&offer, &host);
    let against = ranked.judged.against_unpacking();
    if against.is_empty() {
        for reason in ranked.judged.passing() {
            progress.note(format!("{}: {}", reason.path, reason.message));
        }
        return Ok(None);
    }
    ranked.judged.reasons = against;
    Ok(Some(Refused {
        schema_version: 1,
        refused: ranked,
    }))
}

/// Says so; the answer is no.
pub fn no(refused: &Refused, global: &Global) -> Answer {
    report::answer(global, refused, |refused| {
        let mut out = text::ranked(&refused.refused, false);
        let _ = writeln!(
            out,
            "nothing was unpacked: it will not run on this host; --force unpacks it all the same"
        );
        out
    })?;
    Ok(Outcome::No)
}
