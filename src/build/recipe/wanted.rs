//! Everything one target is made of: the recipe's groups and the target's own, names put in, markers left for resolving.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep508_rs::{Requirement, VerbatimUrl, VersionOrUrl};
use serde::Serialize;

use super::error::{Fault, did_you_mean};
use super::file::{IndexKind, IndexSpec, InterpreterSpec, PackageGroup, SourceSpec, TargetSpec};
use super::{Recipe, RecipeFile};
use crate::base::capability::ComputeCapability;
use crate::base::digest::Digest;
use crate::base::python::PythonMinor;
use crate::base::target::Target;
use crate::formats::component::Layer;
use crate::formats::distribution::normalized_name;

/// What one target is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wanted {
    /// The recipe's name (its file's, without `.toml`).
    #[serde(skip)]
    pub recipe: String,
    /// The target.
    pub target: Target,
    /// The recipe's version.
    #[serde(skip)]
    pub version: String,
    /// Python minor version.
    pub python: PythonMinor,
    /// Torch version, where the recipe names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// What the GPU code is compiled for.
    #[serde(skip)]
    pub cuda_arch: Vec<ComputeCapability>,
    /// The oldest driver that runs it.
    #[serde(skip)]
    pub driver_floor: Option<String>,
    /// Interpreter sources, in order.
    pub interpreters: Vec<InterpreterSpec>,
    /// Indexes by alias.
    pub indexes: BTreeMap<String, Index>,
    /// Requirements, sorted by name.
    pub requirements: Vec<Wish>,
    /// The application source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceSpec>,
}

/// An index, with names put into its address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Index {
    /// What kind of index it is.
    pub kind: IndexKind,
    /// Its address or folder; none for the machine's default index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// One requirement, the index it comes from, and the layer it goes into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wish {
    /// Normalised name (PEP 503).
    pub name: String,
    /// The requirement (PEP 508), names put in.
    pub requirement: String,
    /// Alias of the index.
    pub index: String,
    /// Layer.
    pub layer: Layer,
}

impl Wanted {
    /// Digest of what a lock follows from: the interpreters, indexes, requirements and source of this target. A lock with
    /// another digest is stale; comments, waivers and encoding make no lock stale.
    pub fn digest(&self) -> Digest {
        Digest::of(serde_json::to_string(self).unwrap_or_default().as_bytes())
    }

    /// Puts names such as `{accel}` into the address of an index; the error is what is wrong with it.
    pub fn put_into(&self, address: &str) -> Result<String, String> {
        let names = Names {
            target: self.target,
            torch: self.torch.as_deref(),
            python: self.python,
            version: &self.version,
        };
        names.put_into(address).map_err(|fault| fault.message)
    }

    /// Alias of the machine's default index, if the recipe uses it.
    pub fn default_alias(&self) -> Option<&str> {
        self.indexes
            .iter()
            .find(|(_, index)| index.url.is_none())
            .map(|(alias, _)| alias.as_str())
    }
}

pub(super) fn of(recipe: &Recipe, target: Target) -> Result<Wanted, Fault> {
    let file = recipe.keys();
    let spec = file
        .target
        .get(&target)
        .ok_or_else(|| Fault::new(&[], format!("no target {target}")))?;
    let names = Names {
        target,
        torch: spec.torch.as_deref(),
        python: file.python,
        version: &file.version,
    };
    let requirements = requirements(file, spec, &names)?;
    let indexes = file
        .index
        .iter()
        .map(|(alias, index)| Ok((alias.clone(), index_of(alias, index, &names)?)))
        .collect::<Result<BTreeMap<_, _>, Fault>>()?;
    for wish in &requirements {
        if !indexes.contains_key(&wish.index) {
            return Err(Fault::new(
                &[&format!("\"{}\"", wish.index)],
                format!(
                    "no [index.{}] for {:?}{}",
                    wish.index,
                    wish.requirement,
                    did_you_mean(&wish.index, &indexes.keys().cloned().collect::<Vec<_>>())
                ),
            ));
        }
    }
    Ok(Wanted {
        recipe: recipe.stem().to_owned(),
        target,
        version: file.version.clone(),
        python: file.python,
        torch: spec.torch.clone(),
        cuda_arch: spec.cuda_arch.clone(),
        driver_floor: spec.driver_floor.clone(),
        interpreters: file.interpreter.clone(),
        indexes,
        requirements,
        source: file.source.clone(),
    })
}

fn requirements(
    file: &RecipeFile,
    spec: &TargetSpec,
    names: &Names<'_>,
) -> Result<Vec<Wish>, Fault> {
    let own = wishes(&spec.packages, names)?;
    let own_names: BTreeSet<String> = own.iter().map(|w| w.name.clone()).collect();
    let without: BTreeSet<String> = spec.without.iter().map(|n| normalized_name(n)).collect();
    let general = wishes(&file.packages, names)?;
    for name in &without {
        if !general.iter().any(|w| w.name == *name) {
            return Err(Fault::new(
                &["without", name],
                format!(
                    "target {} is without {name:?}, which no group lists",
                    names.target
                ),
            ));
        }
    }
    let mut all: Vec<Wish> = general
        .into_iter()
        .filter(|w| !own_names.contains(&w.name) && !without.contains(&w.name))
        .chain(own)
        .collect();
    all.sort_by(|a, b| (&a.name, &a.requirement).cmp(&(&b.name, &b.requirement)));
    for pair in all.windows(2) {
        if let [a, b] = pair
            && a.name == b.name
            && (a.index != b.index || a.layer != b.layer)
        {
            return Err(Fault::new(
                &[&b.requirement],
                format!(
                    "{:?} is listed under {} ({}) and {} ({}): a package has one index and one layer",
                    a.name,
                    a.index,
                    word(a.layer),
                    b.index,
                    word(b.layer)
                ),
            ));
        }
    }
    Ok(all)
}

fn word(layer: Layer) -> &'static str {
    match layer {
        Layer::Base => "base",
        Layer::App => "app",
    }
}

fn wishes(groups: &[PackageGroup], names: &Names<'_>) -> Result<Vec<Wish>, Fault> {
    let mut out = Vec::new();
    for group in groups {
        for written in &group.require {
            let requirement = names.put_into(written)?;
            let bad = |message: String| Fault::new(&[&format!("\"{written}\"")], message);
            let parsed = Requirement::<VerbatimUrl>::from_str(&requirement).map_err(|e| {
                let first = e.to_string().lines().next().unwrap_or_default().to_owned();
                bad(format!("{written:?} is no requirement: {first}"))
            })?;
            if matches!(parsed.version_or_url, Some(VersionOrUrl::Url(_))) {
                return Err(bad(format!(
                    "{written:?} has an address: packages come from an index"
                )));
            }
            out.push(Wish {
                name: normalized_name(parsed.name.as_ref()),
                requirement,
                index: group.index.clone(),
                layer: group.layer,
            });
        }
    }
    Ok(out)
}

fn index_of(alias: &str, spec: &IndexSpec, names: &Names<'_>) -> Result<Index, Fault> {
    let url = match &spec.url {
        Some(url) => Some(
            names
                .put_into(url)
                .map_err(|f| Fault::new(&[&format!("[index.{alias}]"), url], f.message))?,
        ),
        None => None,
    };
    Ok(Index {
        kind: spec.kind,
        url,
    })
}

/// The names that may stand in braces.
struct Names<'a> {
    target: Target,
    torch: Option<&'a str>,
    python: PythonMinor,
    version: &'a str,
}

impl Names<'_> {
    fn put_into(&self, text: &str) -> Result<String, Fault> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let fault = |message: String| Fault::new(&[text], message);
            let (name, tail) = after
                .split_once('}')
                .ok_or_else(|| fault(format!("{text:?}: `{{` without `}}`")))?;
            out.push_str(before);
            out.push_str(&self.value(name).ok_or_else(|| {
                fault(match name {
                    "torch" => format!("{text:?} needs the key torch in [target.{}]", self.target),
                    _ => format!(
                        "{text:?}: unknown name {{{name}}}: known are accel, arch, cp, machine, python, torch, version"
                    ),
                })
            })?);
            rest = tail;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn value(&self, name: &str) -> Option<String> {
        Some(match name {
            "arch" => self.target.arch.to_string(),
            "machine" => self.target.arch.machine().to_owned(),
            "accel" => self.target.accel.to_string(),
            "torch" => self.torch?.to_owned(),
            "python" => self.python.to_string(),
            "cp" => self.python.digits(),
            "version" => self.version.to_owned(),
            _ => return None,
        })
    }
}
