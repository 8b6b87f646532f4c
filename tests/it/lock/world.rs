//! Index servers of one test: a default index, an accelerator's index, a wheelhouse page, with small wheels made on the spot.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bundler::base::digest::Digest;

use crate::fault_server::{FaultServer, Reply};

/// A wheel of one module, with its digest.
#[derive(Clone)]
pub struct Wheel {
    pub file: String,
    pub bytes: Vec<u8>,
}

impl Wheel {
    /// `name-version-tags.whl` that needs `requires`. Names and versions as they stand in METADATA.
    pub fn new(name: &str, version: &str, tags: &str, requires: &[&str]) -> Self {
        Self::with(name, version, tags, requires, &[])
    }

    /// The same with further files.
    pub fn with(
        name: &str,
        version: &str,
        tags: &str,
        requires: &[&str],
        more: &[(&str, &[u8])],
    ) -> Self {
        let stem = format!("{}-{version}", name.replace('-', "_"));
        let mut metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        for requirement in requires {
            let _ = writeln!(metadata, "Requires-Dist: {requirement}");
        }
        let files = [
            (
                format!("{}.py", name.replace('-', "_")),
                format!("name = {name:?}\n"),
            ),
            (format!("{stem}.dist-info/METADATA"), metadata),
            (
                format!("{stem}.dist-info/WHEEL"),
                format!(
                    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tags}\n"
                ),
            ),
        ];
        let mut record = String::new();
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        let texts = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_bytes()));
        for (path, bytes) in texts.chain(more.iter().copied()) {
            zip.start_file(path, options).unwrap();
            zip.write_all(bytes).unwrap();
            let digest = Digest::of(bytes).record_form();
            let _ = writeln!(record, "{path},sha256={digest},{}", bytes.len());
        }
        let path = format!("{stem}.dist-info/RECORD");
        let _ = writeln!(record, "{path},,");
        zip.start_file(path, options).unwrap();
        zip.write_all(record.as_bytes()).unwrap();
        Self {
            file: format!("{stem}-{tags}.whl"),
            bytes: zip.finish().unwrap().into_inner(),
        }
    }
}

/// How an index page speaks of its files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// PEP 691 JSON with digests and sizes.
    Json,
    /// HTML with digests in fragments.
    Html,
    /// HTML that gives no digest.
    Bare,
}

/// One index: its page form and its files.
pub struct Index {
    pub page: Page,
    /// The whole index is one page.
    pub flat: bool,
    pub files: Vec<Wheel>,
    /// Source archives, by file name.
    pub sdists: Vec<String>,
}

/// Serves indexes at `/<name>/…`.
pub fn serve(indexes: BTreeMap<&'static str, Index>) -> FaultServer {
    FaultServer::start(move |asked| {
        let path = asked.target.split(['?', '#']).next().unwrap_or_default();
        let mut parts = path.trim_matches('/').splitn(3, '/');
        let (Some(name), what, file) = (parts.next(), parts.next(), parts.next()) else {
            return Reply::status(404);
        };
        let Some(index) = indexes.get(name) else {
            return Reply::status(404);
        };
        match (what, file) {
            (Some("files"), Some(file)) => {
                let wanted = file.replace("%2B", "+");
                match index.files.iter().find(|w| w.file == wanted) {
                    Some(wheel) => Reply::file(asked, &wheel.bytes, "\"1\""),
                    None => Reply::status(404),
                }
            }
            (Some(project), None) if !index.flat => page(name, index, Some(project)),
            (None, None) if index.flat => page(name, index, None),
            _ => Reply::status(404),
        }
    })
}

fn page(name: &str, index: &Index, project: Option<&str>) -> Reply {
    let of = |file: &str| {
        file.split('-')
            .next()
            .unwrap_or_default()
            .replace(['_', '.'], "-")
            .to_lowercase()
    };
    let fits = |file: &str| project.is_none_or(|p| of(file) == p);
    let wheels: Vec<&Wheel> = index.files.iter().filter(|w| fits(&w.file)).collect();
    let sdists: Vec<&String> = index.sdists.iter().filter(|f| fits(f)).collect();
    if wheels.is_empty() && sdists.is_empty() {
        return Reply::status(404);
    }
    let link = |file: &str| format!("/{name}/files/{}", file.replace('+', "%2B"));
    if index.page == Page::Json {
        let mut files: Vec<serde_json::Value> = wheels
            .iter()
            .map(|w| {
                serde_json::json!({
                    "filename": w.file, "url": link(&w.file), "size": w.bytes.len(),
                    "hashes": { "sha256": Digest::of(&w.bytes).to_string() },
                    "upload-time": "2026-01-01T00:00:00Z",
                })
            })
            .collect();
        files.extend(sdists.iter().map(
            |f| serde_json::json!({ "filename": f, "url": link(f), "hashes": {}, "size": 1 }),
        ));
        let body = serde_json::json!({
            "meta": { "api-version": "1.1" }, "name": project, "versions": [], "files": files,
        });
        return Reply::ok(body.to_string())
            .with("content-type", "application/vnd.pypi.simple.v1+json");
    }
    let mut html = String::from("<!DOCTYPE html><html><body>\n");
    for wheel in wheels {
        let fragment = match index.page {
            Page::Html => format!("#sha256={}", Digest::of(&wheel.bytes)),
            _ => String::new(),
        };
        let _ = writeln!(
            html,
            "<a href=\"{}{fragment}\">{}</a><br>",
            link(&wheel.file),
            wheel.file
        );
    }
    Reply::html(html)
}

/// A working folder with one recipe, `small`.
pub struct Place {
    pub dir: tempfile::TempDir,
}

impl Place {
    pub fn new(recipe: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("recipes")).unwrap();
        let place = Self { dir };
        place.write_recipe(recipe);
        place
    }

    pub fn write_recipe(&self, recipe: &str) {
        std::fs::write(self.dir.path().join("recipes/small.toml"), recipe).unwrap();
    }

    pub fn lock(&self, target: &str) -> PathBuf {
        self.dir
            .path()
            .join(format!("recipes/small.{target}.lock.toml"))
    }

    pub fn lock_text(&self, target: &str) -> String {
        std::fs::read_to_string(self.lock(target)).unwrap()
    }

    /// `bundler lock --recipe small …`; standard output, standard error, exit code.
    pub fn run(&self, default_index: &str, args: &[&str]) -> (String, String, i32) {
        run_in(self.dir.path(), default_index, args)
    }
}

fn run_in(dir: &Path, default_index: &str, args: &[&str]) -> (String, String, i32) {
    let output = assert_cmd::Command::cargo_bin("bundler")
        .unwrap()
        .current_dir(dir)
        .args([
            "lock",
            "--recipe",
            "small",
            "--default-index",
            default_index,
        ])
        .args(args)
        .env("HOME", dir)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("UV_CACHE_DIR", dir.join("uv-cache"))
        .env("UV_INDEX_STRATEGY", "unsafe-best-match")
        .env_remove("UV_DEFAULT_INDEX")
        .env_remove("UV")
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    (
        String::from_utf8_lossy(&output.stdout).replace(&dir.display().to_string(), "[DIR]"),
        String::from_utf8_lossy(&output.stderr).replace(&dir.display().to_string(), "[DIR]"),
        output.status.code().unwrap_or(-1),
    )
}
