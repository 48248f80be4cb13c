//! The clock of a slow edge, as it tells it.

use std::{fmt, fs};

use crate::{LabError, Result};

/// The file with the seconds since power-on and those for which the processors were idle (proc_uptime(5)).
const UPTIME: &str = "/proc/uptime";
/// The first word of a line with the clock.
const WORD: &str = "clock";

/// The machine's clock at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tick {
    /// Seconds since power-on.
    pub(super) time: f64,
    /// The seconds of them for which the processor was idle.
    pub(super) idle: f64,
}

impl Tick {
    /// Reads this machine's own.
    pub(super) fn now() -> Result<Self> {
        let output = fs::read_to_string(UPTIME).map_err(LabError::file(UPTIME))?;
        let tool = UPTIME;
        Self::of(&output).ok_or(LabError::Output { tool, output })
    }

    /// Parses a line that was [printed](fmt::Display).
    pub(super) fn parse(line: &str) -> Option<Self> {
        Self::of(line.strip_prefix(WORD)?)
    }

    fn of(words: &str) -> Option<Self> {
        let mut words = words.split_whitespace();
        let mut number = || words.next()?.parse().ok();
        Some(Self {
            time: number()?,
            idle: number()?,
        })
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WORD} {:.2} {:.2}", self.time, self.idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_read_from_its_line() {
        let tick = Tick {
            time: 12.34,
            idle: 5.6,
        };
        assert_eq!(Tick::parse("clock 12.34 5.60"), Some(tick));
        assert_eq!(Tick::parse(&tick.to_string()), Some(tick));
        for line in ["clock", "clock 1", "o'clock 1 2", "12.34 5.60"] {
            assert_eq!(Tick::parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_machine_has_a_clock() {
        assert!(Tick::now().unwrap().time > 0.0);
    }
}
