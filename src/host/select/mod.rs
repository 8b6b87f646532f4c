//! Which of several bundles fits a host best, and why each other does not: [`Offer`]s in, a ranking out. A bundle that
//! runs beats one that needs the driver's compiler; among equals exact machine code, then the newer CUDA, then the newer
//! version, then the smaller file decides. What will not run, or cannot be told, is never chosen.

mod offer;

use std::cmp::Ordering;

use serde::Serialize;

use super::doctor::{Code, Host, Judged, Verdict, judge};
use crate::base::finding::Severity;
use crate::formats::floor::DottedVersion;

pub use offer::{MAX_ANNOUNCEMENT, Offer, OfferError, of_json, of_path};

/// An offer with its verdict.
#[derive(Debug, Clone, Serialize)]
pub struct Ranked {
    /// Where the bundle is.
    pub place: String,
    /// Product.
    pub name: String,
    /// Version.
    pub version: String,
    /// Target, such as `amd64-cu130`.
    pub target: String,
    /// Verdict and reasons.
    #[serde(flatten)]
    pub judged: Judged,
    /// Why it was chosen, or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Ranked {
    /// Judges an offer.
    pub fn of(offer: &Offer, host: &Host) -> Self {
        let facts = &offer.bundle.facts;
        Self {
            place: offer.place.clone(),
            name: facts.name.clone(),
            version: facts.version.clone(),
            target: facts.target.target().to_string(),
            judged: judge(host, &offer.bundle, offer.tree.is_some()),
            why: None,
        }
    }
}

/// The answer of a selection.
#[derive(Debug, Clone, Serialize)]
pub struct Selection {
    /// Place of the best, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<String>,
    /// All offers, the best first.
    pub offers: Vec<Ranked>,
}

impl Selection {
    /// Whether the answer could only not be told.
    pub fn is_open(&self) -> bool {
        self.best.is_none()
            && self
                .offers
                .iter()
                .any(|o| o.judged.verdict == Verdict::Unknown)
    }
}

/// Ranks offers for a host.
pub fn select(offers: &[Offer], host: &Host) -> Selection {
    let mut ranked: Vec<(Key, Ranked)> = offers
        .iter()
        .map(|offer| {
            let ranked = Ranked::of(offer, host);
            (Key::of(offer, &ranked.judged), ranked)
        })
        .collect();
    // The sort is stable: the index's own order decides the rest.
    ranked.sort_by(|(a, _), (b, _)| a.cmp(b));
    let best = ranked
        .first()
        .filter(|(key, _)| key.verdict <= Verdict::RunsWithJit);
    let best = best.map(|(key, ranked)| (key.clone(), ranked.place.clone()));
    let with_why = |(number, (key, mut ranked)): (usize, (Key, Ranked))| {
        ranked.why = match &best {
            Some(_) if number == 0 => Some("fits best".to_owned()),
            Some((first, _)) if key.verdict <= Verdict::RunsWithJit => Some(first.beats(&key)),
            _ => None,
        };
        ranked
    };
    Selection {
        offers: ranked.into_iter().enumerate().map(with_why).collect(),
        best: best.map(|(_, place)| place),
    }
}

/// What is compared, in this order.
#[derive(Debug, Clone)]
struct Key {
    verdict: Verdict,
    exact: bool,
    warnings: usize,
    cuda: Option<DottedVersion>,
    version: Vec<u64>,
    packed: u64,
}

impl Key {
    fn of(offer: &Offer, judged: &Judged) -> Self {
        let facts = &offer.bundle.facts;
        let is_exact =
            |gpu: &super::doctor::OnGpu| matches!(gpu.code, Some(Code::Native { exact: true }));
        Self {
            verdict: judged.verdict,
            exact: judged.gpus.iter().any(is_exact),
            warnings: judged
                .reasons
                .iter()
                .filter(|r| r.severity == Severity::Warning)
                .count(),
            cuda: facts
                .cuda
                .as_ref()
                .and_then(|cuda| cuda.version.parse().ok()),
            version: facts
                .version
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|part| part.parse().ok())
                .collect(),
            packed: offer.packed.unwrap_or(u64::MAX),
        }
    }

    /// Better first.
    fn cmp(&self, other: &Self) -> Ordering {
        (self.verdict.cmp(&other.verdict))
            .then(other.exact.cmp(&self.exact))
            .then(self.warnings.cmp(&other.warnings))
            .then(other.cuda.cmp(&self.cuda))
            .then(other.version.cmp(&self.version))
            .then(self.packed.cmp(&other.packed))
    }

    /// Why this one was chosen and not `other`, which runs too.
    fn beats(&self, other: &Self) -> String {
        let text = if self.verdict != other.verdict {
            "runs, but the driver would have to compile kernels first"
        } else if self.exact != other.exact {
            "runs, but by code of an earlier device"
        } else if self.warnings != other.warnings {
            "runs, but with more warnings"
        } else if self.cuda != other.cuda {
            "runs, but is for an older CUDA"
        } else if self.version != other.version {
            "runs, but is an older version"
        } else if self.packed == other.packed {
            "runs just as well; the index names the other first"
        } else {
            "runs just as well, but is larger"
        };
        text.to_owned()
    }
}
