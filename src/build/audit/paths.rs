//! Relocatability: shebangs, links, `.pth` lines, configuration and RPATHs that name a place outside the bundle.

use super::Policy;
use crate::base::finding::Finding;
use crate::build::assemble::Tree;

pub(super) fn check(_tree: &Tree, _policy: &Policy, _out: &mut Vec<Finding>) {}
