//! Progress on a terminal: one bar per running task, notes above them. Off a terminal, under CI or with
//! `--no-progress` only the notes are printed.

use std::io::IsTerminal;
use std::sync::Mutex;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::report::{printable, say};
use crate::base::progress::{Progress, Sink};
use crate::cli::Global;

/// The progress that fits the terminal and the flags.
pub fn progress(global: &Global) -> Progress {
    if global.quiet > 1 {
        return Progress::silent();
    }
    let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
    let ci = std::env::var_os("CI").is_some_and(|v| !v.is_empty());
    let bars =
        !global.no_progress && global.quiet == 0 && !dumb && !ci && std::io::stderr().is_terminal();
    Progress::new(Terminal {
        multi: bars.then(MultiProgress::new),
        tasks: Mutex::new(Vec::new()),
        quiet: global.quiet > 0,
    })
}

struct Terminal {
    multi: Option<MultiProgress>,
    tasks: Mutex<Vec<Option<ProgressBar>>>,
    quiet: bool,
}

impl Terminal {
    fn with(&self, task: usize, act: impl FnOnce(&mut Option<ProgressBar>)) {
        if let Ok(mut tasks) = self.tasks.lock()
            && let Some(slot) = tasks.get_mut(task)
        {
            act(slot);
        }
    }
}

impl Sink for Terminal {
    fn start(&self, name: &str, total: Option<u64>) -> usize {
        let bar = self.multi.as_ref().map(|multi| {
            let bar = match total {
                Some(total) => ProgressBar::new(total).with_style(style(
                    "{msg:32!} {bar:24} {bytes:>10} / {total_bytes:10} {bytes_per_sec:>12} {eta:>4}",
                )),
                None => ProgressBar::no_length().with_style(style("{msg:32!} {spinner} {bytes:>10} {bytes_per_sec:>12}")),
            };
            let bar = multi.add(bar);
            bar.set_message(printable(name));
            bar
        });
        match self.tasks.lock() {
            Ok(mut tasks) => {
                tasks.push(bar);
                tasks.len() - 1
            }
            Err(_) => usize::MAX,
        }
    }

    fn advance(&self, task: usize, bytes: u64) {
        self.with(task, |slot| {
            if let Some(bar) = slot {
                bar.inc(bytes);
            }
        });
    }

    fn finish(&self, task: usize) {
        self.with(task, |slot| {
            if let Some(bar) = slot.take() {
                bar.finish_and_clear();
            }
        });
    }

    fn note(&self, line: &str) {
        if self.quiet {
            return;
        }
        let line = printable(line);
        match &self.multi {
            Some(multi) => {
                let _ = multi.println(line);
            }
            None => say(&format!("{line}\n")),
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
