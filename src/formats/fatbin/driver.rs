//! Drivers and the CUDA releases they know: what a driver can load, and which PTX it can compile.

use crate::formats::floor::DottedVersion;

/// CUDA release → the first Linux driver that knows it.
const DRIVERS: &[((u16, u16), &str)] = &[
    ((11, 0), "450.36"),
    ((11, 1), "455.23"),
    ((11, 2), "460.27"),
    ((11, 3), "465.19"),
    ((11, 4), "470.42"),
    ((11, 5), "495.29"),
    ((11, 6), "510.39"),
    ((11, 7), "515.43"),
    ((11, 8), "520.61"),
    ((12, 0), "525.60"),
    ((12, 1), "530.30"),
    ((12, 2), "535.54"),
    ((12, 3), "545.23"),
    ((12, 4), "550.54"),
    ((12, 5), "555.42"),
    ((12, 6), "560.28"),
    ((12, 7), "565.57"),
    ((12, 8), "570.26"),
    ((12, 9), "575.51"),
    ((13, 0), "580.65"),
    ((13, 1), "590.44"),
];

/// The CUDA release that a driver such as 580.95.05 knows; `None` for one older than all of the table.
pub fn cuda_of_driver(driver: &DottedVersion) -> Option<(u16, u16)> {
    let known = |text: &str| {
        text.parse::<DottedVersion>()
            .is_ok_and(|first| *driver >= first)
    };
    let row = DRIVERS.iter().rev().find(|(_, first)| known(first));
    row.map(|(cuda, _)| *cuda)
}

/// The first driver that knows a CUDA release.
pub fn driver_of_cuda(cuda: (u16, u16)) -> Option<&'static str> {
    DRIVERS
        .iter()
        .find(|(c, _)| *c == cuda)
        .map(|(_, driver)| *driver)
}

/// The oldest driver that loads machine code made with this CUDA release: any of its major version will do.
pub fn driver_for_major(major: u16) -> Option<&'static str> {
    match major {
        11 => Some("450.80.02"),
        12 => Some("525"),
        13 => Some("580"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_know_their_release_and_all_before() {
        let cuda = |text: &str| cuda_of_driver(&text.parse().unwrap());
        assert_eq!(cuda("580.65.06"), Some((13, 0)));
        assert_eq!(cuda("579.99"), Some((12, 9)));
        assert_eq!(cuda("525.60.13"), Some((12, 0)));
        assert_eq!(cuda("999.1"), Some((13, 1)));
        assert_eq!(cuda("390.10"), None);
        assert_eq!(driver_of_cuda((12, 8)), Some("570.26"));
    }
}
