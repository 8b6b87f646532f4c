//! env.sh and the launchers in every shell at hand, under hostile paths and environments (promises P27–P29). The tree holds
//! a stand-in for Python that shows how it was started.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bundler::build::ingest::layout::{LayoutValues, render};
use bundler::build::ingest::{Content, PlannedEntry};

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const LIBS: [&str; 2] = [
    "python/lib/python3.12/site-packages/nvidia/cu13/lib",
    "python/lib/it's/lib",
];

fn values() -> LayoutValues {
    LayoutValues {
        bundle_name: "pointcept-runtime".to_owned(),
        bundle_version: "1".to_owned(),
        target: "amd64-cu130".to_owned(),
        python_minor: "3.12".to_owned(),
        nvidia_library_dirs: LIBS.map(str::to_owned).to_vec(),
        ..LayoutValues::default()
    }
}

fn put(root: &Path, path: &str, bytes: &[u8], mode: u32) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A tree as extracted, at `root`.
fn tree(root: &Path) {
    tree_with(root, &values());
}

fn tree_with(root: &Path, values: &LayoutValues) {
    for PlannedEntry {
        path,
        mode,
        content,
        ..
    } in render(values).unwrap()
    {
        let Content::Bytes(bytes) = content else {
            panic!("{path}")
        };
        put(root, &path, &bytes, mode);
    }
    let shows = "#!/bin/sh\nprintf 'arg=%s\\n' \"$@\"\nenv\n";
    put(root, "python/bin/python3.12", shows.as_bytes(), 0o755);
    put(root, ".layers/abc.json", b"{}\n", 0o644);
    put(
        root,
        ".complete",
        b"bundle 1\nentries 3\nfiles 00\nlayer abc\n",
        0o644,
    );
}

/// Every shell of this machine; the missing ones are told.
fn shells() -> Vec<Vec<&'static str>> {
    let known: [&[&str]; 10] = [
        &["sh"],
        &["dash"],
        &["bash"],
        &["bash", "--posix"],
        &["zsh", "-f"],
        &["zsh", "--emulate", "sh", "-f"],
        &["ksh"],
        &["mksh"],
        &["yash"],
        &["busybox", "sh"],
    ];
    let here = |name: &str| {
        PATH.split(':')
            .any(|folder| Path::new(folder).join(name).exists())
    };
    let (found, missing): (Vec<&&[&str]>, Vec<&&[&str]>) =
        known.iter().partition(|shell| here(shell[0]));
    for shell in missing {
        println!("missing: {}", shell.join(" "));
    }
    let found: Vec<Vec<&str>> = found.into_iter().map(|shell| shell.to_vec()).collect();
    assert!(found.len() >= 2, "at least sh and bash are needed");
    found
}

struct Run<'a> {
    shell: &'a [&'a str],
    script: &'a str,
    args: Vec<&'a Path>,
    env: Vec<(&'a str, String)>,
    cwd: Option<&'a Path>,
}

impl Run<'_> {
    fn output(&self) -> Output {
        let mut command = Command::new(self.shell[0]);
        command
            .args(&self.shell[1..])
            .arg("-c")
            .arg(self.script)
            .arg("probe")
            .args(&self.args);
        command.env_clear().env("PATH", PATH);
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        command
            .current_dir(self.cwd.unwrap_or(Path::new("/")))
            .output()
            .unwrap()
    }

    #[track_caller]
    fn lines(&self) -> Vec<String> {
        let out = self.output();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let error = String::from_utf8_lossy(&out.stderr);
        assert!(
            out.status.success() && error.is_empty(),
            "{:?} {}\n{text}{error}",
            self.shell,
            self.script
        );
        text.lines().map(str::to_owned).collect()
    }

    #[track_caller]
    fn variables(&self) -> BTreeMap<String, String> {
        self.lines()
            .iter()
            .filter_map(|l| l.split_once('='))
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect()
    }
}

fn run<'a>(shell: &'a [&'a str], script: &'a str, root: &'a Path) -> Run<'a> {
    Run {
        shell,
        script,
        args: vec![root],
        env: Vec::new(),
        cwd: None,
    }
}

/// Sources twice under `set -eu` and shows the environment.
const TWICE: &str = r#"set -eu; . "$1/env.sh"; . "$1/env.sh"; env"#;

/// Folder names that break scripts which do not quote.
fn hostile(dir: &Path) -> Vec<PathBuf> {
    let long = format!("{}/{}", "x".repeat(200), "y z".repeat(60));
    [
        "plain",
        "a b",
        "it's \"q\"",
        "ü é",
        "$(touch pwned)`id`",
        "-n",
        "*?[a]",
        "semi;amp&",
        "back\\slash",
        "a:b",
        "a$ORIGIN",
        &long,
    ]
    .map(|name| dir.join(name).join("runtime"))
    .to_vec()
}

#[test]
fn env_sh_works_in_every_shell_under_every_path() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    for root in hostile(&base) {
        tree(&root);
        let shown = root.to_str().unwrap();
        for shell in shells() {
            let vars = run(&shell, TWICE, &root).variables();
            let context = format!("{shell:?} {shown}");
            assert_eq!(vars["POINTCEPT_RUNTIME"], shown, "{context}");
            if shown.contains([':', ';']) || shown.contains("$ORIGIN") {
                assert!(!vars.contains_key("LD_LIBRARY_PATH"), "{context}");
            } else {
                let libs = LIBS.map(|l| format!("{shown}/{l}")).join(":");
                assert_eq!(vars["LD_LIBRARY_PATH"], libs, "{context}");
            }
            if !shown.contains(':') {
                assert_eq!(
                    vars["PATH"],
                    format!("{shown}/bin:{shown}/python/bin:{PATH}"),
                    "{context}"
                );
            }
            assert_eq!(vars["PYTHONNOUSERSITE"], "1");
            assert_eq!(vars["PYTHONDONTWRITEBYTECODE"], "1");
            let lines = run(&shell, r#"set -eu; . "$1/env.sh"; set"#, &root).lines();
            let leaked: Vec<&String> = lines
                .iter()
                .filter(|l| l.starts_with("_pointcept"))
                .collect();
            assert!(leaked.is_empty(), "{context}: {leaked:?}");
        }
    }
    assert!(!Path::new("/pwned").exists());
}

#[test]
fn env_sh_is_found_by_relative_paths_links_scripts_and_subshells() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let root = base.join("a b/runtime");
    tree(&root);
    symlink(&root, base.join("link")).unwrap();
    symlink("a b/runtime/env.sh", base.join("activate")).unwrap();
    std::fs::write(
        base.join("script"),
        "set -eu\n. \"$1/env.sh\"\necho \"$POINTCEPT_RUNTIME\"\n",
    )
    .unwrap();
    let scripts = [
        ". './a b/runtime/env.sh'; echo \"$POINTCEPT_RUNTIME\"",
        "cd link && . ./env.sh; echo \"$POINTCEPT_RUNTIME\"",
        ". ./link/env.sh; echo \"$POINTCEPT_RUNTIME\"",
        ". ./activate; echo \"$POINTCEPT_RUNTIME\"",
        "(. ./link/env.sh; echo \"$POINTCEPT_RUNTIME\")",
        "echo \"$(. ./link/env.sh; echo \"$POINTCEPT_RUNTIME\")\"",
        ". ./script",
        "f() { . ./link/env.sh; }; f; echo \"$POINTCEPT_RUNTIME\"",
        "CDPATH=/tmp:.; IFS=/; set -f; . ./link/env.sh; echo \"$POINTCEPT_RUNTIME\"",
        "exec 9</dev/null; . ./link/env.sh; echo \"$POINTCEPT_RUNTIME\"",
    ];
    for shell in shells() {
        for script in scripts {
            let mut run = run(&shell, script, &root);
            run.cwd = Some(&base);
            assert_eq!(run.lines(), [root.to_str().unwrap()], "{shell:?} {script}");
        }
    }
}

#[test]
fn host_variables_cannot_shadow_the_bundle_and_no_empty_element_appears() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("runtime");
    tree(&root);
    let shown = root.to_str().unwrap();
    let libs = LIBS.map(|l| format!("{shown}/{l}")).join(":");
    let launcher = root.join("bin/python");
    let by_launcher = format!("exec '{}' -c x", launcher.display());
    for shell in shells() {
        for script in [TWICE, &by_launcher] {
            let mut run = run(&shell, script, &root);
            for name in [
                "PYTHONPATH",
                "PYTHONHOME",
                "PYTHONSTARTUP",
                "PYTHONUSERBASE",
            ] {
                run.env.push((name, "/host/python".to_owned()));
            }
            run.env.push(("PYTHONUNBUFFERED", "1".to_owned()));
            run.env.push(("CUDA_HOME", "/host/cuda".to_owned()));
            run.env.push((
                "LD_LIBRARY_PATH",
                "/host/cuda/lib64::relative:/host/b:".to_owned(),
            ));
            let vars = run.variables();
            assert_eq!(
                vars["LD_LIBRARY_PATH"],
                format!("{libs}:/host/cuda/lib64:/host/b"),
                "{shell:?}"
            );
            for name in [
                "PYTHONPATH",
                "PYTHONHOME",
                "PYTHONSTARTUP",
                "PYTHONUSERBASE",
            ] {
                assert!(!vars.contains_key(name), "{shell:?} {name}");
            }
            assert_eq!(
                vars["POINTCEPT_DROPPED"],
                "PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONUSERBASE"
            );
            assert_eq!(vars["PYTHONUNBUFFERED"], "1");
            for value in ["", ":", "::"] {
                let mut run = Run {
                    env: vec![("LD_LIBRARY_PATH", value.to_owned())],
                    args: vec![&root],
                    ..run
                };
                assert_eq!(run.variables()["LD_LIBRARY_PATH"], libs, "{shell:?}");
                run.env.clear();
                assert_eq!(run.variables()["LD_LIBRARY_PATH"], libs, "{shell:?}");
            }
        }
    }
}

#[test]
fn a_second_bundle_takes_the_place_of_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (first, second) = (base.join("1/runtime"), base.join("2/runtime"));
    tree(&first);
    tree(&second);
    for shell in shells() {
        let mut run = run(&shell, r#". "$1/env.sh"; . "$2/env.sh"; env"#, &first);
        run.args.push(&second);
        let vars = run.variables();
        for name in ["PATH", "LD_LIBRARY_PATH"] {
            assert!(
                !vars[name].contains(first.to_str().unwrap()),
                "{shell:?} {}",
                vars[name]
            );
        }
        assert_eq!(vars["POINTCEPT_RUNTIME"], second.to_str().unwrap());
    }
}

#[test]
fn an_incomplete_tree_is_refused_by_env_sh_and_every_launcher() {
    type Break = fn(&Path);
    let breaks: [(&str, Break); 7] = [
        ("no .complete", |root| {
            std::fs::remove_file(root.join(".complete")).unwrap();
        }),
        ("an empty .complete", |root| {
            std::fs::write(root.join(".complete"), "").unwrap();
        }),
        ("a cut .complete", |root| {
            std::fs::write(root.join(".complete"), "bundle 1\nentri").unwrap();
        }),
        ("another format", |root| {
            std::fs::write(root.join(".complete"), "bundle 2\nfiles 00\n").unwrap();
        }),
        ("a layer missing", |root| {
            std::fs::remove_dir_all(root.join(".layers")).unwrap();
        }),
        ("no python", |root| {
            std::fs::remove_file(root.join("python/bin/python3.12")).unwrap();
        }),
        ("no shared script", |root| {
            std::fs::remove_file(root.join("scripts/environment.sh")).unwrap();
        }),
    ];
    let dir = tempfile::tempdir().unwrap();
    for (number, (what, change)) in breaks.into_iter().enumerate() {
        let root = dir.path().join(number.to_string()).join("runtime");
        tree(&root);
        change(&root);
        let refused = |out: Output, context: &str| {
            let error = String::from_utf8_lossy(&out.stderr);
            assert!(!out.status.success(), "{what}: {context} started");
            assert!(
                error.contains("is not complete") && error.contains("hint: "),
                "{what}: {context}: {error}"
            );
            assert!(out.stdout.is_empty(), "{what}: {context} went on");
        };
        for shell in shells() {
            refused(
                run(&shell, r#"set -eu; . "$1/env.sh"; echo on"#, &root).output(),
                shell[0],
            );
            refused(
                run(&shell, r#". "$1/env.sh" && echo on"#, &root).output(),
                shell[0],
            );
        }
        for launcher in ["python", "infer", "train", "doctor"] {
            let mut command = Command::new(root.join("bin").join(launcher));
            let out = command.arg("--help").env_clear().output().unwrap();
            assert_eq!(out.status.code(), Some(2), "{what}: {launcher}");
            refused(out, launcher);
        }
    }
}

#[test]
fn launchers_pass_arguments_on_unchanged_and_follow_links() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    for (number, root) in hostile(&base).into_iter().enumerate() {
        tree(&root);
        let name = format!("py{number}");
        symlink(root.join("bin/python"), base.join(&name)).unwrap();
        for (program, script) in [
            (root.join("bin/python"), None),
            (base.join(&name), None),
            (root.join("bin/infer"), Some("infer.py")),
            (root.join("bin/train"), Some("train.py")),
            (root.join("bin/doctor"), Some("doctor.py")),
        ] {
            let mut command = Command::new(&program);
            let out = command
                .args(["a b", "", "$(x)", "--", "-c"])
                .env_clear()
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&out.stdout);
            assert!(
                out.status.success(),
                "{}",
                String::from_utf8_lossy(&out.stderr)
            );
            let mut args: Vec<&str> = text
                .lines()
                .filter_map(|l| l.strip_prefix("arg="))
                .collect();
            if let Some(script) = script {
                let first = Path::new(args.remove(0)).canonicalize().ok();
                let expected = root.join("scripts").join(script);
                assert!(first.is_none() || first == expected.canonicalize().ok());
            }
            assert_eq!(
                args,
                ["a b", "", "$(x)", "--", "-c"],
                "{}",
                program.display()
            );
            assert!(
                text.lines()
                    .any(|l| l == format!("POINTCEPT_RUNTIME={}", root.display()))
            );
        }
    }
}

const CACHES: [&str; 6] = [
    "TRITON_CACHE_DIR",
    "CUDA_CACHE_PATH",
    "TORCHINDUCTOR_CACHE_DIR",
    "MPLCONFIGDIR",
    "NUMBA_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
];

#[test]
fn caches_go_to_the_first_place_that_can_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let root = base.join("runtime");
    tree(&root);
    let file = base.join("file");
    std::fs::write(&file, "").unwrap();
    // A folder below a file can be made by nobody, root neither.
    let nowhere = file.join("x").display().to_string();
    for (number, shell) in shells().iter().enumerate() {
        let place = |name: &str| base.join(format!("{number}{name}")).display().to_string();
        let tmp = place("tmp dir");
        std::fs::create_dir(&tmp).unwrap();
        let caches = |env: Vec<(&'static str, String)>| {
            let mut run = run(shell, TWICE, &root);
            run.env = env;
            run.env.push(("TMPDIR", tmp.clone()));
            run.variables()
        };
        let uid = String::from_utf8(Command::new("id").arg("-u").output().unwrap().stdout).unwrap();
        let private = format!("{tmp}/pointcept-runtime-{}", uid.trim());
        for (env, expected) in [
            (
                vec![("HOME", place("home"))],
                place("home/.cache/pointcept-runtime"),
            ),
            (
                vec![("HOME", place("home")), ("XDG_CACHE_HOME", place("xdg"))],
                place("xdg/pointcept-runtime"),
            ),
            (
                vec![("HOME", place("home")), ("XDG_CACHE_HOME", nowhere.clone())],
                place("home/.cache/pointcept-runtime"),
            ),
            (vec![], private.clone()),
            (vec![("HOME", "/".to_owned())], private.clone()),
            (vec![("HOME", String::new())], private.clone()),
            (vec![("HOME", nowhere.clone())], private.clone()),
            (vec![("HOME", "relative".to_owned())], private.clone()),
        ] {
            // zsh finds a home folder by itself where none is given.
            if env.is_empty() && shell[0] == "zsh" {
                continue;
            }
            let context = format!("{shell:?} {env:?}");
            let vars = caches(env);
            for name in CACHES {
                let folder = Path::new(&vars[name]);
                assert!(
                    folder.starts_with(&expected) && folder.is_dir(),
                    "{context} {name} {folder:?}"
                );
            }
            assert_eq!(vars["CUDA_CACHE_MAXSIZE"], "4294967296");
            assert_eq!(
                vars.contains_key("TORCH_HOME"),
                expected == private,
                "{context}"
            );
        }
        assert_eq!(
            std::fs::metadata(&private).unwrap().permissions().mode() & 0o777,
            0o700
        );

        let own = place("own");
        let homeless = ("HOME", "/".to_owned());
        let vars = caches(vec![
            homeless.clone(),
            ("TRITON_CACHE_DIR", own.clone()),
            ("CUDA_CACHE_PATH", nowhere.clone()),
            ("CUDA_CACHE_MAXSIZE", "5".to_owned()),
        ]);
        assert_eq!(vars["TRITON_CACHE_DIR"], own, "{shell:?}");
        assert_eq!(
            vars["CUDA_CACHE_PATH"],
            format!("{private}/cuda"),
            "{shell:?}"
        );
        assert_eq!(vars["CUDA_CACHE_MAXSIZE"], "5", "{shell:?}");

        // A link that somebody else laid where ours would be is not followed.
        std::fs::remove_dir_all(&private).unwrap();
        let elsewhere = base.join(format!("{number}elsewhere"));
        std::fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, &private).unwrap();
        let vars = caches(vec![homeless]);
        assert!(
            vars["TRITON_CACHE_DIR"].starts_with(&format!("{private}.")),
            "{shell:?} {}",
            vars["TRITON_CACHE_DIR"]
        );
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}

#[test]
fn nothing_of_the_tree_changes_and_children_get_no_library_but_nvidias() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap().join("runtime");
    tree(&root);
    put(&root, "lib/libstdc++.so.6", b"not a library", 0o644);
    let before = listing(&root);
    for shell in shells() {
        let vars = run(&shell, TWICE, &root).variables();
        for (name, value) in &vars {
            assert!(!value.contains("/runtime/lib"), "{name}={value}");
        }
        assert!(!vars.contains_key("LD_PRELOAD"));
    }
    assert_eq!(listing(&root), before);
}

#[test]
fn shell_files_are_clean() {
    let dir = tempfile::tempdir().unwrap();
    // A quote in a name is right but looks wrong to shellcheck.
    let plain = LayoutValues {
        nvidia_library_dirs: vec!["python/lib/nvidia".to_owned()],
        ..values()
    };
    tree_with(dir.path(), &plain);
    if Command::new("shellcheck")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("missing: shellcheck");
        return;
    }
    let files = [
        "env.sh",
        "scripts/environment.sh",
        "bin/python",
        "bin/infer",
        "bin/train",
        "bin/doctor",
    ];
    let mut command = Command::new("shellcheck");
    let out = command
        .args(["-x", "-S", "style", "-e", "SC1091"])
        .args(files)
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stdout)
    );
}

fn listing(folder: &Path) -> Vec<(PathBuf, u32, u64)> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            if meta.is_dir() {
                folders.push(path.clone());
            }
            out.push((path, meta.permissions().mode(), meta.len()));
        }
    }
    out.sort();
    out
}
