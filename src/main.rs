//! Edge of the process: parse, dispatch, print the error chain, exit code.

use std::process::ExitCode;

use bundler::commands::{self, Outcome, report, usage};

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        report::say(&format!(
            "error: a fault in bundler itself, at {place}\nhint: please report it with the command you gave\n"
        ));
    }));
    let cli = match usage::parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            if let Some(hint) = usage::owners_of_option(&error) {
                report::say(&hint);
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    commands::interrupt::watch(|code| std::process::exit(code));
    let Ok(answer) = std::panic::catch_unwind(|| commands::run(&cli)) else {
        return ExitCode::from(2);
    };
    match answer {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Err(failure) => {
            let color = report::stderr_has_color(cli.global.color);
            report::say(&report::failure_text(&failure, color));
            ExitCode::from(2)
        }
    }
}
