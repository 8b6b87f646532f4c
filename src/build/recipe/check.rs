//! What a recipe as a whole must obey, beyond the type of each key. The tables are facts of the PyTorch project's wheels
//! and of NVIDIA's compilers; a recipe outside them is refused, never adjusted.

use std::str::FromStr;

use pep440_rs::Version;

use super::error::Fault;
use super::file::{IndexKind, IndexSpec, InterpreterKind, InterpreterSpec, RecipeFile, SourceSpec};
use crate::base::capability::ComputeCapability;
use crate::base::http::has_login;
use crate::base::target::{Accelerator, Target};

/// For each CUDA release: the first torch that was built for it, and the compute capabilities its compiler emits.
struct Toolkit {
    accel: (u16, u16),
    torch: &'static str,
    lowest: u16,
    absent: &'static [u16],
    highest: u16,
}

const TOOLKITS: &[Toolkit] = &[
    Toolkit {
        accel: (12, 6),
        torch: "2.6.0",
        lowest: 50,
        absent: &[88],
        highest: 90,
    },
    Toolkit {
        accel: (12, 8),
        torch: "2.7.0",
        lowest: 50,
        absent: &[88, 103, 110, 121],
        highest: 120,
    },
    Toolkit {
        accel: (12, 9),
        torch: "2.8.0",
        lowest: 50,
        absent: &[88, 110],
        highest: 121,
    },
    Toolkit {
        accel: (13, 0),
        torch: "2.9.0",
        lowest: 75,
        absent: &[101],
        highest: 121,
    },
    Toolkit {
        accel: (13, 1),
        torch: "2.9.0",
        lowest: 75,
        absent: &[101],
        highest: 121,
    },
    Toolkit {
        accel: (13, 2),
        torch: "2.12.0",
        lowest: 75,
        absent: &[101],
        highest: 121,
    },
];

/// Words an alias may not be, since they name something else on the command line.
const RESERVED: &[&str] = &["pbs", "maven", "path", "default", "source"];

pub(super) fn check(file: &RecipeFile) -> Result<(), Fault> {
    word("name", &file.name)?;
    word("version", &file.version)?;
    encoding(file)?;
    if file.interpreter.is_empty() {
        return Err(Fault::new(
            &[],
            "no [[interpreter]]: at least one source is needed",
        ));
    }
    for spec in &file.interpreter {
        interpreter(file, spec)?;
    }
    for (alias, spec) in &file.index {
        index(alias, spec)?;
    }
    if file.index.values().filter(|i| i.default).count() > 1 {
        return Err(Fault::new(
            &["default"],
            "more than one index has `default = true`",
        ));
    }
    if file.target.is_empty() {
        return Err(Fault::new(&[], "no [target.<arch>-<accelerator>]"));
    }
    for (target, spec) in &file.target {
        torch_floor(*target, spec.torch.as_deref())?;
        capabilities(*target, &spec.cuda_arch)?;
        if let Some(driver) = &spec.driver_floor {
            numbers(&[&section(*target), "driver_floor"], "driver_floor", driver)?;
        }
    }
    if let Some(spec) = &file.source {
        source(spec)?;
    }
    numbers(&["[floor]", "glibc"], "floor.glibc", &file.floor.glibc)?;
    sizes(file)?;
    reasons(file)
}

fn sizes(file: &RecipeFile) -> Result<(), Fault> {
    let keys = &file.size;
    let layers = keys.layer.iter();
    let layers = layers.map(|(layer, bytes)| (format!("{layer:?}").to_lowercase(), *bytes));
    let components = keys
        .component
        .iter()
        .map(|(name, bytes)| (name.clone(), *bytes));
    let bundle = keys
        .bundle
        .iter()
        .map(|bytes| ("bundle".to_owned(), *bytes));
    for (name, bytes) in bundle.chain(layers).chain(components) {
        if bytes == 0 {
            let message = format!("the size limit of {name} is 0 bytes: leave it out for no limit");
            return Err(Fault::new(&["[size", &name], message));
        }
    }
    Ok(())
}

fn section(target: Target) -> String {
    format!("[target.{target}]")
}

/// A word that can stand in a file name.
fn word(key: &str, value: &str) -> Result<(), Fault> {
    not_a_word(key, value).map_or(Ok(()), |text| Err(Fault::new(&[key], text)))
}

/// Why `value` cannot be a name or a version, said of `what`; nothing when it can.
pub fn not_a_word(what: &str, value: &str) -> Option<String> {
    let fine = !value.is_empty()
        && value.len() <= 64
        && !value.starts_with(['.', '-'])
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._+-".contains(&b));
    (!fine).then(|| {
        format!(
            "{what} {value:?} must be 1 to 64 letters, digits, `.`, `_`, `+`, `-`, not starting with `.` or `-`"
        )
    })
}

fn numbers(near: &[&str], key: &str, value: &str) -> Result<(), Fault> {
    let fine = !value.is_empty()
        && value.split('.').all(|part| {
            !part.is_empty() && part.len() <= 9 && part.bytes().all(|b| b.is_ascii_digit())
        });
    if fine {
        return Ok(());
    }
    Err(Fault::new(
        near,
        format!("{key} {value:?} must be numbers with dots"),
    ))
}

fn encoding(file: &RecipeFile) -> Result<(), Fault> {
    let keys = &file.encoding;
    let fault = |key: &str, message: &str| {
        Err(Fault::new(
            &["[encoding]", key],
            format!("encoding.{key} {message}"),
        ))
    };
    if !(1..=19).contains(&keys.level) {
        return fault("level", "must be 1 to 19");
    }
    if !(20..=27).contains(&keys.window_log) {
        return fault(
            "window_log",
            "must be 20 to 27: stock zstd reads no larger window",
        );
    }
    if !keys.segment_size.is_multiple_of(512) || !(1 << 20..=256 << 20).contains(&keys.segment_size)
    {
        return fault(
            "segment_size",
            "must be a multiple of 512 from 1 MiB to 256 MiB",
        );
    }
    Ok(())
}

fn interpreter(file: &RecipeFile, spec: &InterpreterSpec) -> Result<(), Fault> {
    let kind = spec.kind;
    let fault = |message: String| {
        Err(Fault::new(
            &["[[interpreter]]", &format!("\"{kind}\"")],
            message,
        ))
    };
    if !file.python.covers(&spec.version) {
        return fault(format!(
            "interpreter {kind} has version {:?}, which is no Python {}",
            spec.version, file.python
        ));
    }
    numbers(
        &["[[interpreter]]", &spec.version],
        "interpreter.version",
        &spec.version,
    )?;
    if let Some(glibc) = &spec.glibc {
        numbers(&["[[interpreter]]", glibc], "interpreter.glibc", glibc)?;
    }
    if file.interpreter.iter().filter(|i| i.kind == kind).count() > 1 {
        return fault(format!("more than one interpreter of kind {kind}"));
    }
    let (pbs, maven, path) = (
        kind == InterpreterKind::Pbs,
        kind == InterpreterKind::Maven,
        kind == InterpreterKind::Path,
    );
    for (key, given, fits) in [
        ("release", spec.release.is_some(), pbs),
        ("artifact", spec.artifact.is_some(), maven),
        ("classifier", !spec.classifier.is_empty(), maven),
        ("path", !spec.path.is_empty(), path),
    ] {
        match (given, fits) {
            (true, false) => return fault(format!("interpreter {kind} has no key {key}")),
            (false, true) => return fault(format!("interpreter {kind} needs the key {key}")),
            _ => {}
        }
    }
    if let Some(release) = &spec.release {
        numbers(
            &["[[interpreter]]", release],
            "interpreter.release",
            release,
        )?;
    }
    if let Some(artifact) = &spec.artifact {
        let parts: Vec<&str> = artifact.split(':').collect();
        if parts.len() != 3 || parts.iter().any(|part| word("artifact", part).is_err()) {
            return fault(format!(
                "artifact {artifact:?} must be `group:artifact:version`"
            ));
        }
    }
    for classifier in spec.classifier.values() {
        word("classifier", classifier)?;
    }
    for target in file.target.keys() {
        let arch = target.arch;
        let pinned = spec.sha256.contains_key(&arch);
        if !path && !pinned {
            return fault(format!(
                "interpreter {kind} has no sha256 for {arch}, which {target} needs"
            ));
        }
        if maven && !spec.classifier.contains_key(&arch) {
            return fault(format!(
                "interpreter {kind} has no classifier for {arch}, which {target} needs"
            ));
        }
        if path && !spec.path.contains_key(&arch) {
            return fault(format!(
                "interpreter {kind} has no path for {arch}, which {target} needs"
            ));
        }
    }
    Ok(())
}

fn index(alias: &str, spec: &IndexSpec) -> Result<(), Fault> {
    let near = format!("[index.{alias}]");
    let fault = |message: String| Err(Fault::new(&[&near], message));
    let plain = alias
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !plain || alias.is_empty() || alias.starts_with('-') || alias.ends_with('-') {
        return fault(format!(
            "index alias {alias:?} must be lower-case letters, digits and `-`"
        ));
    }
    if RESERVED.contains(&alias) {
        return fault(format!(
            "an index cannot be called {alias:?}: that word is taken"
        ));
    }
    match (&spec.url, spec.default) {
        (None, false) => fault(format!("index {alias} needs a url, or `default = true`")),
        (Some(_), true) => fault(format!(
            "index {alias} is the machine's default and has a url: give one of them"
        )),
        (None, true) if spec.kind != IndexKind::Simple => fault(format!(
            "index {alias} is the machine's default, so its kind is \"simple\""
        )),
        (Some(url), _) if url.contains('@') => fault(format!(
            "the url of index {alias} holds a user or password: put them into netrc or the environment"
        )),
        _ => Ok(()),
    }
}

fn torch_floor(target: Target, torch: Option<&str>) -> Result<(), Fault> {
    let Some(torch) = torch else { return Ok(()) };
    let near = [section(target), "torch".to_owned()];
    let fault = |message: String| Fault::new(&[&near[0], &near[1]], message);
    let version =
        Version::from_str(torch).map_err(|_| fault(format!("torch {torch:?} is no version")))?;
    if !version.local().is_empty() {
        return Err(fault(format!(
            "torch {torch:?} has a local version: the accelerator is the target's, give the public version"
        )));
    }
    let Some(toolkit) = toolkit(target.accel) else {
        return Err(fault(format!(
            "no torch is known to be built for {}: known are {}",
            target.accel,
            known_accelerators()
        )));
    };
    let floor = Version::from_str(toolkit.torch).map_err(|e| fault(e.to_string()))?;
    if version < floor {
        return Err(fault(format!(
            "torch {torch} was never built for {}: {} is the first",
            target.accel, toolkit.torch
        )));
    }
    Ok(())
}

fn capabilities(target: Target, list: &[ComputeCapability]) -> Result<(), Fault> {
    let near = [section(target), "cuda_arch".to_owned()];
    let fault = |message: String| Err(Fault::new(&[&near[0], &near[1]], message));
    if !list.is_sorted_by(|a, b| a < b) {
        return fault(format!(
            "cuda_arch of {target} must be ascending, each once"
        ));
    }
    if list.is_empty() {
        return Ok(());
    }
    let Some(toolkit) = toolkit(target.accel) else {
        return fault(format!(
            "the compiler of {} is not known: known are {}",
            target.accel,
            known_accelerators()
        ));
    };
    for capability in list {
        let number = capability.number();
        let emitted = (toolkit.lowest..=toolkit.highest).contains(&number)
            && !toolkit.absent.contains(&number);
        if !emitted {
            return fault(format!(
                "the compiler of {} emits no code for compute capability {capability}",
                target.accel
            ));
        }
    }
    Ok(())
}

fn toolkit(accel: Accelerator) -> Option<&'static Toolkit> {
    TOOLKITS
        .iter()
        .find(|toolkit| toolkit.accel == (accel.major, accel.minor))
}

fn known_accelerators() -> String {
    let names: Vec<String> = TOOLKITS
        .iter()
        .map(|t| format!("cu{}{}", t.accel.0, t.accel.1))
        .collect();
    names.join(", ")
}

fn source(spec: &SourceSpec) -> Result<(), Fault> {
    let fault = |message: &str| Err(Fault::new(&["[source]"], message));
    word("folder", &spec.folder)?;
    let given = [&spec.path, &spec.git, &spec.archive];
    if given.iter().filter(|key| key.is_some()).count() != 1 {
        return fault("[source] needs exactly one of path, git, archive");
    }
    if spec.git.is_some() != spec.rev.is_some() {
        return fault("[source] git and rev go together");
    }
    if [&spec.git, &spec.archive]
        .into_iter()
        .flatten()
        .any(|a| has_login(a))
    {
        return fault(
            "the address of [source] holds a user or password: leave that to git's credential helper, or to netrc",
        );
    }
    if spec.archive.is_some() != spec.sha256.is_some() {
        return fault("[source] archive and sha256 go together");
    }
    if let Some(rev) = &spec.rev
        && (rev.is_empty()
            || rev.starts_with('-')
            || rev
                .bytes()
                .any(|b| b <= b' ' || b"~^:?*[\\\x7f".contains(&b)))
    {
        return fault("[source] rev must be a revision, tag or branch");
    }
    if spec.wheel.is_some() && spec.git.is_none() {
        return fault("[source] wheel is compared with the revision of git");
    }
    Ok(())
}

fn reasons(file: &RecipeFile) -> Result<(), Fault> {
    let given = file
        .waiver
        .iter()
        .map(|w| ("[[waiver]]", &w.reason))
        .chain(
            file.wheel_waiver
                .iter()
                .map(|w| ("[[wheel_waiver]]", &w.reason)),
        )
        .chain(
            file.startup_hook
                .iter()
                .map(|h| ("[[startup_hook]]", &h.reason)),
        );
    for (table, reason) in given {
        if reason.trim().is_empty() {
            return Err(Fault::new(&[table], format!("{table} needs a reason")));
        }
    }
    Ok(())
}
