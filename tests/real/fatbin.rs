//! GPU code of real files: what was counted with cuobjdump and by hand for the torch 2.11.0 cu130 closure for x86-64.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use bundler::base::fs;
use bundler::formats::fatbin::{GpuFacts, Kind};

fn facts(path: &Path, look_inside: bool) -> Option<GpuFacts> {
    let file = fs::open(path).expect("the file opens");
    GpuFacts::read(
        &fs::map(&file, path).expect("the file can be mapped"),
        look_inside,
    )
}

/// `75×190 80×191 …` of a kind, in sections that `wanted` picks.
fn counts(facts: &GpuFacts, kind: Kind, wanted: impl Fn(&str) -> bool) -> String {
    let mut sums: BTreeMap<(u16, String), u32> = BTreeMap::new();
    for (code, count) in facts.entries(|s| wanted(&s.section)) {
        if code.kind == kind {
            let name = code.name();
            let number = name
                .split_once('_')
                .expect("a name has two parts")
                .1
                .to_owned();
            *sums.entry((code.arch, number)).or_default() += count;
        }
    }
    let text: Vec<String> = sums.iter().map(|((_, n), c)| format!("{n}×{c}")).collect();
    text.join(" ")
}

fn containers(facts: &GpuFacts, wanted: impl Fn(&str) -> bool) -> u32 {
    let those = facts.shapes.iter().filter(|s| wanted(&s.section));
    those.map(|s| s.containers).sum()
}

#[test]
fn counts_are_those_of_the_vendors_tool() {
    let root = super::tree();
    let files = super::elf_files(&root);
    let find = |name: &str| {
        files
            .iter()
            .find(|f| f.file_name().is_some_and(|n| n == name))
            .unwrap_or_else(|| panic!("{name} is not below {}", root.display()))
    };
    let fatbin = |s: &str| s == ".nv_fatbin";
    let cases: &[(&str, u32, &str, &str)] = &[
        (
            "libtorch_cuda.so",
            444,
            "75×444 80×444 86×444 89×1 90×444 90a×4 100×444 100a×59 103a×59 120×444 120a×1 121a×1",
            "",
        ),
        (
            "libtorch_cuda_linalg.so",
            99,
            "80×99 86×99 90×99 100×99 120×99",
            "",
        ),
        (
            "libcublas.so.13",
            193,
            "75×190 80×191 86×114 90×191 100×191 120×192",
            "120×188",
        ),
        (
            "libcublasLt.so.13",
            2782,
            "75×166 80×482 86×105 89×247 90×221 90a×1376 100×1187 100a×1 103×64 120×463 120f×1133 121×4",
            "75×1 120×287",
        ),
        (
            "libnccl.so.2",
            16,
            "75×12 80×12 90×12 100×12 100f×4 110×12 120×12",
            "120×11",
        ),
    ];
    for (name, number, sass, ptx) in cases {
        let facts = facts(&root.join(find(name)), false).expect("it has GPU code");
        assert_eq!(containers(&facts, fatbin), *number, "{name}");
        assert_eq!(counts(&facts, Kind::Sass, fatbin), *sass, "{name}");
        assert_eq!(counts(&facts, Kind::Ptx, fatbin), *ptx, "{name}");
        assert!(facts.faults.is_empty(), "{name}: {:?}", facts.faults);
    }
    for (name, section, number) in [
        ("libnccl.so.2", "__nv_relfatbin", 127),
        ("libnvshmem_host.so.3", "__nv_relfatbin", 27),
        ("libtorch_nvshmem.so", "__nv_relfatbin", 4),
        ("libcublasLt.so.13", ".cask_resource", 383),
        ("libcudnn_engines_precompiled.so.9", ".cask_resource", 122),
        ("libcusparseLt.so.0", ".cask_resource", 234),
        ("libcufft.so.12", ".ldata", 23_983),
        ("libcusparse.so.12", ".rodata", 34),
    ] {
        let facts = facts(&root.join(find(name)), false).expect("it has GPU code");
        assert_eq!(
            containers(&facts, |s| s == section),
            number,
            "{name} {section}"
        );
    }
}

#[test]
fn every_file_is_listed_quickly_and_few_shapes_tell_all() {
    let root = super::tree();
    let mut shapes = 0;
    let (mut plain, mut inside) = (Duration::ZERO, Duration::ZERO);
    for file in super::elf_files(&root) {
        let path = root.join(&file);
        let start = Instant::now();
        let found = facts(&path, false);
        plain += start.elapsed();
        let Some(found) = found else { continue };
        assert!(
            found.faults.is_empty(),
            "{}: {:?}",
            file.display(),
            found.faults
        );
        let start = Instant::now();
        let looked = facts(&path, true).expect("it has GPU code");
        let took = start.elapsed();
        inside += took;
        let empty: u32 = looked
            .shapes
            .iter()
            .filter(|s| s.empty)
            .map(|s| s.containers)
            .sum();
        let all: u32 = looked.shapes.iter().map(|s| s.containers).sum();
        println!(
            "{}: {all} containers, {empty} empty, {} shapes, {took:?}; SASS {:?}; PTX {:?}; LTO {:?}",
            file.display(),
            looked.shapes.len(),
            looked.names(Kind::Sass),
            looked.names(Kind::Ptx),
            looked.names(Kind::Lto),
        );
        shapes += looked.shapes.len();
    }
    println!("listing all {plain:?}, with a look inside {inside:?}, {shapes} shapes");
    assert!(shapes > 0);
}
