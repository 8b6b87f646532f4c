//! Turns a Python + CUDA research stack into one file that runs anywhere.

pub mod base;
pub mod build;
pub mod cli;
pub mod commands;
pub mod formats;
pub mod host;
