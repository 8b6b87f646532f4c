//! Compatibility tags against Python's `packaging`: the table was written by `tests/real/make_tag_table.py`.

use bundler::base::target::Arch;
use bundler::formats::tags::{Compatibility, expand};

const TABLE: &str = include_str!("data/tags.txt");

#[test]
fn agrees_with_packaging_on_every_tag_of_the_table() {
    let (mut accepted, mut refused) = (0, 0);
    for line in TABLE.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [minor, machine, glibc, tag, verdict] = words.as_slice() else {
            panic!("not a row: {line}");
        };
        let target = Compatibility {
            python_minor: minor.parse().unwrap(),
            arch: machine.parse::<Arch>().unwrap(),
            glibc_minor: glibc.parse().unwrap(),
        };
        let tags = expand(tag).unwrap_or_else(|| panic!("not read: {line}"));
        let expected = *verdict == "yes";
        assert_eq!(target.accepts_any(&tags), expected, "{line}");
        if expected {
            accepted += 1;
        } else {
            refused += 1;
        }
    }
    assert!(
        accepted > 900 && refused > 1000,
        "the table is cut: {accepted} yes, {refused} no"
    );
}
