//! Judging: each rule compares what a wheelhouse holds with what a target of a recipe wants.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep508_rs::{Requirement, VerbatimUrl};

use super::{HousedWheel, Wheelhouse};
use crate::base::finding::{Finding, Severity};
use crate::build::lock::{accelerator, markers};
use crate::build::recipe::Wanted;
use crate::formats::distribution::normalized_name;
use crate::formats::floor::DottedVersion;
use crate::formats::tags::Compatibility;
use crate::formats::wheel::WheelName;

/// What a wheelhouse is compared with.
pub struct Subject<'a> {
    /// The target of the recipe.
    pub wanted: &'a Wanted,
    /// Alias of the recipe's index the wheelhouse stands for.
    pub alias: &'a str,
    /// The recipe's glibc floor.
    pub floor: &'a DottedVersion,
}

/// Every finding, sorted.
pub fn judge(house: &Wheelhouse, subject: &Subject<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut names = BTreeMap::new();
    for wheel in &house.wheels {
        match wheel.file.parse::<WheelName>() {
            Ok(name) => {
                of_name(wheel, &name, subject, &mut out);
                names.insert(name.normalized(), name);
            }
            Err(error) => out.push(finding(
                Severity::Error,
                "wheel-name",
                &wheel.file,
                error.to_string(),
                None,
            )),
        }
        of_content(wheel, subject, &mut out);
    }
    if house.wheels.is_empty() {
        let hint =
            "check the folder or address; a release page lists its files on `expanded_assets`"
                .to_owned();
        out.push(finding(
            Severity::Error,
            "wheelhouse-empty",
            &house.place,
            "no wheel is there".into(),
            Some(hint),
        ));
    }
    of_run(house, subject, &mut out);
    of_recipe(house, subject, &names, &mut out);
    // The worst first.
    out.sort_by(|a, b| (b.severity, a).cmp(&(a.severity, b)));
    out.dedup();
    out
}

fn of_name(wheel: &HousedWheel, name: &WheelName, subject: &Subject<'_>, out: &mut Vec<Finding>) {
    let wanted = subject.wanted;
    let mut error = |code: &str, message: String| {
        out.push(finding(Severity::Error, code, &wheel.file, message, None));
    };
    let compatibility = Compatibility {
        python_minor: wanted.python.minor.into(),
        arch: wanted.target.arch,
        glibc_minor: 28,
    };
    if !compatibility.accepts_any(&name.tags) {
        error(
            "wheel-tag",
            format!(
                "none of its tags fits {} and Python {}",
                wanted.target.arch, wanted.python
            ),
        );
    }
    if let Some(message) =
        accelerator::disagreement(wanted.target.accel, &name.normalized(), &name.version)
    {
        error("accelerator-mismatch", message);
    }
    if let (Some(torch), Some(built)) = (&wanted.torch, torch_of(&name.version.to_string()))
        && !torch.starts_with(&format!("{built}."))
    {
        error(
            "torch-mismatch",
            format!("it is built for torch {built}, the bundle has {torch}"),
        );
    }
}

/// The torch a local version names: `+cu130torch2.9`, `+pt29cu130` → `2.9`.
fn torch_of(version: &str) -> Option<String> {
    let (_, local) = version.split_once('+')?;
    let digits = ["torch", "pt"].iter().find_map(|word| {
        let at = local.find(word)?;
        local.get(at + word.len()..)
    })?;
    let digits = digits.trim_start_matches('.');
    let mut numbers = digits.split(|c: char| !c.is_ascii_digit());
    match (numbers.next()?, numbers.next()) {
        (major, Some(minor))
            if major.len() == 1 && !minor.is_empty() && digits.as_bytes().get(1) == Some(&b'.') =>
        {
            Some(format!("{major}.{minor}"))
        }
        (joined, _) if (2..=3).contains(&joined.len()) => {
            let (major, minor) = joined.split_at_checked(1)?;
            Some(format!("{major}.{minor}"))
        }
        _ => None,
    }
}

fn of_content(wheel: &HousedWheel, subject: &Subject<'_>, out: &mut Vec<Finding>) {
    let Some(content) = &wheel.content else {
        return;
    };
    let mut error = |code: &str, message: String, hint: Option<&str>| {
        out.push(finding(
            Severity::Error,
            code,
            &wheel.file,
            message,
            hint.map(Into::into),
        ));
    };
    if let Some(why) = &content.broken {
        error("wheel-broken", why.clone(), None);
    }
    for library in &content.bundled {
        error(
            "bundled-library",
            format!("it brings a second copy of {library}"),
            Some("repair the wheel with this library excluded: torch or the NVIDIA wheels have it"),
        );
    }
    for library in &content.foreign {
        error(
            "elf-machine",
            format!("{library} is not for {}", subject.wanted.target.arch),
            None,
        );
    }
    if let Some((glibc, library)) = &content.glibc
        && glibc > subject.floor
    {
        error(
            "glibc-too-new",
            format!(
                "{library} needs glibc {glibc}, the recipe's floor is {}",
                subject.floor
            ),
            Some("build it in a manylinux_2_28 image"),
        );
    }
}

fn of_run(house: &Wheelhouse, subject: &Subject<'_>, out: &mut Vec<Finding>) {
    let Some(run) = &house.run else {
        out.push(finding(
            Severity::Warning,
            "manifest-missing",
            &house.place,
            "no manifest.txt: what was built, and for which GPUs, is not known".into(),
            None,
        ));
        return;
    };
    for package in &run.failed {
        out.push(finding(
            Severity::Error,
            "wheelhouse-build-failed",
            package,
            "the last build run failed to make it".into(),
            Some("build it again, or list it under `without` of this target".into()),
        ));
    }
    let built: BTreeSet<&str> = run
        .cuda_arch
        .iter()
        .map(|arch| arch.trim_end_matches("+PTX"))
        .collect();
    let missing: Vec<String> = subject
        .wanted
        .cuda_arch
        .iter()
        .map(ToString::to_string)
        .filter(|arch| !built.contains(arch.as_str()))
        .collect();
    if !run.cuda_arch.is_empty() && !missing.is_empty() {
        out.push(finding(
            Severity::Error,
            "cuda-arch-missing",
            &house.place,
            format!(
                "the last run compiled for {}, the recipe's cuda_arch also has {}",
                run.cuda_arch.join(" "),
                missing.join(" ")
            ),
            None,
        ));
    }
}

fn of_recipe(
    house: &Wheelhouse,
    subject: &Subject<'_>,
    names: &BTreeMap<String, WheelName>,
    out: &mut Vec<Finding>,
) {
    let wanted = subject.wanted;
    let applies = |text: &str| {
        Requirement::<VerbatimUrl>::from_str(text)
            .is_ok_and(|r| markers::apply(&r, wanted.target.arch, wanted.python))
    };
    let of_house = wanted
        .requirements
        .iter()
        .filter(|w| w.index == subject.alias);
    for wish in of_house.clone().filter(|w| applies(&w.requirement)) {
        if !names.contains_key(&wish.name) {
            out.push(finding(
                Severity::Error,
                "wheelhouse-missing",
                &wish.name,
                format!(
                    "the recipe wants {:?} from index {}, it is not there",
                    wish.requirement, subject.alias
                ),
                Some("build it, or list it under `without` of this target".into()),
            ));
        }
    }
    let listed: BTreeSet<&str> = wanted
        .requirements
        .iter()
        .map(|w| w.name.as_str())
        .collect();
    let source = wanted.source.as_ref().and_then(|s| s.wheel.as_deref());
    for name in names.keys() {
        if !listed.contains(name.as_str()) && source != Some(name) {
            out.push(finding(
                Severity::Note,
                "recipe-missing",
                name,
                "the recipe does not list it: it is installed only if something needs it".into(),
                None,
            ));
        }
    }
    for text in house.requirements.iter().flatten() {
        let Ok(requirement) = Requirement::<VerbatimUrl>::from_str(text) else {
            continue;
        };
        let name = normalized_name(requirement.name.as_ref());
        if !listed.contains(name.as_str())
            && markers::apply(&requirement, wanted.target.arch, wanted.python)
        {
            out.push(finding(
                Severity::Warning,
                "requirement-missing",
                &name,
                format!("requirements-pypi.txt has {text:?}, the recipe does not list it"),
                Some("add it to a group of [[packages]]".into()),
            ));
        }
    }
}

fn finding(
    severity: Severity,
    code: &str,
    path: &str,
    message: String,
    hint: Option<String>,
) -> Finding {
    Finding {
        severity,
        code: code.to_owned(),
        path: path.to_owned(),
        message,
        hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_versions_name_their_torch() {
        for (version, torch) in [
            ("1.0+pt29cu130", Some("2.9")),
            ("1.0+pt210cu130", Some("2.10")),
            ("0.2+cu130torch29", Some("2.9")),
            ("2.8.3+cu12torch2.9", Some("2.9")),
            ("1.0+cu130", None),
            ("1.0", None),
            ("1.0+torch", None),
        ] {
            assert_eq!(torch_of(version).as_deref(), torch, "{version}");
        }
    }
}
