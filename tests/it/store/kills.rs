//! SIGKILL at system calls that change something: afterwards every installed name is a whole bundle, `current` leads to
//! one or is not there, and the same command run again finishes the job. `BUNDLER_KILLS=all` stops at each call; without
//! it only some are tried. strace does the killing, so nothing in the program knows of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use bundler::host::intact;
use bundler::host::store::{Store, current};

use super::world::World;
use crate::synthetic::program;

/// Every call by which a file system is changed. Opening counts too: some of it makes files.
const CALLS: &[&str] = &[
    "openat",
    "write",
    "pwrite64",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "unlink",
    "unlinkat",
    "rmdir",
    "mkdir",
    "mkdirat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fsync",
    "fdatasync",
    "syncfs",
    "ftruncate",
    "flock",
    "copy_file_range",
];

/// How many stops per call and command are tried where not all are.
const SOME: usize = 2;

fn all() -> bool {
    std::env::var_os("BUNDLER_KILLS").is_some_and(|value| value == "all")
}

/// The program under strace, with `inject` done to it.
fn traced(store: &Path, inject: &[String], args: &[&str]) -> Command {
    let mut command = Command::new(program("strace"));
    command
        .arg("-f")
        .arg("-qqq")
        .arg("-o")
        .arg("/dev/null")
        .arg("-e")
        .arg("signal=none");
    for one in inject {
        command.arg("-e").arg(one);
    }
    command
        .arg(assert_cmd::cargo::cargo_bin("bundler"))
        .args(args)
        .env_clear()
        .env("POINTCEPT_BUNDLER_ROOT", store);
    command
}

/// How often one run makes each call.
fn counts(store: &Path, log: &Path, args: &[&str]) -> Vec<(&'static str, usize)> {
    let status = Command::new(program("strace"))
        .args(["-f", "-qqq", "-e"])
        .arg(format!("trace=?{}", CALLS.join(",?")))
        .arg("-o")
        .arg(log)
        .arg(assert_cmd::cargo::cargo_bin("bundler"))
        .args(args)
        .env_clear()
        .env("POINTCEPT_BUNDLER_ROOT", store)
        .status()
        .unwrap();
    assert!(status.success());
    let text = std::fs::read_to_string(log).unwrap();
    let count = |call: &str| {
        let begins = format!(" {call}(");
        text.lines().filter(|line| line.contains(&begins)).count()
    };
    CALLS
        .iter()
        .map(|call| (*call, count(call)))
        .filter(|(_, n)| *n > 0)
        .collect()
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    let status = Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(status.success());
}

/// Every name is whole, and `current` is one of them or nothing.
fn check(store: &Path, when: &str) {
    let at = Store::at(store.to_owned());
    let names = at.installed().unwrap();
    for one in &names {
        let judged = intact::tree(&one.path, 1).unwrap();
        assert!(
            judged.findings.is_empty(),
            "{when}: {} {:?}",
            one.name,
            judged.findings
        );
    }
    let link = store.join("current");
    if let Some(now) = current(&at).unwrap() {
        assert!(link.join(".complete").is_file(), "{when}: {}", now.name);
    } else {
        assert!(!link.exists(), "{when}");
    }
}

fn sweep(before: &Path, work: &Path, log: &Path, args: &[&str]) -> usize {
    copy(before, work);
    let counts = counts(work, log, args);
    let mut kills = 0;
    for (call, count) in counts {
        let step = if all() {
            1
        } else {
            count.div_ceil(SOME).max(1)
        };
        // From the last one back: the interesting ones come late.
        for at in (1..=count).rev().step_by(step) {
            copy(before, work);
            let inject = [format!("inject={call}:signal=KILL:when={at}")];
            let status = traced(work, &inject, args).status().unwrap();
            kills += usize::from(!status.success());
            let when = format!("{args:?} killed at {call} number {at}");
            check(work, &when);
            let again = traced(work, &[], args).output().unwrap();
            let text = String::from_utf8_lossy(&again.stderr).into_owned();
            // What was done but for its last steps has nothing left to remove, or to go back to.
            let done = [
                "no installed bundle is called",
                "no earlier bundle to go back to",
            ];
            let fine = again.status.success() || done.iter().any(|what| text.contains(what));
            assert!(fine, "{when}, then again: {text}");
            check(work, &format!("{when}, then again"));
            let drafts = std::fs::read_dir(work.join("drafts")).map_or(0, Iterator::count);
            let swept = drafts == 0
                || text.contains("no installed bundle")
                || matches!(args[0], "use" | "rollback");
            assert!(swept, "{when}: {drafts} drafts are left");
        }
    }
    kills
}

/// Stores to begin from: empty, with one bundle, with two, with two and something to collect.
struct Stages {
    world: World,
    one: PathBuf,
    two: PathBuf,
    waste: PathBuf,
    second: String,
}

fn stages() -> Stages {
    let world = World::new();
    world.install(&world.bundle("1.0"));
    let one = world.path("one");
    copy(&world.root(), &one);
    let second = world.bundle("2.0");
    world.install(&second);
    let two = world.path("two");
    copy(&world.root(), &two);
    world.ok(&["remove", "1.0"]);
    let waste = world.path("waste");
    copy(&world.root(), &waste);
    Stages {
        one,
        two,
        waste,
        second: second.path.to_str().unwrap().to_owned(),
        world,
    }
}

#[test]
fn killed_anywhere_leaves_whole_names_and_a_rerun_finishes() {
    let stages = stages();
    let (work, log) = (stages.world.path("work"), stages.world.path("log"));
    let empty = stages.world.path("empty-store");
    std::fs::create_dir(&empty).unwrap();
    let first = stages.world.bundle("1.0").path;
    let install_first = ["install", "--jobs", "1", first.to_str().unwrap()];
    let install = ["install", "--jobs", "1", &stages.second];
    let mut kills = sweep(&empty, &work, &log, &install_first);
    kills += sweep(&stages.one, &work, &log, &install);
    kills += sweep(&stages.two, &work, &log, &["use", "1.0"]);
    kills += sweep(&stages.two, &work, &log, &["rollback"]);
    kills += sweep(&stages.two, &work, &log, &["remove", "1.0"]);
    kills += sweep(&stages.waste, &work, &log, &["gc"]);
    println!("{kills} kills");
    assert!(kills > 40, "{kills}");
}

#[test]
fn kills_at_random_with_a_second_process_do_no_harm() {
    let stages = stages();
    let work = stages.world.path("work");
    let rounds: u64 = if all() { 1000 } else { 12 };
    copy(&stages.one, &work);
    let start = |args: &[&str]| {
        Command::new(assert_cmd::cargo::cargo_bin("bundler"))
            .args(args)
            .env_clear()
            .env("POINTCEPT_BUNDLER_ROOT", &work)
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    for round in 0..rounds {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let others: [&[&str]; 4] = [
            &["gc"],
            &["use", "1.0"],
            &["install", &stages.second],
            &["remove", "--force", "2.0"],
        ];
        let mut victim = start(&["install", &stages.second]);
        let mut other = start(others[(state >> 20) as usize % 4]);
        std::thread::sleep(std::time::Duration::from_micros(state % 60_000));
        victim.kill().unwrap();
        victim.wait().unwrap();
        other.wait().unwrap();
        check(&work, &format!("round {round}"));
        if round % 3 == 0 {
            let done = start(&["install", &stages.second]).wait().unwrap();
            assert!(done.success(), "round {round}");
            check(&work, &format!("round {round}, then again"));
            assert!(
                start(&["remove", "--force", "2.0"])
                    .wait()
                    .unwrap()
                    .success()
            );
        }
    }
    assert!(start(&["gc"]).wait().unwrap().success());
    check(&work, "at the end");
}

#[test]
fn works_where_newer_system_calls_are_refused() {
    for error in ["ENOSYS", "EPERM"] {
        let world = World::new();
        let inject = [
            format!("inject=openat2:error={error}"),
            format!("inject=renameat2:error={error}"),
            "inject=copy_file_range:error=ENOSYS".to_owned(),
        ];
        for (version, extra) in [("1.0", None), ("2.0", Some("--copy"))] {
            let path = world.bundle(version).path;
            let mut args = vec!["install", path.to_str().unwrap()];
            args.extend(extra);
            let out = traced(&world.root(), &inject, &args).output().unwrap();
            assert!(
                out.status.success(),
                "{error}: {}",
                String::from_utf8_lossy(&out.stderr)
            );
        }
        for args in [
            &["verify"][..],
            &["rollback"],
            &["remove", "2.0"],
            &["gc"],
            &["verify"],
        ] {
            let out = traced(&world.root(), &inject, args).output().unwrap();
            assert!(
                out.status.success(),
                "{error} {args:?}: {}",
                String::from_utf8_lossy(&out.stderr)
            );
        }
        check(&world.root(), error);
    }
}

#[test]
fn works_where_hard_links_are_refused_and_says_what_that_costs() {
    for error in ["EPERM", "EXDEV", "EMLINK"] {
        let world = World::new();
        let path = world.bundle("1.0").path;
        let inject = [
            format!("inject=linkat:error={error}"),
            "inject=ioctl:error=EOPNOTSUPP".to_owned(),
        ];
        let out = traced(&world.root(), &inject, &["install", path.to_str().unwrap()])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(
            out.status.success(),
            "{error}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        assert!(text.contains("its files are copies"), "{error}: {text}");
        check(&world.root(), error);
    }
}
