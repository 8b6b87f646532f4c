//! The real Maven interpreters, normalised and run. They are too large for the offline suite: tests/real/interpreter.sh
//! fetches them and names them in `BUNDLER_REAL_JARS` (`x86_64.jar`, `arm64.jar`).

use std::path::{Path, PathBuf};
use std::process::Command;

use bundler::base::target::Arch;
use bundler::build::ingest::interpreter::{
    InterpreterRequest, is_early_module, openssl_dir, plan, unpack,
};
use bundler::build::ingest::{Content, Plan};

fn jar(name: &str) -> PathBuf {
    let folder = std::env::var_os("BUNDLER_REAL_JARS")
        .expect("BUNDLER_REAL_JARS is set by tests/real/interpreter.sh");
    Path::new(&folder).join(name)
}

fn planned(arch: Arch) -> Plan {
    let name = match arch {
        Arch::Amd64 => "x86_64.jar",
        Arch::Arm64 => "arm64.jar",
    };
    let archive = jar(name);
    let request = InterpreterRequest {
        archive: &archive,
        file: None,
        artifact: None,
        version: "3.12.1",
        arch,
    };
    plan(&request).unwrap()
}

/// Unpacks under a hostile path, and moves it there, so that no path of the first place can help.
fn moved(plan: &Plan, dir: &Path) -> PathBuf {
    let program = unpack(plan, &dir.join("first")).unwrap();
    let home = program.ancestors().nth(3).unwrap();
    let place = dir.join("a b'\"ü$(x)");
    std::fs::create_dir(&place).unwrap();
    let home_now = place.join("runtime");
    std::fs::rename(home, &home_now).unwrap();
    home_now
}

#[track_caller]
fn output(command: &mut Command) -> String {
    let out = command.env_clear().output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(
        out.status.success(),
        "{command:?}\n{text}\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
    text
}

const PROBE: &str = r#"
import os, sys, sysconfig
root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(sys.executable))))
assert sys.prefix == root + "/python", sys.prefix
assert all(p == "" or p.startswith(root) for p in sys.path), sys.path
for name, value in {**sysconfig.get_paths(), **sysconfig.get_config_vars()}.items():
    assert "/home/runner" not in str(value) and "@PREFIX@" not in str(value), (name, value)
assert os.path.isfile(sysconfig.get_paths()["include"] + "/Python.h")
assert os.path.isfile(sysconfig.get_config_h_filename())
assert sys.dont_write_bytecode and not sys.modules["site"].ENABLE_USER_SITE
import ssl, ctypes, hashlib, zlib, bz2, lzma, json, decimal, multiprocessing, asyncio
assert ssl.get_default_verify_paths().cafile, ssl.get_default_verify_paths()
print("ok")
"#;

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn the_amd64_interpreter_runs_after_a_move_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let plan = planned(Arch::Amd64);
    assert_eq!(openssl_dir(&plan.notes), None);
    let home = moved(&plan, dir.path());
    let count = || walk(&home).len();
    let before = count();
    for program in [
        "python/bin/python",
        "python/bin/python3",
        "python/bin/python3.12",
    ] {
        assert_eq!(
            output(Command::new(home.join(program)).args(["-B", "-c", PROBE])),
            "ok\n"
        );
    }
    assert_eq!(count(), before);
    for path in walk(&home) {
        let bytes = std::fs::read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            bytes.starts_with(b"\x7fELF") || !text.contains("/home/runner"),
            "{}",
            path.display()
        );
    }
}

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn a_c_extension_is_compiled_with_the_moved_interpreter() {
    let dir = tempfile::tempdir().unwrap();
    let home = moved(&planned(Arch::Amd64), dir.path());
    let source = dir.path().join("five.c");
    std::fs::write(
        &source,
        "#include <Python.h>\n\
         static PyObject *five(PyObject *s, PyObject *a) { return PyLong_FromLong(5); }\n\
         static PyMethodDef methods[] = {{\"five\", five, METH_NOARGS, 0}, {0}};\n\
         static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, \"five\", 0, -1, methods};\n\
         PyMODINIT_FUNC PyInit_five(void) { return PyModule_Create(&module); }\n",
    )
    .unwrap();
    // Once plainly, once with a NEEDED libpython, as some wheels have.
    for link in [&[][..], &["-L", "LIBDIR", "-lpython3.12"]] {
        let build = r#"
import subprocess, sys, sysconfig
v = sysconfig.get_config_vars()
link = [v["LIBDIR"] if a == "LIBDIR" else a for a in sys.argv[2:]]
out = sys.argv[1][:-2] + v["EXT_SUFFIX"]
subprocess.run([v["CC"].split()[0], "-shared", "-fPIC", "-I", sysconfig.get_paths()["include"], sys.argv[1], *link, "-o", out], check=True)
sys.path.insert(0, sys.argv[1].rpartition("/")[0])
import five
assert five.five() == 5
maps = {line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if "libpython" in line}
assert len(maps) == 1, maps
"#;
        let mut command = Command::new(home.join("python/bin/python3"));
        command.args(["-c", build]).arg(&source).args(link);
        let out = command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap();
        assert!(
            out.status.success(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
    }
}

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn pkg_config_and_make_follow_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let home = moved(&planned(Arch::Amd64), dir.path());
    // make and pkg-config cannot take blanks in a path; a link without them leads there.
    let plain = dir.path().join("plain");
    std::os::unix::fs::symlink(&home, &plain).unwrap();
    let makefile = plain.join("python/lib/python3.12/config-3.12-x86_64-linux-gnu/Makefile");
    let text = format!(
        "include {}\nshow:\n\t@echo $(prefix) $(BINDIR)\n",
        makefile.display()
    );
    let probe = dir.path().join("probe.mk");
    std::fs::write(&probe, text).unwrap();
    let shown = output(
        Command::new("/usr/bin/make")
            .arg("-f")
            .arg(&probe)
            .arg("show"),
    );
    let python = plain.join("python");
    assert_eq!(shown.trim(), format!("{0} {0}/bin", python.display()));
    let pc = std::fs::read_to_string(plain.join("python/lib/pkgconfig/python3.pc")).unwrap();
    assert!(
        pc.contains("prefix=${pcfiledir}/../..\n") && pc.contains("includedir=${prefix}/include"),
        "{pc}"
    );
}

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn a_copy_a_link_and_a_venv_behave() {
    let dir = tempfile::tempdir().unwrap();
    let home = moved(&planned(Arch::Amd64), dir.path());
    let program = home.join("python/bin/python3");
    let venv = dir.path().join("venv");
    output(
        Command::new(&program)
            .args(["-m", "venv", "--without-pip"])
            .arg(&venv),
    );
    let prefix = output(
        Command::new(venv.join("bin/python")).args(["-c", "import sys, ssl; print(sys.prefix)"]),
    );
    assert_eq!(prefix.trim(), venv.display().to_string());
    let link = dir.path().join("py");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    let prefix = output(Command::new(&link).args(["-c", "import sys, ssl; print(sys.prefix)"]));
    assert_eq!(prefix.trim(), home.join("python").display().to_string());
}

/// The layout beside a real interpreter: a whole small bundle.
fn bundle(dir: &Path) -> PathBuf {
    use bundler::build::ingest::layout::{LayoutValues, render};
    let home = moved(&planned(Arch::Amd64), dir);
    let values = LayoutValues {
        bundle_name: "pointcept-runtime".to_owned(),
        bundle_version: "1".to_owned(),
        target: "amd64-cu130".to_owned(),
        python_minor: "3.12".to_owned(),
        ..LayoutValues::default()
    };
    for entry in render(&values).unwrap() {
        let Content::Bytes(bytes) = &entry.content else {
            panic!("{}", entry.path)
        };
        write(&home, &entry.path, bytes);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(entry.mode);
        std::fs::set_permissions(home.join(&entry.path), mode).unwrap();
    }
    write(&home, ".complete", b"bundle 1\nentries 1\nfiles 00\n");
    home
}

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn the_user_site_and_host_variables_shadow_nothing_and_overlays_come_last() {
    let dir = tempfile::tempdir().unwrap();
    let home = bundle(dir.path());
    let user = dir.path().join("home");
    let user_site = "home/.local/lib/python3.12/site-packages";
    let site = "python/lib/python3.12/site-packages";
    write(
        dir.path(),
        &format!("{user_site}/sample.py"),
        b"raise SystemExit(9)",
    );
    write(
        dir.path(),
        &format!("{user_site}/usercustomize.py"),
        b"raise SystemExit(9)",
    );
    write(dir.path(), &format!("{user_site}/more.pth"), b"../more\n");
    write(
        dir.path(),
        "home/.local/lib/python3.12/more/sample.py",
        b"raise SystemExit(9)",
    );
    write(dir.path(), "host/json.py", b"raise SystemExit(9)");
    write(&home, &format!("{site}/sample.py"), b"from_bundle = True\n");
    write(dir.path(), "overlay/sample.py", b"raise SystemExit(9)");
    write(dir.path(), "overlay/extra.py", b"x = 1\n");
    let probe = "import sample, extra, json, sys; assert sample.from_bundle and extra.x == 1; \
                 assert not any('/home/.local' in p for p in sys.path), sys.path; print('ok')";
    for program in ["bin/python", "python/bin/python3"] {
        let mut command = Command::new(home.join(program));
        command
            .args(["-c", probe])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &user);
        command.env("POINTCEPT_OVERLAY", dir.path().join("overlay"));
        if program == "bin/python" {
            command
                .env("PYTHONPATH", dir.path().join("host"))
                .env("PYTHONHOME", "/nowhere");
            command
                .env("PYTHONSTARTUP", "/nowhere")
                .env("PYTHONUSERBASE", user.join(".local"));
        }
        let out = command.output().unwrap();
        assert!(
            out.status.success(),
            "{program}: {:?} {}",
            out.status,
            String::from_utf8_lossy(&out.stderr)
        );
    }
}

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn newer_libraries_are_loaded_by_full_path_and_by_no_variable() {
    let dir = tempfile::tempdir().unwrap();
    let home = bundle(dir.path());
    let source = dir.path().join("x.c");
    std::fs::write(&source, "int newer(void) { return 7; }\n").unwrap();
    std::fs::create_dir(home.join("lib")).unwrap();
    let library = home.join("lib/libnewer.so.6");
    let built = Command::new("gcc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libnewer.so.6", "-o"])
        .arg(&library)
        .arg(&source)
        .status();
    assert!(built.unwrap().success());
    write(&home, "lib/broken.so", b"no library");
    let probe = "import ctypes, os; assert ctypes.CDLL('libnewer.so.6').newer() == 7; \
                 assert not any('runtime/lib' in v.replace('runtime/python/lib', '') for v in os.environ.values()); print('ok')";
    for program in ["bin/python", "python/bin/python3"] {
        assert_eq!(
            output(Command::new(home.join(program)).args(["-c", probe])),
            "ok\n"
        );
    }
}

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn a_link_beside_a_foreign_pyvenv_cfg_starts_the_bundle() {
    let dir = tempfile::tempdir().unwrap();
    let home = bundle(dir.path());
    write(dir.path(), "x/pyvenv.cfg", b"home = junk\n");
    std::os::unix::fs::symlink(home.join("bin/python"), dir.path().join("x/py")).unwrap();
    let prefix =
        output(Command::new(dir.path().join("x/py")).args(["-c", "import sys; print(sys.prefix)"]));
    assert_eq!(prefix.trim(), home.join("python").display().to_string());
}

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn console_scripts_start_through_the_launcher() {
    let dir = tempfile::tempdir().unwrap();
    let home = bundle(dir.path());
    for script in ["pydoc3", "2to3", "python3-config"] {
        let argument = if script == "python3-config" {
            "--prefix"
        } else {
            "--help"
        };
        let mut command = Command::new(home.join("python/bin").join(script));
        let out = command
            .arg(argument)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(
            out.status.success() && !text.is_empty(),
            "{script}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        if script == "python3-config" {
            assert_eq!(text.trim(), home.join("python").display().to_string());
        }
    }
}

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn terminfo_is_the_hosts_and_what_cannot_work_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let plan = planned(Arch::Amd64);
    assert!(
        plan.notes
            .iter()
            .any(|n| n.code == "interpreter-tkinter-left-out")
    );
    let home = moved(&plan, dir.path());
    let program = home.join("python/bin/python3");
    let gone = "import importlib.util as u; assert not u.find_spec('tkinter') and not u.find_spec('turtle')";
    output(Command::new(&program).args(["-c", gone]));
    let terminal = "import importlib.util as u\ntry:\n    import curses\nexcept ImportError as e:\n    assert 'lib' in str(e), e\nelse:\n    curses.setupterm('xterm')";
    output(Command::new(&program).args(["-c", terminal]));
    let pip = output(Command::new(&program).args(["-c", "import sysconfig; print(open(sysconfig.get_path('stdlib') + '/EXTERNALLY-MANAGED').read())"]));
    assert!(pip.contains("POINTCEPT_OVERLAY"), "{pip}");
}

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn the_arm64_interpreter_has_the_same_shape_and_an_lzma_stand_in() {
    let paths = |arch| -> Vec<String> {
        let plain = |path: &str| path.replace("aarch64", "x86_64");
        planned(arch)
            .entries
            .iter()
            .map(|e| plain(&e.path))
            .collect()
    };
    let arm = planned(Arch::Arm64);
    assert!(
        arm.notes
            .iter()
            .any(|n| n.code == "interpreter-shim" && n.path.ends_with("/lib-dynload/_lzma.py"))
    );
    for entry in &arm.entries {
        if let Content::Bytes(bytes) = &entry.content {
            assert!(
                !bytes.starts_with(b"\x7fELF") || bytes[18] == 183,
                "{}",
                entry.path
            );
        }
    }
    let (arm, amd) = (paths(Arch::Arm64), paths(Arch::Amd64));
    let only_amd: Vec<&String> = amd.iter().filter(|p| !arm.contains(p)).collect();
    for path in only_amd {
        assert!(
            path.contains("lib-dynload/_") || path.contains("lib-dynload/readline"),
            "{path}"
        );
    }
}

#[test]
#[ignore = "needs the Maven interpreters and qemu-aarch64-static with an arm64 root; run by tests/real/interpreter.sh"]
fn the_arm64_interpreter_runs_under_emulation() {
    let root = std::env::var_os("BUNDLER_REAL_ARM64_ROOT")
        .expect("BUNDLER_REAL_ARM64_ROOT names an arm64 Debian root");
    let dir = tempfile::tempdir().unwrap();
    let home = moved(&planned(Arch::Arm64), dir.path());
    let mut command = Command::new("qemu-aarch64-static");
    command
        .arg("-L")
        .arg(root)
        .arg(home.join("python/bin/python3.12"))
        .args(["-c", PROBE]);
    let out = command.output().unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            out.extend(walk(&path));
        } else {
            out.push(path);
        }
    }
    out
}

#[test]
#[ignore = "needs the Maven interpreters; run by tests/real/interpreter.sh"]
fn a_bare_start_would_write_bytecode_of_the_early_modules_only() {
    let dir = tempfile::tempdir().unwrap();
    let home = moved(&planned(Arch::Amd64), dir.path());
    output(Command::new(home.join("python/bin/python3")).args(["-c", "import ssl, json, asyncio"]));
    let stdlib = home.join("python/lib/python3.12");
    let written: Vec<String> = walk(&stdlib)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "pyc"))
        .map(|path| {
            let name = path.strip_prefix(&stdlib).unwrap().to_str().unwrap();
            name.replace("__pycache__/", "")
                .replace(".cpython-312.pyc", ".py")
        })
        .collect();
    for name in &written {
        assert!(
            is_early_module(&format!("python/lib/python3.12/{name}")),
            "{written:?}"
        );
    }
    assert!(!written.is_empty(), "the list would be needless");
}
