//! Credentials go to their own host and nowhere else, are printed and written nowhere; offline opens nothing
//! (C64, C65, P20, P22, P30).

use super::{aliased, all_files, at, chain, config, hasty, on_index};
use crate::fault_server::{FaultServer, Reply};
use bundler::base::http::{Credentials, HttpConfig, Proxies, Secret};
use bundler::base::progress::Progress;
use bundler::build::fetch::{FetchConfig, Fetcher};
use url::Url;

fn fetcher(config: FetchConfig) -> Fetcher {
    Fetcher::new(config, Progress::silent())
}

/// `user:password` put into an address.
fn with_user(url: &str) -> String {
    url.replacen("http://", "http://me:geheim@", 1)
}

/// "me:geheim" in base64.
const BASIC: &str = "Basic bWU6Z2VoZWlt";

#[test]
fn c64_credentials_are_dropped_when_the_port_changes() {
    let dir = tempfile::tempdir().unwrap();
    let store = FaultServer::start(|asked| match asked.header("authorization") {
        None => Reply::ok("abc"),
        Some(_) => Reply::status(400),
    });
    let signed = store.url("/obj?sig=geheim");
    let index = FaultServer::start(move |asked| match asked.target.as_str() {
        _ if asked.header("authorization") != Some(BASIC) => Reply::status(401),
        "/s/thing/" => Reply::html("<a href='thing-1.whl'>x</a>").with("set-cookie", "k=geheim"),
        _ => Reply::redirect(&signed),
    });
    let config = aliased(dir.path(), "idx", &with_user(&index.url("/s")));
    fetcher(config)
        .one(&on_index("thing-1.whl", b"abc"))
        .unwrap();
    let asked = &store.asked()[0];
    assert_eq!(asked.target, "/obj?sig=geheim");
    for name in ["authorization", "cookie", "referer"] {
        assert_eq!(asked.header(name), None, "{name}");
    }
}

#[test]
fn c64_netrc_is_not_asked_for_the_place_a_redirect_leads_to() {
    let dir = tempfile::tempdir().unwrap();
    let other = FaultServer::start(|_| Reply::ok("abc"));
    let to = other.url("/y");
    let first = FaultServer::start(move |_| Reply::redirect(&to));
    let mut config = config(dir.path(), hasty());
    config
        .http
        .credentials
        .add_netrc("machine 127.0.0.1 login me password geheim");
    fetcher(config).one(&at(&first.url("/x"), b"abc")).unwrap();
    assert_eq!(first.asked()[0].header("authorization"), Some(BASIC));
    assert_eq!(other.asked()[0].header("authorization"), None);
}

#[test]
fn credentials_stay_when_a_redirect_stays() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|asked| match asked.target.as_str() {
        "/x" => Reply::redirect("/y"),
        _ if asked.header("authorization") == Some(BASIC) => Reply::ok("abc"),
        _ => Reply::status(401),
    });
    fetcher(config(dir.path(), hasty()))
        .one(&at(&with_user(&server.url("/x")), b"abc"))
        .unwrap();
}

#[test]
fn a_token_goes_to_its_index_alone() {
    let dir = tempfile::tempdir().unwrap();
    let files = FaultServer::start(|_| Reply::ok("abc"));
    let link = format!("<a href='{}'>x</a>", files.url("/thing-1.whl"));
    let index = FaultServer::start(move |asked| match asked.header("authorization") {
        Some("Bearer geheim") => Reply::html(link.clone()),
        _ => Reply::status(401),
    });
    let mut config = aliased(dir.path(), "idx", &index.url("/s"));
    let url = Url::parse(&index.url("/")).unwrap();
    let mut credentials = Credentials::default();
    credentials.add(&url, Secret::Bearer("geheim".to_owned()));
    config.http.credentials = credentials;
    fetcher(config)
        .one(&on_index("thing-1.whl", b"abc"))
        .unwrap();
    assert_eq!(files.asked()[0].header("authorization"), None);
}

#[test]
fn c65_the_place_of_a_redirect_is_asked_for_as_it_was_written() {
    let place = "/f/a%2Bb%20c+d/%7ex.whl?X-Sig=a%2fb%2Bc+d%3d&n=%20&m=~;:@/?";
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(move |asked| match asked.target.as_str() {
        "/x" => Reply::redirect(place),
        _ => Reply::ok("abc"),
    });
    fetcher(config(dir.path(), hasty()))
        .one(&at(&server.url("/x"), b"abc"))
        .unwrap();
    assert_eq!(server.asked()[1].target, place);
}

#[test]
fn p30_nothing_secret_is_printed_or_written() {
    for status in [200, 401, 404, 416, 503] {
        let dir = tempfile::tempdir().unwrap();
        let server =
            FaultServer::start(move |asked| match asked.target.split('?').next().unwrap() {
                "/s/thing/" => Reply::html("<a href='/f/thing-1.whl?sig=geheim'>x</a>"),
                // Wrong bytes, or a refusal, or half a body.
                _ if status == 200 => Reply::ok("abcd").with("etag", "\"1\""),
                _ => Reply::status(status),
            });
        let index = with_user(&server.url("/s")) + "?token=geheim";
        let config = aliased(dir.path(), "idx", &index);
        let shown = format!("{config:?}");
        assert!(
            !shown.contains("me:geheim") && !shown.contains("\"geheim\""),
            "{shown}"
        );
        let error = fetcher(config)
            .one(&on_index("thing-1.whl", b"abc"))
            .unwrap_err();
        let text = format!("{}\n{error:?}\n{:?}", chain(&error), error.hint());
        assert!(!text.contains("geheim"), "{status}: {text}");
        assert!(text.contains("/f/thing-1.whl"), "{status}: {text}");
        for path in all_files(dir.path()) {
            let bytes = std::fs::read(&path).unwrap();
            let found = String::from_utf8_lossy(&bytes).contains("geheim");
            assert!(!found, "{status}: {}", path.display());
        }
    }
}

#[test]
fn p30_a_connection_that_fails_shows_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let error = fetcher(config(dir.path(), hasty()))
        .one(&at(
            "http://me:geheim@127.0.0.1:9/x?sig=geheim#geheim",
            b"abc",
        ))
        .unwrap_err();
    let text = format!("{}\n{error:?}", chain(&error));
    assert!(!text.contains("geheim"), "{text}");
    assert!(text.contains("http://127.0.0.1:9/x"), "{text}");
}

#[test]
fn p20_offline_opens_no_connection_and_says_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|_| Reply::ok("abc"));
    let mut config = aliased(dir.path(), "idx", &server.url("/s"));
    config.http.offline = true;
    let fetcher = fetcher(config);
    for order in [
        at(&server.url("/x"), b"abc"),
        on_index("thing-1.whl", b"abc"),
    ] {
        let error = fetcher.one(&order).unwrap_err();
        assert!(chain(&error).contains("--offline"), "{}", chain(&error));
        assert!(error.hint().unwrap().contains("--mirror DIR"));
    }
    assert!(fetcher.rows("idx", "thing").is_err());
    assert_eq!(server.connections(), 0);
}

#[test]
fn p22_proxies_are_used_and_their_exceptions_too() {
    let dir = tempfile::tempdir().unwrap();
    let proxy = FaultServer::start(|_| Reply::ok("abc"));
    let direct = FaultServer::start(|_| Reply::ok("abd"));
    let http = HttpConfig {
        proxies: Proxies {
            http: Some(with_user(&proxy.url(""))),
            https: None,
            except: Some("127.0.0.1".to_owned()),
        },
        ..hasty()
    };
    let fetcher = fetcher(config(dir.path(), http));
    fetcher.one(&at("http://host.invalid/x", b"abc")).unwrap();
    let asked = &proxy.asked()[0];
    assert_eq!(asked.target, "http://host.invalid/x");
    assert_eq!(asked.header("proxy-authorization"), Some(BASIC));
    fetcher.one(&at(&direct.url("/y"), b"abd")).unwrap();
    assert_eq!((proxy.connections(), direct.connections()), (1, 1));
}

#[test]
fn redirects_end_somewhere_and_stay_in_the_web() {
    let cases = [
        ("/x", "more than 10"),
        ("file:///etc/passwd", "out of the web"),
        ("http://[", "not an address"),
    ];
    for (to, why) in cases {
        let dir = tempfile::tempdir().unwrap();
        let server = FaultServer::start(move |_| Reply::redirect(to));
        let error = fetcher(config(dir.path(), hasty()))
            .one(&at(&server.url("/x"), b"abc"))
            .unwrap_err();
        assert!(chain(&error).contains(why), "{}", chain(&error));
        assert!(server.count("/") <= 11);
    }
}
