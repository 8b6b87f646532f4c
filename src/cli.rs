//! Command line types and help only.
