//! [`Tree`] → [`Audited`]: judges the facts of a tree by rules. Each family of rules is a file; what the rules need to know of
//! the world (host libraries, plug-ins, shebangs …) is data in `policy.toml`. Findings are all collected before anything is
//! said; error findings that the recipe does not waive by code, path and reason stop the build.

mod elf;
mod floor;
mod gpu;
mod needs;
mod paths;
mod policy;
mod resolve;
mod startup;
mod waiver;

use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::base::target::Arch;
use crate::build::assemble::Tree;
use crate::build::recipe::{RecipeFile, Waiver};
use crate::formats::bundle::Coverage;
use crate::formats::floor::{DottedVersion, Floor, HostNeed, NotDotted};

pub use policy::Policy;
pub use waiver::Waived;

/// What the recipe says that the audit has to know.
#[derive(Debug, Clone)]
pub struct AuditRequest {
    /// Architecture of the bundle.
    pub arch: Arch,
    /// The floor that the recipe declares; a name it leaves out is not compared.
    pub declared: Floor,
    /// Findings that the recipe waives.
    pub waivers: Vec<Waiver>,
    /// Digests of start-up hooks that may run.
    pub allowed_hooks: Vec<Digest>,
    /// SONAMEs the recipe counts among the host's libraries, beyond those of the policy.
    pub host_libraries: Vec<String>,
}

impl AuditRequest {
    /// What `recipe` says for a bundle of `arch`. An interpreter that itself needs a newer glibc than the recipe's floor, as the
    /// recipe's `[[interpreter]]` declares, raises the floor of the bundle.
    pub fn new(
        recipe: &RecipeFile,
        arch: Arch,
        interpreter_glibc: Option<&str>,
    ) -> Result<Self, NotDotted> {
        let floor: DottedVersion = recipe.floor.glibc.parse()?;
        let interpreter = interpreter_glibc.map(str::parse).transpose()?;
        Ok(Self {
            arch,
            declared: Floor {
                glibc: Some(floor).max(interpreter),
                ..Floor::default()
            },
            waivers: recipe.waiver.clone(),
            allowed_hooks: recipe.startup_hook.iter().map(|h| h.sha256).collect(),
            host_libraries: recipe.host.libraries.clone(),
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

/// A tree that passed.
#[derive(Debug)]
pub struct Audited {
    tree: Tree,
    report: Report,
}

/// What the rules found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
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
    /// GPU code per library.
    pub coverage: Vec<Coverage>,
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
    let mut findings = Vec::new();
    let links = resolve::links(tree, request.arch, policy);
    elf::check(tree, &links, request, policy, &mut findings);
    let host_needs = needs::check(&links, request, policy, &mut findings);
    let (floor, blame) = floor::check(&links, request, &mut findings);
    paths::check(tree, &links, policy, &mut findings);
    startup::check(tree, request, &mut findings);
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.cmp(b)));
    findings.dedup();
    let (findings, waived) = waiver::apply(findings, &request.waivers);
    Report {
        findings,
        waived,
        floor,
        blame,
        host_needs,
        coverage: gpu::coverage(tree),
    }
}
