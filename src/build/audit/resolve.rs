//! NEEDED closure.

use super::{AuditRequest, Policy};
use crate::base::finding::Finding;
use crate::build::assemble::Tree;
use crate::formats::floor::HostNeed;

pub(super) fn check(
    _tree: &Tree,
    _request: &AuditRequest,
    _policy: &Policy,
    _out: &mut Vec<Finding>,
) -> Vec<HostNeed> {
    Vec::new()
}
