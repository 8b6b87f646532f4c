//! The table of GPU coverage: a line per library, a column per device.

use std::fmt::Write as _;

use crate::formats::fatbin::{LibraryOutlook, Outlook, Verdict};

/// A line per library that has code, a column per device, and what the letters mean.
pub fn coverage(outlooks: &[Outlook]) -> String {
    let Some(first) = outlooks.first().filter(|o| !o.libraries.is_empty()) else {
        return String::new();
    };
    let names: Vec<&str> = first
        .libraries
        .iter()
        .map(|l| file_name(&l.library))
        .collect();
    let width = names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let mut out = format!("\n  {:<width$}", "");
    for outlook in outlooks {
        let _ = write!(out, " {:>8}", outlook.device.to_string());
    }
    out.push('\n');
    for (number, name) in names.iter().enumerate() {
        let _ = write!(out, "  {name:<width$}");
        for outlook in outlooks {
            let cell = outlook.libraries.get(number).map_or("", cell);
            let _ = write!(out, " {cell:>8}");
        }
        out.push('\n');
    }
    out.push_str("  exact: code made for this very device; native: for an earlier one of its generation; jit: compiled by the driver\n\n");
    out
}

/// One word for a verdict.
pub fn cell(library: &LibraryOutlook) -> &'static str {
    match library.verdict {
        Verdict::NoCode => "-",
        Verdict::Native { exact: true } => "exact",
        Verdict::Native { exact: false } => "native",
        Verdict::Jit { .. } if library.driver_too_old => "driver!",
        Verdict::Jit { .. } => "jit",
        Verdict::Partial { .. } => "partial",
        Verdict::None => "none",
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
