//! The cache: checked at each use, healed, shared by processes, kept over kill -9 (C70, C71, P4, P14–P16).

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Notes, all_files, assert_blobs_are_right, at, config, fetcher, hasty, noise, order};
use crate::fault_server::{FaultServer, Reply};
use bundler::base::digest::Digest;
use bundler::base::progress::Progress;
use bundler::build::fetch::{Fetcher, Place};

#[test]
fn a_place_that_is_given_up_is_a_warning_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(3000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| match asked.target.as_str() {
        "/x.whl" => Reply::ok(content.clone()),
        _ => Reply::status(404),
    });
    let mut order = at(&server.url("/gone.whl"), &body);
    order.places.extend(at(&server.url("/x.whl"), &body).places);
    let notes = Notes::default();
    let fetcher = Fetcher::new(config(dir.path(), hasty()), Progress::new(notes.clone()));
    fetcher.one(&order).unwrap();
    let said = notes.0.lock().unwrap().clone();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("warning: thing 1: "), "{said:?}");
    assert!(
        said[0].contains("404") && said[0].ends_with("; looking elsewhere"),
        "{said:?}"
    );
}

#[test]
fn p4_a_blob_is_taken_from_the_cache_and_a_bad_one_fetched_once_more() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(3000);
    let content = body.clone();
    let server = FaultServer::start(move |_| Reply::ok(content.clone()));
    let order = at(&server.url("/x.whl"), &body);
    let path = fetcher(dir.path()).one(&order).unwrap().path().to_owned();
    fetcher(dir.path()).one(&order).unwrap();
    assert_eq!(server.count("/"), 1);
    // C71: cut to nothing; and one bit changed.
    let mut flipped = body.clone();
    flipped[2000] ^= 1;
    for (damage, asked) in [(Vec::new(), 2), (flipped, 3)] {
        std::fs::write(&path, damage).unwrap();
        let notes = Notes::default();
        let fetcher = Fetcher::new(config(dir.path(), hasty()), Progress::new(notes.clone()));
        let blob = fetcher.one(&order).unwrap();
        assert_eq!(std::fs::read(blob.path()).unwrap(), body);
        assert_eq!(server.count("/"), asked);
        let said = notes.0.lock().unwrap()[0].clone();
        assert!(
            said.starts_with("warning: ") && said.contains("was damaged"),
            "{said}"
        );
    }
    assert_blobs_are_right(dir.path());
}

#[test]
fn p1_a_size_that_is_not_the_locks_is_an_error_even_for_a_cached_blob() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|_| Reply::ok("abc"));
    let mut order = at(&server.url("/x.whl"), b"abc");
    fetcher(dir.path()).one(&order).unwrap();
    order.size = Some(4);
    let error = fetcher(dir.path()).one(&order).unwrap_err();
    assert!(super::chain(&error).contains("3 bytes instead of 4"));
}

#[test]
fn p16_many_at_once_ask_for_a_file_once() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(60_000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| {
        let mut reply = Reply::file(asked, &content, "\"1\"");
        reply.rate = Some((3000, Duration::from_millis(10)));
        reply
    });
    let order = at(&server.url("/x.whl"), &body);
    let notes = Notes::default();
    std::thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(|| {
                let mut http = hasty();
                // Only a file that does not grow makes a waiting one lose patience.
                http.give_up = Duration::from_secs(20);
                let progress = Progress::new(notes.clone());
                let fetched = Fetcher::new(config(dir.path(), http), progress)
                    .one(&order)
                    .unwrap();
                assert_eq!(std::fs::read(fetched.path()).unwrap(), body);
            });
        }
    });
    assert_eq!(server.count("/"), 1);
    let notes = notes.0.lock().unwrap();
    assert_eq!(notes.len(), 4, "{notes:?}");
    assert!(
        notes[0].contains("waiting for another process"),
        "{notes:?}"
    );
}

#[test]
fn p16_a_lock_that_is_held_for_ever_does_not_stop_us() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|_| Reply::ok("abc"));
    let order = at(&server.url("/x.whl"), b"abc");
    let partial = dir.path().join("partial").join(order.sha256.to_string());
    std::fs::create_dir_all(partial.parent().unwrap()).unwrap();
    let held = std::fs::File::create(&partial).unwrap();
    held.lock().unwrap();
    let mut http = hasty();
    http.give_up = Duration::from_millis(300);
    let fetcher = Fetcher::new(config(dir.path(), http), Progress::silent());
    fetcher.one(&order).unwrap();
}

#[test]
fn many_come_as_they_are_done_and_dropping_stops_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|asked| Reply::ok(asked.target.clone()));
    let orders: Vec<_> = (0..40)
        .map(|n| {
            let url = server.url(&format!("/{n}"));
            let place = Place::Url(url.parse().unwrap());
            order(&format!("{n}.whl"), format!("/{n}").as_bytes(), place)
        })
        .collect();
    let mut seen: Vec<usize> = fetcher(dir.path())
        .many(orders.clone())
        .map(|(number, fetched)| {
            assert_eq!(fetched.unwrap().file(), format!("{number}.whl"));
            number
        })
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..40).collect::<Vec<_>>());
    let before = server.connections();
    let other = tempfile::tempdir().unwrap();
    let mut some = fetcher(other.path()).many(orders);
    assert!(some.next().is_some());
    drop(some);
    std::thread::sleep(Duration::from_millis(300));
    assert!(server.connections() - before < 40);
    let stopped = server.connections();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.connections(), stopped);
}

#[test]
fn one_that_fails_does_not_hide_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/bad" => Reply::status(404),
        _ => Reply::ok("abc"),
    });
    let orders = vec![
        at(&server.url("/bad"), b"abd"),
        at(&server.url("/good"), b"abc"),
    ];
    let mut results: Vec<_> = fetcher(dir.path()).many(orders).collect();
    results.sort_by_key(|(number, _)| *number);
    assert!(results[0].1.is_err() && results[1].1.is_ok());
}

/// A folder with a recipe that wants one wheel of an index at `url`, and its lock.
fn project(dir: &Path, url: &str, bytes: &[u8]) {
    let recipe = format!(
        "name = \"small\"\nversion = \"1\"\npython = \"3.12\"\n\
         [[interpreter]]\nkind = \"path\"\nversion = \"3.12.1\"\npath = {{ amd64 = \"py.tar.gz\" }}\nsha256 = {{ amd64 = \"{0}\" }}\n\
         [index.idx]\nkind = \"simple\"\nurl = \"{url}\"\n\
         [[packages]]\nindex = \"idx\"\nrequire = [\"thing==1\"]\n\
         [target.amd64-cu130]\n",
        Digest::of(b"python")
    );
    std::fs::write(dir.join("small.toml"), recipe).unwrap();
    std::fs::write(dir.join("py.tar.gz"), b"python").unwrap();
    let recipe = bundler::build::recipe::Recipe::find("./small.toml", dir).unwrap();
    let wanted = recipe.wanted("amd64-cu130".parse().unwrap()).unwrap();
    let lock = format!(
        "schema_version = 1\nrecipe = \"small\"\nrecipe_digest = \"{}\"\ntarget = \"amd64-cu130\"\npython = \"3.12\"\nuv = \"0.9.0\"\n\
         [[interpreter]]\nsource = \"path\"\narch = \"amd64\"\nversion = \"3.12.1\"\nfile = \"py.tar.gz\"\nsha256 = \"{}\"\n\
         [[wheel]]\nname = \"thing\"\nversion = \"1\"\nfile = \"thing-1-py3-none-any.whl\"\nsha256 = \"{}\"\nsize = {}\nindex = \"idx\"\nlayer = \"app\"\n",
        wanted.digest(),
        Digest::of(b"python"),
        Digest::of(bytes),
        bytes.len()
    );
    std::fs::write(dir.join("small.amd64-cu130.lock.toml"), lock).unwrap();
}

fn bundler(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundler"));
    command
        .args(["fetch", "amd64-cu130", "--recipe", "./small.toml"])
        .args(["--cache-dir", "cache", "--no-progress"])
        .current_dir(dir)
        .env_clear()
        .env("HOME", dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "{what} did not come"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn p15_what_a_killed_process_received_is_not_fetched_again() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(4_000_000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| {
        if asked.target == "/s/thing/" {
            return Reply::html("<a href='thing-1-py3-none-any.whl'>x</a>");
        }
        let mut reply = Reply::file(asked, &content, "\"1\"");
        // Slow at first, so that it can be killed on the way.
        if asked.nth < 2 {
            reply.rate = Some((40_000, Duration::from_millis(20)));
        }
        reply
    });
    project(dir.path(), &server.url("/s"), &body);
    let partial = dir
        .path()
        .join("cache/partial")
        .join(Digest::of(&body).to_string());
    let received = || std::fs::metadata(&partial).map_or(0, |m| m.len());
    let mut before = 0;
    for _ in 0..2 {
        let child = bundler(dir.path()).spawn().unwrap();
        wait_for("a million bytes", || received() >= before + 1_000_000);
        kill(child);
        assert!(received() >= before + 1_000_000);
        before = received();
    }
    let output = bundler(dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let wheel = |a: &&crate::fault_server::Asked| a.target.contains("/thing-1-");
    let asked = server.asked();
    let starts: Vec<_> = asked
        .iter()
        .filter(wheel)
        .map(|a| a.range().unwrap_or(0))
        .collect();
    assert_eq!(starts.len(), 3);
    // Each process went on exactly where the file ended: nothing that had been received was asked for again.
    assert_eq!(starts[2] as u64, before);
    assert!(starts[1] >= 1_000_000);
    assert_blobs_are_right(&dir.path().join("cache"));
    assert!(all_files(&dir.path().join("cache/partial")).is_empty());
}

#[test]
fn p16_processes_share_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(400_000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| {
        if asked.target == "/s/thing/" {
            return Reply::html("<a href='thing-1-py3-none-any.whl'>x</a>");
        }
        let mut reply = Reply::file(asked, &content, "\"1\"");
        reply.rate = Some((20_000, Duration::from_millis(10)));
        reply
    });
    project(dir.path(), &server.url("/s"), &body);
    let children: Vec<_> = (0..4)
        .map(|_| bundler(dir.path()).spawn().unwrap())
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
    }
    assert_eq!(server.count("/s/thing/thing-1"), 1);
    assert_blobs_are_right(&dir.path().join("cache"));
}

#[test]
fn p20_the_command_opens_no_socket_when_offline() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|_| Reply::ok("abc"));
    project(dir.path(), &server.url("/s"), b"abc");
    let output = bundler(dir.path()).arg("--offline").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("error: could not fetch thing 1\n"), "{said}");
    assert!(
        said.contains("\nhint: run once without --offline"),
        "{said}"
    );
    assert_eq!(server.connections(), 0);
}

#[test]
fn the_cache_can_be_looked_at_verified_and_pruned() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/s/thing/" => Reply::html("<a href='thing-1-py3-none-any.whl'>x</a>"),
        _ => Reply::ok("abc"),
    });
    project(dir.path(), &server.url("/s"), b"abc");
    assert!(bundler(dir.path()).output().unwrap().status.success());
    let cache = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_bundler"))
            .args(["cache", "--cache-dir", "cache", "--no-progress"])
            .args(arguments)
            .current_dir(dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said)
    };
    assert!(cache(&["dir"]).1.ends_with("/cache\n"));
    let (_, said) = cache(&["size"]);
    assert!(said.contains("artifacts       2       9 B"), "{said}");
    assert_eq!(
        cache(&["verify"]),
        (Some(0), "checked 2, damaged 0\n".to_owned())
    );
    let blob = all_files(&dir.path().join("cache/blobs")).remove(0);
    std::fs::write(&blob, b"abd").unwrap();
    let (code, said) = cache(&["verify"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("error[cache-damaged]"), "{said}");
    let (code, said) = cache(&["prune"]);
    assert_eq!(code, Some(0), "{said}");
    // The damaged copy is gone; the other artifact and the page are in use.
    let left = all_files(&dir.path().join("cache"));
    assert_eq!(left.len(), 2, "{left:?}");
    cache(&["prune", "--all"]);
    assert!(all_files(&dir.path().join("cache")).is_empty());
}
