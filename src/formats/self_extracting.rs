//! A self-extracting file: a shell script, a program, and behind them a bundle as it is. The first lines of the script say in
//! shell assignments where each begins, so that readers of bundles find it in place.

use crate::base::fs::{File, ReadAt, Window};

/// The first two lines.
pub const MAGIC: &str = "#!/bin/sh\n# bundler self-extracting 1\n";

/// Program and bundle begin at multiples of this, so that `dd` reaches them by whole blocks.
pub const ALIGN: u64 = 4096;

/// The line with the offset of the bundle.
const PAYLOAD: &str = "payload_at=";

/// Where the bundle of a file begins; 0 for one that is a bundle itself, or nothing of ours.
pub fn payload(file: File) -> Window {
    let mut first = vec![0; ALIGN as usize];
    let start = match file.read_exact_at(&mut first, 0) {
        Ok(()) => offset(&first),
        Err(_) => None,
    };
    Window::from(file, start.unwrap_or(0))
}

fn offset(first: &[u8]) -> Option<u64> {
    let script = first.strip_prefix(MAGIC.as_bytes())?;
    let mut lines = script.split(|byte| *byte == b'\n');
    let value = lines.find_map(|line| line.strip_prefix(PAYLOAD.as_bytes()))?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_bundle_behind_a_script_and_takes_others_as_they_are() {
        let script = format!("{MAGIC}program_at=4096\npayload_at=8192\npayload_at=1\n");
        assert_eq!(offset(script.as_bytes()), Some(8192));
        for other in [
            "",
            "#!/bin/sh\npayload_at=8192\n",
            &format!("{MAGIC}payload_at=x\n"),
            MAGIC,
        ] {
            assert_eq!(offset(other.as_bytes()), None);
        }
    }
}
