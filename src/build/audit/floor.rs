//! Floors: the highest GLIBC, GLIBCXX and CXXABI versions that any file of the tree asks of the host.

use super::{AuditRequest, Blame};
use crate::base::finding::Finding;
use crate::build::assemble::Tree;
use crate::formats::floor::Floor;

pub(super) fn check(
    _tree: &Tree,
    _request: &AuditRequest,
    _out: &mut Vec<Finding>,
) -> (Floor, Vec<Blame>) {
    (Floor::default(), Vec::new())
}
