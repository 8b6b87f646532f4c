//! Transfers: kept over disconnects, begun anew where they cannot be continued, never wrong (C61, C62, P18, P19).

use std::time::Duration;

use super::{all_files, assert_blobs_are_right, at, chain, config, fetcher, hasty, noise};
use crate::fault_server::{FaultServer, Reply};
use bundler::base::progress::Progress;
use bundler::build::fetch::Fetcher;

#[test]
fn c61_fifty_disconnects_are_survived_and_no_byte_comes_twice() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(55 * 4096);
    let content = body.clone();
    let server = FaultServer::start(move |asked| Reply::file(asked, &content, "\"1\"").cut(4096));
    let fetched = fetcher(dir.path())
        .one(&at(&server.url("/x.whl"), &body))
        .unwrap();
    assert_eq!(std::fs::read(fetched.path()).unwrap(), body);
    assert!(server.count("/x.whl") > 50, "{}", server.count("/x.whl"));
    assert_eq!(server.sent(), body.len());
    assert!(all_files(&dir.path().join("partial")).is_empty());
}

#[test]
fn c61_a_new_process_goes_on_where_the_last_one_gave_up() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(200_000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| match asked.range() {
        None => Reply::file(asked, &content, "\"1\"").cut(150_000),
        Some(_) if asked.nth < 6 => Reply::status(503),
        Some(_) => Reply::file(asked, &content, "\"1\""),
    });
    let order = at(&server.url("/x.whl"), &body);
    let error = fetcher(dir.path()).one(&order).unwrap_err();
    assert!(chain(&error).contains("answered 503"), "{}", chain(&error));
    let fetched = fetcher(dir.path()).one(&order).unwrap();
    assert_eq!(std::fs::read(fetched.path()).unwrap(), body);
    assert_eq!(server.sent(), body.len());
    let last = server.asked().pop().unwrap();
    assert_eq!(last.header("if-range"), Some("\"1\""));
}

#[test]
fn p18_a_silent_server_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|_| Reply::silent());
    let error = fetcher(dir.path())
        .one(&at(&server.url("/x.whl"), b"abc"))
        .unwrap_err();
    assert!(
        chain(&error).contains("sent nothing for"),
        "{}",
        chain(&error)
    );
    assert!(
        (2..=6).contains(&server.count("/")),
        "{}",
        server.count("/")
    );
    assert!(all_files(dir.path()).is_empty());
}

#[test]
fn p18_a_body_that_stops_for_good_is_given_up_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(10_000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| {
        let mut reply =
            Reply::file(asked, &content, "\"1\"").cut(if asked.nth == 0 { 7000 } else { 0 });
        reply.hang = true;
        reply
    });
    let error = fetcher(dir.path())
        .one(&at(&server.url("/x.whl"), &body))
        .unwrap_err();
    assert!(chain(&error).contains("sent nothing"), "{}", chain(&error));
    let kept = all_files(&dir.path().join("partial"));
    assert_eq!(std::fs::metadata(&kept[0]).unwrap().len(), 7000);
}

#[test]
fn c62_a_server_without_ranges_may_send_the_whole_again() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(20_000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| {
        let reply = Reply::ok(content.clone());
        if asked.nth == 0 {
            reply.cut(15_000)
        } else {
            reply
        }
    });
    let fetched = fetcher(dir.path())
        .one(&at(&server.url("/x.whl"), &body))
        .unwrap();
    assert_eq!(std::fs::read(fetched.path()).unwrap(), body);
    // The one with Range that was answered by the whole is not read: another is asked without Range.
    assert_eq!(server.count("/x.whl"), 3);
}

#[test]
fn c62_a_server_that_always_begins_anew_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(20_000);
    let content = body.clone();
    let server = FaultServer::start(move |_| Reply::ok(content.clone()).cut(15_000));
    let error = fetcher(dir.path())
        .one(&at(&server.url("/x.whl"), &body))
        .unwrap_err();
    assert!(
        chain(&error).contains("begins anew each time"),
        "{}",
        chain(&error)
    );
    assert!(server.count("/") <= 14, "{}", server.count("/"));
}

/// First 9,000 honest bytes, then what `lie` says to the request that continues; honest without Range.
fn after_a_cut(lie: impl Fn(&[u8]) -> Reply + Send + Sync + 'static) {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(20_000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| match asked.range() {
        None if asked.nth == 0 => Reply::file(asked, &content, "\"1\"").cut(9000),
        None => Reply::file(asked, &content, "\"1\""),
        Some(_) => lie(&content),
    });
    let fetched = fetcher(dir.path())
        .one(&at(&server.url("/x.whl"), &body))
        .unwrap();
    assert_eq!(std::fs::read(fetched.path()).unwrap(), body);
    assert_blobs_are_right(dir.path());
}

fn part(body: &[u8], range: &str) -> Reply {
    let mut reply = Reply::ok(body).with("content-range", range);
    reply.status = 206;
    reply
}

#[test]
fn c62_another_part_than_was_asked_for_is_not_glued() {
    after_a_cut(|body| part(&body[5000..], "bytes 5000-19999/20000"));
}

#[test]
fn c62_a_part_that_does_not_say_where_it_belongs_is_not_glued() {
    after_a_cut(|body| {
        let mut reply = Reply::ok(&body[9000..]);
        reply.status = 206;
        reply
    });
}

#[test]
fn c62_a_part_of_another_size_is_not_glued() {
    after_a_cut(|body| part(&body[9000..], "bytes 9000-19999/20001"));
}

#[test]
fn c62_a_changed_file_is_not_glued_by_a_server_that_ignores_if_range() {
    after_a_cut(|body| {
        let other: Vec<u8> = body[9000..].iter().map(|b| b ^ 1).collect();
        part(&other, "bytes 9000-19999/20000").with("etag", "\"2\"")
    });
}

#[test]
fn c62_a_part_with_other_bytes_is_found_by_its_digest() {
    after_a_cut(|body| {
        let other: Vec<u8> = body[9000..].iter().map(|b| b ^ 1).collect();
        part(&other, "bytes 9000-19999/20000").with("etag", "\"1\"")
    });
}

#[test]
fn c62_a_refused_range_begins_anew() {
    after_a_cut(|_| Reply::status(416).with("content-range", "bytes */8000"));
    after_a_cut(|_| Reply::status(416));
}

#[test]
fn c62_a_file_that_changed_to_the_wanted_one_is_taken_whole() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(20_000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| {
        if asked.nth == 0 {
            let old: Vec<u8> = content.iter().map(|b| b ^ 1).collect();
            return Reply::file(asked, &old, "\"old\"").cut(9000);
        }
        Reply::file(asked, &content, "\"new\"")
    });
    let fetched = fetcher(dir.path())
        .one(&at(&server.url("/x.whl"), &body))
        .unwrap();
    assert_eq!(std::fs::read(fetched.path()).unwrap(), body);
}

#[test]
fn p19_wrong_bytes_never_become_a_blob() {
    let body = noise(20_000);
    let mut flipped = body.clone();
    flipped[10_000] ^= 1;
    let mut longer = body.clone();
    longer.push(0);
    let short = body[..19_000].to_vec();
    let unmeasured = |mut reply: Reply| {
        reply.unmeasured = true;
        reply
    };
    let replies = [
        ("sha256", Reply::ok(flipped)),
        ("20001 bytes instead of 20000", Reply::ok(longer.clone())),
        ("more than", unmeasured(Reply::ok(longer))),
        ("19000 bytes instead of 20000", Reply::ok(short.clone())),
        ("19000 of 20000 bytes came", unmeasured(Reply::ok(short))),
        ("a part where the whole", part(&body, "bytes 0-19999/20000")),
    ];
    for (what, reply) in replies {
        let dir = tempfile::tempdir().unwrap();
        let content = reply.clone();
        // Without ranges, so that each try sees the same.
        let server = FaultServer::start(move |asked| match asked.range() {
            None => content.clone(),
            Some(_) => Reply::status(416),
        });
        let result = fetcher(dir.path()).one(&at(&server.url("/x.whl"), &body));
        let text = chain(&result.expect_err(what));
        assert!(
            text.contains(what) || text.contains("begins anew"),
            "{what}: {text}"
        );
        assert!(all_files(&dir.path().join("blobs")).is_empty(), "{what}");
        assert!(server.count("/") <= 14, "{what}: {}", server.count("/"));
    }
}

#[test]
fn a_length_that_is_a_lie_is_a_broken_body() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(20_000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| {
        let mut reply = Reply::file(asked, &content, "\"1\"");
        if asked.nth == 0 {
            reply.body.truncate(12_000);
            reply.claimed = Some(20_000);
        }
        reply
    });
    let fetched = fetcher(dir.path())
        .one(&at(&server.url("/x.whl"), &body))
        .unwrap();
    assert_eq!(std::fs::read(fetched.path()).unwrap(), body);
    assert_eq!(server.sent(), 20_000);
}

#[test]
fn an_unknown_size_is_taken_from_the_server_and_the_digest_decides() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(20_000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| Reply::file(asked, &content, "\"1\"").cut(8000));
    let mut order = at(&server.url("/x.whl"), &body);
    order.size = None;
    let fetched = fetcher(dir.path()).one(&order).unwrap();
    assert_eq!((fetched.size(), fetched.digest()), (20_000, order.sha256));
}

#[test]
fn the_servers_wish_for_a_pause_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|asked| match asked.nth {
        0 => Reply::status(429).with("retry-after", "1"),
        1 => Reply::status(503),
        _ => Reply::ok("abc"),
    });
    fetcher(dir.path())
        .one(&at(&server.url("/x.whl"), b"abc"))
        .unwrap();
    assert_eq!(server.count("/"), 3);
    // The same as a date, which is measured from the answer's own.
    let server = FaultServer::start(|asked| match asked.nth {
        0 => Reply::status(503)
            .with("date", "Sun, 06 Nov 1994 08:49:37 GMT")
            .with("retry-after", "Sun, 06 Nov 1994 08:49:38 GMT"),
        _ => Reply::ok("abe"),
    });
    let begin = std::time::Instant::now();
    fetcher(dir.path())
        .one(&at(&server.url("/d.whl"), b"abe"))
        .unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(1));
    let server = FaultServer::start(|_| {
        Reply::status(503)
            .with("date", "Sun, 06 Nov 1994 08:49:37 GMT")
            .with("retry-after", "Sun, 06 Nov 1994 09:49:37 GMT")
    });
    fetcher(dir.path())
        .one(&at(&server.url("/l.whl"), b"abf"))
        .unwrap_err();
    assert_eq!(server.count("/"), 1);
    // One that asks for more than our patience ends the transfer at once.
    let server = FaultServer::start(|_| Reply::status(429).with("retry-after", "3600"));
    let error = fetcher(dir.path())
        .one(&at(&server.url("/y.whl"), b"abd"))
        .unwrap_err();
    assert_eq!(server.count("/"), 1);
    assert!(error.hint().unwrap().contains("later"));
}

#[test]
fn a_refusal_is_not_asked_again() {
    for status in [400, 401, 403, 404, 410] {
        let dir = tempfile::tempdir().unwrap();
        let server = FaultServer::start(move |_| Reply::status(status));
        let error = fetcher(dir.path())
            .one(&at(&server.url("/x.whl"), b"abc"))
            .unwrap_err();
        assert_eq!(server.count("/"), 1, "{status}");
        let text = chain(&error);
        assert!(text.starts_with("could not fetch thing 1\n"), "{text}");
        assert!(
            text.contains(&format!("/x.whl answered {status}")),
            "{text}"
        );
    }
}

#[test]
fn nobody_at_the_other_end_is_an_error_soon() {
    let dir = tempfile::tempdir().unwrap();
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let error = fetcher(dir.path())
        .one(&at(&format!("http://127.0.0.1:{port}/x.whl"), b"abc"))
        .unwrap_err();
    let text = chain(&error);
    assert!(
        text.contains("could not connect to http://127.0.0.1"),
        "{text}"
    );
    assert!(text.to_lowercase().contains("connection refused"), "{text}");
}

#[test]
fn c73_no_byte_is_asked_for_that_has_no_room() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|_| Reply::ok("abc"));
    let mut order = at(&server.url("/x.whl"), b"abc");
    order.size = Some(1 << 60);
    let error = fetcher(dir.path()).one(&order).unwrap_err();
    let text = chain(&error);
    assert!(
        text.contains("bytes free, 1152921504606846976 are needed"),
        "{text}"
    );
    assert!(error.hint().unwrap().contains("--cache-dir"));
    assert_eq!(server.connections(), 0);
    assert!(all_files(dir.path()).is_empty());
}

#[test]
fn p17_a_cache_that_cannot_be_made_is_said_clearly() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let server = FaultServer::start(|_| Reply::ok("abc"));
    let error = fetcher(&file.join("cache"))
        .one(&at(&server.url("/x.whl"), b"abc"))
        .unwrap_err();
    let text = chain(&error);
    assert!(text.contains("cannot be used"), "{text}");
    assert!(error.hint().unwrap().contains("--cache-dir DIR"));
}

#[test]
fn slow_is_not_silent() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(40);
    let content = body.clone();
    let server = FaultServer::start(move |_| {
        let mut reply = Reply::ok(content.clone());
        reply.rate = Some((1, Duration::from_millis(60)));
        reply
    });
    // 40 pieces take longer than `give_up` allows without progress.
    let mut http = hasty();
    http.give_up = Duration::from_secs(1);
    let fetcher = Fetcher::new(config(dir.path(), http), Progress::silent());
    fetcher.one(&at(&server.url("/x.whl"), &body)).unwrap();
    assert_eq!(server.count("/"), 1);
}
