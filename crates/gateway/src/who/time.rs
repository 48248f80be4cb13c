//! The time that is asked about. A time is as exact as it is written: `08:09:10` is the whole second.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};

/// From when to when, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
}

/// Why a text is no time to ask about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Neither form.
    #[error(
        "{0:?} is no time: expected one with its offset, such as 2026-11-21T08:09:10Z or 2026-11-21T09:09:10.25+01:00, \
         or one such as \"2 hours ago\""
    )]
    Form(String),
    /// It has not come yet.
    #[error("{0} has not come yet")]
    Future(Timestamp),
    /// It is before or after all times that can be told.
    #[error("{0:?} is too far away")]
    Range(String),
}

impl Window {
    /// Reads a time: RFC 3339, or how long ago.
    ///
    /// # Errors
    /// See [`TimeError`].
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, TimeError> {
        let (from, digits) = match text.parse::<Timestamp>() {
            Ok(time) => (time, digits(text)),
            Err(_) => (ago(text, now)?, 0),
        };
        if from > now {
            return Err(TimeError::Future(from));
        }
        let unit = 1_000_000_000_i64 / 10_i64.pow(digits);
        let to = from.checked_add(SignedDuration::from_nanos(unit - 1));
        let to = to.map_err(|_| TimeError::Range(text.into()))?;
        Ok(Self { from, to })
    }

    /// The same, longer by so many seconds at both ends: the clock that somebody else read was not exact.
    #[must_use]
    pub fn widened(self, seconds: u32) -> Self {
        let by = SignedDuration::from_secs(seconds.into());
        Self {
            from: earlier(self.from, by),
            to: later(self.to, by),
        }
    }
}

/// Digits of the fraction of a second, of which nine count.
fn digits(text: &str) -> u32 {
    let fraction = text.split_once(['.', ',']).map_or("", |(_, rest)| rest);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    digits.min(9) as u32
}

/// The second that was so long ago.
fn ago(text: &str, now: Timestamp) -> Result<Timestamp, TimeError> {
    let form = || TimeError::Form(text.into());
    let span: Span = text.parse().map_err(|_| form())?;
    if !text.trim_end().ends_with("ago") {
        return Err(form());
    }
    let then = now.to_zoned(TimeZone::UTC).checked_add(span);
    let then = then.map_err(|_| TimeError::Range(text.into()))?.timestamp();
    Timestamp::from_second(then.as_second()).map_err(|_| TimeError::Range(text.into()))
}

/// A time before another one, or the first that there is.
pub(super) fn earlier(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_sub(by).unwrap_or(Timestamp::MIN)
}

/// A time after another one, or the last that there is.
pub(super) fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-21T12:00:00.7Z";

    fn window(text: &str) -> Result<(String, String), TimeError> {
        let Window { from, to } = Window::parse(text, NOW.parse().unwrap())?;
        Ok((from.to_string(), to.to_string()))
    }

    #[test]
    fn a_time_is_as_exact_as_it_is_written() {
        for (text, from, to) in [
            (
                "2026-11-21T08:09:10Z",
                "2026-11-21T08:09:10Z",
                "2026-11-21T08:09:10.999999999Z",
            ),
            (
                "2026-11-21T09:09:10.25+01:00",
                "2026-11-21T08:09:10.25Z",
                "2026-11-21T08:09:10.259999999Z",
            ),
            (
                "2026-11-21t08:09:10.123456z",
                "2026-11-21T08:09:10.123456Z",
                "2026-11-21T08:09:10.123456999Z",
            ),
            (
                "2 hours ago",
                "2026-11-21T10:00:00Z",
                "2026-11-21T10:00:00.999999999Z",
            ),
            (
                "1 day ago",
                "2026-11-20T12:00:00Z",
                "2026-11-20T12:00:00.999999999Z",
            ),
        ] {
            assert_eq!(window(text).unwrap(), (from.into(), to.into()), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_told() {
        for text in [
            "",
            "yesterday",
            "2026-11-21T08:09:10",
            "08:09",
            "2 hours",
            "1",
        ] {
            assert_eq!(window(text), Err(TimeError::Form(text.into())), "{text}");
        }
        let future = window("2026-11-21T12:00:01Z");
        assert!(matches!(future, Err(TimeError::Future(_))), "{future:?}");
    }

    #[test]
    fn a_window_is_widened_on_both_sides() {
        let window = Window::parse("2026-11-21T08:09:10Z", NOW.parse().unwrap()).unwrap();
        let Window { from, to } = window.widened(5);
        assert_eq!(from.to_string(), "2026-11-21T08:09:05Z");
        assert_eq!(to.to_string(), "2026-11-21T08:09:15.999999999Z");
    }
}
