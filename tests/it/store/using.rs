//! `use`, `rollback`, `remove`, `gc`, `list`, `where`, `env`, `run`.

use std::process::Command;

use super::world::World;

fn current(world: &World) -> String {
    let text = world.ok(&["list"]);
    let line = text.lines().find(|line| line.starts_with('*'));
    let name = line.map(|line| line.split_whitespace().nth(1).unwrap());
    name.map_or(String::new(), |name| {
        name.split('-').nth(2).unwrap().to_owned()
    })
}

#[test]
fn going_back_follows_what_was_in_use() {
    let world = World::new();
    for version in ["1.0", "2.0", "3.0"] {
        world.install(&world.bundle(version));
    }
    assert_eq!(current(&world), "3.0");
    world.ok(&["rollback"]);
    assert_eq!(current(&world), "2.0");
    world.ok(&["use", "3.0"]);
    world.ok(&["rollback"]);
    assert_eq!(current(&world), "2.0", "what was in use before 3.0");
    world.ok(&["rollback"]);
    assert_eq!(current(&world), "1.0");
    let text = world.fails(2, &["rollback"]);
    assert!(text.contains("no earlier bundle to go back to"), "{text}");
    assert_eq!(current(&world), "1.0");
}

#[test]
fn removing_frees_what_no_other_bundle_needs() {
    let world = World::new();
    world.install(&world.bundle("1.0"));
    world.install(&world.bundle("2.0"));
    let components = || {
        std::fs::read_dir(world.root().join("components"))
            .unwrap()
            .count()
    };
    assert_eq!(components(), 4);
    let text = world.fails(2, &["remove", "2.0"]);
    assert!(text.contains("is in use"), "{text}");
    world.ok(&["remove", "1.0"]);
    let text = world.fails(2, &["rollback"]);
    assert!(text.contains("no earlier"), "{text}");
    assert_eq!(components(), 4, "until gc");
    let said = world.ok(&["gc"]);
    assert!(said.contains("in 1 components"), "{said}");
    assert_eq!(components(), 3);
    world.ok(&["verify"]);
    world.ok(&["remove", "--force", "2.0"]);
    assert_eq!(world.ok(&["list"]).split(' ').next(), Some("nothing"));
    world.ok(&["gc"]);
    assert!(world.is_empty());
    let text = world.fails(2, &["where"]);
    assert!(text.contains("no bundle is in use"), "{text}");
}

#[test]
fn a_name_may_be_short_but_must_be_clear() {
    let world = World::new();
    world.install(&world.bundle("1.0"));
    world.install(&world.bundle("1.1"));
    let text = world.fails(2, &["use", "pointcept-runtime-1"]);
    assert!(text.contains("could be any of"), "{text}");
    let text = world.fails(2, &["use", "9.9"]);
    assert!(
        text.contains("no installed bundle is called \"9.9\""),
        "{text}"
    );
    assert!(
        text.contains("hint: installed are: pointcept-runtime-1.0-"),
        "{text}"
    );
    world.ok(&["use", "pointcept-runtime-1.0"]);
    assert_eq!(current(&world), "1.0");
    let text = world.fails(2, &["remove", ""]);
    assert!(text.contains("no installed bundle"), "{text}");
}

#[test]
fn a_store_can_be_moved_as_a_whole() {
    let world = World::new();
    world.install(&world.bundle("1.0"));
    world.install(&world.bundle("2.0"));
    let moved = world.path("moved ünd 'quoted'");
    std::fs::rename(world.root(), &moved).unwrap();
    let run = |args: &[&str]| {
        let mut command = world.bundler(args);
        command.env("POINTCEPT_BUNDLER_ROOT", &moved);
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    run(&["verify"]);
    assert!(run(&["where"]).starts_with(moved.to_str().unwrap()));
    run(&["rollback"]);
    assert!(moved.join("current/src/app/version.py").is_file());
    run(&["remove", "2.0"]);
    run(&["gc"]);
    run(&["verify"]);
}

#[test]
fn run_and_env_make_a_command_use_the_bundle() {
    let world = World::new();
    let tree = world.install(&world.bundle("1.0"));
    let extra = world.path("extra");
    std::fs::create_dir(&extra).unwrap();
    let out = world
        .bundler(&["run", "--overlay", extra.to_str().unwrap(), "--"])
        .args([
            "sh",
            "-c",
            "echo \"$SEEN $POINTCEPT_OVERLAY $1\"; exit 7",
            "x",
            "a b",
        ])
        .env("ROOT_OF_TEST", &tree)
        .assert()
        .code(7)
        .get_output()
        .clone();
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(text, format!("yes {} a b\n", extra.display()));
    let text = world.fails(2, &["run", "--overlay", "/nonexistent", "true"]);
    assert!(
        text.contains("--overlay /nonexistent: there is no such folder"),
        "{text}"
    );

    let line = world.ok(&["env"]);
    let shown = Command::new("/bin/sh")
        .arg("-c")
        .arg("eval \"$0\"; echo \"$SEEN\"")
        .arg(line)
        .env("ROOT_OF_TEST", &tree)
        .env_remove("SEEN")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap(), "yes\n");
}
