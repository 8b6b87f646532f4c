//! Safe reading of tar archives.
