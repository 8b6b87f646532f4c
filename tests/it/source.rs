//! Sources: folders, archives and git revisions become one plan; what must not travel stays behind or stops the build.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use bundler::build::ingest::Content;
use bundler::build::ingest::source::git::{GitError, Repository};
use bundler::build::ingest::source::{PlannedSource, SourceError, SourceRequest, plan};

const SITE: &str = "python/lib/python3.12/site-packages";

fn planned(from: &Path) -> Result<PlannedSource, SourceError> {
    plan(&SourceRequest {
        from,
        artifact: None,
        folder: "pointcept",
        revision: Some("abc"),
        site_packages: SITE,
    })
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A small checkout.
fn checkout(root: &Path) {
    write(root, "pointcept/__init__.py", "x = 1\n");
    write(root, "tools/run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(
        root.join("tools/run.sh"),
        std::fs::Permissions::from_mode(0o777),
    )
    .unwrap();
    write(root, "configs/ü a.py", "");
    symlink("../tools/run.sh", root.join("configs/run")).unwrap();
}

fn modes(source: &PlannedSource) -> BTreeMap<&str, u32> {
    source
        .plan
        .entries
        .iter()
        .map(|e| (e.path.as_str(), e.mode))
        .collect()
}

#[test]
fn a_folder_becomes_entries_and_one_relative_line() {
    let dir = tempfile::tempdir().unwrap();
    checkout(dir.path());
    write(dir.path(), ".git/config", "[core]");
    write(
        dir.path(),
        "libs/sub/.git",
        "gitdir: ../../.git/modules/sub",
    );
    write(dir.path(), "libs/sub/code.py", "");
    write(dir.path(), "pointcept/__pycache__/x.pyc", "");
    let source = planned(dir.path()).unwrap();
    let pth = format!("{SITE}/pointcept-source.pth");
    let expected = BTreeMap::from([
        (pth.as_str(), 0o644),
        ("src/pointcept/configs/run", 0o777),
        ("src/pointcept/configs/ü a.py", 0o644),
        ("src/pointcept/libs/sub/code.py", 0o644),
        ("src/pointcept/pointcept/__init__.py", 0o644),
        ("src/pointcept/tools/run.sh", 0o755),
    ]);
    assert_eq!(modes(&source), expected);
    let Content::Bytes(line) = &source.plan.entries[0].content else {
        panic!("{:?}", source.plan.entries[0])
    };
    assert_eq!(&line[..], b"../../../../src/pointcept\n");
    assert_eq!(source.plan.version.as_deref(), Some("abc"));
}

#[test]
fn the_digest_is_of_what_ships_alone() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    checkout(first.path());
    checkout(second.path());
    write(second.path(), ".git/HEAD", "ref");
    std::fs::set_permissions(
        second.path().join("tools/run.sh"),
        std::fs::Permissions::from_mode(0o700),
    )
    .unwrap();
    let tree = |dir: &Path| planned(dir).unwrap().tree;
    assert_eq!(tree(first.path()), tree(second.path()));
    write(second.path(), "pointcept/__init__.py", "x = 2\n");
    assert_ne!(tree(first.path()), tree(second.path()));
}

#[test]
fn an_archive_of_a_revision_gives_the_same_tree() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("Pointcept-abc");
    checkout(&root);
    let tree = planned(&root).unwrap().tree;
    for (name, program) in [
        ("a.tar", &["tar", "-cf"][..]),
        ("a.tar.gz", &["tar", "-czf"]),
        ("a.tar.zst", &["tar", "--zstd", "-cf"]),
    ] {
        let status = Command::new(program[0])
            .args(&program[1..])
            .arg(name)
            .arg("Pointcept-abc")
            .current_dir(dir.path())
            .status();
        assert!(status.unwrap().success());
        assert_eq!(
            planned(&dir.path().join(name)).unwrap().tree,
            tree,
            "{name}"
        );
    }
    std::fs::remove_file(root.join("configs/run")).unwrap();
    let tree = planned(&root).unwrap().tree;
    let mut zip = zip::ZipWriter::new(std::fs::File::create(dir.path().join("a.zip")).unwrap());
    for (path, mode) in [
        ("pointcept/__init__.py", 0o644),
        ("tools/run.sh", 0o755),
        ("configs/ü a.py", 0o644),
    ] {
        let options = zip::write::SimpleFileOptions::default().unix_permissions(mode);
        zip.start_file(format!("Pointcept-abc/{path}"), options)
            .unwrap();
        std::io::Write::write_all(&mut zip, &std::fs::read(root.join(path)).unwrap()).unwrap();
    }
    zip.finish().unwrap();
    let from_zip = planned(&dir.path().join("a.zip")).unwrap();
    assert_eq!(from_zip.tree, tree);
    assert!(from_zip.plan.archive.is_some());
}

#[test]
fn links_that_leave_weights_and_nothing_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("a");
    std::fs::create_dir(&root).unwrap();
    assert!(matches!(planned(&root), Err(SourceError::Empty(_))));
    checkout(&root);
    symlink("/data/scannet", root.join("data")).unwrap();
    assert!(matches!(planned(&root), Err(SourceError::Folder(_))));
    std::fs::remove_file(root.join("data")).unwrap();
    let weights = std::fs::File::create_new(root.join("model_best.pth")).unwrap();
    weights.set_len(2 << 20).unwrap();
    let error = planned(&root).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the source holds model_best.pth, 2097152 bytes, which look like weights: a bundle never has any"
    );
    assert!(error.hint().is_some());
    for folder in ["", "..", ".x", "a/b", "a b"] {
        let request = SourceRequest {
            from: &root,
            artifact: None,
            folder,
            revision: None,
            site_packages: SITE,
        };
        assert!(
            matches!(plan(&request), Err(SourceError::Name(_))),
            "{folder}"
        );
    }
    assert!(planned(&dir.path().join("gone")).is_err());
}

fn git(dir: &Path, args: &[&str]) -> String {
    let out = Command::new("git")
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
            "-c",
            "protocol.file.allow=always",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(args)
        .current_dir(dir)
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

/// A repository with a submodule, two commits and a tag; gives both revisions.
fn repositories(dir: &Path) -> (String, [String; 2]) {
    let sub = dir.join("sub");
    write(&sub, "inner.py", "y = 1\n");
    git(&sub, &["init", "-q"]);
    git(&sub, &["add", "."]);
    git(&sub, &["commit", "-qm", "one"]);
    let top = dir.join("top");
    checkout(&top);
    git(&top, &["init", "-q"]);
    git(&top, &["submodule", "--quiet", "add", "../sub", "libs/sub"]);
    git(&top, &["add", "."]);
    git(&top, &["commit", "-qm", "one"]);
    git(&top, &["tag", "-a", "v1", "-m", "v1"]);
    let first = git(&top, &["rev-parse", "HEAD"]);
    write(&top, "pointcept/__init__.py", "x = 2\n");
    git(&top, &["commit", "-qam", "two"]);
    let second = git(&top, &["rev-parse", "HEAD"]);
    (format!("file://{}", top.display()), [first, second])
}

fn environment() -> Vec<(OsString, OsString)> {
    let path = std::env::var_os("PATH").unwrap();
    // A hook of git's own environment that would lead it elsewhere.
    vec![
        ("PATH".into(), path),
        ("GIT_DIR".into(), "/nowhere".into()),
        ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()),
    ]
}

#[test]
fn exactly_the_revision_asked_for_is_checked_out_with_submodules() {
    let dir = tempfile::tempdir().unwrap();
    let (url, [first, second]) = repositories(dir.path());
    let cache = dir.path().join("cache");
    let environment = environment();
    let repository = Repository {
        url: &url,
        program: OsStr::new("git"),
        environment: &environment,
    };
    assert_eq!(repository.resolve(Some("v1"), false).unwrap(), first);
    assert_eq!(repository.resolve(Some("main"), false).unwrap(), second);
    assert_eq!(repository.resolve(None, false).unwrap(), second);
    assert!(matches!(
        repository.resolve(Some("v2"), false),
        Err(GitError::NoSuchName { .. })
    ));

    assert!(matches!(
        repository.checkout(&first, &cache, true),
        Err(GitError::Offline { .. })
    ));
    let old = repository.checkout(&first, &cache, false).unwrap();
    let read = |path: &Path, name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(read(&old.path, "pointcept/__init__.py"), "x = 1\n");
    assert_eq!(read(&old.path, "libs/sub/inner.py"), "y = 1\n");
    assert!(!old.path.join(".git").exists() && !old.path.join("libs/sub/.git").exists());
    assert_eq!(planned(&old.path).unwrap().tree, old.tree);
    let new = repository.checkout(&second, &cache, false).unwrap();
    assert_eq!(read(&new.path, "pointcept/__init__.py"), "x = 2\n");

    // Offline it comes from the cache, and only if nobody changed it there.
    assert_eq!(repository.checkout(&first, &cache, true).unwrap(), old);
    write(&old.path, "pointcept/__init__.py", "x = 3\n");
    assert!(matches!(
        repository.checkout(&first, &cache, true),
        Err(GitError::Offline { .. })
    ));
    assert_eq!(repository.checkout(&first, &cache, false).unwrap(), old);
    assert_eq!(read(&old.path, "pointcept/__init__.py"), "x = 1\n");
}

#[test]
fn a_repository_that_cannot_be_had_is_one_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let (url, [first, _]) = repositories(dir.path());
    let cache = dir.path().join("cache");
    let environment = environment();
    let at = |url: &str, program: &str, revision: &str| {
        Repository {
            url,
            program: OsStr::new(program),
            environment: &environment,
        }
        .checkout(revision, &cache, false)
        .unwrap_err()
    };
    let missing = "0".repeat(40);
    for error in [
        at(&url, "git", &missing),
        at("file:///nowhere/x", "git", &first),
    ] {
        assert!(
            matches!(error, GitError::Failed { .. }) && !error.to_string().contains('\n'),
            "{error}"
        );
    }
    let error = at(&url, "/no/such/git", &first);
    assert!(matches!(error, GitError::Start { .. }) && error.hint().is_some());
    assert!(matches!(
        at(&url, "git", &first[..8]),
        GitError::Revision(_)
    ));
    assert_eq!(
        std::fs::read_dir(&cache).map_or(0, Iterator::count),
        0,
        "nothing half-made stays"
    );
}

#[test]
fn no_hook_filter_or_program_of_a_repository_is_run() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("top");
    write(&top, ".gitattributes", "* filter=evil\n");
    write(&top, "a.py", "");
    git(&top, &["init", "-q"]);
    git(&top, &["add", "."]);
    git(&top, &["commit", "-qm", "one"]);
    let revision = git(&top, &["rev-parse", "HEAD"]);
    let mark = dir.path().join("mark");
    let global = dir.path().join("gitconfig");
    let hooks = dir.path().join("hooks");
    write(
        &hooks,
        "post-checkout",
        &format!("#!/bin/sh\ntouch '{}'\n", mark.display()),
    );
    std::fs::set_permissions(
        hooks.join("post-checkout"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    std::fs::write(
        &global,
        format!("[core]\nhooksPath = {}\n", hooks.display()),
    )
    .unwrap();
    let mut environment = environment();
    environment.push(("GIT_CONFIG_GLOBAL".into(), global.into()));
    let url = format!("file://{}", top.display());
    let repository = Repository {
        url: &url,
        program: OsStr::new("git"),
        environment: &environment,
    };
    repository
        .checkout(&revision, &dir.path().join("cache"), false)
        .unwrap();
    assert!(!mark.exists());
}
