//! The checksum of `cksum` (POSIX): where a host cannot say sha256, it can say this.

/// The polynomial of POSIX `cksum`.
const POLYNOMIAL: u32 = 0x04C1_1DB7;

/// What `cksum <FILE` prints: checksum and number of bytes.
pub(super) fn cksum(bytes: &[u8]) -> String {
    let table: Vec<u32> = (0..256u32).map(|byte| shift(byte << 24, 8)).collect();
    let step = |crc: u32, byte: u8| {
        let index = (crc >> 24) as u8 ^ byte;
        (crc << 8) ^ table[usize::from(index)]
    };
    let mut crc = bytes.iter().fold(0, |crc, byte| step(crc, *byte));
    // The length follows, as many bytes as it has, the lowest first.
    let mut length = bytes.len();
    while length > 0 {
        crc = step(crc, length.to_le_bytes()[0]);
        length >>= 8;
    }
    format!("{} {}", !crc, bytes.len())
}

fn shift(crc: u32, bits: u32) -> u32 {
    (0..bits).fold(crc, |crc, _| {
        let carry = crc & 0x8000_0000 != 0;
        (crc << 1) ^ if carry { POLYNOMIAL } else { 0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_what_the_program_prints() {
        assert_eq!(cksum(b""), "4294967295 0");
        assert_eq!(cksum(b"123456789"), "930766865 9");
    }
}
