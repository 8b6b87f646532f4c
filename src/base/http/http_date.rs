//! `Retry-After` (RFC 9110, 10.2.3): seconds, or a date that is measured from the answer's own `Date`, so that no clock of
//! ours matters.

use std::time::Duration;

/// The pause a server wants; `date` is the `Date` of the same answer.
pub(super) fn pause(wish: &str, date: Option<&str>) -> Option<Duration> {
    let wish = wish.trim();
    if let Ok(seconds) = wish.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = seconds(wish)?;
    let now = seconds(date?.trim())?;
    Some(Duration::from_secs(until.saturating_sub(now)))
}

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`, the form servers must send.
fn seconds(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(", ")?;
    let parts: Vec<&str> = rest.split(' ').collect();
    let [day, month, year, time, "GMT"] = parts.as_slice() else {
        return None;
    };
    let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = months
        .find(month)
        .filter(|at| at % 3 == 0 && month.len() == 3)? as u64
        / 3;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let clock: Vec<u64> = time
        .split(':')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let [hour, minute, second] = clock.as_slice() else {
        return None;
    };
    let sound = (1..=31).contains(&day)
        && (1970..10_000).contains(&year)
        && *hour < 24
        && *minute < 60
        && *second <= 60;
    sound.then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days since 1970 of a day of the Gregorian calendar; months from 0. Years are counted from March, so that the leap day
/// ends them.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month < 2 {
        (year - 1, month + 10)
    } else {
        (year, month - 2)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    (year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1) - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_a_pause_from_the_answers_own_date() {
        let now = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        let pause = |wish: &str| pause(wish, now).map(|p| p.as_secs());
        assert_eq!(pause("7"), Some(7));
        assert_eq!(pause("Sun, 06 Nov 1994 08:50:07 GMT"), Some(30));
        assert_eq!(pause("Mon, 07 Nov 1994 08:49:37 GMT"), Some(86_400));
        assert_eq!(pause("Sat, 05 Nov 1994 08:49:37 GMT"), Some(0));
        for bad in [
            "soon",
            "Sun, 06 Now 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "-1",
            "",
        ] {
            assert_eq!(pause(bad), None, "{bad}");
        }
        assert_eq!(super::pause("Sun, 06 Nov 1994 08:50:07 GMT", None), None);
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        for (text, known) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Mon, 30 Nov 2026 18:55:34 GMT", 1_796_064_934),
        ] {
            assert_eq!(seconds(text), Some(known), "{text}");
        }
    }
}
