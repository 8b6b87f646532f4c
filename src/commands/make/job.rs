//! What a `make` works with: everything the arguments, the recipe and the lock decide, before anything is made.

use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::base::digest::Digest;
use crate::base::fs;
use crate::base::progress::Progress;
use crate::base::segments::{self, Encoding};
use crate::base::target::Arch;
use crate::build::assemble::{LayoutRequest, Merged};
use crate::build::audit::{AuditRequest, Audited};
use crate::build::fetch::Fetcher;
use crate::build::ingest::bytecode::Bytecode;
use crate::build::ingest::choose::{self, Choice};
use crate::build::ingest::engine::Engine;
use crate::build::ingest::inputs::{Common, Input};
use crate::build::ingest::interpreter;
use crate::build::ingest::store::Store;
use crate::build::ingest::wheel::WheelWaiver;
use crate::build::lock::{self, Found, LockedInterpreter};
use crate::build::pack::PackRequest;
use crate::build::recipe::{self, Recipe, Wanted};
use crate::cli::{BytecodeArg, Global, MakeArgs};
use crate::commands::lock::{May, ensure};
use crate::commands::source::{Origin, Search, check_asked};
use crate::commands::{Failure, edge};
use crate::formats::bundle::{BundleFacts, Cuda, CudaArch, FORMAT_VERSION, TargetRecord};
use crate::formats::component::ComponentKind;
use crate::formats::floor::NotDotted;

/// What every bundle is called.
const NAME: &str = "pointcept-runtime";

/// What a `make` works with.
pub struct Job {
    /// The recipe.
    pub recipe: Recipe,
    /// What it wants for the target.
    pub wanted: Wanted,
    /// The lock.
    pub found: Found,
    /// The interpreter that was chosen.
    pub interpreter: LockedInterpreter,
    /// Everything to ingest.
    pub inputs: Vec<Input>,
    /// What all inputs have in common.
    pub common: Common,
    /// Gets artifacts.
    pub fetcher: Fetcher,
    /// Makes components.
    pub engine: Engine,
    version: String,
    source: Option<Origin>,
    out_dir: PathBuf,
    made_in: Vec<String>,
}

impl Job {
    /// Reads recipe and lock, finds the source, chooses the interpreter.
    pub fn new(args: &MakeArgs, global: &Global, progress: &Progress) -> Result<Self, Failure> {
        let out_dir = writable(args)?;
        let dir = edge::working_dir()?;
        if let Some(asked) = &args.source {
            check_asked(asked, &dir)?;
        }
        let recipe = Recipe::find(&args.recipe.recipe, &dir)?;
        let wanted = recipe.wanted(args.target)?;
        let cache = edge::cache_dir(global)?;
        let fetcher = edge::fetcher(global, &args.recipe, &wanted, args.mirror.clone(), progress)?;
        let may = May {
            uv: args.uv.as_deref(),
            resolve: !args.locked,
            write: !args.dry_run,
        };
        let found = ensure(&recipe, &wanted, &dir, &fetcher, may, progress)?;
        let store = Store::new(&cache);
        let folder = recipe.folder().map(ToOwned::to_owned);
        // Before the interpreter: what was typed wrongly is told before anything big is fetched.
        let source = Search {
            asked: args.source.as_deref(),
            recipe: &recipe,
            lock: &found.lock,
            cache: &cache,
            fetcher: &fetcher,
            dir: &dir,
            offline: global.offline,
        }
        .find()?;
        let choice = choose::choose(
            &found.lock,
            args.target.arch,
            args.interpreter.as_deref(),
            folder.as_deref(),
            &|candidate| common(args, &recipe, &wanted, compiler_digest(candidate, &found)),
            &fetcher,
            &store,
            progress,
        )?;
        let Choice {
            locked: interpreter,
            input,
            common,
        } = choice;
        let compiler = choose::compiler(&interpreter, &found.lock).cloned();
        let python = match (compiler, &common.bytecode) {
            (None, Bytecode::UncheckedHash { .. }) => return Err(no_compiler(&interpreter)),
            (None, _) | (_, Bytecode::None) => None,
            (Some(c), _) => Some(choose::python(c, folder, fetcher.clone(), cache.clone())),
        };
        let folder = recipe.folder().map(Path::to_owned);
        let origin = source.as_ref().map(|s| s.path.clone());
        let made_in = work_folders(
            [Some(dir), Some(cache), folder, origin]
                .into_iter()
                .flatten(),
        );
        let mut inputs = vec![input];
        inputs.extend(found.lock.wheels.iter().map(|w| Input::wheel(w, &common)));
        inputs.extend(source.as_ref().map(|s| s.input(&common)));
        let processors = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads = args
            .jobs
            .and_then(|n| NonZeroUsize::new(n.into()))
            .unwrap_or(processors);
        Ok(Self {
            version: args
                .bundle_version
                .clone()
                .unwrap_or_else(|| recipe.keys().version.clone()),
            engine: Engine {
                store,
                threads,
                python,
                progress: progress.clone(),
            },
            out_dir,
            recipe,
            wanted,
            found,
            interpreter,
            inputs,
            common,
            fetcher,
            source,
            made_in,
        })
    }

    /// What the layout is made from.
    pub fn layout_request(&self, merged: &Merged) -> LayoutRequest {
        let is_interpreter =
            |p: &&crate::build::assemble::Placed| p.component.kind == ComponentKind::Interpreter;
        let notes = merged
            .tree()
            .parts()
            .iter()
            .find(is_interpreter)
            .map(|p| p.component.notes.as_slice());
        LayoutRequest {
            bundle_name: NAME.to_owned(),
            bundle_version: self.version.clone(),
            target: self.wanted.target,
            python_minor: self.wanted.python.to_string(),
            source_folder: self.source.as_ref().map(|s| s.folder.clone()),
            openssl_dir: interpreter::openssl_dir(notes.unwrap_or_default()).map(ToOwned::to_owned),
            asked_for: self
                .wanted
                .requirements
                .iter()
                .map(|w| w.name.clone())
                .collect(),
            provenance: self.provenance(),
        }
    }

    /// Enough to make the same bytes again: recipe, lock, and how the segments were made.
    fn provenance(&self) -> Vec<(String, Arc<[u8]>)> {
        let stem = self.recipe.stem();
        let encoding = &self.common.encoding;
        let how = serde_json::json!({
            "format_version": FORMAT_VERSION,
            "target": self.wanted.target,
            "bundle_version": self.version,
            "interpreter": self.interpreter.source.name(),
            "bytecode": self.common.bytecode.policy(),
            "libzstd": segments::libzstd_version(),
            "level": encoding.level,
            "window_log": encoding.window_log,
            "segment_size": encoding.segment_size,
        });
        let how = serde_json::to_string_pretty(&how).unwrap_or_default() + "\n";
        let file = |name: String, text: &str| (name, Arc::from(text.as_bytes()));
        vec![
            file(format!("{stem}.toml"), self.recipe.text()),
            file(lock::file_name(stem, self.wanted.target), &self.found.text),
            file("encoding.json".to_owned(), &how),
        ]
    }

    /// What the audit has to know of the recipe.
    pub fn audit_request(&self) -> Result<AuditRequest, NotDotted> {
        let glibc = self.interpreter.glibc.as_deref();
        let request = AuditRequest::new(self.recipe.keys(), self.wanted.target, glibc)?;
        Ok(AuditRequest {
            python_version: Some(self.interpreter.version.clone()),
            made_in: self.made_in.clone(),
            ..request
        })
    }

    /// What packing is told.
    pub fn pack_request(&self, audited: &Audited) -> PackRequest {
        let target = self.wanted.target;
        let declared: Vec<String> = self
            .wanted
            .cuda_arch
            .iter()
            .map(ToString::to_string)
            .collect();
        let torch = self
            .found
            .lock
            .wheels
            .iter()
            .find(|w| w.name == "torch")
            .map(|w| w.version.clone());
        let cuda = torch.is_some().then(|| Cuda {
            version: format!("{}.{}", target.accel.major, target.accel.minor),
            driver_floor: self.wanted.driver_floor.clone(),
        });
        PackRequest {
            facts: BundleFacts {
                name: NAME.to_owned(),
                version: self.version.clone(),
                target: TargetRecord::from(target),
                python: self.interpreter.version.clone(),
                torch,
                cuda,
                cuda_arch: (!declared.is_empty()).then_some(CudaArch { declared }),
                coverage: audited.report().coverage.clone(),
                floor: audited.report().floor.clone(),
                host_needs: audited.report().host_needs.clone(),
                shims: Vec::new(),
                source: self.source.as_ref().map(Origin::record),
            },
            recipe: Some(self.recipe.digest()),
            lock: Some(Digest::of(self.found.text.as_bytes())),
            encoding: self.common.encoding,
            out_dir: self.out_dir.clone(),
        }
    }
}

/// Folders of this machine that no text of a bundle should name. The home folder and those above it are not among them:
/// documentation names such.
fn work_folders(folders: impl Iterator<Item = PathBuf>) -> Vec<String> {
    let home = edge::home().unwrap_or_default();
    let mut out: Vec<String> = folders
        .filter_map(|folder| std::path::absolute(folder).ok())
        .map(|folder| plain(&folder))
        .filter(|folder| folder.components().count() > 2 && !home.starts_with(folder))
        .filter_map(|folder| folder.to_str().map(str::to_owned))
        .collect();
    out.sort();
    out.dedup();
    out
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

fn compiler_digest(candidate: &LockedInterpreter, found: &Found) -> Option<Digest> {
    choose::compiler(candidate, &found.lock).map(|c| c.sha256)
}

fn common(args: &MakeArgs, recipe: &Recipe, wanted: &Wanted, compiler: Option<Digest>) -> Common {
    let keys = recipe.keys();
    let compiled = match args.bytecode {
        Some(BytecodeArg::None) => false,
        Some(BytecodeArg::UncheckedHash) => true,
        None => keys.bytecode == recipe::Bytecode::UncheckedHash,
    };
    let bytecode = match compiler {
        None if !compiled => Bytecode::None,
        Some(interpreter) if !compiled => Bytecode::StartUp { interpreter },
        // Without an interpreter of this machine's architecture in the lock, `Job::new` stops.
        Some(interpreter) => Bytecode::UncheckedHash { interpreter },
        None => Bytecode::UncheckedHash {
            interpreter: Digest::of(b""),
        },
    };
    let glibc_minor = keys
        .floor
        .glibc
        .rsplit('.')
        .next()
        .and_then(|minor| minor.parse().ok());
    Common {
        target: wanted.target,
        python: wanted.python,
        bytecode,
        encoding: Encoding {
            level: args.level.unwrap_or(keys.encoding.level),
            window_log: keys.encoding.window_log,
            segment_size: keys.encoding.segment_size,
        },
        glibc_minor: glibc_minor.unwrap_or(28),
        waivers: keys
            .wheel_waiver
            .iter()
            .map(|w| WheelWaiver {
                sha256: w.sha256,
                code: w.code.clone(),
                reason: w.reason.clone(),
            })
            .collect(),
    }
}

fn no_compiler(interpreter: &LockedInterpreter) -> Failure {
    Failure {
        error: anyhow::anyhow!(
            "the lock has no {} interpreter {} for {}, which would compile the bytecode on this machine",
            interpreter.source.name(),
            interpreter.version,
            Arch::host()
        ),
        hint: Some(
            "pass --bytecode none, or pin that interpreter in the recipe and lock again".to_owned(),
        ),
    }
}

/// What can be told of the output before any work: where it goes and how its version is written.
fn writable(args: &MakeArgs) -> Result<PathBuf, Failure> {
    let version = args.bundle_version.as_deref();
    if let Some(text) = version.and_then(|v| recipe::not_a_word("--bundle-version", v)) {
        return Err(anyhow::anyhow!(text).into());
    }
    let dir = std::path::absolute(&args.out_dir)?;
    match fs::metadata(&dir)? {
        Some(found) if !found.is_dir() => Err(Failure {
            error: anyhow::anyhow!("{} is no folder", dir.display()),
            hint: Some(
                "give a folder with --out-dir; the file's name is made of recipe and target"
                    .to_owned(),
            ),
        }),
        _ if args.dry_run => Ok(dir),
        _ => {
            let writable = fs::may_write_in(&dir);
            let other = "another folder with --out-dir DIR";
            writable.map_err(|e| Failure {
                hint: e.hint_or(other),
                error: e.into(),
            })?;
            Ok(dir)
        }
    }
}
