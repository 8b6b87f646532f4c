//! `install URL`: a plain server with and without ranges, one that breaks, one that changes its file; bytes are counted
//! by the server.

use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bundler::formats::component::Layer;

use super::world::World;
use crate::fault_server::{Asked, FaultServer, Reply};
use crate::synthetic::{component, file, noise};

const NAME: &str = "/pub/pointcept-runtime-amd64-cu130.tar.zst";

/// What any static server answers.
pub fn ranges(asked: &Asked, body: &[u8], etag: &str) -> Reply {
    let range = asked.header("range").and_then(|value| {
        let (from, to) = value.strip_prefix("bytes=")?.split_once('-')?;
        Some((from.parse::<usize>().ok()?, to.parse::<usize>().ok()?))
    });
    let same = asked.header("if-range").is_none_or(|e| e == etag);
    match range {
        Some((from, to)) if same && from < body.len() => {
            let to = to.min(body.len() - 1);
            let mut reply = Reply::ok(&body[from..=to]);
            reply.status = 206;
            let range = format!("bytes {from}-{to}/{}", body.len());
            reply.with("content-range", &range).with("etag", etag)
        }
        _ => Reply::ok(body).with("etag", etag),
    }
}

fn serve(bytes: Vec<u8>) -> FaultServer {
    FaultServer::start(move |asked| ranges(asked, &bytes, "\"one\""))
}

#[test]
fn a_new_version_fetches_only_the_components_that_changed() {
    let world = World::new();
    let change = |parts: &mut Vec<_>, seed| {
        let dir = world.path(&format!("wheel-{seed}"));
        std::fs::create_dir_all(&dir).unwrap();
        let big = vec![file("python/lib/site/big.bin", 0o644, noise(5, 6_000_000))];
        let small = vec![file("python/lib/site/wheel.py", 0o644, noise(seed, 20_000))];
        parts.push(component(&dir, "big", Layer::App, big));
        parts.push(component(&dir, "wheel", Layer::App, small));
    };
    let one = world.bundle_of("1.0", |parts| change(parts, 1));
    let two = world.bundle_of("2.0", |parts| change(parts, 1));
    let three = world.bundle_of("3.0", |parts| change(parts, 3));
    world.install(&one);
    let fetched = |bundle: &bundler::build::pack::PackedBundle| {
        let bytes = std::fs::read(&bundle.path).unwrap();
        let len = bytes.len();
        let server = serve(bytes);
        let out = world.ok(&["install", &server.url(NAME)]);
        (out, server.sent(), len)
    };
    // The two ends of the file are asked for before anything is known.
    let edges = 2 * (64 << 10);
    let (text, sent, len) = fetched(&two);
    assert!(text.contains("1 components written"), "{text}");
    assert!(
        sent < edges + 40_000,
        "{sent} of {len} for the source alone"
    );
    let (text, sent, len) = fetched(&three);
    assert!(text.contains("2 components written"), "{text}");
    assert!(
        sent < edges + 60_000,
        "{sent} of {len} for one wheel and the source"
    );
    world.ok(&["verify"]);
    assert_eq!(
        std::fs::read_dir(world.root().join("downloads"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn without_ranges_the_whole_file_comes_and_that_is_said() {
    let world = World::new();
    let bytes = std::fs::read(world.bundle("1.0").path).unwrap();
    let server = FaultServer::start(move |_| Reply::ok(&bytes[..]));
    let out = world
        .bundler(&["install", &server.url(NAME)])
        .assert()
        .success()
        .get_output()
        .clone();
    let text = String::from_utf8(out.stderr).unwrap();
    assert!(
        text.contains("does not serve parts of files: fetching all of it"),
        "{text}"
    );
    world.ok(&["verify"]);
}

#[test]
fn many_breaks_are_survived_and_little_is_fetched_twice() {
    let world = World::new();
    let bytes = std::fs::read(world.bundle("1.0").path).unwrap();
    let len = bytes.len();
    let breaks = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&breaks);
    let server = FaultServer::start(move |asked| {
        let reply = ranges(asked, &bytes, "\"one\"");
        if reply.body.len() > 8000 && seen.fetch_add(1, Ordering::SeqCst) < 40 {
            return reply.cut(7000);
        }
        reply
    });
    world.ok(&["install", &server.url(NAME)]);
    assert!(breaks.load(Ordering::SeqCst) >= 20);
    let most = len + 3 * (64 << 10);
    assert!(server.sent() <= most, "{} of {len}", server.sent());
    world.ok(&["verify"]);
}

#[test]
fn a_killed_download_goes_on_where_it_was() {
    let world = World::new();
    let bundle = world.bundle_of("1.0", |parts| {
        let dir = world.path("big");
        std::fs::create_dir(&dir).unwrap();
        let big = vec![file("python/lib/site/big.bin", 0o644, noise(9, 12_000_000))];
        parts.push(component(&dir, "big", Layer::App, big));
    });
    let bytes = std::fs::read(&bundle.path).unwrap();
    let len = bytes.len();
    let slow = Arc::new(AtomicBool::new(true));
    let is_slow = Arc::clone(&slow);
    let server = FaultServer::start(move |asked| {
        let mut reply = ranges(asked, &bytes, "\"one\"");
        if is_slow.load(Ordering::SeqCst) && reply.body.len() > 100_000 {
            reply.rate = Some((64 << 10, Duration::from_millis(20)));
        }
        reply
    });
    let mut first = Process::new(assert_cmd::cargo::cargo_bin("bundler"))
        .env_clear()
        .env("POINTCEPT_BUNDLER_ROOT", world.root())
        .args(["install", &server.url(NAME)])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let half = len / 2;
    for _ in 0..2000 {
        if server.sent() > half {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let before = server.sent();
    assert!(before > half);
    slow.store(false, Ordering::SeqCst);
    world.ok(&["install", &server.url(NAME)]);
    let again = before + (server.sent() - before) - len;
    // The ends are asked for again; what was on its way when the process died is lost.
    let lost = again.saturating_sub(2 * (64 << 10));
    assert!(
        lost < before / 20 + (512 << 10),
        "{lost} of {before} bytes came twice"
    );
    world.ok(&["verify"]);
}

#[test]
fn a_server_that_lies_or_changes_the_file_yields_no_bundle() {
    let world = World::new();
    let good = std::fs::read(world.bundle("1.0").path).unwrap();
    let other = std::fs::read(world.bundle("2.0").path).unwrap();
    type Answer = Box<dyn Fn(&Asked) -> Reply + Send + Sync>;
    let body = good.clone();
    let flipped: Answer = Box::new(move |asked| {
        let mut reply = ranges(asked, &body, "\"one\"");
        if reply.body.len() > 10 && asked.nth > 2 {
            let middle = reply.body.len() / 2;
            reply.body[middle] ^= 1;
        }
        reply
    });
    let body = good.clone();
    let changes: Answer = Box::new(move |asked| match asked.nth {
        0..=2 => ranges(asked, &body, "\"one\""),
        _ => ranges(asked, &other, "\"two\""),
    });
    let body = good.clone();
    let elsewhere: Answer = Box::new(move |asked| {
        let mut reply = ranges(asked, &body, "\"one\"");
        for (name, value) in &mut reply.headers {
            if name == "content-range" && asked.nth > 0 {
                *value = format!("bytes 5-9/{}", body.len());
            }
        }
        reply
    });
    let missing: Answer = Box::new(|_| Reply::status(404));
    for (what, answer) in [
        ("flipped", flipped),
        ("changes", changes),
        ("elsewhere", elsewhere),
        ("missing", missing),
    ] {
        let server = FaultServer::start(answer);
        let text = world.fails(2, &["install", &server.url(NAME)]);
        assert!(text.starts_with("error: "), "{what}: {text}");
        assert!(world.ok(&["list"]).starts_with("nothing"), "{what}");
    }
    // What those left behind does no harm.
    let server = serve(good);
    world.ok(&["install", &server.url(NAME)]);
    world.ok(&["verify"]);
    let text = world.fails(2, &["--offline", "install", "http://127.0.0.1:9/x.tar.zst"]);
    assert!(text.contains("--offline"), "{text}");
}
