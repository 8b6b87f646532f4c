//! Lock → what is to be ingested: for each artifact what decides its component, where its bytes may be found, and how it
//! is planned. A component that is in the cache needs neither the artifact nor the network.

use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use super::bytecode::Bytecode;
use super::engine::{Engine, Item, Planner};
use super::error::Cause;
use super::interpreter::{self, InterpreterRequest};
use super::source::{self, SourceRequest};
use super::store::{Ingredients, Stored};
use super::wheel::{self, WheelRequest, WheelWaiver};
use super::{IngestError, Plan};
use crate::base::archive::Zip;
use crate::base::digest::Digest;
use crate::base::fs::Stamp;
use crate::base::python::PythonMinor;
use crate::base::segments::Encoding;
use crate::base::target::Target;
use crate::build::assemble::Without;
use crate::build::fetch::{FetchError, Fetched, Fetcher, Order, Place};
use crate::build::lock::{LockedInterpreter, LockedWheel};
use crate::formats::component::{ComponentKind, Layer};

/// What all artifacts of a bundle have in common.
#[derive(Debug, Clone)]
pub struct Common {
    /// Target.
    pub target: Target,
    /// Python minor version.
    pub python: PythonMinor,
    /// Bytecode policy.
    pub bytecode: Bytecode,
    /// How tar bytes become segments.
    pub encoding: Encoding,
    /// Newest glibc 2.x a wheel may ask for by its tag.
    pub glibc_minor: u16,
    /// Waivers for wheels.
    pub waivers: Vec<WheelWaiver>,
}

/// How an artifact is planned once it is there.
#[derive(Debug, Clone)]
enum Kind {
    Wheel {
        file: String,
        waivers: Vec<WheelWaiver>,
    },
    Interpreter {
        version: String,
        /// Its name for people.
        file: String,
    },
    Source {
        folder: String,
        revision: Option<String>,
    },
}

/// Where an artifact's bytes are.
#[derive(Debug, Clone)]
enum From {
    Order(Order),
    Path(PathBuf),
}

/// One artifact a bundle is made of.
#[derive(Debug, Clone)]
pub struct Input {
    /// What decides its component.
    pub ingredients: Ingredients,
    /// The layer it goes into.
    pub layer: Layer,
    common: Common,
    kind: Kind,
    from: From,
}

/// Why inputs did not become components.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// One could not be fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// One was refused, or could not be written.
    #[error(transparent)]
    Ingest(#[from] IngestError),
}

impl InputError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Fetch(e) => e.hint(),
            Self::Ingest(e) => e.hint(),
        }
    }
}

impl Input {
    /// A wheel of the lock.
    pub fn wheel(locked: &LockedWheel, common: &Common) -> Self {
        let waivers: Vec<_> = common
            .waivers
            .iter()
            .filter(|w| w.sha256 == locked.sha256)
            .cloned()
            .collect();
        let pure = locked.file.ends_with("-none-any.whl");
        let mut options = vec![("glibc".to_owned(), common.glibc_minor.to_string())];
        options.extend(
            waivers
                .iter()
                .map(|w| ("waiver".to_owned(), format!("{} {}", w.code, w.reason))),
        );
        options.sort();
        Self {
            ingredients: Ingredients {
                kind: ComponentKind::Wheel,
                name: locked.name.clone(),
                version: Some(locked.version.clone()),
                file: Some(locked.file.clone()),
                target: (!pure).then_some(common.target),
                options,
                ..common.ingredients(locked.sha256)
            },
            layer: locked.layer,
            common: common.clone(),
            kind: Kind::Wheel {
                file: locked.file.clone(),
                waivers,
            },
            from: From::Order(Order::wheel(locked)),
        }
    }

    /// An interpreter of the lock, which is to be found in one of `places`.
    pub fn interpreter(locked: &LockedInterpreter, places: Vec<Place>, common: &Common) -> Self {
        Self {
            ingredients: Ingredients {
                kind: ComponentKind::Interpreter,
                bytecode: common.bytecode.clone(),
                name: "cpython".to_owned(),
                version: Some(locked.version.clone()),
                target: Some(common.target),
                options: vec![("source".to_owned(), locked.source.name().to_owned())],
                ..common.ingredients(locked.sha256)
            },
            layer: Layer::Base,
            common: common.clone(),
            kind: Kind::Interpreter {
                version: locked.version.clone(),
                file: locked.path.as_ref().unwrap_or(&locked.file).clone(),
            },
            from: From::Order(interpreter_order(locked, places)),
        }
    }

    /// A source folder or fetched archive at `path`; `tree` is the digest of what it holds.
    pub fn source(
        path: PathBuf,
        folder: &str,
        revision: Option<String>,
        tree: Digest,
        common: &Common,
    ) -> Self {
        Self {
            ingredients: Ingredients {
                kind: ComponentKind::Source,
                name: "source".to_owned(),
                version: revision.clone(),
                options: vec![("folder".to_owned(), folder.to_owned())],
                ..common.ingredients(tree)
            },
            layer: Layer::App,
            common: common.clone(),
            kind: Kind::Source {
                folder: folder.to_owned(),
                revision,
            },
            from: From::Path(path),
        }
    }

    /// What messages call it.
    pub fn label(&self) -> String {
        match &self.ingredients.version {
            Some(version) => format!("{} {version}", self.ingredients.name),
            None => self.ingredients.name.clone(),
        }
    }

    /// Alias of the index or interpreter source it comes from.
    pub fn alias(&self) -> Option<String> {
        match self.order()?.places.first()? {
            Place::Index { alias, .. } | Place::Under { alias, .. } => Some(alias.clone()),
            Place::Maven(_) => Some("maven".to_owned()),
            Place::File(_) => Some("path".to_owned()),
            Place::Url(_) => None,
        }
    }

    /// The order that fetches it, unless it is on disk anyway.
    pub fn order(&self) -> Option<&Order> {
        match &self.from {
            From::Order(order) => Some(order),
            From::Path(_) => None,
        }
    }

    fn item(&self, position: usize, fetched: Option<&Fetched>) -> Item {
        let (path, size) = match (fetched, &self.from) {
            (Some(fetched), _) => (fetched.path().to_owned(), fetched.size()),
            (None, From::Path(path)) => (path.clone(), 0),
            (None, From::Order(order)) => (PathBuf::from(&order.file), 0),
        };
        let (input, stamp) = (self.clone(), fetched.and_then(Fetched::stamp));
        let planner: Planner = Box::new(move || {
            let plan = input.plan(&path)?;
            if let Some(stamp) = stamp {
                if Stamp::of(&path)? != Some(stamp) {
                    return Err(format!("{} was changed while it was read", path.display()).into());
                }
                if let Some(archive) = &plan.archive {
                    archive.watch(path.clone(), stamp);
                }
            }
            Ok(plan)
        });
        Item {
            position,
            ingredients: self.ingredients.clone(),
            size,
            planner,
        }
    }

    fn plan(&self, path: &std::path::Path) -> Result<Plan, Cause> {
        let artifact = self.ingredients.artifact;
        match &self.kind {
            Kind::Wheel { file, waivers } => {
                let zip = Arc::new(Zip::open_as(path, file)?);
                Ok(wheel::plan(
                    zip,
                    &WheelRequest {
                        file_name: file,
                        sha256: artifact,
                        python: self.common.python,
                        arch: self.common.target.arch,
                        glibc_minor: self.common.glibc_minor,
                        waivers,
                    },
                )?)
            }
            Kind::Interpreter { version, file } => Ok(interpreter::plan(&InterpreterRequest {
                archive: path,
                file: Some(file),
                artifact: Some(artifact),
                version,
                arch: self.common.target.arch,
            })?),
            Kind::Source { folder, revision } => Ok(source::plan(&SourceRequest {
                from: path,
                artifact: None,
                folder,
                revision: revision.as_deref(),
                site_packages: &self.common.python.site_packages(),
            })?
            .plan),
        }
    }
}

impl Common {
    /// The ingredients every artifact of this bundle shares.
    fn ingredients(&self, artifact: Digest) -> Ingredients {
        Ingredients {
            kind: ComponentKind::Wheel,
            name: String::new(),
            version: None,
            file: None,
            artifact,
            python: self.python.to_string(),
            target: None,
            bytecode: self.bytecode.of_others(),
            without: Vec::new(),
            options: Vec::new(),
            encoding: self.encoding,
        }
    }
}

/// The order for an interpreter archive.
pub fn interpreter_order(locked: &LockedInterpreter, places: Vec<Place>) -> Order {
    Order {
        label: format!(
            "cpython {} ({}, {})",
            locked.version,
            locked.source.name(),
            locked.arch
        ),
        file: locked.file.clone(),
        sha256: locked.sha256,
        size: locked.size,
        places,
    }
}

/// Makes the components of all inputs, in their order: from the cache, else fetched and ingested while others are still
/// on their way.
pub fn ingest(
    inputs: &[Input],
    fetcher: &Fetcher,
    engine: &Engine,
) -> Result<Vec<Stored>, InputError> {
    let mut stored: Vec<Option<Stored>> = Vec::new();
    for input in inputs {
        stored.push(
            engine
                .store
                .get(&input.ingredients.key())
                .map_err(IngestError::from)?,
        );
    }
    let missing: Vec<usize> = (0..inputs.len())
        .filter(|n| stored.get(*n).is_some_and(Option::is_none))
        .collect();
    let inputs_missing: Vec<&Input> = missing.iter().filter_map(|n| inputs.get(*n)).collect();
    let (send, receive) = mpsc::channel();
    let (made, fetch_error) = std::thread::scope(|scope| {
        let feeding = scope.spawn(|| feed(&inputs_missing, fetcher, send));
        let made = engine.run(receive);
        (made, feeding.join().unwrap_or(None))
    });
    if let Some(error) = fetch_error {
        return Err(error);
    }
    for (n, component) in missing.iter().zip(made?) {
        if let Some(slot) = stored.get_mut(*n) {
            *slot = Some(component);
        }
    }
    Ok(stored.into_iter().flatten().collect())
}

/// Sends an item for each input as soon as its bytes are there. A failed fetch stops the engine too.
fn feed(inputs: &[&Input], fetcher: &Fetcher, send: mpsc::Sender<Item>) -> Option<InputError> {
    let mut orders = Vec::new();
    let mut positions = Vec::new();
    for (position, input) in inputs.iter().enumerate() {
        match input.order() {
            Some(order) => {
                orders.push(order.clone());
                positions.push(position);
            }
            None => send.send(input.item(position, None)).ok()?,
        }
    }
    for (number, result) in fetcher.many(orders) {
        let position = *positions.get(number)?;
        let input = inputs.get(position)?;
        match result {
            Ok(fetched) => send.send(input.item(position, Some(&fetched))).ok()?,
            Err(source) => {
                let mut stop = input.item(position, None);
                stop.planner = Box::new(|| Err("a download failed".into()));
                let _ = send.send(stop);
                return Some(source.into());
            }
        }
    }
    None
}

/// Leaves paths out of the inputs whose components are named; the numbers of the inputs that changed.
pub fn leave_out(inputs: &mut [Input], without: &[Without]) -> Vec<usize> {
    let mut changed = Vec::new();
    for (number, input) in inputs.iter_mut().enumerate() {
        let key = input.ingredients.key();
        if let Some(found) = without.iter().find(|w| w.component == key) {
            input
                .ingredients
                .without
                .extend(found.paths.iter().cloned());
            input.ingredients.without.sort();
            input.ingredients.without.dedup();
            changed.push(number);
        }
    }
    changed
}
