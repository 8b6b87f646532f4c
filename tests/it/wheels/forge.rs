//! Writes zip archives byte by byte, so that every field can lie, and wheels with a right RECORD to begin with.

use std::io::Write as _;

use bundler::base::digest::Digest;
use bundler::formats::record::{Row, render};

pub const DESCRIPTOR: u16 = 1 << 3;
pub const UTF8: u16 = 1 << 11;

/// How the bytes behind a member say what they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Descriptor {
    Narrow { signature: bool },
    Wide { signature: bool },
    Raw(Vec<u8>),
}

/// The fields that stand in a local header and in the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub name: Vec<u8>,
    pub flags: u16,
    pub method: u16,
    pub crc32: u32,
    pub packed: u32,
    pub unpacked: u32,
    pub extra: Vec<u8>,
}

/// One member; begins honest.
#[derive(Debug, Clone)]
pub struct Part {
    pub local: Header,
    pub central: Header,
    /// Packed bytes as written.
    pub body: Vec<u8>,
    pub descriptor: Option<Descriptor>,
    /// High byte: the system it was made on (3 is Unix).
    pub made_by: u16,
    /// Mode in the upper half.
    pub external: u32,
    pub disk: u16,
    /// Where the directory says the local header is, if not where it is.
    pub offset: Option<u32>,
    /// Bytes in front of the local header.
    pub gap: Vec<u8>,
    pub file_comment: Vec<u8>,
    /// Whether it has a local header and bytes.
    pub written: bool,
    /// Whether the directory lists it.
    pub listed: bool,
}

impl Part {
    pub fn with_method(name: &str, data: &[u8], method: u16) -> Self {
        let body = pack(data, method);
        let header = Header {
            name: name.as_bytes().to_vec(),
            flags: if name.is_ascii() { 0 } else { UTF8 },
            method,
            crc32: crc32(data),
            packed: u32::try_from(body.len()).unwrap(),
            unpacked: u32::try_from(data.len()).unwrap(),
            extra: Vec::new(),
        };
        Self {
            local: header.clone(),
            central: header,
            body,
            descriptor: None,
            made_by: 0x0314,
            external: 0o100_644 << 16,
            disk: 0,
            offset: None,
            gap: Vec::new(),
            file_comment: Vec::new(),
            written: true,
            listed: true,
        }
    }

    pub fn new(name: &str, data: &[u8]) -> Self {
        Self::with_method(name, data, 8)
    }

    pub fn folder(name: &str) -> Self {
        let mut part = Self::with_method(name, b"", 0);
        part.external = 0o040_755 << 16 | 0x10;
        part
    }

    pub fn mode(mut self, mode: u32) -> Self {
        self.external = mode << 16;
        self
    }

    /// Changes both headers alike.
    pub fn both(&mut self, change: impl Fn(&mut Header)) {
        change(&mut self.local);
        change(&mut self.central);
    }

    /// Sizes and checksum only behind the bytes, as written to a pipe.
    pub fn stream(mut self, descriptor: Descriptor) -> Self {
        self.both(|h| h.flags |= DESCRIPTOR);
        (self.local.crc32, self.local.packed, self.local.unpacked) = (0, 0, 0);
        self.descriptor = Some(descriptor);
        self
    }

    fn descriptor_bytes(&self) -> Vec<u8> {
        let (wide, signature) = match &self.descriptor {
            None => return Vec::new(),
            Some(Descriptor::Raw(bytes)) => return bytes.clone(),
            Some(Descriptor::Narrow { signature }) => (false, signature),
            Some(Descriptor::Wide { signature }) => (true, signature),
        };
        let mut out = Vec::new();
        if *signature {
            out.extend_from_slice(b"PK\x07\x08");
        }
        out.extend_from_slice(&self.central.crc32.to_le_bytes());
        for size in [self.central.packed, self.central.unpacked] {
            if wide {
                out.extend_from_slice(&u64::from(size).to_le_bytes());
            } else {
                out.extend_from_slice(&size.to_le_bytes());
            }
        }
        out
    }
}

/// Changes a zip64 end record and its locator.
pub type Spoil = fn(&mut Vec<u8>, &mut Vec<u8>);

/// The end of an archive; `None` is the truth.
#[derive(Debug, Clone, Default)]
pub struct End {
    pub count: Option<u16>,
    pub count_here: Option<u16>,
    pub size: Option<u32>,
    pub start: Option<u32>,
    pub disk: u16,
    pub directory_disk: u16,
    pub comment: Vec<u8>,
    /// Zip64 records before it, with a chance to spoil them: record (56 bytes) and locator (20).
    pub zip64: Option<Spoil>,
    pub before: Vec<u8>,
    pub after: Vec<u8>,
}

/// A whole archive.
#[derive(Debug, Clone, Default)]
pub struct Archive {
    pub prefix: Vec<u8>,
    pub parts: Vec<Part>,
    pub end: End,
}

impl Archive {
    pub fn of(parts: Vec<Part>) -> Self {
        Self {
            parts,
            ..Self::default()
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.prefix.clone();
        let mut offsets = Vec::new();
        for part in &self.parts {
            out.extend_from_slice(&part.gap);
            offsets.push(u32::try_from(out.len()).unwrap());
            if part.written {
                local_header(&mut out, &part.local);
                out.extend_from_slice(&part.body);
                out.extend_from_slice(&part.descriptor_bytes());
            }
        }
        let start = out.len();
        let mut count = 0_u16;
        for (part, offset) in self.parts.iter().zip(offsets).filter(|(p, _)| p.listed) {
            directory_entry(&mut out, part, part.offset.unwrap_or(offset));
            count = count.wrapping_add(1);
        }
        self.write_end(&mut out, start, count);
        out
    }

    fn write_end(&self, out: &mut Vec<u8>, start: usize, count: u16) {
        let end = &self.end;
        let size = u32::try_from(out.len() - start).unwrap();
        let start = u32::try_from(start).unwrap();
        if let Some(spoil) = end.zip64 {
            let (record, locator) = zip64_end(out.len() as u64, start, size, count);
            let (mut record, mut locator) = (record, locator);
            spoil(&mut record, &mut locator);
            out.extend_from_slice(&record);
            out.extend_from_slice(&locator);
        }
        out.extend_from_slice(&end.before);
        out.extend_from_slice(b"PK\x05\x06");
        for number in [
            end.disk,
            end.directory_disk,
            end.count_here.or(end.count).unwrap_or(count),
            end.count.unwrap_or(count),
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&end.size.unwrap_or(size).to_le_bytes());
        out.extend_from_slice(&end.start.unwrap_or(start).to_le_bytes());
        let comment = u16::try_from(end.comment.len()).unwrap();
        out.extend_from_slice(&comment.to_le_bytes());
        out.extend_from_slice(&end.comment);
        out.extend_from_slice(&end.after);
    }
}

fn zip64_end(at: u64, start: u32, size: u32, count: u16) -> (Vec<u8>, Vec<u8>) {
    let mut record = b"PK\x06\x06".to_vec();
    record.extend_from_slice(&44_u64.to_le_bytes());
    record.extend_from_slice(&[45, 3, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [count.into(), count.into(), size.into(), u64::from(start)] {
        record.extend_from_slice(&number.to_le_bytes());
    }
    let mut locator = b"PK\x06\x07\0\0\0\0".to_vec();
    locator.extend_from_slice(&at.to_le_bytes());
    locator.extend_from_slice(&1_u32.to_le_bytes());
    (record, locator)
}

fn common(out: &mut Vec<u8>, header: &Header) {
    out.extend_from_slice(&20_u16.to_le_bytes());
    out.extend_from_slice(&header.flags.to_le_bytes());
    out.extend_from_slice(&header.method.to_le_bytes());
    // 1980-01-01.
    out.extend_from_slice(&[0, 0, 0x21, 0]);
    for number in [header.crc32, header.packed, header.unpacked] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for len in [header.name.len(), header.extra.len()] {
        out.extend_from_slice(&u16::try_from(len).unwrap().to_le_bytes());
    }
}

pub fn local_header(out: &mut Vec<u8>, header: &Header) {
    out.extend_from_slice(b"PK\x03\x04");
    common(out, header);
    out.extend_from_slice(&header.name);
    out.extend_from_slice(&header.extra);
}

fn directory_entry(out: &mut Vec<u8>, part: &Part, offset: u32) {
    out.extend_from_slice(b"PK\x01\x02");
    out.extend_from_slice(&part.made_by.to_le_bytes());
    common(out, &part.central);
    let comment = u16::try_from(part.file_comment.len()).unwrap();
    out.extend_from_slice(&comment.to_le_bytes());
    out.extend_from_slice(&part.disk.to_le_bytes());
    out.extend_from_slice(&0_u16.to_le_bytes());
    out.extend_from_slice(&part.external.to_le_bytes());
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(&part.central.name);
    out.extend_from_slice(&part.central.extra);
    out.extend_from_slice(&part.file_comment);
}

/// One extra field.
pub fn extra(id: u16, body: &[u8]) -> Vec<u8> {
    let len = u16::try_from(body.len()).unwrap();
    [&id.to_le_bytes(), &len.to_le_bytes(), body].concat()
}

pub fn crc32(data: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(data);
    crc.sum()
}

pub fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn pack(data: &[u8], method: u16) -> Vec<u8> {
    match method {
        8 => deflate(data),
        93 => zstd::bulk::compress(data, 3).unwrap(),
        _ => data.to_vec(),
    }
}

/// A wheel: files and a dist-info folder; RECORD is made last, over what is there.
#[derive(Debug, Clone)]
pub struct Wheel {
    pub file_name: String,
    pub dist_info: String,
    pub files: Vec<(String, Vec<u8>, u32)>,
}

impl Wheel {
    pub fn new(name: &str, version: &str) -> Self {
        let dist_info = format!("{name}-{version}.dist-info");
        let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        let wheel = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        Self {
            file_name: format!("{name}-{version}-py3-none-any.whl"),
            dist_info: dist_info.clone(),
            files: Vec::new(),
        }
        .file(&format!("{dist_info}/METADATA"), metadata.as_bytes())
        .file(&format!("{dist_info}/WHEEL"), wheel.as_bytes())
    }

    /// A small wheel with a package in it.
    pub fn small() -> Self {
        Self::new("pkg", "1.0")
            .file("pkg/__init__.py", b"VALUE = 1\n")
            .file("pkg/mod.py", "print('hello')\n".repeat(40).as_bytes())
            .file("pkg/data.bin", &[7; 300])
    }

    /// Adds or replaces a file.
    pub fn file(self, path: &str, data: &[u8]) -> Self {
        self.program(path, data, 0o100_644)
    }

    /// Adds or replaces a file with a mode.
    pub fn program(mut self, path: &str, data: &[u8], mode: u32) -> Self {
        self.files.retain(|(old, ..)| old != path);
        self.files.push((path.to_owned(), data.to_vec(), mode));
        self
    }

    pub fn without(mut self, path: &str) -> Self {
        self.files.retain(|(old, ..)| old != path);
        self
    }

    pub fn named(mut self, file_name: &str) -> Self {
        file_name.clone_into(&mut self.file_name);
        self
    }

    pub fn record_path(&self) -> String {
        format!("{}/RECORD", self.dist_info)
    }

    /// RECORD over all files.
    pub fn record(&self) -> Vec<u8> {
        let rows: Vec<Row> = self
            .files
            .iter()
            .map(|(path, data, _)| Row {
                path: path.clone(),
                sha256: Some(Digest::of(data)),
                size: Some(data.len() as u64),
            })
            .collect();
        render(&rows, &self.record_path())
    }

    pub fn parts(&self) -> Vec<Part> {
        self.parts_with_record(&self.record())
    }

    pub fn parts_with_record(&self, record: &[u8]) -> Vec<Part> {
        let mut parts: Vec<Part> = self
            .files
            .iter()
            .map(|(path, data, mode)| Part::new(path, data).mode(*mode))
            .collect();
        parts.push(Part::new(&self.record_path(), record));
        parts
    }

    pub fn archive(&self) -> Archive {
        Archive::of(self.parts())
    }
}
