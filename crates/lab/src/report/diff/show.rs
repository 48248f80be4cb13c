//! A comparison as text: the changes, and the number of points without a change.

use std::fmt;

use super::{By, Change, Compared, Diff, PointKey};
use crate::report::amount;

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} beside {}", self.runs[1], self.runs[0])?;
        for one in &self.circumstances {
            writeln!(
                f,
                "different {}: {} and {}",
                one.what, one.first, one.second
            )?;
        }
        for (heading, change) in [("worse", Change::Worse), ("better", Change::Better)] {
            if self.count(change) > 0 {
                writeln!(f, "\n{heading}:")?;
            }
            for point in self.points.iter().filter(|point| point.change == change) {
                writeln!(f, "  {point}")?;
            }
        }
        for (heading, places) in [("first", &self.only_first), ("second", &self.only_second)] {
            if !places.is_empty() {
                writeln!(f, "\nonly in the {heading} run:")?;
            }
            for line in lines(places) {
                writeln!(f, "  {line}")?;
            }
        }
        let compared = self.points.len() - self.count(Change::TooFew);
        writeln!(
            f,
            "\n{} worse, {} better, {} without a difference shown, {} with too few repetitions",
            self.count(Change::Worse),
            self.count(Change::Better),
            self.count(Change::NoneShown),
            self.count(Change::TooFew)
        )?;
        if compared > 0 {
            writeln!(
                f,
                "(95 % confidence each: of {compared} points about {:.0} would look changed by chance)",
                0.05 * compared as f64
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self
            .medians
            .map(|median| amount::amount(self.quantity, median));
        write!(f, "{}: {first} -> {second}", self.place)?;
        let text = |value: f64| match self.estimate.by {
            By::Ratio => format!("{value:.3}"),
            By::Difference => amount::amount(self.quantity, value),
        };
        let what = match self.estimate.by {
            By::Ratio => "ratio",
            By::Difference => "difference",
        };
        write!(f, ", {what} {}", text(self.estimate.value))?;
        if let Some([low, high]) = self.estimate.interval {
            write!(f, " ({} to {})", text(low), text(high))?;
        }
        Ok(())
    }
}

impl fmt::Display for PointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.experiment, self.subject, self.series)?;
        if self.at != 0.0 {
            write!(f, " at {}", amount::place(self.at))?;
        }
        Ok(())
    }
}

/// Formats the points of each line as one line of text.
fn lines(places: &[PointKey]) -> Vec<String> {
    let same = |one: &PointKey, other: &PointKey| {
        one.experiment == other.experiment
            && one.subject == other.subject
            && one.series == other.series
    };
    let text = |places: &[PointKey]| match places {
        [place] => place.to_string(),
        [first, ..] => format!(
            "{} {} {}, {} places",
            first.experiment,
            first.subject,
            first.series,
            places.len()
        ),
        [] => String::new(),
    };
    places.chunk_by(same).map(text).collect()
}
