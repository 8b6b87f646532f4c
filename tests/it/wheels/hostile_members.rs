//! Members whose headers, packing, types or bytes lie.

use super::forge::{Archive, Descriptor, Part, Wheel, crc32, deflate, extra};
use super::hostile::Collection;

/// Number of `pkg/mod.py` in the small wheel.
const MODULE: usize = 3;

pub fn add(all: &mut Collection) {
    headers(all);
    descriptors(all);
    extras(all);
    packing(all);
    types(all);
    streams(all);
}

fn headers(all: &mut Collection) {
    all.each_part(
        "local header with another name",
        "LocalDiffers { field: \"name\"",
        |p| {
            *p.local.name.last_mut().unwrap() ^= 1;
        },
    );
    all.part(
        "local header with another name",
        "LocalDiffers { field: \"name\"",
        MODULE,
        |p| {
            p.local.name.push(b'x');
        },
    );
    all.each_part(
        "local header with another method",
        "LocalDiffers { field: \"method\"",
        |p| {
            p.local.method = 0;
        },
    );
    for bit in [1, 3, 11] {
        all.part(
            "local header with other flags",
            "LocalDiffers { field: \"flags\"",
            MODULE,
            |p| {
                p.local.flags ^= 1 << bit;
            },
        );
    }
    all.each_part(
        "local header with another CRC",
        "LocalDiffers { field: \"CRC-32\"",
        |p| p.local.crc32 ^= 1,
    );
    all.each_part(
        "local header with another packed size",
        "LocalDiffers { field: \"packed size\"",
        |p| {
            p.local.packed += 1;
        },
    );
    all.each_part(
        "local header with another unpacked size",
        "LocalDiffers { field: \"unpacked size\"",
        |p| {
            p.local.unpacked -= 1;
        },
    );
    all.part(
        "local header without sizes",
        "LocalDiffers { field: \"packed size\"",
        MODULE,
        |p| {
            p.local.packed = 0;
        },
    );
    all.each_part("no local header", "NoLocalHeader", |p| {
        p.written = false;
        p.offset = Some(7);
    });
}

fn descriptors(all: &mut Collection) {
    let form = Descriptor::Narrow { signature: true };
    for at in [4, 8, 12] {
        all.part(
            "descriptor at odds with the directory",
            "Descriptor",
            MODULE,
            |p| {
                *p = p.clone().stream(form.clone());
                let mut raw = b"PK\x07\x08".to_vec();
                raw.extend_from_slice(&p.central.crc32.to_le_bytes());
                raw.extend_from_slice(&p.central.packed.to_le_bytes());
                raw.extend_from_slice(&p.central.unpacked.to_le_bytes());
                raw[at] ^= 1;
                p.descriptor = Some(Descriptor::Raw(raw));
            },
        );
    }
    all.each_part("descriptor missing", "Descriptor", |p| {
        *p = p.clone().stream(Descriptor::Raw(Vec::new()));
    });
    all.part("descriptor missing", "Descriptor", MODULE, |p| {
        *p = p.clone().stream(Descriptor::Raw(b"PK\x07\x08".to_vec()));
    });
    all.each_part("descriptor nobody announced", "Gap", |p| {
        p.descriptor = Some(Descriptor::Narrow { signature: true });
    });
    for signature in [true, false] {
        for form in [
            Descriptor::Wide { signature },
            Descriptor::Narrow { signature },
        ] {
            let mut archive = Wheel::small().archive();
            archive.parts[MODULE] = archive.parts[MODULE].clone().stream(form);
            archive.parts[MODULE + 1].gap = b"hidden".to_vec();
            let bytes = archive.bytes();
            all.add("bytes behind a descriptor", "Gap", "pkg/mod.py", bytes);
        }
    }
    for crc in [true, false] {
        let local = "LocalDiffers";
        all.part("half a streamed header", local, MODULE, |p| {
            *p = p.clone().stream(form.clone());
            if crc {
                p.local.crc32 = 1;
            } else {
                p.local.unpacked = 1;
            }
        });
    }
    // To a front-to-back reader the first descriptor ends the member, and a hidden one begins behind it.
    for text in [
        &b"PK\x07\x08"[..],
        b"x = 1\nPK\x07\x08\0\0\0\0\x06\0\0\0\x06\0\0\0PK\x03\x04",
    ] {
        let part = Part::with_method("pkg/stored.bin", text, 0).stream(form.clone());
        let mut archive = Wheel::small().archive();
        archive.parts.insert(0, part);
        all.add(
            "descriptor hidden in stored bytes",
            "HiddenDescriptor",
            "pkg/stored.bin",
            archive.bytes(),
        );
    }
}

fn extras(all: &mut Collection) {
    let broken: [Vec<u8>; 4] = [
        vec![1, 2, 3],
        vec![0, 0, 0, 0, 9],
        [&extra(0x5455, b"abc")[..], &[9, 9, 255, 0]].concat(),
        vec![0x55, 0x54, 255, 255, 1],
    ];
    for bytes in &broken {
        all.part("extra fields that do not add up", "Extra", MODULE, |p| {
            p.central.extra = bytes.clone();
        });
        all.part("extra fields that do not add up", "Extra", MODULE, |p| {
            p.local.extra = bytes.clone();
        });
    }
    let sizes = [5_u64.to_le_bytes(), 5_u64.to_le_bytes()].concat();
    all.part("zip64 field nobody asked for", "Extra", MODULE, |p| {
        p.central.extra = extra(1, &sizes);
    });
    all.part(
        "zip64 field with other sizes",
        "LocalDiffers",
        MODULE,
        |p| p.local.extra = extra(1, &sizes),
    );
    all.part("zip64 field too short", "Extra", MODULE, |p| {
        (p.central.unpacked, p.central.extra) = (u32::MAX, extra(1, &[0; 4]));
    });
    all.part("zip64 field too short", "Extra", MODULE, |p| {
        (p.local.unpacked, p.local.packed) = (u32::MAX, u32::MAX);
    });
    all.part("zip64 field too short", "Extra", MODULE, |p| {
        p.local.extra = extra(1, &[0; 8]);
    });
    all.part("two zip64 fields", "Extra", MODULE, |p| {
        let unpacked = u64::from(p.central.unpacked).to_le_bytes();
        let field = extra(1, &unpacked);
        (p.central.unpacked, p.central.extra) = (u32::MAX, [&field[..], &field].concat());
    });
    let mut other = vec![1, 0, 0, 0, 0];
    other.extend_from_slice(b"pkg/evil.py");
    all.part("another name in an extra field", "Extra", MODULE, |p| {
        p.central.extra = extra(0x7075, &other);
    });
    all.part("another name in an extra field", "Extra", MODULE, |p| {
        p.local.extra = extra(0x7075, &other);
    });
}

fn packing(all: &mut Collection) {
    for method in [
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        9,
        10,
        12,
        14,
        16,
        18,
        19,
        20,
        94,
        95,
        96,
        97,
        98,
        99,
        u16::MAX,
    ] {
        all.part("unknown packing", "Method", MODULE, |p| {
            p.both(|h| h.method = method);
        });
    }
    for flags in [1, 1 << 6, 1 << 13, 1 | 1 << 6] {
        all.part("encrypted", "Encrypted", MODULE, |p| {
            p.both(|h| h.flags = flags);
        });
    }
    all.part("encrypted", "Encrypted", MODULE, |p| {
        p.central.extra = extra(0x9901, b"\x02\0AE\x03\x08\0");
    });
    for bit in [4, 5, 7, 8, 9, 10, 12, 14, 15] {
        all.part("unknown flags", "Flags", MODULE, |p| {
            p.both(|h| h.flags = 1 << bit);
        });
    }
    all.part("sizes that cannot be", "ImpossibleSize", MODULE, |p| {
        p.both(|h| (h.method, h.packed) = (0, 3));
    });
    all.part("sizes that cannot be", "ImpossibleSize", MODULE, |p| {
        p.both(|h| h.packed = 0);
    });
    all.part("sizes that cannot be", "ImpossibleSize", MODULE, |p| {
        p.both(|h| h.unpacked = u32::MAX - 1);
    });
    let huge = [(1_u64 << 50).to_le_bytes(), (1_u64 << 50).to_le_bytes()].concat();
    all.part("sizes that cannot be", "ImpossibleSize", MODULE, |p| {
        (p.central.unpacked, p.central.extra) = (u32::MAX, extra(1, &huge[..8]));
    });
    all.part("sizes that cannot be", "TooShort", MODULE, |p| {
        p.both(|h| {
            (h.method, h.unpacked, h.packed, h.extra) = (0, u32::MAX, u32::MAX, extra(1, &huge));
        });
    });
}

fn types(all: &mut Collection) {
    for mode in [0o120_777, 0o120_000] {
        all.each_part("symbolic link", "Symlink", |p| p.external = mode << 16);
        all.part("symbolic link made elsewhere", "Symlink", MODULE, |p| {
            (p.external, p.made_by) = (mode << 16, 20);
        });
    }
    for kind in [
        0o010_000, 0o020_000, 0o060_000, 0o140_000, 0o160_000, 0o170_000,
    ] {
        all.part("device, fifo or socket", "SpecialFile", MODULE, |p| {
            p.external = (kind | 0o644) << 16;
        });
    }
    all.part("folder by one mark only", "FolderOrFile", MODULE, |p| {
        p.external = 0o040_755 << 16;
    });
    all.part("folder by one mark only", "FolderOrFile", MODULE, |p| {
        p.external |= 0x10;
    });
    for (external, data) in [(0o100_644 << 16, &b""[..]), (0o040_755 << 16, b"bytes")] {
        let mut part = Part::with_method("pkg/sub/", data, 0);
        part.external = external;
        let mut archive = Wheel::small().archive();
        archive.parts.push(part);
        all.add(
            "folder by one mark only",
            "FolderOrFile",
            "pkg/sub/",
            archive.bytes(),
        );
    }
}

fn streams(all: &mut Collection) {
    all.each_part("other bytes than the CRC says", "Crc", |p| {
        p.both(|h| h.crc32 ^= 0x8000_0000);
    });
    let stored = |data: &[u8]| Part::with_method("pkg/stored.bin", data, 0);
    let mut archive = Wheel::small().archive();
    let mut part = stored(b"stored bytes");
    part.body[3] ^= 1;
    archive.parts.push(part);
    all.add(
        "other bytes than the CRC says",
        "Crc",
        "pkg/stored.bin",
        archive.bytes(),
    );

    let body = |class, fault, change: fn(&mut Part)| {
        let mut archive = Wheel::small().archive();
        let part = &mut archive.parts[MODULE];
        change(part);
        let packed = u32::try_from(part.body.len()).unwrap();
        part.both(|h| h.packed = packed);
        (class, fault, archive.bytes())
    };
    let text = "print('hello')\n".repeat(40);
    assert_eq!(
        crc32(text.as_bytes()),
        Wheel::small().parts()[MODULE].central.crc32
    );
    for (class, fault, bytes) in [
        body("unpacks to more than it says", "TooLong", |p| {
            p.both(|h| h.unpacked -= 1);
        }),
        body("unpacks to more than it says", "TooLong", |p| {
            p.body = deflate(&[b'x'; 100_000]);
            p.both(|h| h.crc32 = crc32(&vec![b'x'; h.unpacked as usize]));
        }),
        body("unpacks to more than it says", "TooLong", |p| {
            p.both(|h| h.unpacked = 0);
            p.both(|h| h.crc32 = 0);
        }),
        body("unpacks to less than it says", "TooShort", |p| {
            p.both(|h| h.unpacked += 1);
        }),
        body("unpacks to less than it says", "TooShort", |p| {
            p.both(|h| h.unpacked += 10_000);
        }),
        body("bytes after the packed stream", "Unused", |p| {
            p.body.push(0);
        }),
        body("bytes after the packed stream", "Unused", |p| {
            p.body.extend(deflate(b"more"));
        }),
        body("packed stream cut off", "TooShort", |p| p.body.truncate(5)),
        body("packed stream cut off", "Damaged", |p| {
            p.body.truncate(p.body.len() - 1);
        }),
        body("packed stream damaged", "Damaged", |p| p.body[0] = 0xff),
        body("packed stream damaged", "Damaged", |p| {
            p.body = vec![0x07; 60];
        }),
    ] {
        all.add(class, fault, "pkg/mod.py", bytes);
    }
    zstd_streams(all);
}

fn zstd_streams(all: &mut Collection) {
    let whole = Part::with_method("pkg/zstd.bin", &[5; 4000], 93);
    let changes: [(&'static str, fn(&mut Part)); 6] = [
        ("Damaged", |p| p.body[0] ^= 1),
        ("Damaged", |p| p.body.truncate(p.body.len() - 1)),
        ("Unused", |p| p.body.push(0)),
        ("Unused", |p| p.body.extend_from_within(..)),
        ("TooLong", |p| p.both(|h| h.unpacked -= 1)),
        ("TooShort", |p| p.both(|h| h.unpacked += 1)),
    ];
    for (fault, change) in changes {
        let mut part = whole.clone();
        change(&mut part);
        let packed = u32::try_from(part.body.len()).unwrap();
        part.both(|h| h.packed = packed);
        let mut archive = Wheel::small().archive();
        archive.parts.insert(0, part);
        all.add(
            "zstd stream damaged",
            fault,
            "pkg/zstd.bin",
            archive.bytes(),
        );
    }
    // A window of 2^31 bytes would make the reader hold two gigabytes.
    let mut part = whole;
    part.body = b"\x28\xb5\x2f\xfd\x00\xa8\x01\0\0".to_vec();
    let packed = u32::try_from(part.body.len()).unwrap();
    part.both(|h| h.packed = packed);
    let archive = Archive::of(vec![part]);
    all.add(
        "zstd window over 128 MiB",
        "Damaged",
        "pkg/zstd.bin",
        archive.bytes(),
    );
}
