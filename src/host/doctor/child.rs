//! Runs a program for its answer, never longer than a limit: what asks a driver may hang as long as the driver does.

use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// More than any answer has.
const MAX_OUTPUT: u64 = 4 << 20;

/// What a child said.
#[derive(Debug)]
pub struct Said {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub out: String,
    /// The last line of standard error.
    pub error: String,
}

/// Why a child has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It cannot be started.
    #[error("cannot start {program}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It did not end in time, and was stopped.
    #[error("{program} did not answer within {} s", limit.as_secs())]
    Slow {
        /// The program.
        program: String,
        /// The limit.
        limit: Duration,
    },
}

/// Runs `command`; standard input is closed, both outputs are kept.
pub fn ask(command: &mut Command, limit: Duration) -> Result<Said, ChildError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = |source| ChildError::Start {
        program: program.clone(),
        source,
    };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(start)?;
    let out = reader(child.stdout.take());
    let error = reader(child.stderr.take());
    let end = Instant::now() + limit;
    let status = loop {
        match child.try_wait().map_err(start)? {
            Some(status) => break status,
            None if Instant::now() < end => thread::sleep(Duration::from_millis(10)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(ChildError::Slow { program, limit });
            }
        }
    };
    // A grandchild may hold the pipes open; what it says later is not waited for.
    let text = |from: mpsc::Receiver<String>| {
        from.recv_timeout(Duration::from_secs(1))
            .unwrap_or_default()
    };
    let error = text(error);
    let last = error.lines().rev().find(|line| !line.trim().is_empty());
    Ok(Said {
        status,
        out: text(out),
        error: last.unwrap_or_default().trim().to_owned(),
    })
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            let _ = pipe.take(MAX_OUTPUT).read_to_end(&mut bytes);
        }
        let _ = tell.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Result<Said, ChildError> {
        ask(Command::new("/bin/sh").args(["-c", script]), limit)
    }

    #[test]
    fn answers_come_back_and_sleepers_are_stopped() {
        let long = Duration::from_secs(30);
        let said = sh("echo yes; echo first >&2; echo last >&2; exit 3", long).unwrap();
        assert_eq!((said.out.as_str(), said.error.as_str()), ("yes\n", "last"));
        assert_eq!(said.status.code(), Some(3));
        let slow = sh("exec sleep 600", Duration::from_millis(50));
        assert!(matches!(slow, Err(ChildError::Slow { .. })));
        let none = ask(&mut Command::new("/nonexistent"), long);
        assert!(matches!(none, Err(ChildError::Start { .. })));
    }
}
