//! ELF facts against readelf, and the audit of a whole tree.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bundler::base::fs;
use bundler::base::target::Arch;
use bundler::build::assemble::{Merge, Placed, merge};
use bundler::build::audit::{AuditRequest, Policy, report};
use bundler::build::ingest::store::Backing;
use bundler::formats::component::{Component, ComponentKind, Entry, EntryKind, FileFacts, Layer};
use bundler::formats::elf::{self, ElfFacts};
use bundler::formats::floor::Floor;

fn facts(path: &Path) -> Result<ElfFacts, elf::ElfError> {
    let file = fs::open(path).expect("the file opens");
    elf::read(&fs::map(&file, path).expect("the file can be mapped"))
}

/// The same facts as readelf prints them.
fn by_readelf(path: &Path) -> ElfFacts {
    let done = Command::new("readelf")
        .args(["-hdVnlW"])
        .arg(path)
        .env("LC_ALL", "C")
        .output()
        .expect("readelf is a required tool");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let mut facts = ElfFacts::default();
    let mut section = "";
    for line in text.lines() {
        if line.starts_with("Version needs") {
            section = "needs";
        } else if line.starts_with("Version definition") {
            section = "definitions";
        } else if line.starts_with("Version symbols") {
            section = "symbols";
        } else if line.starts_with("Displaying notes") {
            section = "notes";
        }
        let in_brackets = || {
            let inside = line
                .split_once('[')
                .map(|(_, rest)| rest)
                .unwrap_or_default();
            inside.strip_suffix(']').unwrap_or(inside).to_owned()
        };
        let list = || {
            in_brackets()
                .split(':')
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let after = |word: &str| {
            let rest = line.split_once(word).map(|(_, r)| r).unwrap_or_default();
            rest.split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [_, "(NEEDED)", ..] => facts.needed.push(in_brackets()),
            [_, "(SONAME)", ..] => facts.soname = Some(in_brackets()),
            [_, "(RPATH)", ..] => facts.rpath = list(),
            [_, "(RUNPATH)", ..] => facts.runpath = list(),
            [_, "(TEXTREL)", ..] => facts.text_relocations = true,
            [_, "(FLAGS)", flags @ ..] => {
                facts.static_tls |= flags.contains(&"STATIC_TLS");
                facts.text_relocations |= flags.contains(&"TEXTREL");
            }
            ["Class:", class] => facts.is_64 = *class == "ELF64",
            ["Type:", kind, ..] => {
                facts.file_type = match *kind {
                    "REL" => 1,
                    "EXEC" => 2,
                    "DYN" => 3,
                    _ => 0,
                }
            }
            ["Machine:", machine @ ..] => {
                facts.machine = match machine.join(" ").as_str() {
                    "Advanced Micro Devices X86-64" => 62,
                    "AArch64" => 183,
                    _ => 0,
                }
            }
            ["LOAD", .., align] => facts.load_align = facts.load_align.max(hex(align)),
            ["TLS", _, _, _, _, size, ..] => facts.tls_size = hex(size),
            ["GNU_STACK", .., flags, _] => facts.executable_stack = flags.contains('E'),
            ["[Requesting", "program", "interpreter:", rest] => {
                facts.interpreter = Some(rest.trim_end_matches(']').to_owned());
            }
            _ if line.contains("Build ID: ") => facts.build_id = Some(after("Build ID: ")),
            _ if section == "needs" && line.contains("File:") => {
                facts.version_needs.push((after("File:"), Vec::new()));
            }
            _ if section == "needs" && line.contains("Name:") => {
                let name = after("Name:");
                facts
                    .version_needs
                    .last_mut()
                    .expect("a file comes first")
                    .1
                    .push(name);
            }
            _ if section == "definitions" && line.contains("Rev:") && !line.contains("BASE") => {
                facts.version_defs.push(after("Name:"));
            }
            _ => {}
        }
    }
    facts
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a hexadecimal number")
}

#[test]
fn facts_equal_readelfs_for_every_elf_file() {
    let root = super::tree();
    let files = super::elf_files(&root);
    assert!(!files.is_empty(), "no ELF file below {}", root.display());
    let mut wrong = Vec::new();
    let mut time = Duration::ZERO;
    for file in &files {
        let path = root.join(file);
        let start = Instant::now();
        let ours = facts(&path);
        time += start.elapsed();
        let mut theirs = by_readelf(&path);
        if ours.as_ref().is_ok_and(|o| o.build_id.is_none()) {
            // readelf finds notes by sections too; the loader, and we, by segments.
            theirs.build_id = None;
        }
        match ours {
            // readelf prints what the note needs in words that differ between its releases.
            Ok(ours)
                if (ElfFacts {
                    x86_isa_needed: None,
                    ..ours.clone()
                }) == theirs => {}
            ours => wrong.push(format!("{}:\n  {ours:?}\n  {theirs:?}", file.display())),
        }
    }
    println!("{} ELF files, facts read in {time:?}", files.len());
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_audit_of_real_files_finds_no_error() {
    let root = super::tree();
    let is_bundle = root.join("python").is_dir();
    let mut entries = Vec::new();
    for file in super::elf_files(&root) {
        let name = file.to_str().expect("a path in UTF-8");
        let path = if is_bundle {
            name.to_owned()
        } else {
            format!("python/lib/python3.12/site-packages/{name}")
        };
        let kind = match facts(&root.join(&file)) {
            Ok(facts) => FileFacts::Elf(Box::new(facts)),
            Err(e) => FileFacts::BrokenElf(e.to_string()),
        };
        entries.push(entry(path, Some(kind)));
    }
    if !is_bundle {
        entries.push(entry(
            "python/lib/python3.12/site-packages/torch/__init__.py".to_owned(),
            None,
        ));
    }
    let count = entries.len();
    let component = Component {
        key: digest(""),
        id: digest(""),
        name: "everything".to_owned(),
        version: None,
        kind: ComponentKind::Wheel,
        artifact: None,
        entries,
        segments: Vec::new(),
        distribution: None,
        notes: Vec::new(),
    };
    let placed = Placed {
        component: Arc::new(component),
        layer: Layer::App,
        segments: Backing::Memory(Arc::from([])),
        source: None,
    };
    let Merge::Done(merged) = merge(vec![placed]).expect("nothing collides") else {
        panic!("one component shares with itself")
    };
    let request = AuditRequest {
        arch: Arch::host(),
        declared: Floor {
            glibc: Some("2.28".parse().expect("a version")),
            ..Floor::default()
        },
        waivers: Vec::new(),
        allowed_hooks: Vec::new(),
        host_libraries: Vec::new(),
    };
    let start = Instant::now();
    let report = report(merged.tree(), &request, Policy::embedded());
    println!("{count} entries judged in {:?}", start.elapsed());
    let mut by_code: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for finding in &report.findings {
        let line = format!(
            "{:?} {}: {}",
            finding.severity, finding.path, finding.message
        );
        by_code.entry(&finding.code).or_default().push(line);
    }
    println!("{by_code:#?}\n{:#?}\n{:#?}", report.floor, report.blame);
    for need in &report.host_needs {
        println!("{need:?}");
    }
    assert!(report.floor.glibc.is_some());
    let errors: Vec<_> = report
        .findings
        .iter()
        .filter(|f| f.severity == bundler::base::finding::Severity::Error)
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn entry(path: String, facts: Option<FileFacts>) -> Entry {
    Entry {
        sha256: Some(digest(&path)),
        path,
        kind: EntryKind::File,
        mode: 0o644,
        size: 0,
        facts,
    }
}

fn digest(text: &str) -> bundler::base::digest::Digest {
    bundler::base::digest::Digest::of(text.as_bytes())
}
