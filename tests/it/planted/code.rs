//! Faults of GPU code: containers edited byte by byte, and devices that are promised but not covered.

use bundler::build::audit::AuditRequest;

use super::edit::put;
use super::{Planted, at, under};
use crate::fatbin::{container, entry, library, ptx, sass};
use crate::trees::{file, request};

const A: u64 = 1 << 20;
const F: u64 = 1 << 21;
const LTO: u16 = 8;

pub(super) fn faults() -> Vec<Planted> {
    let mut out = damaged();
    out.extend(uncovered());
    out
}

fn promising(gpus: &[&str], driver: &str) -> AuditRequest {
    AuditRequest {
        gpus: gpus.iter().map(|g| g.parse().unwrap()).collect(),
        driver: Some(driver.parse().unwrap()),
        ..request()
    }
}

fn damaged() -> Vec<Planted> {
    let good = container(&[sass(80, 0), sass(90, 0)]);
    let of = |bytes: &[u8]| vec![file(&at("p/ops.so"), &library(&[(".nv_fatbin", bytes)]))];
    let second = 16 + sass(80, 0).len();
    let cases: Vec<(&'static str, Vec<u8>)> = vec![
        (
            "container without magic number",
            put(good.clone(), 0, &[0x51]),
        ),
        ("container of another version", put(good.clone(), 4, &[2])),
        ("container with another header", put(good.clone(), 6, &[24])),
        (
            "container larger than its section",
            put(good.clone(), 8, &u64::MAX.to_le_bytes()),
        ),
        (
            "container that ends inside an entry",
            put(good.clone(), 8, &(second as u64 + 8).to_le_bytes()),
        ),
        (
            "entry with a header of eight bytes",
            put(good.clone(), 16 + 4, &[8, 0, 0, 0]),
        ),
        (
            "entry larger than its container",
            put(good.clone(), 16 + 8, &u64::MAX.to_le_bytes()),
        ),
        (
            "entry for architecture zero",
            put(good.clone(), second + 0x1C, &[0, 0, 0, 0]),
        ),
        (
            "entry for an impossible architecture",
            put(good.clone(), second + 0x1C, &[0xff, 0xff, 0, 0]),
        ),
        (
            "bytes behind the last container",
            [good.clone(), vec![7; 64]].concat(),
        ),
    ];
    cases
        .into_iter()
        .map(|(kind, bytes)| {
            under(
                kind,
                "fatbin-unreadable",
                &at("p/ops.so"),
                of(&good),
                of(&bytes),
                &request(),
            )
        })
        .collect()
}

fn uncovered() -> Vec<Planted> {
    let path = at("p/ops.so");
    let of = |containers: &[Vec<u8>]| {
        vec![file(
            &path,
            &library(&[(".nv_fatbin", &containers.concat())]),
        )]
    };
    let one = |entries: &[Vec<u8>]| of(&[container(entries)]);
    let case = |kind, code, gpu: &str, driver: &str, right: &[Vec<u8>], wrong: &[Vec<u8>]| {
        under(
            kind,
            code,
            &path,
            one(right),
            one(wrong),
            &promising(&[gpu], driver),
        )
    };
    let new = "580.65";
    let none = "gpu-arch-uncovered";
    let mut out = vec![
        case(
            "no code for a promised device",
            none,
            "9.0",
            new,
            &[sass(90, 0)],
            &[sass(80, 0)],
        ),
        case(
            "code for a later device only",
            none,
            "8.0",
            new,
            &[sass(80, 0)],
            &[sass(86, 0)],
        ),
        case(
            "code for desktop devices on Orin",
            none,
            "8.7",
            new,
            &[sass(87, 0)],
            &[sass(80, 0)],
        ),
        case(
            "exact code of another device",
            none,
            "12.1",
            new,
            &[sass(120, 0)],
            &[sass(120, A)],
        ),
        case(
            "family code of another family",
            none,
            "12.1",
            new,
            &[sass(120, F)],
            &[sass(100, F)],
        ),
        case(
            "PTX of a later device",
            none,
            "8.0",
            new,
            &[ptx(80, (8, 5))],
            &[ptx(90, (8, 5))],
        ),
        case(
            "link-time code alone",
            none,
            "9.0",
            new,
            &[sass(90, 0)],
            &[sass(80, 0), entry(LTO, 75, 0, (1, 64), b"code")],
        ),
        case(
            "PTX newer than the oldest driver",
            "gpu-ptx-too-new",
            "9.0",
            "535.104",
            &[ptx(90, (8, 2))],
            &[ptx(90, (9, 1))],
        ),
    ];
    let all = [
        container(&[sass(80, 0), sass(90, 0)]),
        container(&[sass(80, 0), sass(90, 0)]),
    ];
    let half = [all[0].clone(), container(&[sass(80, 0)])];
    out.push(under(
        "one container of two without the device",
        "gpu-arch-partial",
        &path,
        of(&all),
        of(&half),
        &promising(&["9.0"], new),
    ));
    out
}
