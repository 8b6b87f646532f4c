//! How errors, notes and results look. Text from outside (paths, members, servers) never reaches the terminal raw.

use std::fmt::Write as _;
use std::io::Write as _;

use super::Failure;
use crate::base::finding::{Finding, Severity};
use crate::base::fs::FsError;
use crate::cli::{Color, Global, OutputFormat};

/// Control characters made visible: `\u{1b}[2J` cannot clear a terminal. Line feeds stay.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || !(c.is_control() || is_bidi_control(c)) {
            out.push(c);
        } else {
            let _ = write!(out, "{}", c.escape_unicode());
        }
    }
    out
}

fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether standard error gets colour.
pub fn stderr_has_color(color: Color) -> bool {
    use std::io::IsTerminal;
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            std::io::stderr().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
                && std::env::var_os("TERM").is_none_or(|v| v != "dumb")
        }
    }
}

/// Says something on standard error. Nobody may be listening there: that is no reason to stop.
pub fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// The error chain and hint as printed: `error: …`, `  caused by: …`, `hint: …`.
pub fn failure_text(failure: &Failure, color: bool) -> String {
    let paint = |code: &str, text: &str| {
        if color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    };
    let mut causes = failure.error.chain().map(|e| printable(&e.to_string()));
    let mut out = format!(
        "{}: {}\n",
        paint("1;31", "error"),
        causes.next().unwrap_or_default()
    );
    let mut last = String::new();
    for cause in causes {
        if cause != last {
            let _ = writeln!(out, "  caused by: {cause}");
        }
        last = cause;
    }
    if let Some(hint) = &failure.hint {
        let _ = writeln!(out, "{}: {}", paint("1;36", "hint"), printable(hint));
    }
    out
}

/// The hint that belongs to an error, looked up along its chain: the outermost that knows one.
pub fn hint_of(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(hint)
}

/// An error that several were told.
type SharedError = std::sync::Arc<dyn std::error::Error + Send + Sync>;

/// The hint of one error, if its type has hints.
fn hint(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    macro_rules! first_of {
        ($($type:ty),* $(,)?) => {
            None$(.or_else(|| error.downcast_ref::<$type>().and_then(<$type>::hint)))*
        };
    }
    // What only readers and writers of bytes passed on.
    if let Some(inner) = error
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref)
    {
        return hint(inner);
    }
    if let Some(shared) = error.downcast_ref::<SharedError>() {
        return hint(&**shared);
    }
    first_of!(
        crate::build::recipe::RecipeError,
        crate::build::lock::LockError,
        crate::build::lock::ResolveError,
        crate::build::wheelhouse::WheelhouseError,
        crate::build::fetch::FetchError,
        crate::build::ingest::choose::ChoiceError,
        crate::build::ingest::inputs::InputError,
        crate::build::ingest::IngestError,
        crate::build::ingest::wheel::WheelError,
        crate::build::ingest::interpreter::InterpreterError,
        crate::build::ingest::source::GitError,
        crate::build::ingest::source::SourceError,
        crate::build::ingest::store::StoreError,
        crate::build::assemble::AssembleError,
        crate::build::audit::open::OpenError,
        crate::build::pack::PackError,
        crate::build::self_extract::SelfExtractError,
        crate::host::install::InstallError,
        crate::host::store::HostStoreError,
        crate::formats::bundle_reader::BundleReadError,
        crate::base::archive::ArchiveError,
        crate::base::archive::TarError,
        crate::base::http::HttpError,
        FsError,
    )
}

/// Prints a result on standard output in the form that was asked for. Both forms come from `value`.
pub fn answer<T: serde::Serialize>(
    global: &Global,
    value: &T,
    text: impl FnOnce(&T) -> String,
) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let printed = match global.output_format {
        OutputFormat::Json => {
            serde_json::to_string_pretty(value).map_err(std::io::Error::other)? + "\n"
        }
        OutputFormat::Text => printable(&text(value)),
    };
    let done = stdout
        .write_all(printed.as_bytes())
        .and_then(|()| stdout.flush());
    match done {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// A finding as text, worst word first: `error[elf-needed-missing] path: message`.
pub fn finding_text(finding: &Finding) -> String {
    let word = match finding.severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let mut out = format!(
        "{word}[{}] {}: {}\n",
        finding.code, finding.path, finding.message
    );
    if let Some(hint) = &finding.hint {
        let _ = writeln!(out, "  hint: {hint}");
    }
    out
}

/// A size for people: `2.6 GB` (powers of ten, as downloads are measured).
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_234), "1.2 kB");
        assert_eq!(size(2_613_000_000), "2.6 GB");
        assert_eq!(size(12_000_000_000_000_000), "12000.0 TB");
    }

    #[test]
    fn prints_no_control_characters() {
        assert_eq!(
            printable("a\u{1b}[2Jb\u{202e}c\nd"),
            "a\\u{1b}[2Jb\\u{202e}c\nd"
        );
    }

    #[test]
    fn prints_causes_once_and_hint_last() {
        let error = anyhow::anyhow!("no space")
            .context("could not write x")
            .context("could not make the bundle");
        let failure = Failure {
            error,
            hint: Some("free some space".to_owned()),
        };
        assert_eq!(
            failure_text(&failure, false),
            "error: could not make the bundle\n  caused by: could not write x\n  caused by: no space\nhint: free some space\n"
        );
    }
}
