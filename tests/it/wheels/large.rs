//! Archives past the limits of 16 and 32 bits, and claims past our own limits.

use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use bundler::base::archive::Zip;
use flate2::{Compress, Compression, FlushCompress};

use super::Refusal;
use super::forge::{Archive, Part, crc32, extra};

/// 4 GiB and one byte.
const OVER: u64 = (4 << 30) + 1;

fn refusal(result: Result<Zip, bundler::base::archive::ArchiveError>) -> Refusal {
    result.unwrap_err().into()
}

/// A deflate stream of `OVER` zero bytes and their CRC-32, made of one piece that is repeated.
fn many_zeros() -> (Vec<u8>, u32) {
    const PIECE: usize = 64 << 20;
    let zeros = vec![0; PIECE];
    let mut state = Compress::new(Compression::new(1), false);
    let mut piece = Vec::with_capacity(1 << 20);
    state
        .compress_vec(&zeros, &mut piece, FlushCompress::Sync)
        .unwrap();
    assert_eq!(state.total_in(), PIECE as u64);
    let mut crc = flate2::Crc::new();
    crc.update(&zeros);
    let mut whole = flate2::Crc::new();
    let mut out = Vec::new();
    for _ in 0..OVER / PIECE as u64 {
        out.extend_from_slice(&piece);
        whole.combine(&crc);
    }
    out.extend(super::forge::deflate(&[0]));
    whole.update(&[0]);
    (out, whole.sum())
}

#[test]
fn a_deflated_member_past_four_gib_is_read_to_its_end() {
    let (body, crc) = many_zeros();
    let mut part = Part::new("big.bin", b"");
    let packed = u32::try_from(body.len()).unwrap();
    let sizes = [OVER.to_le_bytes(), u64::from(packed).to_le_bytes()].concat();
    part.both(|h| (h.crc32, h.packed, h.unpacked) = (crc, packed, u32::MAX));
    part.central.extra = extra(1, &sizes[..8]);
    part.local.extra = extra(1, &sizes);
    part.body = body;
    let zip = Zip::from_bytes("big.zip", Archive::of(vec![part]).bytes()).unwrap();
    assert_eq!(zip.members()[0].unpacked, OVER);
    let mut reader = zip.reader(0);
    let mut buffer = vec![0; 1 << 20];
    let mut total = 0;
    loop {
        match reader.read(&mut buffer).unwrap() {
            0 => break,
            len => total += len as u64,
        }
    }
    assert_eq!(total, OVER);
    let text = zip.read_whole(0, 1 << 20).unwrap_err().to_string();
    assert!(text.contains("big.bin"), "{text}");
}

/// Two stored members, the second behind a first one of `OVER` bytes that is a hole in the file.
#[test]
fn members_behind_four_gib_of_stored_bytes_are_found() {
    let mut first = Part::with_method("hole.bin", b"", 0);
    let sizes = [OVER.to_le_bytes(), OVER.to_le_bytes()].concat();
    first.both(|h| (h.packed, h.unpacked, h.extra) = (u32::MAX, u32::MAX, extra(1, &sizes)));
    let mut second = Part::new("behind.txt", b"found");
    second.offset = Some(u32::MAX);
    let at = OVER + 30 + first.local.name.len() as u64 + first.local.extra.len() as u64;
    second.central.extra = extra(1, &at.to_le_bytes());
    let mut archive = Archive::of(vec![first, second]);
    archive.end.zip64 = Some(|record, locator| {
        for field in [&mut record[48..56], &mut locator[8..16]] {
            let at = u64::from_le_bytes((&*field).try_into().unwrap());
            field.copy_from_slice(&(at + OVER).to_le_bytes());
        }
    });
    archive.end.start = Some(u32::MAX);
    let bytes = archive.bytes();
    let cut = 30 + "hole.bin".len() + 20;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.whl");
    let mut file = bundler::base::fs::open_rw(&path).unwrap();
    file.write_all(&bytes[..cut]).unwrap();
    file.seek(SeekFrom::Current(OVER.cast_signed())).unwrap();
    file.write_all(&bytes[cut..]).unwrap();
    drop(file);

    let zip = Zip::open(&path).unwrap();
    let sizes: Vec<u64> = zip.members().iter().map(|m| m.unpacked).collect();
    assert_eq!(sizes, [OVER, 5]);
    assert_eq!(zip.read_whole(1, 5).unwrap(), b"found");
    let mut start = [1; 4096];
    zip.reader(0).read_exact(&mut start).unwrap();
    assert_eq!(start, [0; 4096]);
}

fn crowd(count: usize) -> Archive {
    let empty = Part::with_method("x", b"", 0);
    assert_eq!(empty.local.crc32, crc32(b""));
    let parts = (0..count).map(|number| {
        let mut part = empty.clone();
        part.both(|h| h.name = format!("d{}/{number}", number % 100).into_bytes());
        part
    });
    Archive::of(parts.collect())
}

#[test]
fn seventy_thousand_members_and_exactly_65535_are_counted_right() {
    let zip = Zip::from_bytes("crowd", crowd(65_535).bytes()).unwrap();
    assert_eq!(zip.members().len(), 65_535);
    let mut archive = crowd(70_000);
    archive.end.count = Some(u16::MAX);
    archive.end.zip64 = Some(|record, _| {
        record[24..32].copy_from_slice(&70_000_u64.to_le_bytes());
        record[32..40].copy_from_slice(&70_000_u64.to_le_bytes());
    });
    let zip = Zip::from_bytes("crowd", archive.bytes()).unwrap();
    assert_eq!(zip.members().len(), 70_000);
}

#[test]
fn claims_past_our_limits_are_refused_before_anything_is_held() {
    let mut archive = crowd(3);
    archive.end.count = Some(u16::MAX);
    archive.end.zip64 = Some(|record, _| {
        record[24..32].copy_from_slice(&600_000_u64.to_le_bytes());
        record[32..40].copy_from_slice(&600_000_u64.to_le_bytes());
    });
    let refused = refusal(Zip::from_bytes("crowd", archive.bytes()));
    assert_eq!(refused.fault, "TooMany(600000)");

    // A directory of 300 MB that is a hole in the file.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("directory.zip");
    let mut file = bundler::base::fs::open_rw(&path).unwrap();
    let size = 300_u32 << 20;
    let end = Archive {
        end: super::forge::End {
            count: Some(1),
            size: Some(size),
            start: Some(0),
            ..super::forge::End::default()
        },
        ..Archive::default()
    };
    file.seek(SeekFrom::Start(size.into())).unwrap();
    file.write_all(&end.bytes()).unwrap();
    drop(file);
    let refused = refusal(Zip::open(&path));
    assert_eq!(refused.fault, format!("DirectoryTooLarge({size})"));
    assert!(refused.text.contains("directory.zip"), "{}", refused.text);
}

#[test]
fn an_empty_and_a_missing_file_are_no_archives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty.whl");
    bundler::base::fs::write(&path, b"").unwrap();
    assert_eq!(refusal(Zip::open(&path)).fault, "NoEnd");
    let refused = refusal(Zip::open(&folder.path().join("no.whl")));
    assert!(refused.text.contains("no.whl"), "{}", refused.text);
}

#[test]
fn many_threads_read_one_archive() {
    let data: Vec<Vec<u8>> = (0..200_u8)
        .map(|n| vec![n; usize::from(n) * 997 + 1])
        .collect();
    let parts = data
        .iter()
        .enumerate()
        .map(|(n, data)| Part::with_method(&format!("{n}.bin"), data, [0, 8, 93][n % 3]));
    let zip = Zip::from_bytes("shared", Archive::of(parts.collect()).bytes()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (zip, data) = (&zip, &data);
            scope.spawn(move || {
                let mut buffer = Vec::new();
                for index in (thread..data.len()).chain(0..thread) {
                    zip.read_into(index, 1 << 20, &mut buffer).unwrap();
                    assert!(buffer == data[index], "member {index}");
                }
            });
        }
    });
}
