//! The profiles of a run.

use std::{fmt, str::FromStr, time::Duration};

/// A choice between time and certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Everything once and briefly: a check that it works, and a rough figure.
    Smoke,
    /// Repetitions that show a difference of some percent.
    Standard,
    /// The lengths and repetitions that RFC 8219 asks for.
    Rfc,
}

impl Profile {
    /// All profiles, the quickest first.
    pub const ALL: [Self; 3] = [Self::Smoke, Self::Standard, Self::Rfc];

    /// Returns its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Standard => "standard",
            Self::Rfc => "rfc",
        }
    }

    /// Returns the number of repetitions of each trial.
    pub fn repetitions(self) -> u32 {
        match self {
            Self::Smoke => 1,
            Self::Standard => 5,
            // RFC 8219 sections 7.2 and 9.2: at least 20.
            Self::Rfc => 20,
        }
    }

    /// Returns the length of traffic for one value.
    pub fn length(self) -> Duration {
        match self {
            Self::Smoke => Duration::from_millis(250),
            Self::Standard => Duration::from_secs(5),
            // RFC 2544 section 24.
            Self::Rfc => Duration::from_secs(60),
        }
    }

    /// Returns the number of exchanges of a round trip's median.
    pub fn exchanges(self) -> u32 {
        match self {
            Self::Smoke => 100,
            Self::Standard => 2_000,
            // Paper 004's number of packets.
            Self::Rfc => 10_000,
        }
    }

    /// Returns the values of an axis that are measured.
    pub fn thin<T: Copy>(self, values: &[T]) -> Vec<T> {
        match self {
            Self::Smoke => {
                let step = values.len().div_ceil(3).max(1);
                values.iter().step_by(step).copied().collect()
            }
            Self::Standard | Self::Rfc => values.to_vec(),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == text);
        found.ok_or_else(|| format!("{text} is no profile: smoke, standard or rfc"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke_measures_few_values_of_an_axis() {
        assert_eq!(Profile::Smoke.thin(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), [1, 4, 7]);
        assert_eq!(Profile::Smoke.thin(&[1, 2]), [1, 2]);
        assert_eq!(Profile::Rfc.thin(&[1, 2, 3, 4, 5]), [1, 2, 3, 4, 5]);
    }
}
