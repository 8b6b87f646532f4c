//! The ELF reader: facts of files made by gcc, and an answer without panic for any bytes at all.

use bundler::formats::elf::{ElfError, ElfFacts, read};

use crate::trees::Gcc;

fn full_library() -> Vec<u8> {
    let gcc = Gcc::new();
    std::fs::write(
        gcc.path("v.map"),
        "V_1 { global: one; };\nV_2 { global: two; } V_1;\n",
    )
    .unwrap();
    gcc.library("libdep.so.1", &[]);
    gcc.make(
        "libfull.so.3",
        "#include <stdio.h>\n_Thread_local long many[8]; void one(void) { puts(\"\"); } long two(int i) { return many[i]; }",
        &[
            "-shared", "-fPIC", "-L.", "-l:libdep.so.1", "-Wl,-soname,libfull.so.3", "-Wl,--version-script,v.map",
            "-Wl,-rpath,$ORIGIN:$ORIGIN/../lib", "-Wl,--enable-new-dtags", "-Wl,--build-id=0xabcdef0123",
            "-ftls-model=initial-exec",
        ],
    )
}

#[test]
fn reads_every_fact_of_a_library() {
    let facts = read(&full_library()).unwrap();
    assert_eq!(facts.soname.as_deref(), Some("libfull.so.3"));
    assert_eq!(facts.needed, ["libdep.so.1", "libc.so.6"]);
    assert_eq!(facts.runpath, ["$ORIGIN", "$ORIGIN/../lib"]);
    assert!(facts.rpath.is_empty());
    assert_eq!(facts.version_defs, ["V_1", "V_2"]);
    assert_eq!(facts.version_needs[0].0, "libc.so.6");
    assert!(
        facts.version_needs[0]
            .1
            .iter()
            .all(|v| v.starts_with("GLIBC_2."))
    );
    assert_eq!(facts.build_id.as_deref(), Some("abcdef0123"));
    assert_eq!((facts.static_tls, facts.tls_size), (true, 64));
    assert!(facts.load_align >= 4096);
    assert!(facts.is_64 && !facts.is_program() && facts.is_loadable());
    assert!(!facts.executable_stack && !facts.text_relocations && !facts.big_endian);
}

#[test]
fn tells_programs_from_libraries_and_rpath_from_runpath() {
    let gcc = Gcc::new();
    let source = "int main(void) { return 0; }";
    let pie = read(&gcc.make(
        "a",
        source,
        &["-pie", "-fPIE", "-Wl,-rpath,/x", "-Wl,--disable-new-dtags"],
    ))
    .unwrap();
    assert!(pie.is_program() && pie.interpreter.is_some());
    assert_eq!(
        (pie.rpath.as_slice(), pie.runpath.len()),
        (&["/x".to_owned()][..], 0)
    );
    let fixed = read(&gcc.make("b", source, &["-no-pie"])).unwrap();
    assert!(fixed.is_program());
    assert!(fixed.rpath.is_empty() && fixed.runpath.is_empty());
    let object = read(&gcc.make("c.o", source, &["-c"])).unwrap();
    assert!(!object.is_loadable());
}

#[test]
fn reads_the_cpu_level_a_file_says_it_needs() {
    let gcc = Gcc::new();
    let with = |args: &[&str]| read(&gcc.library("libx.so", args)).unwrap().x86_isa_needed;
    assert_eq!(with(&["-Wl,-z,x86-64-v2"]), Some(0b10));
    assert_eq!(with(&["-Wl,-z,x86-64-v3"]), Some(0b100));
}

#[test]
fn a_stripped_file_without_section_headers_is_read_the_same() {
    let bytes = full_library();
    let mut bare = bytes.clone();
    bare[40..48].fill(0);
    bare[58..64].fill(0);
    assert_eq!(read(&bare).unwrap(), read(&bytes).unwrap());
}

#[test]
fn facts_survive_a_trip_through_json() {
    let facts = read(&full_library()).unwrap();
    let text = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<ElfFacts>(&text).unwrap(), facts);
}

#[test]
fn what_is_no_elf_file_is_told_from_what_is_damaged() {
    assert_eq!(read(b""), Err(ElfError::NotElf));
    assert_eq!(read(b"MZ\x90"), Err(ElfError::NotElf));
    assert!(matches!(
        read(b"\x7fELF"),
        Err(ElfError::Bad { offset: 0, .. })
    ));
}

#[test]
fn every_cut_of_a_file_is_answered() {
    let bytes = full_library();
    let mut errors = 0;
    for end in (0..bytes.len()).step_by(7) {
        errors += usize::from(read(&bytes[..end]).is_err());
    }
    assert!(errors > 50);
}

/// A small generator, the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

#[test]
fn mutated_files_are_answered_without_panic() {
    let bytes = full_library();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let extremes = [
        0u64,
        1,
        0x7fff_ffff,
        0xffff_ffff,
        1 << 63,
        u64::MAX,
        u64::MAX - 1,
        u64::MAX - 7,
    ];
    let (mut good, mut bad) = (0, 0);
    for _ in 0..crate::costly::rounds(30_000) {
        let mut copy = bytes.clone();
        for _ in 0..=dice.roll(3) {
            // Most of what is read lies in the headers and in the first pages.
            let limit = if dice.roll(2) == 0 { 0x400 } else { copy.len() };
            let at = dice.roll(limit.min(copy.len()) - 8);
            if dice.roll(2) == 0 {
                copy[at] = dice.roll(256) as u8;
            } else {
                let value = extremes[dice.roll(extremes.len())];
                copy[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
        match read(&copy) {
            Ok(_) => good += 1,
            Err(e) => {
                assert!(!e.to_string().is_empty());
                bad += 1;
            }
        }
    }
    assert!(
        good > 1_000 && bad > 1_000,
        "{good} {bad}: the mutations miss what is read"
    );
}
