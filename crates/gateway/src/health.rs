//! The verdict on a running gateway: for `isthmus status`, for `/readyz` and for metrics.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// How a gateway is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All is as configured.
    #[default]
    Healthy,
    /// Packets are translated as configured, but something that a person asked for was not done.
    Degraded,
    /// Something is not as configured: packets may not be translated.
    Ill,
}

/// A verdict with its reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Health {
    /// The worst of the reasons' verdicts.
    pub verdict: Verdict,
    /// Everything that is wrong.
    pub reasons: Vec<Reason>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reason {
    /// How bad it is.
    pub verdict: Verdict,
    /// Its description, in one line.
    pub what: String,
    /// Since when, to the second (RFC 3339, UTC).
    pub since: String,
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Ill => "ill",
        }
    }
}

impl Health {
    /// Whether packets are translated as configured.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.verdict != Verdict::Ill
    }
}

/// One line.
impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verdict.name())?;
        for (number, reason) in self.reasons.iter().enumerate() {
            let before = if number == 0 { ": " } else { "; " };
            write!(f, "{before}{} (since {})", reason.what, reason.since)?;
        }
        Ok(())
    }
}

/// A time as people and programs read it here: RFC 3339 in UTC, to the second.
#[must_use]
pub fn time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Something that was found to be wrong now.
pub(crate) struct Finding {
    pub(crate) verdict: Verdict,
    pub(crate) what: String,
}

/// When each thing that is wrong was found first.
#[derive(Debug, Default)]
pub(crate) struct Patient(BTreeMap<String, Timestamp>);

impl Patient {
    /// Judges by all that is wrong now, and remembers since when. What is not among it is over.
    pub(crate) fn judge(&mut self, findings: Vec<Finding>, now: Timestamp) -> Health {
        let known = std::mem::take(&mut self.0);
        let mut health = Health::default();
        for Finding { verdict, what } in findings {
            let what = what.lines().next().unwrap_or_default().to_owned();
            let since = known.get(&what).copied().unwrap_or(now);
            self.0.insert(what.clone(), since);
            health.verdict = health.verdict.max(verdict);
            health.reasons.push(Reason {
                verdict,
                what,
                since: time(since),
            });
        }
        health
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(patient: &mut Patient, findings: &[(Verdict, &str)], second: i64) -> String {
        let findings = findings.iter().map(|(verdict, what)| Finding {
            verdict: *verdict,
            what: (*what).to_owned(),
        });
        let now = Timestamp::from_second(second).unwrap();
        patient.judge(findings.collect(), now).to_string()
    }

    #[test]
    fn a_verdict_says_what_is_wrong_and_since_when() {
        let mut patient = Patient::default();
        let (link, file) = (
            (Verdict::Ill, "there is no link eth0"),
            (Verdict::Degraded, "the last reload failed: no\nsuch file"),
        );
        assert_eq!(judged(&mut patient, &[], 0), "healthy");
        let one = "the last reload failed: no (since 1970-01-01T00:00:01Z)";
        assert_eq!(judged(&mut patient, &[file], 1), format!("degraded: {one}"));
        let other = "there is no link eth0 (since 1970-01-01T00:00:05Z)";
        let both = format!("ill: {other}; {one}");
        assert_eq!(judged(&mut patient, &[link, file], 5), both);
        assert_eq!(judged(&mut patient, &[link, file], 9), both);
        // What was over and comes again is new.
        judged(&mut patient, &[file], 10);
        let again = judged(&mut patient, &[link], 11);
        assert!(again.ends_with("(since 1970-01-01T00:00:11Z)"), "{again}");
    }
}
