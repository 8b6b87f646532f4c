//! Finding a file by name: simple pages in both forms, find-links, release pages, folders (C38, C40, C41, C43, C49–C53,
//! C67, C68), and interpreter sources one after the other.

use std::path::Path;

use super::{aliased, all_files, at, chain, config, hasty, noise, on_index, order};
use crate::fault_server::{FaultServer, Reply};
use bundler::base::digest::Digest;
use bundler::base::http::Credentials;
use bundler::base::progress::Progress;
use bundler::build::fetch::{
    FetchConfig, FetchError, Fetched, Fetcher, MavenArtifact, Order, Place, write_mirror,
};
use bundler::formats::simple_index::Row;

const FILE: &str = "thing-1+cu130-py3-none-any.whl";

fn take(config: FetchConfig, order: &Order) -> Result<Fetched, FetchError> {
    Fetcher::new(config, Progress::silent()).one(order)
}

/// Takes `FILE` from an index at `path` of a server.
fn from(server: &FaultServer, path: &str) -> Result<Fetched, FetchError> {
    let dir = tempfile::tempdir().unwrap();
    let fetched = take(
        aliased(dir.path(), "idx", &server.url(path)),
        &on_index(FILE, b"wheel"),
    )?;
    assert_eq!(std::fs::read(fetched.path()).unwrap(), b"wheel");
    Ok(fetched)
}

#[test]
fn finds_a_file_on_a_json_page_and_on_an_html_page() {
    let sha = Digest::of(b"wheel");
    let json = format!(
        r#"{{"meta": {{"api-version": "1.1"}}, "name": "thing", "files": [
        {{"filename": "{FILE}", "url": "/f/thing-1%2Bcu130-py3-none-any.whl", "hashes": {{"sha256": "{sha}"}}}}]}}"#
    );
    let html = format!("<a href='/f/thing-1%2Bcu130-py3-none-any.whl#sha256={sha}'>x</a>");
    for (kind, page) in [
        ("application/vnd.pypi.simple.v1+json", json),
        ("text/html", html),
    ] {
        let server = FaultServer::start(move |asked| match asked.target.as_str() {
            "/simple/thing/" => Reply::ok(page.clone()).with("content-type", kind),
            "/f/thing-1%2Bcu130-py3-none-any.whl" => Reply::ok("wheel"),
            _ => Reply::status(404),
        });
        let fetched = from(&server, "/simple").unwrap();
        assert_eq!(fetched.file(), FILE);
        let accept = server.asked()[0].header("accept").unwrap().to_owned();
        assert!(
            accept.starts_with("application/vnd.pypi.simple.v1+json"),
            "{accept}"
        );
    }
}

#[test]
fn c49_links_are_resolved_where_a_redirect_ended() {
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/simple/thing/" => Reply::redirect("/index/thing/"),
        "/index/thing/" => Reply::html(format!("<a href='{FILE}'>x</a>")),
        "/index/thing/thing-1+cu130-py3-none-any.whl" => Reply::ok("wheel"),
        _ => Reply::status(404),
    });
    from(&server, "/simple").unwrap();
}

#[test]
fn c50_a_page_is_asked_for_without_an_added_slash() {
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/whl/cu130/torch_stable.html" => Reply::html(format!("<a href='../t/{FILE}'>x</a>")),
        "/whl/t/thing-1+cu130-py3-none-any.whl" => Reply::ok("wheel"),
        _ => Reply::status(404),
    });
    from(&server, "/whl/cu130/torch_stable.html").unwrap();
}

#[test]
fn c52_a_name_is_decoded_once() {
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/s/thing/" => Reply::html("<a href='/f/thing-1%252Bcu130-py3-none-any.whl'>x</a>"),
        _ => Reply::ok("wheel"),
    });
    let text = chain(&from(&server, "/s").unwrap_err());
    assert!(
        text.contains("near names there: thing-1%2Bcu130-py3-none-any.whl"),
        "{text}"
    );
}

#[test]
fn c53_a_release_page_is_read_through_its_list_of_assets() {
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/o/r/releases/expanded_assets/v1" => Reply::html(
            "<a href='/o/r/releases/download/v1/thing-1%2Bcu130-py3-none-any.whl'>x</a>",
        ),
        "/o/r/releases/download/v1/thing-1%2Bcu130-py3-none-any.whl" => Reply::ok("wheel"),
        _ => Reply::html("<p>assets are loaded lazily</p>"),
    });
    from(&server, "/o/r/releases/tag/v1").unwrap();
    from(&server, "/o/r/releases/expanded_assets/v1").unwrap();
}

#[test]
fn c53_the_rest_form_of_a_release_is_read_too() {
    let server = FaultServer::start(|asked| {
        match asked.target.as_str() {
        "/repos/o/r/releases/tags/v1" => Reply::ok(format!(
            r#"{{"assets": [{{"name": "{FILE}", "size": 5, "browser_download_url": "/d/thing-1%2Bcu130-py3-none-any.whl"}}]}}"#
        ))
        .with("content-type", "application/json"),
        "/d/thing-1%2Bcu130-py3-none-any.whl" => Reply::ok("wheel"),
        _ => Reply::status(404),
    }
    });
    from(&server, "/repos/o/r/releases/tags/v1").unwrap();
}

#[test]
fn c53_a_page_without_any_file_is_an_error() {
    let server = FaultServer::start(|_| Reply::html("<p>no links</p>"));
    let text = chain(&from(&server, "/simple").unwrap_err());
    assert!(
        text.contains("/simple/thing/ lists no file at all"),
        "{text}"
    );
}

#[test]
fn c43_other_bytes_under_the_same_name_name_both_digests() {
    let server = FaultServer::start(|_| {
        Reply::html(format!(
            "<a href='{FILE}#sha256={}'>x</a>",
            Digest::of(b"new")
        ))
    });
    let error = from(&server, "/simple").unwrap_err();
    let text = chain(&error);
    assert!(text.contains(&Digest::of(b"new").to_string()), "{text}");
    assert!(text.contains(&Digest::of(b"wheel").to_string()), "{text}");
    assert!(error.hint().unwrap().contains("bundler lock"));
    assert_eq!(server.count(&format!("/simple/thing/{FILE}")), 0);
}

#[test]
fn c38_c40_c41_a_row_counts_by_name_and_file_digest_alone() {
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        // A newer file of the same version, a metadata digest that is not the file's, no file digest at all.
        "/s/thing/" => Reply::html(format!(
            "<a href='thing-1+cu130-cp312-cp312-manylinux_2_28_x86_64.whl'>n</a>\
             <a href='{FILE}' data-core-metadata='sha256={}'>x</a>",
            Digest::of(b"metadata")
        )),
        "/s/thing/thing-1+cu130-py3-none-any.whl" => Reply::ok("wheel"),
        _ => Reply::status(404),
    });
    from(&server, "/s").unwrap();
}

#[test]
fn c68_a_page_is_fine_and_the_file_is_gone() {
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/s/thing/" => Reply::html(format!("<a href='{FILE}'>x</a>")),
        _ => Reply::status(404),
    });
    let text = chain(&from(&server, "/s").unwrap_err());
    assert!(
        text.contains("thing-1+cu130-py3-none-any.whl answered 404"),
        "{text}"
    );
}

#[test]
fn a_remembered_page_leads_to_a_file_and_is_asked_anew_when_it_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/s/thing/" if asked.header("if-none-match") == Some("\"p1\"") && asked.nth < 2 => {
            Reply::status(304)
        }
        "/s/thing/" if asked.nth < 2 => {
            Reply::html("<a href='a-1.whl'>a</a><a href='b-1.whl'>b</a>").with("etag", "\"p1\"")
        }
        "/s/thing/" => Reply::html("<a href='c-1.whl'>c</a>").with("etag", "\"p2\""),
        "/s/thing/a-1.whl" => Reply::ok("a"),
        "/s/thing/b-1.whl" => Reply::ok("b"),
        _ => Reply::ok("c"),
    });
    let take = |file: &str, bytes: &[u8]| {
        take(
            aliased(dir.path(), "idx", &server.url("/s")),
            &on_index(file, bytes),
        )
    };
    take("a-1.whl", b"a").unwrap();
    take("b-1.whl", b"b").unwrap();
    assert_eq!(server.count("/s/thing/") - 2, 1, "{:?}", server.asked());
    // Not on the remembered page: asked (304), still not there.
    assert!(take("c-1.whl", b"c").is_err());
    take("c-1.whl", b"c").unwrap();
}

#[test]
fn rows_are_as_fresh_as_the_server_asks_for() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|_| {
        Reply::html("<a href='a-1.whl'>a</a>").with("cache-control", "public, max-age=60")
    });
    let rows = |now: u64| -> std::sync::Arc<Vec<Row>> {
        let mut config = aliased(dir.path(), "idx", &server.url("/s"));
        config.now = now;
        Fetcher::new(config, Progress::silent())
            .rows("idx", "thing")
            .unwrap()
    };
    for (now, asked) in [(1000, 1), (1059, 1), (1060, 2), (900, 3)] {
        assert_eq!(rows(now)[0].file, "a-1.whl");
        assert_eq!(server.count("/"), asked, "at {now}");
    }
}

#[test]
fn a_folder_is_an_index_flat_or_by_project() {
    let dir = tempfile::tempdir().unwrap();
    let house = dir.path().join("w h");
    std::fs::create_dir_all(house.join("thing")).unwrap();
    std::fs::write(house.join("thing").join(FILE), b"wheel").unwrap();
    std::fs::write(house.join("flat-1.whl"), b"flat").unwrap();
    for address in [
        house.display().to_string(),
        url::Url::from_file_path(&house).unwrap().into(),
    ] {
        let cache = tempfile::tempdir().unwrap();
        let mut config = aliased(cache.path(), "idx", &address);
        config.http.offline = true;
        let fetcher = Fetcher::new(config, Progress::silent());
        fetcher.one(&on_index(FILE, b"wheel")).unwrap();
        fetcher.one(&on_index("flat-1.whl", b"flat")).unwrap();
        let text = chain(&fetcher.one(&on_index("thing-2.whl", b"2")).unwrap_err());
        assert!(text.contains("near names there: thing-1+cu130"), "{text}");
        let names = fetcher.rows("idx", "thing").unwrap();
        assert_eq!(names.len(), 2);
    }
}

#[test]
fn c67_another_address_for_an_alias_holds_for_every_request() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/m/thing/" => Reply::html(format!("<a href='{FILE}'>x</a>")),
        _ => Reply::ok("wheel"),
    });
    let mut config = aliased(dir.path(), "pbs", &server.url("/m"));
    config
        .addresses
        .set_text("idx", &server.url("/m"), None, &mut Credentials::default())
        .unwrap();
    config
        .addresses
        .set_text(
            "maven",
            &server.url("/m"),
            None,
            &mut Credentials::default(),
        )
        .unwrap();
    let fetcher = Fetcher::new(config, Progress::silent());
    fetcher.one(&on_index(FILE, b"wheel")).unwrap();
    let elsewhere = url::Url::parse("http://127.0.0.1:9/elsewhere").unwrap();
    let under = Place::Under {
        alias: "pbs".to_owned(),
        base: Some(elsewhere),
        path: "1/x%2By.tar.gz".to_owned(),
    };
    let mut asset = order("x+y.tar.gz", b"wheel", under);
    asset.sha256 = Digest::of(b"wheel");
    std::fs::remove_dir_all(dir.path().join("blobs")).unwrap();
    fetcher.one(&asset).unwrap();
    std::fs::remove_dir_all(dir.path().join("blobs")).unwrap();
    fetcher
        .one(&order("c.jar", b"wheel", Place::Maven(artifact())))
        .unwrap();
    let targets: Vec<String> = server.asked().into_iter().map(|a| a.target).collect();
    let wanted = [
        "/m/thing/",
        "/m/thing/thing-1+cu130-py3-none-any.whl",
        "/m/1/x%2By.tar.gz",
        "/m/org/example/cpython/3.12.1/cpython-3.12.1-linux-x86_64.jar",
    ];
    assert_eq!(targets, wanted);
}

fn artifact() -> MavenArtifact {
    MavenArtifact {
        group: "org.example".to_owned(),
        artifact: "cpython".to_owned(),
        version: "3.12.1".to_owned(),
        classifier: Some("linux-x86_64".to_owned()),
        extension: "jar".to_owned(),
    }
}

#[test]
fn a_mirror_of_release_assets_may_be_flat() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/m/x%2By.tar.gz" => Reply::ok("tar"),
        _ => Reply::status(404),
    });
    let place = Place::Under {
        alias: "pbs".to_owned(),
        base: None,
        path: "20260814/x%2By.tar.gz".to_owned(),
    };
    let config = aliased(dir.path(), "pbs", &server.url("/m"));
    take(config, &order("x+y.tar.gz", b"tar", place)).unwrap();
}

#[test]
fn what_has_alternatives_is_given_up_soon_unless_bytes_come() {
    let dir = tempfile::tempdir().unwrap();
    let fetcher = Fetcher::new(config(dir.path(), hasty()), Progress::silent());
    let server = FaultServer::start(|_| Reply::status(503));
    assert!(fetcher.hurried(&at(&server.url("/x"), b"abc")).is_err());
    assert_eq!(server.count("/"), 2);
    let body = noise(9000);
    let content = body.clone();
    let server = FaultServer::start(move |asked| match asked.nth {
        0 => Reply::file(asked, &content, "\"1\"").cut(5000),
        1..4 => Reply::status(503),
        _ => Reply::file(asked, &content, "\"1\""),
    });
    fetcher.hurried(&at(&server.url("/x"), &body)).unwrap();
    assert_eq!(server.count("/"), 5);
}

#[test]
fn wrong_bytes_of_a_source_are_told_apart_from_silence() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|_| Reply::ok("tax"));
    let fetcher = Fetcher::new(config(dir.path(), hasty()), Progress::silent());
    let error = fetcher.hurried(&at(&server.url("/a"), b"tar")).unwrap_err();
    assert!(error.is_wrong_bytes(), "{}", chain(&error));
    let error = fetcher
        .hurried(&at("http://127.0.0.1:9/a", b"tar"))
        .unwrap_err();
    assert!(!error.is_wrong_bytes(), "{}", chain(&error));
}

#[test]
fn the_local_maven_repository_is_looked_into_first() {
    let dir = tempfile::tempdir().unwrap();
    let repository = dir.path().join("repository");
    let jar = repository.join(artifact().path());
    std::fs::create_dir_all(jar.parent().unwrap()).unwrap();
    std::fs::write(&jar, b"jar").unwrap();
    let mut config = config(&dir.path().join("cache"), hasty());
    config.maven_repository = repository;
    config.http.offline = true;
    let order = order("c.jar", b"jar", Place::Maven(artifact()));
    let fetched = take(config.clone(), &order).unwrap();
    assert_eq!(std::fs::read(fetched.path()).unwrap(), b"jar");
    std::fs::remove_file(fetched.path()).unwrap();
    std::fs::remove_file(&jar).unwrap();
    assert!(chain(&take(config, &order).unwrap_err()).contains("--offline"));
}

#[test]
fn maven_is_asked_through_its_program() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let mvn = dir.path().join("mvn");
    let script = "#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) printf jar > \"${a#*=}/cpython-3.12.1-linux-x86_64.jar\";; esac; done\n";
    std::fs::write(&mvn, script).unwrap();
    std::fs::set_permissions(&mvn, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = config(&dir.path().join("cache"), hasty());
    config.mvn = mvn.clone();
    let order = order("c.jar", b"jar", Place::Maven(artifact()));
    let fetcher = Fetcher::new(config, Progress::silent());
    let blob = fetcher.one(&order).unwrap();
    assert_eq!(std::fs::read(blob.path()).unwrap(), b"jar");
    assert!(all_files(&dir.path().join("cache/partial")).is_empty());
    std::fs::remove_file(blob.path()).unwrap();
    std::fs::write(&mvn, "#!/bin/sh\necho '[ERROR] no such artifact'\nexit 1\n").unwrap();
    let text = chain(&fetcher.one(&order).unwrap_err());
    assert!(
        text.contains(
            "mvn could not get org.example:cpython:3.12.1:jar:linux-x86_64: no such artifact"
        ),
        "{text}"
    );
}

#[test]
fn a_mirror_folder_gives_everything_without_network() {
    let dir = tempfile::tempdir().unwrap();
    let body = noise(5000);
    let content = body.clone();
    let server = FaultServer::start(move |_| Reply::ok(content.clone()));
    let order = at(&server.url("/x.whl"), &body);
    let cache = |name: &str| dir.path().join(name);
    let fetched = take(config(&cache("a"), hasty()), &order).unwrap();
    let mirror = dir.path().join("mirror");
    write_mirror(&mirror, &[fetched]).unwrap();
    check_sums(&mirror);
    let before = server.connections();
    let mut offline = config(&cache("b"), hasty());
    offline.http.offline = true;
    offline.mirror = Some(mirror.clone());
    let fetched = take(offline.clone(), &order).unwrap();
    assert_eq!(std::fs::read(fetched.path()).unwrap(), body);
    // A damaged mirror is no source.
    std::fs::write(mirror.join(&order.file), noise(4999)).unwrap();
    offline.cache = cache("c");
    let text = chain(&take(offline.clone(), &order).unwrap_err());
    assert!(text.contains("4999 bytes instead of 5000"), "{text}");
    assert_eq!(server.connections(), before);
    offline.http.offline = false;
    take(offline, &order).unwrap();
}

fn check_sums(mirror: &Path) {
    let status = std::process::Command::new("sha256sum")
        .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(mirror)
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn a_name_that_is_a_path_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let error = take(config(dir.path(), hasty()), &on_index("../x.whl", b"x")).unwrap_err();
    assert!(chain(&error).contains("\"../x.whl\" is not a plain file name"));
}
