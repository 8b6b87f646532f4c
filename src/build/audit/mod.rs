//! [`Tree`] → [`Audited`]: judges the facts of a tree by rules. Each family of rules is a file; what the rules need to know of
//! the world (host libraries, plug-ins, shebangs …) is data in `policy.toml`. Findings are all collected before anything is
//! said; error findings that the recipe does not waive by code, path and reason stop the build.

mod abi;
mod builder;
mod copies;
mod dlopen;
mod elf;
mod floor;
mod gpu;
mod needs;
pub mod open;
mod paths;
mod policy;
mod python;
mod resolve;
mod size;
mod startup;
mod waiver;

use serde::{Deserialize, Serialize};

use crate::base::capability::ComputeCapability;
use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::base::python::PythonMinor;
use crate::base::target::{Arch, Target};
use crate::build::assemble::Tree;
use crate::build::recipe::{RecipeFile, SizeKeys, Waiver};
use crate::formats::bundle::Coverage;
use crate::formats::fatbin::Outlook;
use open::Opened;

use crate::formats::floor::{DottedVersion, Floor, HostNeed, NotDotted};

pub use open::FactsFrom;
pub use policy::Policy;
pub use waiver::Waived;

/// What the recipe says that the audit has to know.
#[derive(Debug, Clone)]
pub struct AuditRequest {
    /// Architecture of the bundle.
    pub arch: Arch,
    /// Minor version of the bundle's python; without it, nothing is said of wheels' requirements.
    pub python: Option<PythonMinor>,
    /// Its full version, where known.
    pub python_version: Option<String>,
    /// Compute capabilities that the recipe promises.
    pub gpus: Vec<ComputeCapability>,
    /// The oldest driver that the recipe allows.
    pub driver: Option<DottedVersion>,
    /// The floor that the recipe declares; a name it leaves out is not compared.
    pub declared: Floor,
    /// Findings that the recipe waives.
    pub waivers: Vec<Waiver>,
    /// Digests of start-up hooks that may run.
    pub allowed_hooks: Vec<Digest>,
    /// SONAMEs the recipe counts among the host's libraries, beyond those of the policy.
    pub host_libraries: Vec<String>,
    /// Folders in which this build works; texts should not name them. Empty where a bundle is judged later.
    pub made_in: Vec<String>,
    /// Size limits of the recipe.
    pub size: SizeKeys,
}

impl AuditRequest {
    /// A request that promises nothing.
    pub fn plain(arch: Arch) -> Self {
        Self {
            arch,
            python: None,
            python_version: None,
            gpus: Vec::new(),
            driver: None,
            declared: Floor::default(),
            waivers: Vec::new(),
            allowed_hooks: Vec::new(),
            host_libraries: Vec::new(),
            made_in: Vec::new(),
            size: SizeKeys::default(),
        }
    }

    /// What `recipe` says for a bundle of `target`. An interpreter that itself needs a newer glibc than the recipe's floor, as the
    /// recipe's `[[interpreter]]` declares, raises the floor of the bundle.
    pub fn new(
        recipe: &RecipeFile,
        target: Target,
        interpreter_glibc: Option<&str>,
    ) -> Result<Self, NotDotted> {
        let floor: DottedVersion = recipe.floor.glibc.parse()?;
        let interpreter = interpreter_glibc.map(str::parse).transpose()?;
        let spec = recipe.target.get(&target);
        let driver = spec.and_then(|s| s.driver_floor.as_deref());
        Ok(Self {
            python: Some(recipe.python),
            gpus: spec.map(|s| s.cuda_arch.clone()).unwrap_or_default(),
            driver: driver.map(str::parse).transpose()?,
            declared: Floor {
                glibc: Some(floor).max(interpreter),
                ..Floor::default()
            },
            waivers: recipe.waiver.clone(),
            allowed_hooks: recipe.startup_hook.iter().map(|h| h.sha256).collect(),
            host_libraries: recipe.host.libraries.clone(),
            size: recipe.size.clone(),
            ..Self::plain(target.arch)
        })
    }
}

/// Where a floor comes from: the file that asks for the highest version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Blame {
    /// Version as the file writes it, such as `GLIBC_2.28`.
    pub version: String,
    /// The first such file by path.
    pub path: String,
}

/// The licence of one wheel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Licence {
    /// Distribution.
    pub distribution: String,
    /// As it says itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// Terms that restrict what may be done with a bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<String>,
}

/// A tree that passed.
#[derive(Debug)]
pub struct Audited {
    tree: Tree,
    report: Report,
}

/// What the rules found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Where the facts come from.
    pub facts: FactsFrom,
    /// What was not read, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Findings, the worst first, without those waived.
    pub findings: Vec<Finding>,
    /// Findings that the recipe waived.
    pub waived: Vec<Waived>,
    /// Measured floor.
    pub floor: Floor,
    /// The files that set it.
    pub blame: Vec<Blame>,
    /// Libraries that the host has to give, by name.
    pub host_needs: Vec<HostNeed>,
    /// Distributions whose libraries are new enough.
    pub distributions: Vec<String>,
    /// GPU code per library.
    pub coverage: Vec<Coverage>,
    /// What it means for each promised device.
    pub outlook: Vec<Outlook>,
    /// Licences of the wheels.
    pub licences: Vec<Licence>,
}

/// A tree with error findings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the audit found {} that no waiver covers", errors(.report))]
pub struct Rejected {
    /// Everything that was found.
    pub report: Report,
}

fn errors(report: &Report) -> String {
    match report
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Error)
        .count()
    {
        1 => "1 error".to_owned(),
        n => format!("{n} errors"),
    }
}

impl Audited {
    /// The tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What the rules found.
    pub fn report(&self) -> &Report {
        &self.report
    }
}

/// Judges a tree.
///
/// # Errors
/// The report, where error findings are left that no waiver covers.
pub fn audit(tree: Tree, request: &AuditRequest) -> Result<Audited, Box<Rejected>> {
    let report = report(&tree, request, Policy::embedded());
    if report
        .findings
        .iter()
        .any(|f| f.severity == Severity::Error)
    {
        return Err(Box::new(Rejected { report }));
    }
    Ok(Audited { tree, report })
}

/// Judges a tree by a policy; never fails.
pub fn report(tree: &Tree, request: &AuditRequest, policy: &Policy) -> Report {
    judge(tree, request, policy, Vec::new())
}

/// Judges what was opened: its bundle's records, or its bytes.
pub fn report_of(opened: &Opened, request: &AuditRequest, policy: &Policy) -> Report {
    let judged = judge(opened.told.tree(), request, policy, opened.faults.clone());
    Report {
        facts: opened.from,
        unread: opened.unread.clone(),
        ..judged
    }
}

fn judge(
    tree: &Tree,
    request: &AuditRequest,
    policy: &Policy,
    mut findings: Vec<Finding>,
) -> Report {
    let links = resolve::links(tree, request.arch, policy);
    elf::check(tree, &links, request, policy, &mut findings);
    let host_needs = needs::check(&links, request, policy, &mut findings);
    let (floor, blame) = floor::check(&links, request, &mut findings);
    paths::check(tree, &links, policy, &mut findings);
    builder::check(tree, request, policy, &mut findings);
    startup::check(tree, request, &mut findings);
    copies::check(&links, request.arch, policy, &mut findings);
    dlopen::check(tree, &links, request, policy, &mut findings);
    abi::check(&links, request, policy, &mut findings);
    python::check(tree, &links, request, &mut findings);
    size::check(tree, request, policy, &mut findings);
    gpu::unreadable(tree, &mut findings);
    let coverage = gpu::coverage(tree, policy);
    let outlook = gpu::check(&coverage, request, &mut findings);
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.cmp(b)));
    findings.dedup();
    let (findings, waived) = waiver::apply(findings, &request.waivers);
    Report {
        facts: FactsFrom::Cache,
        unread: Vec::new(),
        findings,
        waived,
        distributions: floor::distributions(&floor, policy),
        floor,
        blame,
        host_needs,
        coverage,
        outlook,
        licences: licences(tree, policy),
    }
}

fn licences(tree: &Tree, policy: &Policy) -> Vec<Licence> {
    let parts = tree.parts().iter();
    let wheels = parts.filter_map(|part| part.component.distribution.as_ref());
    wheels
        .map(|facts| {
            let name = crate::formats::distribution::normalized_name(&facts.name);
            let terms = policy
                .licence
                .iter()
                .find(|rule| rule.distributions.iter().any(|d| waiver::glob(d, &name)));
            Licence {
                terms: terms.map(|rule| rule.name.clone()),
                licence: facts.license.clone(),
                distribution: name,
            }
        })
        .collect()
}
