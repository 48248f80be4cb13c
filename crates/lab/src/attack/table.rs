//! Outcomes as text: lines for a terminal, and the table of `docs/security.md`.

use std::{fmt, fmt::Write as _};

use super::{Row, Sample};

/// The heading over rows in a terminal.
pub const HEADING: &str = "attack             engine     asked      sent   arrived  victim: lost, median/95th in us before | beside as many packets | under";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<18} {:<6} {:>9} {:>9} {:>9} ",
            self.attack,
            self.engine,
            self.rate.to_string(),
            self.sent,
            self.arrived
        )?;
        for sample in &self.under {
            let like = |samples: &[Sample]| {
                let found = samples.iter().find(|other| other.service == sample.service);
                found.map_or_else(|| "-".into(), served)
            };
            write!(
                f,
                " {}: {} | {} | {}",
                sample.service,
                like(&self.before),
                like(&self.beside),
                served(sample)
            )?;
        }
        if let Some(gain) = &self.gain {
            write!(f, " {}: {} of {}", gain.what, gain.got, gain.tried)?;
        }
        write!(f, " {}", if self.held() { "held" } else { "NOT HELD" })?;
        for (name, count) in &self.refusals {
            write!(f, " {name}={count}")?;
        }
        Ok(())
    }
}

/// Returns loss, median and 95th percentile.
fn served(sample: &Sample) -> String {
    let mut text = format!("{:.1} %", sample.loss() * 100.0);
    if let (Some(median), Some(late)) = (sample.median, sample.late) {
        let _ = write!(text, " {}/{}", time(median), time(late));
    }
    text
}

/// Returns a time in microseconds with three digits.
fn time(microseconds: f64) -> String {
    match microseconds {
        time if time < 1000.0 => format!("{time:.0} µs"),
        time if time < 10_000.0 => format!("{:.1} ms", time / 1000.0),
        time => format!("{:.0} ms", time / 1000.0),
    }
}
