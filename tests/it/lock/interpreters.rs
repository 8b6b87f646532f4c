//! Archives shaped like python-build-standalone's, in small. Their `bin/python3.12` hands its work to the Python of this machine,
//! which calls itself 3.12: enough to compile bytecode.

use std::path::Path;
use std::process::Command;

/// Starts `python3` with the script after `-c`, told to be 3.12 first.
const PROGRAM: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const char be[] = "import sys; sys.version_info = (3, 12, 14); sys.implementation.cache_tag = 'cpython-312'\n";
int main(int count, char **words) {
    for (int i = 1; i + 1 < count; i++) {
        if (strcmp(words[i], "-c") == 0) {
            char *script = malloc(sizeof be + strlen(words[i + 1]));
            strcpy(script, be);
            strcat(script, words[i + 1]);
            words[i + 1] = script;
        }
    }
    words[0] = PYTHON;
    execv(PYTHON, words);
    return 127;
}
"#;

const SYSCONFIG: &str =
    "# generated\nbuild_time_vars = {'BINDIR': '/install/bin',\n 'prefix': '/install'}\n";

/// What the archive for a machine is called.
pub fn name(machine: &str) -> String {
    format!("cpython-3.12.14+20260814-{machine}-unknown-linux-gnu-install_only_stripped.tar.gz")
}

/// Makes the archives of both architectures in a folder; their names and bytes.
pub fn archives(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let own = program(dir);
    let make = |machine: &str, number: u8| {
        let mut program = own.clone();
        // e_machine of the ELF header: a program nobody starts here.
        program[18] = number;
        let bytes = archive(machine, &program);
        std::fs::write(dir.join(name(machine)), &bytes).unwrap();
        (name(machine), bytes)
    };
    vec![make("x86_64", 62), make("aarch64", 183)]
}

fn program(dir: &Path) -> Vec<u8> {
    let python = Command::new("python3")
        .args(["-I", "-c", "import sys; print(sys.executable)"])
        .output()
        .expect("these tests need a python3, 3.11 or newer");
    let python = String::from_utf8(python.stdout).unwrap();
    let (source, out) = (dir.join("python.c"), dir.join("python"));
    std::fs::write(&source, PROGRAM).unwrap();
    let made = Command::new("gcc")
        .args(["-static", "-O1", "-s", "-w"])
        .arg(format!("-DPYTHON={:?}", python.trim()))
        .arg("-o")
        .args([&out, &source])
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    std::fs::read(out).unwrap()
}

fn archive(machine: &str, program: &[u8]) -> Vec<u8> {
    let text = |path: &str, text: &str| (path.to_owned(), text.as_bytes().to_vec(), 0o644);
    let files = [
        ("bin/python3.12".to_owned(), program.to_vec(), 0o755),
        text("include/python3.12/Python.h", ""),
        text(
            "include/python3.12/patchlevel.h",
            "#define PY_VERSION              \"3.12.14\"\n",
        ),
        text("lib/python3.12/os.py", "name = 'posix'\n"),
        text("lib/python3.12/encodings/__init__.py", ""),
        text(
            &format!("lib/python3.12/_sysconfigdata__linux_{machine}-linux-gnu.py"),
            SYSCONFIG,
        ),
    ];
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for (path, bytes, mode) in &files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(*mode);
        tar.append_data(&mut header, format!("python/{path}"), &bytes[..])
            .unwrap();
    }
    for link in ["bin/python3", "bin/python"] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        header.set_mode(0o777);
        tar.append_link(&mut header, format!("python/{link}"), "python3.12")
            .unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}
