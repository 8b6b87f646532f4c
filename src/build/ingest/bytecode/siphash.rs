//! The hash of a source file that PEP 552 puts into its bytecode: SipHash-1-3 with CPython's raw magic number as key.

/// `_imp.source_hash(magic, source)`.
pub(super) fn source_hash(magic: [u8; 4], source: &[u8]) -> [u8; 8] {
    siphash13(u64::from(u32::from_le_bytes(magic)), 0, source).to_le_bytes()
}

fn siphash13(key0: u64, key1: u64, bytes: &[u8]) -> u64 {
    let mut state = [
        key0 ^ 0x736f_6d65_7073_6575,
        key1 ^ 0x646f_7261_6e64_6f6d,
        key0 ^ 0x6c79_6765_6e65_7261,
        key1 ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        take(&mut state, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let length = (bytes.len() as u64) << 56;
    take(&mut state, u64::from_le_bytes(last) | length);
    state[2] ^= 0xff;
    for _ in 0..3 {
        round(&mut state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

fn take(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    state[0] ^= word;
}

fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *b = b.rotate_left(13) ^ *a;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*d);
    *d = d.rotate_left(16) ^ *c;
    *a = a.wrapping_add(*d);
    *d = d.rotate_left(21) ^ *a;
    *c = c.wrapping_add(*b);
    *b = b.rotate_left(17) ^ *c;
    *c = c.rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_cpython() {
        // `_imp.source_hash` of CPython 3.12 for its own magic number.
        let magic = [0xcb, 0x0d, 0x0d, 0x0a];
        let hundred: Vec<u8> = (0..100).collect();
        for (source, expected) in [
            (&b""[..], 0xbaf1_8eed_c938_7a25_u64),
            (b"x = 1\n", 0x1522_5619_17f5_df08),
            (&hundred, 0xa52b_66cd_00fa_1dbd),
        ] {
            assert_eq!(source_hash(magic, source), expected.to_be_bytes());
        }
    }
}
