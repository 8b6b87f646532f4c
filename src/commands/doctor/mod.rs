//! `bundler doctor`: what this host is, and whether a bundle will run on it. The answer is no (exit 1) where it will not,
//! and exit 2 where the host does not tell what has to be known: then the GPU is named with `--gpu`.

pub mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;

use super::{Answer, Failure, Outcome, edge, report};
use crate::base::finding::Finding;
use crate::base::http::{Http, HttpConfig, Request};
use crate::cli::{DoctorArgs, Global, HostArgs};
use crate::formats::index::Place;
use crate::host::doctor::{self, Host, Question, Root, Verdict};
use crate::host::select::{MAX_ANNOUNCEMENT, Offer, Ranked, of_json, of_path};

/// Version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// What the doctor says.
#[derive(Debug, Serialize)]
pub struct Examined {
    schema_version: u32,
    /// What the host is.
    host: Host,
    /// What of it may get in the way of any bundle.
    remarks: Vec<Finding>,
    /// The bundles that were asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bundles: Vec<Ranked>,
}

/// Runs it.
pub fn run(args: &DoctorArgs, global: &Global) -> Answer {
    let offers = match &args.bundle {
        Some(asked) => offers(asked, global)?,
        None => Vec::new(),
    };
    let mut host = host(&args.host, &offers)?;
    let mut remarks = doctor::remarks(&host);
    if args.deep {
        let tree = offers.iter().find_map(|offer| offer.tree.as_ref());
        let tree = tree.ok_or_else(|| Failure {
            error: anyhow::anyhow!(
                "--deep asks the driver through the python of an unpacked bundle"
            ),
            hint: Some("name its folder: bundler doctor --deep path/to/runtime".to_owned()),
        })?;
        remarks.splice(0..0, doctor::ask_libcuda(tree, &mut host)?);
    }
    let bundles: Vec<Ranked> = offers
        .iter()
        .map(|offer| Ranked::of(offer, &host))
        .collect();
    let examined = Examined {
        schema_version: SCHEMA_VERSION,
        host,
        remarks,
        bundles,
    };
    report::answer(global, &examined, |value| {
        text::text(value, global.verbose > 0)
    })?;
    outcome(&examined)
}

fn outcome(examined: &Examined) -> Answer {
    let failed = examined.remarks.iter().any(|r| r.code == "libcuda-fails");
    let best = examined.bundles.iter().map(|b| b.judged.verdict).min();
    let unknown = match best {
        Some(Verdict::WillNot) => return Ok(Outcome::No),
        Some(Verdict::Unknown) => true,
        Some(_) => false,
        None => examined
            .host
            .gpus
            .devices
            .iter()
            .all(|gpu| gpu.capability.is_none()),
    };
    if unknown {
        return Err(unknown_gpu(&examined.host));
    }
    Ok(if failed { Outcome::No } else { Outcome::Done })
}

/// The one thing that nobody guesses.
pub fn unknown_gpu(host: &Host) -> Failure {
    let why = match &host.gpus.nvidia_smi_failed {
        Some(why) => format!("the GPU of this host is unknown: {why}"),
        None => "the GPU of this host is unknown".to_owned(),
    };
    Failure {
        error: anyhow::anyhow!(why),
        hint: Some("pass --gpu X.Y, its compute capability, such as --gpu 9.0".to_owned()),
    }
}

/// Examines the host the arguments name, with the libraries that the offers ask for.
pub fn host(args: &HostArgs, offers: &[Offer]) -> Result<Host, Failure> {
    let top = std::path::absolute(&args.sysroot)?;
    let root = Root::open(&top)?;
    let place = args.store.root.as_deref();
    let place = place.map(std::path::absolute).transpose()?;
    let question = Question {
        gpus: args.gpu.clone(),
        driver: args.driver.clone(),
        place: place.map(|path| path.display().to_string()),
        environment: environment(),
    };
    let needs = offers
        .iter()
        .flat_map(|offer| &offer.bundle.facts.host_needs);
    let sonames: BTreeSet<String> = needs.map(|need| need.library.clone()).collect();
    let sonames: Vec<String> = sonames.into_iter().collect();
    Ok(doctor::examine(&root, &question, &sonames))
}

/// The environment; what is not Unicode is shown with replacements.
fn environment() -> BTreeMap<String, String> {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    std::env::vars_os()
        .map(|(name, value)| (text(name), text(value)))
        .collect()
}

/// The bundles that something named on the command line offers.
pub fn offers(asked: &str, global: &Global) -> Result<Vec<Offer>, Failure> {
    match Place::parse(asked, &edge::working_dir()?) {
        Place::Path(path) => {
            let path = if path.is_absolute() && !asked.starts_with('/') && !asked.contains("://") {
                PathBuf::from(asked)
            } else {
                path
            };
            Ok(of_path(&path)?)
        }
        Place::Url(url) => {
            let mut config = HttpConfig::from_env(&edge::var, edge::home().as_deref())?;
            config.offline = global.offline;
            let page = Http::new(config).page(&Request::file(url), MAX_ANNOUNCEMENT)?;
            let body = page.body.context("the server sent nothing")?;
            Ok(of_json(&body, &Place::Url(page.url))?)
        }
    }
}
