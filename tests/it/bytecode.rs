//! Bytecode by the Python of this machine: the same bytes whatever was compiled before, and what that Python makes of
//! the same source.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, mpsc};

use bundler::base::digest::Digest;
use bundler::base::progress::Progress;
use bundler::base::segments::Encoding;
use bundler::build::ingest::bytecode::{Bytecode, BytecodeError, Compiler};
use bundler::build::ingest::engine::{Engine, Item, Python};
use bundler::build::ingest::store::{Ingredients, Store};
use bundler::build::ingest::{Content, Plan, PlannedEntry, RecordPlan};
use bundler::formats::component::ComponentKind;

/// The Python of this machine, its minor version, its standard library.
fn python() -> (PathBuf, String, PathBuf) {
    let script = "import sys, os; print(sys.executable); print('%d.%d' % sys.version_info[:2]); \
                  print(os.path.dirname(os.__file__))";
    let output = Command::new("python3").args(["-I", "-c", script]).output();
    let output = output.expect("these tests need a python3, 3.11 or newer");
    let text = String::from_utf8(output.stdout).unwrap();
    let [program, version, library] = text.lines().collect::<Vec<_>>()[..] else {
        panic!("{text}");
    };
    (program.into(), version.to_owned(), library.into())
}

/// Real sources with their paths.
fn sources(library: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut out = BTreeMap::new();
    for folder in [
        "",
        "json",
        "email",
        "asyncio",
        "http",
        "logging",
        "unittest",
        "xml/dom",
        "encodings",
    ] {
        for entry in std::fs::read_dir(library.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "py") {
                let name = path.strip_prefix(library).unwrap().to_str().unwrap();
                out.insert(format!("python/lib/{name}"), std::fs::read(&path).unwrap());
            }
        }
    }
    out.into_iter().collect()
}

#[test]
fn bytes_do_not_depend_on_what_was_compiled_before() {
    let (program, version, library) = python();
    let sources = sources(&library);
    assert!(sources.len() > 300);
    let compile = |compiler: &mut Compiler, (path, source): &(String, Vec<u8>)| {
        compiler.compile(path, source).unwrap().unwrap()
    };
    let mut one = Compiler::new(&program, &version);
    let forward: Vec<_> = sources.iter().map(|s| compile(&mut one, s)).collect();
    let mut other = Compiler::new(&program, &version);
    let mut backward: Vec<_> = sources
        .iter()
        .rev()
        .map(|s| compile(&mut other, s))
        .collect();
    backward.reverse();
    for (((path, _), a), b) in sources.iter().zip(&forward).zip(&backward) {
        assert!(a == b, "{path} differs");
    }
    for number in (0..sources.len()).step_by(40) {
        let alone = compile(&mut Compiler::new(&program, &version), &sources[number]);
        assert!(
            alone == forward[number],
            "{} differs alone",
            sources[number].0
        );
    }
    agrees_with_python(&program, &sources, &forward);
}

/// Python itself loads the bytes and finds the code equal to what it compiles, and the header as it writes it.
fn agrees_with_python(program: &PathBuf, sources: &[(String, Vec<u8>)], made: &[Vec<u8>]) {
    let dir = tempfile::tempdir().unwrap();
    for (number, ((path, source), bytes)) in sources.iter().zip(made).enumerate() {
        let at = |kind: &str| dir.path().join(format!("{number}.{kind}"));
        std::fs::write(at("path"), path).unwrap();
        std::fs::write(at("py"), source).unwrap();
        std::fs::write(at("pyc"), bytes).unwrap();
    }
    let script = r"
import sys, marshal, _imp, types, importlib.util, _frozen_importlib_external as external
def walk(a, b, path):
    assert a == b and a.co_filename == b.co_filename == path, path
    assert a.co_linetable == b.co_linetable and a.co_exceptiontable == b.co_exceptiontable, path
    for x, y in zip(a.co_consts, b.co_consts):
        assert type(x) is type(y), path
        if isinstance(x, types.CodeType):
            walk(x, y, path)
for number in range(int(sys.argv[1])):
    path, source, made = (open(f'{number}.{kind}', 'rb').read() for kind in ('path', 'py', 'pyc'))
    code = compile(source, path.decode(), 'exec', dont_inherit=True, optimize=0)
    walk(marshal.loads(made[16:]), code, path.decode())
    header = external._code_to_hash_pyc(code, importlib.util.source_hash(source), False)[:16]
    assert made[:16] == header, path
print('equal')
";
    let output = Command::new(program)
        .args(["-I", "-W", "ignore", "-c", script, &made.len().to_string()])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && output.stdout == b"equal\n",
        "{error}"
    );
}

#[test]
fn another_version_and_no_python_are_refused() {
    let (program, version, _) = python();
    let mut wrong = Compiler::new(&program, "3.99");
    match wrong.compile("x.py", b"") {
        Err(BytecodeError::Version { found, .. }) => assert_eq!(found, version),
        other => panic!("{other:?}"),
    }
    let mut none = Compiler::new("/bin/true".as_ref(), &version);
    assert!(matches!(
        none.compile("x.py", b""),
        Err(BytecodeError::NotPython { said: None, .. })
    ));
    let dir = tempfile::tempdir().unwrap();
    let broken = dir.path().join("python");
    let script = "#!/bin/sh\necho a >&2\necho \"$0: lib.so: cannot open shared object file\" >&2\nexit 127\n";
    std::fs::write(&broken, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&broken, mode).unwrap();
    let error = Compiler::new(&broken, &version).compile("x.py", b"");
    let text = error.unwrap_err().to_string();
    assert!(
        text.ends_with("it says: lib.so: cannot open shared object file"),
        "{text}"
    );
    let mut nowhere = Compiler::new("/nonexistent".as_ref(), &version);
    assert!(matches!(
        nowhere.compile("x.py", b""),
        Err(BytecodeError::Start { .. })
    ));
}

#[test]
fn a_component_ships_bytecode_its_record_lists_and_notes_what_does_not_compile() {
    let (program, version, library) = python();
    let dir = tempfile::tempdir().unwrap();
    let site = format!("python/lib/python{version}/site-packages");
    let mut files: Vec<(String, Vec<u8>)> = sources(&library)
        .into_iter()
        .take(60)
        .map(|(path, source)| (path.replace("python/lib", &format!("{site}/pkg")), source))
        .collect();
    files.push((format!("{site}/pkg/old.py"), b"print 'no'\n".to_vec()));
    files.push((format!("{site}/pkg/data.txt"), b"x".to_vec()));
    files.push(("python/bin/script.py".to_owned(), b"x = 1\n".to_vec()));
    files.sort();
    let mut seen = Vec::new();
    for threads in [1, 4] {
        let stored = make(
            &dir.path().join(threads.to_string()),
            threads,
            &files,
            &program,
            &version,
            &site,
        );
        seen.push((stored.component.id, stored.component.notes.clone()));
        let digits = version.replace('.', "");
        let compiled: Vec<_> = stored
            .component
            .entries
            .iter()
            .filter(|e| e.path.ends_with(&format!(".cpython-{digits}.pyc")))
            .collect();
        assert_eq!(compiled.len(), 60);
        assert!(
            compiled
                .iter()
                .all(|e| e.path.contains("/pkg/") && e.path.contains("/__pycache__/"))
        );
        let record = record(&stored);
        for entry in compiled {
            let path = entry.path.strip_prefix(&format!("{site}/")).unwrap();
            let digest = entry.sha256.unwrap().record_form();
            let row = format!("{path},sha256={digest},{}\n", entry.size);
            assert!(record.contains(&row), "{row}");
        }
    }
    assert_eq!(seen[0], seen[1]);
    let note = &seen[0].1[0];
    assert_eq!((note.code.as_str(), seen[0].1.len()), ("not-compiled", 1));
    assert!(note.path.ends_with("old.py") && note.message.contains("SyntaxError"));
}

fn make(
    cache: &std::path::Path,
    threads: usize,
    files: &[(String, Vec<u8>)],
    program: &std::path::Path,
    version: &str,
    site: &str,
) -> bundler::build::ingest::store::Stored {
    let program = program.to_owned();
    let engine = Engine {
        store: Store::new(cache),
        threads: NonZeroUsize::new(threads).unwrap(),
        python: Some(Arc::new(move || Ok(program.clone())) as Python),
        progress: Progress::silent(),
    };
    let entries: Vec<_> = files
        .iter()
        .map(|(path, bytes)| PlannedEntry {
            path: path.clone(),
            mode: 0o644,
            size: bytes.len() as u64,
            content: Content::Bytes(bytes.as_slice().into()),
            expected: None,
        })
        .collect();
    let plan = Plan {
        name: "pkg".to_owned(),
        version: None,
        kind: ComponentKind::Wheel,
        artifact: None,
        entries,
        record: Some(RecordPlan {
            path: format!("{site}/pkg-1.dist-info/RECORD"),
            site_packages: site.to_owned(),
        }),
        archive: None,
        distribution: None,
        notes: Vec::new(),
    };
    let (send, receive) = mpsc::channel();
    let ingredients = Ingredients {
        kind: ComponentKind::Wheel,
        name: "pkg".to_owned(),
        version: None,
        file: None,
        artifact: Digest::of(b"pkg"),
        python: version.to_owned(),
        target: None,
        bytecode: Bytecode::UncheckedHash {
            interpreter: Digest::of(b"python"),
        },
        without: Vec::new(),
        options: Vec::new(),
        encoding: Encoding::default(),
    };
    send.send(Item {
        position: 0,
        ingredients,
        size: 1,
        planner: Box::new(move || Ok(plan)),
    })
    .unwrap();
    drop(send);
    engine.run(receive).unwrap().remove(0)
}

/// RECORD of a component: the end of its last segment.
fn record(stored: &bundler::build::ingest::store::Stored) -> String {
    let number = stored.component.segments.len() - 1;
    let (mut blocks, mut tar) = (Vec::new(), Vec::new());
    stored.read_segment(number, &mut blocks).unwrap();
    let unpacked = stored.component.segments[number].unpacked;
    bundler::base::segments::decode_segment(&blocks, unpacked, &mut tar).unwrap();
    String::from_utf8_lossy(&tar[512..]).into_owned()
}

#[test]
fn without_bytecode_only_the_interpreter_keeps_what_it_needs_to_start() {
    let interpreter = Digest::of(b"jar");
    let start_up = Bytecode::StartUp { interpreter };
    assert_eq!(
        (start_up.policy(), start_up.of_others()),
        ("none", Bytecode::None)
    );
    let shipped = Bytecode::UncheckedHash { interpreter };
    assert_eq!(shipped.of_others(), shipped);
}
