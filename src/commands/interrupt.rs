//! Ctrl-C, and the polite signals of schedulers: drafts go, one line says so, and the exit code is the shell's
//! (128 + the signal). What was fetched and ingested stays in the cache.

use std::io::Write as _;

use crate::base::fs;

/// Waits for SIGINT, SIGTERM and SIGHUP on a thread of its own; `leave` ends the process with the given code.
pub fn watch(leave: impl Fn(i32) + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            fs::abandon_drafts();
            // The beginning clears the line of a progress bar.
            let bar = std::io::IsTerminal::is_terminal(&std::io::stderr());
            let begin = if bar { "\r\u{1b}[J" } else { "" };
            let line = format!("{begin}interrupted; the next run goes on from here\n");
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
            leave(128 + signal);
        }
    });
}
