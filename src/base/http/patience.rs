//! How long a transfer is kept up: by lack of progress, never by total time.

use std::time::{Duration, Instant};

use super::{HttpConfig, HttpError};

/// The longest pause between two tries that a server did not ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// What a hurried transfer gets until its first bytes: others stand ready.
const HURRIED: (Duration, u32) = (Duration::from_secs(10), 2);

/// Counts tries and time since the last progress of one transfer.
#[derive(Debug)]
pub struct Patience {
    give_up: Duration,
    tries: u32,
    first_pause: Duration,
    failed: u32,
    progress: Instant,
    hurried: bool,
}

impl Patience {
    /// Begins now.
    pub fn new(config: &HttpConfig) -> Self {
        Self {
            give_up: config.give_up,
            tries: config.tries,
            first_pause: config.pause,
            failed: 0,
            progress: Instant::now(),
            hurried: false,
        }
    }

    /// Begins now; gives up within seconds unless bytes come.
    pub fn hurried(config: &HttpConfig) -> Self {
        Self {
            hurried: true,
            ..Self::new(config)
        }
    }

    /// Bytes came that had not come before.
    pub fn progress(&mut self) {
        self.failed = 0;
        self.hurried = false;
        self.progress = Instant::now();
    }

    /// Time left until the transfer is given up.
    pub fn left(&self) -> Duration {
        let limit = if self.hurried {
            HURRIED.0.min(self.give_up)
        } else {
            self.give_up
        };
        limit.saturating_sub(self.progress.elapsed())
    }

    fn tries(&self) -> u32 {
        if self.hurried {
            HURRIED.1.min(self.tries)
        } else {
            self.tries
        }
    }

    /// After a failed try: how long to pause before the next one, or the error when there is none.
    pub fn after(&mut self, error: HttpError) -> Result<Duration, HttpError> {
        self.failed += 1;
        if !error.is_transient() || self.failed >= self.tries() {
            return Err(error);
        }
        let doubled = self
            .first_pause
            .saturating_mul(1 << (self.failed - 1).min(16))
            .min(LONGEST_PAUSE);
        let pause = match error {
            HttpError::Status {
                retry_after: Some(wanted),
                ..
            } => wanted.max(doubled),
            _ => doubled,
        };
        if pause >= self.left() {
            return Err(error);
        }
        Ok(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::http::{Cause, Redacted};

    fn url() -> Redacted {
        Redacted::new(&url::Url::parse("http://h.example/").unwrap())
    }

    fn status(status: u16, seconds: Option<u64>) -> HttpError {
        HttpError::Status {
            url: url(),
            status,
            retry_after: seconds.map(Duration::from_secs),
        }
    }

    #[test]
    fn pauses_double_and_end() {
        let mut patience = Patience::new(&HttpConfig::default());
        let broken = || HttpError::Broken {
            url: url(),
            source: Cause(String::new()),
        };
        let mut pauses = Vec::new();
        while let Ok(pause) = patience.after(broken()) {
            pauses.push(pause.as_millis());
        }
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000]);
        patience.progress();
        assert!(patience.after(broken()).is_ok());
    }

    #[test]
    fn a_server_may_ask_for_a_longer_pause_but_not_for_ever() {
        let mut patience = Patience::new(&HttpConfig::default());
        assert_eq!(
            patience.after(status(429, Some(7))).unwrap(),
            Duration::from_secs(7)
        );
        assert!(patience.after(status(503, Some(3600))).is_err());
    }

    #[test]
    fn refusals_are_final() {
        for code in [400, 401, 403, 404, 410, 416, 501] {
            let mut patience = Patience::new(&HttpConfig::default());
            assert!(patience.after(status(code, None)).is_err(), "{code}");
        }
        for code in [408, 429, 500, 502, 503, 504, 599] {
            let mut patience = Patience::new(&HttpConfig::default());
            assert!(patience.after(status(code, None)).is_ok(), "{code}");
        }
    }
}
