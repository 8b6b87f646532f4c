//! Versions, specifiers and markers against Python's `packaging`: the table was written by `tests/real/make_specifier_table.py`.

use std::str::FromStr;

use bundler::base::target::Arch;
use bundler::build::lock::{markers, specifiers};
use pep440_rs::{Version, VersionSpecifiers};
use pep508_rs::{Requirement, VerbatimUrl};

const TABLE: &str = include_str!("data/specifiers.txt");

#[test]
fn agrees_with_packaging_on_every_row_of_the_table() {
    let python = "3.12".parse().unwrap();
    let (mut compared, mut marked, mut wrong) = (0, 0, Vec::new());
    for line in TABLE.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [kind, subject, text, verdict] = parts.as_slice() else {
            panic!("not a row: {line}");
        };
        let said = if *kind == "v" {
            compared += 1;
            let version = Version::from_str(subject).unwrap();
            specifiers::contain(&VersionSpecifiers::from_str(text).unwrap(), &version)
        } else {
            marked += 1;
            let requirement = Requirement::<VerbatimUrl>::from_str(&format!("a; {text}")).unwrap();
            markers::apply(&requirement, subject.parse::<Arch>().unwrap(), python)
        };
        if said != (*verdict == "yes") {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{wrong:#?}", wrong.len());
    assert!(compared >= 1500 && marked >= 1000, "the table is cut");
}
