//! The fatbin reader: containers made here byte by byte, in files made by gcc, and an answer for any bytes at all.

use std::collections::BTreeMap;

use bundler::base::capability::ComputeCapability;
use bundler::formats::fatbin::{
    Container, FatbinError, Found, GpuFacts, Kind, Verdict, kernels, scan,
};

use crate::trees::Gcc;

const PTX: u16 = 1;
const SASS: u16 = 2;
const LTO: u16 = 8;
const LZ4: u64 = 1 << 13;
const ZSTD: u64 = 1 << 15;
const OBFUSCATED: u64 = 1 << 16;
const A: u64 = 1 << 20;
const F: u64 = 1 << 21;

/// An entry as a toolkit writes it; `flags` say how `code` is packed.
pub fn entry(kind: u16, arch: u32, flags: u64, version: (u16, u16), code: &[u8]) -> Vec<u8> {
    let packed = if flags & ZSTD != 0 {
        zstd::bulk::compress(code, 3).unwrap()
    } else if flags & LZ4 != 0 {
        lz4_flex::block::compress(code)
    } else {
        code.to_vec()
    };
    let is_packed = flags & (ZSTD | LZ4) != 0;
    let stored = packed.len().next_multiple_of(8);
    let header = 80u32;
    let mut out = Vec::new();
    out.extend(kind.to_le_bytes());
    out.extend(0x0101u16.to_le_bytes());
    out.extend(header.to_le_bytes());
    out.extend((stored as u64).to_le_bytes());
    out.extend(if is_packed { packed.len() as u32 } else { 0 }.to_le_bytes());
    out.extend(0x40u32.to_le_bytes());
    out.extend(version.1.to_le_bytes());
    out.extend(version.0.to_le_bytes());
    out.extend(arch.to_le_bytes());
    out.extend([0; 8]);
    out.extend((flags | 0x11).to_le_bytes());
    out.extend([0; 8]);
    out.extend(if is_packed { code.len() as u64 } else { 0 }.to_le_bytes());
    out.resize(header as usize, 0);
    out.extend(&packed);
    out.resize(header as usize + stored, 0);
    out
}

pub fn sass(arch: u32, flags: u64) -> Vec<u8> {
    entry(SASS, arch, flags, (1, 8), &cubin(&["_Z6kernelPf"]))
}

pub fn ptx(arch: u32, isa: (u16, u16)) -> Vec<u8> {
    entry(
        PTX,
        arch,
        LZ4,
        isa,
        ptx_text(arch, &["_Z6kernelPf"]).as_bytes(),
    )
}

pub fn ptx_text(arch: u32, names: &[&str]) -> String {
    let kernels: String = names
        .iter()
        .map(|n| format!(".visible .entry {n}(\n.param .u64 p\n)\n{{ ret; }}\n"))
        .collect();
    format!("//\n.version 9.0\n.target sm_{arch}\n.address_size 64\n{kernels}\0")
}

pub fn container(entries: &[Vec<u8>]) -> Vec<u8> {
    let body: Vec<u8> = entries.concat();
    let mut out = Vec::new();
    out.extend(0xBA55_ED50u32.to_le_bytes());
    out.extend(1u16.to_le_bytes());
    out.extend(16u16.to_le_bytes());
    out.extend((body.len() as u64).to_le_bytes());
    out.extend(body);
    out
}

/// A cubin: an ELF file for CUDA devices with a code section per kernel.
pub fn cubin(kernels: &[&str]) -> Vec<u8> {
    let mut names = vec![0u8];
    let mut headers = vec![[0u8; 64]];
    let mut header =
        |name: &str, kind: u32, flags: u64, offset: u64, size: u64, names: &mut Vec<u8>| {
            let mut out = [0u8; 64];
            out[0..4].copy_from_slice(&(names.len() as u32).to_le_bytes());
            out[4..8].copy_from_slice(&kind.to_le_bytes());
            out[8..16].copy_from_slice(&flags.to_le_bytes());
            out[24..32].copy_from_slice(&offset.to_le_bytes());
            out[32..40].copy_from_slice(&size.to_le_bytes());
            names.extend(name.as_bytes());
            names.push(0);
            headers.push(out);
        };
    for kernel in kernels {
        header(&format!(".text.{kernel}"), 1, 6, 64, 0, &mut names);
    }
    header(".nv.info", 0x7000_0000, 0, 64, 0, &mut names);
    let size = names.len() as u64 + ".shstrtab".len() as u64 + 1;
    header(".shstrtab", 3, 0, 64, size, &mut names);
    let mut out = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, 8];
    out.resize(64, 0);
    out[16..18].copy_from_slice(&2u16.to_le_bytes());
    out[18..20].copy_from_slice(&190u16.to_le_bytes());
    out[20..24].copy_from_slice(&1u32.to_le_bytes());
    out[40..48].copy_from_slice(&(64 + size).to_le_bytes());
    out[52..54].copy_from_slice(&64u16.to_le_bytes());
    out[58..60].copy_from_slice(&64u16.to_le_bytes());
    out[60..62].copy_from_slice(&(headers.len() as u16).to_le_bytes());
    out[62..64].copy_from_slice(&(headers.len() as u16 - 1).to_le_bytes());
    out.extend(names);
    out.extend(headers.concat());
    out
}

/// A shared library with these bytes in these sections.
pub fn library(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let gcc = Gcc::new();
    let mut source = String::new();
    for (number, (name, bytes)) in sections.iter().enumerate() {
        std::fs::write(gcc.path(&format!("blob{number}")), bytes).unwrap();
        source += &format!(
            "__asm__(\".pushsection {name},\\\"a\\\",@progbits\\n.balign 8\\n.incbin \\\"blob{number}\\\"\\n.popsection\\n\");\n"
        );
    }
    gcc.make("lib.so", &source, &["-shared", "-fPIC", "-nostdlib"])
}

fn facts(bytes: &[u8]) -> GpuFacts {
    GpuFacts::read(bytes, true).expect("there is GPU code")
}

/// Entries by name, of everything.
fn entries(facts: &GpuFacts) -> BTreeMap<String, u32> {
    let mut out = BTreeMap::new();
    for (code, count) in facts.entries(|_| true) {
        *out.entry(code.name()).or_default() += count;
    }
    out
}

fn map(pairs: &[(&str, u32)]) -> BTreeMap<String, u32> {
    pairs.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect()
}

fn cc(text: &str) -> ComputeCapability {
    text.parse().unwrap()
}

#[test]
fn lists_code_of_every_kind_and_suffix_from_headers_alone() {
    let one = container(&[
        sass(80, 0),
        sass(90, ZSTD),
        sass(90, ZSTD | A),
        ptx(90, (8, 5)),
    ]);
    let two = container(&[
        sass(80, LZ4),
        sass(100, F | ZSTD),
        entry(LTO, 75, LZ4 | OBFUSCATED, (1, 64), b"junk"),
    ]);
    let facts = facts(&library(&[(".nv_fatbin", &[one, two].concat())]));
    let wanted = [
        ("sm_80", 2),
        ("sm_90", 1),
        ("sm_90a", 1),
        ("sm_100f", 1),
        ("compute_90", 1),
        ("lto_75", 1),
    ];
    assert_eq!(entries(&facts), map(&wanted));
    assert_eq!(facts.containers(false), 2);
    let isa: Vec<_> = facts
        .entries(|_| true)
        .into_keys()
        .filter_map(|c| c.isa)
        .collect();
    assert_eq!(isa, [(8, 5)]);
    assert!(facts.entries(|_| true).keys().any(|c| c.obfuscated));
    assert!(facts.faults.is_empty());
}

#[test]
fn alike_containers_are_one_shape() {
    let one = container(&[sass(80, 0)]);
    let facts = facts(&library(&[(".nv_fatbin", &one.repeat(500))]));
    assert_eq!((facts.shapes.len(), facts.shapes[0].containers), (1, 500));
}

#[test]
fn finds_containers_wherever_data_lies() {
    let one = container(&[sass(75, 0)]);
    let hidden = [b"metadata".as_slice(), &one, &[0; 8], &one, b"tail"].concat();
    for section in [".cask_resource", ".ldata", ".rodata", ".data.rel.ro"] {
        let facts = facts(&library(&[(section, &hidden)]));
        assert_eq!(facts.containers(false), 2, "{section}");
        assert_eq!(facts.shapes[0].section, section);
    }
}

#[test]
fn a_magic_number_among_constants_is_no_container() {
    let mut lookalike = container(&[sass(75, 0)]);
    let end = lookalike.len();
    lookalike[end - 90..].fill(0xff);
    let size = (end as u64 - 16 + 8).to_le_bytes();
    lookalike[8..16].copy_from_slice(&size);
    for bytes in [
        0xBA55_ED50u32.to_le_bytes().to_vec(),
        lookalike,
        container(&[]),
    ] {
        assert_eq!(GpuFacts::read(&library(&[(".rodata", &bytes)]), true), None);
    }
    let unaligned = [b"1234".as_slice(), &container(&[sass(75, 0)])].concat();
    assert_eq!(
        GpuFacts::read(&library(&[(".rodata", &unaligned)]), true),
        None
    );
}

#[test]
fn a_file_without_gpu_code_has_no_facts() {
    assert_eq!(
        GpuFacts::read(&library(&[(".rodata", b"plain")]), true),
        None
    );
    assert_eq!(GpuFacts::read(b"text", true), None);
    assert_eq!(GpuFacts::read(b"", true), None);
}

#[test]
fn damage_in_a_section_of_containers_is_told_with_its_offset() {
    let one = container(&[sass(80, 0)]);
    let bytes = library(&[(
        ".nv_fatbin",
        &[one.as_slice(), b"not a container!"].concat(),
    )]);
    let facts = facts(&bytes);
    assert_eq!(facts.containers(false), 1);
    assert_eq!(facts.faults.len(), 1);
    let offset = bytes.windows(8).position(|w| w == b"not a co").unwrap();
    assert_eq!(
        facts.faults[0],
        format!("no fatbin container at offset {offset:#x}")
    );
}

#[test]
fn every_impossible_field_is_an_error() {
    let good = container(&[sass(80, 0)]);
    assert!(Container::read(&good, 0).is_ok());
    let mut damage: Vec<(usize, Vec<u8>)> = vec![
        (4, vec![2, 0]),
        (6, vec![32, 0]),
        (8, u64::MAX.to_le_bytes().to_vec()),
        (8, 7u64.to_le_bytes().to_vec()),
        (20, 63u32.to_le_bytes().to_vec()),
        (20, u32::MAX.to_le_bytes().to_vec()),
        (24, u64::MAX.to_le_bytes().to_vec()),
        (24, 0u64.to_le_bytes().to_vec()),
        (44, 0u32.to_le_bytes().to_vec()),
        (44, 1000u32.to_le_bytes().to_vec()),
    ];
    damage.push((8, (good.len() as u64 - 17).to_le_bytes().to_vec()));
    for (at, bytes) in damage {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(&bytes);
        let error = Container::read(&bad, 0x1000).expect_err(&format!("{at} {bytes:?}"));
        assert!(
            matches!(error, FatbinError::Bad { offset, .. } if offset >= 0x1000),
            "{error}"
        );
    }
    for end in 0..good.len() {
        assert!(Container::read(&good[..end], 0).is_err(), "cut at {end}");
    }
}

#[test]
fn unknown_kinds_are_listed_not_refused() {
    let facts = facts(&library(&[(
        ".nv_fatbin",
        &container(&[entry(0x80, 120, 0, (1, 0), b"tile")]),
    )]));
    assert_eq!(entries(&facts), map(&[("kind0x80_120", 1)]));
}

#[test]
fn containers_without_kernels_are_told_from_others_however_they_are_packed() {
    let none = cubin(&[]);
    let empty_ptx = ptx_text(52, &[]);
    for flags in [0, LZ4, ZSTD] {
        let empty = container(&[
            entry(SASS, 52, flags, (1, 7), &none),
            entry(PTX, 52, LZ4, (8, 5), empty_ptx.as_bytes()),
        ]);
        let live = container(&[entry(SASS, 80, flags, (1, 7), &cubin(&["k"]))]);
        let facts = facts(&library(&[(".nv_fatbin", &[empty, live].concat())]));
        let mut seen: Vec<(bool, String)> = facts
            .shapes
            .iter()
            .map(|s| (s.empty, s.code[0].0.name()))
            .collect();
        seen.sort();
        assert_eq!(
            seen,
            [(false, "sm_80".to_owned()), (true, "sm_52".to_owned())]
        );
        assert_eq!(facts.names(Kind::Sass), ["sm_80"]);
        assert!(facts.names(Kind::Ptx).is_empty());
        let verdict = facts.verdict(cc("8.6"), false);
        assert_eq!(verdict, Verdict::Native { exact: false });
    }
}

#[test]
fn what_cannot_be_looked_into_counts_as_code() {
    let mut broken = entry(SASS, 80, ZSTD, (1, 8), &cubin(&[]));
    let at = 80;
    broken[at..at + 8].fill(0xff);
    for one in [
        broken,
        entry(LTO, 75, LZ4 | OBFUSCATED, (1, 64), b"x"),
        entry(0x40, 75, 0, (1, 0), b"x"),
    ] {
        assert!(!facts(&library(&[(".nv_fatbin", &container(&[one]))])).shapes[0].empty);
    }
}

#[test]
fn inputs_of_a_finished_link_do_not_count_as_coverage() {
    let linked = container(&[sass(80, 0)]);
    let inputs = container(&[sass(80, 0), ptx(80, (8, 0))]);
    let facts = facts(&library(&[
        (".nv_fatbin", &linked),
        ("__nv_relfatbin", &inputs),
    ]));
    assert_eq!((facts.containers(false), facts.containers(true)), (1, 1));
    assert_eq!(facts.verdict(cc("9.0"), false), Verdict::None);
    assert_eq!(
        facts.verdict(cc("8.0"), false),
        Verdict::Native { exact: true }
    );
}

#[test]
fn verdicts_look_at_every_container_unless_the_library_dispatches() {
    let both = container(&[sass(80, 0), sass(90, 0)]);
    let old = container(&[sass(80, 0)]);
    let jit = container(&[sass(80, 0), ptx(80, (8, 5))]);
    let of = |parts: &[&Vec<u8>]| {
        let all: Vec<u8> = parts.iter().flat_map(|p| p.iter().copied()).collect();
        facts(&library(&[(".nv_fatbin", &all)]))
    };
    let partial = of(&[&both, &old]);
    assert_eq!(
        partial.verdict(cc("9.0"), false),
        Verdict::Partial {
            usable: 1,
            unusable: 1
        }
    );
    assert_eq!(
        partial.verdict(cc("9.0"), true),
        Verdict::Native { exact: true }
    );
    assert_eq!(
        partial.verdict(cc("8.6"), false),
        Verdict::Native { exact: false }
    );
    assert_eq!(partial.verdict(cc("7.5"), false), Verdict::None);
    let mixed = of(&[&both, &jit]);
    let wanted = Verdict::Jit {
        native: 1,
        jit: 1,
        cuda: Some((12, 5)),
    };
    assert_eq!(mixed.verdict(cc("9.0"), false), wanted);
}

#[test]
fn a_file_may_be_a_container_itself() {
    let facts = facts(&container(&[sass(90, 0)]).repeat(2));
    assert_eq!(
        (facts.shapes[0].section.as_str(), facts.containers(false)),
        ("", 2)
    );
}

#[test]
fn names_kernels_of_cubins_and_ptx() {
    let names = ["_Z3twoPf", "_Z3onev"];
    let bytes = container(&[
        entry(SASS, 90, ZSTD, (1, 8), &cubin(&names)),
        entry(PTX, 90, LZ4, (9, 0), ptx_text(90, &names).as_bytes()),
        entry(LTO, 75, LZ4 | OBFUSCATED, (1, 64), b"x"),
    ]);
    let container = Container::read(&bytes, 0).unwrap();
    let of = |number: usize| kernels(&container.items[number]).unwrap();
    assert_eq!(of(0).names, ["_Z3onev", "_Z3twoPf"]);
    assert_eq!(of(1).names, ["_Z3onev", "_Z3twoPf"]);
    assert_eq!(of(1).ptx_version.as_deref(), Some("9.0"));
    assert_eq!(of(1).ptx_target.as_deref(), Some("sm_90"));
    assert!(of(2).names.is_empty());
}

#[test]
fn a_payload_that_is_not_what_it_claims_is_an_error() {
    let good = entry(SASS, 90, ZSTD, (1, 8), &cubin(&["k"]));
    let claims = |size: u64| {
        let mut entry = good.clone();
        entry[0x38..0x40].copy_from_slice(&size.to_le_bytes());
        let bytes = container(&[entry]);
        let container = Container::read(&bytes, 0).unwrap();
        kernels(&container.items[0]).map_err(|e| format!("{e:?}"))
    };
    assert!(claims(1 << 40).unwrap_err().contains("TooLarge"));
    assert!(claims(10).unwrap_err().contains("Zstd"));
    assert!(claims(100_000).unwrap_err().contains("Size"));
}

#[test]
fn mutated_files_are_answered_without_panic() {
    let one = container(&[sass(80, 0), sass(90, ZSTD | A), ptx(90, (8, 5))]);
    let good = library(&[(".nv_fatbin", &one.repeat(3)), (".rodata", &one)]);
    let start = good
        .windows(4)
        .position(|w| w == 0xBA55_ED50u32.to_le_bytes())
        .unwrap();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut roll = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let extremes = [
        0u64,
        1,
        0x7fff_ffff,
        0xffff_ffff,
        1 << 63,
        u64::MAX,
        u64::MAX - 15,
    ];
    let (mut faulty, mut found) = (0, 0);
    for round in 0..crate::costly::rounds(10_000) {
        let mut copy = good.clone();
        for _ in 0..=roll(3) {
            let at = match roll(3) {
                0 => start + roll(one.len() * 3),
                1 => copy.len() - 8 - roll(1024.min(copy.len() - 8)),
                _ => roll(copy.len() - 8),
            };
            let at = at.min(copy.len() - 8);
            if roll(2) == 0 {
                copy[at] = roll(256) as u8;
            } else {
                copy[at..at + 8].copy_from_slice(&extremes[roll(extremes.len())].to_le_bytes());
            }
        }
        if let Some(facts) = GpuFacts::read(&copy, round % 8 == 0) {
            faulty += usize::from(!facts.faults.is_empty());
            found += usize::from(!facts.shapes.is_empty());
        }
    }
    assert!(
        faulty > 100 && found > 100,
        "{faulty} {found}: the mutations miss what is read"
    );
}

#[test]
fn a_scan_tells_containers_in_file_order_of_sections() {
    let bytes = library(&[(
        ".nv_fatbin",
        &[container(&[sass(80, 0)]), container(&[sass(90, 0)])].concat(),
    )]);
    let mut offsets = Vec::new();
    scan(&bytes, |found| match found {
        Found::Container(section, container) => {
            assert_eq!(section, ".nv_fatbin");
            offsets.push(container.offset);
        }
        Found::Fault(fault) => panic!("{fault}"),
    })
    .unwrap();
    assert_eq!(offsets.len(), 2);
    assert!(offsets[0] < offsets[1]);
}
