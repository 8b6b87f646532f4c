//! Files that unpack themselves: made by the real program, run by dash and by busybox, with the program inside and with the
//! host's own tools.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bundler::build::pack::PackedBundle;

use crate::store::world::{World, contents, unpacked};
use crate::synthetic::program;

/// Shells and, for busybox, its own tools and nothing else.
const SHELLS: [&str; 2] = ["dash", "busybox"];

/// What the script may call, beside zstd and tar.
const TOOLS: &str = "cat chmod cksum cut dd ls mkdir mv rm sha256sum sh tail tar tr uname wc";

struct Stage {
    world: World,
    bundle: PackedBundle,
    run: PathBuf,
}

/// A static program that becomes the bundler under test: what static programs of a release are, for the script.
fn shim(world: &World) -> PathBuf {
    let (source, out) = (world.path("shim.c"), world.path("shim"));
    let text = "#include <stdlib.h>\n#include <unistd.h>\n\
        int main(int c, char **v) { char *to = getenv(\"UNDER_TEST\"); return to ? execv(to, v) : 127; }\n";
    std::fs::write(&source, text).unwrap();
    let done = Command::new(program("gcc"))
        .arg("-static")
        .arg("-o")
        .arg(&out)
        .arg(source)
        .status();
    assert!(done.unwrap().success());
    out
}

fn stage(with_program: bool) -> Stage {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let run = world.path("x.run");
    let mut args = vec!["self-extract", bundle.path.to_str().unwrap(), "-o"];
    args.push(run.to_str().unwrap());
    let shim = with_program.then(|| shim(&world));
    if let Some(shim) = &shim {
        args.extend(["--program", shim.to_str().unwrap()]);
    }
    let said = world.ok(&args);
    assert_eq!(said.contains("carries no program"), !with_program, "{said}");
    Stage { world, bundle, run }
}

impl Stage {
    /// A folder with the tools that are named, those of busybox or the system's.
    fn tools(&self, shell: &str, names: &str) -> PathBuf {
        let dir = self.world.path(&format!("tools-{shell}"));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir(&dir).unwrap();
        for name in names.split(' ').filter(|name| !name.is_empty()) {
            let own = ["zstd"].contains(&name) || shell != "busybox";
            let to = if own {
                program(name)
            } else {
                program("busybox")
            };
            std::os::unix::fs::symlink(to, dir.join(name)).unwrap();
        }
        dir
    }

    /// Runs the file with a shell, with these tools and no environment.
    fn run(&self, shell: &str, tools: &str, under_test: bool, args: &[&str]) -> Output {
        let tmp = self.world.path("tmp");
        std::fs::create_dir_all(&tmp).unwrap();
        let mut command = Command::new(program(shell));
        if shell == "busybox" {
            command.arg("sh");
        }
        command
            .arg(&self.run)
            .args(args)
            .env_clear()
            .env("PATH", self.tools(shell, tools))
            .env("TMPDIR", &tmp)
            .current_dir(self.world.dir.path());
        if under_test {
            command.env("UNDER_TEST", assert_cmd::cargo::cargo_bin("bundler"));
        }
        command.output().unwrap()
    }

    fn by_tar(&self) -> PathBuf {
        unpacked(&self.bundle.path, &self.world.path("by-tar"))
    }
}

#[track_caller]
fn ok(out: Output) -> String {
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{:?} {text}", out.status.code());
    String::from_utf8(out.stdout).unwrap()
}

/// One error, this exit code, and nothing left but the folder itself.
#[track_caller]
fn refused(out: &Output, code: i32, wanted: &str, prefix: &Path) {
    let text = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(code), "{text}");
    assert_eq!(text.matches("error: ").count(), 1, "{text}");
    assert!(text.contains(wanted), "{text}");
    let left = std::fs::read_dir(prefix).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{}", prefix.display());
}

#[test]
fn with_the_hosts_tools_it_becomes_the_tree_that_tar_makes() {
    let stage = stage(false);
    let wanted = contents(&stage.by_tar());
    for shell in SHELLS {
        let prefix = stage.world.path(&format!("to {shell} 'é\""));
        let tools = format!("{TOOLS} zstd");
        ok(stage.run(
            shell,
            &tools,
            false,
            &["--prefix", prefix.to_str().unwrap()],
        ));
        assert_eq!(contents(&prefix.join("runtime")), wanted, "{shell}");
        assert_eq!(std::fs::read_dir(&prefix).unwrap().count(), 1, "{shell}");
        let again = stage.run(
            shell,
            &tools,
            false,
            &["--prefix", prefix.to_str().unwrap()],
        );
        let text = String::from_utf8_lossy(&again.stderr);
        assert_eq!(again.status.code(), Some(2));
        assert!(text.contains("/runtime is there already"), "{text}");
    }
}

#[test]
fn with_its_program_a_host_without_zstd_and_tar_is_enough() {
    let stage = stage(true);
    let wanted = contents(&stage.by_tar());
    for shell in SHELLS {
        let prefix = stage.world.path(&format!("to {shell}"));
        let tools = TOOLS.replace(" tar ", " ");
        let prefix_arg = format!("--prefix={}", prefix.display());
        ok(stage.run(shell, &tools, true, &[&prefix_arg]));
        assert_eq!(contents(&prefix.join("runtime")), wanted, "{shell}");
        assert_eq!(std::fs::read_dir(&prefix).unwrap().count(), 1, "{shell}");
        let left = std::fs::read_dir(stage.world.path("tmp")).unwrap();
        assert_eq!(left.count(), 0, "the program is taken away");
    }
}

#[test]
fn a_program_that_does_not_run_here_leaves_the_work_to_the_hosts_tools() {
    let stage = stage(true);
    let prefix = stage.world.path("to");
    let tools = format!("{TOOLS} zstd");
    ok(stage.run(
        "dash",
        &tools,
        false,
        &["--prefix", prefix.to_str().unwrap()],
    ));
    assert_eq!(contents(&prefix.join("runtime")), contents(&stage.by_tar()));
}

#[test]
fn lists_and_verifies_without_unpacking() {
    for with_program in [false, true] {
        let stage = stage(with_program);
        let by_tar = stage.by_tar();
        let tools = format!("{TOOLS} zstd");
        for shell in SHELLS {
            let listed = ok(stage.run(shell, &tools, with_program, &["--list"]));
            let mut paths: Vec<&str> = listed
                .lines()
                .map(|line| {
                    line.trim_end_matches('/')
                        .trim_start_matches("runtime")
                        .trim_start_matches('/')
                })
                .filter(|path| !path.is_empty() && path.is_ascii() && !path.contains('\\'))
                .collect();
            paths.sort_unstable();
            let wanted: Vec<String> = contents(&by_tar)
                .into_keys()
                .filter(|path| path.is_ascii())
                .collect();
            assert_eq!(paths, wanted, "{shell} {with_program}");
            let said = ok(stage.run(shell, &tools, with_program, &["--verify"]));
            assert!(said.contains("x.run is intact"), "{said}");
        }
        assert!(!stage.world.path("runtime").exists());
    }
}

#[test]
fn the_bundle_in_it_is_read_in_place() {
    let stage = stage(true);
    let run = stage.run.to_str().unwrap();
    let packed = std::fs::read(&stage.bundle.path).unwrap();
    let whole = std::fs::read(&stage.run).unwrap();
    assert!(whole.ends_with(&packed));
    let head = String::from_utf8_lossy(&whole[..600]).into_owned();
    let from = head
        .split("tail -c +")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap();
    assert_eq!(
        from.parse::<usize>().unwrap(),
        whole.len() - packed.len() + 1
    );
    let world = &stage.world;
    let inspected = world.ok(&["inspect", run]);
    assert!(
        inspected.contains(&stage.bundle.identity.to_string()),
        "{inspected}"
    );
    assert!(world.ok(&["verify", run]).contains("is intact"));
    world.ok(&["audit", run, "--output-format", "json"]);
    world.ok(&["install", run]);
    assert_eq!(contents(&world.installed("1.0")), contents(&stage.by_tar()));
    let layers = world.path("layers");
    world.ok(&["layers", run, "-o", layers.to_str().unwrap()]);
    let mode = std::fs::metadata(run).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "it can be started by its name");
    let sum = Command::new("sha256sum")
        .arg("-c")
        .arg("x.run.sha256")
        .current_dir(world.dir.path())
        .status();
    assert!(sum.unwrap().success());
}

#[test]
fn nothing_damaged_is_run_or_unpacked() {
    for with_program in [false, true] {
        let stage = stage(with_program);
        let good = std::fs::read(&stage.run).unwrap();
        let payload = good.len() - std::fs::metadata(&stage.bundle.path).unwrap().len() as usize;
        let tools = format!("{TOOLS} zstd");
        let prefix = stage.world.path("to");
        let args = ["--prefix", prefix.to_str().unwrap()];
        let flipped = |at: usize| {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&stage.run, bad).unwrap();
        };
        for shell in SHELLS {
            for step in 0..8 {
                flipped(payload + (good.len() - payload) * step / 8 + step);
                let out = stage.run(shell, &tools, with_program, &args);
                assert_eq!(out.status.code(), Some(2));
                assert_eq!(
                    std::fs::read_dir(&prefix).unwrap().count(),
                    0,
                    "{shell} {step}"
                );
                let out = stage.run(shell, &tools, with_program, &["--verify"]);
                assert!(!out.status.success(), "{shell} {step}");
            }
            std::fs::write(&stage.run, &good[..good.len() - 700]).unwrap();
            let out = stage.run(shell, &tools, with_program, &args);
            assert_eq!(out.status.code(), Some(2));
            assert_eq!(std::fs::read_dir(&prefix).unwrap().count(), 0);
            if with_program {
                flipped(payload - 5000);
                let out = stage.run(shell, &tools, true, &args);
                refused(&out, 2, "the program in it is not the one", &prefix);
                // Where nothing says sha256, cksum does.
                let out = stage.run(shell, &tools.replace(" sha256sum", ""), true, &args);
                refused(&out, 2, "the program in it is not the one", &prefix);
            }
        }
    }
}

#[test]
fn says_what_a_host_lacks() {
    let stage = stage(false);
    let prefix = stage.world.path("to");
    let args = ["--prefix", prefix.to_str().unwrap()];
    for shell in SHELLS {
        let out = stage.run(shell, TOOLS, false, &args);
        refused(&out, 2, "this host has no zstd", &prefix);
        // The shell of busybox has it in itself.
        if shell != "busybox" {
            let tools = format!("{} zstd", TOOLS.replace(" sha256sum", ""));
            let out = stage.run(shell, &tools, false, &args);
            refused(&out, 2, "nothing can be verified", &prefix);
        }
        let out = stage.run(shell, TOOLS, false, &["--prefix"]);
        refused(&out, 2, "--prefix needs a folder", &prefix);
        let out = stage.run(shell, TOOLS, false, &["--sudo"]);
        refused(&out, 2, "unknown argument: --sudo", &prefix);
        assert!(ok(stage.run(shell, TOOLS, false, &["--help"])).contains("--extract-only"));
    }
}

#[test]
fn a_bundle_for_another_machine_is_refused_unless_only_unpacking_is_asked_for() {
    let world = World::new();
    let made = world.path("made");
    std::fs::create_dir_all(&made).unwrap();
    let parts = crate::synthetic::parts(&made, false);
    let mut request = crate::synthetic::request(&made.join("out"));
    let target: bundler::base::target::Target = "arm64-cu130".parse().unwrap();
    request.facts.target = target.into();
    let progress = bundler::base::progress::Progress::silent();
    let bundle = bundler::build::pack::pack_parts(&parts, &request, &progress).unwrap();
    let file = bundle.path.to_str().unwrap().to_owned();
    let run = world.path("x.run");
    world.ok(&["self-extract", &file, "-o", run.to_str().unwrap()]);
    let text = world.fails(
        2,
        &[
            "self-extract",
            &file,
            "--program",
            shim(&world).to_str().unwrap(),
        ],
    );
    assert!(text.contains("it is not for arm64"), "{text}");
    let own = assert_cmd::cargo::cargo_bin("bundler");
    let text = world.fails(
        2,
        &["self-extract", &file, "--program", own.to_str().unwrap()],
    );
    assert!(text.contains("cannot be put into the file"), "{text}");
    let stage = Stage { world, bundle, run };
    let prefix = stage.world.path("to");
    let tools = format!("{TOOLS} zstd");
    let args = ["--prefix", prefix.to_str().unwrap()];
    let out = stage.run("dash", &tools, false, &args);
    refused(
        &out,
        2,
        "the bundle is for aarch64, this host is x86_64",
        &prefix,
    );
    ok(stage.run("dash", &tools, false, &["--extract-only", args[0], args[1]]));
    assert_eq!(contents(&prefix.join("runtime")), contents(&stage.by_tar()));
    // The program says the same, and its own way out.
    let out = stage.world.bundler(&[
        "unpack",
        &file,
        "--prefix",
        stage.world.path("by-program").to_str().unwrap(),
    ]);
    let out = { out }.assert().code(1).get_output().clone();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("arch-mismatch"), "{text}");
    assert!(text.contains("--force"), "{text}");
    assert!(!stage.world.path("by-program").exists());
}

#[test]
fn an_unknown_user_without_home_unpacks_where_it_may() {
    for with_program in [false, true] {
        let stage = stage(with_program);
        let open = stage.world.path("open");
        std::fs::create_dir(&open).unwrap();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(stage.world.dir.path(), 0o755);
        mode(&open, 0o777);
        let bundler = open.join("bundler");
        std::fs::copy(assert_cmd::cargo::cargo_bin("bundler"), &bundler).unwrap();
        mode(&bundler, 0o755);
        let out = Command::new(program("setpriv"))
            .args([
                "--reuid",
                "54321",
                "--regid",
                "54321",
                "--clear-groups",
                "env",
                "-i",
            ])
            .arg(format!("UNDER_TEST={}", bundler.display()))
            .args(["PATH=/usr/bin:/bin", "sh"])
            .arg(&stage.run)
            .arg("--prefix")
            .arg(open.join("deep/er"))
            .current_dir("/")
            .output()
            .unwrap();
        ok(out);
        assert_eq!(
            contents(&open.join("deep/er/runtime")),
            contents(&stage.by_tar())
        );
    }
}
