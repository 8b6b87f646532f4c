//! The stage of the default recipe: the servers it meets, in small. The release page of the interpreters and the wheelhouse's
//! redirect to signed addresses of another server, which refuses credentials; the PyTorch index is HTML with local versions,
//! digests in fragments and files without; a default index has higher versions of what must come from elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use bundler::base::digest::Digest;
use bundler::build::recipe;

use super::interpreters;
use super::world::Wheel;
use crate::fault_server::{Asked, FaultServer, Reply};

/// Where the fork's releases are.
const RELEASES: &str = "cvprun/Pointcept/releases";
const ASSETS: &str = "cvprun/Pointcept/releases/expanded_assets";
const DOWNLOADS: &str = "cvprun/Pointcept/releases/download";

pub const TARGETS: [&str; 6] = [
    "amd64-cu126",
    "amd64-cu128",
    "amd64-cu130",
    "arm64-cu126",
    "arm64-cu128",
    "arm64-cu130",
];

const NATIVE: [&str; 10] = [
    "torch-scatter",
    "torch-sparse",
    "torch-cluster",
    "flash-attn",
    "swin3d",
    "pointops",
    "pointops2",
    "pointgroup-ops",
    "pointseg",
    "pointrope",
];

const PURE: [&str; 20] = [
    "addict",
    "einops",
    "timm",
    "packaging",
    "peft",
    "scipy",
    "transformers",
    "wandb",
    "yapf",
    "h5py",
    "plyfile",
    "tensorboardx",
    "termcolor",
    "mlflow",
    "pyyaml",
    "pillow",
    "pandas",
    "certifi",
    "open3d",
    "numpy",
];

/// Every wheel the servers have, by the path it is served at.
fn wheels(revision: &str) -> BTreeMap<String, Wheel> {
    let any = "py3-none-any";
    let mut out = BTreeMap::new();
    let mut add = |folder: &str, wheel: Wheel| {
        out.insert(format!("{folder}/{}", wheel.file), wheel);
    };
    for name in PURE {
        add("pypi", Wheel::new(name, "1.0", any, &[]));
    }
    // What must not be taken: the same names, higher, elsewhere.
    for name in ["pointops", "torch", "spconv-cu130", "pccm"] {
        add("pypi", Wheel::new(name, "99.0", any, &[]));
    }
    for (release, version) in [("12", "12.6.77"), ("12", "12.8.90"), ("13", "13.0.96")] {
        let name = if release == "12" {
            "nvidia-cuda-runtime-cu12"
        } else {
            "nvidia-cuda-runtime"
        };
        add("pypi", Wheel::new(name, version, any, &[]));
    }
    for target in TARGETS {
        let (arch, accel) = target.split_once('-').unwrap();
        let machine = if arch == "amd64" { "x86_64" } else { "aarch64" };
        let native = format!("cp312-cp312-manylinux_2_28_{machine}");
        let runtime = match accel {
            "cu126" => "nvidia-cuda-runtime-cu12==12.6.77",
            "cu128" => "nvidia-cuda-runtime-cu12==12.8.90",
            _ => "nvidia-cuda-runtime==13.0.96",
        };
        let torch = format!("pytorch/{accel}");
        add(
            &torch,
            Wheel::new("torch", &format!("2.9.1+{accel}"), &native, &[runtime]),
        );
        let needs = format!("torch==2.9.1+{accel}");
        add(
            &torch,
            Wheel::new(
                "torchvision",
                &format!("0.24.1+{accel}"),
                &native,
                &[&needs, "pillow", "numpy"],
            ),
        );
        let house = format!("{DOWNLOADS}/{}", tag(target));
        let spconv = format!("cumm-{accel}");
        add(
            &house,
            Wheel::new(
                &format!("spconv-{accel}"),
                "2.3.8",
                &native,
                &[&spconv, "pccm>=0.4"],
            ),
        );
        add(
            &house,
            Wheel::new(&spconv, "0.8.2", &native, &["pccm>=0.4"]),
        );
        for name in NATIVE {
            let plain = format!("cp312-cp312-linux_{machine}");
            add(&house, Wheel::new(name, "1.0", &plain, &["torch"]));
        }
        for (name, version) in [
            ("pccm", "0.4.16"),
            ("ocnn", "2.3"),
            ("torch-geometric", "2.7.0"),
        ] {
            add(&house, Wheel::new(name, version, any, &[]));
        }
        let own = format!("1.7.0.post1+g{}", &revision[..9]);
        add(&house, Wheel::new("pointcept", &own, any, &[]));
    }
    out
}

/// The tag of a target's wheelhouse.
fn tag(target: &str) -> String {
    format!("v1.7.0-linux-{target}-torch2.9.1-cp312")
}

/// "me:geheim" in base64.
const BASIC: &str = "Basic bWU6Z2VoZWlt";

/// What the server of pages and releases answers; files of releases are redirected to `store`.
fn answer(asked: &Asked, files: &BTreeMap<String, Wheel>, store: &str) -> Reply {
    let path = asked.target.trim_matches('/');
    let private = path.starts_with(RELEASES);
    if private && asked.header("authorization") != Some(BASIC) {
        return Reply::status(401).with("www-authenticate", "Basic realm=\"wheels\"");
    }
    if let Some(tag) = path.strip_prefix(ASSETS) {
        return assets(tag.trim_matches('/'), files);
    }
    let decoded = path.replace("%2B", "+");
    if files.contains_key(&decoded) && (private || path.starts_with("pbs/")) {
        return Reply::redirect(&format!("{store}/{path}?signature=s3cret%2Fx"));
    }
    if let Some(file) = files.get(&decoded) {
        return Reply::file(asked, &file.bytes, "\"1\"");
    }
    match path.rsplit_once('/') {
        Some((index, project)) => simple(index, project, files),
        None => Reply::status(404),
    }
}

/// What the server of signed addresses answers: nothing to a request with credentials.
fn signed(asked: &Asked, files: &BTreeMap<String, Wheel>) -> Reply {
    let (path, query) = asked.target.split_once('?').unwrap_or_default();
    let allowed = query == "signature=s3cret%2Fx" && asked.header("authorization").is_none();
    match files.get(&path.trim_matches('/').replace("%2B", "+")) {
        Some(file) if allowed => Reply::file(asked, &file.bytes, "\"1\""),
        _ => Reply::status(403),
    }
}

fn in_folder<'f>(folder: &str, files: &'f BTreeMap<String, Wheel>) -> Vec<&'f Wheel> {
    let begin = format!("{folder}/");
    let inside = |at: &str| {
        at.strip_prefix(&begin)
            .is_some_and(|rest| !rest.contains('/'))
    };
    let found = files.iter().filter(|(at, _)| inside(at));
    found.map(|(_, wheel)| wheel).collect()
}

/// The list of a release's assets: a piece of HTML with relative links, names percent-encoded, no digests.
fn assets(tag: &str, files: &BTreeMap<String, Wheel>) -> Reply {
    let wheels = in_folder(&format!("{DOWNLOADS}/{tag}"), files);
    if wheels.is_empty() {
        return Reply::status(404);
    }
    let mut html = String::from("<div>\n");
    for wheel in wheels {
        let name = wheel.file.replace('+', "%2B");
        let _ = writeln!(html, "<a href=\"/{DOWNLOADS}/{tag}/{name}\">x</a>");
    }
    Reply::html(html)
}

/// A page of a simple index in HTML. The PyTorch index gives no digest for some files.
fn simple(index: &str, project: &str, files: &BTreeMap<String, Wheel>) -> Reply {
    let mut html = String::from("<!DOCTYPE html>\n");
    let begin = format!("{}-", project.replace('-', "_"));
    let empty = html.len();
    for wheel in in_folder(index, files) {
        if !wheel.file.starts_with(&begin) {
            continue;
        }
        let at = format!("/{index}/{}", wheel.file.replace('+', "%2B"));
        let fragment = if wheel.file.starts_with("torchvision") {
            String::new()
        } else {
            format!("#sha256={}", Digest::of(&wheel.bytes))
        };
        let _ = writeln!(html, "<a href=\"{at}{fragment}\">{}</a>", wheel.file);
    }
    if html.len() == empty {
        Reply::status(404)
    } else {
        Reply::html(html)
    }
}

/// What a command gave.
pub struct Typed {
    pub out: String,
    pub err: String,
    pub code: i32,
}

/// A folder, the servers, a repository.
pub struct Stage {
    pub dir: tempfile::TempDir,
    pub pages: FaultServer,
    pub store: FaultServer,
    /// The only commit of the repository.
    pub revision: String,
}

impl Stage {
    /// Servers whose wheelhouses were made of `made_of`, or of the repository's commit.
    pub fn new(made_of: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let revision = repository(&dir.path().join("repository"));
        let mut files = wheels(made_of.unwrap_or(&revision));
        for (name, bytes) in interpreters::archives(dir.path()) {
            let archive = Wheel { file: name, bytes };
            files.insert(format!("pbs/20260814/{}", archive.file), archive);
        }
        let files = Arc::new(files);
        let kept = Arc::clone(&files);
        let store = FaultServer::start(move |asked| signed(asked, &kept));
        let to = store.url("");
        let pages = FaultServer::start(move |asked| answer(asked, &files, &to));
        Self {
            dir,
            pages,
            store,
            revision,
        }
    }

    /// Writes `recipes/pointcept.toml`: the default recipe with the interpreters and the revision of this stage.
    pub fn pin(&self) -> String {
        let default = recipe::embedded_text("pointcept.toml").unwrap();
        let mut text = String::new();
        for line in default.lines() {
            let begin = line.split_once(" = ").map_or(line, |(key, _)| key);
            let value = match begin {
                "sha256.amd64" => self.interpreter("x86_64"),
                "sha256.arm64" => self.interpreter("aarch64"),
                "rev" => self.revision.clone(),
                _ => {
                    text.extend([line, "\n"]);
                    continue;
                }
            };
            let _ = writeln!(text, "{begin} = {value:?}");
        }
        std::fs::create_dir(self.dir.path().join("recipes")).unwrap();
        std::fs::write(self.dir.path().join("recipes/pointcept.toml"), &text).unwrap();
        text
    }

    fn interpreter(&self, machine: &str) -> String {
        let name = interpreters::name(machine);
        Digest::of(&std::fs::read(self.dir.path().join(name)).unwrap()).to_string()
    }

    /// Types `bundler` and these words in the folder. Where the indexes are is said by variables alone.
    pub fn types(&self, words: &[&str]) -> Typed {
        self.runs(&[&[env!("CARGO_BIN_EXE_bundler")], words].concat())
    }

    /// The same where there is no network at all: by the system, where it allows that.
    pub fn types_alone(&self, words: &[&str]) -> Typed {
        let without = ["unshare", "-rn"];
        let may = Command::new(without[0]).args([without[1], "true"]).output();
        let prefix = if may.is_ok_and(|o| o.status.success()) {
            &without[..]
        } else {
            &[]
        };
        self.runs(&[prefix, &[env!("CARGO_BIN_EXE_bundler")], words].concat())
    }

    /// [`Stage::types`] with a folder for temporary files that cannot take any.
    pub fn types_without_tmp(&self, words: &[&str]) -> Typed {
        let tmp = "TMPDIR=/dev/full/none";
        self.runs(&[&["env", tmp, env!("CARGO_BIN_EXE_bundler")], words].concat())
    }

    fn runs(&self, words: &[&str]) -> Typed {
        let dir = self.dir.path();
        let releases = self.pages.url(&format!(
            "/{ASSETS}/v{{version}}-linux-{{arch}}-{{accel}}-torch{{torch}}-cp{{cp}}"
        ));
        let output = Command::new(words[0])
            .current_dir(dir)
            .args(&words[1..])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", dir)
            .env("POINTCEPT_BUNDLER_DEFAULT_INDEX", self.pages.url("/pypi"))
            .env(
                "POINTCEPT_BUNDLER_INDEX_PYTORCH",
                self.pages.url("/pytorch/{accel}"),
            )
            .env(
                "POINTCEPT_BUNDLER_INDEX_WHEELHOUSE",
                releases.replacen("http://", "http://me:geheim@", 1),
            )
            .env("POINTCEPT_BUNDLER_INDEX_PBS", self.pages.url("/pbs"))
            .env("POINTCEPT_BUNDLER_INDEX_SOURCE", dir.join("repository"))
            .output()
            .unwrap();
        Typed {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

/// A repository with one commit, tagged as releases are; its revision.
fn repository(dir: &Path) -> String {
    std::fs::create_dir(dir).unwrap();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.org",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(args)
            .current_dir(dir)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q"]);
    std::fs::write(dir.join("setup.py"), "").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    git(&["tag", "-a", "-m", "release", "v1.7.0"]);
    git(&["rev-parse", "HEAD"])
}
