//! Interpreters: a small archive shaped like python-build-standalone's, made here, becomes one shape; what is not the
//! interpreter that was asked for is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bundler::base::target::Arch;
use bundler::build::ingest::interpreter::{
    InterpreterError, InterpreterRequest, openssl_dir, plan, unpack,
};
use bundler::build::ingest::{Content, Plan};

const SYSCONFIG: &str = "# system configuration generated and used by the sysconfig module\n\
    build_time_vars = {'AR': '/tools/llvm/bin/llvm-ar',\n 'BINDIR': '/install/bin',\n \
    'CC': '/tools/llvm/bin/clang -pthread',\n 'INSTALL': '/usr/bin/install -c',\n 'prefix': '/install'}\n";

enum Item {
    File(&'static str, Vec<u8>, u32),
    Link(&'static str, &'static str),
}

fn elf(machine: u8) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(64, 0);
    bytes[16] = 3;
    bytes[18] = machine;
    bytes
}

/// The shape of an install_only_stripped archive, in small.
fn items() -> Vec<Item> {
    let file = |path, text: &str| Item::File(path, text.as_bytes().to_vec(), 0o644);
    let script = |path, text: &str| Item::File(path, text.as_bytes().to_vec(), 0o775);
    let config = "lib/python3.12/config-3.12-x86_64-linux-gnu";
    let config = |name: &str| -> &'static str { format!("{config}/{name}").leak() };
    let mut ssl = elf(62);
    ssl.extend_from_slice(b"OPENSSLDIR: \"/etc/ssl\"\0/install/lib\0");
    vec![
        Item::File("bin/python3.12", elf(62), 0o4755),
        Item::Link("bin/python3", "python3.12"),
        Item::Link("bin/python", "python3.12"),
        script(
            "bin/pydoc3.12",
            "#!/bin/sh\n\"exec\" \"$(dirname $0)/python3.12\" \"$0\" \"$@\"\nimport pydoc\npydoc.cli()\n",
        ),
        Item::Link("bin/pydoc3", "pydoc3.12"),
        script(
            "bin/pip3",
            "#!/bin/sh\n\"exec\" \"$(dirname $0)/python3.12\" \"$0\" \"$@\"\nfrom pip import main\n",
        ),
        script(
            "bin/idle3.12",
            "#!/install/bin/python3.12\nimport idlelib\n",
        ),
        Item::Link("bin/idle3", "idle3.12"),
        script("bin/perl-thing", "#!/install/bin/perl\n"),
        script("bin/python3.12-config", "#!/bin/sh\nprefix=\"/install\"\n"),
        Item::Link("bin/python3-config", "python3.12-config"),
        file("include/python3.12/Python.h", ""),
        file(
            "include/python3.12/patchlevel.h",
            "#define PY_MAJOR_VERSION 3\n#define PY_VERSION              \"3.12.14\"\n",
        ),
        Item::File("lib/libpython3.12.so.1.0", ssl, 0o755),
        file("lib/libpython3.12.a", "!<arch>\n"),
        file(
            "lib/pkgconfig/python-3.12.pc",
            "prefix=/install\nexec_prefix=${prefix}\nCflags: -I/install/include/python3.12\n",
        ),
        Item::Link("lib/pkgconfig/python3.pc", "python-3.12.pc"),
        file("lib/tcl9.0/tclConfig.sh", "TCL_PREFIX='/install'\n"),
        file("lib/python3.12/os.py", "# os\n"),
        file("lib/python3.12/encodings/__init__.py", ""),
        file("lib/python3.12/__pycache__/os.cpython-312.pyc", "x"),
        file("lib/python3.12/site-packages/pip/__init__.py", ""),
        file("lib/python3.12/test/test_os.py", ""),
        file("lib/python3.12/tkinter/__init__.py", ""),
        file("lib/python3.12/turtle.py", ""),
        file(
            "lib/python3.12/_sysconfigdata__linux_x86_64-linux-gnu.py",
            SYSCONFIG,
        ),
        file(
            config("Makefile"),
            "prefix=\t\t/install\nBINDIR=\t/install/bin\nINSTALL=\t/usr/bin/install -c\n",
        ),
        Item::File(
            config("python-config.py"),
            b"#!/install/bin/python3.12\nimport sysconfig\n".to_vec(),
            0o755,
        ),
        file("share/man/man1/python3.12.1", ""),
        file("share/terminfo/N/x", ""),
        file("share/terminfo/n/x", ""),
    ]
}

fn tar_of(items: &[Item]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for item in items {
        let mut header = tar::Header::new_gnu();
        match item {
            Item::File(path, bytes, mode) => {
                header.set_size(bytes.len() as u64);
                header.set_mode(*mode);
                builder
                    .append_data(&mut header, format!("python/{path}"), &bytes[..])
                    .unwrap();
            }
            Item::Link(path, goal) => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_size(0);
                header.set_mode(0o777);
                builder
                    .append_link(&mut header, format!("python/{path}"), goal)
                    .unwrap();
            }
        }
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn request(archive: &Path) -> InterpreterRequest<'_> {
    InterpreterRequest {
        archive,
        file: None,
        artifact: None,
        version: "3.12.14",
        arch: Arch::Amd64,
    }
}

/// Path → what stands there, as text.
fn shown(plan: &Plan) -> BTreeMap<String, String> {
    let show = |content: &Content| match content {
        Content::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Content::Symlink(goal) => format!("-> {goal}"),
        other => panic!("{other:?}"),
    };
    plan.entries
        .iter()
        .map(|e| (e.path.clone(), show(&e.content)))
        .collect()
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn an_archive_becomes_one_shape_that_names_no_place() {
    let dir = tempfile::tempdir().unwrap();
    let archive = write(dir.path(), "cpython.tar.gz", &gzip(&tar_of(&items())));
    let plan = plan(&request(&archive)).unwrap();
    let files = shown(&plan);
    let paths: Vec<&str> = files
        .keys()
        .map(|p| p.strip_prefix("python/").unwrap())
        .collect();
    let stdlib = "lib/python3.12";
    let expected = [
        "bin/pydoc3",
        "bin/pydoc3.12",
        "bin/python",
        "bin/python3",
        "bin/python3-config",
        "bin/python3.12",
        "bin/python3.12-config",
        "include/python3.12/Python.h",
        "include/python3.12/patchlevel.h",
        "lib/libpython3.12.so",
        "lib/libpython3.12.so.1.0",
        "lib/pkgconfig/python-3.12.pc",
        "lib/pkgconfig/python3.pc",
        &format!("{stdlib}/EXTERNALLY-MANAGED"),
        &format!("{stdlib}/_sysconfigdata__linux_x86_64-linux-gnu.py"),
        &format!("{stdlib}/config-3.12-x86_64-linux-gnu/Makefile"),
        &format!("{stdlib}/config-3.12-x86_64-linux-gnu/python-config.py"),
        &format!("{stdlib}/encodings/__init__.py"),
        &format!("{stdlib}/os.py"),
        &format!("{stdlib}/sitecustomize.py"),
        "share/man/man1/python3.12.1",
    ];
    assert_eq!(paths, expected);
    for (path, text) in &files {
        assert!(
            path.ends_with(".so.1.0") || !text.contains("'/install") && !text.contains("=/install"),
            "{path}: {text}"
        );
    }
    assert_eq!(files["python/bin/python3"], "-> python3.12");
    assert_eq!(files["python/bin/pydoc3"], "-> pydoc3.12");
    for script in ["pydoc3.12", "python3.12-config"] {
        let text = &files[&format!("python/bin/{script}")];
        assert!(
            text.starts_with("#!/bin/sh\n'''exec' ") && text.contains("/../../bin/python\""),
            "{text}"
        );
    }
    let sysconfig = &files[&format!("python/{stdlib}/_sysconfigdata__linux_x86_64-linux-gnu.py")];
    assert!(sysconfig.contains("'AR': 'ar',\n 'BINDIR': '@PREFIX@/bin',\n 'CC': 'cc -pthread',\n 'INSTALL': '/usr/bin/install -c',"));
    assert_eq!(
        files["python/lib/pkgconfig/python-3.12.pc"],
        "prefix=${pcfiledir}/../..\nexec_prefix=${prefix}\nCflags: -I${prefix}/include/python3.12\n"
    );
    let modes: BTreeMap<&str, u32> = plan.entries.iter().map(|e| (&*e.path, e.mode)).collect();
    assert_eq!(modes["python/bin/python3.12"], 0o755);
    assert_eq!(modes["python/bin/python"], 0o777);
    assert_eq!(modes["python/lib/libpython3.12.so.1.0"], 0o644);
}

#[test]
fn what_is_left_out_or_added_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let archive = write(dir.path(), "cpython.tar", &tar_of(&items()));
    let plan = plan(&request(&archive)).unwrap();
    let told: Vec<String> = plan
        .notes
        .iter()
        .map(|n| format!("{} {}", n.code, n.path))
        .collect();
    let expected = [
        "interpreter-bytecode-left-out python/lib/python3.12",
        "interpreter-tests-left-out python/lib/python3.12/test",
        "interpreter-static-libraries-left-out python/lib",
        "interpreter-distributions-left-out python/lib/python3.12/site-packages",
        "interpreter-config-left-out python/lib",
        "interpreter-tkinter-left-out python/lib/python3.12/tkinter",
        "interpreter-build-prefix python/lib/libpython3.12.so.1.0",
        "interpreter-script-left-out python/bin/perl-thing",
        "interpreter-hook python/lib/python3.12/sitecustomize.py",
        "interpreter-openssl-dir /etc/ssl",
    ];
    assert_eq!(told, expected);
    assert_eq!(openssl_dir(&plan.notes), Some("/etc/ssl"));
    let hook = &shown(&plan)["python/lib/python3.12/sitecustomize.py"];
    assert!(
        hook.contains("compiled_in = \"/etc/ssl\"") && !hook.contains('@'),
        "{hook}"
    );
}

#[test]
fn plain_gzip_zstd_and_folder_give_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let plain = tar_of(&items());
    let first = shown(&plan(&request(&write(dir.path(), "a", &plain))).unwrap());
    let zstd = zstd::bulk::compress(&plain, 1).unwrap();
    for (name, bytes) in [("b", gzip(&plain)), ("c", zstd)] {
        assert_eq!(
            shown(&plan(&request(&write(dir.path(), name, &bytes))).unwrap()),
            first
        );
    }
    let folder = dir.path().join("folder");
    for item in items() {
        let (Item::File(path, ..) | Item::Link(path, _)) = &item;
        let path = folder.join("python").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        match item {
            Item::File(_, bytes, _) => std::fs::write(path, bytes).unwrap(),
            Item::Link(_, goal) => std::os::unix::fs::symlink(goal, path).unwrap(),
        }
    }
    assert_eq!(shown(&plan(&request(&folder)).unwrap()), first);
    assert_eq!(
        shown(&plan(&request(&folder.join("python"))).unwrap()),
        first
    );
}

#[test]
fn another_interpreter_than_asked_for_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let archive = write(dir.path(), "cpython.tar", &tar_of(&items()));
    let with = |change: fn(&mut InterpreterRequest<'_>)| {
        let mut request = request(&archive);
        change(&mut request);
        plan(&request).unwrap_err()
    };
    let text = |e: InterpreterError| e.to_string();
    assert_eq!(
        text(with(|r| r.arch = Arch::Arm64)),
        "cpython.tar holds a CPython for x86_64, but arm64 is wanted"
    );
    assert_eq!(
        text(with(|r| r.version = "3.12.13")),
        "cpython.tar holds CPython 3.12.14, but 3.12.13 is wanted"
    );
    assert_eq!(
        text(with(|r| r.version = "3.13.1")),
        "cpython.tar holds no CPython of a known shape: bin/python3.13 is not in it"
    );
    assert!(matches!(
        with(|r| r.version = "three"),
        InterpreterError::Minor(_)
    ));
    let mut hostile = items();
    hostile.push(Item::Link("lib/out", "../../../etc"));
    let hostile = write(dir.path(), "hostile.tar", &tar_of(&hostile));
    assert!(matches!(
        plan(&request(&hostile)),
        Err(InterpreterError::Tar(_))
    ));
    let none = write(dir.path(), "none.tar", &[0; 1024]);
    assert!(matches!(
        plan(&request(&none)),
        Err(InterpreterError::Shape { .. })
    ));
    assert!(matches!(
        plan(&request(&dir.path().join("gone"))),
        Err(InterpreterError::File(_))
    ));
}

#[test]
fn unpacking_is_done_once_and_heals() {
    let dir = tempfile::tempdir().unwrap();
    let archive = write(dir.path(), "cpython.tar", &tar_of(&items()));
    let plan = plan(&request(&archive)).unwrap();
    let cache = dir.path().join("cache/interpreters");
    let program = unpack(&plan, &cache).unwrap();
    assert_eq!(std::fs::read(&program).unwrap(), elf(62));
    let home = program.parent().unwrap().parent().unwrap().to_owned();
    let made = std::fs::metadata(&home).unwrap().modified().unwrap();
    assert_eq!(unpack(&plan, &cache).unwrap(), program);
    assert_eq!(std::fs::metadata(&home).unwrap().modified().unwrap(), made);
    std::fs::write(home.join("lib/python3.12/os.py"), "").unwrap();
    unpack(&plan, &cache).unwrap();
    assert_eq!(
        std::fs::read(home.join("lib/python3.12/os.py")).unwrap(),
        b"# os\n"
    );
    assert_eq!(
        std::fs::read_dir(&cache).unwrap().count(),
        1,
        "nothing is left over"
    );
}
