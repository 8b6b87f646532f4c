//! Sound archives that are wrong as wheels: RECORD, dist-info, file names.

use bundler::base::digest::Digest;

use super::forge::{Archive, Wheel};
use super::hostile::Collection;

const INFO: &str = "pkg-1.0.dist-info";

pub fn add(all: &mut Collection) {
    records(all);
    dist_infos(all);
    file_names(all);
}

/// The small wheel with a changed RECORD.
fn record(
    all: &mut Collection,
    class: &'static str,
    fault: &'static str,
    named: &str,
    change: impl Fn(&str) -> String,
) {
    let wheel = Wheel::small();
    let text = change(&String::from_utf8(wheel.record()).unwrap());
    let parts = wheel.parts_with_record(text.as_bytes());
    all.add(class, fault, named, Archive::of(parts).bytes());
}

fn records(all: &mut Collection) {
    let module = Wheel::small().files[3].1.clone();
    let digest = Digest::of(&module);
    let plain = format!("sha256={}", digest.record_form());
    let swap = |to: String| {
        move |text: &str| text.replace(&format!("sha256={}", digest.record_form()), &to)
    };
    let name = "pkg/mod.py";
    for file in ["pkg/mod.py", "pkg/__init__.py", "pkg-1.0.dist-info/WHEEL"] {
        let without = |text: &str| -> String {
            let lines = text.lines().filter(|line| !line.starts_with(file));
            lines.map(|line| format!("{line}\n")).collect()
        };
        record(
            all,
            "file that RECORD does not list",
            "RecordMismatch",
            file,
            without,
        );
    }
    record(
        all,
        "RECORD row without a file",
        "RecordMismatch",
        "pkg/ghost.py",
        |text| format!("pkg/ghost.py,{plain},5\n{text}"),
    );
    record(
        all,
        "RECORD with another path",
        "RecordMismatch",
        "pkg/mod2.py",
        |text| text.replace("pkg/mod.py", "pkg/mod2.py"),
    );
    record(
        all,
        "RECORD with another path",
        "RecordMismatch",
        "./pkg/mod.py",
        |text| text.replace("pkg/mod.py", "./pkg/mod.py"),
    );
    record(all, "RECORD row twice", "Record(Twice", name, |text| {
        let row = text.lines().find(|line| line.starts_with(name)).unwrap();
        format!("{row}\n{text}")
    });
    record(
        all,
        "RECORD digest in hex",
        "Record(Hex",
        name,
        swap(format!("sha256={digest}")),
    );
    record(
        all,
        "RECORD digest with padding",
        "Record(Padded",
        name,
        swap(format!("{plain}=")),
    );
    for algorithm in ["md5", "sha1", "sha512", "SHA256"] {
        record(
            all,
            "RECORD digest of another kind",
            "Record(Algorithm",
            name,
            swap(format!("{algorithm}=x")),
        );
    }
    record(
        all,
        "RECORD without a digest",
        "Record(NoDigest",
        name,
        swap(String::new()),
    );
    for bad in ["sha256=", "sha256=abc", "x"] {
        record(
            all,
            "RECORD digest that is none",
            "Record(Digest",
            name,
            swap(bad.into()),
        );
    }
    let size = format!("{plain},{}", module.len());
    for (fault, bad) in [
        ("RecordMismatch", "1"),
        ("Record(Size", "-1"),
        ("Record(Size", "1e3"),
        ("Record(Size", "99999999999999999999"),
    ] {
        let to = format!("{plain},{bad}");
        record(all, "RECORD with another size", fault, name, |text| {
            text.replace(&size, &to)
        });
    }
    record(
        all,
        "RECORD that is no table",
        "Record(Columns",
        "line 1",
        |text| format!("pkg\n{text}"),
    );
    record(
        all,
        "RECORD that is no table",
        "Record(Columns",
        "line 1",
        |text| format!("a,b,c,d\n{text}"),
    );
    let wheel = Wheel::small();
    let parts = wheel.parts_with_record(b"\xff,,\n");
    all.add(
        "RECORD that is no table",
        "Record(Csv",
        "RECORD",
        Archive::of(parts).bytes(),
    );
    let mut parts = wheel.parts();
    parts.pop();
    all.add(
        "no RECORD",
        "Missing",
        "pkg-1.0.dist-info/RECORD",
        Archive::of(parts).bytes(),
    );
}

pub fn whole(
    all: &mut Collection,
    class: &'static str,
    fault: &'static str,
    named: &str,
    wheel: &Wheel,
) {
    all.add_named(
        class,
        fault,
        named,
        &wheel.file_name,
        wheel.archive().bytes(),
    );
}

fn dist_infos(all: &mut Collection) {
    let small = Wheel::small();
    for missing in ["METADATA", "WHEEL"] {
        let path = format!("{INFO}/{missing}");
        whole(
            all,
            "dist-info without a file",
            "Missing",
            &path,
            &small.clone().without(&path),
        );
    }
    let second = small.clone().file(
        "other-1.0.dist-info/METADATA",
        b"Metadata-Version: 2.1\nName: other\nVersion: 1.0\n",
    );
    whole(
        all,
        "two dist-info folders",
        "ManyDistInfo",
        "other-1.0.dist-info",
        &second,
    );
    let folded = small.clone().file("pkg-1.0.0.dist-info/METADATA", b"");
    whole(
        all,
        "two dist-info folders",
        "ManyDistInfo",
        "pkg-1.0.0.dist-info",
        &folded,
    );
    let deep = Wheel {
        dist_info: "pkg/_vendor/pkg-1.0.dist-info".into(),
        files: vec![(
            "pkg/_vendor/pkg-1.0.dist-info/METADATA".into(),
            b"Name: x\n".to_vec(),
            0o644,
        )],
        file_name: small.file_name.clone(),
    };
    whole(
        all,
        "no dist-info at the root",
        "NoDistInfo",
        &small.file_name,
        &deep,
    );
    for (file_name, fault) in [
        ("other-1.0-py3-none-any.whl", "DistInfoName"),
        ("pkg-1.1-py3-none-any.whl", "DistInfoName"),
        ("pkg-1.0.post1-py3-none-any.whl", "DistInfoName"),
    ] {
        whole(
            all,
            "dist-info of something else",
            fault,
            INFO,
            &small.clone().named(file_name),
        );
    }
    let metadata = format!("{INFO}/METADATA");
    for (fault, named, text) in [
        (
            "MetadataName",
            "other",
            "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n",
        ),
        (
            "MetadataName",
            "1.1",
            "Metadata-Version: 2.1\nName: pkg\nVersion: 1.1\n",
        ),
        (
            "MetadataName",
            "one",
            "Metadata-Version: 2.1\nName: pkg\nVersion: one\n",
        ),
        (
            "Metadata(Twice(\"Name\")",
            "Name",
            "Metadata-Version: 2.1\nName: pkg\nName: other\nVersion: 1.0\n",
        ),
        (
            "Metadata(Twice(\"Version\")",
            "Version",
            "Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\nversion: 2\n",
        ),
        (
            "Metadata(Missing(\"Name\")",
            "Name",
            "Metadata-Version: 2.1\nVersion: 1.0\n",
        ),
        (
            "Metadata(Missing(\"Version\")",
            "Version",
            "Metadata-Version: 2.1\nName: pkg\n\nVersion: 1.0\n",
        ),
        (
            "Metadata(FormatVersion",
            "3.0",
            "Metadata-Version: 3.0\nName: pkg\nVersion: 1.0\n",
        ),
        ("Metadata(Missing", "Metadata-Version", ""),
    ] {
        whole(
            all,
            "METADATA of something else",
            fault,
            named,
            &small.clone().file(&metadata, text.as_bytes()),
        );
    }
    let wheel = format!("{INFO}/WHEEL");
    for (fault, named, text) in [
        (
            "WheelFile(FormatVersion",
            "2.0",
            "Wheel-Version: 2.0\nRoot-Is-Purelib: true\n",
        ),
        (
            "WheelFile(FormatVersion",
            "format version",
            "Root-Is-Purelib: true\n",
        ),
        (
            "WheelFile(Purelib",
            "maybe",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: maybe\n",
        ),
        (
            "WheelFile(Purelib",
            "Root-Is-Purelib",
            "Wheel-Version: 1.0\n",
        ),
        (
            "WheelFile(Headers",
            "Root-Is-Purelib",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nRoot-Is-Purelib: false\n",
        ),
        (
            "WheelFile(Tag",
            "py3-none",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none\n",
        ),
    ] {
        whole(
            all,
            "WHEEL that cannot be followed",
            fault,
            named,
            &small.clone().file(&wheel, text.as_bytes()),
        );
    }
}

fn file_names(all: &mut Collection) {
    let small = Wheel::small();
    for (fault, name) in [
        ("Name(Suffix", "pkg-1.0-py3-none-any.zip"),
        ("Name(Parts", "pkg-1.0-py3-none.whl"),
        ("Name(Parts", "pkg-1.0-1-2-py3-none-any.whl"),
        ("Name(Distribution", "../pkg-1.0-py3-none-any.whl"),
        ("Name(Distribution", "p kg-1.0-py3-none-any.whl"),
        ("Name(Version", "pkg-latest-py3-none-any.whl"),
        ("Name(Build", "pkg-1.0-x-py3-none-any.whl"),
        ("Name(Tags", "pkg-1.0-py3--any.whl"),
    ] {
        whole(
            all,
            "file name that is none",
            fault,
            name,
            &small.clone().named(name),
        );
    }
    for tags in [
        "cp311-cp311-manylinux_2_28_x86_64",
        "cp312-cp312t-manylinux_2_28_x86_64",
        "cp313-abi3-manylinux_2_28_x86_64",
        "cp312-cp312-manylinux_2_28_aarch64",
        "cp312-cp312-manylinux_2_39_x86_64",
        "cp312-cp312-musllinux_1_2_x86_64",
        "cp312-cp312-win_amd64",
        "cp312-cp312-macosx_11_0_arm64",
        "py2-none-any",
    ] {
        let name = format!("pkg-1.0-{tags}.whl");
        whole(
            all,
            "made for something else",
            "Incompatible",
            tags,
            &small.clone().named(&name),
        );
    }
}
