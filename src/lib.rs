//! Turns a Python + CUDA research stack into one file that runs anywhere.
#![allow(missing_docs)]

pub mod base;
pub mod build;
pub mod cli;
pub mod commands;
pub mod formats;
pub mod host;
