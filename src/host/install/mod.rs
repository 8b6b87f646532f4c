//! Installing: a bundle in, an installed name out; every file verified while it is written.
