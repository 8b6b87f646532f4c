//! `bundler layers`: the base and the app layer of a finished bundle.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Answer, Outcome, report, terminal};
use crate::base::fs;
use crate::build::pack::{PackedLayer, split};
use crate::cli::{Global, LayersArgs};

/// What was written.
#[derive(Serialize)]
struct Said {
    schema_version: u32,
    layers: [PackedLayer; 2],
}

/// Runs it.
pub fn run(args: &LayersArgs, global: &Global) -> Answer {
    let progress = terminal::progress(global);
    let bundle = std::path::absolute(&args.bundle)?;
    let out_dir = match &args.out_dir {
        Some(dir) => std::path::absolute(dir)?,
        None => fs::parent(&bundle).to_owned(),
    };
    let said = Said {
        schema_version: 1,
        layers: split(&bundle, &out_dir, &progress)?,
    };
    report::answer(global, &said, |said| text(&said.layers))?;
    Ok(Outcome::Done)
}

/// Layers, for people.
pub fn text(layers: &[PackedLayer]) -> String {
    let mut out = String::new();
    for layer in layers {
        let _ = writeln!(
            out,
            "{}\n  {} layer, {} packed\n  id {}\n  sha256 {}",
            layer.path.display(),
            layer.layer.name(),
            report::size(layer.size),
            layer.id,
            layer.sha256
        );
    }
    out
}
