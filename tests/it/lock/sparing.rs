//! Nothing big where nobody expects it: wheels are not fetched to be resolved, and nothing is put into the machine's folder
//! for temporary files.

use bundler::base::digest::Digest;

use super::stage::{Stage, Typed};
use super::world::{Place, Wheel};
use crate::fault_server::{Asked, FaultServer, Reply};

const RECIPE: &str = r#"name = "small"
version = "1"
python = "3.12"

[[interpreter]]
kind = "pbs"
version = "3.12.14"
release = "20260814"
sha256.amd64 = "5acfa3e9ba26b51ae161c83aff278da915b590d22373a424b2ba55b8afe91fcc"
sha256.arm64 = "2d8e17dfd732102cfeb18e0e1fa6769b24caa034e159981129590fe409c7157a"

[index.pypi]
kind = "simple"
default = true

[[packages]]
index = "pypi"
require = ["large"]

[target.amd64-cu130]
"#;

const SIZE: usize = 24 << 20;

/// A wheel of [`SIZE`] bytes that do not get smaller, which needs `small`.
fn large() -> Wheel {
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    })
    .take(SIZE)
    .collect();
    let files = [("large/noise", &noise[..])];
    Wheel::with("large", "1.0", "py3-none-any", &["small"], &files)
}

/// The bytes that `Range` asks for, in any of its forms.
fn part(asked: &Asked, bytes: &[u8]) -> Option<Reply> {
    let (from, to) = asked
        .header("range")?
        .strip_prefix("bytes=")?
        .split_once('-')?;
    let last = bytes.len() - 1;
    let (from, to) = match (from.parse::<usize>(), to.parse::<usize>()) {
        (Ok(from), Ok(to)) => (from, to.min(last)),
        (Ok(from), Err(_)) => (from, last),
        (Err(_), Ok(length)) => (bytes.len().saturating_sub(length), last),
        (Err(_), Err(_)) => return None,
    };
    let reply = Reply {
        status: 206,
        body: bytes.get(from..=to)?.to_vec(),
        ..Reply::default()
    };
    Some(reply.with(
        "content-range",
        &format!("bytes {from}-{to}/{}", bytes.len()),
    ))
}

/// An index that advertises no metadata beside its wheels.
fn serve(with_ranges: bool) -> FaultServer {
    let wheels = [large(), Wheel::new("small", "1.0", "py3-none-any", &[])];
    FaultServer::start(move |asked| {
        let path = asked.target.trim_matches('/');
        if let Some(wheel) = wheels.iter().find(|w| path.ends_with(&w.file)) {
            let whole = || Reply::ok(wheel.bytes.clone());
            return if with_ranges {
                part(asked, &wheel.bytes)
                    .unwrap_or_else(whole)
                    .with("accept-ranges", "bytes")
            } else {
                whole()
            };
        }
        let name = path.trim_start_matches("simple/");
        let Some(wheel) = wheels
            .iter()
            .find(|w| w.file.starts_with(&format!("{name}-")))
        else {
            return Reply::status(404);
        };
        let digest = Digest::of(&wheel.bytes);
        let file = &wheel.file;
        Reply::html(format!("<a href=\"/f/{file}#sha256={digest}\">{file}</a>"))
    })
}

/// Locks against such an index and gives the bytes it sent.
fn sent(with_ranges: bool) -> usize {
    let server = serve(with_ranges);
    let place = Place::new(RECIPE);
    let (out, err, code) = place.run(&server.url("/simple"), &["amd64-cu130"]);
    assert_eq!(code, 0, "{out}{err}");
    let text = place.lock_text("amd64-cu130");
    assert!(text.contains("large-1.0-py3-none-any.whl"), "{text}");
    assert!(text.contains("small-1.0-py3-none-any.whl"), "{text}");
    server.sent()
}

#[test]
fn c58_without_metadata_beside_a_wheel_a_part_of_it_is_read() {
    let sent = sent(true);
    assert!(sent < SIZE / 4, "{sent} bytes for a wheel of {SIZE}");
}

#[test]
fn c58_a_server_without_ranges_sends_a_wheel_once_at_most() {
    let sent = sent(false);
    assert!(sent < SIZE + SIZE / 4, "{sent} bytes for a wheel of {SIZE}");
}

#[test]
fn c74_nothing_is_put_into_the_machines_folder_for_temporary_files() {
    let stage = Stage::new(None);
    stage.pin();
    for words in [
        &["lock", "amd64-cu130"][..],
        &["fetch", "amd64-cu130", "--mirror", "mirror"],
        &["make", "amd64-cu130"],
        &["audit", "pointcept-runtime-amd64-cu130.tar.zst", "--full"],
    ] {
        let Typed { out, err, code } = stage.types_without_tmp(words);
        assert_eq!(code, 0, "{words:?}: {out}{err}");
    }
}
